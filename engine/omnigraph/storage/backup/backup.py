"""A backup: a second root that shows one moment of a graph, and gets newer moments in one step."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from omnigraph.common.progress import Progress
from omnigraph.errors import Conflict, InvalidInput
from omnigraph.storage.backup.copy_files import CopyTarget
from omnigraph.storage.backup.copy_moment import (
    CopiedMoment,
    CopyReport,
    MomentCopier,
    genesis,
    is_empty,
    prune,
    report_of,
    shows_something,
    there_already,
)
from omnigraph.storage.backup.file_records import RecordFolder
from omnigraph.storage.backup.hold_files import Hold, holding
from omnigraph.storage.backup.moment_files import MomentGone
from omnigraph.storage.backup.write_file import prepare_place
from omnigraph.storage.core.failpoints import AFTER_HOLD, failpoint
from omnigraph.storage.core.layout import normalize_root
from omnigraph.storage.core.object_store import RawStore, storage_options
from omnigraph.storage.graph_store import GraphStore

RECORDS = "__backup"
"""The folder of a backup that says what was copied."""


def backup(
    uri: str | Path,
    target_uri: str | Path,
    *,
    options: Mapping[str, str] | None = None,
    target_options: Mapping[str, str] | None = None,
    pruned: bool = False,
    durability: str | None = None,
    on_progress: Progress | None = None,
) -> CopyReport:
    """Copy what a graph shows now, with its readable past, to a root that shows it then.

    Files that are there from an earlier backup, or from one that was killed, are not copied again.
    Until the new moment is complete the backup shows the one before.
    """
    root = normalize_root(target_uri)
    if root == normalize_root(uri):
        raise InvalidInput("a graph cannot be its own backup", hint="Choose another place.")
    source = GraphStore.open(uri, options=options, durability=durability)
    source.ready_to_write()
    graph = genesis(source, source.publisher.refresh())
    target = _target(prepare_place(root, storage_options(target_options), durability), graph)
    with ExitStack() as stack:
        hold = stack.enter_context(holding(source))
        held_from = hold.take().version
        shown = 0
        if shows_something(target):
            store = GraphStore.open(root, options=target_options, durability=durability)
            _require_same_graph(store, source, graph)
            shown = stack.enter_context(holding(store, hold.locations)).take().version
        failpoint(AFTER_HOLD)
        copier = MomentCopier(source, target, {}, hold.renew, on_progress)
        moment = copier.copy(lambda: hold.take(max(shown, held_from - 1)), hold.locations)
        moment = _without_hold(copier, hold, moment)
        copier.publish(moment, first=not shown)
    deleted = prune(target, moment) if pruned else ()
    target.folder.replace_all(target.records, always=bool(deleted))
    return report_of(target, moment, deleted)


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


def _require_same_graph(store: GraphStore, source: GraphStore, graph: str) -> None:
    """Refuse a backup, opened as a graph, that somebody wrote to."""
    view = store.publisher.refresh()
    known = source.manifest.parents(source.publisher.view)
    own = sorted(commit for commit in store.manifest.parents(view) if commit not in known)
    if genesis(store, view) != graph or own:
        raise Conflict(
            f"{store.root} has commits that the graph at {source.root} does not have",
            hint="Make the backup in another place; what was written to this one would be hidden.",
            details={"commits": own[:10]},
        )
