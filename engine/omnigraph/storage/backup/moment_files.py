"""Which files one moment of a whole graph consists of: every branch, tag and readable commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.common.progress import Progress
from omnigraph.errors import StorageError
from omnigraph.storage.core.layout import MANIFEST, TABLE_FOLDERS
from omnigraph.storage.core.object_store import StoredFile
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.maintenance.reachable_files import (
    Needed,
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


def table_files(
    store: GraphStore, versions: NeededVersions, on_progress: Progress | None = None
) -> list[StoredFile]:
    """The files of table versions, as they are in the store."""
    needed = needed_files(store, set(versions.readable), set(), on_progress)
    of_bases = needed_files(store, set(), set(versions.bases - versions.readable), None)
    listed = files_of_tables(store, versions.locations)
    here = {stem_of(file.path) for file in listed if not _beside_data(file.path)}
    missing = sorted(needed - here)
    if missing:
        raise MomentGone(", ".join(missing))
    return files_needed(listed, needed | of_bases)


def files_of_tables(store: GraphStore, locations: set[str]) -> list[StoredFile]:
    """Every file in the folders of some tables."""
    return [
        file
        for folder in TABLE_FOLDERS.values()
        for file in store.raw.list(folder)
        if table_location(file.path) in locations
    ]


def files_needed(files: Iterable[StoredFile], needed: set[str]) -> list[StoredFile]:
    """Those of the files of tables that a collection would keep for what is needed."""
    kept = Needed(needed, {table_location(path) for path in needed})
    return [file for file in files if not file.path.endswith(HINT) and kept.holds(file.path)]


def stem_of(path: str) -> str:
    """What `needed_files` calls a file of a table."""
    location = table_location(path)
    return f"{location}/{stem(path.removeprefix(f'{location}/'))}"


def _beside_data(path: str) -> bool:
    """Whether it is a file of Blobs, which shares its stem with the data file it belongs to."""
    inner = path.removeprefix(f"{table_location(path)}/")
    return inner.startswith("data/") and inner.count("/") > 1
