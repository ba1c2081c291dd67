"""Rows of `__manifest`, and the heads, commits, versions and schemas that they hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar

import pyarrow as pa

from omnigraph.errors import Corruption
from omnigraph.storage.core.model import (
    MAIN,
    Commit,
    DefinitionHashes,
    Head,
    Pointers,
    Registration,
    SchemaRecord,
    TablePointer,
    from_micros,
    now,
    to_micros,
)

MANIFEST_SCHEMA = pa.schema(
    [
        pa.field(
            "object_id",
            pa.string(),
            nullable=False,
            metadata={b"lance-schema:unenforced-primary-key": b"true"},
        ),
        pa.field("object_type", pa.string(), nullable=False),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("base_objects", pa.list_(pa.string())),
        pa.field("table_key", pa.string()),
        pa.field("table_version", pa.uint64()),
        pa.field("table_branch", pa.string()),
        pa.field("row_count", pa.uint64()),
    ]
)


ManifestRow = dict[str, Any]


T = TypeVar("T")


def head_id(branch: str) -> str:
    return f"head:{branch}"


def commit_id(commit: str) -> str:
    return f"commit:{commit}"


def schema_id(schema_hash: str) -> str:
    return f"schema:{schema_hash}"


def table_id(table_key: str, location: str) -> str:
    """A table that was added under a key once more has another location, and so another row."""
    _, dash, drawn = location.partition("-")
    return f"table:{table_key}{dash}{drawn}"


ALLOCATOR_ID = "allocator:identity"
_HEAD = ("commit", "version", "schema", "epoch", "incarnation", "fork", "retired", "properties")
"""What a head has in its row as it is; pointers and definitions are packed."""
_COMMIT = ("version", "actor", "message", "schema")
"""The same of a commit."""


def manifest_row(object_id: str, object_type: str, **columns: Any) -> ManifestRow:  # noqa: ANN401
    """A row of the manifest with some of its columns set."""
    row: ManifestRow = dict.fromkeys(MANIFEST_SCHEMA.names)
    return row | {"object_id": object_id, "object_type": object_type} | columns


def pack(value: Mapping[str, Any]) -> str:
    """JSON in one spelling per value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _pack_pointers(tables: Pointers) -> dict[str, list[Any]]:
    return {key: pointer.to_json() for key, pointer in sorted(tables.items())}


def _unpack_pointers(packed: Mapping[str, list[Any]]) -> dict[str, TablePointer]:
    return {key: TablePointer(*fields) for key, fields in packed.items()}


def _pack_definitions(definitions: DefinitionHashes) -> dict[str, dict[str, str]]:
    """Nothing at all when there are none: rows from before definitions look like that."""
    return {"definitions": dict(definitions)} if definitions else {}


def _unpack_definitions(data: Mapping[str, Any]) -> DefinitionHashes:
    """Also those of rows from when stored queries were the only definitions."""
    known = {f"query:{name}": text for name, text in data.get("queries", {}).items()}
    known.update(data.get("definitions", {}))
    return known


def _stored_branch(branch: str) -> str | None:
    return None if branch == MAIN else branch


def readable(parse: Callable[[ManifestRow], T]) -> Callable[[ManifestRow], T]:
    """A parser whose failures say which row of the manifest cannot be trusted."""

    @wraps(parse)
    def checked(row: ManifestRow) -> T:
        try:
            return parse(row)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Corruption(
                f"the row {row['object_id']} of the manifest cannot be read: {error!r}",
                hint="Run `omnigraph verify` to see what else is affected.",
                details={"object_id": row["object_id"]},
            ) from error

    return checked


def head_row(head: Head) -> ManifestRow:
    """The `graph_head` row of a branch."""
    return manifest_row(
        head_id(head.branch),
        "graph_head",
        table_branch=_stored_branch(head.branch),
        base_objects=[commit_id(head.commit)],
        metadata=pack(
            {name: getattr(head, name) for name in _HEAD}
            | {"tables": _pack_pointers(head.tables)}
            | ({"time": to_micros(head.time)} if head.time else {})
            | _pack_definitions(head.definitions)
        ),
    )


@readable
def parse_head(row: ManifestRow) -> Head:
    """The head in a `graph_head` row."""
    data = json.loads(row["metadata"])
    return Head(
        branch=row["table_branch"] or MAIN,
        tables=_unpack_pointers(data["tables"]),
        definitions=_unpack_definitions(data),
        time=from_micros(data["time"]) if "time" in data else None,
        **{name: data[name] for name in _HEAD},
    )


def commit_row(commit: Commit) -> ManifestRow:
    """The `graph_commit` row of a commit."""
    return manifest_row(
        commit_id(commit.id),
        "graph_commit",
        table_branch=_stored_branch(commit.branch),
        base_objects=[commit_id(parent) for parent in commit.parents],
        metadata=pack(
            {name: getattr(commit, name) for name in _COMMIT}
            | {
                "parents": list(commit.parents),
                "time": to_micros(commit.time),
                "changed": list(commit.changed),
                "tables": _pack_pointers(commit.tables),
            }
            | _pack_definitions(commit.definitions)
        ),
    )


@readable
def parse_commit(row: ManifestRow) -> Commit:
    """The commit in a `graph_commit` row."""
    data = json.loads(row["metadata"])
    return Commit(
        id=row["object_id"].removeprefix("commit:"),
        branch=row["table_branch"] or MAIN,
        parents=tuple(data["parents"]),
        time=from_micros(data["time"]),
        changed=tuple(data["changed"]),
        tables=_unpack_pointers(data["tables"]),
        definitions=_unpack_definitions(data),
        **{name: data[name] for name in _COMMIT},
    )


def version_row(branch: str, table_key: str, pointer: TablePointer, commit: str) -> ManifestRow:
    """The row that says which version of a table a commit made."""
    return manifest_row(
        f"version:{table_key}@{branch}@v={pointer.version}",
        "table_version",
        location=pointer.location,
        table_key=table_key,
        table_version=pointer.version,
        table_branch=_stored_branch(branch),
        row_count=pointer.rows,
        base_objects=[commit_id(commit)],
        metadata=pack(
            {"lance": pointer.lance, "commit": commit, "identity": pointer.identity}
            | ({"digest": pointer.digest} if pointer.digest else {})
        ),
    )


@readable
def parse_version(row: ManifestRow) -> TablePointer:
    """The pointer in a `table_version` row; before format 3 the version was the Lance version."""
    data = json.loads(row["metadata"] or "{}")
    version = row["table_version"]
    return TablePointer(
        row["location"],
        version,
        data.get("lance", version),
        row["row_count"] or 0,
        data.get("identity", 0),
        data.get("digest"),
    )


def tombstone_row(branch: str, table_key: str, version: int, commit: str) -> ManifestRow:
    """The row that says that a table was dropped from a branch at this version."""
    return manifest_row(
        f"tombstone:{table_key}@{branch}@v={version}",
        "table_tombstone",
        table_key=table_key,
        table_version=version,
        table_branch=_stored_branch(branch),
        base_objects=[commit_id(commit)],
    )


def table_row(table_key: str, location: str, identity: int) -> ManifestRow:
    """The row that registers a table's location and lifetime."""
    return manifest_row(
        table_id(table_key, location),
        "table",
        table_key=table_key,
        location=location,
        metadata=pack({"kind": table_key.partition(":")[0], "identity": identity}),
    )


def schema_row(record: SchemaRecord) -> ManifestRow:
    """The row of an accepted schema."""
    return manifest_row(
        schema_id(record.hash),
        "schema",
        metadata=pack({"source": record.source, "compiled": dict(record.compiled)}),
    )


@readable
def parse_schema(row: ManifestRow) -> SchemaRecord:
    """The schema in a `schema` row."""
    data = json.loads(row["metadata"])
    return SchemaRecord(row["object_id"].removeprefix("schema:"), data["source"], data["compiled"])


def allocator_row(next_identity: int) -> ManifestRow:
    """The row of the graph's identity allocator."""
    return manifest_row(ALLOCATOR_ID, "allocator", metadata=pack({"next": next_identity}))


@readable
def parse_allocator(row: ManifestRow) -> int:
    """The next free identity."""
    return int(json.loads(row["metadata"])["next"])


def registration_id(transaction: str) -> str:
    return f"transaction:{transaction}"


def registration_row(transaction: str, locations: Iterable[str], actor: str | None) -> ManifestRow:
    """The row by which a long transaction asks collections to spare the tables it stages into."""
    return manifest_row(
        registration_id(transaction),
        "transaction",
        metadata=pack({"locations": sorted(locations), "actor": actor, "time": to_micros(now())}),
    )


@readable
def parse_registration(row: ManifestRow) -> Registration:
    """The registration in a `transaction` row."""
    data = json.loads(row["metadata"])
    return Registration(tuple(data["locations"]), data["actor"], from_micros(data["time"]))


def rows_table(rows: Iterable[ManifestRow]) -> pa.Table:
    """Manifest rows as an Arrow table."""
    return pa.Table.from_pylist(list(rows), schema=MANIFEST_SCHEMA)
