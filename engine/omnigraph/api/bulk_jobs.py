"""Bulk jobs as users have them: rows written by many processes, published in one commit.

job = graph.begin_bulk([Target("node:Person", "merge")])
files = write_rows(job, "node:Person", batches)      # in any number of processes
graph.finish_bulk(job, [files, …])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from omnigraph.errors import InvalidInput
from omnigraph.loading.columnar_reader import read_columnar
from omnigraph.schema import Catalog
from omnigraph.storage.constraints.distributed_protocol import (
    ConstraintChecker,
    KeyColumn,
    key_slices,
)
from omnigraph.storage.constraints.value_checks import check_values
from omnigraph.storage.core.model import MAIN, Commit
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.plain.conform_rows import conformed
from omnigraph.storage.plain.declared_checks import check_required
from omnigraph.storage.refs.moments import branch_name
from omnigraph.storage.tables.table_slices import TableSlice
from omnigraph.storage.transaction import bulk_job
from omnigraph.storage.transaction.bulk_job import (
    BulkJob,
    BulkMode,
    StagedFiles,
    Target,
    refuse_merge,
)

__all__ = [
    "BulkMethods",
    "BulkJob",
    "BulkMode",
    "StagedFiles",
    "ConstraintChecker",
    "Target",
    "KeyColumn",
    "refuse_merge",
    "write_rows",
]


class BulkMethods:
    """The part of a graph that many processes write to at once."""

    _store: GraphStore

    def begin_bulk(
        self, targets: Sequence[Target], *, branch: str = MAIN, actor: str | None = None
    ) -> BulkJob:
        """Begin a job; a collection spares its files until it ends, or for a day."""
        return bulk_job.begin(self._store, branch_name(branch), targets, actor)

    def finish_bulk(
        self,
        job: BulkJob,
        files: Iterable[StagedFiles],
        *,
        actor: str | None = None,
        message: str | None = None,
        once: tuple[str, int] | None = None,
        survey: ConstraintChecker | None = None,
    ) -> Commit | None:
        """Check every constraint and publish the rows of these files, and no others, at once.

        `once` names a stream and the number of its batch: a batch that is there already raises
        `AlreadyApplied` and changes nothing. With `survey`, many machines
        look for violations where this one would take long; what is refused is the same.
        """
        return bulk_job.finish(
            self._store, job, files, actor=actor, message=message, once=once, checker=survey
        )

    def text_slices(self, texts: KeyColumn, rows_each: int) -> list[TableSlice]:
        """The slices in which processes read a key column; about so many rows each."""
        return key_slices(self._store.tables, self._store.root, texts, rows_each)

    def abandon_bulk(self, job: BulkJob) -> None:
        """Give a job up; nothing of it was ever visible."""
        bulk_job.abandon(self._store, job)

    def last_batch(self, stream: str, *, branch: str = MAIN) -> int:
        """The number of the last batch of a stream that a branch has; below 0 when none."""
        return bulk_job.last_batch(self._store, branch_name(branch), stream)


def write_rows(
    job: BulkJob,
    table_key: str,
    rows: pa.RecordBatchReader,
    options: Mapping[str, str] | None = None,
) -> StagedFiles:
    """Convert, check and write rows as data files of a job; needs the store, not the manifest."""
    if table_key not in job.bases:
        raise InvalidInput(f"the job does not write to {table_key}")
    if table_key.startswith("table:"):
        schema = job.bases[table_key].schema
        return bulk_job.write_files(job, table_key, _conformed(rows, schema), options)
    type_ = Catalog.from_json(dict(job.catalog)).type_for(table_key)
    generated: set[bool] = set()

    def typed_batches() -> Iterator[pa.RecordBatch]:
        for typed in read_columnar(rows, type_):
            check_values(type_, pa.Table.from_batches([typed.batch]))
            generated.add(typed.generated_ids)
            yield typed.batch

    files = bulk_job.write_files(job, table_key, typed_batches(), options)
    return StagedFiles(table_key, files.fragments, files.rows, all(generated))


def _conformed(rows: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in rows:
        table = conformed(pa.Table.from_batches([batch]), schema)
        check_required(schema, table)
        yield from table.to_batches()
