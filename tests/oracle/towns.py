"""Random graphs written in several commits, and random reads over them, for the oracle."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import omnigraph
from omnigraph.api.graph import Graph

SCHEMA = """
node Town { code: I64 @key  name: String  size: I32?  tags: [String]? }
node Crew { code: String @key  rank: F64? }
edge Road: Town -> Town { km: I32? }
edge Rail: Town -> Town
edge Owns: Crew -> Town { since: I64? }
"""


def random_graph(root: Path, seed: int) -> Graph:
    """A few towns and crews written in several commits, some of them changed and deleted."""
    rng = random.Random(seed)
    graph = omnigraph.init(str(root), SCHEMA)
    towns = rng.randint(2, 7)
    for part in range(rng.randint(1, 3)):
        with graph.transaction() as txn:
            codes = [c for c in range(towns) if c % 3 >= part]
            if codes:
                txn.upsert("Town", [_town(rng, c) for c in codes])
            txn.upsert(
                "Crew", [{"code": f"c{i}", "rank": rng.choice([None, 1.0, 2.5])} for i in range(2)]
            )
    for _ in range(rng.randint(1, 3)):
        with graph.transaction() as txn:
            ends = [(rng.randrange(towns), rng.randrange(towns)) for _ in range(rng.randint(1, 7))]
            txn.insert("Road", [_edge(a, b, km=rng.choice([None, 1, 2, 3])) for a, b in ends])
            txn.insert("Rail", [_edge(*rng.sample(range(towns), 2)) for _ in range(3)])
            txn.insert(
                "Owns",
                [
                    _edge(f"c{rng.randrange(2)}", rng.randrange(towns), since=rng.choice([None, 5]))
                    for _ in range(2)
                ],
            )
    if rng.random() < 0.7:
        with graph.transaction() as txn:
            txn.delete("Town", [str(rng.randrange(towns))])
    if rng.random() < 0.5:
        with graph.transaction() as txn:
            left = graph.snapshot().scan("Town", ["code"]).read_all().column(0).to_pylist()
            txn.upsert("Town", [_town(rng, rng.choice(left))])
    return graph


def _town(rng: random.Random, code: int) -> dict[str, Any]:
    return {
        "code": code,
        "name": rng.choice(["ash", "birch", "cedar"]),
        "size": rng.choice([None, 1, 2, 3]),
        "tags": rng.choice([None, [], ["a"], ["a", "b"]]),
    }


def _edge(src: object, dst: object, **values: object) -> dict[str, Any]:
    return {"src": str(src), "dst": str(dst), **values}


class RandomRead:
    """One random read: clauses over at most three towns and one crew."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.edges = 0
        self.bound: set[str] = set()

    def text(self) -> str:
        clauses = [self._first()]
        clauses.extend(self._clause() for _ in range(self.rng.randint(0, 3)))
        if self.rng.random() < 0.35:
            clauses.append(self._negation())
        return f"query q() {{ match {{ {' '.join(clauses)} }} return {{ {self._items()} }} }}"

    def _first(self) -> str:
        self.bound.add("a")
        return "$a: Town" + self.rng.choice(
            ["", "", " { code: 1 }", " { size: 2 }", ' { tags: "a" }']
        )

    def _clause(self) -> str:
        if self.rng.random() < 0.4:
            return self._filter(self.rng.choice(sorted(self.bound)))
        return self._traversal(sorted(self.bound), ["a", "b", "c"])

    def _traversal(self, sources: list[str], targets: list[str], named: bool = True) -> str:
        roll = self.rng.random()
        left = self.rng.choice([s for s in sources if s in "abcxy"])
        if roll < 0.2:
            crew = self.rng.choice(["o", "o", "_"])
            self.bound |= {crew} - {"_"}
            return f"${crew} owns ${left}"
        right = self.rng.choice(targets)
        self.bound.add(right)
        edge = self.rng.choice(["road", "road", "rail", "<road>"])
        if roll < 0.45 and named:
            self.edges += 1
            name = f"w{self.edges}"
            tail = f" ${name}.km {self.rng.choice(['>', '=', '!='])} 1" if "road" in edge else ""
            return f"${left} ${name}:{edge} ${right}" + (tail if self.rng.random() < 0.5 else "")
        low = self.rng.randint(1, 3)
        bounds = f"{{{low},{self.rng.randint(low, 4)}}}" if roll > 0.75 else ""
        pair = (left, right) if self.rng.random() < 0.6 else (right, left)
        return f"${pair[0]} {edge}{bounds} ${pair[1]}"

    def _filter(self, name: str) -> str:
        if name == "o":
            return self.rng.choice(["$o.rank > 1", '$o.code = "c1"', "$o.rank != 2.5"])
        other = self.rng.choice([n for n in sorted(self.bound) if n in "abcxy"])
        return self.rng.choice(
            [
                f"${name}.size >= 2",
                f"${name}.size != 2",
                f"${name}.size < 2.5",
                f"${name}.code < ${other}.code",
                f"${name}.size = ${other}.size",
                f'${name}.name contains "e"',
                f'${name}.name starts_with "b"',
                f'${name}.tags contains "a"',
            ]
        )

    def _negation(self) -> str:
        outer = sorted(self.bound)
        saved, self.bound = self.bound, set(self.bound)
        body = [self._traversal([n for n in outer if n in "abc"], ["x", "y", "a"], named=True)]
        if self.rng.random() < 0.5 and self.bound & set("xy"):
            body.append(self._filter(self.rng.choice(sorted(self.bound & set("xy")))))
        if self.rng.random() < 0.3 and self.bound & set("xy"):
            inner = self.rng.choice(sorted(self.bound & set("xy")))
            body.append(f"not {{ ${inner} {self.rng.choice(['road', 'rail'])} $z }}")
        self.bound = saved
        return f"not {{ {' '.join(body)} }}"

    def _items(self) -> str:
        towns = sorted(self.bound & set("abc"))
        one = self.rng.choice(towns)
        roll = self.rng.random()
        if roll < 0.4:
            return ", ".join(f"${name}" for name in sorted(self.bound))
        keys = "" if roll < 0.6 else f"${one}.name, " if roll < 0.85 else f"${one}, ${one}.size, "
        other = self.rng.choice(towns)
        edge = ""
        return keys + (
            f"count(${other}) as n, count(${other}.size) as m, sum(${other}.size) as s, "
            f"avg(${other}.size) as v, min(${other}.name) as lo, max(${other}.size) as hi{edge}"
        )
