"""Tags: create and delete. A tag is one row of the manifest; none of this touches data."""

from __future__ import annotations

from omnigraph.errors import InvalidInput, NoSuchTag, did_you_mean
from omnigraph.storage.commit.publish_plan import read_head
from omnigraph.storage.core.model import MAIN, now
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.manifest import ManifestView
from omnigraph.storage.manifest.row_codec import ManifestRow
from omnigraph.storage.manifest.tag_rows import Tag, parse_tag, read_tags, tag_id, tag_row
from omnigraph.storage.refs.moments import COMMIT_ID, DEFERRED_CHECKS, Moment, branch_name
from omnigraph.storage.refs.names import create_name, delete_name


def create_tag(store: GraphStore, name: str, at: str = MAIN) -> Tag:
    """Name the commit of a moment; collections keep it until the tag is deleted."""
    name = _tag_name(name)

    def build_row(view: ManifestView, moment: Moment) -> ManifestRow:
        head = read_head(view, moment.branch)
        if moment.tag is None and head is not None and head.properties.get(DEFERRED_CHECKS):
            raise InvalidInput(
                f"branch {head.branch!r} defers its checks until it is merged",
                hint="Merge it first, and tag a commit of the branch it was merged into.",
            )
        return tag_row(Tag(name, moment.commit, moment.branch, now()))

    return parse_tag(create_name(store, "tag", name, at, build_row))


def delete_tag(store: GraphStore, name: str) -> None:
    """Forget a tag; what only it retained goes with the next collection."""
    name = branch_name(name, what="tag")

    def no_rows(view: ManifestView) -> list[int]:
        if tag_id(name) not in view.named:
            raise no_tag(name, [tag.name for tag in read_tags(view)])
        return []

    delete_name(store, "tag", name, no_rows)


def no_tag(name: str, known: list[str]) -> NoSuchTag:
    """The error of a tag that is not there."""
    return NoSuchTag(
        f"there is no tag {name!r}{did_you_mean(name, known)}",
        hint="List tags with `omnigraph tag list`.",
    )


def _tag_name(text: str) -> str:
    name = branch_name(text, what="tag")
    if COMMIT_ID.match(name):
        raise InvalidInput(
            f"{name!r} is not a tag name: it looks like a commit id",
            hint="Choose a name that does not look like a commit id.",
        )
    return name
