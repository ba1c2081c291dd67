"""A backup: a second root that shows one moment of a graph, and gets newer moments in one step."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from omnigraph.common.progress import Progress
from omnigraph.errors import Conflict, InvalidInput, NotFound
from omnigraph.storage.backup.copy_files import CopyTarget, list_graph
from omnigraph.storage.backup.copy_moment import (
    CopiedMoment,
    CopyReport,
    MomentCopier,
    damaged,
    genesis,
    is_empty,
    newest_version,
    report_of,
    require_apart,
    shown_version,
    there_already,
)
from omnigraph.storage.backup.file_records import FileRecord, RecordFolder, digest_of_pieces
from omnigraph.storage.backup.hold_files import Hold, holding
from omnigraph.storage.backup.moment_files import MomentGone
from omnigraph.storage.backup.write_file import prepare_place
from omnigraph.storage.core.failpoints import AFTER_HOLD, failpoint
from omnigraph.storage.core.file_digests import digest_of
from omnigraph.storage.core.layout import MANIFEST, VERSIONS, is_local, normalize_root
from omnigraph.storage.core.object_store import RawStore, storage_options
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.maintenance.reachable_files import marked_file
from omnigraph.storage.manifest.manifest import ManifestView
from omnigraph.storage.manifest.version_files import version_path
from omnigraph.storage.tables.digest_names import MARKS

RECORDS = "__backup"
"""The folder of a backup that says what was copied."""
_REMEDY = (
    "What was backed up before is as it was. Put the files back with `omnigraph repair --from` and "
    "a backup that has them; `omnigraph verify --deep` shows what else is affected."
)


def backup(
    uri: str | Path,
    target_uri: str | Path,
    *,
    options: Mapping[str, str] | None = None,
    target_options: Mapping[str, str] | None = None,
    durability: str | None = None,
    on_progress: Progress | None = None,
) -> CopyReport:
    """Copy what a graph shows now, with its readable past, to a root that shows it then.

    Files that are there from an earlier backup, or from one that was killed, are not copied again.
    Until the new moment is complete the backup shows the one before.
    """
    root = normalize_root(target_uri)
    require_apart(root, normalize_root(uri))
    _require_sound_version(normalize_root(uri))
    source = GraphStore.open(uri, options=options, durability=durability)
    view = source.publisher.refresh()
    graph = genesis(source, view)
    target = _target(prepare_place(root, storage_options(target_options), durability), graph)
    if _is_shown(source, view, target):
        return report_of(target, source.heads(view))
    source.ready_to_write()
    with ExitStack() as stack:
        hold = stack.enter_context(holding(source))
        held_from = hold.take().version
        shown = 0
        if shown_version(target.raw):
            store = _same_graph(target.raw, target_options, source, graph)
            shown = stack.enter_context(holding(store, hold.locations)).take().version
        failpoint(AFTER_HOLD)
        copier = MomentCopier(source, target, {}, _REMEDY, hold.renew, on_progress)
        moment = copier.copy(lambda: hold.take(max(shown, held_from - 1)), hold.locations)
        moment = _without_hold(copier, hold, moment)
        copier.publish(moment, first=not shown)
    return report_of(target, moment.heads)


def _require_sound_version(root: str) -> None:
    """Refuse a local manifest that is not what was written: registering would build on it."""
    if not Path(root, MANIFEST, VERSIONS).is_dir():
        return
    raw = RawStore(root, {})
    newest = shown_version(raw)
    marks = (file.path for file in raw.list(f"{MANIFEST}/{MARKS}"))
    known = {mark.rpartition(".")[2] for mark in marks if marked_file(mark) == newest}
    contents = raw.read(newest) if newest and known else None
    if newest and contents is not None and digest_of([contents]) not in known:
        raise damaged(root, [newest], _REMEDY)


def _is_shown(source: GraphStore, view: ManifestView, target: CopyTarget) -> bool:
    """Whether the backup shows this very state, and has all the files it should have."""
    path = version_path(view.version)
    record = target.records.get(path)
    if record is None:
        return False
    present = {file.path: file.size for file in list_graph(target.raw)}
    return (
        newest_version(present) == path
        and all(present.get(each.path) == each.size for each in target.records.values())
        and digest_of_pieces([source.raw.read(path) or b""]) == (record.size, record.digest)
    )


def _without_hold(copier: MomentCopier, hold: Hold, moment: CopiedMoment) -> CopiedMoment:
    """The same moment without the registration, unless others changed the graph meanwhile."""
    view = hold.release()
    if view is None or view.version != moment.manifest.version + 1:
        return moment
    try:
        return replace(moment, manifest=copier.copy_manifest(view))
    except MomentGone:
        return moment


def _target(raw: RawStore, graph: str) -> CopyTarget:
    """The place of a backup of this graph, new or begun before."""
    root = raw.root
    target = CopyTarget(raw, RecordFolder(raw, RECORDS))
    known = target.folder.graph()
    if known is None and not is_empty(target):
        raise there_already(root)
    if known is None and not target.folder.begin(graph):
        known = target.folder.graph()
    if known not in (None, graph):
        raise Conflict(
            f"{root} is a backup of another graph",
            hint="Choose a place of its own for each graph.",
            details={"graph": graph, "backup_of": known},
        )
    return target


def _same_graph(
    raw: RawStore, options: Mapping[str, str] | None, source: GraphStore, graph: str
) -> GraphStore:
    """The backup as a graph, if nobody wrote to it."""
    store = GraphStore.open(raw.root, options=options, durability=raw.sync.durability)
    view = store.publisher.refresh()
    known = source.manifest.parents(source.publisher.view)
    own = sorted(commit for commit in store.manifest.parents(view) if commit not in known)
    if genesis(store, view) != graph or own:
        raise Conflict(
            f"{store.root} has commits that the graph at {source.root} does not have",
            hint="Make the backup in another place; what was written to this one would be hidden.",
            details={"commits": own[:10]},
        )
    return store


def records_of(backup: RawStore) -> tuple[str, dict[str, FileRecord]]:
    """The graph that a backup is of, and what was copied; refused where no backup is."""
    if is_local(backup.root) and not Path(backup.root).is_dir():
        raise NotFound(f"there is nothing at {backup.root}", hint="Name the root of a backup.")
    folder = RecordFolder(backup, RECORDS)
    graph = folder.graph()
    if graph is None:
        raise InvalidInput(
            f"{backup.root} is not a backup", hint="Make one with `omnigraph backup SRC DST`."
        )
    return graph, folder.read()
