"""Copy one moment of a graph to another root, the file of its manifest version last."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from omnigraph.common.progress import Progress
from omnigraph.errors import AlreadyExists, Conflict, Corruption, InvalidInput
from omnigraph.storage.backup.copy_files import CopyTarget, DamagedFiles, list_graph
from omnigraph.storage.backup.file_records import FileRecord, Records, digest_of_pieces
from omnigraph.storage.backup.moment_files import (
    ManifestFiles,
    MomentGone,
    manifest_of,
    stem_of,
    table_files,
    version_digests,
    versions_of,
)
from omnigraph.storage.backup.write_file import UNFINISHED, create_file
from omnigraph.storage.core.failpoints import (
    AFTER_CLAIM,
    AFTER_VERSION,
    BEFORE_VERSION,
    failpoint,
)
from omnigraph.storage.core.file_digests import digest_of
from omnigraph.storage.core.layout import MANIFEST, VERSIONS, is_local, version_of
from omnigraph.storage.core.model import MAIN, Head
from omnigraph.storage.core.object_store import RawStore, StoredFile
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.maintenance.reachable_files import table_location
from omnigraph.storage.manifest.manifest import ManifestView
from omnigraph.storage.manifest.version_files import version_path

TAKEN_AGAIN = 10
"""So often a newer moment is tried when files of the last one were given up meanwhile."""
COPIED_AGAIN = 3
"""So often files are copied again that somebody deleted from the copy."""


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What a backup or a restore did."""

    uri: str
    """Where the copy is."""
    graph_commit_id: str
    """The head of main that it shows."""
    branches: int
    files: int
    """That are there; of a backup also those of earlier moments, until they are collected."""
    bytes: int
    copied_files: int
    copied_bytes: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CopiedMoment:
    """A moment all of whose files are in the copy, which does not show it yet."""

    manifest: ManifestFiles
    tables: tuple[StoredFile, ...]
    heads: tuple[Head, ...]

    @property
    def files(self) -> tuple[StoredFile, ...]:
        """All of them, but not that of the version."""
        return (*self.manifest.files, *self.tables)


@dataclass(frozen=True, slots=True)
class MomentCopier:
    """From where to where, and what is known about the files."""

    source: GraphStore
    target: CopyTarget
    expected: Records
    """What files of the source must be; others must have the digests in their names."""
    remedy: str
    """What to do when they are not."""
    between: Callable[[], None]
    """Called now and then."""
    on_progress: Progress | None

    def copy(self, take: Callable[[], ManifestView], held: set[str] | None = None) -> CopiedMoment:
        """Copy everything but the version of a moment; a newer one when files went meanwhile.

        `held` are the tables that collections spare, all of them if it is none; those of the
        moment that were not are added to it before the next one is taken.
        """
        for _ in range(TAKEN_AGAIN):
            view = take()
            try:
                return self._attempt(view, held)
            except MomentGone as error:
                gone, unmoved = str(error), self.source.publisher.refresh().version == view.version
                if unmoved and held is None:
                    break
        raise Corruption(
            f"files of the graph at {self.source.root} are missing: {gone}", hint=self.remedy
        )

    def _attempt(self, view: ManifestView, held: set[str] | None) -> CopiedMoment:
        manifest = self.copy_manifest(view)
        versions = versions_of(self.source, view)
        if held is not None and not versions.locations <= held:
            held |= versions.locations
            raise MomentGone("tables that were not registered")
        try:
            tables = tuple(table_files(self.source, versions))
        except Corruption as error:
            raise MomentGone(error.message) from error
        self._require_whole(tables, versions.locations)
        self._copy(tables, versions.digests)
        return CopiedMoment(manifest, tables, tuple(self.source.heads(view)))

    def _require_whole(self, tables: tuple[StoredFile, ...], locations: set[str]) -> None:
        """Notice files that no version names and that were there when they were recorded: those of
        Blobs and indexes, and the first versions of tables."""
        there = {file.path for file in tables}
        stems = {stem_of(path) for path in there}
        for path in (self.expected.keys() | self.target.records.keys()) - there:
            first = version_of(path) is not None and table_location(path) in locations
            if first or stem_of(path) in stems:
                raise MomentGone(path)

    def copy_manifest(self, view: ManifestView) -> ManifestFiles:
        """Copy the files that the manifest of a view refers to."""
        manifest = manifest_of(self.source, view)
        known = version_digests(manifest)
        if known and digest_of([manifest.contents]) not in known:
            raise self._damaged([version_path(manifest.version)])
        self._copy(manifest.files, {})
        return manifest

    def _copy(self, files: tuple[StoredFile, ...], digests: Mapping[str, str]) -> None:
        try:
            self.target.copy(
                self.source.raw, files, self.expected, digests, self.between, self.on_progress
            )
        except DamagedFiles as error:
            raise self._damaged(error.paths) from error

    def _damaged(self, paths: list[str]) -> Corruption:
        return damaged(self.source.root, paths, self.remedy)

    def publish(self, moment: CopiedMoment, *, first: bool) -> None:
        """Let the copy show the moment, which is newer than what it shows."""
        root = self.target.raw.root
        for _ in range(COPIED_AGAIN):
            if not self.target.missing(moment.files):
                break
            try:
                self._copy(
                    moment.files, {}
                )  # somebody collected, or deleted, in the copy meanwhile
            except MomentGone as error:
                raise _changed_meanwhile(root) from error
        else:
            raise _changed_meanwhile(root)
        path = version_path(moment.manifest.version)
        contents = moment.manifest.contents
        size, digest = digest_of_pieces([contents])
        failpoint(BEFORE_VERSION)
        if first:
            # Under the first number, too: nobody else can then have made a graph here.
            if not create_file(self.target.raw, version_path(1), contents):
                raise AlreadyExists(
                    f"something else was made at {root} meanwhile",
                    hint="Run it again: a backup goes on from another run, a graph is left alone.",
                )
            failpoint(AFTER_CLAIM)
        made = create_file(self.target.raw, path, contents)
        if not made and self.target.raw.read(path) != contents:
            raise _changed_meanwhile(root)
        self.target.remember([FileRecord(path, size, digest)])
        failpoint(AFTER_VERSION)
        self._require_shown(moment)

    def _require_shown(self, moment: CopiedMoment) -> None:
        """Whoever does not know of this run could delete its files, or show something else."""
        present = {file.path for file in list_graph(self.target.raw)}
        shown = newest_version(present) == version_path(moment.manifest.version)
        if not shown or any(file.path not in present for file in moment.files):
            raise _changed_meanwhile(self.target.raw.root)
        self.target.records = self.target.folder.compact(self.target.records, present)


def _changed_meanwhile(root: str) -> Conflict:
    return Conflict(
        f"another copy or a collection changed {root} meanwhile",
        hint="Run the command again, when nothing else is changing it.",
    )


def damaged(root: str, paths: list[str], remedy: str) -> Corruption:
    return Corruption(
        f"damaged below {root}: {', '.join(paths[:10])}{' and others' if paths[10:] else ''}",
        hint=remedy,
        details={"paths": paths},
    )


def genesis(store: GraphStore, view: ManifestView) -> str:
    """The first commit of main, which tells a graph from every other."""
    parents = store.manifest.parents(view)
    commit = main_commit(store.heads(view))
    while parents.get(commit):
        commit = parents[commit][0]
    return commit


def main_commit(heads: Iterable[Head]) -> str:
    """What main shows."""
    for head in heads:
        if head.branch == MAIN:
            return head.commit
    raise Corruption(
        "the manifest has no branch main", hint="Run `omnigraph verify` to see what is affected."
    )


def require_apart(root: str, other: str) -> None:
    """Refuse a copy inside of what it is a copy of, or around it."""
    one, two = (f"{os.path.realpath(each) if is_local(each) else each}/" for each in (root, other))
    if one.startswith(two) or two.startswith(one):
        raise InvalidInput(
            f"{root} and {other} are the same place, or one is inside the other",
            hint="Choose another place for the copy.",
        )


def is_empty(target: CopyTarget) -> bool:
    """Whether there is nothing at all at a root, but what a kill left of a first file."""
    return all(file.path.endswith(UNFINISHED) for file in target.raw.list(""))


def newest_version(paths: Iterable[str]) -> str | None:
    """The file of the newest version of a manifest, among some paths."""
    return min((p for p in paths if p.startswith(f"{MANIFEST}/") and version_of(p)), default=None)


def shown_version(raw: RawStore) -> str | None:
    """The file of the version that a root shows; none where no graph is, or not yet."""
    return newest_version(file.path for file in raw.list(f"{MANIFEST}/{VERSIONS}"))


def there_already(root: str) -> AlreadyExists:
    return AlreadyExists(
        f"there is something at {root} already", hint="Choose a place where nothing is."
    )


def report_of(target: CopyTarget, heads: Collection[Head]) -> CopyReport:
    """The report on a copy that shows these heads."""
    return CopyReport(
        uri=target.raw.root,
        graph_commit_id=main_commit(heads),
        branches=len(heads),
        files=len(target.records),
        bytes=sum(record.size for record in target.records.values()),
        copied_files=target.copied_files,
        copied_bytes=target.copied_bytes,
    )
