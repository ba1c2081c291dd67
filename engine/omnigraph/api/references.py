"""Names that users give to places in the history: branches, which move, and tags, which do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from omnigraph.storage.core.model import MAIN, Head, from_micros, to_micros
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.tag_rows import Tag, parse_tag, read_tags, tag_id
from omnigraph.storage.refs.branches import OWNER, TTL_UNTIL
from omnigraph.storage.refs.tags import create_tag, delete_tag, no_tag


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch and where it stands."""

    name: str
    commit: str
    version: int
    fork: str | None
    protected: bool = False
    """Whether only merges move it."""
    owner: str | None = None
    expires: datetime | None = None
    """From when on a collection removes it; none for a branch that stays."""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "graph_commit_id": self.commit,
            "graph_manifest_version": self.version,
            "forked_from": self.fork,
            "protected": self.protected,
            "owner": self.owner,
            "expires_at": to_micros(self.expires) if self.expires else None,
        }


def branch_of(head: Head) -> Branch:
    """A head as users see it."""
    until = head.properties.get(TTL_UNTIL)
    return Branch(
        head.branch,
        head.commit,
        head.version,
        head.fork,
        head.protected,
        head.properties.get(OWNER),
        None if until is None else from_micros(until),
    )


class Tags(Mapping[str, Tag]):
    """The tags of a graph by name, looked up in its newest state at every call."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    def create(self, name: str, at: str = MAIN) -> Tag:
        """Name the commit of a moment, which stays readable until the tag is deleted."""
        return create_tag(self._store, name, at)

    def delete(self, name: str) -> None:
        """Forget a tag; what only it retained is deleted by the next collection."""
        delete_tag(self._store, name)

    def list(self) -> Sequence[Tag]:
        """All tags, by name."""
        return read_tags(self._store.publisher.refresh())

    def __getitem__(self, name: str) -> Tag:
        view = self._store.publisher.refresh()
        row = view.row(tag_id(name))
        if row is None:
            raise no_tag(name, [tag.name for tag in read_tags(view)])
        return parse_tag(row)

    def __iter__(self) -> Iterator[str]:
        return iter([tag.name for tag in self.list()])

    def __len__(self) -> int:
        return len(self.list())

    def __repr__(self) -> str:
        return f"Tags({', '.join(self)})"
