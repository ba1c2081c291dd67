"""Results of queries as tables, JSON, CSV or Arrow on stdout."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import output

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.api.queries import MutationResult
    from omnigraph.exec.run.query_result import QueryResult


FORMATS = ("table", "json", "jsonl", "csv", "arrow")

format_option = click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to write rows; arrow is an IPC stream.",
)


def write_result(result: QueryResult, form: str) -> None:
    """Rows on stdout, in one of the formats; all but the first two stream."""
    match form:
        case "json":
            output.write_json(result.to_json())
        case "table":
            _write_table(result)
        case "jsonl":
            _write_lines(result)
        case "csv":
            _write_csv(result)
        case _:
            _write_arrow(result)


def _write_table(result: QueryResult) -> None:
    import pyarrow as pa

    from omnigraph.exec.run.query_result import json_values

    # By place and not by name: columns of a table may share one.
    rows = [
        [_shown(value) for value in row]
        for batch in result.batches()
        for row in zip(*map(json_values, batch.columns), strict=True)
    ]
    is_number = (pa.types.is_integer, pa.types.is_floating)
    numeric = [f.name for f in result.schema if any(test(f.type) for test in is_number)]
    output.write_table(result.schema.names, rows, numbers=numeric)
    output.write_line(output.counted(len(rows), "row"))


def _shown(value: Any) -> str | None:  # noqa: ANN401
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _write_lines(result: QueryResult) -> None:
    dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    for rows in result.json_batches():
        output.write_lines(map(dump, rows))


def _write_csv(result: QueryResult) -> None:
    import pyarrow as pa
    import pyarrow.csv

    columns = [_as_csv(field) for field in result.schema]
    schema = pa.schema(list(zip(result.schema.names, columns, strict=True)))
    sink = pa.PythonFile(sys.stdout.buffer, mode="w")
    with pyarrow.csv.CSVWriter(sink, schema) as writer:
        for batch in result.batches():
            arrays = [
                array if array.type == type_ else _texts(array)
                for array, type_ in zip(batch.columns, columns, strict=True)
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    sys.stdout.buffer.flush()


def _as_csv(field: pa.Field) -> pa.DataType:
    """What CSV has no form of its own for is written as in JSON: lists, vectors and times."""
    import pyarrow as pa

    plain = pa.types.is_primitive(field.type) and not pa.types.is_timestamp(field.type)
    return field.type if plain or pa.types.is_string(field.type) else pa.string()


def _texts(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    from omnigraph.exec.run.query_result import json_values

    return pa.array([_shown(value) for value in json_values(array)], pa.string())


def _write_arrow(result: QueryResult) -> None:
    import pyarrow as pa

    sink = pa.PythonFile(sys.stdout.buffer, mode="w")
    with pa.ipc.new_stream(sink, result.schema) as writer:
        for batch in result.batches():
            writer.write_batch(batch)
    sys.stdout.buffer.flush()


def write_affected(result: MutationResult, *, as_json: bool) -> None:
    """What a mutation did, on stdout."""
    if as_json:
        output.write_json(result.to_json())
        return
    if result.commit is None:
        output.write_line(f"Nothing matched; {result.branch} is unchanged.")
        return
    nodes = output.counted(result.affected_nodes, "node")
    edges = output.counted(result.affected_edges, "edge")
    where = f"in commit {result.commit.id} (v{result.commit.version})"
    output.write_line(f"Affected {nodes} and {edges} of {result.branch} {where}.")
