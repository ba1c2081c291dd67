"""A statement lands although others keep committing to its table first."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import omnigraph
from omnigraph.storage.commit.publish_plan import PublishPlan
from omnigraph.storage.core.model import Commit
from sql.writing.session import Session


@pytest.mark.parametrize("moves", [3, 6, 12])
@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("INSERT INTO t VALUES (-1)", "SELECT count(*) FROM t WHERE a = -1"),
        ("INSERT INTO Boat (name) VALUES ('Zoe')", "SELECT count(*) FROM Boat WHERE name = 'Zoe'"),
    ],
    ids=["plain", "type"],
)
def test_an_insert_lands_however_often_its_table_moves(
    session: Session, monkeypatch: pytest.MonkeyPatch, text: str, row: str, moves: int
) -> None:
    """A writer of another machine, which no queue holds up, commits before each publish."""
    session.run("CREATE TABLE t (a INT)")
    publisher, rival = session.graph._store.publisher, omnigraph.open(session.graph._store.root)
    monkeypatch.setattr(rival._store.publisher, "_machine", nullcontext())
    publish, done = publisher.publish, list[int]()

    def overtaken(plan: PublishPlan, **options: bool) -> Commit:
        if len(done) < moves:
            done.append(1)
            with rival.transaction() as txn:
                txn.insert("Boat", [{"name": f"rival {len(done)}"}])
                txn.append("public.t", [{"a": len(done)}])
        return publish(plan, **options)

    monkeypatch.setattr(publisher, "publish", overtaken)
    session.run(text)
    assert len(done) == moves
    assert session.rows(row) == [(1,)]


@pytest.mark.parametrize(
    "counting",
    [
        "SELECT count(*) FROM Boat",
        "SELECT n FROM gq('query boats() { match { $b: Boat } return { count($b) as n } }')",
        "SELECT row_count FROM information_schema.tables WHERE table_name = 'Boat'",
        "SELECT row_count FROM system.table_versions WHERE table_key = 'node:Boat'",
    ],
    ids=["table", "gq", "information_schema", "system"],
)
def test_a_statement_is_run_again_when_rows_moved_that_it_only_read(
    session: Session, monkeypatch: pytest.MonkeyPatch, counting: str
) -> None:
    """The rival is committed first, so the statement's answer has to count its row."""
    session.run("CREATE TABLE t (a BIGINT)")
    ((boats,),) = session.rows("SELECT count(*) FROM Boat")
    publisher, rival = session.graph._store.publisher, omnigraph.open(session.graph._store.root)
    monkeypatch.setattr(rival._store.publisher, "_machine", nullcontext())
    publish, done = publisher.publish, list[int]()

    def overtaken(plan: PublishPlan, **options: bool) -> Commit:
        if not done:
            done.append(1)
            with rival.transaction() as txn:
                txn.insert("Boat", [{"name": "rival"}])
        return publish(plan, **options)

    monkeypatch.setattr(publisher, "publish", overtaken)
    session.run(f"INSERT INTO t {counting}")
    assert session.rows("SELECT a FROM t") == [(boats + 1,)]
