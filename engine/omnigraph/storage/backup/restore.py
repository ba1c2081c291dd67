"""A graph again from its backup, in a place where nothing is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from omnigraph.common.progress import Progress
from omnigraph.errors import NotFound
from omnigraph.storage.backup.backup import records_of
from omnigraph.storage.backup.copy_files import CopyTarget, differing
from omnigraph.storage.backup.copy_moment import (
    CopyReport,
    MomentCopier,
    damaged,
    genesis,
    is_empty,
    report_of,
    require_apart,
    shown_version,
    there_already,
)
from omnigraph.storage.backup.file_records import RecordFolder, Records
from omnigraph.storage.backup.hold_files import remove_rows
from omnigraph.storage.backup.write_file import prepare_place
from omnigraph.storage.core.layout import normalize_root
from omnigraph.storage.core.object_store import RawStore, storage_options
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.version_files import files_of_newest

RESTORED = "__restore"
"""The folder that says what was restored; it is there while that goes on."""
_REMEDY = (
    "Use another backup. If the graph that was backed up still has these files, delete them from "
    "the backup and run `omnigraph backup` again."
)


def restore(
    backup_uri: str | Path,
    target_uri: str | Path,
    *,
    options: Mapping[str, str] | None = None,
    target_options: Mapping[str, str] | None = None,
    durability: str | None = None,
    on_progress: Progress | None = None,
) -> CopyReport:
    """Copy what a backup shows to a new root; every file is compared with what was backed up.

    There is a graph at the new root once all of it is there. The backup is not written to.
    """
    root, backup_root = normalize_root(target_uri), normalize_root(backup_uri)
    require_apart(root, backup_root)
    backup = RawStore(backup_root, storage_options(options))
    graph, records = records_of(backup)
    _require_manifest(backup, records, storage_options(options))
    source = GraphStore.open(backup_root, options=options)
    raw = prepare_place(root, storage_options(target_options), durability)
    target = CopyTarget(raw, RecordFolder(raw, RESTORED))
    begun = target.folder.graph()
    if begun not in (None, graph) or (begun is None and not is_empty(target)):
        raise there_already(root)
    if shown_version(raw):
        return _finished(target, target_options, graph)
    if begun is None:
        target.folder.begin(graph)
    copier = MomentCopier(source, target, records, _REMEDY, lambda: None, on_progress)
    moment = copier.copy(source.publisher.refresh)
    copier.publish(moment, first=True)
    return _finished(target, target_options, graph)


def _require_manifest(backup: RawStore, records: Records, options: Mapping[str, str]) -> None:
    """Refuse a manifest that is not what was backed up, before anything is read from it."""
    newest = shown_version(backup)
    if newest is None:
        raise NotFound(
            f"the backup at {backup.root} was begun and never completed",
            hint="Run `omnigraph backup` again, or use another backup.",
        )
    _require_recorded(backup, records, {newest})
    _require_recorded(backup, records, files_of_newest(backup.root, options))


def _require_recorded(backup: RawStore, records: Records, paths: set[str]) -> None:
    known = [records[path] for path in sorted(paths) if path in records]
    changed = [record.path for record in differing(backup, known)]
    if changed:
        raise damaged(backup.root, changed, _REMEDY)


def _finished(target: CopyTarget, options: Mapping[str, str] | None, graph: str) -> CopyReport:
    """Forget what only the graph that was backed up, and the copying itself, had under way."""
    root = target.raw.root
    store = GraphStore.open(root, options=options, durability=target.raw.sync.durability)
    view = store.publisher.refresh()
    if genesis(store, view) != graph:
        raise there_already(root)
    store.ready_to_write()
    view = store.publisher.change_names(
        remove_rows(row["object_id"] for row in view.rows("transaction"))
    )
    target.folder.remove()
    return report_of(target, store.heads(view))
