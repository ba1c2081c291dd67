"""Parameters of statements that write: which a statement has, and which a part of it needs."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.parameter_types import Params, values_of
from omnigraph_sql.rewrite.names.number_parameters import parameter_name


def is_parameter(value: exp.Expr) -> bool:
    """Whether an expression is a parameter and nothing else."""
    return isinstance(value, exp.Parameter | exp.Placeholder)


def require_values(statement: exp.Expr, params: Params) -> None:
    """Refuse values that are not one for each parameter of a whole statement."""
    if not isinstance(params, pa.RecordBatch):
        values_of(all_names(statement), params)


def all_names(statement: exp.Expr) -> list[str]:
    """The parameters of a whole statement: its names, or every number up to the highest."""
    names = _names(statement)
    if not all(name.isdigit() for name in names):
        return names
    return [str(number) for number in range(1, max(map(int, names), default=0) + 1)]


def values_for(part: exp.Expr, params: Params) -> Params:
    """The values that a part of a statement needs: by number, those up to its highest."""
    names = _names(part)
    by_name = isinstance(params, Mapping | pa.RecordBatch) or not all(n.isdigit() for n in names)
    if params is None or by_name:
        return params
    return list(params)[: max(map(int, names), default=0)]


def _names(tree: exp.Expr) -> list[str]:
    return sorted({parameter_name(n) for n in find_all(tree, exp.Placeholder, exp.Parameter)})
