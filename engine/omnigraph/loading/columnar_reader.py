"""Parquet, CSV, Arrow and tables in memory to typed batches: one type per input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import LoadError
from omnigraph.loading.arrow_casts import ColumnProblem, as_utf8, is_text, plain, stored_column
from omnigraph.loading.columnar_files import Format, open_source
from omnigraph.loading.ndjson_record import member_problem
from omnigraph.loading.typed_batch import EntityType, IdMismatch, TypedBatch, typed_batch
from omnigraph.schema import EdgeType, Property
from omnigraph.schema.model.arrow_schema import arrow_type

_ENDS = {"src": "from", "dst": "to"}


def read_columnar(
    source: str | Path | pa.Table | pa.RecordBatchReader | Any,  # noqa: ANN401
    type: EntityType,
    format: Format | None = None,
) -> Iterator[TypedBatch]:
    """Typed batches of a file or of Arrow data, rows in their order.

    Columns are found by name: `id`, `src` and `dst` (or `from` and `to`) of edges, properties.
    Without a format the suffix of the file decides. LoadErrors count rows from 1.
    """
    opened = open_source(source, type, format)
    if not opened.names:
        return
    positions = _positions(opened.names, type)
    rows_before = 0
    for batch in opened.batches:
        if batch.num_rows:
            yield _typed(batch, type, positions, rows_before, csv=opened.csv)
            rows_before += batch.num_rows


def _positions(names: list[str], type_: EntityType) -> dict[str, int]:
    """The position of each stored column in the input, whose names are checked."""

    def refuse(code: str, message: str, name: str) -> LoadError:
        return LoadError(code, message, type_name=type_.name, field=name)

    positions: dict[str, int] = {}
    ends = _ENDS if isinstance(type_, EdgeType) else {}
    stored = {other: end for end, other in ends.items()}
    for position, given in enumerate(names):
        name = stored.get(given, given)
        if name not in ends and (problem := member_problem(name, type_)) is not None:
            raise refuse(*problem, given)
        if name in positions:
            raise refuse("duplicate_member", f"there are two columns for {name!r}", given)
        positions[name] = position
    for end, other in ends.items():
        if end not in positions:
            message = f"there is no column {end!r} (or {other!r}) with the ids of nodes"
            raise refuse("envelope_member", message, end)
    for prop in type_.properties:
        if prop.name not in positions and not prop.nullable:
            message = f"{type_.name}.{prop.name} is required, but there is no such column"
            raise refuse("null_required", message, prop.name)
    return positions


def _typed(
    batch: pa.RecordBatch, type_: EntityType, positions: dict[str, int], before: int, *, csv: bool
) -> TypedBatch:
    errors: list[LoadError] = []

    def column(name: str, convert: Callable[[pa.Array], pa.Array]) -> pa.Array | None:
        if name not in positions:
            return None
        try:
            return convert(batch.column(positions[name]))
        except ColumnProblem as problem:
            errors.append(_load_error(problem, type_, name, before))
            return None

    def stored(values: pa.Array, prop: Property) -> pa.Array:
        return _required(stored_column(values, prop.type, csv=csv), prop.nullable)

    ids = column("id", _ids)
    ends = [column(end, _ends) for end in _ENDS] if isinstance(type_, EdgeType) else []
    columns: dict[str, pa.Array] = {}
    for prop in type_.properties:
        values = column(prop.name, partial(stored, prop=prop))
        if values is None:
            values = pa.nulls(batch.num_rows, arrow_type(prop.type))
        columns[prop.name] = values
    if errors:
        raise min(errors, key=lambda error: error.line or 0)
    try:
        return typed_batch(type_, ids, ends, columns, batch.num_rows)
    except IdMismatch as mismatch:
        problem = ColumnProblem("id_mismatch", str(mismatch), mismatch.row)
        raise _load_error(problem, type_, "id", before) from None


def _load_error(problem: ColumnProblem, type_: EntityType, name: str, before: int) -> LoadError:
    row = None if problem.row is None else before + problem.row + 1
    message = f"{type_.name}.{name}: {problem.reason}"
    return LoadError(problem.code, message, line=row, type_name=type_.name, field=name, unit="row")


def _ids(column: pa.Array) -> pa.Array:
    """Ids as text; null means: not given."""
    return _texts(column, "id_not_string", "an id")


def _ends(column: pa.Array) -> pa.Array:
    ends = _texts(column, "envelope_member", "the id of a node")
    return _required(ends, nullable=False, code="envelope_member")


def _texts(column: pa.Array, code: str, what: str) -> pa.Array:
    column = plain(column)
    if not is_text(column.type) and not pa.types.is_null(column.type):
        raise ColumnProblem(code, f"{what} must be a string, not {column.type}")
    return as_utf8(column)


def _required(column: pa.Array, nullable: bool, code: str = "null_required") -> pa.Array:
    if column.null_count and not nullable:
        row = int(pc.index(column.is_null(), True).as_py())
        raise ColumnProblem(code, "a value is required", row)
    return column
