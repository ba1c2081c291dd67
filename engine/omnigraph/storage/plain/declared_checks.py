"""What was declared about a plain table, checked on the rows that a write leaves behind.

Everything is vectorised and works through the table in chunks: memory is bounded by
`PARTITION_ROWS` keys, whatever the size of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import ConstraintViolation, InvalidInput, StorageError
from omnigraph.storage.constraints.hash_partitions import PARTITION_ROWS, part_mask
from omnigraph.storage.constraints.table_view import StoredTable
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.plain.plain_table import TableDeclaration
from omnigraph.storage.tables.write_buffer import RowBuffer

PROBED_KEYS = 100_000
"""Up to this many new keys are looked for in a scan; more are counted with all others."""


def check_required(schema: pa.Schema, rows: pa.Table) -> None:
    """Columns that were declared so hold no nulls."""
    for declared in schema:
        if not declared.nullable and rows.column(declared.name).null_count:
            raise ConstraintViolation(
                "not_null",
                f"not_null({declared.name})",
                f"the column {declared.name!r} is NOT NULL and has a null",
                {"column": declared.name},
            )


def check_declared(
    name: str,
    table: StoredTable,
    declaration: TableDeclaration,
    written: Sequence[RowBuffer] | None,
    base: TableVersion | None,
) -> None:
    """Keys and checks, on the rows that were written since `base`; none checks all rows."""
    few = written is not None and sum(buffer.rows for buffer in written) <= PROBED_KEYS
    for columns in declaration.keys:
        candidates = None
        if written is not None and few:
            parts = [part for buffer in written for part in buffer.scan(columns)]
            if not parts:
                continue
            candidates = pa.concat_tables(parts)
        _check_unique(name, table, columns, candidates)
    for condition in declaration.checks:
        _check_condition(name, table, condition, None if written is None else base)


def _check_unique(
    name: str, table: StoredTable, columns: Sequence[str], candidates: pa.Table | None
) -> None:
    parts = 1 if candidates is not None else -(-table.rows // PARTITION_ROWS) or 1
    for part in range(parts):
        keys = [
            _in_part(chunk, columns, part, parts) for chunk in _keys(table, columns, candidates)
        ]
        if not keys:
            continue
        counted = pa.concat_tables(keys).group_by(list(columns)).aggregate([([], "count_all")])
        twice = counted.filter(pc.greater(counted.column("count_all"), 1))
        if twice.num_rows:
            values = [str(twice.column(column)[0].as_py()) for column in columns]
            raise ConstraintViolation(
                "unique",
                f"unique({name}.({','.join(columns)}) = ({','.join(values)}))",
                f"two rows of {name} have ({', '.join(columns)}) = ({', '.join(values)})",
                {"table": name, "columns": list(columns), "values": values},
            )


def _keys(
    table: StoredTable, columns: Sequence[str], candidates: pa.Table | None
) -> Iterator[pa.Table]:
    """The keys of rows that may hold one of the candidates; one with a null is not compared."""
    for chunk in table.scan(columns):
        tests = [pc.is_valid(chunk.column(name)) for name in columns]
        if candidates is not None:
            values = {name: candidates.column(name).combine_chunks() for name in columns}
            tests += [pc.is_in(chunk.column(name), values[name]) for name in columns]
        yield chunk.filter(reduce(pc.and_, tests))


def _in_part(chunk: pa.Table, columns: Sequence[str], part: int, parts: int) -> pa.Table:
    if parts == 1:
        return chunk
    strings = chunk.column(columns[0]).cast(pa.string())
    return chunk.filter(part_mask(strings, part, parts))


def _check_condition(
    name: str, table: StoredTable, condition: str, base: TableVersion | None
) -> None:
    try:
        broken = table.tables.first_where(table.version, f"NOT ({condition})", since=base)
    except StorageError as error:
        if error.code != "storage":
            raise
        raise InvalidInput(
            f"the check ({condition}) of {name} cannot be evaluated: {error.message}",
            hint="Declare it with columns of the table and functions that are known.",
        ) from error
    if broken is not None:
        raise ConstraintViolation(
            "check",
            f"check({name}: {condition})",
            f"a row of {name} violates the check ({condition}): {broken}",
            {"table": name, "check": condition},
        )
