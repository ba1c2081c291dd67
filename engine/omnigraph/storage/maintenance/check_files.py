"""Every byte of every file that is needed, compared with the digest that was taken of it.

Files are read a block at a time by several threads: memory does not grow with what is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import islice

from omnigraph.common.progress import Progress
from omnigraph.errors import StorageError
from omnigraph.storage.core.file_digests import (
    NamedContents,
    data_digest,
    deletion_digest,
    digest_in_deletion,
    digest_in_stem,
    digest_in_uuid,
    digest_of,
    segment_digest,
)
from omnigraph.storage.core.object_store import RawStore, StoredFile
from omnigraph.storage.maintenance.reachable_files import marked_file, stem, table_location

AT_ONCE = 64
"""Files that wait to be read; a list of all would be long."""
SECTOR = 512
"""Bytes that a disk writes at once: a damaged byte does not make so many zero."""
_TRANSACTION = re.compile(rb"[0-9]+-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.txn")
_DELETION = re.compile(r"[0-9]+-([0-9]+)-([0-9]+)\.[a-z]+")


@dataclass(frozen=True, slots=True)
class FileDamage:
    """A file that is not what was written."""

    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class CheckedFiles:
    """What was read, and what was found."""

    files: int = 0
    """Files that were compared with a digest or a copy."""
    bytes: int = 0
    """What all files that were read hold."""
    unchecked: int = 0
    """Files that were read and decoded, but have no digest to be compared with."""
    unneeded: int = 0
    """Files that were not read: nothing depends on what they hold."""
    damaged: tuple[FileDamage, ...] = ()

    def to_json(self) -> dict[str, int]:
        """The counts; what is damaged is among the findings."""
        return {
            "checked": self.files,
            "bytes": self.bytes,
            "unchecked": self.unchecked,
            "unneeded": self.unneeded,
        }

    def __add__(self, more: CheckedFiles) -> CheckedFiles:
        return CheckedFiles(
            self.files + more.files,
            self.bytes + more.bytes,
            self.unchecked + more.unchecked,
            self.unneeded + more.unneeded,
            self.damaged + more.damaged,
        )


NOTHING_CHECKED = CheckedFiles()
CHANGED = "its contents are not those that were written"
Verdict = tuple[FileDamage, ...] | None
"""What is wrong with a file; none when no digest of it is known."""
Decode = Callable[[StoredFile], Iterable[object]]
"""All that a Lance file holds, batch by batch; a `StorageError` when it cannot be read."""


@dataclass(slots=True)
class _Unit:
    """Files that have one digest together: a data file with its Blobs, the files of an index."""

    location: str
    stem: str
    files: list[StoredFile] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


class FileChecker:
    """Checks files of one store against their names, their marks and the pointers to them."""

    def __init__(
        self,
        raw: RawStore,
        present: Iterable[StoredFile],
        digests: Mapping[str, str],
        decode: Decode,
    ) -> None:
        self._raw = raw
        self._decode = decode
        self._read: set[str] = set()
        self._known: dict[str, set[str]] = {path: {digest} for path, digest in digests.items()}
        self._units: dict[str, _Unit] = {}
        for file in present:
            location = table_location(file.path)
            inner = file.path.removeprefix(f"{location}/")
            marked = marked_file(file.path)
            if marked is not None:
                digest = file.path.rpartition(".")[2]
                self._known.setdefault(marked, set()).add(digest)
                continue
            name = f"{location}/{stem(inner)}"
            unit = self._units.setdefault(name, _Unit(location, stem(inner)))
            unit.files.append(file)

    @property
    def names(self) -> list[str]:
        """What is there, as `location/folder/stem`."""
        return list(self._units)

    def rest(self) -> CheckedFiles:
        """What was not read."""
        rest = (unit for name, unit in self._units.items() if name not in self._read)
        return CheckedFiles(unneeded=sum(len(unit.files) for unit in rest))

    def check(
        self, needed: Iterable[str], workers: Executor, on_progress: Progress | None
    ) -> CheckedFiles:
        """Read what is needed, named as `location/folder/stem`."""
        names = [name for name in sorted(needed) if name in self._units]
        self._read.update(names)
        units = [self._units[name] for name in names]
        total, done, result = sum(unit.size for unit in units), 0, NOTHING_CHECKED
        waiting = iter(units)
        while several := list(islice(waiting, AT_ONCE)):
            for unit, checked in zip(several, workers.map(self._check, several), strict=True):
                result += checked
                done += unit.size
                if on_progress:
                    on_progress(done, total)
        return result

    def _check(self, unit: _Unit) -> CheckedFiles:
        unit.files.sort()
        folder, _, name = unit.stem.partition("/")
        try:
            verdict = self._judge(unit, folder, name)
            if verdict is None:
                return self._without_digest(unit)
            checked = CheckedFiles(len(unit.files), unit.size, damaged=verdict)
            return checked + self._transactions(unit) if folder == "_versions" else checked
        except StorageError as error:
            damage = FileDamage(unit.files[0].path, error.message)
            return CheckedFiles(len(unit.files), unit.size, damaged=(damage,))

    def _without_digest(self, unit: _Unit) -> CheckedFiles:
        """Every byte is read all the same, and of an index everything is decoded."""
        is_index = unit.stem.startswith("_indices/")
        for file in unit.files:
            for _ in self._decode(file) if is_index else self._raw.blocks(file.path):
                pass
        read = CheckedFiles(0, unit.size, len(unit.files))
        return read + self._transactions(unit) if unit.stem.startswith("_versions/") else read

    def _judge(self, unit: _Unit, folder: str, name: str) -> Verdict:
        if folder == "data":
            return self._data(unit, name)
        if folder == "_indices":
            return self._segment(unit, name)
        if folder == "_versions":
            return self._by_mark(unit.files[0].path)
        return self._deletion(unit, name) if folder == "_deletions" else None

    def _data(self, unit: _Unit, name: str) -> Verdict:
        main, *beside = sorted(unit.files, key=lambda file: (file.path.count("/"), file.path))
        digest = digest_in_stem(name)
        if digest is None:
            return None if beside else self._by_mark(main.path)
        files = self._named(beside, f"{unit.location}/data/{name}/")
        return _verdict(data_digest(self._raw.blocks(main.path), files) == digest, unit)

    def _segment(self, unit: _Unit, name: str) -> Verdict:
        digest = digest_in_uuid(name)
        if digest is None:
            return None
        files = self._named(unit.files, f"{unit.location}/_indices/{name}/")
        return _verdict(segment_digest(files) == digest, unit)

    def _deletion(self, unit: _Unit, name: str) -> Verdict:
        numbers = _DELETION.fullmatch(name)
        digest = digest_in_deletion(int(numbers[1]), int(numbers[2])) if numbers else None
        if digest is None:
            return None
        return _verdict(deletion_digest(self._whole(unit.files[0].path)) == digest, unit)

    def _transactions(self, unit: _Unit) -> CheckedFiles:
        """The transaction that made a version, of which its file has a copy."""
        path = unit.files[0].path
        contents = self._whole(path)
        checked = NOTHING_CHECKED
        for name in sorted(set(_TRANSACTION.findall(contents))):
            other = f"{unit.location}/_transactions/{name.decode()}"
            if other not in self._units:
                continue
            self._read.add(other)
            stored = self._whole(other)
            same = _has_copy(contents, stored)
            problem = FileDamage(other, f"it differs from the copy in {path}")
            checked += CheckedFiles(1, len(stored), damaged=() if same else (problem,))
        return checked

    def _by_mark(self, path: str) -> Verdict:
        """A file whose digest is kept elsewhere."""
        known = self._known.get(path)
        if known is None:
            return None
        return () if digest_of(self._raw.blocks(path)) in known else (FileDamage(path, CHANGED),)

    def _whole(self, path: str) -> bytes:
        return b"".join(self._raw.blocks(path))

    def _named(self, files: Iterable[StoredFile], prefix: str) -> Iterator[NamedContents]:
        for file in files:
            yield file.path.removeprefix(prefix), self._raw.blocks(file.path)


def _verdict(same: bool, unit: _Unit) -> Verdict:
    if same:
        return ()
    path, others = unit.files[0].path, len(unit.files) - 1
    more = f", or those of one of the {others} files that belong to it" if others else ""
    return (FileDamage(path, CHANGED + more),)


def _has_copy(contents: bytes, transaction: bytes) -> bool:
    """Whether a version file has a copy of the transaction that made it.

    Nothing needs the transaction's own file, which is not synced therefore: a power cut leaves it
    whole, without its end, or with zeros there.
    """
    kept = transaction.rstrip(b"\0")
    is_cut = not kept or len(transaction) - len(kept) >= SECTOR
    return (kept if is_cut else transaction) in contents
