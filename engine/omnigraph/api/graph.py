"""A graph as users have it in their hands: branches, commits, snapshots, transactions, schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO, TypeVar

from omnigraph.api.bulk_jobs import BulkMethods
from omnigraph.api.history import HistoryMethods
from omnigraph.api.queries import QueryMethods
from omnigraph.api.references import Branch, Tags, branch_of
from omnigraph.api.transaction import (
    TRANSACTION_ATTEMPTS,
    RowInput,
    Transaction,
    run_transaction,
)
from omnigraph.branching.merge.conflicts import OnConflict
from omnigraph.branching.merge.merge_branches import MergeRequest, MergeResult, merge, plan_merge
from omnigraph.branching.merge.merge_rows import ConflictPolicy, Granularity
from omnigraph.common.progress import Progress
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.loading.export_snapshot import export_snapshot
from omnigraph.loading.line_framing import Limits
from omnigraph.loading.load import LoadMode, LoadResult, LoadSource, load
from omnigraph.schema import Catalog, SchemaPlan, compile_schema, plan_evolution
from omnigraph.storage.commit.publisher import PUBLISHER_RETRY_BUDGET
from omnigraph.storage.core.io_counts import StoreCounts
from omnigraph.storage.core.model import MAIN, Commit
from omnigraph.storage.core.object_store import StoredFolder
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.maintenance.collect import CollectReport, collect
from omnigraph.storage.maintenance.optimize import OptimizeReport, optimize
from omnigraph.storage.maintenance.verify import VerifyReport, verify
from omnigraph.storage.plain.plain_table import PlainTable
from omnigraph.storage.refs.branches import (
    HIDDEN,
    create_branch,
    delete_branch,
    is_hidden,
    set_protected,
)
from omnigraph.storage.refs.commit_order import newest_first
from omnigraph.storage.refs.moments import branch_name, chain, resolve
from omnigraph.storage.refs.snapshot import Snapshot
from omnigraph.storage.transaction.apply_schema import SchemaApplied, apply_schema
from omnigraph.storage.transaction.write_transaction import WriteTxn

__all__ = ["Branch", "Graph", "RowInput", "Schema", "Transaction", "init", "open", "schema_text"]


T = TypeVar("T")


class Graph(QueryMethods, HistoryMethods, BulkMethods):
    """An open graph. Safe to share between threads; opening is cheap, keep it open."""

    def __init__(self, store: GraphStore) -> None:
        QueryMethods.__init__(self, store)
        HistoryMethods.__init__(self, store)

    @property
    def uri(self) -> str:
        """Where the graph is stored."""
        return self._store.root

    def __repr__(self) -> str:
        return f"Graph({self.uri!r})"

    def folder(self, name: str) -> StoredFolder:
        """Files beside the tables of the graph, for what a server keeps with it."""
        return StoredFolder(self._store.raw, name)

    def counts(self) -> StoreCounts:
        """Requests, bytes and retries of this process on the graph's store so far."""
        return self._store.counts()

    # ------------------------------------------------------------------ branches and history

    def create_branch(
        self,
        name: str,
        from_: str = MAIN,
        *,
        ttl: str | timedelta | None = None,
        owner: str | None = None,
        deferred_checks: bool = False,
        hidden: bool = False,
    ) -> Branch:
        """Create a branch at the head of another one, or at any moment of it; copies nothing.

        With a time to live (`"24h"`), collections remove it once that is over. With
        `deferred_checks`, writes to it leave endpoints, references and cardinality to its
        merge. A hidden one, for machinery such as SQL transactions, has a name that begins with
        `__` and is not listed.
        """
        if is_hidden(branch_name(name)) != hidden:
            raise InvalidInput(
                f"names that begin with {HIDDEN!r} are reserved for branches of the system",
                hint="Choose another name.",
            )
        return branch_of(
            create_branch(
                self._store, name, from_, deferred_checks=deferred_checks, ttl=ttl, owner=owner
            )
        )

    def branches(self, *, hidden: bool = False) -> list[Branch]:
        """All branches, by name; hidden ones only on request."""
        return [branch_of(h) for h in self._store.heads() if hidden or not is_hidden(h.branch)]

    def delete_branch(self, name: str) -> None:
        """Delete a branch; branches that were forked from it are unaffected."""
        delete_branch(self._store, name)

    def protect_branch(self, name: str) -> Branch:
        """From now on only merges move the branch; it cannot be deleted either."""
        return branch_of(set_protected(self._store, name, True))

    def unprotect_branch(self, name: str) -> Branch:
        """Take direct writes to the branch again."""
        return branch_of(set_protected(self._store, name, False))

    @property
    def tags(self) -> Tags:
        """The tags by name; `tags.create("v1", at="main")` makes one."""
        return Tags(self._store)

    def merge(
        self,
        source: str,
        into: str = MAIN,
        on_conflict: OnConflict = "fail",
        granularity: Granularity = "entity",
        delete_source: bool = False,
        plan_only: bool = False,
        *,
        actor: str | None = None,
        message: str | None = None,
        once: tuple[str, int] | None = None,
        target_incarnation: str | None = None,
    ) -> MergeResult:
        """Bring what a branch changed to another one, in one commit or not at all.

        Conflicts raise `MergeConflict`, which lists them; `on_conflict` decides those between
        entities beforehand for the target (`ours`) or the source (`theirs`). With `granularity`
        `property`, changes to different properties of one entity go together. `plan_only` says
        what would happen and writes nothing. `once` names a stream and the number of its batch: a
        batch that is there already raises `AlreadyApplied`, one that changes nothing is noted. With
        `target_incarnation` (`Snapshot.moment.incarnation`), a target that was deleted and created
        again since is refused.
        """
        policy = ConflictPolicy(on_conflict, granularity)
        branches = branch_name(source), branch_name(into)
        request = MergeRequest(
            *branches, policy, delete_source, actor, message, once, target_incarnation
        )
        return (plan_merge if plan_only else merge)(self._store, request)

    def commits(self, branch: str = MAIN) -> list[Commit]:
        """The history of a branch, newest first."""
        return list(chain(self._store, self._store.head(branch_name(branch))))

    def history(self, branch: str | None = None) -> list[Commit]:
        """Every commit that a branch, or any branch or tag, came from, by both parents of merges.

        Children come before their parents, and otherwise newer commits first.
        """
        if branch is None:
            tips = [head.commit for head in self._store.heads() if not is_hidden(head.branch)]
            tips += [tag.commit for tag in self.tags.list()]
        else:
            tips = [self._store.head(branch_name(branch)).commit]
        return newest_first(tips, self._store.all_commits())

    # ------------------------------------------------------------------ reading

    def snapshot(self, at: str = MAIN) -> Snapshot:
        """The graph at a moment: `main`, `main@<commit>`, `main@v42`, `main@<ISO time>`, a tag."""
        return Snapshot(self._store, resolve(self._store, at))

    def tables(self, at: str = MAIN) -> list[PlainTable]:
        """The plain tables at a moment; node and edge types are in the snapshot's `types()`."""
        return self.snapshot(at).plain_tables()

    def export(
        self,
        out: str | Path | BinaryIO,
        *,
        at: str = MAIN,
        types: Iterable[str] | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> int:
        """Write entities as NDJSON to a path or a binary file; returns how many.

        Any load mode reads it back. A path is written as a whole or not at all.
        """
        return export_snapshot(self.snapshot(at), out, types, on_progress)

    # ------------------------------------------------------------------ writing

    def load(
        self,
        source: LoadSource,
        *,
        mode: LoadMode = "merge",
        branch: str = MAIN,
        from_: str | None = None,
        type: str | None = None,  # noqa: A002
        actor: str | None = None,
        message: str | None = None,
        limits: Limits | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> LoadResult:
        """Load NDJSON, or one type per Parquet, CSV or Arrow source, in one atomic commit.

        `source` may map type names to sources, which all go into the same commit. With `from_` a
        missing branch is created there first. `on_progress` gets how many bytes of NDJSON, or
        rows of anything else, were read.
        """
        return load(
            self._store,
            source,
            mode=mode,
            branch=branch,
            from_=from_,
            type_name=type,
            actor=actor,
            message=message,
            limits=limits,
            on_progress=on_progress,
        )

    def transaction(
        self,
        branch: str = MAIN,
        *,
        message: str | None = None,
        actor: str | None = None,
        if_commit: str | None = None,
        expected_table_versions: Mapping[str, int] | None = None,
    ) -> Transaction:
        """Begin a transaction; use it as a context manager, it commits at the end of the block."""
        return Transaction(
            WriteTxn(
                self._store,
                branch_name(branch),
                message=message,
                actor=actor,
                if_commit=if_commit,
                expected_table_versions=expected_table_versions,
            )
        )

    def run_transaction(
        self,
        branch: str,
        work: Callable[[Transaction], T],
        *,
        attempts: int | None = None,
        message: str | None = None,
        actor: str | None = None,
    ) -> T:
        """Commit what a function does in a transaction; what the function returns.

        It is called again, with a new transaction, when rows that it read were changed by others
        before it was published, a collection ran meanwhile, or the commit lost `retry_budget`
        publishes: up to `attempts` times, or 8.
        """
        return run_transaction(self._store, branch_name(branch), work, attempts, actor, message)

    def transact(
        self,
        work: Callable[[Transaction], T],
        *,
        retry: int = TRANSACTION_ATTEMPTS - 1,
        branch: str = MAIN,
        message: str | None = None,
        actor: str | None = None,
    ) -> T:
        """The same as `run_transaction`, on main unless said otherwise: run again `retry` times."""
        return self.run_transaction(branch, work, attempts=retry + 1, message=message, actor=actor)

    # ------------------------------------------------------------------ schema

    def schema(self, at: str = MAIN) -> Schema:
        """The schema in force at a moment."""
        moment = resolve(self._store, at)
        record, catalog = self._store.schema(moment.schema)
        return Schema(record.source, catalog)

    def apply_schema(
        self,
        source: str | Path,
        *,
        branch: str = MAIN,
        allow_data_loss: bool = False,
        actor: str | None = None,
        message: str | None = None,
    ) -> SchemaApplied:
        """Change the schema of one branch, and its data with it, in one atomic commit."""
        text, file = schema_text(source)
        return apply_schema(
            self._store,
            text,
            branch_name(branch),
            file=file,
            allow_data_loss=allow_data_loss,
            actor=actor,
            message=message,
        )

    # ------------------------------------------------------------------ upkeep

    def optimize(
        self,
        branch: str = MAIN,
        *,
        dry_run: bool = False,
        on_progress: Progress | None = None,
    ) -> OptimizeReport:
        """Compact tables and bring their indexes up to date; no answer changes."""
        return optimize(self._store, branch_name(branch), dry_run=dry_run, on_progress=on_progress)

    def collect(
        self,
        keep: int | None = None,
        *,
        keep_for: str | timedelta | None = None,
        dry_run: bool = False,
        on_progress: Progress | None = None,
    ) -> CollectReport:
        """Delete files that no retained commit and no tag needs.

        On each branch the newest `keep` commits stay, and every state within `keep_for` (`"7d"`);
        all of them when neither is given.
        """
        return collect(
            self._store, keep=keep, keep_for=keep_for, dry_run=dry_run, on_progress=on_progress
        )

    def verify(
        self, *, rules: bool = False, deep: bool = False, on_progress: Progress | None = None
    ) -> VerifyReport:
        """Check that everything the manifest says is true; reads no rows.

        `rules` also checks what branches show against every rule of the schema. `deep` does, too,
        reads every byte of every file that is needed, and compares indexes with rows.
        """
        return verify(self._store, rules=rules, deep=deep, on_progress=on_progress)


@dataclass(frozen=True)
class Schema:
    """An accepted schema: its source and its compiled form."""

    source: str
    catalog: Catalog

    def plan(self, new_schema: str | Path, *, allow_data_loss: bool = False) -> SchemaPlan:
        """What applying another schema would do; changes nothing."""
        text, file = schema_text(new_schema)
        desired = compile_schema(
            text, accepted=self.catalog, first_identity=self.catalog.next_identity, file=file
        )
        return plan_evolution(self.catalog, desired, allow_data_loss=allow_data_loss)


def schema_text(source: str | Path) -> tuple[str, str | None]:
    """A schema given as text or as the path of a `.pg` file: its text and file name."""
    if isinstance(source, str) and ("\n" in source or "{" in source or not source.strip()):
        return source, None
    path = Path(source)
    try:
        return path.read_text(encoding="utf-8"), str(source)
    except FileNotFoundError as error:
        raise NotFound(
            f"there is no schema file {str(source)!r}", hint="Give the path of a .pg file."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read {str(source)!r}: {error}") from error


def init(
    uri: str | Path,
    schema: str | Path,
    *,
    storage_options: Mapping[str, str] | None = None,
    actor: str | None = None,
    durability: str | None = None,
) -> Graph:
    """Create a graph at a path, `file://` or `s3://` root, with a schema (a path or its text).

    `durability` is that of commits on local disk: `sync` (they survive a power cut) or `os` (they
    survive the end of the process); else what OMNIGRAPH_DURABILITY says, else `sync`.
    """
    text, file = schema_text(schema)
    store = GraphStore.create(
        uri, text, file=file, options=storage_options, actor=actor, durability=durability
    )
    return Graph(store)


def open(  # noqa: A001
    uri: str | Path,
    *,
    storage_options: Mapping[str, str] | None = None,
    retry_budget: int = PUBLISHER_RETRY_BUDGET,
    durability: str | None = None,
) -> Graph:
    """Open an existing graph; `durability` is what `init` says of it."""
    store = GraphStore.open(
        uri, options=storage_options, retry_budget=retry_budget, durability=durability
    )
    return Graph(store)
