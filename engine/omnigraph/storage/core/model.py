"""The nouns of storage as values: pointers, heads, commits, and the manifest rows they become."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import wraps
from typing import Any, TypeVar

import pyarrow as pa

from omnigraph.errors import Corruption
from omnigraph.schema import Catalog, compiled_hash

MAIN = "main"
PROTECTED = "protected"
"""The name of a head property."""

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

Row = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TablePointer:
    """One immutable version of one table."""

    location: str
    version: int
    """What people see: 1, 2, 3 … per table and branch."""
    lance: int
    """The address: the Lance version that holds the rows."""
    rows: int
    identity: int
    """The stable identity of the table's lifetime; it survives renames."""

    def to_json(self) -> list[Any]:
        return [self.location, self.version, self.lance, self.rows, self.identity]


Pointers = Mapping[str, TablePointer]
DefinitionHashes = Mapping[str, str]
"""Which content each definition of a branch has: `query:<name>`, `view:<schema>.<name>`,
`schema:<name>` or `table:<schema>.<name>` to the hash of its row."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One atomic change of the whole graph."""

    id: str
    branch: str
    version: int
    """Its place in its branch's first-parent chain; genesis is 1."""
    parents: tuple[str, ...]
    time: datetime
    actor: str | None
    message: str | None
    schema: str
    """The hash of the schema in force after this commit."""
    changed: tuple[str, ...]
    """Keys of the tables whose pointers it moved, sorted."""
    tables: Pointers = field(repr=False)
    definitions: DefinitionHashes = field(default_factory=dict, repr=False)

    @property
    def parent(self) -> str | None:
        """The branch head it was built on; none for genesis."""
        return self.parents[0] if self.parents else None

    @property
    def merged_parent(self) -> str | None:
        """The head of the merged branch; none unless this is a merge."""
        return self.parents[1] if len(self.parents) > 1 else None

    def to_json(self) -> dict[str, Any]:
        """The commit as surfaces show it."""
        return {
            "graph_commit_id": self.id,
            "graph_branch": None if self.branch == MAIN else self.branch,
            "graph_manifest_version": self.version,
            "parent_commit_id": self.parent,
            "merged_parent_commit_id": self.merged_parent,
            "actor_id": self.actor,
            "created_at": to_micros(self.time),
            "message": self.message,
            "changed": list(self.changed),
        }


@dataclass(frozen=True, slots=True)
class Head:
    """The tip of a branch: everything a reader or writer needs to start."""

    branch: str
    commit: str
    version: int
    schema: str
    epoch: int
    """Raised by every collection; a transaction pinned under an older one may not publish."""
    incarnation: str
    """Tells a branch from an earlier one of the same name."""
    fork: str | None
    """The commit the branch was created from; none for main."""
    tables: Pointers = field(repr=False)
    retired: Mapping[str, int] = field(default_factory=dict)
    """The last version of each table that was dropped here, so that numbers are never reused."""
    properties: Mapping[str, Any] = field(default_factory=dict)
    definitions: DefinitionHashes = field(default_factory=dict, repr=False)

    @property
    def protected(self) -> bool:
        """Whether only a merge may move it; also not to be deleted."""
        return bool(self.properties.get(PROTECTED, False))


@dataclass(frozen=True, slots=True)
class SchemaRecord:
    """An accepted `.pg` source and its compiled form."""

    hash: str
    source: str
    compiled: Mapping[str, Any]


# --------------------------------------------------------------------------- time


def now() -> datetime:
    """The current instant at the resolution that commits keep."""
    return datetime.now(UTC)


def to_micros(moment: datetime) -> int:
    """Microseconds since the epoch."""
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)


def from_micros(value: int) -> datetime:
    """The instant of a number of microseconds since the epoch."""
    return datetime.fromtimestamp(value // 1_000_000, UTC).replace(microsecond=value % 1_000_000)


# --------------------------------------------------------------------------- object ids


def head_id(branch: str) -> str:
    return f"head:{branch}"


def commit_id(commit: str) -> str:
    return f"commit:{commit}"


def schema_id(schema_hash: str) -> str:
    return f"schema:{schema_hash}"


def table_id(table_key: str) -> str:
    return f"table:{table_key}"


ALLOCATOR_ID = "allocator:identity"


def manifest_row(object_id: str, object_type: str, **columns: Any) -> Row:  # noqa: ANN401
    """A row of the manifest with some of its columns set."""
    row: Row = dict.fromkeys(MANIFEST_SCHEMA.names)
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


def readable(parse: Callable[[Row], T]) -> Callable[[Row], T]:
    """A parser whose failures say which row of the manifest cannot be trusted."""

    @wraps(parse)
    def checked(row: Row) -> T:
        try:
            return parse(row)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Corruption(
                f"the row {row['object_id']} of the manifest cannot be read: {error!r}",
                hint="Run `omnigraph verify` to see what else is affected.",
                details={"object_id": row["object_id"]},
            ) from error

    return checked


# --------------------------------------------------------------------------- rows of values


def head_row(head: Head) -> Row:
    """The `graph_head` row of a branch."""
    return manifest_row(
        head_id(head.branch),
        "graph_head",
        table_branch=_stored_branch(head.branch),
        base_objects=[commit_id(head.commit)],
        metadata=pack(
            {
                "commit": head.commit,
                "version": head.version,
                "schema": head.schema,
                "epoch": head.epoch,
                "incarnation": head.incarnation,
                "fork": head.fork,
                "tables": _pack_pointers(head.tables),
                "retired": dict(head.retired),
                "properties": dict(head.properties),
            }
            | _pack_definitions(head.definitions)
        ),
    )


@readable
def parse_head(row: Row) -> Head:
    """The head in a `graph_head` row."""
    data = json.loads(row["metadata"])
    return Head(
        branch=row["table_branch"] or MAIN,
        commit=data["commit"],
        version=data["version"],
        schema=data["schema"],
        epoch=data["epoch"],
        incarnation=data["incarnation"],
        fork=data["fork"],
        tables=_unpack_pointers(data["tables"]),
        retired=data["retired"],
        properties=data["properties"],
        definitions=_unpack_definitions(data),
    )


def commit_row(commit: Commit) -> Row:
    """The `graph_commit` row of a commit."""
    return manifest_row(
        commit_id(commit.id),
        "graph_commit",
        table_branch=_stored_branch(commit.branch),
        base_objects=[commit_id(parent) for parent in commit.parents],
        metadata=pack(
            {
                "version": commit.version,
                "parents": list(commit.parents),
                "time": to_micros(commit.time),
                "actor": commit.actor,
                "message": commit.message,
                "schema": commit.schema,
                "changed": list(commit.changed),
                "tables": _pack_pointers(commit.tables),
            }
            | _pack_definitions(commit.definitions)
        ),
    )


@readable
def parse_commit(row: Row) -> Commit:
    """The commit in a `graph_commit` row."""
    data = json.loads(row["metadata"])
    return Commit(
        id=row["object_id"].removeprefix("commit:"),
        branch=row["table_branch"] or MAIN,
        version=data["version"],
        parents=tuple(data["parents"]),
        time=from_micros(data["time"]),
        actor=data["actor"],
        message=data["message"],
        schema=data["schema"],
        changed=tuple(data["changed"]),
        tables=_unpack_pointers(data["tables"]),
        definitions=_unpack_definitions(data),
    )


def version_row(branch: str, table_key: str, pointer: TablePointer, commit: str) -> Row:
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
        metadata=pack({"lance": pointer.lance, "commit": commit, "identity": pointer.identity}),
    )


@readable
def parse_version(row: Row) -> TablePointer:
    """The pointer in a `table_version` row; before format 3 the version was the Lance version."""
    data = json.loads(row["metadata"] or "{}")
    version = row["table_version"]
    return TablePointer(
        row["location"],
        version,
        data.get("lance", version),
        row["row_count"] or 0,
        data.get("identity", 0),
    )


def tombstone_row(branch: str, table_key: str, version: int, commit: str) -> Row:
    """The row that says that a table is gone from a branch from this version on."""
    return manifest_row(
        f"tombstone:{table_key}@{branch}@v={version}",
        "table_tombstone",
        table_key=table_key,
        table_version=version,
        table_branch=_stored_branch(branch),
        base_objects=[commit_id(commit)],
    )


def table_row(table_key: str, location: str, identity: int) -> Row:
    """The row that registers a table's place and lifetime."""
    return manifest_row(
        table_id(table_key),
        "table",
        table_key=table_key,
        location=location,
        metadata=pack({"kind": table_key.partition(":")[0], "identity": identity}),
    )


def schema_record(source: str, catalog: Catalog) -> SchemaRecord:
    """A schema as the manifest keeps it; the hash covers identities, so equal means the same."""
    return SchemaRecord(compiled_hash(catalog), source, catalog.to_json())


def schema_row(record: SchemaRecord) -> Row:
    """The row of an accepted schema."""
    return manifest_row(
        schema_id(record.hash),
        "schema",
        metadata=pack({"source": record.source, "compiled": dict(record.compiled)}),
    )


@readable
def parse_schema(row: Row) -> SchemaRecord:
    """The schema in a `schema` row."""
    data = json.loads(row["metadata"])
    return SchemaRecord(row["object_id"].removeprefix("schema:"), data["source"], data["compiled"])


def allocator_row(next_identity: int) -> Row:
    """The row of the graph's identity allocator."""
    return manifest_row(ALLOCATOR_ID, "allocator", metadata=pack({"next": next_identity}))


@readable
def parse_allocator(row: Row) -> int:
    """The next free identity."""
    return int(json.loads(row["metadata"])["next"])


def registration_id(transaction: str) -> str:
    return f"transaction:{transaction}"


def registration_row(transaction: str, locations: Iterable[str], actor: str | None) -> Row:
    """The row by which a long transaction asks collections to spare the tables it stages into."""
    return manifest_row(
        registration_id(transaction),
        "transaction",
        metadata=pack({"locations": sorted(locations), "actor": actor, "time": to_micros(now())}),
    )


@dataclass(frozen=True, slots=True)
class Registration:
    """A long transaction that asked collections to leave its tables alone."""

    locations: tuple[str, ...]
    actor: str | None
    time: datetime


@readable
def parse_registration(row: Row) -> Registration:
    """The registration in a `transaction` row."""
    data = json.loads(row["metadata"])
    return Registration(tuple(data["locations"]), data["actor"], from_micros(data["time"]))


def rows_table(rows: Iterable[Row]) -> pa.Table:
    """Manifest rows as an Arrow table."""
    return pa.Table.from_pylist(list(rows), schema=MANIFEST_SCHEMA)
