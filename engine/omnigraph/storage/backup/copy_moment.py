"""Copy one moment of a graph to another root, the file of its manifest version last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from omnigraph.common.progress import Progress
from omnigraph.errors import AlreadyExists, Conflict, Corruption
from omnigraph.storage.backup.copy_files import CopyTarget, list_graph
from omnigraph.storage.backup.file_records import FileRecord, Records, digest_of_pieces
from omnigraph.storage.backup.moment_files import (
    ManifestFiles,
    MomentGone,
    manifest_of,
    stem_of,
    table_files,
    versions_of,
)
from omnigraph.storage.backup.write_file import UNFINISHED, create_file
from omnigraph.storage.core.failpoints import (
    AFTER_CLAIM,
    AFTER_VERSION,
    BEFORE_VERSION,
    failpoint,
)
from omnigraph.storage.core.layout import MANIFEST, VERSIONS, version_of
from omnigraph.storage.core.model import MAIN, Head
from omnigraph.storage.core.object_store import StoredFile
from omnigraph.storage.graph_store import GraphStore
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
    """Of the moment, whether they had to be copied or were there."""
    bytes: int
    copied_files: int
    copied_bytes: int
    pruned_files: int = 0
    pruned_bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CopiedMoment:
    """A moment all of whose files are in the copy, which does not show it yet."""

    manifest: ManifestFiles
    tables: tuple[StoredFile, ...]
    heads: tuple[Head, ...]

    @property
    def paths(self) -> set[str]:
        """Every file, that of the version included."""
        named = {file.path for file in (*self.manifest.files, *self.tables)}
        return named | {version_path(self.manifest.version)}


@dataclass(frozen=True, slots=True)
class MomentCopier:
    """From where to where, and what is known about the files."""

    source: GraphStore
    target: CopyTarget
    expected: Records
    """What files of the source must be; those without a record are taken as they are."""
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
            f"files of the graph at {self.source.root} are missing: {gone}",
            hint="Run `omnigraph verify` to see what is affected, and `omnigraph repair`.",
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
        self._require_whole(tables)
        self._copy(tables)
        return CopiedMoment(manifest, tables, tuple(self.source.heads(view)))

    def _require_whole(self, tables: tuple[StoredFile, ...]) -> None:
        """Notice files of Blobs and indexes that were there when a part of this was copied."""
        there = {file.path for file in tables}
        stems = {stem_of(path) for path in there}
        for path in self.target.records:
            if path not in there and stem_of(path) in stems:
                raise MomentGone(path)

    def copy_manifest(self, view: ManifestView) -> ManifestFiles:
        """Copy the files that the manifest of a view refers to."""
        manifest = manifest_of(self.source, view)
        self._copy(manifest.files)
        return manifest

    def _copy(self, files: tuple[StoredFile, ...]) -> None:
        self.target.copy(self.source.raw, files, self.expected, self.between, self.on_progress)

    def publish(self, moment: CopiedMoment, *, first: bool) -> None:
        """Let the copy show the moment, which is newer than what it shows."""
        files = (*moment.manifest.files, *moment.tables)
        for _ in range(COPIED_AGAIN):
            if not self.target.missing(files):
                break
            self._copy(files)  # somebody collected, or deleted, in the copy meanwhile
        else:
            raise Conflict(
                f"files are deleted from {self.target.raw.root} while it is written",
                hint="Let no collection run there meanwhile, and run the command again.",
            )
        path = version_path(moment.manifest.version)
        contents = moment.manifest.contents
        size, digest = digest_of_pieces([contents])
        failpoint(BEFORE_VERSION)
        if first:
            # Under the first number, too: nobody else can then have made a graph here.
            if not create_file(self.target.raw, version_path(1), contents):
                raise there_already(self.target.raw.root)
            failpoint(AFTER_CLAIM)
        made = create_file(self.target.raw, path, contents)
        if not made and self.target.raw.read(path) != contents:
            raise Conflict(
                f"the manifest at {self.target.raw.root} was changed meanwhile",
                hint="Run the command again.",
            )
        self.target.remember([FileRecord(path, size, digest)])
        failpoint(AFTER_VERSION)


def genesis(store: GraphStore, view: ManifestView) -> str:
    """The first commit of main, which tells a graph from every other."""
    parents = store.manifest.parents(view)
    commit = next(head.commit for head in store.heads(view) if head.branch == MAIN)
    while parents.get(commit):
        commit = parents[commit][0]
    return commit


def is_empty(target: CopyTarget) -> bool:
    """Whether there is nothing at all at a root, but what a kill left of a first file."""
    return all(file.path.endswith(UNFINISHED) for file in target.raw.list(""))


def shows_something(target: CopyTarget) -> bool:
    """Whether a manifest has a version there."""
    listed = target.raw.list(f"{MANIFEST}/{VERSIONS}")
    return any(version_of(file.path) is not None for file in listed)


def there_already(root: str) -> AlreadyExists:
    return AlreadyExists(
        f"there is something at {root} already", hint="Choose a place where nothing is."
    )


def report_of(
    target: CopyTarget, moment: CopiedMoment, pruned: tuple[StoredFile, ...] = ()
) -> CopyReport:
    files = (*moment.manifest.files, *moment.tables)
    return CopyReport(
        uri=target.raw.root,
        graph_commit_id=next(head.commit for head in moment.heads if head.branch == MAIN),
        branches=len(moment.heads),
        files=len(files) + 1,
        bytes=sum(file.size for file in files) + len(moment.manifest.contents),
        copied_files=target.copied_files,
        copied_bytes=target.copied_bytes,
        pruned_files=len(pruned),
        pruned_bytes=sum(file.size for file in pruned),
    )


def prune(target: CopyTarget, moment: CopiedMoment) -> tuple[StoredFile, ...]:
    """Delete what the moment does not need: older versions first, so that nothing refers to it."""
    kept = moment.paths | {version_path(1)}
    unneeded = [file for file in list_graph(target.raw) if file.path not in kept]
    versions = [file.path for file in unneeded if f"{MANIFEST}/{VERSIONS}/" in file.path]
    target.raw.delete(versions)
    target.raw.delete(file.path for file in unneeded)
    target.records = {path: r for path, r in target.records.items() if path in kept}
    return tuple(unneeded)
