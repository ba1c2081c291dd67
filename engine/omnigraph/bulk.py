"""Bulk jobs: data files written by many processes, published in one commit."""

from omnigraph.api.bulk_jobs import (
    BulkJob,
    BulkMode,
    StagedFiles,
    Survey,
    Target,
    Texts,
    refuse_merge,
    write_rows,
)

__all__ = [
    "BulkJob",
    "BulkMode",
    "StagedFiles",
    "Survey",
    "Target",
    "Texts",
    "refuse_merge",
    "write_rows",
]
