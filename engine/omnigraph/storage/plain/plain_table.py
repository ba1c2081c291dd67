"""Plain tables: rows of any Arrow schema beside the graph, with no id and no type.

A plain table is `table:<schema>.<name>` in the pointer map of a branch, like the table of a type.
What was declared about it (keys, checks, comments) is a definition under the same key; its columns
and which of them may be null are in the table itself.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.errors import InvalidInput, NotFound, OmniGraphError, StorageError, did_you_mean
from omnigraph.storage.core.model import Pointers, TablePointer
from omnigraph.storage.core.read_errors import blame_filter, translating
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.manifest.definitions import Definition, define
from omnigraph.storage.tables.readable_table import ReadableTable
from omnigraph.storage.tables.table_slices import TableSlice, split, whole_table
from omnigraph.storage.tables.tables import TableStore

PREFIX = "table:"
MAX_NAME = 255
_RESERVED_COLUMNS = frozenset({"_rowid", "_rowaddr", "_rowoffset"})


@dataclass(frozen=True, slots=True)
class TableDeclaration:
    """What was declared about a plain table, besides its columns."""

    primary_key: tuple[str, ...] = ()
    uniques: tuple[tuple[str, ...], ...] = ()
    checks: tuple[str, ...] = ()
    """SQL conditions that no row may make false."""
    comment: str | None = None
    column_comments: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The lists of columns whose values no two rows share."""
        return (*((self.primary_key,) if self.primary_key else ()), *self.uniques)

    def definition(self, name: str) -> Definition | None:
        """As a branch stores it; none when nothing was declared."""
        declared = {key: value for key, value in asdict(self).items() if value}
        return define("table", name, declared) if declared else None


NOTHING_DECLARED = TableDeclaration()


def declaration_of(definition: Definition | None) -> TableDeclaration:
    """What a definition declares."""
    body = definition.body if definition else {}
    return TableDeclaration(
        primary_key=tuple(body.get("primary_key", ())),
        uniques=tuple(tuple(columns) for columns in body.get("uniques", ())),
        checks=tuple(body.get("checks", ())),
        comment=body.get("comment"),
        column_comments=body.get("column_comments", {}),
        properties=body.get("properties", {}),
    )


class PlainTable:
    """One plain table at one moment, for reading."""

    def __init__(
        self,
        tables: TableStore,
        name: str,
        pointer: TablePointer,
        declaration: TableDeclaration,
        epoch: int,
        explained: Callable[[StorageError, str | None], OmniGraphError] = blame_filter,
    ) -> None:
        self._tables = tables
        self.epoch = epoch
        """The epoch in which it was looked up: until the next, no collection takes its rows."""
        self._explained = explained
        """Says in terms of its moment why a read with some filter failed."""
        self.name = name
        """`<schema>.<name>`"""
        self.pointer = pointer
        self.declaration = declaration

    @property
    def key(self) -> str:
        return PREFIX + self.name

    @property
    def rows(self) -> int:
        return self.pointer.rows

    @property
    def address(self) -> TableVersion:
        return self.pointer.address

    @property
    def schema(self) -> pa.Schema:
        """The columns; one that was declared so is not nullable."""
        with translating(lambda error: self._explained(error, None)):
            return self._tables.schema(self.address).remove_metadata()

    def readable(self) -> ReadableTable:
        """The table for a query engine that reads by itself."""
        schema = self.schema
        names = {name: name for name in schema.names}
        return ReadableTable(self._tables, self.address, schema, names, self.rows)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002
        limit: int | None = None,
        order_by: Sequence[str] | None = None,
    ) -> pa.RecordBatchReader:
        """Stream rows; columns, filter (SQL) and order are pushed into the table."""
        schema = self.schema
        for name in (*(columns or ()), *(order_by or ())):
            if name not in schema.names:
                raise NotFound(
                    f"table {self.name} has no column {name!r}{did_you_mean(name, schema.names)}",
                    hint=f"It has {', '.join(schema.names)}.",
                )
        target = schema if columns is None else pa.schema([schema.field(n) for n in columns])
        return self._tables.scan_as(
            self.address,
            target,
            lambda error: self._explained(error, filter),
            columns=target.names,
            condition=filter,
            limit=limit,
            order_by=order_by,
        )

    def slices(
        self,
        root: str,
        columns: Sequence[str],
        filter: str | None = None,  # noqa: A002
        *,
        at_most: int,
    ) -> list[TableSlice]:
        """The rows in slices that other processes read with `read_slice`, at the graph's root."""
        target = pa.schema([self.schema.field(name) for name in columns])
        whole = whole_table(root, self.address, columns, filter, target)
        return split(self._tables, whole, at_most)


def plain_names(pointers: Pointers) -> list[str]:
    """The names of the plain tables of a pointer map, in order."""
    return sorted(key.removeprefix(PREFIX) for key in pointers if key.startswith(PREFIX))


def no_table(name: str, known: Sequence[str]) -> NotFound:
    """The error of a name that no plain table has."""
    return NotFound(
        f"there is no table {name}{did_you_mean(name, known)}",
        hint=f"There are {', '.join(known)}." if known else "There are none yet.",
    )


def table_name(text: str) -> str:
    """A checked name of a plain table, `<schema>.<name>`."""
    schema, dot, name = text.partition(".")
    if not dot or not schema or not name or len(text) > MAX_NAME or not text.isprintable():
        raise InvalidInput(
            f"{text!r} is not the name of a table",
            hint="Write <schema>.<name>; a schema's name has no dot.",
        )
    return text


def new_identity() -> int:
    """The identity of a new plain table.

    Drawn, not counted: tables are made on many branches at once, and the counter of types would
    make them wait for each other. It exceeds every counted one and fits JSON's integers.
    """
    return (1 << 52) | secrets.randbits(52)


# --------------------------------------------------------------------------- columns


def storable(schema: pa.Schema) -> pa.Schema:
    """The schema under which rows are stored: plain layouts of the same values."""
    if not schema.names:
        raise InvalidInput("a table needs at least one column", hint="Select or declare one.")
    seen: set[str] = set()
    for name in schema.names:
        if not name or "." in name or name in _RESERVED_COLUMNS or not name.isprintable():
            raise InvalidInput(
                f"{name!r} cannot be the name of a column",
                hint="Give it another name (SELECT … AS name); dots are not allowed.",
            )
        if name in seen:
            raise InvalidInput(f"the column {name!r} appears twice", hint="Rename one of them.")
        seen.add(name)
    return pa.schema([pa.field(f.name, _storable(f.type, f.name), f.nullable) for f in schema])


def _storable(kind: pa.DataType, column: str) -> pa.DataType:
    if pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _storable(kind.value_type, column)
    if pa.types.is_list_view(kind) or pa.types.is_list(kind):
        return pa.list_(_storable_field(kind.value_field, column))
    if pa.types.is_large_list_view(kind) or pa.types.is_large_list(kind):
        return pa.large_list(_storable_field(kind.value_field, column))
    if pa.types.is_fixed_size_list(kind) and not pa.types.is_primitive(kind.value_type):
        return pa.list_(_storable_field(kind.value_field, column))  # Lance has them of numbers only
    if pa.types.is_struct(kind):
        return pa.struct([_storable_field(member, column) for member in kind])
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_interval(kind):
        raise InvalidInput(
            f"the column {column!r} holds intervals, which tables cannot store",
            hint="Cast it to text or to a number of seconds.",
        )
    if pa.types.is_union(kind):
        raise InvalidInput(
            f"the column {column!r} holds unions, which tables cannot store",
            hint="Make a column of each of their types.",
        )
    if isinstance(kind, pa.BaseExtensionType):
        return _storable(kind.storage_type, column)
    return kind


def _storable_field(member: pa.Field, column: str) -> pa.Field:
    return pa.field(member.name, _storable(member.type, column), member.nullable)
