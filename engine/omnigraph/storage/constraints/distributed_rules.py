"""Constraints on the final image of a bulk write, when a survey finds what breaks them.

The rules and their order are those of `validation`. A survey names the one text at fault; the rows
that have it are then looked at by the functions of `validation`, so that both say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.schema import EdgeType, NodeType
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.constraints.cardinality import too_few, too_many
from omnigraph.storage.constraints.distributed_protocol import ConstraintChecker, KeyColumn, tuples
from omnigraph.storage.constraints.endpoints import dangling_edges
from omnigraph.storage.constraints.final_state import FinalState, Violations
from omnigraph.storage.constraints.rule_order import validate
from omnigraph.storage.constraints.uniqueness import named_columns, repeated_tuples, within_file
from omnigraph.storage.core.model import TablePointer
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.write_buffer import RowBuffer


class AdoptedFiles(Protocol):
    """Rows that a write took over as data files."""

    @property
    def buffer(self) -> RowBuffer: ...


class BulkChange(Protocol):
    """What a bulk write does to one table."""

    @property
    def type(self) -> GraphType: ...

    @property
    def base(self) -> TablePointer: ...

    @property
    def version(self) -> TableVersion: ...

    @property
    def written(self) -> Sequence[AdoptedFiles]: ...

    @property
    def replaced(self) -> bool: ...


def validated_by(
    survey: ConstraintChecker | None,
    image: FinalState,
    changed: Mapping[str, BulkChange],
    version: Callable[[str], TableVersion],
    *,
    deferred: bool,
) -> None:
    """Raise the first violation, or return; without a survey, this machine looks for it."""
    if survey is None:
        validate(image, deferred=deferred)
    else:
        DistributedRules(image, changed, version, survey).validate(deferred=deferred)


@dataclass(frozen=True)
class DistributedRules:
    """The final image, and whom to ask about it."""

    image: FinalState
    changed: Mapping[str, BulkChange]
    version: Callable[[str], TableVersion]
    """A table as it would be; notes that the write relies on it."""
    survey: ConstraintChecker

    def validate(self, *, deferred: bool) -> None:
        """Raise the first violation, or return; `deferred` as in `validation`."""
        for violation in self._violations(deferred):
            raise violation

    def _violations(self, deferred: bool) -> Violations:
        changed = [change for _, change in sorted(self.changed.items())]
        for change in changed:
            yield from self._unique(change)
        if deferred:
            return
        for rule in (self._endpoints, self._references, self._cardinality):
            for change in changed:
                yield from rule(change)

    def _unique(self, change: BulkChange) -> Violations:
        type_, survey = change.type, self.survey
        for rule in type_.uniques:
            for write in change.written:
                first = survey.first_repeated(
                    KeyColumn(type_, write.buffer.version(), rule.members)
                )
                if first is not None:
                    held = _ids_with(first, change, rule.members)
                    yield from within_file(type_, rule.members, [_copies(first, held)], [held])
            least = survey.least_repeated(KeyColumn(type_, change.version, rule.members))
            if least is not None:
                view = self.image.table(type_.table_key)
                changed = _ids_with(least, change, rule.members)
                candidates = pa.array([least], pa.string())
                yield from repeated_tuples(view, type_, rule.members, candidates, changed)

    def _endpoints(self, change: BulkChange) -> Violations:
        edge = change.type
        if not isinstance(edge, EdgeType) or not change.written:
            return
        for end, node_name in (("src", edge.src), ("dst", edge.dst)):
            written = KeyColumn(edge, change.version, (end,), since=_before(change))
            yield from self._orphans(edge, written, node_name)

    def _references(self, change: BulkChange) -> Violations:
        node = change.type
        if not isinstance(node, NodeType) or not change.replaced:
            return
        for edge in self.image.catalog.edges_touching(node.name):
            if not self.image.table(edge.table_key).rows:
                continue
            for end in (e for e, n in (("src", edge.src), ("dst", edge.dst)) if n == node.name):
                edges = KeyColumn(edge, self.version(edge.table_key), (end,))
                yield from self._orphans(edge, edges, node.name)

    def _orphans(self, edge: EdgeType, ends: KeyColumn, node_name: str) -> Violations:
        missing = self.survey.least_missing(ends, self._nodes(node_name))
        if missing is not None:
            view = self.image.table(edge.table_key)
            yield from dangling_edges(view, edge, ends.members[0], node_name, [missing])

    def _cardinality(self, change: BulkChange) -> Violations:
        edge = change.type
        if not isinstance(edge, EdgeType) or edge.cardinality.is_free:
            return
        low, high = edge.cardinality.min, edge.cardinality.max
        after = KeyColumn(edge, change.version, ("src",))
        written = KeyColumn(edge, change.version, ("src",), since=_before(change))
        view = self.image.table(edge.table_key)
        if high is not None:
            most = self.survey.least_above(after, written, high)
            if most is not None:
                yield from too_many(view, edge, pa.array([most], pa.string()))
        if low:
            before = KeyColumn(edge, _before(change), ("src",))
            nodes = self._nodes(edge.src)
            least = self.survey.least_below(after, before, written, nodes, low)
            if least is not None:
                yield from too_few(self.image, view, edge, pa.array([least], pa.string()))

    def _nodes(self, name: str) -> KeyColumn:
        key = f"node:{name}"
        return KeyColumn(self.image.catalog.type_for(key), self.version(key))


def _before(change: BulkChange) -> TableVersion:
    return TableVersion(change.base.location, change.base.lance)


def _ids_with(text: str, change: BulkChange, members: Sequence[str]) -> pa.StringArray:
    """The ids of written rows that have a text, in order."""
    return pa.concat_arrays([pa.array([], pa.string()), *_found(text, change, members)])


def _found(text: str, change: BulkChange, members: Sequence[str]) -> Iterator[pa.StringArray]:
    for write in change.written:
        for rows in write.buffer.scan(named_columns(members)):
            has = pc.equal(tuples(change.type, members, rows), text)
            yield rows.column("id").combine_chunks().filter(pc.fill_null(has, False))


def _copies(text: str, ids: pa.StringArray) -> pa.StringArray:
    return pa.array([text] * len(ids), pa.string())
