"""Every error OmniGraph raises, grouped by what the caller should do about it.

* `InvalidInput`: fix the input and call again.
* `NotFound`: the name does not exist; look at what does.
* `Conflict`: the world moved or a precondition failed; re-read and decide.
* `StorageError`: the store failed, is unsafe, or holds something we cannot trust.

Each class has a stable `code`; each error carries `details` (facts for machines) and a `hint`
(the next step for people). Surfaces map the families to exit codes or status codes in one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class OmniGraphError(Exception):
    """Base of every error that OmniGraph raises on purpose."""

    code: ClassVar[str] = "error"

    def __init__(
        self, message: str, *, hint: str | None = None, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: dict[str, Any] = dict(details or {})

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message

    def to_json(self) -> dict[str, Any]:
        """The error as surfaces send it: `{"error", "code", "hint"?, <detail>?}`."""
        body: dict[str, Any] = {"error": self.message, "code": self.code}
        if self.hint:
            body["hint"] = self.hint
        return body | self.details


# --------------------------------------------------------------------------- fix the input


class InvalidInput(OmniGraphError, ValueError):
    """The input is wrong; nothing was changed."""

    code = "bad_request"


# How much of a long line an error shows, and how much of that before the place it points at.
_SHOWN, _SHOWN_BEFORE = 200, 80


def _excerpt(line: str, position: int) -> tuple[str, int]:
    """The line, cut to a readable length around a position, and the position in the excerpt."""
    if len(line) <= _SHOWN:
        return line, position
    start = max(0, position - _SHOWN_BEFORE)
    before, after = "…" if start else "", "…" if start + _SHOWN < len(line) else ""
    return before + line[start : start + _SHOWN] + after, position - start + len(before)


class PointingError(InvalidInput):
    """A text is wrong at one place; the message shows its line and underlines the place."""

    def __init__(
        self,
        problem: str,
        *,
        source: str,
        span: tuple[int, int],
        file: str | None = None,
        prefix: str = "",
    ) -> None:
        data = source.encode()
        start = min(max(span[0], 0), len(data))
        end = max(span[1], start + 1)
        before = data[:start].decode(errors="ignore")
        self.problem = problem
        self.span = (start, end)
        self.line = before.count("\n") + 1
        self.column = len(before) - (before.rfind("\n") + 1) + 1
        text = source.split("\n")[self.line - 1].rstrip("\r")
        width = len(data[start:end].decode(errors="ignore").split("\n")[0].rstrip("\r"))
        shown, position = _excerpt(text, self.column - 1)
        caret = "^" * max(1, min(width, len(shown) - position))
        pad = "".join("\t" if c == "\t" else " " for c in shown[:position])
        where = f"{file or '<text>'}:{self.line}:{self.column}"
        facts = {"line": self.line, "column": self.column, "problem": problem}
        super().__init__(
            f"{prefix}{where} {problem}\n  {shown}\n  {pad}{caret}",
            details={"span": [start, end], **facts},
        )


class ParseError(PointingError):
    """A text does not follow its grammar or its static rules; points at the offending bytes."""

    code = "parse_error"


class QueryTypeError(PointingError):
    """A query does not fit the schema; points at the offending bytes.

    `type_code` is `T1` to `T24` of the language reference, and begins the message; a few errors
    have none.
    """

    code = "type_error"

    def __init__(
        self,
        problem: str,
        *,
        type_code: str | None,
        source: str,
        span: tuple[int, int],
        file: str | None = None,
    ) -> None:
        prefix = f"{type_code}: " if type_code else ""
        super().__init__(problem, source=source, span=span, file=file, prefix=prefix)
        self.type_code = type_code
        if type_code:
            self.details["type_code"] = type_code


class CatalogError(InvalidInput):
    """Declarations of a schema contradict each other."""

    code = "catalog_error"


class SchemaIdentityError(InvalidInput):
    """A rename hint cannot be matched to what the graph holds."""

    code = "schema_identity_error"


class UnsupportedSchemaChange(InvalidInput):
    """The evolution planner refuses a change; `details["schema_change"]` says which and why."""

    code = "unsupported_schema_change"


class LoadError(InvalidInput):
    """One input record is wrong; `details["load_error"]` says which and why.

    `line` counts lines, or what `unit` names, from 1.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        line: int | None = None,
        type_name: str | None = None,
        field: str | None = None,
        unit: str = "line",
    ) -> None:
        self.reason = reason
        self.line = line
        self.type_name = type_name
        self.field = field
        facts = {"code": reason, "line": line, "type_name": type_name, "field": field}
        where = f"{unit} {line}: " if line is not None else ""
        super().__init__(
            where + message,
            details={"load_error": {k: v for k, v in facts.items() if v is not None}},
        )


class ConstraintViolation(InvalidInput):
    """The graph after a write would break a constraint of the schema.

    `notation` is the compact form used by the language reference, `unique(T.p = v; a, b)`;
    `details["violation"]` has the same facts as fields.
    """

    def __init__(self, kind: str, notation: str, message: str, facts: Mapping[str, Any]) -> None:
        self.kind = kind
        self.notation = notation
        self.facts = dict(facts)
        super().__init__(
            f"{message} [{notation}]", details={"violation": {"kind": kind, **self.facts}}
        )


class ResourceLimit(InvalidInput):
    """A configured ceiling was exceeded before anything was written."""

    code = "resource_limit"

    def __init__(self, resource: str, limit: int, actual: int) -> None:
        super().__init__(
            f"{resource} is {actual}, above the configured limit of {limit}",
            hint="Split the input or raise the limit.",
            details={"resource_limit": {"resource": resource, "limit": limit, "actual": actual}},
        )


class CursorRejected(InvalidInput):
    """A cursor or page token of the change feed is damaged, or meant for another feed."""

    code = "cursor_rejected"


# --------------------------------------------------------------------------- not found


class NotFound(OmniGraphError, LookupError):
    """A graph, branch, commit, type or file does not exist."""

    code = "not_found"


class NoSuchTag(NotFound, KeyError):
    """There is no tag of that name."""


class Reclaimed(NotFound):
    """The moment existed, but a collection has removed its data."""

    code = "reclaimed"


class ChangeFeedGap(Reclaimed):
    """A collection has removed changes that a consumer of the feed has not read yet."""

    code = "change_feed_gap"

    def __init__(self, cursor: str | None, first_unreadable: str) -> None:
        facts = {"cursor": cursor, "first_unreadable_commit_id": first_unreadable}
        super().__init__(
            f"the changes of commit {first_unreadable} were removed by a collection before this "
            "consumer read them",
            hint="Take a new baseline and continue from its cursor.",
            details={"change_feed_gap": facts},
        )


# --------------------------------------------------------------------------- re-read and decide


class Conflict(OmniGraphError):
    """A precondition of the caller does not hold (any more); nothing was changed."""

    code = "conflict"


class AlreadyExists(Conflict):
    """A graph, branch or tag of that name is already there."""

    code = "already_exists"


class BranchProtected(Conflict):
    """The branch takes merges only: no direct writes, and it is not deleted."""

    code = "branch_protected"

    def __init__(self, branch: str, refused: str = "takes no direct writes") -> None:
        super().__init__(
            f"branch {branch!r} is protected: it {refused}",
            hint="Write to another branch and merge it, or remove the protection with "
            f"`omnigraph branch unprotect {branch}`.",
            details={"branch": branch},
        )


class ParentlessCommit(Conflict):
    """The first commit of a graph has nothing to be compared with."""

    code = "parentless_commit"

    def __init__(self, commit_id: str) -> None:
        super().__init__(
            f"commit {commit_id} created the graph, so it has no parent to compare with",
            hint="Choose a later commit.",
            details={"parentless_commit": {"graph_commit_id": commit_id}},
        )


class SchemaBoundary(Conflict):
    """A commit changed the schema of types with data, so row states before and after differ."""

    code = "schema_boundary"

    def __init__(self, commit_id: str, parent_id: str, types: Sequence[str]) -> None:
        facts = {
            "graph_commit_id": commit_id,
            "parent_commit_id": parent_id,
            "types": list(types),
        }
        super().__init__(
            f"commit {commit_id} changed the schema of {', '.join(types)}, which has data: its "
            "changes cannot be listed row by row",
            hint="Compare the commit and its parent with a diff; a feed continues behind it with "
            f"start='after:{commit_id}'.",
            details={"schema_boundary": facts},
        )


class KeyConflict(Conflict):
    """A strict insert met an id that is stored already, or twice in its own input."""

    code = "key_conflict"

    def __init__(self, entity_kind: str, type_name: str, entity_id: str) -> None:
        facts = {"entity_kind": entity_kind, "type_name": type_name, "entity_id": entity_id}
        super().__init__(
            f"{entity_kind} {type_name} {entity_id!r} already exists or is given twice",
            hint='Use mode="merge" to replace entities that exist.',
            details={"key_conflict": facts},
        )


class ReadSetConflict(Conflict):
    """The branch moved under a write that is not prepared again automatically."""

    code = "read_set_conflict"

    def __init__(self, member: str, expected: object, actual: object, message: str = "") -> None:
        self.member = member
        self.expected = expected
        self.actual = actual
        super().__init__(
            message or f"{member} is at {actual}, this write was prepared on {expected}",
            hint="Read again and retry the write.",
            details={
                "read_set_conflict": {"member": member, "expected": expected, "actual": actual}
            },
        )


class ExpectedVersionMismatch(ReadSetConflict):
    """A table is not at the version the write was prepared on."""

    def __init__(self, table_key: str, expected: int | None, actual: int | None) -> None:
        self.table_key = table_key
        super().__init__(
            table_key,
            expected,
            actual,
            f"{table_key} is at version {actual}, this write was prepared on {expected}",
        )
        self.hint = 'Reload and try again, or use mode="merge".'


class PreconditionFailed(Conflict):
    """`if_commit` named a commit that is not the head of the branch."""

    code = "precondition_failed"

    def __init__(self, branch: str, expected: str, actual: str) -> None:
        super().__init__(
            f"the head of {branch} is {actual}, not {expected}",
            hint="Read the branch again and repeat the write with the new head.",
            details={"precondition_failed": {"expected": expected, "actual": actual}},
        )


class PublishContention(Conflict):
    """Other writers won every attempt of the retry budget; nothing was changed."""

    code = "contention"


class AlreadyApplied(Conflict):
    """The batch of a stream is on the branch already; there is nothing left to do."""

    code = "already_applied"

    def __init__(self, branch: str, stream: str, batch: int) -> None:
        super().__init__(
            f"batch {batch} of stream {stream!r} is on {branch} already",
            hint="Continue with the next batch.",
            details={"stream": stream, "batch": batch},
        )


class MergeConflict(Conflict):
    """Two branches made changes that contradict each other; nothing was merged.

    `details["merge_conflicts"]` lists the first conflicts as
    `{entity_kind, type_name, entity_id, kind, message}`; `conflict_counts` has all, by kind.
    """

    code = "merge_conflicts"
    refused: ClassVar[str] = "cannot be merged into"

    def __init__(
        self,
        source: str,
        target: str,
        conflicts: Sequence[Mapping[str, Any]],
        counts: Mapping[str, int],
        hint: str,
    ) -> None:
        self.conflicts = [dict(conflict) for conflict in conflicts]
        self.counts = dict(counts)
        total = sum(counts.values())
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
        first = "; ".join(str(conflict["message"]) for conflict in self.conflicts[:3])
        super().__init__(
            f"{source} {self.refused} {target}: "
            f"{total} conflict{'' if total == 1 else 's'} ({kinds}): {first}",
            hint=hint,
            details={"merge_conflicts": self.conflicts, "conflict_counts": self.counts},
        )


class TransactionExpired(Conflict):
    """A collection ran since the transaction began; its staged files may be deleted."""

    code = "transaction_expired"


class Cancelled(Conflict):
    """The caller stopped a running statement; nothing was changed."""

    code = "cancelled"


# --------------------------------------------------------------------------- the store


class StorageError(OmniGraphError):
    """The object store or disk failed; `details` has its own words."""

    code = "storage"


class CommitUnknown(StorageError):
    """The store did not confirm the commit; look for its id before trying again."""

    code = "commit_unknown"

    def __init__(self, commit_id: str, cause: str) -> None:
        self.commit_id = commit_id
        super().__init__(
            f"unknown outcome: commit {commit_id} may or may not have been published: {cause}",
            hint=f"Run `omnigraph commit show {commit_id}`, and repeat the write only if there is "
            "no such commit.",
            details={"commit_id": commit_id, "cause": cause},
        )


class SyncFailed(StorageError):
    """The disk did not confirm that it has a file; nothing that needs the file was published."""

    code = "sync_failed"

    def __init__(self, path: str, cause: str) -> None:
        super().__init__(
            f"cannot sync {path} to the disk: {cause}",
            hint="Check the disk and its room, then write again: the files are written anew.",
            details={"path": path, "cause": cause},
        )


class UnsafeStore(StorageError):
    """The store ignores conditional writes, on which every commit rests."""

    code = "unsafe_store"


class FormatTooNew(StorageError):
    """The graph was written by a newer OmniGraph."""

    code = "format_too_new"


class Corruption(StorageError):
    """An object of the store is missing or is not what a commit recorded."""

    code = "corruption"


class ProviderError(StorageError):
    """The embedding provider is unreachable, refuses, or sends an invalid response.

    An external service like the store: try again later, or check its settings.
    """

    code = "provider"


def did_you_mean(name: str, candidates: Sequence[str]) -> str:
    """` (did you mean 'x'?)` when a candidate is close to the name, else nothing."""
    from difflib import get_close_matches

    close = get_close_matches(name, candidates, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
