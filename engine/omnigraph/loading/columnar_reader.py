"""Parquet, CSV, Arrow and tables in memory to typed batches: one type per input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import LoadError
from omnigraph.loading.arrow_casts import WrongAt, as_utf8, is_text, plain, stored_column
from omnigraph.loading.columnar_files import Format, open_source
from omnigraph.loading.ndjson_record import RESERVED, member_problem
from omnigraph.loading.typed_batch import EntityType, IdMismatch, TypedBatch, ids_for
from omnigraph.schema import EdgeType
from omnigraph.schema.model.arrow_schema import arrow_type, table_schema

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
    places = _places(opened.names, type)
    done = 0
    for batch in opened.batches:
        if batch.num_rows:
            yield _typed(batch, type, places, done, csv=opened.csv)
            done += batch.num_rows


def _places(names: list[str], type_: EntityType) -> dict[str, int]:
    """Where each stored column is in the input, after a look at the names."""

    def refuse(code: str, message: str, name: str) -> LoadError:
        return LoadError(code, message, type_name=type_.name, field=name)

    places: dict[str, int] = {}
    ends = _ENDS if isinstance(type_, EdgeType) else {}
    stored = {other: end for end, other in ends.items()}
    for place, given in enumerate(names):
        name = stored.get(given, given)
        if name not in ends and (problem := member_problem(name, type_)) is not None:
            raise refuse(*problem, given)
        if name in places:
            raise refuse("duplicate_member", f"there are two columns for {name!r}", given)
        places[name] = place
    for end, other in ends.items():
        if end not in places:
            message = f"there is no column {end!r} (or {other!r}) with the ids of nodes"
            raise refuse("envelope_member", message, end)
    for prop in type_.properties:
        if prop.name not in places and not prop.nullable:
            message = f"{type_.name}.{prop.name} is required and there is no such column"
            raise refuse("null_required", message, prop.name)
    return places


def _typed(
    batch: pa.RecordBatch, type_: EntityType, places: dict[str, int], done: int, *, csv: bool
) -> TypedBatch:
    problems: list[LoadError] = []

    def column(name: str, convert: Any) -> pa.Array | None:  # noqa: ANN401
        if name not in places:
            return None
        try:
            return convert(batch.column(places[name]))
        except WrongAt as wrong:
            problems.append(_problem(wrong, type_, name, done))
            return None

    fixed = {"id": column("id", _ids)}
    if isinstance(type_, EdgeType):
        fixed |= {end: column(end, _ends) for end in _ENDS}
    columns: dict[str, pa.Array] = {}
    for prop in type_.properties:

        def convert(values: pa.Array, prop: Any = prop) -> pa.Array:  # noqa: ANN401
            return _required(stored_column(values, prop.type, csv=csv), prop.nullable)

        found = column(prop.name, convert) if prop.name not in RESERVED else None
        missing = found is None
        columns[prop.name] = pa.nulls(batch.num_rows, arrow_type(prop.type)) if missing else found
    if problems:
        raise min(problems, key=lambda error: error.line or 0)
    try:
        ids, generated = ids_for(type_, fixed["id"], columns, batch.num_rows)
    except IdMismatch as mismatch:
        wrong = WrongAt("id_mismatch", str(mismatch), mismatch.row)
        raise _problem(wrong, type_, "id", done) from None
    arrays = [ids, *(fixed[end] for end in fixed if end != "id"), *columns.values()]
    return TypedBatch(
        type_, pa.RecordBatch.from_arrays(arrays, schema=table_schema(type_)), generated
    )


def _problem(wrong: WrongAt, type_: EntityType, name: str, done: int) -> LoadError:
    line = None if wrong.row is None else done + wrong.row + 1
    where = "" if line is None else f"row {line}: "
    message = f"{where}{type_.name}.{name}: {wrong.reason}"
    return LoadError(wrong.code, message, line=line, type_name=type_.name, field=name)


def _ids(column: pa.Array) -> pa.Array:
    """Ids as text; null means: not given."""
    return _texts(column, "id_not_string", "an id")


def _ends(column: pa.Array) -> pa.Array:
    ends = _texts(column, "envelope_member", "the id of a node")
    return _required(ends, nullable=False, code="envelope_member")


def _texts(column: pa.Array, code: str, what: str) -> pa.Array:
    column = plain(column)
    if not is_text(column.type) and not pa.types.is_null(column.type):
        raise WrongAt(code, f"{what} must be a string, not {column.type}")
    return as_utf8(column)


def _required(column: pa.Array, nullable: bool, code: str = "null_required") -> pa.Array:
    if column.null_count and not nullable:
        row = int(pc.index(column.is_null(), True).as_py())
        raise WrongAt(code, "a value is required", row)
    return column
