"""Which files of a store some retained version refers to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.common.progress import Progress
from omnigraph.errors import Corruption, StorageError
from omnigraph.storage.core.file_digests import digest_in_mark
from omnigraph.storage.core.layout import MANIFEST, version_of
from omnigraph.storage.core.model import Commit, Head
from omnigraph.storage.core.read_errors import is_panic
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.manifest import ManifestView
from omnigraph.storage.manifest.row_codec import parse_registration
from omnigraph.storage.tables.digest_names import MARKS

COLLECTED_OF_TABLES = ("data/", "_versions/d", "_deletions/", "_indices/", "_transactions/")
COLLECTED_OF_MANIFEST = tuple(f"{MANIFEST}/{n}/" for n in ("data", "_deletions", "_transactions"))
TRIMMED_MEANWHILE = 10
"""How often the versions of the manifest are listed again when one of them is deleted meanwhile."""


def table_versions(states: Iterable[Head | Commit]) -> set[TableVersion]:
    return {pointer.address for state in states for pointer in state.tables.values()}


def spared_locations(view: ManifestView) -> set[str]:
    """Tables that registered transactions write to."""
    registered = (parse_registration(row) for row in view.rows("transaction"))
    return {location for each in registered for location in each.locations}


def needed_files(
    store: GraphStore,
    readable: set[TableVersion],
    bases: set[TableVersion],
    on_progress: Progress | None,
) -> set[str]:
    """Names of everything that some version refers to, as prefixes of paths."""

    def files(version: TableVersion) -> set[str]:
        try:
            return store.tables.files(version)
        except Corruption:
            if version in readable:
                raise
            return set()  # a base that was reclaimed before bases were retained

    needed: set[str] = set()
    in_order = sorted(readable | bases, key=lambda v: (v.location, v.lance))
    for done, used in enumerate(store.workers.map(files, in_order), 1):
        needed |= used
        if on_progress:
            on_progress(done, len(in_order))
    return needed


def marked_file(path: str) -> str | None:
    """The file whose digest another one holds in its name."""
    location, marks, name = path.rpartition(f"/{MARKS}/")
    known = digest_in_mark(name) if marks else None
    if known is None:
        return None
    return f"{location}/{'_versions' if known[0].endswith('.manifest') else 'data'}/{known[0]}"


def detached_version_file(version: TableVersion) -> str:
    """The file that says what a table version is made of."""
    return f"{version.location}/_versions/d{version.lance}.manifest"


def table_location(path: str) -> str:
    """The table that a file belongs to."""
    folder, _, rest = path.partition("/")
    return folder if folder == MANIFEST else f"{folder}/{rest.partition('/')[0]}"


def manifest_files(view: ManifestView) -> set[str]:
    """What the versions of the manifest that are still listed refer to."""
    last: BaseException | None = None
    for _ in range(TRIMMED_MEANWHILE):
        try:
            tracked = view.dataset.tracked_files().read_all()
        except BaseException as error:
            if not (is_panic(error) or isinstance(error, OSError | pa.ArrowException)):
                raise
            # A busy writer trims old versions, also between their listing and their reading.
            last = error
            continue
        return {f"{MANIFEST}/{path}" for path in tracked.column("path").to_pylist()}
    raise StorageError(f"cannot read the versions of the manifest: {last}") from last


@dataclass(frozen=True, slots=True)
class Needed:
    """What a collection leaves alone."""

    files: set[str]
    """Files of tables, as prefixes of paths."""
    locations: set[str]
    """Tables that some retained version is of; of the others everything goes."""
    spared: set[str] = field(default_factory=set)
    """Tables that a registered transaction writes to: of these everything stays."""
    by_manifest: set[str] = field(default_factory=set)
    """Files that versions of the manifest refer to."""
    oldest: int = 0
    """The oldest version of the manifest that is never trimmed."""

    def holds(self, path: str) -> bool:
        """Whether a file is needed."""
        location = table_location(path)
        if location == MANIFEST:
            return self._of_manifest(path)
        if location in self.spared:
            return True
        if location not in self.locations:
            return False
        inner = path.removeprefix(f"{location}/")
        is_first_version = version_of(path) is not None
        if is_first_version or not inner.startswith(COLLECTED_OF_TABLES):
            return True
        return f"{location}/{stem(inner)}" in self.files

    def _of_manifest(self, path: str) -> bool:
        number = version_of(path)
        if number is not None:
            return number >= self.oldest or number == 1
        marked = marked_file(path)
        if marked is not None:
            return self.holds(marked)
        collected = path.startswith(COLLECTED_OF_MANIFEST)
        return not collected or path in self.by_manifest


def stem(inner: str) -> str:
    """What identifies a file within a table: data files share a stem with their blobs."""
    parts = inner.split("/")
    if parts[0] == "data":
        return f"data/{parts[1].removesuffix('.lance')}"
    return "/".join(parts[:2])
