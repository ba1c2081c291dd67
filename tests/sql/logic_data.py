"""The data of the logic files: the same rows in a graph and in duckdb."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

import omnigraph

SCHEMA = """
node Person {
  name: String @key
  age: I32?
  city: String?
  born: Date?
  score: F64?
  active: Bool?
  seen: DateTime?
  tags: [String]?
}
node Item { sku: String @key  price: F64?  stock: I64? }
edge Knows: Person -> Person { since: I32? }
edge Bought: Person -> Item { count: I32? }
"""


def _instant(day: int, hour: int) -> datetime:
    return datetime(2024, 1, day, hour, 30, tzinfo=UTC)


PEOPLE: list[dict[str, Any]] = [
    {"name": "ada", "age": 36, "city": "London", "born": date(1988, 12, 10), "score": 9.5,
     "active": True, "seen": _instant(5, 8), "tags": ["math", "code"]},
    {"name": "bob", "age": 25, "city": "Paris", "born": date(1999, 2, 28), "score": 4.25,
     "active": False, "seen": _instant(6, 23), "tags": []},
    {"name": "cy", "age": 41, "city": "London", "born": date(1983, 7, 1), "score": None,
     "active": True, "seen": None, "tags": ["code"]},
    {"name": "dee", "age": None, "city": None, "born": None, "score": 7.0,
     "active": None, "seen": _instant(31, 12), "tags": None},
    {"name": "eve", "age": 25, "city": "Oslo", "born": date(1999, 12, 31), "score": -1.5,
     "active": True, "seen": _instant(5, 8), "tags": ["art", "math"]},
]  # fmt: skip
ITEMS: list[dict[str, Any]] = [
    {"sku": "A1", "price": 2.5, "stock": 100},
    {"sku": "B2", "price": 10.0, "stock": 0},
    {"sku": "C3", "price": None, "stock": 7},
]
KNOWS = [("ada", "bob", 2019), ("bob", "cy", 2024), ("cy", "ada", None), ("eve", "ada", 2020)]
BOUGHT = [("ada", "A1", 3), ("ada", "B2", 1), ("bob", "A1", 2), ("eve", "C3", None)]

SALES = pa.table(
    {
        "day": pa.array([date(2024, 1 + i // 8, 1 + (i * 5) % 28) for i in range(24)]),
        "region": ["north", "south", "east"] * 8,
        "product": [f"p{i % 5}" for i in range(24)],
        "amount": pa.array([Decimal(i * 7 % 100) + Decimal("0.25") for i in range(24)],
                           pa.decimal128(10, 2)),
        "units": pa.array([None if i % 11 == 3 else i % 6 for i in range(24)], pa.int64()),
    }
)  # fmt: skip


def _people() -> pa.Table:
    return pa.Table.from_pylist(
        [{"id": person["name"], **person} for person in PEOPLE],
        schema=pa.schema(
            [
                ("id", pa.string()),
                ("active", pa.bool_()),
                ("age", pa.int32()),
                ("born", pa.date32()),
                ("city", pa.string()),
                ("name", pa.string()),
                ("score", pa.float64()),
                ("seen", pa.timestamp("us", "UTC")),
                ("tags", pa.list_(pa.string())),
            ]
        ),
    )


def logic_graph(root: str) -> omnigraph.Graph:
    """A graph that holds them; `sales` is a plain table."""
    graph = omnigraph.init(root, SCHEMA)
    with graph.transaction() as txn:
        txn.insert("Person", _people().drop_columns(["id"]))
        txn.insert("Item", ITEMS)
        txn.insert(
            "Knows",
            [{"id": f"k{i}", "src": s, "dst": d, "since": y} for i, (s, d, y) in enumerate(KNOWS)],
        )
        txn.insert(
            "Bought",
            [{"id": f"b{i}", "src": s, "dst": d, "count": n} for i, (s, d, n) in enumerate(BOUGHT)],
        )
        txn.create_table("public.sales", SALES.schema)
        txn.append("public.sales", SALES)
    return graph


def logic_duckdb() -> duckdb.DuckDBPyConnection:
    """The same in duckdb."""
    database = duckdb.connect()
    database.execute(
        "SET TimeZone = 'UTC'; SET default_null_order = 'nulls_last_on_asc_first_on_desc'"
    )
    items = pa.Table.from_pylist([{"id": item["sku"], **item} for item in ITEMS])
    items = items.select(["id", "price", "sku", "stock"])
    edges = {
        "knows": pa.table(
            {
                "id": [f"k{i}" for i in range(len(KNOWS))],
                "src": [k[0] for k in KNOWS],
                "dst": [k[1] for k in KNOWS],
                "since": pa.array([k[2] for k in KNOWS], pa.int32()),
            }
        ),
        "bought": pa.table(
            {
                "id": [f"b{i}" for i in range(len(BOUGHT))],
                "src": [b[0] for b in BOUGHT],
                "dst": [b[1] for b in BOUGHT],
                "count": pa.array([b[2] for b in BOUGHT], pa.int32()),
            }
        ),
    }
    for name, table in {"person": _people(), "item": items, "sales": SALES, **edges}.items():
        database.register("given", table)
        database.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        database.unregister("given")
    return database
