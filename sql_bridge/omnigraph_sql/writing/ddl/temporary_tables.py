"""Temporary tables and views: ordinary ones on the branch, dropped when their session ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from omnigraph_sql.writing.statement.write_statement import WriteStatement, run_write

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection


def is_temporary(statement: exp.Create) -> bool:
    """Whether a table or view is for this session only."""
    properties = statement.args.get("properties")
    return any(
        isinstance(item, exp.TemporaryProperty)
        for item in (properties.expressions if properties else ())
    )


def drop_temporary(connection: Connection, names: Iterable[tuple[str, str]]) -> None:
    """Drop what a session made for itself; what is gone already stays gone."""
    by_catalog: dict[str, list[str]] = {}
    for catalog, name in sorted(names):
        by_catalog.setdefault(catalog, []).append(name)
    for catalog, tables in by_catalog.items():
        if not any(branch.name == catalog for branch in connection.graph.branches()):
            continue
        run_write(connection, catalog, "drop temporary tables", None, partial(_drop_all, tables))


def _drop_all(names: Sequence[str], work: WriteStatement) -> int:
    plain = work.txn.plain
    for name in names:
        if plain.exists(name):
            plain.drop(name)
        elif plain.definition("view", name):
            plain.undefine("view", name)
    return 0
