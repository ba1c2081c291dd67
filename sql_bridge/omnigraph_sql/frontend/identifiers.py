"""Identifiers: parts of queries that are built here, and names that statements refer to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from omnigraph.errors import InvalidInput


def quoted(name: str) -> exp.Identifier:
    """A name exactly as it is."""
    return exp.Identifier(this=name, quoted=True)


def called(value: exp.Expr, name: str) -> exp.Alias:
    """An expression under a name; unlike sqlglot's own, also where it is a subquery."""
    return exp.Alias(this=value, alias=quoted(name))


def column_of(table: str | None, name: str) -> exp.Column:
    """A column of a source of the query, or of its only one."""
    return exp.Column(this=quoted(name), table=None if table is None else quoted(table))


def derived_table(query: exp.Expr, alias: str, columns: Sequence[str] = ()) -> exp.Subquery:
    """A query as a source of another one, its columns under other names where these are given."""
    names = {"columns": [quoted(column) for column in columns]} if columns else {}
    return exp.Subquery(this=query, alias=exp.TableAlias(this=quoted(alias), **names))


def name_parts(table: exp.Table) -> list[str]:
    """The parts of a table's name, from the catalog to the table."""
    return [part.name for part in table.parts]


def pick_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is meant: the same, or the only one that differs in case alone."""
    names = list(known)
    if name in names:
        return name
    candidates = [each for each in names if each.casefold() == name.casefold()]
    if len(candidates) > 1:
        raise InvalidInput(
            f"{name!r} is ambiguous: it may be {' or '.join(map(repr, sorted(candidates)))}",
            hint="Write the name in double quotes, exactly as it is.",
        )
    return candidates[0] if candidates else None
