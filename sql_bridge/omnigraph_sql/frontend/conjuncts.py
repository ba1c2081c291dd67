"""The parts of a condition."""

from __future__ import annotations

from sqlglot import exp

COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)


def conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """What AND connects in a condition; none where there is no condition."""
    if condition is None:
        return []
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
