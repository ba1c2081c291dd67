"""Run a mutation: one transaction, one commit, or none when nothing matched.

The rules are docs/design/query-language.md#7-mutations.

Inserts only add operations, so a branch that moved is no obstacle to them. Updates and deletes
first read, through the transaction, what they decide on; the transaction refuses to publish them
when that has moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.common.ulid import new_ulids
from omnigraph.embedding.embedder import EmbedderOf, no_embedder
from omnigraph.errors import InvalidInput, NotFound, ReadSetConflict, ResourceLimit
from omnigraph.exec.mutate.embed_missing import VectorsByRow, embed_missing
from omnigraph.exec.mutate.statement_values import StatementValues, stored_column
from omnigraph.exec.mutate.where_filter import where_condition
from omnigraph.loading.typed_batch import ids_for
from omnigraph.query import CompiledQuery, coerce_params
from omnigraph.query.logical.expressions import EntityKind
from omnigraph.query.logical.logical_plan import (
    Assignment,
    DeleteEdges,
    DeleteNodes,
    InsertEdge,
    InsertNode,
    MutationPlan,
    MutationStatement,
    UpdateNodes,
)
from omnigraph.schema import EdgeType, NodeType
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.storage.core.lance_filter import NO_ROW
from omnigraph.storage.core.model import MAIN, Commit
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.refs.moments import COMMIT_ID, branch_name, commit_token
from omnigraph.storage.transaction.write_transaction import WriteTxn


@dataclass(frozen=True, slots=True)
class MutationResult:
    """What a mutation did; no commit when it matched nothing."""

    query_name: str
    branch: str
    affected_nodes: int
    affected_edges: int
    commit: Commit | None

    def to_json(self) -> dict[str, Any]:
        return {
            "query_name": self.query_name,
            "target": {"branch": self.branch, "snapshot": None},
            "affected_nodes": self.affected_nodes,
            "affected_edges": self.affected_edges,
            "commit": self.commit.to_json() if self.commit else None,
        }


_Affected = Counter[EntityKind]


def run_mutation(
    store: GraphStore,
    query: CompiledQuery,
    params: Mapping[str, Any] | None = None,
    *,
    branch: str = MAIN,
    actor: str | None = None,
    message: str | None = None,
    if_commit: str | None = None,
    embedder_for: EmbedderOf = no_embedder,
    max_affected: int | None = None,
) -> MutationResult:
    """Apply a compiled mutation to the head of a branch.

    `if_commit` makes it run only while that commit is the head. `max_affected` is a ceiling on
    nodes and edges together; beyond it nothing is changed.
    """
    plan = query.ir
    if not isinstance(plan, MutationPlan):
        raise InvalidInput(f"{query.name} is a read and changes nothing", hint="Run it as a read.")
    target = require_branch(branch)
    if if_commit is not None:
        commit_token(if_commit)
    values = StatementValues.at_once(coerce_params(query, params))
    txn = WriteTxn(store, target, actor=actor, message=message, if_commit=if_commit)
    try:
        _require_same_schema(txn, plan)
        vectors = embed_missing(txn.catalog, plan, values, embedder_for)
        affected = _apply(txn, plan, values, vectors)
        if max_affected is not None and affected.total() > max_affected:
            raise ResourceLimit("affected entities", max_affected, affected.total())
        commit = txn.commit()
    except BaseException:
        txn.abort()
        raise
    return MutationResult(query.name, target, affected["node"], affected["edge"], commit)


def _apply(
    txn: WriteTxn, plan: MutationPlan, values: StatementValues, vectors: VectorsByRow
) -> _Affected:
    """Put every statement into the transaction; the plan holds deletes only, or none (rule D2)."""
    if any(isinstance(s, DeleteNodes | DeleteEdges) for s in plan.statements):
        return _delete(txn, plan, values)
    affected = _Affected()
    for number, statement in enumerate(plan.statements):
        changed = 1
        match statement:
            case InsertNode():
                _insert_node(txn, statement, values, vectors.get(number, {}))
            case InsertEdge():
                _insert_edge(txn, statement, values)
            case UpdateNodes():
                changed = _update(txn, statement, values)
        affected[statement.entity] += changed
    return affected


# --------------------------------------------------------------------------- before any effect


def require_branch(branch: str) -> str:
    """The name of a branch that a mutation may write to; a snapshot is none."""
    if "@" in branch or COMMIT_ID.fullmatch(branch.strip()):
        raise InvalidInput(
            f"{branch!r} is a snapshot of a past state; mutations need a branch name",
            hint="Create a branch there and write to that.",
        )
    return branch_name(branch)


def _require_same_schema(txn: WriteTxn, plan: MutationPlan) -> None:
    """The query was checked against a schema; the branch must still agree with it."""
    for statement in plan.statements:
        assigned: tuple[Assignment, ...] = getattr(statement, "assignments", ())
        typed = [(a.property, a.type) for a in assigned]
        if isinstance(statement, UpdateNodes | DeleteNodes | DeleteEdges):
            where = statement.where
            typed += [(where.property, where.type)] if where.end is None else []
        try:
            owner = _type(txn, statement)
            agrees = all(owner.property(name).type == type_ for name, type_ in typed)
        except NotFound:
            agrees = False
        if not agrees:
            raise ReadSetConflict(
                "schema",
                None,
                txn.pin.schema,
                f"the query was compiled for another schema than {txn.pin.branch} has",
            )


def _type(txn: WriteTxn, statement: MutationStatement) -> NodeType | EdgeType:
    if statement.entity == "edge":
        return txn.catalog.edge(statement.type_name)
    return txn.catalog.node(statement.type_name)


# --------------------------------------------------------------------------- insert


def _insert_node(
    txn: WriteTxn, statement: InsertNode, values: StatementValues, vectors: Mapping[str, Any]
) -> None:
    """Upsert by key, replacing the whole node; without a key, a fresh one."""
    node = txn.catalog.node(statement.type_name)
    given = {a.property: values.of(a.value) for a in statement.assignments} | dict(vectors)
    columns = {p.name: stored_column(given.get(p.name), node, p) for p in node.properties}
    ids, fresh = ids_for(node, None, columns, 1)
    rows = pa.Table.from_pydict({"id": ids, **columns}, schema=table_schema(node))
    txn.write(node, rows, "insert" if fresh else "upsert", fresh_ids=fresh)


def _insert_edge(txn: WriteTxn, statement: InsertEdge, values: StatementValues) -> None:
    edge = txn.catalog.edge(statement.type_name)
    given = {a.property: values.of(a.value) for a in statement.assignments}
    columns = {p.name: stored_column(given.get(p.name), edge, p) for p in edge.properties}
    ends = {
        end: pa.array([values.of(value)], pa.string())
        for end, value in (("src", statement.src), ("dst", statement.dst))
    }
    rows = pa.Table.from_pydict({"id": new_ulids(1), **ends, **columns}, schema=table_schema(edge))
    txn.write(edge, rows, "insert", fresh_ids=True)


# --------------------------------------------------------------------------- update


def _update(txn: WriteTxn, statement: UpdateNodes, values: StatementValues) -> int:
    """Put matched rows back with new values, by id; the rest of the table is left alone."""
    node = txn.catalog.node(statement.type_name)
    new = {
        a.property: stored_column(values.of(a.value), node, node.property(a.property))
        for a in statement.assignments
    }
    condition = where_condition(node, statement.where, values)
    if condition == NO_ROW:
        return 0
    matched = 0
    for batch in txn.scan(node, None, condition):
        if not batch.num_rows:
            continue
        matched += batch.num_rows
        first_row = pa.array(np.zeros(batch.num_rows, np.int64))
        columns = [
            new[name].take(first_row) if name in new else batch.column(name)
            for name in batch.schema.names
        ]
        rows = pa.Table.from_arrays(columns, schema=batch.schema)
        txn.write(node, rows, "upsert")
    return matched


# --------------------------------------------------------------------------- delete


def _delete(txn: WriteTxn, plan: MutationPlan, values: StatementValues) -> _Affected:
    """Find what every statement matches, then delete it all.

    Deletes do not change what other deletes match, so all of them can look at the same state; a
    row that several statements match is found several times and counted once.
    """
    ids_by_table: dict[str, list[pa.Array]] = {}
    for statement in plan.statements:
        assert isinstance(statement, DeleteNodes | DeleteEdges), "rule D2"
        type_ = _type(txn, statement)
        condition = where_condition(type_, statement.where, values)
        if condition == NO_ROW:
            continue
        ids = txn.scan(type_, ["id"], condition).read_all().column("id")
        ids_by_table.setdefault(type_.table_key, []).extend(ids.chunks)
    for key, chunks in ids_by_table.items():
        ids = pa.chunked_array(chunks, pa.string()).unique()
        if len(ids):
            txn.remove(txn.catalog.type_for(key), ids)
    affected = _Affected()
    for key, change in txn.prepare().items():
        affected[txn.catalog.type_for(key).kind] -= change
    return affected
