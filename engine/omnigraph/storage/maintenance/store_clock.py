"""When commits were made by the clock of the store, which no writer can have wrong.

A commit says when it was made by the clock of its writer. One whose clock is slow would have its
commits taken for old ones the moment they are made; so a commit is never older than the version
files it brought, by the times that the store lists for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from omnigraph.storage.core.model import Commit
from omnigraph.storage.core.object_store import StoredFile
from omnigraph.storage.maintenance.reachable_files import detached_version_file


class StoreClock:
    """The present, and the times of version files, as one listing shows them."""

    def __init__(self, listed: Iterable[StoredFile], at: datetime) -> None:
        self.at = at
        """From when ages count."""
        self._made = {f.path: f.modified for f in listed if "/_versions/d" in f.path}

    def dated(self, commits: Mapping[str, Commit]) -> dict[str, Commit]:
        """Commits with the later of the two times of each: its writer's and the store's."""
        return {name: self._dated(commit) for name, commit in commits.items()}

    def _dated(self, commit: Commit) -> Commit:
        pointers = (commit.tables.get(key) for key in commit.changed)
        files = (detached_version_file(pointer.address) for pointer in pointers if pointer)
        made = [time for file in files if (time := self._made.get(file)) is not None]
        return replace(commit, time=max([commit.time, *made]))
