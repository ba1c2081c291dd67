"""The rules of a bulk write, where a distributed constraint check finds what breaks them.

The checker names one key at fault; the rows that have it are then looked at by the functions that
check small writes, so that both report the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.schema import EdgeType, NodeType
from omnigraph.storage.constraints.cardinality import too_few, too_many
from omnigraph.storage.constraints.distributed_protocol import ConstraintChecker, KeyColumn, tuples
from omnigraph.storage.constraints.endpoints import dangling_edges, ends_at, ends_of
from omnigraph.storage.constraints.final_state import FinalState, TableChange, Violations, Written
from omnigraph.storage.constraints.rule_order import RuleSet, changed_tables, require_valid
from omnigraph.storage.constraints.uniqueness import (
    key_columns,
    repeated_in_input,
    repeated_tuples,
)
from omnigraph.storage.core.model import TablePointer
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.write_buffer import RowBuffer


class AdoptedFiles(Written, Protocol):
    """Rows that a write adopted as data files."""

    @property
    def buffer(self) -> RowBuffer: ...


class BulkChange(TableChange, Protocol):
    """What a bulk write does to one table."""

    @property
    def base(self) -> TablePointer: ...

    @property
    def version(self) -> TableVersion: ...

    @property
    def written(self) -> Sequence[AdoptedFiles]: ...


def validate_final_state(
    checker: ConstraintChecker | None,
    state: FinalState,
    changed: Mapping[str, BulkChange],
    version: Callable[[str], TableVersion],
    *,
    deferred: bool,
) -> None:
    """Raise the first violation, or return; without a checker, this process looks for it."""
    if checker is None:
        require_valid(changed_tables(state), deferred=deferred)
    else:
        rules = DistributedRules(state, changed, version, checker)
        require_valid(rules.rule_set(), deferred=deferred)


@dataclass(frozen=True)
class DistributedRules:
    """The final state, and who is asked about it."""

    state: FinalState
    changed: Mapping[str, BulkChange]
    version: Callable[[str], TableVersion]
    """A table as it would be; notes that the write relies on it."""
    checker: ConstraintChecker

    def rule_set(self) -> RuleSet[BulkChange]:
        return RuleSet(
            [change for _, change in sorted(self.changed.items())],
            self._uniqueness,
            self._endpoints,
            self._references,
            self._cardinality,
        )

    def _uniqueness(self, change: BulkChange) -> Violations:
        type_ = change.type
        for rule in type_.uniques:
            for write in change.written:
                keys = KeyColumn(type_, write.buffer.version(), rule.members)
                first = self.checker.first_repeated(keys)
                if first is not None:
                    ids = _ids_with(first, change, rule.members)
                    repeats = pa.array([first] * len(ids), pa.string())
                    yield from repeated_in_input(type_, rule.members, [repeats], [ids])
            least = self.checker.least_repeated(KeyColumn(type_, change.version, rule.members))
            if least is not None:
                view = self.state.table(type_.table_key)
                written = _ids_with(least, change, rule.members)
                yield from repeated_tuples(view, type_, rule.members, _one(least), written)

    def _endpoints(self, change: BulkChange) -> Violations:
        edge = change.type
        if not isinstance(edge, EdgeType) or not change.written:
            return
        for end, node_name in ends_of(edge):
            written = KeyColumn(edge, change.version, (end,), since=change.base.address)
            yield from self._dangling(edge, written, node_name)

    def _references(self, change: BulkChange) -> Violations:
        node = change.type
        if not isinstance(node, NodeType) or not change.replaced:
            return
        for edge in self.state.catalog.edges_touching(node.name):
            if not self.state.table(edge.table_key).rows:
                continue
            for end in ends_at(edge, node.name):
                edges = KeyColumn(edge, self.version(edge.table_key), (end,))
                yield from self._dangling(edge, edges, node.name)

    def _dangling(self, edge: EdgeType, ends: KeyColumn, node_name: str) -> Violations:
        missing = self.checker.least_missing(ends, self._nodes(node_name))
        if missing is not None:
            view = self.state.table(edge.table_key)
            yield from dangling_edges(view, edge, ends.members[0], node_name, [missing])

    def _cardinality(self, change: BulkChange) -> Violations:
        edge = change.type
        if not isinstance(edge, EdgeType) or edge.cardinality.is_free:
            return
        low, high = edge.cardinality.min, edge.cardinality.max
        after = KeyColumn(edge, change.version, ("src",))
        written = KeyColumn(edge, change.version, ("src",), since=change.base.address)
        view = self.state.table(edge.table_key)
        if high is not None:
            above = self.checker.least_above(after, written, high)
            if above is not None:
                yield from too_many(view, edge, _one(above))
        if low:
            before = KeyColumn(edge, change.base.address, ("src",))
            nodes = self._nodes(edge.src)
            below = self.checker.least_below(after, before, written, nodes, low)
            if below is not None:
                yield from too_few(self.state, view, edge, _one(below))

    def _nodes(self, name: str) -> KeyColumn:
        key = f"node:{name}"
        return KeyColumn(self.state.catalog.type_for(key), self.version(key))


def _one(key: str) -> pa.StringArray:
    return pa.array([key], pa.string())


def _ids_with(key: str, change: BulkChange, members: Sequence[str]) -> pa.StringArray:
    """The ids of written rows that have a key, in order."""
    found = [pa.array([], pa.string())]
    for write in change.written:
        for rows in write.buffer.scan(key_columns(members)):
            hit = pc.fill_null(pc.equal(tuples(change.type, members, rows), key), False)
            found.append(rows.column("id").combine_chunks().filter(hit))
    return pa.concat_arrays(found)
