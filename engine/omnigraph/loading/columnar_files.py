"""Opening what holds columns: Parquet, CSV and Arrow files, and Arrow data in memory."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from omnigraph.errors import InvalidInput, LoadError, NotFound
from omnigraph.loading.line_framing import MIB
from omnigraph.loading.typed_batch import EntityType, row_width
from omnigraph.schema.model.arrow_schema import table_schema

Format = Literal["parquet", "csv", "arrow"]

SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_BATCH_BYTES = 32 * MIB
_CSV_BLOCK = 4 * MIB
_ARROW_FILE_MAGIC = b"ARROW1"

# In the words of Arrow's CSV reader; the header is row 1.
_CSV_ROW = re.compile(r"Row #(\d+): ")
_CSV_CELL = re.compile(
    r"CSV column #(\d+): .*?conversion error to \w+: (invalid value '(.*)'.*)", re.S
)


@dataclass(frozen=True)
class ColumnarInput:
    """The column names of an input and its batches. In a CSV, lists and blobs are text."""

    names: list[str]
    batches: Iterator[pa.RecordBatch]
    csv: bool = False


def open_source(source: Any, type_: EntityType, format: Format | None = None) -> ColumnarInput:  # noqa: ANN401
    """The source, opened. Batches have a bounded number of rows."""
    rows = max(256, min(64 * 1024, _BATCH_BYTES // row_width(table_schema(type_))))
    if isinstance(source, str | Path):
        return _open_file(Path(source), type_, format, rows)
    reader = _reader(source)
    return ColumnarInput(reader.schema.names, _cut(reader, rows))


def _reader(source: Any) -> Any:  # noqa: ANN401
    """Something with a schema that iterates over batches."""
    if isinstance(source, pa.RecordBatchReader):
        return source
    if hasattr(source, "__arrow_c_stream__"):  # tables, data frames, relations
        return pa.RecordBatchReader.from_stream(source)
    if isinstance(source, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(source.schema, [source])
    if hasattr(source, "to_reader"):  # a dataset's scanner
        return source.to_reader()
    if hasattr(source, "to_batches"):  # a dataset
        return pa.RecordBatchReader.from_batches(source.schema, iter(source.to_batches()))
    raise InvalidInput(
        f"cannot read columns from a {type(source).__name__}",
        hint="Give a path, an Arrow table or reader, or a data frame; rows of Python go to "
        "`transaction`.",
    )


def _cut(batches: Any, rows: int) -> Iterator[pa.RecordBatch]:  # noqa: ANN401
    for batch in batches:
        for low in range(0, batch.num_rows, rows):
            yield batch.slice(low, rows)


# --------------------------------------------------------------------------- files


def _open_file(path: Path, type_: EntityType, format_: Format | None, rows: int) -> ColumnarInput:
    format_ = format_ or SUFFIXES.get(path.suffix.lower())
    if format_ not in ("parquet", "csv", "arrow"):
        known = ", ".join(SUFFIXES)
        raise InvalidInput(
            f"the suffix of {path.name} does not tell its format",
            hint=f"Give the format, or use one of the suffixes {known}.",
        )
    if not path.is_file():
        raise NotFound(f"there is no file {path}")
    names: list[str] = []  # of a CSV, so that an error can name the column
    readable = partial(_readable, path, format_, type_, names)
    with readable():
        if format_ == "csv":
            with path.open(encoding="utf-8-sig", newline="") as text:
                names += next(csv.reader(text), [])
            columns, batches = names, _csv_batches(path, type_) if names else ()
        elif format_ == "parquet":
            file = pa.parquet.ParquetFile(path, pre_buffer=False, buffer_size=MIB)
            columns = file.schema_arrow.names
            batches = file.iter_batches(batch_size=rows, use_threads=False)
        else:
            columns, batches = _arrow_batches(path)
    return ColumnarInput(columns, _validated(_cut(batches, rows), readable), csv=format_ == "csv")


def _arrow_batches(path: Path) -> tuple[list[str], Any]:
    data = pa.memory_map(str(path))
    is_file = data.read(len(_ARROW_FILE_MAGIC)) == _ARROW_FILE_MAGIC
    data.seek(0)
    if not is_file:
        stream = pa.ipc.open_stream(data)
        return stream.schema.names, stream
    file = pa.ipc.open_file(data)
    return file.schema.names, (file.get_batch(i) for i in range(file.num_record_batches))


def _csv_batches(path: Path, type_: EntityType) -> Any:  # noqa: ANN401
    texts = dict.fromkeys(("id", "src", "dst", "from", "to"), pa.utf8())
    kinds = {field.name: _csv_type(field.type) for field in table_schema(type_)}
    return pa.csv.open_csv(
        path,
        pa.csv.ReadOptions(use_threads=False, block_size=_CSV_BLOCK),
        pa.csv.ParseOptions(newlines_in_values=True),
        pa.csv.ConvertOptions(
            column_types=texts | kinds,
            # An empty cell is null; a quoted one is the empty text.
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
        ),
    )


def _csv_type(type_: pa.DataType) -> pa.DataType:
    simple = pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_)
    return type_ if simple else pa.utf8()


def _validated(
    batches: Iterator[pa.RecordBatch], readable: Callable[[], AbstractContextManager[None]]
) -> Iterator[pa.RecordBatch]:
    with readable():
        for batch in batches:
            # A file may say anything: offsets that point elsewhere, text that is not UTF-8.
            batch.validate(full=True)
            yield batch


@contextmanager
def _readable(path: Path, format_: Format, type_: EntityType, names: list[str]) -> Iterator[None]:
    """Turn what a reader of files says into a LoadError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, csv.Error) as error:
        row, cell = _CSV_ROW.search(str(error)), _CSV_CELL.search(str(error))
        number = int(row[1]) - 1 if row else None
        field = names[int(cell[1])] if cell and int(cell[1]) < len(names) else None
        if cell is None or field is None:
            code, message = "invalid_json", f"{path.name} cannot be read as {format_}: {error}"
        else:
            code = "value_range" if re.fullmatch(r"-?[0-9]+", cell[3]) else "value_type"
            message = f"{type_.name}.{field}: {cell[2]}"
        raise LoadError(
            code, message, line=number, type_name=type_.name, field=field, unit="row"
        ) from error
