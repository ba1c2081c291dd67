"""The data source `omnigraph`: its options, and which reader or writer serves them.

Spark plans every step in a process of its own, so each imports only what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from omnigraph.errors import InvalidInput, NotFound, did_you_mean
from omnigraph_spark.graph_location import location_of
from omnigraph_spark.pinned_moment import pinned_moment

if TYPE_CHECKING:
    from omnigraph_spark.reading.change_stream import ChangeStream
    from omnigraph_spark.reading.data_source_reader import Reader, Reading
    from omnigraph_spark.writing.data_source_writer import Destination, StreamWriter, Writer

_KINDS = {"nodes": "node", "edges": "edge"}


class OmniGraphSource(DataSource):
    """`spark.read.format("omnigraph")`; see docs/spark.md for the options."""

    _reading: Reading | None = None

    @classmethod
    def name(cls) -> str:
        return "omnigraph"

    # ------------------------------------------------------------------ reading

    def schema(self) -> StructType:
        from omnigraph_spark.spark_types import spark_schema

        schema = spark_schema(self._pinned().schema())
        columns = self.options.get("columns")
        if not columns:
            return schema
        names = [name.strip() for name in columns.split(",")]
        require_columns(names, schema.names)
        return StructType([schema[name] for name in names])

    def reader(self, schema: StructType) -> Reader:
        from omnigraph_spark.reading.data_source_reader import Reader

        reading = self._pinned()
        require_columns(schema.names, reading.schema().names)
        return Reader(reading, schema)

    def streamReader(self, schema: StructType) -> ChangeStream:  # noqa: N802
        from omnigraph_spark.reading.change_stream import ChangeReading, ChangeStream

        reading = self._pinned()
        if not isinstance(reading, ChangeReading):
            raise InvalidInput(
                "streaming reads need the option changes=true",
                hint='Add .option("changes", "true").',
            )
        return ChangeStream(reading, schema)

    def _pinned(self) -> Reading:
        """What is read; the moment is pinned once, when the DataFrame is created."""
        if self._reading is None:
            self._reading = reading_of(self.options)
        return self._reading

    # ------------------------------------------------------------------ writing

    def writer(self, schema: StructType, overwrite: bool) -> Writer:
        from omnigraph_spark.writing.data_source_writer import Writer

        return Writer(self._destination(schema, overwrite), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802
        from omnigraph_spark.writing.data_source_writer import StreamWriter

        stream = self.options.get("stream") or self.options.get("checkpointlocation")
        if not stream:
            raise InvalidInput(
                "a stream needs a name that stays the same after a restart",
                hint='Give it one with .option("stream", "orders"), or set checkpointLocation.',
            )
        return StreamWriter(self._destination(schema, overwrite), stream, schema)

    def _destination(self, schema: StructType, overwrite: bool) -> Destination:
        from omnigraph_spark.writing.data_source_writer import destination_of

        return destination_of(self.options, table_key(self.options), schema, overwrite)


def reading_of(options: Mapping[str, str]) -> Reading:
    """What the options ask to read, pinned to one commit."""
    location = location_of(options)
    at = options.get("at", "main")
    if options.get("changes", "false").lower() == "true":
        from omnigraph_spark.reading.change_stream import change_reading

        named = {"node", "edge", "table"} & set(options)
        return change_reading(location, options, table_key(options) if named else None)
    partitions = int(options["partitions"]) if options.get("partitions") else None
    if location.is_server:
        from omnigraph_spark.reading.server_scan import ServerQuery

        return ServerQuery(location, _relation(options), pinned_moment(location, at), partitions)
    from omnigraph_spark.reading.storage_scan import StorageQuery, StorageTable

    if "query" in options:
        raise InvalidInput(
            "the option `query` needs a server: a storage URI does not run SQL",
            hint="Read the tables and use Spark SQL, or give the uri of a server (grpc://…).",
        )
    if "gq" in options or "gq_name" in options:
        moment = pinned_moment(location, at)
        return StorageQuery(
            location, options.get("gq"), options.get("gq_name"), options.get("params"), moment
        )
    return StorageTable(location, table_key(options), pinned_moment(location, at), partitions)


def require_columns(names: Sequence[str], known: Sequence[str]) -> None:
    """Refuse columns that do not exist."""
    for name in names:
        if name not in known:
            raise NotFound(
                f"there is no column {name!r}{did_you_mean(name, known)}",
                hint=f"The columns are {', '.join(known)}.",
            )


def _relation(options: Mapping[str, str]) -> str:
    """What is read through a server, as SQL puts it after FROM."""
    from omnigraph_spark.server_connection import relation, text_literal

    if "query" in options:
        return f"({options['query'].rstrip().rstrip(';')}) AS q"
    params, name = options.get("params", "{}"), options.get("gq_name")
    if "gq" in options:
        given = [options["gq"], params, *([name] if name is not None else [])]
        return f"gq({', '.join(map(text_literal, given))})"
    if name is not None:
        if not name.isidentifier():
            raise NotFound(f"there is no stored query {name!r}")
        return f"{name}({text_literal(params)})"
    return relation(table_key(options))


def table_key(options: Mapping[str, str]) -> str:
    """`node:Person`, `edge:Knows` or `table:schema.name`, from whichever option names it."""
    named = [
        *(f"{kind}:{options[kind]}" for kind in ("node", "edge") if kind in options),
        *([_by_schema(options["table"])] if "table" in options else []),
    ]
    if len(named) != 1:
        raise InvalidInput(
            "exactly one of the options `node`, `edge` and `table` names the table",
            hint='.option("node", "Person"), .option("edge", "Knows") or .option("table", "s.t").',
        )
    return named[0]


def _by_schema(name: str) -> str:
    schema, dot, table = name.replace('"', "").partition(".")
    if not dot:
        raise InvalidInput(
            f"{name!r} has no schema", hint='Write nodes.Person, edges.Knows or "schema.table".'
        )
    return f"{_KINDS[schema]}:{table}" if schema in _KINDS else f"table:{schema}.{table}"
