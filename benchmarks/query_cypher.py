"""The peers that speak Cypher."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.query_data import DIMENSION, Data
from benchmarks.query_lines import AGE, TOP, Rows, searched_text, searched_vector
from benchmarks.query_systems import END, System

_TWO_HOPS = "MATCH (a:Person)-[:Knows]->(b:Person)-[:Knows]->(c:Person)"
_OTHERS = {
    "all2": f"{_TWO_HOPS} RETURN count(*)",
    "grouped": f"{_TWO_HOPS} RETURN a.city, count(*), avg(c.age)",
    "scan": f"MATCH (a:Person)-[w:Knows]->(b:Person) WHERE b.age > {AGE} "
    "RETURN a.city, count(*), avg(w.w)",
    "lookup": "MATCH (a:Person {key: $k}) RETURN a.name, a.age, a.city",
}


def cypher(key: str, *, shortest: str = "") -> str:
    """A line as Cypher; `$k` is the seed."""
    if key in _OTHERS:
        return _OTHERS[key]
    kind, hops = key[:-1], int(key[-1])
    walk = "".join(f"-[:Knows]->({end}:Person)" for end in END[:hops])
    match kind:
        case "ends":
            return f"MATCH (a:Person {{key: $k}}){walk} RETURN DISTINCT {END[hops - 1]}.key"
        case "one":
            return f"MATCH (a:Person {{key: $k}}){walk} RETURN count(*)"
        case "many":
            return f"MATCH (a:Person {{seed: true}}){walk} RETURN count(*)"
        case _:
            counted = "count(*)" if shortest else "count(DISTINCT b.key)"
            return (
                f"MATCH (a:Person {{key: $k}})-[:Knows*{shortest}1..{hops}]->(b:Person) "
                f"WHERE b.key <> $k RETURN {counted}"
            )


class Kuzu(System):
    """Kuzu, and its successor Ladybug, which has the same interface."""

    name = "kuzu"
    seeds = "a flag of the node"

    def load(self, data: Data, folder: Path) -> None:
        module: Any = importlib.import_module(self.name)
        folder.mkdir(parents=True, exist_ok=True)
        self._connection: Any = module.Connection(module.Database(str(folder / "graph")))
        run = self._connection.execute
        run(
            "CREATE NODE TABLE Person(key INT64 PRIMARY KEY, name STRING, age INT64, "
            "city STRING, seed BOOL)"
        )
        run("CREATE REL TABLE Knows(FROM Person TO Person, w DOUBLE)")
        run(f"CREATE NODE TABLE Doc(key INT64 PRIMARY KEY, text STRING, vec FLOAT[{DIMENSION}])")
        for name, table in (
            ("Person", data.people_table()),
            ("Knows", data.edges_table()),
            ("Doc", data.documents_table()),
        ):
            file = folder / f"{name}.parquet"
            pq.write_table(table, file)
            run(f"COPY {name} FROM '{file}'")
        self._searches = self._has_text_search()
        self._seed = int(data.seeds[0])
        self._vector = searched_vector(data).tolist()

    def question(self, key: str) -> Callable[[], Any] | None:
        run = self._connection.execute
        if key == "bm25":
            if not self._searches:
                return None
            text = (
                f"CALL QUERY_FTS_INDEX('Doc', 'texts', $t, TOP := {TOP}) "
                "RETURN node.key, score ORDER BY score DESC"
            )
            words = {"t": searched_text()}
            return lambda: run(text, words).get_all()
        if key == "vector":
            text = (
                f"MATCH (d:Doc) RETURN d.key, array_distance(d.vec, CAST($v AS FLOAT[{DIMENSION}]))"
                f" AS distance ORDER BY distance LIMIT {TOP}"
            )
            vector = {"v": self._vector}
            return lambda: run(text, vector).get_all()
        text = cypher(key, shortest=" SHORTEST ")
        seed = {"k": self._seed} if "$k" in text else {}
        return lambda: run(text, seed).get_all()

    def rows(self, result: Any) -> Rows:  # noqa: ANN401
        return [tuple(row) for row in result]

    def _has_text_search(self) -> bool:
        """Whether the extension comes with the package; it is never downloaded."""
        try:
            self._connection.execute("LOAD fts")
            self._connection.execute("CALL CREATE_FTS_INDEX('Doc', 'texts', ['text'])")
        except RuntimeError:
            return False
        return True


class Ladybug(Kuzu):
    name = "ladybug"


class KgLite(System):
    """Follows openCypher: one pattern never uses an edge twice, so that a self-loop taken twice is
    missing from its walks. Where that changes an answer, every hop is a pattern of its own."""

    name = "kglite"
    seeds = "a flag of the node"
    apart = ("many3", "all2", "grouped")

    def load(self, data: Data, folder: Path) -> None:
        kglite: Any = importlib.import_module("kglite")
        self._graph: Any = kglite.KnowledgeGraph()
        people = data.people_table().to_pandas()
        self._graph.add_nodes(people, "Person", "key", "name")
        self._graph.add_connections(
            data.edges_table().to_pandas(), "Knows", "Person", "src", "Person", "dst"
        )
        self._graph.create_index("Person", "seed")
        documents = data.documents_table().select(["key", "text"]).to_pandas()
        self._graph.add_nodes(documents, "Doc", "key")
        self._graph.build_text_index("Doc", "text")
        vectors = {i: vector.tolist() for i, vector in enumerate(data.vectors)}
        self._graph.set_embeddings("Doc", "text", vectors, metric="euclidean")
        self._params = {"k": int(data.seeds[0]), "t": searched_text()}
        self._vector = searched_vector(data).tolist()

    def question(self, key: str) -> Callable[[], Any] | None:
        if key == "vector":
            documents = self._graph.select("Doc")
            return lambda: documents.vector_search("text", self._vector, TOP, exact=True)
        text = _BEST_TEXTS if key == "bm25" else cypher(key)
        if key in self.apart:
            for end in "bc":
                text = text.replace(f"({end}:Person)-", f"({end}:Person) MATCH ({end})-")
        return lambda: list(self._graph.cypher(text, params=self._params))

    def rows(self, result: Any) -> Rows:  # noqa: ANN401
        return [tuple(row.values()) for row in result]


_BEST_TEXTS = (
    f"MATCH (d:Doc) RETURN d.key, text_bm25(d, 'text', $t) AS score ORDER BY score DESC LIMIT {TOP}"
)
