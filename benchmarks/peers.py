"""The same one-row upsert and point read in OmniGraph and in other table formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import omnigraph
from support.object_stores import ObjectStore

SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("age", pa.int64()),
        pa.field("city", pa.string()),
    ]
)
GRAPH_SCHEMA = "node Person {\n  name: String @key\n  age: I64?\n  city: String?\n}\n"


def people(rows: int) -> pa.Table:
    """People with distinct names."""
    return pa.table(
        {
            "name": [f"person-{i:07}" for i in range(rows)],
            "age": [i % 90 for i in range(rows)],
            "city": [f"city-{i % 100}" for i in range(rows)],
        },
        SCHEMA,
    )


def person(name: str, age: int) -> pa.Table:
    return pa.table({"name": [name], "age": [age], "city": ["elsewhere"]}, SCHEMA)


class System(ABC):
    """A table with a key, in a folder or a bucket. Handles are kept open, as a service would."""

    name: str
    deepest = 1000
    """The depth beyond which it takes too long to measure."""

    @abstractmethod
    def create(self, uri: str, store: ObjectStore | None, rows: pa.Table) -> None: ...

    @abstractmethod
    def upsert(self, row: pa.Table) -> None: ...

    @abstractmethod
    def age_of(self, name: str) -> int: ...

    @abstractmethod
    def count(self) -> int: ...


class OmniGraph(System):
    name = "omnigraph"

    def create(self, uri: str, store: ObjectStore | None, rows: pa.Table) -> None:
        options = store.storage_options() if store else None
        self._graph = omnigraph.init(uri, GRAPH_SCHEMA, storage_options=options)
        self._graph.load(rows, type="Person")
        self._graph.optimize()

    def upsert(self, row: pa.Table) -> None:
        with self._graph.transaction() as txn:
            txn.upsert("Person", row)

    def age_of(self, name: str) -> int:
        found = self._graph.snapshot().get("Person", name)
        assert found is not None
        return int(found["age"])

    def count(self) -> int:
        return self._graph.snapshot().count("Person")


class LanceDb(System):
    name = "lancedb merge_insert"

    def create(self, uri: str, store: ObjectStore | None, rows: pa.Table) -> None:
        import lancedb

        options = store.storage_options() if store else None
        self._table: Any = lancedb.connect(uri, storage_options=options).create_table("t", rows)
        self._table.create_scalar_index("name")

    def upsert(self, row: pa.Table) -> None:
        merge = self._table.merge_insert("name")
        merge.when_matched_update_all().when_not_matched_insert_all().execute(row)

    def age_of(self, name: str) -> int:
        found = self._table.search().where(f"name = '{name}'").to_arrow()
        return int(found.column("age")[0].as_py())

    def count(self) -> int:
        return int(self._table.count_rows())


class DeltaLake(System):
    name = "deltalake merge"

    def create(self, uri: str, store: ObjectStore | None, rows: pa.Table) -> None:
        from deltalake import DeltaTable, write_deltalake

        options = {k.upper(): v for k, v in store.storage_options().items()} if store else None
        write_deltalake(uri, rows, storage_options=options)
        self._remote = store is not None
        self._table: Any = DeltaTable(uri, storage_options=options)

    def upsert(self, row: pa.Table) -> None:
        merge = self._table.merge(row, "t.name = s.name", source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def age_of(self, name: str) -> int:
        if self._remote:
            wanted = pc.field("name").cast(pa.string()) == name
            rows = self._table.to_pyarrow_dataset().to_table(filter=wanted)
            return int(rows.column("age")[0].as_py())
        return self._ask(f"SELECT age FROM t WHERE name = '{name}'")

    def count(self) -> int:
        return int(self._table.to_pyarrow_dataset().to_table(columns=["age"]).num_rows)

    def _ask(self, query: str) -> int:
        """Its SQL is its fastest point read, but hangs on an S3 handle that has merged."""
        from deltalake import QueryBuilder

        answer = QueryBuilder().register("t", self._table).execute(query)
        return int(pa.table(answer.read_all()).column(0)[0].as_py())


class PyIceberg(System):
    name = "pyiceberg upsert"
    deepest = 100

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def create(self, uri: str, store: ObjectStore | None, rows: pa.Table) -> None:
        from pyiceberg.catalog.sql import SqlCatalog

        self._folder.mkdir(parents=True, exist_ok=True)
        place: dict[str, str] = {"warehouse": uri if store else Path(uri).absolute().as_uri()}
        if store:
            place |= {
                "s3.endpoint": store.endpoint,
                "s3.access-key-id": store.access_key,
                "s3.secret-access-key": store.secret_key,
                "s3.region": store.region,
            }
        catalog: Any = SqlCatalog("c", uri=f"sqlite:///{self._folder}/catalog.db", **place)
        catalog.create_namespace("n")
        self._table: Any = catalog.create_table("n.t", schema=rows.schema)
        self._table.append(rows)

    def upsert(self, row: pa.Table) -> None:
        self._table.upsert(row, join_cols=["name"])

    def age_of(self, name: str) -> int:
        found = self._table.scan(row_filter=f"name == '{name}'").to_arrow()
        return int(found.column("age")[0].as_py())

    def count(self) -> int:
        return int(self._table.scan(selected_fields=("age",)).to_arrow().num_rows)


def systems(folder: Path) -> list[System]:
    """All that are measured, OmniGraph first."""
    return [OmniGraph(), LanceDb(), DeltaLake(), PyIceberg(folder)]
