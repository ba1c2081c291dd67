"""Which files one moment of a whole graph consists of: every branch, tag and readable commit."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from omnigraph.errors import StorageError
from omnigraph.storage.core.layout import MANIFEST, TABLE_FOLDERS
from omnigraph.storage.core.object_store import StoredFile
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.maintenance.reachable_files import (
    Needed,
    detached_version_file,
    marked_file,
    needed_files,
    stem,
    table_location,
    table_versions,
)
from omnigraph.storage.maintenance.retention import readable_commits
from omnigraph.storage.manifest.manifest import ManifestView
from omnigraph.storage.manifest.tag_rows import read_tags
from omnigraph.storage.manifest.version_files import files_of_view, version_path
from omnigraph.storage.refs.merge_base import needed_bases

HINT = "latest_version_hint.json"
"""A file of Lance that may change, and that nobody needs."""


class MomentGone(Exception):
    """A file of the moment is missing: it was given up meanwhile, or the graph is damaged."""


@dataclass(frozen=True, slots=True)
class ManifestFiles:
    """One version of the manifest: its file, and those it refers to."""

    version: int
    contents: bytes
    """Of the file of the version itself, which is the last to be copied."""
    files: tuple[StoredFile, ...]


@dataclass(frozen=True, slots=True)
class NeededVersions:
    """The table versions of a moment."""

    readable: frozenset[TableVersion]
    bases: frozenset[TableVersion]
    """Those that later merges start from, whether they can be read or not."""

    @property
    def locations(self) -> set[str]:
        return {version.location for version in self.readable | self.bases}

    @property
    def digests(self) -> dict[str, str]:
        """Of their version files, by path: those that the pointers to them hold."""
        every = self.readable | self.bases
        return {detached_version_file(v): v.digest for v in every if v.digest}


def manifest_of(store: GraphStore, view: ManifestView) -> ManifestFiles:
    """The manifest's part of a moment. To be copied first: old versions are trimmed at any time."""
    contents = store.raw.read(version_path(view.version))
    if contents is None:
        raise MomentGone(version_path(view.version))
    present = {file.path: file for file in store.raw.list(MANIFEST)}
    wanted = files_of_view(view)
    for path in wanted - present.keys():
        raise MomentGone(path)
    marked = wanted | {version_path(view.version)}
    wanted |= {path for path in present if marked_file(path) in marked}
    return ManifestFiles(view.version, contents, tuple(present[path] for path in sorted(wanted)))


def version_digests(manifest: ManifestFiles) -> set[str]:
    """What the marks say about the file of the version; none on stores that keep no marks."""
    path = version_path(manifest.version)
    marks = (file.path for file in manifest.files if marked_file(file.path) == path)
    return {mark.rpartition(".")[2] for mark in marks}


def versions_of(store: GraphStore, view: ManifestView) -> NeededVersions:
    """The table versions that a view needs, as a collection would find them."""
    try:
        heads, commits = store.heads(view), store.all_commits(view)
        readable = readable_commits(heads, read_tags(view), commits)
        return NeededVersions(
            frozenset(table_versions([*heads, *readable])),
            frozenset(table_versions(needed_bases(heads, commits))),
        )
    except (OSError, pa.ArrowException, StorageError) as error:
        raise MomentGone(str(error)) from error


def table_files(store: GraphStore, versions: NeededVersions) -> list[StoredFile]:
    """The files of table versions, as they are in the store: what a collection would keep."""
    needed = needed_files(store, set(versions.readable), set(), None)
    of_bases = needed_files(store, set(), set(versions.bases - versions.readable), None)
    listed = [
        file
        for folder in TABLE_FOLDERS.values()
        for file in store.raw.list(folder)
        if table_location(file.path) in versions.locations and not file.path.endswith(HINT)
    ]
    here = {stem_of(file.path) for file in listed if not _beside_data(file.path)}
    missing = sorted(needed - here)
    if missing:
        raise MomentGone(", ".join(missing))
    kept = Needed(needed | of_bases, versions.locations)
    return [file for file in listed if kept.holds(file.path)]


def stem_of(path: str) -> str:
    """What `needed_files` calls a file of a table."""
    location = table_location(path)
    return f"{location}/{stem(path.removeprefix(f'{location}/'))}"


def _beside_data(path: str) -> bool:
    """Whether it is a file of Blobs, which shares its stem with the data file it belongs to."""
    inner = path.removeprefix(f"{table_location(path)}/")
    return inner.startswith("data/") and inner.count("/") > 1
