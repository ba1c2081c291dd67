"""A graph again from its backup, in a place where nothing is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from omnigraph.common.progress import Progress
from omnigraph.errors import InvalidInput
from omnigraph.storage.backup.backup import RECORDS
from omnigraph.storage.backup.copy_files import CopyTarget
from omnigraph.storage.backup.copy_moment import (
    CopyReport,
    MomentCopier,
    genesis,
    is_empty,
    report_of,
    shows_something,
    there_already,
)
from omnigraph.storage.backup.file_records import RecordFolder
from omnigraph.storage.backup.hold_files import remove_rows
from omnigraph.storage.backup.write_file import prepare_place
from omnigraph.storage.core.layout import normalize_root
from omnigraph.storage.core.model import MAIN
from omnigraph.storage.core.object_store import storage_options
from omnigraph.storage.graph_store import GraphStore

RESTORED = "__restore"
"""The folder that says what was restored; it is there while that goes on."""


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
    root = normalize_root(target_uri)
    source = GraphStore.open(backup_uri, options=options)
    records = RecordFolder(source.raw, RECORDS)
    graph = records.graph()
    if graph is None:
        raise InvalidInput(
            f"{source.root} is not a backup", hint="Make one with `omnigraph backup SRC DST`."
        )
    raw = prepare_place(root, storage_options(target_options), durability)
    target = CopyTarget(raw, RecordFolder(raw, RESTORED))
    begun = target.folder.graph()
    if begun not in (None, graph) or (begun is None and not is_empty(target)):
        raise there_already(root)
    if shows_something(target):
        return _finished(target, target_options, graph)
    if begun is None:
        target.folder.begin(graph)
    copier = MomentCopier(source, target, records.read(), lambda: None, on_progress)
    moment = copier.copy(source.publisher.refresh)
    copier.publish(moment, first=True)
    _finished(target, target_options, graph)
    return report_of(target, moment)


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
    heads = store.heads(view)
    main = next(head.commit for head in heads if head.branch == MAIN)
    return CopyReport(root, main, len(heads), 0, 0, 0, 0)
