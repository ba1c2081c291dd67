"""Patterns as joins: node tables, edge relations, conditions, and anti-joins for negations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from sqlglot import exp

from omnigraph.query.logical import (
    Aggregate,
    AntiJoin,
    Compare,
    Condition,
    Contains,
    Expand,
    Expr,
    Membership,
    NodeRef,
    Pattern,
    PropertyRef,
    StartsWith,
    VariableInfo,
    variables_of,
)
from omnigraph_spark.gq.conditions import condition_sql
from omnigraph_spark.gq.constants import Constants
from omnigraph_spark.gq.edge_relations import edge_relation, pair_relation
from omnigraph_spark.gq.table_columns import ReferencedColumns, column


def references(expr: Condition | Expr) -> Iterator[PropertyRef]:
    """The properties that an expression reads."""
    match expr:
        case PropertyRef():
            yield expr
        case Compare():
            yield from _references(expr.left, expr.right)
        case Contains():
            yield from _references(expr.text, expr.part)
        case StartsWith():
            yield from _references(expr.text, expr.prefix)
        case Membership():
            yield from _references(expr.list, expr.item)
        case Aggregate():
            yield from references(expr.argument)
        case _:
            return


def _references(*exprs: Expr) -> Iterator[PropertyRef]:
    for expr in exprs:
        yield from references(expr)


def conditions_of(pattern: Pattern) -> list[Condition]:
    """What must hold of the variables of a pattern, apart from its edges and negations."""
    return [*(p for scan in pattern.scans for p in scan.predicates), *pattern.filters]


def is_plain(negation: AntiJoin) -> bool:
    """Whether a negation only tests variables of the enclosing pattern: then it needs no join."""
    inner = negation.pattern
    return (
        not inner.expands
        and not inner.negations
        and set(inner.variables) <= set(negation.correlated)
    )


class JoinedPattern:
    """One pattern as a FROM and a WHERE: every row is one binding of its variables.

    Variables of an enclosing pattern are bound here as well: negations are evaluated on their own
    and anti-joined with the enclosing pattern.
    """

    def __init__(
        self,
        pattern: Pattern,
        read: Iterable[PropertyRef],
        tables: ReferencedColumns,
        constants: Constants,
    ) -> None:
        self._pattern = pattern
        self._tables = tables
        self._constants = constants
        self._sources: list[exp.Expr] = []
        self._where: list[exp.Expr] = []
        self._ids: dict[str, exp.Column] = {}
        self._owners: dict[str, str] = {}
        self._properties = self._read_here(read)
        self._bind()

    # ------------------------------------------------------------------ results

    def column(self, ref: PropertyRef | NodeRef) -> exp.Expr:
        """Where the rows have a property, or the id of a node."""
        if isinstance(ref, NodeRef):
            return self.id(ref.variable)
        return column(self._owners[ref.variable], ref.property)

    def id(self, variable: str) -> exp.Column:
        """Where the rows have the id of a variable."""
        return self._ids[variable].copy()

    def select(self, *columns: exp.Expr) -> exp.Select:
        """Some columns of every match."""
        query = exp.select(*columns).from_(self._sources[0])
        for source in self._sources[1:]:
            query = query.join(source, join_type="cross")
        return query.where(*self._where) if self._where else query

    # ------------------------------------------------------------------ binding

    def _read_here(self, read: Iterable[PropertyRef]) -> dict[str, dict[str, None]]:
        properties: dict[str, dict[str, None]] = {name: {} for name in self._pattern.variables}
        tests = list(conditions_of(self._pattern))
        for negation in self._pattern.negations:
            tests += conditions_of(negation.pattern) if is_plain(negation) else []
        for ref in (*read, *(ref for test in tests for ref in references(test))):
            properties[ref.variable][ref.property] = None
        return properties

    def _bind(self) -> None:
        pattern = self._pattern
        by_edges = {end for expand in pattern.expands for end in (expand.left, expand.right)}
        by_edges |= {expand.edge for expand in pattern.expands if expand.edge is not None}
        for name, info in pattern.variables.items():
            # A node of which only the id is read is known by its edges: they never dangle.
            if name not in by_edges or (info.kind == "node" and self._properties[name]):
                self._bind_table(name, info)
        for expand in pattern.expands:
            self._bind_edge(expand)
        for condition in conditions_of(pattern):
            self._where.append(condition_sql(condition, self.column, self._constants))
        for negation in pattern.negations:
            self._where.append(self._without(negation))

    def _bind_table(self, name: str, info: VariableInfo) -> None:
        alias = f"v{len(self._sources)}"
        table = self._tables.use(info.kind, info.type_name, *self._properties[name])
        self._sources.append(table.as_(alias))
        self._ids[name], self._owners[name] = column(alias, "id"), alias

    def _bind_edge(self, expand: Expand) -> None:
        alias = f"v{len(self._sources)}"
        if expand.edge is None:
            relation = pair_relation(self._tables, expand, partial(self._starts, expand))
        else:
            relation = edge_relation(self._tables, expand, self._properties[expand.edge])
            self._ids[expand.edge], self._owners[expand.edge] = column(alias, "id"), alias
        self._sources.append(exp.Subquery(this=relation, alias=exp.TableAlias(this=alias)))
        for end, name in (("l", expand.left), ("r", expand.right)):
            here = column(alias, end)
            if name in self._ids:
                self._where.append(self.id(name).eq(here))
            else:
                self._ids[name] = here

    def _starts(self, expand: Expand) -> exp.Select:
        """The nodes from which longer paths are searched: those that pass their own conditions."""
        info = self._pattern.variables[expand.left]
        tests = [c for c in conditions_of(self._pattern) if variables_of(c) == {expand.left}]
        used = {ref.property: None for test in tests for ref in references(test)}
        table = self._tables.use("node", info.type_name, *used)

        def here(ref: PropertyRef | NodeRef) -> exp.Expr:
            return column("n", ref.property if isinstance(ref, PropertyRef) else "id")

        starts = exp.select(column("n", "id")).from_(table.as_("n"))
        for test in tests:
            starts = starts.where(condition_sql(test, here, self._constants))
        return starts

    # ------------------------------------------------------------------ negation

    def _without(self, negation: AntiJoin) -> exp.Expr:
        if is_plain(negation):
            tests = [
                condition_sql(condition, self.column, self._constants)
                for condition in conditions_of(negation.pattern)
            ]
            return (
                exp.func("COALESCE", exp.and_(*tests), exp.false()).not_() if tests else exp.false()
            )
        inner = JoinedPattern(negation.pattern, (), self._tables, self._constants)
        keys = [name for name in negation.correlated if name in negation.pattern.variables]
        matches = inner.select(*(inner.id(name).as_(f"k{n}") for n, name in enumerate(keys)))
        same = [column("w", f"k{n}").eq(self.id(name)) for n, name in enumerate(keys)]
        return exp.Exists(
            this=exp.select("1").from_(matches.distinct().subquery("w")).where(*same)
        ).not_()
