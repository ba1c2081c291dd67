"""Bulk jobs: data files written by many processes, published in one commit.

`Survey` and `Texts` are the former names of `ConstraintChecker` and `KeyColumn`.
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

__all__ = [
    "BulkJob",
    "BulkMode",
    "ConstraintChecker",
    "KeyColumn",
    "StagedFiles",
    "Survey",
    "Target",
    "Texts",
    "refuse_merge",
    "write_rows",
]

Survey = ConstraintChecker
Texts = KeyColumn
