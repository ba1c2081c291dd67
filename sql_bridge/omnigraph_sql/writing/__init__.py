"""Statements that write: each one atomic publish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.parameters import Params

if TYPE_CHECKING:
    from omnigraph_sql.connection import Connection


def run(connection: Connection, expression: exp.Expr, params: Params) -> int:
    """Run a statement that writes; how many rows it changed."""
    raise InvalidInput(f"{expression.key.upper()} cannot be run here")
