"""The tables a query reads, each with the columns it needs."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from omnigraph.query.logical import EntityKind


@dataclass
class ReferencedColumns:
    """Which columns of which tables the SQL made so far mentions."""

    prefix: str
    """What the names of the views begin with."""
    columns: dict[tuple[EntityKind, str], dict[str, None]] = field(default_factory=dict)

    def use(self, kind: EntityKind, type_name: str, *columns: str) -> exp.Table:
        """A table by its view, with columns that will be read."""
        fixed = ("id",) if kind == "node" else ("id", "src", "dst")
        known = self.columns.setdefault((kind, type_name), dict.fromkeys(fixed))
        known.update(dict.fromkeys(columns))
        return exp.to_table(self.view(kind, type_name))

    def view(self, kind: EntityKind, type_name: str) -> str:
        """The name of the view of a table."""
        return f"{self.prefix}_{list(self.columns).index((kind, type_name))}"


def column(alias: str, name: str) -> exp.Column:
    """A column of an aliased table; the name may be any text."""
    return exp.column(exp.to_identifier(name, quoted=True), table=alias)
