"""EXCEPT ALL and INTERSECT ALL, which DataFusion has, but without counting rows."""

from __future__ import annotations

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.identifiers import quoted
from omnigraph_sql.resolve.column_sources import result_columns
from omnigraph_sql.resolve.rewrite_context import RewriteContext

_AGAIN = "number of the row"


def expand_bag_operations(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """EXCEPT ALL and INTERSECT ALL over numbered rows, which are all different; innermost first.

    SELECT city FROM person AS p EXCEPT ALL SELECT sku FROM item AS i
    -> SELECT "column 0" AS "city" FROM (SELECT "column 0", ROW_NUMBER() OVER (PARTITION BY "column
    0") AS "number of the row" FROM (SELECT city FROM person AS p) AS "side"("column 0") EXCEPT
    SELECT "column 0", ROW_NUMBER() OVER (PARTITION BY "column 0") AS "number of the row" FROM
    (SELECT sku FROM item AS i) AS "side"("column 0")) AS "rows"

    DataFusion drops, or keeps, every row that has an equal one.
    """
    for operation in reversed(list(tree.find_all(exp.Except, exp.Intersect))):
        if operation.args.get("distinct") is False:
            above, counted = operation.parent, _counted(operation, context)
            if above is None:
                tree = counted
            else:
                operation.replace(counted)
    return tree


def _counted(operation: exp.SetOperation, context: RewriteContext) -> exp.Select:
    outputs = result_columns(operation.this, context)
    if outputs is None:
        raise InvalidInput(
            "EXCEPT ALL and INTERSECT ALL need to know the columns of their queries",
            hint="Write the columns instead of *.",
        )
    others = result_columns(operation.expression, context)
    if others is not None and len(others) != len(outputs):
        raise InvalidInput(
            f"a set operation has a query of {len(outputs)} columns and one of {len(others)}",
            hint="Give both the same number of columns.",
        )
    columns = [f"column {place}" for place in range(len(outputs))]
    sides = [_numbered(side, columns) for side in (operation.this, operation.expression)]
    distinct = type(operation)(this=sides[0], expression=sides[1], distinct=True)
    rows = exp.Subquery(this=distinct, alias=exp.TableAlias(this=quoted("rows")))
    select = exp.Select(
        expressions=[
            exp.Alias(this=exp.Column(this=quoted(column)), alias=quoted(output))
            for column, output in zip(columns, outputs, strict=True)
        ]
    ).from_(rows)
    for clause in ("with_", "order", "limit", "offset"):
        select.set(clause, operation.args.get(clause))
    return select


def _numbered(side: exp.Expr, columns: list[str]) -> exp.Select:
    query = side
    while isinstance(query, exp.Subquery) and not any(
        v for k, v in query.args.items() if k != "this"
    ):
        query = query.this
    alias = exp.TableAlias(this=quoted("side"), columns=[quoted(column) for column in columns])
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[exp.Column(this=quoted(column)) for column in columns],
        over="OVER",
    )
    return exp.Select(
        expressions=[
            *(exp.Column(this=quoted(column)) for column in columns),
            exp.Alias(this=number, alias=quoted(_AGAIN)),
        ]
    ).from_(exp.Subquery(this=query, alias=alias))
