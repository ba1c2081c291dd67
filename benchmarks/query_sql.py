"""The relational peers: tables with the indexes that they need, and a table of seeds."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.query_data import DIMENSION, Data
from benchmarks.query_lines import AGE, TOP, Rows, searched_text, searched_vector
from benchmarks.query_systems import System


def sql(key: str) -> str:
    """A line as SQL; `?` is the seed, the text or the vector."""
    if key in _OTHERS:
        return _OTHERS[key]
    kind, hops = key[:-1], int(key[-1])
    joins = "".join(f" JOIN knows e{i} ON e{i}.src = e{i - 1}.dst" for i in range(2, hops + 1))
    walks = f"FROM knows e1{joins}"
    match kind:
        case "ends":
            return f"SELECT DISTINCT e{hops}.dst {walks} WHERE e1.src = ?"
        case "one":
            return f"SELECT count(*) {walks} WHERE e1.src = ?"
        case "many":
            from_seeds = f"FROM seeds JOIN knows e1 ON e1.src = seeds.key{joins}"
            return f"SELECT count(*) {from_seeds}"
        case _:
            return _within(hops)


def _within(hops: int) -> str:
    reached = " UNION ".join(sql(f"ends{i}").replace(" DISTINCT", "") for i in range(1, hops + 1))
    return (
        f"SELECT count(*) FROM ({reached.replace('.dst FROM', '.dst AS key FROM')}) WHERE key <> ?"
    )


_TWO_HOPS = "FROM knows e1 JOIN knows e2 ON e2.src = e1.dst"
_OTHERS = {
    "all2": f"SELECT count(*) {_TWO_HOPS}",
    "grouped": "SELECT a.city, count(*), avg(c.age) "
    f"{_TWO_HOPS} JOIN person a ON a.key = e1.src JOIN person c ON c.key = e2.dst GROUP BY a.city",
    "scan": "SELECT a.city, count(*), avg(e.w) FROM knows e JOIN person a ON a.key = e.src "
    f"JOIN person b ON b.key = e.dst WHERE b.age > {AGE} GROUP BY a.city",
    "lookup": "SELECT name, age, city FROM person WHERE key = ?",
}


class DuckDb(System):
    name = "duckdb"
    seeds = "a table of keys"

    def load(self, data: Data, folder: Path) -> None:
        duckdb: Any = importlib.import_module("duckdb")
        folder.mkdir(parents=True, exist_ok=True)
        self._database: Any = duckdb.connect(str(folder / "graph.duckdb"))
        people, edges, documents = data.people_table(), data.edges_table(), data.documents_table()
        for name, table, order in (
            ("person", people, ""),
            ("knows", edges, " ORDER BY src"),
            ("doc", documents, ""),
            ("seeds", people.filter(people.column("seed")).select(["key"]), ""),
        ):
            self._database.register("given", table)
            self._database.execute(f"CREATE TABLE {name} AS SELECT * FROM given{order}")
            self._database.unregister("given")
        self._database.execute("CREATE UNIQUE INDEX person_key ON person(key)")
        self._database.execute("CREATE INDEX knows_src ON knows(src)")
        self._seed = int(data.seeds[0])
        self._vector = searched_vector(data).tolist()

    def question(self, key: str) -> Callable[[], Any] | None:
        run = self._database.execute
        if key == "bm25":  # its full-text extension is downloaded, not shipped
            return None
        if key == "vector":
            text = (
                f"SELECT key FROM doc ORDER BY array_distance(vec, ?::FLOAT[{DIMENSION}]) "
                f"LIMIT {TOP}"
            )
            return lambda: run(text, [self._vector]).fetchall()
        text = sql(key)
        values = [self._seed] * text.count("?")
        return lambda: run(text, values).fetchall()

    def rows(self, result: Any) -> Rows:  # noqa: ANN401
        return list(result)


class Sqlite(System):
    name = "sqlite"
    seeds = "a table of keys"

    def load(self, data: Data, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(folder / "graph.sqlite")
        run = self._database.execute
        run("PRAGMA journal_mode=OFF")
        run("PRAGMA cache_size=-500000")
        run("PRAGMA mmap_size=2000000000")
        run("CREATE TABLE person(key INTEGER PRIMARY KEY, name TEXT, age INT, city TEXT, seed INT)")
        run("CREATE TABLE knows(src INT, dst INT, w REAL, PRIMARY KEY(src, dst)) WITHOUT ROWID")
        run("CREATE TABLE seeds(key INTEGER PRIMARY KEY)")
        run("CREATE VIRTUAL TABLE doc USING fts5(text)")
        many = self._database.executemany
        people = data.people_table().to_pydict()
        many("INSERT INTO person VALUES (?,?,?,?,?)", zip(*people.values(), strict=True))
        many("INSERT INTO seeds VALUES (?)", [(key,) for key in sorted(data.seeds.tolist())])
        edges = data.edges_table().sort_by([("src", "ascending"), ("dst", "ascending")])
        many("INSERT INTO knows VALUES (?,?,?)", zip(*edges.to_pydict().values(), strict=True))
        many("INSERT INTO doc(rowid, text) VALUES (?,?)", enumerate(data.texts()))
        run("INSERT INTO doc(doc) VALUES ('optimize')")
        run("ANALYZE")
        self._database.commit()
        self._seed = int(data.seeds[0])

    def question(self, key: str) -> Callable[[], Any] | None:
        run = self._database.execute
        if key == "vector":
            return None
        if key == "bm25":
            ranked = f"SELECT rowid FROM doc WHERE doc MATCH ? ORDER BY rank LIMIT {TOP}"
            either = " OR ".join(searched_text().split())
            return lambda: run(ranked, (either,)).fetchall()
        text = sql(key)
        values = [self._seed] * text.count("?")
        return lambda: run(text, values).fetchall()

    def rows(self, result: Any) -> Rows:  # noqa: ANN401
        return list(result)
