"""EXCEPT ALL and INTERSECT ALL, which the engine has, but without counting rows."""

from __future__ import annotations

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.rewriting.name_results import result_name
from omnigraph_sql.scope import quoted

_AGAIN = "number of the row"


def all_rows(operation: exp.SetOperation) -> exp.Expr:
    """EXCEPT ALL and INTERSECT ALL over numbered rows, which are all different; others as they are.

    The engine drops, or keeps, every row that has an equal one.
    """
    if operation.args.get("distinct") is not False:
        return operation
    outputs = operation.this.selects
    if any(one.is_star for side in (operation.this, operation.expression) for one in side.selects):
        raise InvalidInput(
            "EXCEPT ALL and INTERSECT ALL compare columns that are named",
            hint="Write the columns instead of *.",
        )
    columns = [f"column {place}" for place in range(len(outputs))]
    sides = [_numbered(side, columns) for side in (operation.this, operation.expression)]
    distinct = type(operation)(this=sides[0], expression=sides[1], distinct=True)
    rows = exp.Subquery(this=distinct, alias=exp.TableAlias(this=quoted("rows")))
    found = exp.Select(
        expressions=[
            exp.Alias(
                this=exp.Column(this=quoted(column)),
                alias=quoted(output.alias_or_name or result_name(output)),
            )
            for column, output in zip(columns, outputs, strict=True)
        ]
    ).from_(rows)
    for clause in ("with_", "order", "limit", "offset"):
        found.set(clause, operation.args.get(clause))
    return found


def _numbered(side: exp.Expr, columns: list[str]) -> exp.Select:
    query = side.this if isinstance(side, exp.Subquery) and not side.alias else side
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
    ).from_(exp.Subquery(this=query.copy(), alias=alias))
