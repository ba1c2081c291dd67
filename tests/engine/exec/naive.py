"""A deliberately simple evaluator of patterns: every assignment is tried, nothing is clever."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from omnigraph.query.logical.expressions import (
    Aggregate,
    Compare,
    Condition,
    Contains,
    Literal,
    Membership,
    NodeRef,
    Param,
    PropertyRef,
    StartsWith,
)
from omnigraph.query.logical.logical_plan import Expand, Pattern, ReadPlan
from omnigraph.storage.refs.snapshot import Snapshot

Entity = Mapping[str, Any]
Row = dict[str, Entity]
COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass
class Naive:
    nodes: dict[str, list[Entity]]
    edges: dict[str, list[Entity]]
    params: Mapping[str, Any]

    @classmethod
    def of(cls, snapshot: Snapshot, params: Mapping[str, Any] | None = None) -> Naive:
        def rows(type_name: str) -> list[Entity]:
            found: list[Entity] = snapshot.scan(type_name).read_all().to_pylist()
            return found

        catalog = snapshot.catalog
        return cls(
            {name: rows(f"node:{name}") for name in catalog.nodes},
            {name: rows(f"edge:{name}") for name in catalog.edges},
            params or {},
        )

    def rows(self, plan: ReadPlan) -> list[tuple[Any, ...]]:
        """The rows of a read, in no particular order."""
        found = list(self.matches(plan.pattern, {}))
        if plan.group_by is None:
            return [tuple(self.value(c.expr, row) for c in plan.columns) for row in found]
        groups: dict[tuple[Any, ...], list[Row]] = {} if plan.group_by else {(): []}
        for row in found:
            key = tuple(self.value(plan.columns[i].expr, row) for i in plan.group_by)
            groups.setdefault(key, []).append(row)
        result = []
        for key, members in groups.items():
            keys = iter(key)
            result.append(
                tuple(
                    self.aggregate(c.expr, members) if isinstance(c.expr, Aggregate) else next(keys)
                    for c in plan.columns
                )
            )
        return result

    def aggregate(self, agg: Aggregate, rows: list[Row]) -> Any:  # noqa: ANN401
        values = [v for row in rows if (v := self.value(agg.argument, row)) is not None]
        if agg.function == "count":
            return len(values)
        if not values:
            return None
        if agg.function in ("sum", "avg"):
            total = float(sum(values))
            return total if agg.function == "sum" else total / len(values)
        return (min if agg.function == "min" else max)(values)

    def matches(self, pattern: Pattern, outer: Row) -> Iterator[Row]:
        fresh = [scan.variable for scan in pattern.scans if scan.variable not in outer]
        types = {scan.variable: scan.type_name for scan in pattern.scans}
        conditions = [c for scan in pattern.scans for c in scan.predicates]
        for chosen in product(*(self.nodes[types[name]] for name in fresh)):
            row = {**outer, **dict(zip(fresh, chosen, strict=True))}
            for bound in self.walked(list(pattern.expands), row):
                if not all(self.holds(c, bound) for c in (*conditions, *pattern.filters)):
                    continue
                inner = [negation.pattern for negation in pattern.negations]
                if not any(next(self.matches(block, bound), None) for block in inner):
                    yield bound

    def walked(self, expands: list[Expand], row: Row) -> Iterator[Row]:
        if not expands:
            yield row
            return
        first, *rest = expands
        left, right = row[first.left]["id"], row[first.right]["id"]
        if first.edge is None:
            if right in self.reached(first, left):
                yield from self.walked(rest, row)
            return
        for edge in self.edges[first.edge_type]:
            ends = {
                "forward": [(edge["src"], edge["dst"])],
                "reverse": [(edge["dst"], edge["src"])],
                "undirected": [(edge["src"], edge["dst"]), (edge["dst"], edge["src"])],
            }[first.direction]
            if (left, right) in ends:
                yield from self.walked(rest, {**row, first.edge: edge})

    def reached(self, expand: Expand, source: str) -> set[str]:
        """Section 3, word by word."""
        follow: dict[str, set[str]] = {}
        for edge in self.edges[expand.edge_type]:
            if expand.direction != "reverse":
                follow.setdefault(edge["src"], set()).add(edge["dst"])
            if expand.direction != "forward":
                follow.setdefault(edge["dst"], set()).add(edge["src"])
        if expand.max_hops == 1:
            return follow.get(source, set()) if expand.min_hops == 1 else set()
        visited, frontier, emitted = {source}, {source}, set()
        for hop in range(1, expand.max_hops + 1):
            after: set[str] = set()
            for u in frontier:
                for v in follow.get(u, ()):
                    if v == u:
                        if hop >= expand.min_hops:
                            emitted.add(v)
                    elif v not in visited:
                        visited.add(v)
                        after.add(v)
                        if hop >= expand.min_hops:
                            emitted.add(v)
            frontier = after
        return emitted

    def holds(self, condition: Condition, row: Row) -> bool:
        match condition:
            case Compare():
                left, right = self.value(condition.left, row), self.value(condition.right, row)
                return None not in (left, right) and COMPARE[condition.operator](left, right)
            case Contains():
                text, part = self.value(condition.text, row), self.value(condition.part, row)
                return None not in (text, part) and part in text
            case StartsWith():
                text, part = self.value(condition.text, row), self.value(condition.prefix, row)
                return None not in (text, part) and text.startswith(part)
            case Membership():
                items, item = self.value(condition.list, row), self.value(condition.item, row)
                return item is not None and item in (items or ())
            case _:
                raise AssertionError("the random queries use no other kind")

    def value(self, expr: Any, row: Row) -> Any:  # noqa: ANN401
        match expr:
            case PropertyRef():
                return row[expr.variable][expr.property]
            case NodeRef():
                return row[expr.variable]["id"]
            case Literal():
                return list(expr.value) if isinstance(expr.value, tuple) else expr.value
            case Param():
                return self.params[expr.name]
            case _:
                raise AssertionError("the random queries use no other kind")
