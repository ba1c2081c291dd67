"""Files and their names made durable on local disk, many at once.

A file survives a power cut when its bytes are synced and the folder that names it is; a folder when
its parent is. Syncing takes the disk one wait, however many files a batch has, if they are asked
for at once. On an object store, and with the durability `os`, there is nothing to do.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

from omnigraph.errors import SyncFailed
from omnigraph.storage.core.durability import Durability, resolve_durability
from omnigraph.storage.core.layout import is_local

SYNCING_THREADS = 16
_FOLDERS_ARE_SYNCED = os.name != "nt"
_NO_SUCH_OPERATION = frozenset({errno.EINVAL, errno.ENOTSUP})


class FileSync:
    """Syncs what is below the root of one graph.

    A failed sync is never tried again on the same file: the system may have dropped the bytes it
    could not write and call the next sync a success. Who gets a `SyncFailed` writes new files.
    """

    def __init__(self, root: str, durability: Durability | None = None) -> None:
        self.durability = durability or resolve_durability()
        self.active = is_local(root) and self.durability is Durability.SYNC
        self._root = Path(root)
        self._named: set[Path] = set()
        """Folders whose own names are durable. Only ever grows, and never before that is so."""

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(SYNCING_THREADS, thread_name_prefix="omnigraph-sync")

    def sync(self, files: Iterable[Path | str], folders: Iterable[Path | str] = ()) -> None:
        """Return when these files, their names and those of their folders are durable.

        Paths are relative to the root, or begin with it. `folders` are such whose names alone
        matter. Raises `SyncFailed` for the first that is not.
        """
        if not self.active:
            return
        paths = {self._root / file for file in files}
        holders = {path.parent for path in paths} | {self._root / folder for folder in folders}
        fresh = {folder for holder in holders for folder in self._unnamed(holder)}
        holders |= {folder.parent for folder in fresh}
        failures = [*self._run(paths, holders)]
        if failures:
            raise failures[0]
        self._named |= fresh

    def sync_root(self) -> None:
        """The same for the folders above the root, some of which may be new."""
        if self.active:
            readable = (each for each in self._root.parents if os.access(each, os.R_OK))
            failures = [*self._run((), {self._root, *readable})]
            if failures:
                raise failures[0]

    def _unnamed(self, folder: Path) -> Iterator[Path]:
        """A folder and those above it, below the root, whose names may not be durable yet."""
        while folder != self._root and folder not in self._named:
            yield folder
            folder = folder.parent

    def _run(self, files: Iterable[Path], folders: Iterable[Path]) -> Iterator[SyncFailed]:
        """Sync all of them, also after a failure: what failed."""
        asked = [(path, False) for path in files]
        if _FOLDERS_ARE_SYNCED:
            asked += [(path, True) for path in folders]
        for failed in self._pool.map(_sync, asked):
            if failed is not None:
                yield failed


def files_below(folder: Path) -> list[Path]:
    """Every file of a folder and of those in it; none when there is no such folder."""
    return [Path(where) / name for where, _, names in os.walk(folder) for name in names]


def _sync(asked: tuple[Path, bool]) -> SyncFailed | None:
    path, is_folder = asked
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if is_folder and error.errno in _NO_SUCH_OPERATION:
            return None  # a file system that keeps names without being asked, or never does
        return SyncFailed(str(path), error.strerror or str(error))
    return None
