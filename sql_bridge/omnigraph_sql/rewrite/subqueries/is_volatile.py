"""What is volatile: it may be different when it is evaluated a second time."""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.resolve.column_sources import cte_of

_RANDOM = (exp.Rand, exp.Randn, exp.Uuid, exp.TableSample)
_NUMBERINGS = (exp.RowNumber, exp.Ntile)


def is_volatile(node: exp.Expr) -> bool:
    """Whether two evaluations of an expression or a source may differ while its tables stay.

    A WITH that it reads is looked into, so it has to stand in its statement.
    """
    seen: set[int] = set()
    pending = [node]
    while pending:
        for part in pending.pop().walk():
            if (
                isinstance(part, _RANDOM)
                or _is_unordered_limit(part)
                or _is_unordered_numbering(part)
            ):
                return True
            cte = cte_of(part) if isinstance(part, exp.Table) else None
            if cte is not None and id(cte) not in seen:
                seen.add(id(cte))
                pending.append(cte.this)
    return False


def _is_unordered_limit(node: exp.Expr) -> bool:
    """Whether a query gives some of its rows, and nothing says which."""
    if not isinstance(node, exp.Query) or node.args.get("order"):
        return False
    limit = node.args.get("limit")
    if isinstance(limit, exp.Limit) and limit.expression == exp.Literal.number(0):
        return False
    return limit is not None or node.args.get("offset") is not None


def _is_unordered_numbering(node: exp.Expr) -> bool:
    """Whether rows are numbered in no order."""
    return (
        isinstance(node, exp.Window)
        and isinstance(node.this, _NUMBERINGS)
        and node.args.get("order") is None
    )
