"""OmniGraph as it is measured, and the shape that its peers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import omnigraph
from benchmarks.query_data import DIMENSION, Data
from benchmarks.query_lines import AGE, TOP, Rows, searched_text, searched_vector

SCHEMA = f"""
node Person {{ key: I64 @key  name: String  age: I64  city: String  seed: Bool }}
node Doc {{ key: I64 @key  text: String @index  vec: Vector({DIMENSION}) }}
edge Knows: Person -> Person {{ w: F64 }}
"""
HOPS = ("$a knows $b", "$b knows $c", "$c knows $d")
END = "bcd"


class System(ABC):
    """A graph in some system, loaded and open."""

    name: str
    seeds: str
    """How it is told the 1000 seeds: the fastest way that its language offers."""

    @abstractmethod
    def load(self, data: Data, folder: Path) -> None: ...

    @abstractmethod
    def question(self, key: str) -> Callable[[], Any] | None:
        """Runs a line and fetches its whole result; none if the system cannot."""

    @abstractmethod
    def rows(self, result: Any) -> Rows:  # noqa: ANN401
        """A result as rows; this is not timed."""


class OmniGraph(System):
    name = "omnigraph"
    seeds = "a flag of the node"

    def load(self, data: Data, folder: Path) -> None:
        edges = data.edges_table()
        ends = {
            name: edges.column(column).cast(pa.string())
            for name, column in (("from", "src"), ("to", "dst"))
        }
        self._graph = omnigraph.init(folder / "graph", SCHEMA)
        self._graph.load(
            {
                "Person": data.people_table(),
                "Knows": pa.table({**ends, "w": edges.column("w")}),
                "Doc": data.documents_table(),
            }
        )
        self._graph.optimize()
        self._params: dict[str, Any] = {
            "k": int(data.seeds[0]),
            "t": searched_text(),
            "v": searched_vector(data).tolist(),
        }

    def question(self, key: str) -> Callable[[], Any] | None:
        text = gq(key)
        return lambda: self._graph.query(text, params=self._params).to_arrow()

    def rows(self, result: Any) -> Rows:  # noqa: ANN401
        return list(zip(*(column.to_pylist() for column in result.columns), strict=True))


def gq(key: str) -> str:
    """A line as `.gq`."""
    if key in _OTHERS:
        return _OTHERS[key]
    kind, hops = key[:-1], int(key[-1])
    walk, end = " ".join(HOPS[:hops]), END[hops - 1]
    seed = "$a: Person { seed: true }" if kind == "many" else "$a: Person { key: $k }"
    match kind:
        case "ends":
            pattern, answer = walk, f"${end}.key as key  count($a) as walks"
        case "within":
            pattern, answer = f"$a knows {{1,{hops}}} $b", "count($b) as reached"
        case _:
            pattern, answer = walk, f"count(${end}) as walks"
    return _query("$k: I64", f"{seed} {pattern}", answer)


def _query(params: str, match: str, answer: str, rest: str = "") -> str:
    return f"query q({params}) {{ match {{ {match} }} return {{ {answer} }} {rest} }}"


def _ranked(param: str, rank: str) -> str:
    return _query(param, "$d: Doc", f"$d.key  {rank}", f"order {{ {rank} }} limit {TOP}")


_TWO_HOPS = "$a knows $b  $b knows $c"
_OTHERS = {
    "all2": _query("", _TWO_HOPS, "count($c) as walks"),
    "grouped": _query("", _TWO_HOPS, "$a.city as city  count($c) as walks  avg($c.age) as age"),
    "scan": _query(
        "",
        f"$a $w:knows $b  $b.age > {AGE}",
        "$a.city as city  count($b) as edges  avg($w.w) as weight",
    ),
    "lookup": _query("$k: I64", "$a: Person { key: $k }", "$a.name  $a.age  $a.city"),
    "vector": _ranked(f"$v: Vector({DIMENSION})", "nearest($d.vec, $v)"),
    "bm25": _ranked("$t: String", "bm25($d.text, $t)"),
}
