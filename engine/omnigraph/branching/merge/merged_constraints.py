"""Whether the merged image keeps the rules of the schema, checked where a merge can break them.

Each side is valid by itself. So a rule can only break where it looks at rows of both: a table that
took over rows, or edges of one side beside nodes of the other. Everything else is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.branching.compare.table_diff import touched_rows
from omnigraph.branching.merge.changeset import Changeset
from omnigraph.branching.merge.conflicts import Conflicts, MergeConflictDetail, of_violation
from omnigraph.branching.merge.merge_rows import changes_of_source
from omnigraph.branching.merge.projected_table import ProjectedTable, TableAfterMerge
from omnigraph.branching.merge.three_way import MergeSide, MergeStrategy, ThreeWayType, same_rows
from omnigraph.errors import ConstraintViolation, LoadError
from omnigraph.schema import Catalog, EdgeType, NodeType
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.constraints.cardinality import cardinality_violations
from omnigraph.storage.constraints.endpoints import endpoint_violations, reference_violations
from omnigraph.storage.constraints.final_state import FinalState, Violations
from omnigraph.storage.constraints.rule_order import RuleSet, violations
from omnigraph.storage.constraints.table_view import TableView
from omnigraph.storage.constraints.uniqueness import unique_everywhere, unique_rule_violations
from omnigraph.storage.constraints.value_checks import value_problems
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.version_diff import RowSet, read_rows

_ID = pa.string()
PROBED_WORTH = 32
"""Looking one id up in an index costs about what reading so many ids at known places does."""


@dataclass
class TableMergePlan:
    """What becomes of the table of one type of the merged schema."""

    tables: TableStore
    sides: ThreeWayType
    merged: GraphType
    strategy: MergeStrategy
    rows_taken: Changeset | None = None
    """What the target's table takes over, where rows are merged."""

    @cached_property
    def change(self) -> Changeset:
        """How the table will differ from the target's."""
        return self.rows_taken or changes_of_source(self.tables, self.sides)

    @property
    def like_target(self) -> bool:
        """Whether it shows the target's rows and no others."""
        if self.rows_taken is not None:
            return not self.rows_taken.anything
        return self.strategy == "keep"

    @property
    def like_source(self) -> bool:
        """Whether it shows the source's rows and no others."""
        return self.strategy == "take" or (
            self.strategy == "keep" and same_rows(self.sides.source, self.sides.target)
        )

    @property
    def side(self) -> MergeSide:
        """The side whose table stays, or is built upon."""
        found = self.sides.source if self.strategy == "take" else self.sides.target
        assert found is not None
        return found

    @cached_property
    def view(self) -> TableView:
        """The table as it will be."""
        table = ProjectedTable(self.tables, self.side, self.merged)
        return TableAfterMerge(table, self.rows_taken) if self.rows_taken is not None else table

    @cached_property
    def touched_by_target(self) -> RowSet | None:
        """The rows of the base that the target replaced or took out; none without a base."""
        base, target = self.sides.base, self.sides.target
        if base is None or target is None:
            return None
        return touched_rows(self.tables, base.image, target.image)[0]

    @cached_property
    def removed_by_target(self) -> pa.Array:
        """The ids of entities that the base has and the target has not."""
        base, target = self.sides.base, self.sides.target
        assert base is not None and target is not None
        old, new = (
            pa.chunked_array([b.column("id") for b in read_rows(self.tables, rows, ["id"])], _ID)
            for rows in touched_rows(self.tables, base.image, target.image)
        )
        return old.filter(pc.invert(pc.is_in(old, new))).combine_chunks()

    @cached_property
    def met(self) -> TableView:
        """What is taken over, beside what the target wrote since the base."""
        base, target = self.sides.base, self.sides.target
        if base is None or target is None or self.strategy == "take":
            return self.view
        _, new = touched_rows(self.tables, base.image, target.image)
        table = ProjectedTable(self.tables, target, self.merged, only=new)
        return TableAfterMerge(table, self.rows_taken) if self.rows_taken is not None else table


def check_integrity(
    catalog: Catalog, pieces: Mapping[str, TableMergePlan], conflicts: Conflicts, *, trusted: bool
) -> None:
    """Note every rule that the merged image breaks.

    `trusted` says that the source keeps the rules between its own entities; where it skipped
    those checks, all that it changed is checked now.
    """
    # Changes are looked for piece by piece, where a rule needs them.
    check = _Check(FinalState(catalog, {}, lambda key: pieces[key].view), pieces, trusted)
    for piece in pieces.values():
        for conflict in check.values(piece):
            conflicts.add(conflict)
    rules = RuleSet(
        pieces.values(), check.uniqueness, check.endpoints, check.references, check.cardinality
    )
    for piece, violation in violations(rules):
        conflicts.add(of_violation(piece.merged, violation))


@dataclass(frozen=True)
class _Check:
    image: FinalState
    pieces: Mapping[str, TableMergePlan]
    trusted: bool

    def _settled(self, pieces: Iterable[TableMergePlan]) -> bool:
        """Whether one side showed all of these tables just so, and had checked them together."""
        several = list(pieces)
        if all(piece.like_target for piece in several):
            return True
        return self.trusted and all(piece.like_source for piece in several)

    def _at(self, *keys: str) -> list[TableMergePlan]:
        return [self.pieces[key] for key in keys]

    def values(self, piece: TableMergePlan) -> Iterator[MergeConflictDetail]:
        """Each broken rule once: no entity is named."""
        columns = table_schema(piece.merged).names
        if _value_rules(piece.merged) - _value_rules(piece.side.type):
            chunks = piece.view.scan(columns)
        elif piece.rows_taken is not None:
            chunks = piece.rows_taken.buffer.scan(columns)
        else:
            return
        found: dict[tuple[object, ...], MergeConflictDetail] = {}
        for rows in chunks:
            for problem in value_problems(piece.merged, rows):
                conflict = of_violation(piece.merged, problem)
                found.setdefault((problem.code, *_place(problem)), conflict)
        yield from found.values()

    def uniqueness(self, piece: TableMergePlan) -> Violations:
        known = _unique_rules(piece.side.type)
        kept = _unique_rules(piece.sides.source.type) if piece.sides.source else set()
        taken = piece.rows_taken
        for rule in piece.merged.uniques:
            members = _members(piece.merged, rule.members)
            if members not in known:
                yield from unique_everywhere(piece.view, piece.merged, rule.members)
            elif taken is not None and taken.anything:
                # A row of the source that kept the rule there can only meet what the target wrote.
                alone = members in kept and not taken.combined
                image = replace(self.image, table=lambda _: piece.met) if alone else self.image
                yield from unique_rule_violations(image, taken, rule.members)

    def endpoints(self, piece: TableMergePlan) -> Violations:
        edge = piece.merged
        if isinstance(edge, EdgeType) and not piece.like_target:
            ends = self._at(f"node:{edge.src}", f"node:{edge.dst}")
            if self._settled([piece, *ends]):
                return
            # The source has all ends of its edges: only the target can have removed one.
            whole = self.trusted and not (piece.rows_taken and piece.rows_taken.combined)
            if not whole or any(self._may_miss(piece, end) for end in ends):
                yield from endpoint_violations(self.image, piece.change)

    def _may_miss(self, edges: TableMergePlan, end: TableMergePlan) -> bool:
        """Whether the target may have removed a node that edges of the source are at."""
        left = end.touched_by_target
        if left is None or left.rows > PROBED_WORTH * edges.change.buffer.rows:
            return end.sides.target_moved
        gone = end.removed_by_target
        ends = [name for name in ("src", "dst") if _end(edges.merged, name) == end.merged.name]
        return len(gone) > 0 and any(
            pc.any(pc.is_in(rows.column(name), gone)).as_py()
            for rows in edges.change.buffer.scan(ends)
            for name in ends
        )

    def references(self, piece: TableMergePlan) -> Violations:
        node = piece.merged
        if isinstance(node, NodeType) and not piece.like_target:
            edges = (e.table_key for e in self.image.catalog.edges_touching(node.name))
            touching = self._at(*edges)
            # The source keeps no edge of a node that it removed: only the target can have
            # written one.
            image = self.image
            if self.trusted:
                if not any(edge.sides.target_moved for edge in touching):
                    return
                image = replace(image, table=self._edges_met)
            if not self._settled([piece, *touching]):
                yield from reference_violations(image, piece.change)

    def _edges_met(self, key: str) -> TableView:
        return self.pieces[key].met if key.startswith("edge:") else self.pieces[key].view

    def cardinality(self, piece: TableMergePlan) -> Violations:
        edge = piece.merged
        if not isinstance(edge, EdgeType) or piece.like_target:
            return
        if not self._settled([piece, *self._at(f"node:{edge.src}")]):
            yield from cardinality_violations(self.image, piece.change)


def _end(type_: GraphType, name: str) -> str:
    assert isinstance(type_, EdgeType)
    return type_.src if name == "src" else type_.dst


def _place(problem: ConstraintViolation | LoadError) -> tuple[object, ...]:
    if isinstance(problem, LoadError):
        return (problem.reason, problem.field)
    return (problem.kind, problem.facts.get("property"))


def _unique_rules(type_: GraphType) -> set[frozenset[object]]:
    return {_members(type_, rule.members) for rule in type_.uniques}


def _members(type_: GraphType, members: Sequence[str]) -> frozenset[object]:
    """Members by identity, so that a rename makes no new rule."""
    return frozenset(type_.by_name[m].identity if m in type_.by_name else m for m in members)


def _value_rules(type_: GraphType) -> set[tuple[object, ...]]:
    """Ranges and patterns by identity."""
    ranges = {(type_.by_name[r.prop].identity, r.lo, r.hi) for r in type_.ranges}
    checks = {(type_.by_name[c.prop].identity, c.pattern) for c in type_.checks}
    return {*ranges, *checks}
