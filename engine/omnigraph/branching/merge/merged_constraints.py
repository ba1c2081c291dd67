"""Whether the merged graph keeps the constraints of the schema, where a merge can break them.

Each side is valid by itself. So a rule can only break where it reads rows of both: a table whose
rows were merged, or edges of one side beside nodes of the other. Nothing else is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.branching.compare.table_diff import touched_rows
from omnigraph.branching.merge.changeset import Changeset
from omnigraph.branching.merge.conflicts import Conflicts, MergeConflictDetail, constraint_conflict
from omnigraph.branching.merge.merge_rows import source_changeset
from omnigraph.branching.merge.projected_table import ProjectedTable, TableAfterMerge
from omnigraph.branching.merge.three_way import MergeSide, MergeStrategy, ThreeWayType, same_version
from omnigraph.errors import ConstraintViolation, LoadError
from omnigraph.schema import Catalog, EdgeType, NodeType
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.schema.model.constraints import Constraint
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
"""Looking one id up in an index costs about what reading so many ids by address does."""


@dataclass
class TableMergePlan:
    """What becomes of the table of one type of the merged schema."""

    tables: TableStore
    three_way: ThreeWayType
    merged: GraphType
    strategy: MergeStrategy
    changeset: Changeset | None = None
    """What changes in the target's table, where rows are merged."""

    @cached_property
    def full_changeset(self) -> Changeset:
        """How the table will differ from the target's, also where the source's replaces it."""
        return self.changeset or source_changeset(self.tables, self.three_way)

    @property
    def equals_target(self) -> bool:
        """Whether it shows the target's rows and no others."""
        if self.changeset is not None:
            return not self.changeset.has_changes
        return self.strategy == "keep_target"

    @property
    def equals_source(self) -> bool:
        """Whether it shows the source's rows and no others."""
        return self.strategy == "take_source" or (
            self.strategy == "keep_target"
            and same_version(self.three_way.source, self.three_way.target)
        )

    @property
    def side(self) -> MergeSide:
        """The side whose table is kept, or to which the changeset is applied."""
        three_way = self.three_way
        side = three_way.source if self.strategy == "take_source" else three_way.target
        assert side is not None
        return side

    @cached_property
    def view(self) -> TableView:
        """The table as it will be."""
        table = ProjectedTable(self.tables, self.side, self.merged)
        return TableAfterMerge(table, self.changeset) if self.changeset is not None else table

    @cached_property
    def touched_by_target(self) -> tuple[RowSet, RowSet] | None:
        """The rows of the base that the target replaced or deleted, and those that it wrote."""
        base, target = self.three_way.base, self.three_way.target
        if base is None or target is None:
            return None
        return touched_rows(self.tables, base.state, target.state)

    @cached_property
    def deleted_by_target(self) -> pa.Array:
        """The ids of entities that the base has and the target has not."""
        assert self.touched_by_target is not None
        old, new = (
            pa.chunked_array([b.column("id") for b in read_rows(self.tables, rows, ["id"])], _ID)
            for rows in self.touched_by_target
        )
        return old.filter(pc.invert(pc.is_in(old, new))).combine_chunks()

    @cached_property
    def written_view(self) -> TableView:
        """The changeset beside what the target wrote since the base."""
        if self.touched_by_target is None or self.strategy == "take_source":
            return self.view
        table = ProjectedTable(self.tables, self.side, self.merged, self.touched_by_target[1])
        return TableAfterMerge(table, self.changeset) if self.changeset is not None else table


def check_integrity(
    catalog: Catalog, plans: Mapping[str, TableMergePlan], conflicts: Conflicts, *, trusted: bool
) -> None:
    """Note every rule that the merged graph would break.

    `trusted` says that the source keeps the rules between its own entities; where it skipped
    those checks, all that it changed is checked now.
    """
    # Changesets are computed table by table, where a rule needs them.
    check = _Check(FinalState(catalog, {}, lambda key: plans[key].view), plans, trusted)
    for plan in plans.values():
        for conflict in check.values(plan):
            conflicts.add(conflict)
    rules = RuleSet(
        plans.values(), check.uniqueness, check.endpoints, check.references, check.cardinality
    )
    for plan, violation in violations(rules):
        conflicts.add(constraint_conflict(plan.merged, violation))


@dataclass(frozen=True)
class _Check:
    state: FinalState
    plans: Mapping[str, TableMergePlan]
    trusted: bool

    def _settled(self, *plans: TableMergePlan) -> bool:
        """Whether one side has all of these tables just so, and had checked them together."""
        if all(plan.equals_target for plan in plans):
            return True
        return self.trusted and all(plan.equals_source for plan in plans)

    def _at(self, *keys: str) -> list[TableMergePlan]:
        return [self.plans[key] for key in keys]

    def values(self, plan: TableMergePlan) -> Iterator[MergeConflictDetail]:
        """Each broken rule once: no entity is named."""
        columns = table_schema(plan.merged).names
        if _value_rules(plan.merged) - _value_rules(plan.side.type):
            chunks = plan.view.scan(columns)
        elif plan.changeset is not None:
            chunks = plan.changeset.buffer.scan(columns)
        else:
            return
        conflicts: dict[tuple[object, ...], MergeConflictDetail] = {}
        for rows in chunks:
            for problem in value_problems(plan.merged, rows):
                conflict = constraint_conflict(plan.merged, problem)
                conflicts.setdefault((problem.code, *_rule_of(problem)), conflict)
        yield from conflicts.values()

    def uniqueness(self, plan: TableMergePlan) -> Violations:
        source, changeset = plan.three_way.source, plan.changeset
        checked = _unique_rules(plan.side.type)
        checked_on_source = _unique_rules(source.type) if source else set()
        for rule in plan.merged.uniques:
            signature = plan.merged.signature(rule)
            if signature not in checked:
                yield from unique_everywhere(plan.view, plan.merged, rule.members)
            elif changeset is not None and changeset.has_changes:
                # What keeps the rule on the source can only collide with new rows of the target.
                state = self.state
                if signature in checked_on_source and not changeset.has_merged_rows:
                    state = replace(state, table=lambda _: plan.written_view)
                yield from unique_rule_violations(state, changeset, rule.members)

    def endpoints(self, plan: TableMergePlan) -> Violations:
        edge = plan.merged
        if isinstance(edge, EdgeType) and not plan.equals_target:
            ends = self._at(f"node:{edge.src}", f"node:{edge.dst}")
            if self._settled(plan, *ends):
                return
            # The source has all ends of its edges: only the target can have removed one.
            changeset = plan.changeset
            source_rows = self.trusted and not (changeset and changeset.has_merged_rows)
            if not source_rows or any(self._may_dangle(plan, end) for end in ends):
                yield from endpoint_violations(self.state, plan.full_changeset)

    def _may_dangle(self, edges: TableMergePlan, nodes: TableMergePlan) -> bool:
        """Whether the target may have deleted a node that edges of the source end at."""
        edge, touched = edges.merged, nodes.touched_by_target
        assert isinstance(edge, EdgeType)
        if touched is None or touched[0].rows > PROBED_WORTH * edges.full_changeset.buffer.rows:
            return nodes.three_way.target_changed
        deleted = nodes.deleted_by_target
        types = {"src": edge.src, "dst": edge.dst}
        ends = [name for name, type_name in types.items() if type_name == nodes.merged.name]
        return len(deleted) > 0 and any(
            pc.any(pc.is_in(rows.column(name), deleted)).as_py()
            for rows in edges.full_changeset.buffer.scan(ends)
            for name in ends
        )

    def references(self, plan: TableMergePlan) -> Violations:
        node = plan.merged
        if isinstance(node, NodeType) and not plan.equals_target:
            edges = self.state.catalog.edges_touching(node.name)
            touching = self._at(*(edge.table_key for edge in edges))
            # The source has no edge of a node it deleted: only the target can have written one.
            state = self.state
            if self.trusted:
                if not any(edge.three_way.target_changed for edge in touching):
                    return
                state = replace(state, table=self._written_edges)
            if not self._settled(plan, *touching):
                yield from reference_violations(state, plan.full_changeset)

    def _written_edges(self, key: str) -> TableView:
        plan = self.plans[key]
        return plan.written_view if key.startswith("edge:") else plan.view

    def cardinality(self, plan: TableMergePlan) -> Violations:
        edge = plan.merged
        if not isinstance(edge, EdgeType) or plan.equals_target:
            return
        if not self._settled(plan, *self._at(f"node:{edge.src}")):
            yield from cardinality_violations(self.state, plan.full_changeset)


def _rule_of(problem: ConstraintViolation | LoadError) -> tuple[object, ...]:
    if isinstance(problem, LoadError):
        return (problem.reason, problem.field)
    return (problem.kind, problem.facts.get("property"))


def _unique_rules(type_: GraphType) -> set[tuple[object, ...]]:
    return {type_.signature(rule) for rule in type_.uniques}


def _value_rules(type_: GraphType) -> set[tuple[object, ...]]:
    rules: list[Constraint] = [*type_.ranges, *type_.checks]
    return set(map(type_.signature, rules))
