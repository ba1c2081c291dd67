"""Names of moments: `main`, `main@<commit>`, `main@v42`, `main@<ISO time>`, a commit id."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from omnigraph.errors import InvalidInput, NotFound, Reclaimed
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.plan import read_head
from omnigraph.storage.values import MAIN, Commit, DefinitionHashes, Head, Pointers

_SEGMENT = re.compile(r"[A-Za-z0-9._-]+\Z")
_ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}\Z")
_VERSION = re.compile(r"v([0-9]{1,18})\Z")
MAX_BRANCH_NAME = 255

KEPT_FROM = "kept_from"
PURGED = "purged"
DEFERRED_CHECKS = "deferred_checks"
"""Names of head properties."""

Predicate = Callable[[Commit], bool]


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


def branch_name(text: str) -> str:
    """A checked branch name; surrounding blanks are dropped."""
    name = text.strip() if isinstance(text, str) else ""
    problem = _name_problem(name)
    if problem:
        raise InvalidInput(
            f"{text!r} is not a branch name: {problem}",
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
    """The moment a text names, looked up in the newest state of the graph."""
    name, at, when = text.strip().partition("@")
    if not at and _ULID.match(name) and not _is_branch(store, name):
        return _at_commit(store, None, name)
    branch = branch_name(name or MAIN)
    head = store.head(branch)
    if not at:
        return present(head)
    if when == head.commit:
        return present(head)
    if _ULID.match(when):
        return _at_commit(store, head, when)
    version = _VERSION.match(when)
    if version:
        return _on_chain(store, head, when, lambda c: c.version == int(version[1]))
    instant = _parse_time(when)
    return _on_chain(store, head, when, lambda c: c.time <= instant)


def chain(store: GraphStore, head: Head) -> list[Commit]:
    """The commits of a branch, newest first: its own, then those it inherited at its fork."""
    commits = store.all_commits()
    found = []
    current: str | None = head.commit
    while current is not None and current in commits:
        found.append(commits[current])
        current = commits[current].parent
    return found


def _is_branch(store: GraphStore, name: str) -> bool:
    return f"head:{name}" in store.publisher.refresh().named


def _at_commit(store: GraphStore, head: Head | None, commit_id: str) -> Moment:
    commit = store.commit(commit_id)
    if commit is None:
        raise NotFound(
            f"there is no commit {commit_id}", hint="List commits with `omnigraph commit list`."
        )
    if head is None:
        return _past(_keeper(store, commit), commit)
    return _on_chain(store, head, commit_id, lambda c: c.id == commit_id)


def _keeper(store: GraphStore, commit: Commit) -> Head:
    """The branch on which a commit is read: the one it was made on, else one that still has it."""
    holders = [
        head
        for head in sorted(store.heads(), key=lambda head: head.branch != commit.branch)
        if commit.version <= head.version and any(c.id == commit.id for c in chain(store, head))
    ]
    if not holders:
        raise Reclaimed(
            f"commit {commit.id} is on no branch any more",
            hint="The branch it was made on was deleted.",
        )
    kept = (h for h in holders if commit.version >= h.properties.get(KEPT_FROM, 0))
    return next(kept, holders[0])


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


def _past(head: Head, commit: Commit) -> Moment:
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
    head = read_head(store.publisher.refresh(), moment.branch)
    if head is None or moment.version < head.properties.get(KEPT_FROM, 0):
        return True
    purged = head.properties.get(PURGED, {})
    return any(moment.version < purged.get(str(p.identity), 0) for p in moment.tables.values())


def _on_chain(store: GraphStore, head: Head, text: str, wanted: Predicate) -> Moment:
    for commit in chain(store, head):
        if wanted(commit):
            return _past(head, commit)
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
