"""Failed reads of a table: the store's failures as typed errors, then in the caller's terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from omnigraph.errors import Corruption, InvalidInput, OmniGraphError, StorageError
from omnigraph.storage.core.table_version import TableVersion

Explain = Callable[[StorageError], OmniGraphError]
"""Says a failed read in the terms of whoever asked for it; may give back the same error."""


FindDamage = Callable[[], str | None]
"""Looks for a file that is not what was written; its path, if there is one."""


@contextmanager
def reading(version: TableVersion, find_damage: FindDamage | None = None) -> Iterator[None]:
    """Failures of the store inside this block, as errors about a table version.

    `find_damage` is asked which file is to blame.
    """
    try:
        yield
    except OmniGraphError:
        raise
    except BaseException as error:
        if not is_store_failure(error):
            raise
        path = find_damage() if find_damage and not _is_absence(error) else None
        if path is not None:
            raise damaged(version, path) from error
        raise read_error(version, error) from error


def is_panic(error: BaseException) -> bool:
    """Whether Lance met something that it holds to be impossible: a file that does not parse.

    The class cannot be imported, and is no `Exception`.
    """
    return type(error).__name__ == "PanicException"


def is_store_failure(error: BaseException) -> bool:
    """Whether this is how Lance says that it cannot read something."""
    return is_panic(error) or isinstance(error, OSError | ValueError | pa.ArrowException)


def _is_absence(error: BaseException) -> bool:
    return "not found" in str(error).lower()


class translating:
    """Failed reads inside this block, in the caller's terms; cheap, since every read has one."""

    __slots__ = ("_explain",)

    def __init__(self, explain: Explain) -> None:
        self._explain = explain

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, StorageError):
            explained = self._explain(error)
            if explained is not error:
                raise explained from error


def guarded(
    reader: Iterable[pa.RecordBatch], version: TableVersion, find_damage: FindDamage | None = None
) -> Iterator[pa.RecordBatch]:
    """The batches of a reader, with the store's failures as typed errors."""
    batches = iter(reader)
    while True:
        with reading(version, find_damage):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def translated(batches: Iterable[pa.RecordBatch], explain: Explain) -> Iterator[pa.RecordBatch]:
    """The same batches, with failed reads in the caller's terms."""
    with translating(explain):
        yield from batches


def typed_batches(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, explain: Explain
) -> pa.RecordBatchReader:
    """A stream of exactly that schema, with failed reads in the caller's terms."""
    typed = (batch_of(batch.columns, schema) for batch in batches)
    return pa.RecordBatchReader.from_batches(schema, translated(typed, explain))


def batch_of(columns: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """Columns as a batch of exactly a schema, cast where their types differ."""
    arrays = [
        array if array.type == field.type else array.cast(field.type)
        for array, field in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def blame_filter(error: StorageError, condition: str | None) -> OmniGraphError:
    """A failed read is the fault of the caller's filter, unless the store failed."""
    if condition is None or error.code != "storage" or "LanceError(IO)" in str(error):
        return error
    return InvalidInput(
        f"cannot apply the filter {condition!r}: {error.__cause__}",
        hint="Use a SQL condition over the columns of the table.",
    )


def read_error(version: TableVersion, error: BaseException) -> StorageError:
    """A failure of the store as a typed error; a missing file is damage."""
    if is_panic(error):
        return missing(version, f"a file of {version.location} cannot be read: {error}")
    if not _is_absence(error):
        return StorageError(
            f"cannot read {version.location}: {error}",
            hint="Check that the store can be reached; `omnigraph verify` shows what is affected.",
        )
    return missing(version, f"a file of {version.location} is missing: {error}")


def damaged(version: TableVersion, path: str) -> Corruption:
    """The error of a table version of which a file is not what was written."""
    return Corruption(
        f"the file {path} is damaged: its contents are not those that were written",
        hint="Run `omnigraph verify --deep` to see what else is affected.",
        details={"location": version.location, "lance_version": version.lance, "file": path},
    )


def missing(version: TableVersion, problem: str) -> Corruption:
    """The error of a table version that lacks something."""
    return Corruption(
        problem,
        hint="Run `omnigraph verify` to see what else is affected.",
        details={"location": version.location, "lance_version": version.lance},
    )
