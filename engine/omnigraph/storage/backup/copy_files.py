"""Copy files from one store to another: parallel, streamed, checked, and resumable."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

from omnigraph.common.progress import Progress
from omnigraph.storage.backup.file_records import (
    FileRecord,
    RecordFolder,
    Records,
    digest_of_pieces,
)
from omnigraph.storage.backup.moment_files import MomentGone, stem_of
from omnigraph.storage.backup.write_file import put_file, sync_files
from omnigraph.storage.core.failpoints import AFTER_COPY, AFTER_RECORD, failpoint
from omnigraph.storage.core.layout import MANIFEST, TABLE_FOLDERS, version_of
from omnigraph.storage.core.object_store import RawStore, StoredFile
from omnigraph.storage.maintenance.check_files import FileChecker
from omnigraph.storage.maintenance.reachable_files import marked_file

COPIED_AT_ONCE = 8
RECORDED_FILES = 256
RECORDED_BYTES = 1 << 30
"""A run that is killed copies at most so much again."""


class DamagedFiles(Exception):
    """Files that are not what was written; no copy of them was made."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = sorted(paths)
        super().__init__(", ".join(self.paths))


class CopyTarget:
    """The place that a graph is copied to, and what is known to be there."""

    def __init__(self, raw: RawStore, folder: RecordFolder) -> None:
        self.raw = raw
        self.folder = folder
        self.records = folder.read()
        self.copied_files = self.copied_bytes = 0

    def missing(self, files: Collection[StoredFile]) -> list[StoredFile]:
        """Those files that are not there, or of which nobody knows that they are, in order."""
        folders = {file.path.partition("/")[0] for file in files}
        present = {f.path: f.size for folder in folders for f in self.raw.list(folder)}

        def known(file: StoredFile) -> bool:
            record = self.records.get(file.path)
            return record is not None and file.size == record.size == present.get(file.path)

        unknown = {file for file in files if not known(file)}
        # A table that was dropped and made again has another first version under the same name.
        marked = {marked_file(file.path) for file in unknown}
        return sorted(unknown | {file for file in files if file.path in marked})

    def copy(
        self,
        source: RawStore,
        files: Collection[StoredFile],
        expected: Records,
        digests: Mapping[str, str],
        between: Callable[[], None],
        on_progress: Progress | None,
    ) -> None:
        """Copy what is missing; `between` is called now and then.

        A file must be what was recorded when it was copied before, here or from where it is now.
        Others must have the digests in their names, or in `digests`, as far as there are any.
        """
        missing = self.missing(files)
        lasting = {path: r for path, r in self.records.items() if version_of(path) is None}
        expected = {**expected, **lasting}
        checker = FileChecker(source, files, digests, decode=lambda file: ())
        unchecked = {stem_of(file.path) for file in missing if file.path not in expected}
        total, done = sum(file.size for file in missing), 0
        with ThreadPoolExecutor(COPIED_AT_ONCE, thread_name_prefix="omnigraph-copy") as pool:
            for batch in _batches(missing):
                stems = unchecked & {stem_of(file.path) for file in batch}
                unchecked -= stems
                _require_intact(source, checker, stems, pool)
                records = []
                copies = pool.map(
                    lambda file: copy_file(source, self.raw, file.path, expected.get(file.path)),
                    batch,
                )
                for record in copies:
                    records.append(record)
                    done += record.size
                    failpoint(AFTER_COPY)
                    if on_progress:
                        on_progress(done, total)
                self.remember(records)
                between()

    def remember(self, records: Sequence[FileRecord]) -> None:
        """Make files durable and note that they are there."""
        sync_files(self.raw, (record.path for record in records))
        self.folder.add(records)
        self.records |= {record.path: record for record in records}
        self.copied_files += len(records)
        self.copied_bytes += sum(record.size for record in records)
        failpoint(AFTER_RECORD)


def copy_file(
    source: RawStore, target: RawStore, path: str, expected: FileRecord | None
) -> FileRecord:
    """Copy one file under its own path; nothing is written unless it is what was expected."""
    pieces = source.stream(path)
    if pieces is None:
        raise MomentGone(path)
    hashed, size = hashlib.sha256(), 0

    def checked() -> Iterator[bytes]:
        nonlocal size
        for piece in pieces:
            hashed.update(piece)
            size += len(piece)
            yield piece
        if expected and (expected.size, expected.digest) != (size, hashed.hexdigest()):
            raise DamagedFiles([path])

    put_file(target, path, checked())
    return FileRecord(path, size, hashed.hexdigest())


def differing(
    raw: RawStore, records: Sequence[FileRecord], on_progress: Progress | None = None
) -> Iterator[FileRecord]:
    """Those of the files that are not what was recorded, or not there."""

    def intact(record: FileRecord) -> bool:
        pieces = raw.stream(record.path)
        return pieces is not None and digest_of_pieces(pieces) == (record.size, record.digest)

    with ThreadPoolExecutor(COPIED_AT_ONCE, thread_name_prefix="omnigraph-compare") as pool:
        for done, (record, same) in enumerate(
            zip(records, pool.map(intact, records), strict=True), 1
        ):
            if not same:
                yield record
            if on_progress:
                on_progress(done, len(records))


def list_graph(raw: RawStore) -> Iterator[StoredFile]:
    """Every file of the manifest and of the tables."""
    for folder in (MANIFEST, *TABLE_FOLDERS.values()):
        yield from raw.list(folder)


def _require_intact(
    source: RawStore, checker: FileChecker, stems: set[str], pool: Executor
) -> None:
    damaged = [damage.path for damage in checker.check(stems, pool, None).damaged]
    for path in damaged:
        if source.stream(path) is None:
            raise MomentGone(path)
    if damaged:
        raise DamagedFiles(damaged)


def _batches(files: Sequence[StoredFile]) -> Iterator[list[StoredFile]]:
    """The files in runs of bounded number and size."""
    batch: list[StoredFile] = []
    size = 0
    for file in files:
        batch.append(file)
        size += file.size
        if len(batch) >= RECORDED_FILES or size >= RECORDED_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
