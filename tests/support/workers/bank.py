"""Readers, writers and upkeep of a bank: money moves between accounts and never comes or goes."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import Conflict, NotFound, Reclaimed
from support.workers.reporting import report, wait_for_go

SCHEMA = """
node Account { name: String @key  balance: I64 @index  note: String? @index }
node Transfer { name: String @key  amount: I64 }
edge Of: Transfer -> Account
"""
ACCOUNTS = 40
BALANCE = 1000
TOTAL = """
query total() { match { $a: Account } return { sum($a.balance) as total, count($a) as accounts } }
"""
MOVED = """
query moved() { match { $t: Transfer  $t of $a } return { count($t) as ends } }
"""
Counts = Counter[str]


def open_bank(graph: Graph) -> None:
    """Every account with the same balance."""
    with graph.transaction() as txn:
        names = [f"a{n:03}" for n in range(ACCOUNTS)]
        txn.insert("Account", [{"name": name, "balance": BALANCE} for name in names])
    graph.tags.create("opening")


def work(asked: dict[str, Any]) -> None:
    graph = open_graph(asked["root"])
    graph.snapshot()
    act: Callable[[Graph, dict[str, Any], Counts], None] = ROLES[asked["role"]]
    wait_for_go()
    deadline = time.monotonic() + asked["seconds"]
    counts: Counts = Counter()
    while time.monotonic() < deadline:
        act(graph, asked, counts)
        counts["rounds"] += 1
    report("end", counts=dict(counts))


def read(graph: Graph, asked: dict[str, Any], counts: Counts) -> None:
    """Every way of reading sees all the money, the tag what was there when it was made."""
    started = time.monotonic()
    try:
        assert_balanced(graph, "main")
        if counts["rounds"] % 3 == 0:
            assert_opening(graph)
        if counts["rounds"] % 4 == 0:
            held = graph.snapshot()
            time.sleep(random.uniform(0, 0.2))
            assert sum(held.scan("Account", ["balance"]).read_all().column(0).to_pylist()) == (
                ACCOUNTS * BALANCE
            )
    except Reclaimed:
        # Only a reader that the machine held up for longer than the retention may hear this.
        if time.monotonic() - started < asked["keep_for"]:
            raise
        counts["held up"] += 1


def assert_balanced(graph: Graph, at: str) -> None:
    """One snapshot, read by scan, by filter and by query."""
    snapshot = graph.snapshot(at)
    rows = snapshot.scan("Account", ["id", "balance"]).read_all()
    assert rows.num_rows == ACCOUNTS == len(set(rows.column("id").to_pylist()))
    balances = rows.column("balance").to_pylist()
    assert sum(balances) == ACCOUNTS * BALANCE, sum(balances)
    rich = snapshot.scan("Account", ["id"], f"balance >= {BALANCE}").read_all().num_rows
    assert rich == sum(balance >= BALANCE for balance in balances)
    transfers = snapshot.scan("Transfer", ["id"]).read_all().num_rows
    assert transfers == snapshot.count("Transfer")
    moment = snapshot.commit if at == "main" else at
    (row,) = graph.query(TOTAL, at=moment).rows()
    assert tuple(row.values()) == (ACCOUNTS * BALANCE, ACCOUNTS), row
    (row,) = graph.query(MOVED, at=moment).rows()
    assert row["ends"] == 2 * transfers, (row, transfers)


def assert_opening(graph: Graph) -> None:
    rows = graph.snapshot("opening").scan("Account", ["balance"]).read_all()
    assert rows.column(0).to_pylist() == [BALANCE] * ACCOUNTS


def write(graph: Graph, asked: dict[str, Any], counts: Counts) -> None:
    """Move some money; who loses a race tries again with what is there then."""
    try:
        _transfer(graph, "main", f"{asked['name']}-{counts['rounds']:06}")
        counts["transfers"] += 1
        if counts["rounds"] % 7 == 0:
            _scratch(graph, f"scratch/{asked['name']}-{counts['rounds']}")
            counts["scratch"] += 1
    except Conflict as error:
        counts[error.code] += 1


def _transfer(graph: Graph, branch: str, name: str) -> None:
    amount = random.randrange(1, 50)
    with graph.transaction(branch) as txn:
        ends = random.sample([f"a{n:03}" for n in range(ACCOUNTS)], 2)
        condition = f"id IN ('{ends[0]}', '{ends[1]}')"
        rows = txn.scan("Account", filter=condition).read_all().to_pylist()
        held = {row["id"]: row["balance"] for row in rows}
        txn.upsert(
            "Account",
            [
                {"name": end, "balance": held[end] + change, "note": f"after {name}"}
                for end, change in zip(ends, (-amount, amount), strict=True)
            ],
        )
        txn.insert("Transfer", [{"name": name, "amount": amount}])
        txn.insert("Of", [{"src": name, "dst": end} for end in ends])


def _scratch(graph: Graph, branch: str) -> None:
    """Work on a branch that a collection may take away at any moment."""
    graph.create_branch(branch, ttl="0s")
    try:
        _transfer(graph, branch, "scratch")
        assert_balanced(graph, branch)
    except NotFound:
        return


def tidy(graph: Graph, asked: dict[str, Any], counts: Counts) -> None:
    time.sleep(random.uniform(0, 0.1))
    done = graph.optimize()
    counts["optimized"] += done.commit is not None
    counts["gave way"] += len(done.gave_way)


def collect(graph: Graph, asked: dict[str, Any], counts: Counts) -> None:
    done = graph.collect(keep_for=f"{asked['keep_for']}s")
    counts["files"] += done.files
    counts["given up"] += len(done.given_up)
    counts["expired"] += len(done.expired_branches)


ROLES = {"reader": read, "writer": write, "optimizer": tidy, "collector": collect}
