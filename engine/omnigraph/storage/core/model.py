"""The nouns of storage as values: pointers, heads, commits. Their rows are in `row_codec`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from omnigraph.schema import Catalog, compiled_hash
from omnigraph.storage.core.table_version import TableVersion

MAIN = "main"
PROTECTED = "protected"
"""The name of a head property."""


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
    digest: str | None = None
    """The digest of the version file; none when it was written without."""

    @property
    def address(self) -> TableVersion:
        return TableVersion(self.location, self.lance, self.digest)

    def at(self, version: TableVersion) -> TablePointer:
        """The same pointer to another version of the table, which has as many rows."""
        return replace(self, lance=version.lance, digest=version.digest)

    def to_json(self) -> list[Any]:
        fields = [self.location, self.version, self.lance, self.rows, self.identity]
        return fields if self.digest is None else [*fields, self.digest]


def pointer_to(version: TableVersion, rows: int, identity: int, number: int = 0) -> TablePointer:
    """A pointer to a version; unless it has a number, publishing gives it one."""
    return TablePointer(version.location, number, version.lance, rows, identity, version.digest)


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
    time: datetime | None = field(default=None, compare=False)
    """When its commit was made; none in a row from before heads had it."""

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


def now() -> datetime:
    """The current instant at the resolution that commits keep."""
    return datetime.now(UTC)


def to_micros(moment: datetime) -> int:
    """Microseconds since the epoch."""
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)


def from_micros(value: int) -> datetime:
    """The instant of a number of microseconds since the epoch."""
    return datetime.fromtimestamp(value // 1_000_000, UTC).replace(microsecond=value % 1_000_000)


def schema_record(source: str, catalog: Catalog) -> SchemaRecord:
    """A schema as the manifest keeps it; the hash covers identities, so equal means the same."""
    return SchemaRecord(compiled_hash(catalog), source, catalog.to_json())


@dataclass(frozen=True, slots=True)
class Registration:
    """A long transaction that asked collections to leave its tables alone."""

    locations: tuple[str, ...]
    actor: str | None
    time: datetime
