"""Copy files from one store to another: parallel, streamed, checked, and resumable."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from omnigraph.common.progress import Progress
from omnigraph.errors import Corruption
from omnigraph.storage.backup.file_records import FileRecord, RecordFolder, Records
from omnigraph.storage.backup.moment_files import MomentGone
from omnigraph.storage.backup.write_file import put_file, sync_files
from omnigraph.storage.core.failpoints import AFTER_COPY, AFTER_RECORD, failpoint
from omnigraph.storage.core.layout import MANIFEST, TABLE_FOLDERS
from omnigraph.storage.core.object_store import RawStore, StoredFile

COPIED_AT_ONCE = 8
RECORDED_FILES = 256
RECORDED_BYTES = 1 << 30
"""A run that is killed copies at most so much again."""


class CopyTarget:
    """The place that a graph is copied to, and what is known to be there."""

    def __init__(self, raw: RawStore, folder: RecordFolder) -> None:
        self.raw = raw
        self.folder = folder
        self.records = folder.read()
        self.copied_files = self.copied_bytes = 0

    def missing(self, files: Iterable[StoredFile]) -> list[StoredFile]:
        """Those files that are not there, or of which nobody knows that they are."""
        present = {file.path: file.size for file in list_graph(self.raw)}

        def known(file: StoredFile) -> bool:
            record = self.records.get(file.path)
            return record is not None and file.size == record.size == present.get(file.path)

        return [file for file in files if not known(file)]

    def copy(
        self,
        source: RawStore,
        files: Iterable[StoredFile],
        expected: Records,
        between: Callable[[], None],
        on_progress: Progress | None,
    ) -> None:
        """Copy what is missing; `between` is called now and then."""
        missing = self.missing(files)
        total, done = sum(file.size for file in missing), 0
        with ThreadPoolExecutor(COPIED_AT_ONCE, thread_name_prefix="omnigraph-copy") as pool:
            for batch in _batches(missing):
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
            raise Corruption(
                f"{path} below {source.root} is not what was copied there",
                hint="Use another backup; `omnigraph verify` shows what else is affected.",
                details={"path": path},
            )

    put_file(target, path, checked())
    return FileRecord(path, size, hashed.hexdigest())


def list_graph(raw: RawStore) -> Iterator[StoredFile]:
    """Every file of the manifest and of the tables."""
    for folder in (MANIFEST, *TABLE_FOLDERS.values()):
        yield from raw.list(folder)


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
