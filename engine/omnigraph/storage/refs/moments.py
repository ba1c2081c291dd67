"""Names of moments: `main`, `main@<commit>`, `main@v42`, `main@<ISO time>`, a tag, a commit id."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from omnigraph.errors import Corruption, InvalidInput, NotFound, Reclaimed
from omnigraph.storage.commit.publish_plan import read_head
from omnigraph.storage.core.model import MAIN, Commit, DefinitionHashes, Head, Pointers
from omnigraph.storage.graph_store import GraphStore
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

CommitTest = Callable[[Commit], bool]


@dataclass(frozen=True, slots=True)
class Moment:
    """A fixed state of the whole graph, and the branch it was asked for on."""

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
    """The tag it was asked for by, which keeps it whatever its branch gives up."""


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
            return _tagged(store, parse_tag(tagged))
        if not at and COMMIT_ID.match(name):
            return _at_commit(store, name)
    head = store.head(branch_name(name or MAIN), fresh=False)
    if not at:
        return present(head)
    if when == head.commit:
        return present(head)
    if COMMIT_ID.match(when):
        _known(store, when)
        return _on_chain(store, head, when, lambda c: c.id == when)
    version = _VERSION.match(when)
    if version:
        return _on_chain(store, head, when, lambda c: c.version == int(version[1]))
    instant = _parse_time(when)
    return _on_chain(store, head, when, lambda c: c.time <= instant)


def commit_token(text: str) -> str:
    """A checked commit id that a caller expects at the head of a branch."""
    if not isinstance(text, str) or not COMMIT_ID.match(text):
        raise InvalidInput(
            f"{text!r} is not a commit id",
            hint="Give if_commit the graph_commit_id of a read, without quotes or wildcards.",
        )
    return text


def chain(store: GraphStore, head: Head) -> list[Commit]:
    """The commits of a branch, newest first: its own, then those it inherited at its fork."""
    commits = store.all_commits()
    found = []
    current: str | None = head.commit
    while current is not None and current in commits:
        found.append(commits[current])
        current = commits[current].parent
    return found


def _known(store: GraphStore, commit_id: str) -> Commit:
    commit = store.commit(commit_id)
    if commit is None:
        raise NotFound(
            f"there is no commit {commit_id}", hint="List commits with `omnigraph commit list`."
        )
    return commit


def _at_commit(store: GraphStore, commit_id: str) -> Moment:
    """A commit on the branch it was made on, else on one that has it, else as a tag keeps it."""
    commit = _known(store, commit_id)
    holders = _holders(store, commit)
    kept_on = _keeper(holders, commit)
    if kept_on is not None:
        return past(kept_on, commit)
    for tag in read_tags(store.publisher.view):
        if tag.commit == commit_id:
            return _tagged(store, tag)
    if holders:
        raise reclaimed(commit_id)
    raise Reclaimed(
        f"commit {commit_id} is on no branch any more",
        hint="The branch it was made on was deleted.",
    )


def retaining_branch(store: GraphStore, commit: Commit) -> Head | None:
    """A branch on which a commit can be read, if there is one: the one it was made on first."""
    return _keeper(_holders(store, commit), commit)


def _keeper(holders: Sequence[Head], commit: Commit) -> Head | None:
    kept = (h for h in holders if commit.version >= h.properties.get(KEPT_FROM, 0))
    return next(kept, None)


def _holders(store: GraphStore, commit: Commit) -> list[Head]:
    """Branches that have a commit in their history, the one it was made on first."""
    return [
        head
        for head in sorted(store.heads(), key=lambda head: head.branch != commit.branch)
        if commit.version <= head.version and any(c.id == commit.id for c in chain(store, head))
    ]


def _tagged(store: GraphStore, tag: Tag) -> Moment:
    """What a tag names, under the names it had then: nothing that comes later changes it."""
    commit = store.commit(tag.commit)
    if commit is None:
        raise Corruption(
            f"the commit {tag.commit} of tag {tag.name!r} is missing",
            hint="Run `omnigraph verify` to see what else is affected.",
        )
    return Moment(
        branch=tag.branch,
        commit=commit.id,
        version=commit.version,
        schema=commit.schema,
        reading_schema=commit.schema,
        tables=commit.tables,
        definitions=commit.definitions,
        tag=tag.name,
    )


def present(head: Head) -> Moment:
    """The moment of a head."""
    return Moment(
        branch=head.branch,
        commit=head.commit,
        version=head.version,
        schema=head.schema,
        reading_schema=head.schema,
        tables=head.tables,
        definitions=head.definitions,
    )


def past(head: Head, commit: Commit) -> Moment:
    """A commit as its branch can still read it."""
    if commit.version < head.properties.get(KEPT_FROM, 0):
        raise reclaimed(commit.id)
    return Moment(
        branch=head.branch,
        commit=commit.id,
        version=commit.version,
        schema=commit.schema,
        reading_schema=head.schema,
        tables=commit.tables,
        definitions=commit.definitions,
        purged=head.properties.get(PURGED, {}),
    )


def reclaimed(commit: str) -> Reclaimed:
    """The error of a moment that a collection gave up."""
    return Reclaimed(
        f"the data of commit {commit} was reclaimed",
        hint="Collect with a longer retention to keep more of the past.",
    )


def given_up_since(store: GraphStore, moment: Moment) -> bool:
    """Whether a collection has given up a moment that was there when it was looked up."""
    view = store.publisher.refresh()
    if moment.tag is not None:
        row = view.row(tag_id(moment.tag))
        return row is None or parse_tag(row).commit != moment.commit
    head = read_head(view, moment.branch)
    if head is None or moment.version < head.properties.get(KEPT_FROM, 0):
        return True
    purged = head.properties.get(PURGED, {})
    return any(moment.version < purged.get(str(p.identity), 0) for p in moment.tables.values())


def _on_chain(store: GraphStore, head: Head, text: str, wanted: CommitTest) -> Moment:
    for commit in chain(store, head):
        if wanted(commit):
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
            f"{text!r} is no commit id, version (v42) or ISO 8601 time",
            hint="Write main@<commit>, main@v42 or main@2026-11-01T00:00:00Z.",
        ) from error
