"""Bulk jobs: data files written by many processes, published in one commit.

`Survey`, `Texts`, `read_texts` are former names of `ConstraintChecker`, `KeyColumn`, `read_keys`.
"""

from omnigraph.api.bulk_jobs import (
    BulkJob,
    BulkMode,
    ConstraintChecker,
    KeyColumn,
    StagedFiles,
    Target,
    refuse_merge,
    write_rows,
)
from omnigraph.api.bulk_jobs import BulkMethods as Bulk
from omnigraph.storage.constraints.distributed_protocol import read_keys
from omnigraph.storage.core.row_addresses import Addresses
from omnigraph.storage.tables.table_slices import TableSlice, read_slice

__all__ = [
    "Bulk",
    "Addresses",
    "BulkJob",
    "BulkMode",
    "ConstraintChecker",
    "KeyColumn",
    "StagedFiles",
    "Survey",
    "TableSlice",
    "Target",
    "Texts",
    "read_keys",
    "read_slice",
    "read_texts",
    "refuse_merge",
    "write_rows",
]


Survey = ConstraintChecker
Texts = KeyColumn
read_texts = read_keys
