"""One publish: the only code that moves a branch.

A `PublishPlan` says which pointers a transaction wants to move and what it relied on. The
publisher turns any number of plans that wait at the same time into one change of the manifest
(group commit), each with its own commit and its own outcome. Losing the compare-and-swap changes
nothing; the plan is validated again on the new head, and either still holds, or goes back to its
transaction as `HeadMoved` (docs/design/architecture.md#publish).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace

from omnigraph.common.ulid import new_ulid
from omnigraph.errors import (
    CommitUnknown,
    OmniGraphError,
    PublishContention,
    StorageError,
)
from omnigraph.storage.commit.machine_lock import MachineLock
from omnigraph.storage.commit.publish_plan import HeadMoved, PublishPlan, read_allocator, read_head
from omnigraph.storage.commit.retry import contention, pause
from omnigraph.storage.commit.validate_plan import ValidatedPlan, validate_plan
from omnigraph.storage.core.failpoints import AFTER_PUBLISH, BEFORE_PUBLISH, failpoint
from omnigraph.storage.core.model import Commit, Head
from omnigraph.storage.manifest.commit_outcome import (
    ManifestConflict,
    ManifestNotDurable,
    ManifestOutcomeUnknown,
)
from omnigraph.storage.manifest.manifest import Manifest, ManifestChange, ManifestView
from omnigraph.storage.manifest.row_codec import (
    allocator_row,
    commit_id,
    head_id,
    head_row,
    parse_commit,
)

PUBLISHER_RETRY_BUDGET = 5
"""Publishes that one transaction may lose to writers of the same branch before it gives up."""
FOREIGN_CONFLICTS = 50
"""Compare-and-swaps that a batch may lose to writers of other branches."""


NameChange = Callable[[ManifestView], ManifestChange | None]
"""Builds a change on the newest view; none when the manifest is as it should be already."""


@dataclass(frozen=True, eq=False)
class _Ticket:
    """A plan in the queue and, later, what became of it."""

    plan: PublishPlan
    outcome: Future[Commit] = field(default_factory=Future)


class Publisher:
    """Moves branches of one graph, from this process.

    `_lead` is held by the thread that publishes; `_state` protects `_view` and `_queue`.
    """

    def __init__(
        self,
        root: str,
        manifest: Manifest,
        view: ManifestView,
        retry_budget: int = PUBLISHER_RETRY_BUDGET,
    ) -> None:
        self.retry_budget = retry_budget
        self._manifest = manifest
        self._view = view
        self._lead = threading.RLock()
        self._state = threading.Lock()
        self._queue: list[_Ticket] = []
        self._in_doubt: set[str] = set()
        """Commits the store gave no answer about, while somebody may publish them again."""
        self._machine = MachineLock(root)
        self.retries = 0
        """How often a publish lost to another writer; changed by whoever is `exclusive`."""

    # ------------------------------------------------------------------ reading

    @property
    def view(self) -> ManifestView:
        """The newest view this process has seen."""
        return self._view

    def refresh(self) -> ManifestView:
        """Look at the store; one listing when nothing moved."""
        return self._advance(self._manifest.refresh(self._view))

    def _advance(self, view: ManifestView) -> ManifestView:
        with self._state:
            if view.version > self._view.version:
                self._view = view
            return self._view

    # ------------------------------------------------------------------ writing

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Queue up with the other writers of this machine; for fairness, never for correctness."""
        with self._lead, self._machine:
            yield

    @contextmanager
    def exclusive_staging(self) -> Iterator[None]:
        """The same for work that takes longer than a publish: others wait while it goes on."""
        with self._lead, self._machine.pulsing():
            yield

    def publish(self, plan: PublishPlan, *, first: bool = False) -> Commit:
        """Publish one plan, together with whatever else is waiting.

        Raises `HeadMoved` when the plan must be prepared again. A plan that was, goes first: it is
        built on the newest head, and would lose once more to plans that are not.
        """
        ticket = _Ticket(plan)
        with self._state:
            self._queue.insert(0 if first else len(self._queue), ticket)
        with self.exclusive():
            if not ticket.outcome.done():
                with self._state:
                    batch, self._queue = self._queue, []
                self._run(batch)
                lost = (isinstance(each.outcome.exception(), HeadMoved) for each in batch)
                self.retries += sum(lost)
        if not isinstance(ticket.outcome.exception(), HeadMoved):
            self.forget(plan.commit)
        return ticket.outcome.result()

    @contextmanager
    def one_commit(self, commit: str | None = None) -> Iterator[str]:
        """The id, new unless given, of a commit made at most once, however often it is tried."""
        commit = commit or new_ulid()
        try:
            yield commit
        finally:
            self.forget(commit)

    def forget(self, commit: str) -> None:
        """Nobody will publish this commit again: whether it is in doubt no longer matters."""
        self._in_doubt.discard(commit)

    def _run(self, batch: Sequence[_Ticket]) -> None:
        """Settle every ticket of a batch."""
        failure: Exception | None = None
        try:
            self._attempt_all(batch)
        except OmniGraphError as error:
            failure = error
        finally:
            # Nobody else will look at these tickets: also an interrupt must leave an answer.
            for ticket in _pending(batch):
                if failure is None or ticket.plan.commit in self._in_doubt:
                    cause = str(failure) if failure else "its publisher was interrupted"
                    ticket.outcome.set_exception(CommitUnknown(ticket.plan.commit, cause))
                else:
                    ticket.outcome.set_exception(failure)

    def _attempt_all(self, batch: Sequence[_Ticket]) -> None:
        lost_here = failures = 0
        unknown: str | None = None
        for attempt in range(FOREIGN_CONFLICTS):
            view = self._view
            accepted, refused = self._validate_all(_pending(batch), view)
            if not accepted:
                return
            failpoint(BEFORE_PUBLISH)
            heads = self._heads_of(accepted)
            try:
                self._advance(self._manifest.compare_and_swap(view, self._change(view, accepted)))
            except ManifestNotDurable as error:
                # It can be seen, and that is no answer: a power cut may take it back.
                self._in_doubt |= {ticket.plan.commit for ticket, _ in accepted}
                raise StorageError(str(error)) from error
            except (ManifestConflict, ManifestOutcomeUnknown) as error:
                commits = {ticket.plan.commit for ticket, _ in accepted}
                newest, landed = self._look_again(accepted)
                if newest is None:
                    unknown = str(error)
                    self._in_doubt |= commits
                    break
                if not landed:
                    if newest.version > view.version:
                        # Somebody else has the version that it could have become: it was a
                        # conflict, whatever the store said, and it cannot land late.
                        unknown = None
                        self._in_doubt -= commits
                    elif isinstance(error, ManifestOutcomeUnknown):
                        unknown = str(error)
                        self._in_doubt |= commits
                        failures += 1
                    lost_here += self._heads_of(accepted) != heads
                    if max(lost_here, failures) >= self.retry_budget:
                        break
                    self.retries += 1
                    pause(min(2**attempt, 32))
                    continue
            failpoint(AFTER_PUBLISH)
            for ticket, validated in accepted:
                ticket.outcome.set_result(validated.commit)
            for ticket, reason in refused:
                ticket.outcome.set_exception(reason)
            return
        for ticket in _pending(batch):
            ticket.outcome.set_exception(
                CommitUnknown(ticket.plan.commit, unknown)
                if unknown and ticket.plan.commit in self._in_doubt
                else contention(ticket.plan.base.branch, lost_here)
            )

    def _validate_all(
        self, tickets: Sequence[_Ticket], view: ManifestView
    ) -> tuple[list[tuple[_Ticket, ValidatedPlan]], list[tuple[_Ticket, Exception]]]:
        """Validate plans one after the other, each on the head that the ones before leave.

        Returns the accepted, and those that are refused because of an accepted one: a refusal
        that holds only once that one has landed.
        """
        heads: dict[str, Head | None] = {}
        next_identity = read_allocator(view)
        moving: set[str] = set()
        accepted: list[tuple[_Ticket, ValidatedPlan]] = []
        refused: list[tuple[_Ticket, Exception]] = []
        for ticket in tickets:
            landed = self._landed_late(ticket.plan.commit, view)
            if landed is not None:
                ticket.outcome.set_result(landed)
                continue
            branch, named = ticket.plan.base.branch, ticket.plan.branches
            for name in named - heads.keys():
                heads[name] = self._dated(read_head(view, name), view)
            try:
                validated = validate_plan(ticket.plan, heads[branch], view, next_identity, heads)
            except (HeadMoved, OmniGraphError) as error:
                given_out = next_identity != read_allocator(view)
                if moving & named or (given_out and ticket.plan.identities):
                    refused.append((ticket, error))
                else:
                    ticket.outcome.set_exception(error)
                continue
            heads[branch] = validated.head
            moving.add(branch)
            if ticket.plan.deletes:
                heads[ticket.plan.deletes.branch] = None
                moving.add(ticket.plan.deletes.branch)
            if ticket.plan.identities:
                next_identity = ticket.plan.identities.stop
            accepted.append((ticket, validated))
        return accepted, refused

    def _dated(self, head: Head | None, view: ManifestView) -> Head | None:
        """A head with the time of its commit, which is looked up where its row has none."""
        if head is None or head.time is not None:
            return head
        row = self._manifest.find(view, commit_id(head.commit))
        return replace(head, time=parse_commit(row).time) if row else head

    def _landed_late(self, commit: str, view: ManifestView) -> Commit | None:
        """A commit in doubt that is there after all: what it finds moved was moved by itself."""
        if commit not in self._in_doubt:
            return None
        row = self._manifest.find(view, commit_id(commit))
        return parse_commit(row) if row else None

    def _change(
        self, view: ManifestView, accepted: Sequence[tuple[_Ticket, ValidatedPlan]]
    ) -> ManifestChange:
        heads = {validated.head.branch: validated.head for _, validated in accepted}
        added = {row["object_id"]: row for _, validated in accepted for row in validated.rows}
        replaced = [head_row(head) for head in heads.values()]
        given_out = [t.plan.identities.stop for t, _ in accepted if t.plan.identities]
        if given_out:
            replaced.append(allocator_row(max(given_out)))
        registrations = [t.plan.registration for t, _ in accepted if t.plan.registration]
        deleted = [t.plan.deletes.branch for t, _ in accepted if t.plan.deletes]
        return ManifestChange(
            replace=replaced,
            add=list(added.values()),
            remove=[*registrations, *map(head_id, deleted)],
            remove_addresses=[a for name in deleted for a in self._manifest.own_rows(view, name)],
        )

    def _heads_of(self, accepted: Sequence[tuple[_Ticket, ValidatedPlan]]) -> list[str | None]:
        rows = [self._view.named.get(head_id(t.plan.base.branch)) for t, _ in accepted]
        return [located.row["metadata"] if located else None for located in rows]

    def _look_again(
        self, accepted: Sequence[tuple[_Ticket, ValidatedPlan]]
    ) -> tuple[ManifestView | None, bool]:
        """After a failure: the newest state, none if it is unreadable, and whether it has our
        commits.

        One change carries them all, so that the first stands for the others.
        """
        witness = commit_id(accepted[0][0].plan.commit)
        try:
            newest = self.refresh()
            return newest, self._manifest.find(newest, witness) is not None
        except StorageError:
            return None, False

    def change_names(self, build: NameChange, *, queues: bool = True) -> ManifestView:
        """Create, replace or remove named rows other than by a commit (branches, registrations).

        The change is built again after every lost or unknown attempt, and says itself when it is
        already there. A thread that works for one that is `exclusive` must not queue behind it.
        """
        failures: list[ManifestOutcomeUnknown] = []
        with self.exclusive() if queues else nullcontext():
            for attempt in range(FOREIGN_CONFLICTS):
                view = self._view
                change = build(view)
                if change is None:
                    return view
                try:
                    return self._advance(self._manifest.compare_and_swap(view, change))
                except ManifestConflict:
                    pass  # another round, on a newer view
                except ManifestNotDurable as error:
                    raise StorageError(
                        f"the change may not survive a power cut: {error}",
                        hint="Check the disk and its room, then look whether it is there.",
                    ) from error
                except ManifestOutcomeUnknown as error:
                    # The next round looks at the store: the change is there, or it is tried again.
                    if self.refresh().version == view.version:
                        failures.append(error)
                    if len(failures) >= self.retry_budget:
                        break
                pause(min(2**attempt, 32))
                self.refresh()  # after the pause: what was seen before it is old by now
        if failures:
            raise StorageError(
                f"the store failed while the manifest was written: {failures[-1]}",
                hint="Check that the store is writable and has room, then try again.",
            ) from failures[-1]
        raise PublishContention(
            "other writers changed the manifest first every time; nothing was changed",
            hint="Try again.",
        )


def _pending(batch: Sequence[_Ticket]) -> list[_Ticket]:
    return [ticket for ticket in batch if not ticket.outcome.done()]
