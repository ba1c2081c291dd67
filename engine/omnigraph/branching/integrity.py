"""Whether the merged image keeps the rules of the schema, checked where a merge can break them.

Each side is valid by itself. So a rule can only break where it looks at rows of both: a table that
took over rows, or edges of one side beside nodes of the other. Everything else is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from omnigraph.branching.conflicts import Conflict, Conflicts, of_violation
from omnigraph.branching.differences import touched_rows
from omnigraph.branching.entities import changes_of_source
from omnigraph.branching.overlay import LiftedTable, Overlaid
from omnigraph.branching.sides import Side, TypeSides, Way, same_rows
from omnigraph.branching.taken import Taken
from omnigraph.errors import ConstraintViolation, LoadError
from omnigraph.schema import Catalog, EdgeType, NodeType
from omnigraph.schema.arrow import table_schema
from omnigraph.schema.catalog import GraphType
from omnigraph.storage.table_views import TableView
from omnigraph.storage.tables import Tables
from omnigraph.storage.validation import (
    FinalImage,
    cardinality_violations,
    endpoint_violations,
    reference_violations,
    unique_everywhere,
    unique_rule_violations,
)
from omnigraph.storage.value_checks import value_problems

Problems = Iterator[ConstraintViolation | LoadError]


@dataclass
class Piece:
    """What becomes of the table of one type of the merged schema."""

    tables: Tables
    sides: TypeSides
    merged: GraphType
    way: Way
    rows_taken: Taken | None = None
    """What the target's table takes over, where rows are merged."""

    @cached_property
    def change(self) -> Taken:
        """How the table will differ from the target's."""
        return self.rows_taken or changes_of_source(self.tables, self.sides)

    @property
    def like_target(self) -> bool:
        """Whether it shows the target's rows and no others."""
        if self.rows_taken is not None:
            return not self.rows_taken.anything
        return self.way == "keep"

    @property
    def like_source(self) -> bool:
        """Whether it shows the source's rows and no others."""
        return self.way == "take" or (
            self.way == "keep" and same_rows(self.sides.source, self.sides.target)
        )

    @property
    def side(self) -> Side:
        """The side whose table stays, or is built upon."""
        found = self.sides.source if self.way == "take" else self.sides.target
        assert found is not None
        return found

    @cached_property
    def view(self) -> TableView:
        """The table as it will be."""
        table = LiftedTable(self.tables, self.side, self.merged)
        return Overlaid(table, self.rows_taken) if self.rows_taken is not None else table

    @cached_property
    def met(self) -> TableView:
        """What is taken over, beside what the target wrote since the base."""
        base, target = self.sides.base, self.sides.target
        if base is None or target is None or self.rows_taken is None:
            return self.view
        _, new = touched_rows(self.tables, base.image, target.image)
        table = LiftedTable(self.tables, target, self.merged, only=new)
        return Overlaid(table, self.rows_taken)


def check_integrity(
    catalog: Catalog, pieces: Mapping[str, Piece], conflicts: Conflicts, *, trusted: bool
) -> None:
    """Note every rule that the merged image breaks.

    `trusted` says that the source keeps the rules between its own entities; where it skipped
    those checks, all that it changed is checked now.
    """
    # Changes are looked for piece by piece, where a rule needs them.
    check = _Check(FinalImage(catalog, {}, lambda key: pieces[key].view), pieces, trusted)
    for piece in pieces.values():
        for conflict in check.values(piece):
            conflicts.add(conflict)
    for rule in (check.uniques, check.endpoints, check.references, check.cardinalities):
        for piece in pieces.values():
            for violation in rule(piece):
                conflicts.add(of_violation(piece.merged, violation))


@dataclass(frozen=True)
class _Check:
    image: FinalImage
    pieces: Mapping[str, Piece]
    trusted: bool

    def _settled(self, pieces: Iterable[Piece]) -> bool:
        """Whether one side showed all of these tables just so, and had checked them together."""
        several = list(pieces)
        if all(piece.like_target for piece in several):
            return True
        return self.trusted and all(piece.like_source for piece in several)

    def _at(self, *keys: str) -> list[Piece]:
        return [self.pieces[key] for key in keys]

    def values(self, piece: Piece) -> Iterator[Conflict]:
        """Each broken rule once: no entity is named."""
        columns = table_schema(piece.merged).names
        if _value_rules(piece.merged) - _value_rules(piece.side.type):
            chunks = piece.view.scan(columns)
        elif piece.rows_taken is not None:
            chunks = piece.rows_taken.buffer.scan(columns)
        else:
            return
        found: dict[tuple[object, ...], Conflict] = {}
        for rows in chunks:
            for problem in value_problems(piece.merged, rows):
                conflict = of_violation(piece.merged, problem)
                found.setdefault((problem.code, *_place(problem)), conflict)
        yield from found.values()

    def uniques(self, piece: Piece) -> Problems:
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

    def endpoints(self, piece: Piece) -> Problems:
        edge = piece.merged
        if isinstance(edge, EdgeType) and not piece.like_target:
            ends = self._at(f"node:{edge.src}", f"node:{edge.dst}")
            if not self._settled([piece, *ends]):
                yield from endpoint_violations(self.image, piece.change)

    def references(self, piece: Piece) -> Problems:
        node = piece.merged
        if isinstance(node, NodeType) and not piece.like_target:
            edges = (e.table_key for e in self.image.catalog.edges_touching(node.name))
            touching = self._at(*edges)
            # The source keeps no edge of a node that it removed: only the target can have one.
            apart = not self.trusted or any(edge.sides.target_moved for edge in touching)
            if apart and not self._settled([piece, *touching]):
                yield from reference_violations(self.image, piece.change)

    def cardinalities(self, piece: Piece) -> Problems:
        edge = piece.merged
        if not isinstance(edge, EdgeType) or piece.like_target:
            return
        if not self._settled([piece, *self._at(f"node:{edge.src}")]):
            yield from cardinality_violations(self.image, piece.change)


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
