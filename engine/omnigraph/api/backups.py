"""Copies of whole graphs: `omnigraph.backup`, `restore` and `repair`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from omnigraph.common.progress import Progress
from omnigraph.storage.backup import backup as backups
from omnigraph.storage.backup import repair as repairs
from omnigraph.storage.backup import restore as restores
from omnigraph.storage.backup.copy_moment import CopyReport
from omnigraph.storage.backup.repair import RepairReport

__all__ = ["backup", "repair", "restore"]


def backup(
    uri: str | Path,
    target: str | Path,
    *,
    storage_options: Mapping[str, str] | None = None,
    target_storage_options: Mapping[str, str] | None = None,
    durability: str | None = None,
    on_progress: Progress | None = None,
) -> CopyReport:
    """Copy a graph, with all branches, tags and its readable past, to another root.

    The copy shows one moment, and can be opened and verified like a graph. Run again, it copies
    only what is new; until that is complete the copy shows what it did before. A file of the graph
    that is not what was written is refused. Writers and collections of the graph go on meanwhile.
    A collection of the copy deletes what it does not need any more. `on_progress` gets bytes.
    """
    return backups.backup(
        uri,
        target,
        options=storage_options,
        target_options=target_storage_options,
        durability=durability,
        on_progress=on_progress,
    )


def restore(
    backup: str | Path,
    uri: str | Path,
    *,
    storage_options: Mapping[str, str] | None = None,
    target_storage_options: Mapping[str, str] | None = None,
    durability: str | None = None,
    on_progress: Progress | None = None,
) -> CopyReport:
    """Make a graph of what a backup shows, at a root where nothing is.

    Every file is compared with what was backed up. There is no graph until all of it is there.
    """
    return restores.restore(
        backup,
        uri,
        options=storage_options,
        target_options=target_storage_options,
        durability=durability,
        on_progress=on_progress,
    )


def repair(
    uri: str | Path,
    from_: str | Path,
    *,
    storage_options: Mapping[str, str] | None = None,
    backup_storage_options: Mapping[str, str] | None = None,
    durability: str | None = None,
    on_progress: Progress | None = None,
) -> RepairReport:
    """Put back files of a graph that are missing or damaged, from a backup that has them intact.

    The graph need not be open, nor be fit to be opened; graphs that are open should be opened
    again afterwards. Then it is verified, and what is still wrong is in the report.
    """
    return repairs.repair(
        uri,
        from_,
        options=storage_options,
        backup_options=backup_storage_options,
        durability=durability,
        on_progress=on_progress,
    )
