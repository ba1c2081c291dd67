"""Files that have all of their contents or are not there, and how they become durable."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from omnigraph.common.ulid import new_ulid
from omnigraph.errors import StorageError
from omnigraph.storage.core.durability import resolve_durability
from omnigraph.storage.core.file_sync import FileSync
from omnigraph.storage.core.layout import is_local
from omnigraph.storage.core.object_store import RawStore
from omnigraph.storage.graph_store import prepare_root

UNFINISHED = ".part"
"""How the name of a local file ends that is still being written."""


def put_file(raw: RawStore, path: str, pieces: Iterable[bytes]) -> None:
    """Make or replace a file, which `sync_files` makes durable.

    What the pieces raise is raised, and then nothing was changed.
    """
    if not is_local(raw.root):
        raw.upload(path, pieces)
        return
    final = Path(raw.root, path)
    aside = _written(final, pieces)
    try:
        os.replace(aside, final)
    except OSError as error:
        raise _unwritable(final, error) from error


def create_file(raw: RawStore, path: str, contents: bytes) -> bool:
    """Make a new, durable file; false when one of that name is there, of whatever contents."""
    if not is_local(raw.root):
        return raw.create(path, contents)
    final = Path(raw.root, path)
    aside = _written(final, [contents])
    try:
        raw.sync.sync([aside])  # before it has its name
        os.link(aside, final)
    except FileExistsError:
        return False
    except OSError as error:
        raise _unwritable(final, error) from error
    finally:
        aside.unlink(missing_ok=True)
    raw.sync.sync([final])
    return True


def remove_folder(raw: RawStore, folder: str) -> None:
    """Remove a local folder that nothing is left in; object stores have none."""
    if is_local(raw.root):
        with suppress(OSError):  # something is left, and harms nobody
            Path(raw.root, folder).rmdir()


def prepare_place(root: str, options: Mapping[str, str], durability: str | None = None) -> RawStore:
    """The files of a root that a graph is copied to; its folder is made, and its name durable."""
    prepare_root(root, options)
    raw = RawStore(root, options, FileSync(root, resolve_durability(durability)))
    raw.sync.sync_root()
    return raw


def sync_files(raw: RawStore, paths: Iterable[str]) -> None:
    """Make files and their names durable; nothing to do on an object store."""
    raw.sync.sync(paths)


def _written(final: Path, pieces: Iterable[bytes]) -> Path:
    """A file of these contents beside the place where it belongs."""
    aside = final.with_name(f".{final.name}.{new_ulid()}{UNFINISHED}")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("xb") as file:
            for piece in pieces:
                file.write(piece)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise _unwritable(final, error) from error
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return aside


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"cannot write {path}: {error.strerror}",
        hint="Check that the folder is writable and has room, then run the command again.",
    )
