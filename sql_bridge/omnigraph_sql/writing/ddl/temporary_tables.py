"""Temporary tables and views: ordinary ones on the branch, dropped when their session ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter

from sqlglot import exp

from omnigraph_sql.catalog.session_context import SessionContext
from omnigraph_sql.writing.statement.write_statement import WriteStatement, run_write


def is_temporary(statement: exp.Create) -> bool:
    """Whether a table or view is for this session only."""
    return statement.find(exp.TemporaryProperty) is not None


def drop_temporary(session: SessionContext, names: Iterable[tuple[str, str]]) -> None:
    """Drop the temporary tables of a session, as far as they are still there."""
    for catalog, group in groupby(sorted(names), key=itemgetter(0)):
        tables = [name for _, name in group]
        if any(branch.name == catalog for branch in session.graph.branches()):
            run_write(session, catalog, "drop temporary tables", None, partial(_drop_all, tables))


def _drop_all(names: Sequence[str], work: WriteStatement) -> int:
    plain = work.txn.plain
    for name in names:
        if plain.exists(name):
            plain.drop(name)
        elif plain.definition("view", name):
            plain.undefine("view", name)
    return 0
