"""A session's transaction: a hidden branch, forked at its first write, merged by its commit.

Every statement commits on the branch, which leaves checks across tables to the merge; the merge is
one publish on the target and deletes the branch. A savepoint is a commit of the branch.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from omnigraph import Commit, Graph, Snapshot
from omnigraph.errors import AlreadyApplied, InvalidInput, MergeConflict, NotFound, OmniGraphError
from omnigraph.schema import new_ulid

PREFIX = "__txn/"
TTL = "24h"
"""After which a collection deletes the branch of a transaction whose session ended without it."""


class CommitConflict(MergeConflict):
    """A transaction conflicts with what was committed since it began; it is rolled back.

    Users did not ask for a merge, so the message does not speak of branches.
    """

    refused = "cannot be committed to"

    def __init__(self, merge: MergeConflict, target: str) -> None:
        super().__init__(
            "the transaction",
            target,
            merge.conflicts,
            merge.counts,
            hint="Begin a new transaction, read the current state, and try again.",
        )


class _State(NamedTuple):
    """The state of a transaction at a savepoint."""

    commit: str | None
    """Of the branch; none before the first write."""
    once: tuple[str, int] | None


class SessionTransaction:
    """The changes of a session between BEGIN and COMMIT or ROLLBACK, on one branch."""

    def __init__(self, graph: Graph, catalog: str, user: str | None) -> None:
        self._graph = graph
        self._user = user
        self._texts: list[str] = []
        self._savepoints: list[tuple[str, _State]] = []
        self.catalog = catalog
        self.base: Snapshot = graph.snapshot(catalog)
        """The branch as it was at BEGIN, which is read until something is written."""
        self.branch: str | None = None
        self.message: str | None = None
        """Of the commit; by default, the statements."""
        self._once: tuple[str, int] | None = None

    def writable(self) -> str:
        """The hidden branch; forked now if this is the first write."""
        if self.branch is None:
            self.branch = self._fork(f"{self.base.branch}@{self.base.commit}")
        return self.branch

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was written, and its commit would leave nothing."""
        return self._once is None and self._is_unchanged()

    def _is_unchanged(self) -> bool:
        """Whether nothing was written; a statement that failed may have left its branch."""
        return self.branch is None or self._graph.snapshot(self.branch).commit == self.base.commit

    def move(self, catalog: str) -> None:
        """Go on with another branch as it is now, if nothing was written yet."""
        if self._once is not None and catalog != self.catalog:
            raise InvalidInput(
                f"the transaction is batch {self._once[1]} of {self._once[0]} on {self.catalog}",
                hint="Choose the branch before SET commit_once.",
            )
        if catalog != self.catalog and self._is_unchanged():
            self.rollback()
            self.base = self._graph.snapshot(catalog)
            self.catalog = catalog

    def note(self, text: str) -> None:
        """Remember a statement for the message of the commit."""
        self._texts.append(text)

    def is_batch(self, stream: str, batch: int) -> None:
        """Let the commit be applied once, as a batch of a stream; refused if it was already.

        Now, not at the end: its rows would be refused as duplicates before.
        """
        if self._graph.last_batch(stream, branch=self.catalog) >= batch:
            raise AlreadyApplied(self.catalog, stream, batch)
        self._once = (stream, batch)

    def _fork(self, moment: str) -> str:
        name = PREFIX + new_ulid()
        self._graph.create_branch(name, moment, deferred_checks=True, hidden=True, ttl=TTL)
        return name

    # ------------------------------------------------------------------ savepoints

    def savepoint(self, name: str) -> None:
        """Remember the state under a name."""
        commit = self._graph.snapshot(self.branch).commit if self.branch else None
        self._savepoints.append((name, _State(commit, self._once)))

    def rollback_to(self, name: str) -> None:
        """Go back to a remembered state, which stays remembered."""
        index = self._find(name)
        del self._savepoints[index + 1 :]
        commit, self._once = self._savepoints[index][1]
        if self.branch is None:
            return
        if commit is None:
            self.rollback()
        elif self._graph.snapshot(self.branch).commit != commit:
            old = self.branch
            self.branch = self._fork(f"{old}@{commit}")
            self._graph.delete_branch(old)

    def release(self, name: str) -> None:
        """Forget a remembered state and those after it; what was done stays."""
        del self._savepoints[self._find(name) :]

    def _find(self, name: str) -> int:
        for index in reversed(range(len(self._savepoints))):
            if self._savepoints[index][0].casefold() == name.casefold():
                return index
        known = ", ".join(known for known, _ in self._savepoints)
        raise NotFound(
            f"there is no savepoint {name!r}", hint=f"There are {known}." if known else None
        )

    # ------------------------------------------------------------------ ending

    def commit(self) -> Commit | None:
        """Merge the branch into its target, in one publish; none when nothing was written.

        A batch of a stream is recorded on the target in any case.
        """
        if self.is_untouched:
            self.rollback()
            return None
        try:
            merged = self._graph.merge(
                self.writable(),
                self.catalog,
                delete_source=True,
                actor=self._user,
                message=self._commit_message(),
                once=self._once,
                target_incarnation=self.base.moment.incarnation,
            )
        except BaseException as error:
            with suppress(OmniGraphError):  # what matters is how the commit ended
                self.rollback()
            if isinstance(error, MergeConflict):
                raise CommitConflict(error, self.catalog) from error
            raise
        self.branch = None
        return merged.commit

    def _commit_message(self) -> str:
        if self.message is not None:
            return self.message
        batch = [f"batch {self._once[1]} of {self._once[0]}"] if self._once is not None else []
        return "; ".join(self._texts or batch)

    def rollback(self) -> None:
        """Discard everything."""
        branch, self.branch = self.branch, None
        if branch is not None:
            self._graph.delete_branch(branch)


def require_transaction(transaction: SessionTransaction | None) -> SessionTransaction:
    """The open transaction of a session."""
    if transaction is None:
        raise InvalidInput("no transaction is open", hint="Begin one with BEGIN.")
    return transaction
