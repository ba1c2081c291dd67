"""WITH RECURSIVE, of which the engine must not leave columns out."""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.frontend.identifiers import quoted


def keep_recursive_columns(cte: exp.CTE) -> None:
    """See to it that every column of a recursion is read.

    The engine leaves a column out that nobody reads, and then takes others for it in each round.
    """
    with_ = cte.parent
    united = cte.this
    if not isinstance(with_, exp.With) or not with_.args.get("recursive"):
        return
    if not isinstance(united, exp.SetOperation) or with_.parent is None:
        return
    names = [one.alias_or_name for one in united.selects]
    if not all(isinstance(one, exp.Alias | exp.Column) for one in united.selects):
        return
    pairs = [part for n in names for part in (exp.Literal.string(n), exp.column(n))]
    there = exp.Not(this=exp.Is(this=exp.func("named_struct", *pairs), expression=exp.null()))
    for table in list(with_.parent.find_all(exp.Table)):
        if table.name.casefold() != cte.alias.casefold() or table.args.get("db"):
            continue
        if any(above is cte for above in _above(table)):
            continue
        alias = exp.TableAlias(this=quoted(table.alias_or_name))
        given = table.args.get("alias")
        if isinstance(given, exp.TableAlias):
            alias.set("columns", given.args.get("columns"))
        rows = exp.select("*").from_(exp.Table(this=table.this.copy())).where(there.copy())
        derived = exp.Subquery(this=rows, alias=alias)
        for extra in ("joins", "pivots", "sample", "laterals"):
            derived.set(extra, table.args.get(extra))
        table.replace(derived)


def _above(node: exp.Expr) -> list[exp.Expr]:
    found = []
    current = node.parent
    while current is not None:
        found.append(current)
        current = current.parent
    return found
