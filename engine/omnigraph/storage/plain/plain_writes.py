"""The plain tables and definitions of one transaction.

Part of `WriteTxn`, which publishes what is collected here together with the rows of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from omnigraph.errors import AlreadyExists, InvalidInput, ReadSetConflict, TransactionExpired
from omnigraph.storage.constraints.table_view import StoredTable
from omnigraph.storage.core.layout import new_table_location
from omnigraph.storage.core.model import Head, TablePointer
from omnigraph.storage.core.read_errors import Explain, translating
from omnigraph.storage.core.read_log import ReadLog
from omnigraph.storage.core.row_addresses import NO_ADDRESSES, Addresses
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.definitions import (
    Definition,
    DefinitionKind,
    changed_definitions,
    definition_key,
)
from omnigraph.storage.plain.declared_checks import check_declared, check_required
from omnigraph.storage.plain.plain_table import (
    NOTHING_DECLARED,
    PREFIX,
    PlainTable,
    TableDeclaration,
    declaration_of,
    new_identity,
    no_table,
    plain_names,
    storable,
    table_name,
)
from omnigraph.storage.plain.stage_plain import (
    PlainStaged,
    dropped,
    exchange,
    rebased,
    reshape,
    unchanged,
)
from omnigraph.storage.tables.data_files import DataFiles
from omnigraph.storage.tables.write_buffer import DataFileSink, RowBuffer


@dataclass
class OpenChange:
    """Rows that are deleted from and added to a table."""

    buffer: RowBuffer
    deleted: list[Addresses] = field(default_factory=list)


class PlainWrites:
    """What one transaction does to plain tables and definitions. Used by one thread at a time."""

    def __init__(
        self,
        store: GraphStore,
        pin: Head,
        on_spill: Callable[[], None],
        reads: ReadLog,
        explain: Explain,
    ) -> None:
        """`explain` tells damage from what a collection took since the transaction began."""
        self._store = store
        self._pin = pin
        self._explain = explain
        self._on_spill = on_spill
        self._reads = reads
        self._states: dict[str, PlainStaged] = {}
        self._open: dict[str, OpenChange] = {}
        """Rows that are added or deleted and not staged yet, by name."""
        self._definitions: dict[str, Definition | None] = {}
        self._validated = False

    # ------------------------------------------------------------------ what is there

    def names(self) -> list[str]:
        """The plain tables as this transaction sees them."""
        known = set(plain_names(self._pin.tables)) | self._states.keys()
        return sorted(name for name in known if self._find(name) is not None)

    def table(self, name: str) -> PlainTable:
        """One of them, for reading; its own writes included. It may not move until the commit."""
        self._reads.keys.add(PREFIX + name)
        state = self._existing(name)
        pointer = state.pointer
        assert pointer is not None
        return PlainTable(self._store.tables, name, pointer, state.declaration, self._pin.epoch)

    def declaration(self, name: str) -> TableDeclaration:
        """What is declared about a table; unlike `table`, this is no read of its rows."""
        return self._existing(name).declaration

    def schema(self, name: str) -> pa.Schema:
        """The columns of a table; unlike `table`, this stages nothing and reads no rows."""
        state = self._states[name] if name in self._open else self._existing(name)
        with translating(self._explain):
            return self._store.tables.schema(state.address).remove_metadata()

    def exists(self, name: str) -> bool:
        """Whether there is a plain table of that name."""
        return self._find(name) is not None

    def definition(self, kind: DefinitionKind, name: str) -> Definition | None:
        """A definition as this transaction sees it."""
        self._reads.keys.add(definition_key(kind, name))
        return self._definition(kind, name)

    def _definition(self, kind: DefinitionKind, name: str) -> Definition | None:
        key = definition_key(kind, name)
        if key in self._definitions:
            return self._definitions[key]
        content_hash = self._pin.definitions.get(key)
        return self._store.definition(key, content_hash) if content_hash else None

    def _find(self, name: str) -> PlainStaged | None:
        """The state of a table that is there, appends included."""
        if name in self._open:
            change = self._open.pop(name)
            deleted = np.concatenate([NO_ADDRESSES, *change.deleted])
            with translating(self._explain):
                changed = exchange(self._store.tables, self._states[name], deleted, change.buffer)
            self._keep(name, changed)
        state = self._states.get(name)
        if state is None:
            pointer = self._pin.tables.get(PREFIX + name)
            if pointer is None:
                return None
            state = unchanged(pointer, declaration_of(self._definition("table", name)))
            self._states[name] = state
        return state if state.version is not None else None

    def _existing(self, name: str) -> PlainStaged:
        state = self._find(name)
        if state is None:
            raise no_table(name, self.names())
        return state

    def _require_free(self, name: str, hint: str = "Choose another name, or drop it.") -> None:
        if self.exists(table_name(name)):
            raise AlreadyExists(f"there is a table {name} already", hint=hint)

    def _keep(self, name: str, state: PlainStaged) -> None:
        self._states[name] = state
        self._validated = False

    def _keep_new(
        self, name: str, version: TableVersion, rows: int, identity: int, declared: TableDeclaration
    ) -> None:
        """A table in the place of whatever the branch has under that name."""
        base = self._pin.tables.get(PREFIX + name)
        state = PlainStaged(base, version, rows, identity, declared, strict=True, redeclared=True)
        self._keep(name, state)

    # ------------------------------------------------------------------ operations

    def create(
        self,
        name: str,
        schema: pa.Schema,
        declaration: TableDeclaration = NOTHING_DECLARED,
        *,
        replace: bool = False,
        location: str | None = None,
    ) -> pa.Schema:
        """Make an empty table, or empty one and give it these columns; the schema it keeps.

        `location` is where files of it are already.
        """
        key = PREFIX + table_name(name)
        stored = storable(schema)
        _check_columns(declaration, stored)
        there = self._find(name)
        if not replace:
            self._require_free(name, "Replace it (CREATE OR REPLACE TABLE), or drop it first.")
        if location is None:
            location = there.address.location if there else new_table_location(key)
        identity = there.identity if there else new_identity()
        with translating(self._explain):
            version = self._store.tables.create(location, stored)
        self._keep_new(name, version, 0, identity, declaration)
        return stored

    def append(self, name: str, rows: pa.Table) -> None:
        """Add rows, which have exactly the columns of the table; many go to disk on the way."""
        self._change(name).buffer.append(rows)

    def adopt(self, name: str, location: str, files: DataFiles, rows: int) -> None:
        """Add rows that are in data files of the table already, in that folder."""
        change = self._change(name)
        _require_same_folder(PREFIX + name, location, self._states[name].address.location)
        change.buffer.adopt(files, rows)

    def remove(self, name: str, addresses: Addresses) -> None:
        """Delete rows at addresses of the table as `table` gave it.

        What is removed and appended before the next look at the table becomes one new version.
        """
        if len(addresses):
            self._change(name).deleted.append(addresses)

    def _change(self, name: str) -> OpenChange:
        if name not in self._open:
            self._open[name] = OpenChange(self._buffer(self._existing(name)))
        self._validated = False
        return self._open[name]

    def clear(self, name: str) -> None:
        """Delete all rows."""
        state = self._existing(name)
        schema = self.schema(name)
        with translating(self._explain):
            version = self._store.tables.replace(state.address, schema)
        if state.rows:
            self._keep(name, replace(state, version=version, rows=0, written=(), strict=True))

    def reshape(
        self,
        name: str,
        schema: pa.Schema,
        sources: Mapping[str, str | None],
        declaration: TableDeclaration,
    ) -> None:
        """Give a table other columns: each from the column that `sources` names, or null."""
        stored = storable(schema)
        _check_columns(declaration, stored)
        state = self._existing(name)
        with translating(self._explain):
            state = reshape(self._store.tables, state, stored, sources)
        self._keep(name, replace(state, declaration=declaration, redeclared=True))

    def declare(self, name: str, declaration: TableDeclaration) -> None:
        """Change what is declared about a table; rows are checked against what is new."""
        state = self._existing(name)
        _check_columns(declaration, self.schema(name))
        known = state.declaration
        new = (declaration.keys, declaration.checks) != (known.keys, known.checks)
        self._keep(
            name,
            replace(
                state,
                declaration=declaration,
                redeclared=True,
                unchecked=state.unchecked or new,
                strict=state.strict or new,
            ),
        )

    def rename(self, name: str, new_name: str) -> None:
        """Give a table another name; its rows stay where they are."""
        state = self._existing(name)
        self._require_free(new_name)
        target = replace(
            state, base=self._pin.tables.get(PREFIX + new_name), strict=True, redeclared=True
        )
        self._keep(name, dropped(state))
        self._keep(new_name, target)

    def clone(self, source: PlainTable, name: str) -> None:
        """Give the rows of a table, of any moment, a second name; nothing is copied."""
        self._require_free(name)
        if source.epoch != self._pin.epoch:
            raise TransactionExpired(
                f"a garbage collection ran since {source.name} was looked up",
                hint="Start again, and look the table up once more.",
            )
        self._keep_new(name, source.address, source.rows, new_identity(), source.declaration)

    def drop(self, name: str) -> None:
        """Take a table off the branch; older moments still have it."""
        self._keep(name, dropped(self._existing(name)))

    def define(self, definition: Definition) -> None:
        """Set a definition of the branch."""
        self._definitions[definition.key] = definition

    def undefine(self, kind: DefinitionKind, name: str) -> None:
        """Remove a definition from the branch."""
        self._definitions[definition_key(kind, name)] = None

    def _buffer(self, state: PlainStaged) -> RowBuffer:
        schema = self._store.tables.schema(state.address).remove_metadata()
        sink = DataFileSink(
            self._store.tables,
            state.address,
            schema,
            lambda rows: check_required(schema, rows),
            self._on_spill,
            self._store.writers,
        )
        return RowBuffer(sink)

    # ------------------------------------------------------------------ for the plan

    @property
    def touched(self) -> bool:
        """Whether anything was done here."""
        return bool(self._states or self._open or self._definitions)

    @property
    def strict(self) -> bool:
        """Whether something here may not be done again on a head that moved."""
        return (
            bool(self._definitions)
            or any(state.strict for state in self._states.values())
            or any(change.deleted for change in self._open.values())
        )

    def locations(self) -> set[str]:
        """Where this transaction has put files of tables that the branch may not have."""
        staged = {s.address.location for s in self._states.values() if s.version is not None}
        return staged | {s.base.location for s in self._states.values() if s.base is not None}

    def settle(self) -> None:
        """Stage what is left, and check what was declared."""
        for name in list(self._open):
            self._find(name)
        if self._validated:
            return
        for name, state in sorted(self._states.items()):
            if state.version is None or not (state.changed or state.redeclared):
                continue
            # Rows are compared with the others of a key; a table that started over has no others.
            check_declared(
                name,
                StoredTable(self._store.tables, state.address, state.rows),
                state.declaration,
                None if state.unchecked else state.written,
                None if state.base is None or state.redeclared else state.base.address,
            )
        self._validated = True

    def growth(self) -> dict[str, int]:
        """By how many rows each table that changed grows or shrinks, by table key."""
        return {
            PREFIX + name: state.rows - (state.base.rows if state.base else 0)
            for name, state in self._states.items()
            if state.changed
        }

    def pointers(self) -> dict[str, TablePointer | None]:
        """Where pointers go, by table key."""
        return {
            PREFIX + name: state.pointer for name, state in self._states.items() if state.changed
        }

    def definitions(self) -> dict[str, Definition | None]:
        """Definitions that change, by key."""
        definitions = dict(self._definitions)
        for name, state in self._states.items():
            if state.redeclared:
                definition = state.declaration.definition(name) if state.version else None
                definitions[definition_key("table", name)] = definition
        return changed_definitions(self._pin.definitions, definitions)

    def rebase(self, head: Head, is_kept: Callable[[str], bool]) -> None:
        """Go on from another head: appends are done again on tables that moved, or whose files, by
        location, a collection may have taken."""
        for name, state in list(self._states.items()):
            key = PREFIX + name
            pointer = head.tables.get(key)
            kept = state.version is None or is_kept(state.address.location)
            if pointer == self._pin.tables.get(key) and kept:
                continue
            if pointer is None or state.strict:
                raise ReadSetConflict(key, self._pin.commit, head.commit)
            if state.written:
                _require_same_folder(key, state.address.location, pointer.location)
                self._require_columns(key, state, pointer)
                self._keep(name, rebased(self._store.tables, state, pointer))
            else:
                del self._states[name]
        self._pin = head
        self._validated = False

    def _require_columns(self, key: str, state: PlainStaged, pointer: TablePointer) -> None:
        tables = self._store.tables
        assert state.base is not None
        now, then = tables.schema(pointer.address), tables.schema(state.base.address)
        if now != then:
            raise ReadSetConflict(
                key, str(then), str(now), f"another commit has changed the columns of {key}"
            )


def _require_same_folder(key: str, before: str, now: str) -> None:
    """Refuse a table that got its name since rows for another one were written to files."""
    if before != now:
        raise ReadSetConflict(key, before, now, f"another commit made {key} anew")


def _check_columns(declaration: TableDeclaration, schema: pa.Schema) -> None:
    for columns in declaration.keys:
        missing = [name for name in columns if name not in schema.names]
        if missing:
            raise InvalidInput(
                f"a key names the column {missing[0]!r}, which the table does not have",
                hint=f"It has {', '.join(schema.names)}.",
            )
