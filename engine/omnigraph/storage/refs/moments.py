"""Names of moments: `main`, `main@<commit>`, `main@v42`, `main@<ISO time>`, a tag, a commit id."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from omnigraph.errors import Corruption, InvalidInput, NotFound, Reclaimed
from omnigraph.storage.commit.publish_plan import existing_head, read_head
from omnigraph.storage.core.model import (
    MAIN,
    Commit,
    DefinitionHashes,
    Head,
    Pointers,
    TablePointer,
)
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.manifest import ManifestView
from omnigraph.storage.manifest.row_codec import head_id
from omnigraph.storage.manifest.tag_rows import Tag, parse_tag, read_tags, tag_id

_SEGMENT = re.compile(r"[A-Za-z0-9._-]+\Z")
COMMIT_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}\Z")
_VERSION = re.compile(r"v([0-9]{1,18})\Z")
MAX_BRANCH_NAME = 255

KEPT_FROM = "kept_from"
PURGED = "purged"
DEFERRED_CHECKS = "deferred_checks"
"""Names of head properties."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A fixed state of the whole graph, and the branch it was looked up on."""

    branch: str
    commit: str
    version: int
    schema: str
    """The schema in force then."""
    reading_schema: str
    """The schema of the branch today, under whose names the past is read."""
    tables: Pointers
    definitions: DefinitionHashes = field(default_factory=dict)
    """The stored queries, views, SQL schemas and declarations of plain tables of that moment."""
    purged: Mapping[str, int] = field(default_factory=dict)
    """Identities of tables whose data before a version was purged."""
    tag: str | None = None
    """The tag it was looked up by, which retains it whatever its branch reclaims."""
    time: datetime | None = None
    """When its commit was made, if that is known without reading it."""
    incarnation: str | None = None
    """Of the branch it was looked up on; none for what a tag retains."""
    epoch: int = 0
    """The epoch in which it was looked up: until the next, no collection takes its data."""

    def is_purged(self, pointer: TablePointer) -> bool:
        """Whether the data that a table had at this moment was reclaimed after a hard drop."""
        return self.version < self.purged.get(str(pointer.identity), 0)


def unpurged(commit: Commit, *heads: Head) -> Commit:
    """A commit with those of its tables whose data none of some branches purged."""
    purged = [head.properties.get(PURGED, {}) for head in heads]
    tables = {
        key: pointer
        for key, pointer in commit.tables.items()
        if all(commit.version >= each.get(str(pointer.identity), 0) for each in purged)
    }
    return replace(commit, tables=tables)


def branch_name(text: str, what: str = "branch") -> str:
    """A checked name of a branch, or of what shares its rules; surrounding blanks are dropped."""
    name = text.strip() if isinstance(text, str) else ""
    problem = _name_problem(name)
    if problem:
        raise InvalidInput(
            f"{text!r} is not a {what} name: {problem}",
            hint="Use letters, digits, '.', '_' and '-', in segments joined by '/'.",
        )
    return name


def _name_problem(name: str) -> str | None:
    if not name:
        return "it is empty"
    if len(name) > MAX_BRANCH_NAME:
        return f"it is longer than {MAX_BRANCH_NAME} characters"
    if ".." in name:
        return "it contains '..'"
    if name.endswith(".lock"):
        return "it ends in '.lock'"
    if not all(_SEGMENT.match(segment) for segment in name.split("/")):
        return "a segment is empty or has other characters"
    return None


def resolve(store: GraphStore, text: str) -> Moment:
    """The moment a text names, looked up in the newest state of the graph.

    A plain name is a branch, else a tag, else a commit id.
    """
    name, at, when = text.strip().partition("@")
    view = store.publisher.refresh()
    if head_id(name) not in view.named:
        tagged = view.row(tag_id(name))
        if tagged is not None and at:
            raise NotFound(
                f"{name!r} is a tag, not a branch",
                hint=f"A tag is one moment: write {name} without '@{when}'.",
            )
        if tagged is not None:
            return _tagged(store, view, parse_tag(tagged))
        if not at and COMMIT_ID.match(name):
            return _at_commit(store, name)
    head = store.head(branch_name(name or MAIN), fresh=False)
    if not at or when == head.commit:
        return present(head)
    if COMMIT_ID.match(when):
        _known(store, when)
        return _on_chain(store, head, when, lambda c: c.id == when)
    version = _VERSION.match(when)
    if version:
        return _on_chain(store, head, when, lambda c: c.version == int(version[1]))
    reached = version_at(head.commit, store.all_commits(), _parse_time(when))
    return _on_chain(store, head, when, lambda c: c.version == reached)


def commit_token(text: str) -> str:
    """A checked commit id that a caller expects at the head of a branch."""
    if not isinstance(text, str) or not COMMIT_ID.match(text):
        raise InvalidInput(
            f"{text!r} is not a commit id",
            hint="Give if_commit the graph_commit_id of a read, without quotes or wildcards.",
        )
    return text


def chain(store: GraphStore, head: Head) -> Iterator[Commit]:
    """The commits of a branch, newest first: its own, then those it inherited at its fork."""
    return first_parents(head.commit, store.all_commits())


def first_parents(tip: str | None, commits: Mapping[str, Commit]) -> Iterator[Commit]:
    """A commit and those before it, by their first parents."""
    while tip is not None and tip in commits:
        yield commits[tip]
        tip = commits[tip].parent


def version_at(tip: str | None, commits: Mapping[str, Commit], instant: datetime) -> int:
    """The version that a branch was at; 0 when it is younger.

    Time never runs backwards along a branch: a commit by a writer whose clock is slow counts as
    made when the one before it was, so that it does not make everything before it old.
    """
    found = 0
    for commit in reversed([*first_parents(tip, commits)]):
        if commit.time > instant:
            break
        found = commit.version
    return found


def _known(store: GraphStore, commit_id: str) -> Commit:
    commit = store.commit(commit_id)
    if commit is None:
        raise NotFound(
            f"there is no commit {commit_id}", hint="List commits with `omnigraph commit list`."
        )
    return commit


def _at_commit(store: GraphStore, commit_id: str) -> Moment:
    """A commit on the branch it was made on, else on one that has it, else as a tag retains it."""
    commit = _known(store, commit_id)
    holders = _holders(store, commit)
    for head in _retaining(holders, commit):
        return past(head, commit)
    view = store.publisher.view
    for tag in read_tags(view):
        if tag.commit == commit_id:
            return _tagged(store, view, tag)
    if holders:
        raise reclaimed(commit_id)
    raise Reclaimed(
        f"commit {commit_id} is on no branch any more",
        hint="The branch it was made on was deleted.",
    )


def retaining_branch(store: GraphStore, commit: Commit) -> Head | None:
    """A branch on which a commit can be read, if there is one: the one it was made on first."""
    return next(_retaining(_holders(store, commit), commit), None)


def _retaining(holders: Iterable[Head], commit: Commit) -> Iterator[Head]:
    return (h for h in holders if commit.version >= h.properties.get(KEPT_FROM, 0))


def _holders(store: GraphStore, commit: Commit) -> list[Head]:
    """Branches that have a commit in their history, the one it was made on first."""
    return [
        head
        for head in sorted(store.heads(), key=lambda head: head.branch != commit.branch)
        if commit.version <= head.version and any(c.id == commit.id for c in chain(store, head))
    ]


def _tagged(store: GraphStore, view: ManifestView, tag: Tag) -> Moment:
    """What a tag names, under the names it had then: nothing that comes later changes it."""
    commit = store.commit(tag.commit)
    if commit is None:
        raise Corruption(
            f"the commit {tag.commit} of tag {tag.name!r} is missing",
            hint="Run `omnigraph verify` to see what else is affected.",
        )
    epoch = existing_head(view, MAIN).epoch  # all branches have the same
    moment = _moment(commit, tag.branch, commit.id, commit.schema, epoch)
    return replace(moment, tag=tag.name)


def present(head: Head) -> Moment:
    """The moment of a head."""
    moment = _moment(head, head.branch, head.commit, head.schema, head.epoch)
    return replace(moment, incarnation=head.incarnation)


def past(head: Head, commit: Commit) -> Moment:
    """A commit as its branch can still read it."""
    if commit.version < head.properties.get(KEPT_FROM, 0):
        raise reclaimed(commit.id)
    purged = head.properties.get(PURGED, {})
    moment = _moment(commit, head.branch, commit.id, head.schema, head.epoch)
    return replace(moment, purged=purged, incarnation=head.incarnation)


def _moment(
    state: Head | Commit, branch: str, commit: str, reading_schema: str, epoch: int
) -> Moment:
    return Moment(
        branch,
        commit,
        state.version,
        state.schema,
        reading_schema,
        state.tables,
        state.definitions,
        time=state.time,
        epoch=epoch,
    )


def reclaimed(commit: str) -> Reclaimed:
    """The error of a moment that a collection reclaimed."""
    return Reclaimed(
        f"the data of commit {commit} was reclaimed",
        hint="Collect with a longer retention to keep more of the past.",
    )


def reclaimed_since(store: GraphStore, moment: Moment) -> bool:
    """Whether a collection has reclaimed a moment that was there when it was looked up."""
    view = store.publisher.refresh()
    if moment.tag is not None:
        row = view.row(tag_id(moment.tag))
        return row is None or parse_tag(row).commit != moment.commit
    head = read_head(view, moment.branch)
    if head is None or moment.version < head.properties.get(KEPT_FROM, 0):
        return True
    purged = head.properties.get(PURGED, {})
    return any(moment.version < purged.get(str(p.identity), 0) for p in moment.tables.values())


def _on_chain(
    store: GraphStore, head: Head, text: str, is_meant: Callable[[Commit], bool]
) -> Moment:
    for commit in chain(store, head):
        if is_meant(commit):
            return past(head, commit)
    raise NotFound(
        f"{head.branch} has no moment {text!r}",
        hint=f"List its commits with `omnigraph commit list --branch {head.branch}`.",
    )


def _parse_time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{text!r} is not a commit id, version (v42) or ISO 8601 time",
            hint="Write main@<commit>, main@v42 or main@2026-11-01T00:00:00Z.",
        ) from error
