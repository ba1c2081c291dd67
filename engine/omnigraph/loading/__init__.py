"""Inputs (NDJSON, Parquet, CSV, Arrow) to typed Arrow batches with ids, and export to NDJSON.

Promises batches in the schema of their table or a typed error naming the first wrong line.
Readers and writers import schema and common; only `load` and `export_snapshot` know storage, a
write transaction and a snapshot.
"""

from omnigraph.loading.columnar_reader import read_columnar
from omnigraph.loading.line_framing import Limits
from omnigraph.loading.ndjson_reader import read_ndjson
from omnigraph.loading.ndjson_writer import export_ndjson
from omnigraph.loading.typed_batch import TypedBatch

__all__ = ["Limits", "TypedBatch", "export_ndjson", "read_columnar", "read_ndjson"]
