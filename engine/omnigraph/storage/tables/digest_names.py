"""Files that Lance wrote, under names that hold their digests.

Lance chooses names before it knows contents. On a local disk a rename is free, so every file that
no version refers to yet gets its name here. On a remote store a rename would be a copy: files keep
the names that Lance gave them, and the store keeps its own checksums.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from lance import LanceDataset, LanceFragment
from lance.dataset import Index
from lance.fragment import DataFile, DeletionFile, FragmentMetadata

from omnigraph.storage.core.file_digests import (
    NamedContents,
    blocks,
    data_digest,
    data_stem,
    deletion_digest,
    deletion_numbers,
    digest_in_deletion,
    digest_in_mark,
    digest_in_stem,
    digest_in_uuid,
    digest_of,
    mark_name,
    segment_digest,
    segment_uuid,
)
from omnigraph.storage.core.layout import is_local, version_of

MARKS = "_digests"
"""The folder of a table with empty files, whose names hold digests of files that keep theirs."""


def named_fragments(table: str, written: Iterable[FragmentMetadata]) -> list[FragmentMetadata]:
    """Fragments just written to a table, after their files got names with digests."""
    if not is_local(table):
        return list(written)
    data = Path(table, "data")
    return [replace(f, files=[_named_file(data, file) for file in f.files]) for f in written]


def named_deletion(table: str, shrunk: FragmentMetadata) -> FragmentMetadata:
    """A fragment that Lance has just taken rows out of, after its deletion file got its name."""
    marked = shrunk.deletion_file
    if marked is None or not is_local(table):
        return shrunk
    if digest_in_deletion(marked.read_version, marked.id) is not None:
        return shrunk
    before = Path(table, marked.path(shrunk.id))
    renamed = deletion_file(marked.file_type, marked.num_deleted_rows, before.read_bytes())
    before.rename(Path(table, renamed.path(shrunk.id)))
    return replace(shrunk, deletion_file=renamed)


def deletion_file(file_type: str, deleted: int, contents: bytes) -> DeletionFile:
    """A new deletion file of some contents, named after them on every store."""
    read_version, id_ = deletion_numbers(contents)
    return DeletionFile(read_version, id_, file_type, deleted, None)


def named_segment(table: str, built: Index) -> Index:
    """An index segment that was just built, after its folder got a name with its digest."""
    if not is_local(table):
        return built
    folder = Path(table, "_indices", built.uuid)
    for inner in [path for path in folder.iterdir() if path.is_dir()]:
        # Lance has emptied what it staged in. While the folder is there, a power cut may bring its
        # files back, and they would count.
        with suppress(OSError):
            inner.rmdir()
    uuid = str(segment_uuid(segment_digest(_contents(folder))))
    folder.rename(folder.with_name(uuid))
    return replace(built, uuid=uuid)


def damaged_file(dataset: LanceDataset) -> str | None:
    """The first file of a local dataset that has not got the digest in its name, if any."""
    table = dataset.uri
    if not is_local(table):
        return None
    for fragment in dataset.get_fragments():
        found = damaged_file_of(table, fragment)
        if found is not None:
            return found
    for index in dataset.describe_indices():
        for segment in index.segments:
            digest = digest_in_uuid(segment.uuid)
            folder = Path(table, "_indices", segment.uuid)
            if digest is not None and segment_digest(_contents(folder)) != digest:
                return f"_indices/{segment.uuid}"
    return None


def damaged_file_of(table: str, fragment: LanceFragment) -> str | None:
    """The first file of a fragment, of a local table, that has not got the digest in its name."""
    for file in fragment.metadata.files:
        if _is_damaged_data(Path(table, "data"), Path(file.path).stem):
            return f"data/{file.path}"
    marked = fragment.metadata.deletion_file
    if marked is not None and is_damaged_deletion(table, fragment.fragment_id, marked):
        return str(marked.path(fragment.fragment_id))
    return None


def is_damaged_deletion(table: str, fragment: int, marked: DeletionFile) -> bool:
    """Whether a local deletion file has not got the digest in its name; a missing one has."""
    digest = digest_in_deletion(marked.read_version, marked.id)
    if digest is None or not is_local(table):
        return False
    try:
        return deletion_digest(Path(table, marked.path(fragment)).read_bytes()) != digest
    except FileNotFoundError:
        return False


def _is_damaged_data(data: Path, stem: str) -> bool:
    digest = digest_in_stem(stem)
    if digest is None:
        return False
    try:
        return data_digest(blocks(data / f"{stem}.lance"), _contents(data / stem)) != digest
    except FileNotFoundError:
        return False


def version_digest(table: str, name: str) -> str | None:
    """The digest of a version file, where it can be read again for nothing."""
    return digest_of(blocks(Path(table, "_versions", name))) if is_local(table) else None


def mark_file(table: Path, name: str, contents: Path) -> Path:
    """Note the digest of a local file that will have a name without one; its mark.

    The mark is empty and says everything by its name. Of two, one was made by a writer that lost.
    """
    mark = Path(table, MARKS, mark_name(name, digest_of(blocks(contents))))
    mark.parent.mkdir(exist_ok=True)
    mark.touch()
    return mark


def is_damaged_version(table: str, name: str) -> bool:
    """Whether a local version file has a mark, and other contents; a missing one has not."""
    try:
        marks = map(digest_in_mark, os.listdir(Path(table, MARKS)))
        digests = {mark[1] for mark in marks if mark is not None and mark[0] == name}
        return bool(digests) and version_digest(table, name) not in digests
    except FileNotFoundError:
        return False


def unmark_versions(table: str, horizon: int) -> None:
    """Delete the marks of trimmed versions, which are those before one, but not the first."""
    if not is_local(table):
        return
    for mark in Path(table, MARKS).glob("*.manifest.*"):
        version = version_of(mark.name.rpartition(".")[0])
        if version is not None and 1 < version < horizon:
            with suppress(OSError):
                mark.unlink()


def _named_file(data: Path, file: DataFile) -> DataFile:
    main = data / file.path
    beside = data / main.stem
    stem = data_stem(data_digest(blocks(main), _contents(beside)))
    if beside.is_dir():
        beside.rename(data / stem)
    main.rename(data / f"{stem}.lance")
    return DataFile(
        f"{stem}.lance",
        file.fields,
        file.column_indices,
        file.file_major_version,
        file.file_minor_version,
        file.file_size_bytes,
        file.base_id,
    )


def _contents(folder: Path) -> Iterator[NamedContents]:
    """The files of a folder, none if there is no such folder."""
    if folder.is_dir():
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            yield path.relative_to(folder).as_posix(), blocks(path)
