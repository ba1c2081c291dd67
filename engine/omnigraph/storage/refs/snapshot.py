"""A snapshot: the whole graph at one moment, read under the names of today's schema.

Types and properties are matched to the past by identity, so a renamed type shows its old rows under
its new name; what did not exist then is an error, never an invented null
(docs/design/branching.md#3-reading-the-past).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, get_args

import pyarrow as pa

from omnigraph.common.arrow_to_python import python_rows
from omnigraph.errors import (
    InvalidInput,
    NotFound,
    OmniGraphError,
    StorageError,
    did_you_mean,
)
from omnigraph.schema import Catalog, EdgeType, NodeType
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.core.lance_filter import in_condition
from omnigraph.storage.core.model import TablePointer
from omnigraph.storage.core.read_errors import blame_filter, translating
from omnigraph.storage.core.read_log import ReadLog
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.definitions import Definition, DefinitionKind, definition_key
from omnigraph.storage.plain.plain_table import (
    PREFIX,
    PlainTable,
    declaration_of,
    no_table,
    plain_names,
)
from omnigraph.storage.refs.moments import Moment, reclaimed, reclaimed_since
from omnigraph.storage.tables.readable_table import ReadableTable
from omnigraph.storage.tables.table_slices import TableSlice, split, whole_table
from omnigraph.storage.tables.tables import TableStore

_WORD = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|[A-Za-z_][A-Za-z0-9_]*")
_SYSTEM_COLUMNS = ("id", "src", "dst")


class Snapshot:
    """Reads of one moment. Commits that land later are invisible to it."""

    def __init__(self, store: GraphStore, moment: Moment, reads: ReadLog | None = None) -> None:
        """`reads` is the log of the transaction that reads through this snapshot."""
        self._store = store
        self.moment = moment
        self._catalog: Catalog = store.catalog(moment.reading_schema)
        self._catalog_then: Catalog = store.catalog(moment.schema)
        self._reads = ReadLog() if reads is None else reads

    def unrecorded(self) -> Snapshot:
        """The same moment, for looking up names: such reads are in no transaction's log."""
        return Snapshot(self._store, self.moment)

    def note_reads(self, keys: Iterable[str]) -> None:
        """Note that these tables of the moment were read."""
        self._reads.schema = True
        self._reads.keys.update(keys)

    def note_reads_of_all(self) -> None:
        """Note that all of the moment was read, which listings of the whole catalog do."""
        self.note_reads([*self.moment.tables, *(f"{kind}:" for kind in get_args(DefinitionKind))])

    @property
    def catalog(self) -> Catalog:
        """The schema under whose names the moment is read."""
        self._reads.schema = True
        return self._catalog

    @property
    def commit(self) -> str:
        """The id of the commit this snapshot shows."""
        return self.moment.commit

    @property
    def branch(self) -> str:
        """The branch the snapshot was taken on."""
        return self.moment.branch

    @property
    def version(self) -> int:
        """The commit's place in its branch's chain."""
        return self.moment.version

    def types(self) -> tuple[GraphType, ...]:
        """The types of today's schema that existed at this moment."""
        return tuple(t for t in self.catalog.types() if self._then(t) is not None)

    def pointer(self, type_: GraphType) -> TablePointer:
        """The table version that holds a type at this moment."""
        key = self._existing(type_).table_key
        self._reads.keys.add(key)
        pointer = self.moment.tables[key]
        if self.moment.is_purged(pointer):
            raise reclaimed(self.commit)
        return pointer

    def find_type(self, name: str) -> GraphType:
        """A type by its name today, or by its name then if it was dropped since."""
        try:
            return find_type(self.catalog, name)
        except NotFound:
            with suppress(NotFound):
                then = find_type(self._catalog_then, name)
                if self.catalog.by_identity(then.identity) is None:
                    return then
            raise

    def plain_tables(self) -> list[PlainTable]:
        """The plain tables of this moment, by name."""
        self._reads.keys.add(PREFIX)
        return [self.plain_table(name) for name in plain_names(self.moment.tables)]

    def plain_table(self, name: str) -> PlainTable:
        """One of them, by `<schema>.<name>`."""
        self._reads.keys.add(PREFIX + name)
        pointer = self.moment.tables.get(PREFIX + name)
        if pointer is None:
            raise no_table(name, plain_names(self.moment.tables))
        if self.moment.is_purged(pointer):
            raise reclaimed(self.commit)
        declared = declaration_of(self.definition("table", name))
        epoch = self.moment.epoch
        return PlainTable(self._store.tables, name, pointer, declared, epoch, self.explained)

    def definitions(self, kind: DefinitionKind) -> Mapping[str, Definition]:
        """The stored queries (`query`), views, … of this moment, by name."""
        self._reads.keys.add(f"{kind}:")
        names = sorted(
            key.partition(":")[2] for key in self.moment.definitions if key.startswith(f"{kind}:")
        )
        known = ((name, self.definition(kind, name)) for name in names)
        return {name: definition for name, definition in known if definition is not None}

    def definition(self, kind: DefinitionKind, name: str) -> Definition | None:
        """One of them, or none."""
        key = definition_key(kind, name)
        self._reads.keys.add(key)
        content_hash = self.moment.definitions.get(key)
        return self._store.definition(key, content_hash) if content_hash else None

    @property
    def tables(self) -> TableStore:
        """The door to the tables of the graph."""
        return self._store.tables

    def stored_names(self, type_: GraphType) -> Mapping[str, str]:
        """What each column of a type that can be named was called at this moment."""
        return self._names_then(type_, self._existing(type_))

    def count(self, type_name: str) -> int:
        """How many entities a type has."""
        return self.pointer(self.find_type(type_name)).rows

    def schema(self, type_name: str) -> pa.Schema:
        """The columns a scan of the type gives."""
        type_ = self.find_type(type_name)
        then = self._existing(type_)
        known = {p.identity for p in then.properties}
        return pa.schema(
            f
            for f in table_schema(type_)
            if f.name in _SYSTEM_COLUMNS or type_.property(f.name).identity in known
        )

    def scan(
        self,
        type_name: str,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002
        limit: int | None = None,
        order_by: Sequence[str] | None = None,
    ) -> pa.RecordBatchReader:
        """Stream a type's rows; columns, filter (SQL) and order are pushed into the table."""
        if limit is not None and not 0 <= limit < 2**63:
            raise InvalidInput(f"{limit} is not a limit", hint="Give a number of rows, or none.")
        wanted = self._scan(type_name, columns, filter)
        return self._store.tables.scan_as(
            wanted.version,
            wanted.schema,
            partial(self.explained, condition=filter),
            columns=wanted.columns,
            condition=wanted.condition,
            limit=limit,
            order_by=list(self._scan(type_name, order_by, None).columns) if order_by else None,
        )

    def slices(
        self,
        type_name: str,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002
        *,
        at_most: int,
    ) -> list[TableSlice]:
        """What `scan` gives, in slices that other processes read with `read_slice`."""
        return split(self._store.tables, self._scan(type_name, columns, filter), at_most)

    def _scan(
        self, type_name: str, columns: Sequence[str] | None, condition: str | None
    ) -> TableSlice:
        """A read in the names that the table had then."""
        type_ = self.find_type(type_name)
        then = self._existing(type_)
        shown = self._with_dropped(type_, then, self.schema(type_name), columns or ())
        selected = self._selected(type_, shown, columns)
        names = self._names_then(type_, then)
        return whole_table(
            self._store.root,
            self._version(type_),
            [names[name] for name in selected],
            self._in_names_then(type_, condition, names) if condition else None,
            pa.schema([shown.field(name) for name in selected]),
        )

    def readable(self, type_name: str) -> ReadableTable:
        """A type's table for a query engine that reads by itself."""
        type_ = self.find_type(type_name)
        names = self._names_then(type_, self._existing(type_))
        schema = self.schema(type_name)
        return ReadableTable(
            self._store.tables,
            self._version(type_),
            schema,
            {name: names[name] for name in schema.names},
            self.pointer(type_).rows,
            identified=True,
            key=type_.text_key,
        )

    def get(self, type_name: str, id: str) -> dict[str, Any] | None:  # noqa: A002
        """One entity as a dictionary, or none."""
        condition = in_condition("id", pa.array([id], pa.string()))
        rows = python_rows(self.scan(type_name, filter=condition).read_all())
        return rows[0] if rows else None

    def explained(self, error: StorageError, condition: str | None = None) -> OmniGraphError:
        """A failed read in the caller's terms."""
        if error.code == "corruption" and reclaimed_since(self._store, self.moment):
            return reclaimed(self.commit)
        return blame_filter(error, condition)

    def _version(self, type_: GraphType) -> TableVersion:
        version = self.pointer(type_).address
        with translating(self.explained):
            self._store.tables.schema(version)  # opens it
        return version

    def _selected(
        self, type_: GraphType, shown: pa.Schema, columns: Sequence[str] | None
    ) -> list[str]:
        if columns is None:
            return list(shown.names)
        check_columns(columns)
        for name in columns:
            if name in shown.names:
                continue
            if name in type_.by_name:
                raise self.no_property_then(type_, name)
            raise NotFound(
                f"{type_.kind} {type_.name} has no property {name!r}"
                f"{did_you_mean(name, shown.names)}",
                hint=f"It has {', '.join(shown.names)}.",
            )
        return list(columns)

    def _in_names_then(self, type_: GraphType, condition: str, names: Mapping[str, str]) -> str:
        """A condition with today's property names turned into those of the past."""

        def then(word: re.Match[str]) -> str:
            name = word[0].strip("`")
            if name in type_.by_name and name not in names:
                raise self.no_property_then(type_, name)
            return word[0].replace(name, names.get(name, name)) if name in names else word[0]

        return _WORD.sub(then, condition)

    def no_property_then(self, type_: GraphType, name: str) -> NotFound:
        """The error of a property that is younger than this moment."""
        return NotFound(
            f"{type_.name}.{name} did not exist at commit {self.commit}",
            hint="Read it at a later moment.",
        )

    def _with_dropped(
        self, type_: GraphType, then: GraphType, shown: pa.Schema, columns: Sequence[str]
    ) -> pa.Schema:
        """The schema with properties that were dropped since, where they are selected."""
        dropped = table_schema(then)
        for name in columns:
            old = then.by_name.get(name)
            if old and name not in type_.by_name and old.identity not in type_.by_identity:
                shown = shown.append(dropped.field(name))
        return shown

    def _then(self, type_: GraphType) -> GraphType | None:
        then = self._catalog_then.by_identity(type_.identity)
        return then if isinstance(then, NodeType | EdgeType) else None

    def _existing(self, type_: GraphType) -> GraphType:
        then = self._then(type_)
        if then is None or then.table_key not in self.moment.tables:
            raise NotFound(
                f"{type_.kind} {type_.name} did not exist at commit {self.commit}",
                hint="Read it at a later moment.",
            )
        return then

    def _names_then(self, type_: GraphType, then: GraphType) -> Mapping[str, str]:
        """What each column that can be named was called then; not an earlier one of its name."""
        old = {p.identity: p.name for p in then.properties}
        dropped = [p.name for p in then.properties if p.identity not in type_.by_identity]
        names = {name: name for name in (*_SYSTEM_COLUMNS, *dropped) if name not in type_.by_name}
        return names | {p.name: old[p.identity] for p in type_.properties if p.identity in old}


def check_columns(columns: Sequence[str]) -> None:
    """A choice of columns names at least one, and each once."""
    if not columns:
        raise InvalidInput("no columns were selected", hint='Select ["id"] at least.')
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if twice:
        raise InvalidInput(f"the column {twice[0]!r} is selected twice", hint="Name it once.")


def find_type(catalog: Catalog, name: str) -> GraphType:
    """A type by name; `node:X` or `edge:X` where a node and an edge share it."""
    kind, colon, rest = name.partition(":")
    if colon and kind == "node":
        return catalog.node(rest)
    if colon and kind == "edge":
        return catalog.edge(rest)
    edges = {edge.lower(): edge for edge in catalog.edges}
    if name in catalog.nodes and name.lower() in edges:
        raise InvalidInput(
            f"{name!r} names a node type and an edge type",
            hint=f"Write node:{name} or edge:{edges[name.lower()]}.",
        )
    if name in catalog.nodes:
        return catalog.node(name)
    if name.lower() in edges:
        return catalog.edge(name)
    known = [*catalog.nodes, *catalog.edges]
    raise NotFound(
        f"there is no type {name!r}{did_you_mean(name, known)}",
        hint=f"The schema has {', '.join(sorted(known)) or 'no types'}.",
    )
