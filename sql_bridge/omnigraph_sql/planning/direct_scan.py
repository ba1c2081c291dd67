"""Queries that the store answers itself: columns of one table, a simple condition, a limit.

DataFusion adds a plan per execution and a copy per batch to what the store does itself. Only
conditions whose answer is the same in both qualify: comparisons of a column with a value of its own
kind, IN, BETWEEN and IS NULL, joined by AND, OR and NOT.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa
from sqlglot import exp

from omnigraph.query.logical import MIRRORED
from omnigraph.schema import exact_values
from omnigraph.tables import (
    ADDRESS,
    AllOf,
    AnyOf,
    ColumnCompare,
    ColumnIn,
    ColumnIsNull,
    CompareOperator,
    Negated,
    NotExpressible,
    Predicate,
    ReadableTable,
    lance_filter,
)
from omnigraph_sql.frontend.conjuncts import conjuncts
from omnigraph_sql.frontend.sql_types import is_text
from omnigraph_sql.resolve.rewrite_context import RewriteContext

_CLAUSES = frozenset({"expressions", "from_", "where", "limit", "offset", "kind", "hint"})
_OPERATORS: dict[type[exp.Expr], CompareOperator] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}

ScalarValues = Mapping[str, pa.Scalar]


@dataclass(frozen=True)
class DirectScan:
    """A query that the store can answer alone."""

    table: ReadableTable
    columns: tuple[str, ...]
    condition: exp.Expr | None
    limit: exp.Expr | None
    offset: exp.Expr | None
    part: slice | None

    @cached_property
    def finds_one_row(self) -> bool:
        """Whether the condition selects the row of one id."""
        if not self.table.identified or self.limit or self.offset or self.part:
            return False
        return any(map(_is_of_one_id, conjuncts(self.condition)))

    def find(self, values: ScalarValues) -> pa.Table | None:
        """The row of one id, at once; none where it may select more, or the store cannot."""
        if not self.finds_one_row or self.condition is None:
            return None
        try:
            condition = _filter(self.condition, self, values)
        except NotExpressible:
            return None
        return self.table.find(self.columns, condition).select(list(self.columns))

    def open(self, values: ScalarValues) -> pa.RecordBatchReader | None:
        """The rows for these parameters; none where a value makes it a query for DataFusion."""
        bounds = self.bounds(values)
        return None if bounds is None else self.table.scan(self.columns, part=self.part, **bounds)

    def bounds(self, values: ScalarValues | None) -> dict[str, Any] | None:
        """Condition, limit and offset as the store takes them; none where it cannot.

        Without values, whether it can whatever the parameters are.
        """
        try:
            return {
                "filter": None if self.condition is None else _filter(self.condition, self, values),
                "limit": _count(self.limit, values),
                "offset": _count(self.offset, values),
            }
        except NotExpressible:
            return None


def direct_scan(tree: exp.Expr, scope: RewriteContext) -> DirectScan | None:
    """A rewritten query as a scan by the store, if it is no more than that."""
    if not isinstance(tree, exp.Select) or len(scope.tables) != 1 or scope.reads_temporary_rows:
        return None
    if any(value for clause, value in tree.args.items() if clause not in _CLAUSES):
        return None
    from_ = tree.args.get("from_")
    table = scope.tables[0]
    if from_ is None or not isinstance(from_.this, exp.Table) or not table.scannable:
        return None
    if any(from_.this.args.get(extra) for extra in ("joins", "laterals", "sample", "pivots")):
        return None
    alias = from_.this.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
        return None  # its columns have other names here
    columns = _columns(tree, table)
    if columns is None:
        return None
    where, limit, offset = (tree.args.get(clause) for clause in ("where", "limit", "offset"))
    scan = DirectScan(
        table,
        columns,
        where.this if where else None,
        limit.expression if limit else None,
        offset.expression if offset else None,
        scope.part,
    )
    return scan if scan.bounds(None) is not None else None


def _is_of_one_id(node: exp.Expr) -> bool:
    if not isinstance(node, exp.EQ):
        return False
    return any(isinstance(s, exp.Column) and s.name == "id" for s in (node.this, node.expression))


def _columns(select: exp.Select, table: ReadableTable) -> tuple[str, ...] | None:
    """The stored columns that a SELECT projects, in its order."""
    if len(select.expressions) == 1 and isinstance(select.expressions[0], exp.Star):
        star = select.expressions[0]
        return None if any(star.args.values()) else tuple(table.schema.names)
    columns = [projection.unalias() for projection in select.expressions]
    if not all(isinstance(c, exp.Column) and not isinstance(c.this, exp.Star) for c in columns):
        return None
    names = [column.name for column in columns]
    stored = {*table.schema.names, ADDRESS}
    return tuple(names) if len(set(names)) == len(names) and stored.issuperset(names) else None


# --------------------------------------------------------------------------- conditions


def _filter(node: exp.Expr, scan: DirectScan, values: ScalarValues | None) -> str:
    """A condition as Lance reads it; without values, only whether it can be written."""
    return lance_filter(_predicate(node, scan, values), scan.table.schema)


def _predicate(node: exp.Expr, scan: DirectScan, values: ScalarValues | None) -> Predicate:
    match node:
        case exp.Paren():
            return _predicate(node.this, scan, values)
        case exp.And() | exp.Or():
            parts = tuple(_predicate(part, scan, values) for part in node.flatten())
            return AllOf(parts) if isinstance(node, exp.And) else AnyOf(parts)
        case exp.Not():
            return Negated(_predicate(node.this, scan, values))
        case exp.Is() if isinstance(node.expression, exp.Null):
            test = ColumnIsNull(_column(node.this, scan)[0])
            return Negated(test) if node.args.get("negate") else test
        case exp.In() if node.expressions and not node.args.get("negate"):
            name, type_ = _column(node.this, scan)
            return ColumnIn(name, [_value(one, type_, values) for one in node.expressions])
        case exp.Between() if not (node.args.get("symmetric") or node.args.get("negate")):
            name, type_ = _column(node.this, scan)
            low, high = (_value(node.args[side], type_, values) for side in ("low", "high"))
            return AllOf((ColumnCompare(name, ">=", low), ColumnCompare(name, "<=", high)))
    operator = _OPERATORS.get(type(node))
    if operator is None or node.args.get("negate"):
        raise NotExpressible
    left, right = node.this, node.expression
    if not isinstance(left, exp.Column):
        left, right, operator = right, left, MIRRORED[operator]
    name, type_ = _column(left, scan)
    return ColumnCompare(name, operator, _value(right, type_, values))


def _column(node: exp.Expr, scan: DirectScan) -> tuple[str, pa.DataType]:
    if not isinstance(node, exp.Column) or node.name not in scan.table.schema.names:
        raise NotExpressible
    return node.name, scan.table.schema.field(node.name).type


def _value(node: exp.Expr, type_: pa.DataType, values: ScalarValues | None) -> Any:  # noqa: ANN401
    """A literal or a parameter of a column's own kind."""
    if isinstance(node, exp.Parameter):
        if values is None:
            return _typed("" if is_text(type_) else 0, type_)
        return _typed(values[node.name].as_py(), type_)
    inner = node.this if isinstance(node, exp.Neg) else node
    if isinstance(inner, exp.Literal) and (inner is node or not inner.is_string):
        literal = inner.to_py()
        if inner is not node and not isinstance(literal, str):
            literal = -literal
        return _typed(literal, type_)
    if isinstance(inner, exp.Cast) and inner.to.this == exp.DataType.Type.DOUBLE:
        number = _number(inner.this)
        return _typed(number if inner is node else -number, type_)
    raise NotExpressible


def _number(node: exp.Expr) -> float:
    """The DOUBLE that a text is cast to."""
    try:
        if isinstance(node, exp.Literal) and "_" not in node.name:
            return float(node.name)
    except ValueError:
        pass
    raise NotExpressible


def _typed(value: Any, type_: pa.DataType) -> Any:  # noqa: ANN401
    """A value of the column's own type; where the types differ, DataFusion converts one of them."""
    if is_text(type_) and isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise NotExpressible
    if pa.types.is_integer(type_) and isinstance(value, int) and exact_values([value], type_):
        return value
    if type_ == pa.float64() and abs(float(value)) < 2**53:
        return float(value)
    raise NotExpressible


def _count(node: exp.Expr | None, values: ScalarValues | None) -> int | None:
    if node is None:
        return None
    if isinstance(node, exp.Parameter) and values is not None:
        count = values[node.name].as_py()
    elif isinstance(node, exp.Parameter):
        return 0
    elif isinstance(node, exp.Literal) and node.is_int:
        count = int(node.name)
    else:
        raise NotExpressible
    if not isinstance(count, int) or count < 0:
        raise NotExpressible
    return count
