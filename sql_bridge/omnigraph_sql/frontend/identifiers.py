"""Small pieces of the queries that statements are turned into."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from omnigraph.errors import InvalidInput


def called(value: exp.Expr, name: str) -> exp.Alias:
    """An expression under a name; unlike sqlglot's own, also where it is a subquery."""
    return exp.Alias(this=value, alias=quoted(name))


def column_of(table: str, name: str) -> exp.Column:
    """A column of a source of the query."""
    return exp.Column(this=quoted(name), table=exp.to_identifier(table, quoted=True))


def quoted(name: str) -> exp.Identifier:
    """A name exactly as it is."""
    return exp.Identifier(this=name, quoted=True)


@dataclass(frozen=True)
class IdentifierPart:
    """One part of a name as it was written."""

    text: str
    quoted: bool = False

    def pick(self, known: Iterable[str]) -> str | None:
        """The known name meant: the same, or the only one that differs in case alone."""
        names = list(known)
        if self.text in names:
            return self.text
        folded = self.text.casefold()
        close = [name for name in names if name.casefold() == folded]
        if len(close) > 1:
            raise InvalidInput(
                f"{self.text!r} may be {' or '.join(map(repr, sorted(close)))}",
                hint="Write the name in double quotes, exactly as it is.",
            )
        return close[0] if close else None
