"""Tags: create and delete. A tag is one row of the manifest; none of this touches data."""

from __future__ import annotations

from omnigraph.errors import AlreadyExists, InvalidInput, NoSuchTag, did_you_mean
from omnigraph.storage.commit.publish_plan import read_head
from omnigraph.storage.core.model import MAIN, now
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.manifest import ManifestChange, ManifestView
from omnigraph.storage.manifest.row_codec import ALLOCATOR_ID, head_id
from omnigraph.storage.manifest.tag_rows import Tag, read_tags, tag_id, tag_row
from omnigraph.storage.refs.moments import (
    COMMIT_ID,
    DEFERRED_CHECKS,
    branch_name,
    reclaimed,
    resolve,
)


def create_tag(store: GraphStore, name: str, at: str = MAIN) -> Tag:
    """Name the commit of a moment; collections keep it until the tag is deleted."""
    name = _tag_name(name)
    store.ready_to_write()
    made: list[Tag] = []

    def build(view: ManifestView) -> ManifestChange | None:
        if tag_id(name) in view.named:
            if made and view.row(tag_id(name)) == tag_row(made[-1]):
                return None
            raise AlreadyExists(
                f"there is a tag {name!r} already",
                hint="Choose another name, or delete the tag first.",
            )
        if head_id(name) in view.named:
            raise AlreadyExists(
                f"there is a branch {name!r}, and a name means one thing",
                hint="Choose another name for the tag.",
            )
        moment = resolve(store, at)
        pointers = moment.tables.values()
        if any(moment.version < moment.purged.get(str(p.identity), 0) for p in pointers):
            raise reclaimed(moment.commit)
        head = read_head(view, moment.branch)
        if moment.tag is None and head is not None and head.properties.get(DEFERRED_CHECKS):
            raise InvalidInput(
                f"branch {head.branch!r} has not been checked yet",
                hint="Merge it first, and name a commit of the branch it was merged into.",
            )
        made.append(Tag(name, moment.commit, moment.branch, now()))
        return ManifestChange(replace=[view.named[ALLOCATOR_ID].row], add=[tag_row(made[-1])])

    store.publisher.refresh()
    store.publisher.change_names(build)
    return made[-1]


def delete_tag(store: GraphStore, name: str) -> None:
    """Forget a tag; what only it kept goes with the next collection."""
    name = branch_name(name, what="tag")
    store.ready_to_write()
    started = False

    def build(view: ManifestView) -> ManifestChange | None:
        nonlocal started
        if tag_id(name) not in view.named:
            if started:
                return None
            raise no_tag(name, [tag.name for tag in read_tags(view)])
        started = True
        return ManifestChange(replace=[view.named[ALLOCATOR_ID].row], remove=[tag_id(name)])

    store.publisher.refresh()
    store.publisher.change_names(build)


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
            hint="Choose a name that cannot be taken for a commit.",
        )
    return name
