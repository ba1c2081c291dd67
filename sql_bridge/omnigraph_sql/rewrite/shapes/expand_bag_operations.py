"""EXCEPT ALL and INTERSECT ALL, which DataFusion has, but without counting rows."""

from __future__ import annotations

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.identifiers import called, column_of, derived_table
from omnigraph_sql.frontend.tree_search import find_all
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
    for operation in reversed(list(find_all(tree, exp.Except, exp.Intersect))):
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
    columns = [f"column {position}" for position in range(len(outputs))]
    sides = [_numbered(side, columns) for side in (operation.this, operation.expression)]
    distinct = type(operation)(this=sides[0], expression=sides[1], distinct=True)
    pairs = zip(columns, outputs, strict=True)
    results = [called(column_of(None, column), output) for column, output in pairs]
    select = exp.Select(expressions=results).from_(derived_table(distinct, "rows"))
    for clause in ("with_", "order", "limit", "offset"):
        select.set(clause, operation.args.get(clause))
    return select


def _numbered(side: exp.Expr, columns: list[str]) -> exp.Select:
    query = side
    while isinstance(query, exp.Subquery) and not any(
        v for k, v in query.args.items() if k != "this"
    ):
        query = query.this
    keys = [column_of(None, column) for column in columns]
    number = exp.Window(
        this=exp.RowNumber(), partition_by=[key.copy() for key in keys], over="OVER"
    )
    results = [*keys, called(number, _AGAIN)]
    return exp.Select(expressions=results).from_(derived_table(query, "side", columns))
