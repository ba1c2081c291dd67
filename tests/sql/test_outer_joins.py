"""Conditions above outer joins of tables that share column names answer as in duckdb."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import omnigraph
import omnigraph_sql
from sql.conftest import rows

CONDITIONS = [
    "{n}.id IS NULL AND {p}.city = 'L'",
    "{n}.v IS NULL AND {p}.v = 1",
    "coalesce({n}.city, 'x') = 'x' AND upper({p}.city) = 'L'",
    "({n}.v IS NULL OR {n}.v = 2) AND abs({p}.v) > 1",
    "{n}.id IS DISTINCT FROM 3 AND {p}.city IS NOT NULL",
]
SHAPES = [
    "SELECT l.id, l.city, r.id AS i2, r.city AS c2 FROM l {k} JOIN r ON l.id = r.id WHERE {c}",
    "SELECT l.id, r.id AS i2, m.v FROM m LEFT JOIN l ON m.id = l.id {k} JOIN r ON l.id = r.id "
    "WHERE {c}",
    "SELECT count(*) AS n FROM (SELECT l.id, r.v FROM l {k} JOIN r ON l.id = r.id WHERE {c}) x",
]


def _rows(count: int) -> pa.Table:
    dice = random.Random(count)
    return pa.table(
        {
            "id": pa.array([dice.randrange(count * 2 + 1) for _ in range(count)], pa.int64()),
            "city": pa.array([dice.choice(["L", "P", None]) for _ in range(count)], pa.string()),
            "v": pa.array([dice.choice([1, 2, None]) for _ in range(count)], pa.int64()),
        }
    )


@pytest.mark.parametrize("sizes", [(0, 5), (3, 200), (200, 3)])
def test_a_condition_stays_on_its_side(tmp_path: Path, sizes: tuple[int, int]) -> None:
    ours = omnigraph_sql.connect(omnigraph.init(str(tmp_path / "g.omni"), "node U { k: String? }"))
    peer = duckdb.connect()
    for name, count in zip("lrm", (*sizes, 20), strict=True):
        given = _rows(count)
        ours.ingest(name, given.to_reader(), "create")
        peer.register("given", given)
        peer.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    for kind, nullable, present in (
        ("LEFT", "r", "l"),
        ("RIGHT", "l", "r"),
        ("FULL", "r", "l"),
        ("FULL", "l", "r"),
    ):
        for condition in CONDITIONS:
            for shape in SHAPES:
                sql = shape.format(k=kind, c=condition.format(n=nullable, p=present))
                wanted = sorted(map(repr, peer.execute(sql).fetchall()))
                assert sorted(repr(tuple(row.values())) for row in rows(ours, sql)) == wanted, sql
