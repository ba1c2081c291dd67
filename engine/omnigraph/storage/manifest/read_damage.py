"""Files of the manifest that are not what was written: named before anything in them is believed.

The manifest says what everything else is, and its files are small. On a local disk each is compared
with its digest once by every process that opens it, so that a changed bit is an error and never a
branch that is not there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lance import LanceDataset

from omnigraph.errors import Corruption
from omnigraph.storage.core.layout import MANIFEST, VERSIONS, is_local, version_file, version_of
from omnigraph.storage.core.read_errors import is_panic
from omnigraph.storage.manifest.fragment_cache import FragmentKey, fragment_key
from omnigraph.storage.tables.digest_names import damaged_file_of, is_damaged_version


class ComparedFiles:
    """The files of a local manifest that are known to be what was written."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._known: frozenset[FragmentKey] = frozenset()

    def require_sound(self, dataset: LanceDataset) -> None:
        """Refuse a version of which a file that was not compared yet is damaged."""
        if not is_local(self._uri):
            return
        name = version_file(int(dataset.version))
        if is_damaged_version(self._uri, Path(name).name):
            raise damaged(name)
        fragments = {fragment_key(fragment): fragment for fragment in dataset.get_fragments()}
        for key, fragment in fragments.items():
            path = damaged_file_of(self._uri, fragment) if key not in self._known else None
            if path is not None:
                raise damaged(path)
        self._known = frozenset(fragments)


@contextmanager
def parsed(uri: str) -> Iterator[None]:
    """What Lance takes to be impossible inside this block, as damage of the manifest."""
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise unreadable(uri, error) from error


def unreadable(uri: str, error: BaseException) -> Corruption:
    """The error of a manifest that cannot be read, with the name of the file if it is known."""
    name = damaged_version(uri)
    if name is not None:
        return damaged(name)
    return Corruption(
        f"the manifest at {uri} cannot be read: {error}",
        hint="Restore it from a backup; do not create a graph in its place.",
    )


def damaged_version(uri: str) -> str | None:
    """The newest version file of a local manifest that is not what was written, if there is one."""
    folder = Path(uri, VERSIONS)
    if not is_local(uri) or not folder.is_dir():
        return None
    names = sorted(name for name in os.listdir(folder) if version_of(name) is not None)
    return next((f"{VERSIONS}/{name}" for name in names if is_damaged_version(uri, name)), None)


def damaged(path: str) -> Corruption:
    """The error of a damaged file of the manifest."""
    return Corruption(
        f"the file {MANIFEST}/{path} is damaged: its contents are not those that were written",
        hint="Put it back with `omnigraph repair` from a backup; do not create a graph here.",
        details={"file": f"{MANIFEST}/{path}"},
    )
