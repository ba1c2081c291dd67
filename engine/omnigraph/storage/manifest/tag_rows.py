"""A tag as a value, and the manifest row it becomes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from omnigraph.storage.core.model import MAIN, from_micros, to_micros
from omnigraph.storage.manifest.manifest import ManifestView
from omnigraph.storage.manifest.row_codec import (
    ManifestRow,
    commit_id,
    manifest_row,
    pack,
    readable,
)


@dataclass(frozen=True, slots=True)
class Tag:
    """A name for one commit, which keeps it readable until the tag is deleted."""

    name: str
    commit: str
    branch: str
    """The branch that the commit was read on; it may be deleted by now."""
    time: datetime
    """When the tag was made."""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "graph_commit_id": self.commit,
            "graph_branch": None if self.branch == MAIN else self.branch,
            "created_at": to_micros(self.time),
        }


def tag_id(name: str) -> str:
    return f"tag:{name}"


def tag_row(tag: Tag) -> ManifestRow:
    """The row of a tag."""
    return manifest_row(
        tag_id(tag.name),
        "tag",
        base_objects=[commit_id(tag.commit)],
        metadata=pack({"commit": tag.commit, "branch": tag.branch, "time": to_micros(tag.time)}),
    )


@readable
def parse_tag(row: ManifestRow) -> Tag:
    """The tag in a `tag` row."""
    data = json.loads(row["metadata"])
    name = row["object_id"].removeprefix("tag:")
    return Tag(name, data["commit"], data["branch"], from_micros(data["time"]))


def read_tags(view: ManifestView) -> list[Tag]:
    """All tags in a view, by name."""
    return [parse_tag(row) for row in view.rows("tag")]
