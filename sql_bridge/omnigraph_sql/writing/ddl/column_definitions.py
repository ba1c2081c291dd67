"""The column list of a CREATE TABLE: columns, keys, checks, defaults and comments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph.tables import TableDeclaration
from omnigraph_sql.frontend.identifiers import IdentifierPart
from omnigraph_sql.frontend.sql_types import arrow_type
from omnigraph_sql.writing.statement.column_defaults import DEFAULTS


@dataclass
class ColumnDefinitions:
    """What the parentheses of a CREATE TABLE say."""

    columns: list[pa.Field] = field(default_factory=list)
    primary_key: tuple[str, ...] = ()
    uniques: list[tuple[str, ...]] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    defaults: dict[str, str] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)

    def schema(self) -> pa.Schema:
        """The columns; those of the primary key are never null."""
        return required(pa.schema(self.columns), self.primary_key)

    def declaration(
        self, comment: str | None = None, properties: Mapping[str, object] | None = None
    ) -> TableDeclaration:
        """The rest, as the store keeps it."""
        said = dict(properties or {})
        if self.defaults:
            said[DEFAULTS] = dict(self.defaults)
        return TableDeclaration(
            primary_key=self.primary_key,
            uniques=tuple(self.uniques),
            checks=tuple(self.checks),
            comment=comment,
            column_comments=dict(self.comments),
            properties=said,
        )


def required(schema: pa.Schema, columns: Sequence[str]) -> pa.Schema:
    """A schema in which these columns are not nullable."""
    return pa.schema(f.with_nullable(f.nullable and f.name not in columns) for f in schema)


def declared(items: Iterable[exp.Expr], known: Sequence[str] = ()) -> ColumnDefinitions:
    """Read a column list; keys may name columns that are known otherwise."""
    found = ColumnDefinitions()
    rest = []
    for item in items:
        if isinstance(item, exp.ColumnDef):
            read_column(item, found)
        else:
            rest.append(item)
    names = [*(f.name for f in found.columns), *known]
    for item in rest:
        read_constraint(item, found, names)
    return found


def read_column(column: exp.ColumnDef, found: ColumnDefinitions) -> None:
    """One column with its constraints."""
    name = column.name
    kind = column.args.get("kind")
    if kind is None:
        raise InvalidInput(f"the column {name!r} has no type", hint="Write one, such as TEXT.")
    nullable = True
    for constraint in column.args.get("constraints") or ():
        rule = constraint.args["kind"]
        match rule:
            case exp.NotNullColumnConstraint():
                nullable = bool(rule.args.get("allow_null"))
            case exp.PrimaryKeyColumnConstraint():
                found.primary_key, nullable = (name,), False
            case exp.UniqueColumnConstraint():
                found.uniques.append((name,))
            case exp.CheckColumnConstraint():
                found.checks.append(check_text(rule.this))
            case exp.DefaultColumnConstraint():
                found.defaults[name] = rule.this.sql("postgres")
            case exp.CommentColumnConstraint():
                found.comments[name] = rule.this.name
            case exp.GeneratedAsIdentityColumnConstraint() | exp.AutoIncrementColumnConstraint():
                raise InvalidInput(
                    f"{name!r} would be numbered by the table, which is not supported",
                    hint="Give the numbers with the rows.",
                )
    found.columns.append(pa.field(name, arrow_type(kind), nullable))


def read_constraint(item: exp.Expr, found: ColumnDefinitions, names: Sequence[str]) -> None:
    """A constraint of the whole table; foreign keys are taken note of by nobody."""
    if isinstance(item, exp.Constraint):
        for inner in item.expressions:
            read_constraint(inner, found, names)
        return
    match item:
        case exp.PrimaryKey():
            found.primary_key = _columns(item.expressions, names)
        case exp.UniqueColumnConstraint():
            inner = item.this
            found.uniques.append(_columns(inner.expressions if inner else [], names))
        case exp.CheckColumnConstraint():
            found.checks.append(check_text(item.this))
        case exp.ForeignKey():
            return
        case _:
            raise InvalidInput(f"{item.sql()} is not supported in a table")


def _columns(given: Sequence[exp.Expr], names: Sequence[str]) -> tuple[str, ...]:
    found = []
    for column in given:
        inner = column.this if isinstance(column, exp.Ordered) else column
        picked = IdentifierPart(inner.name).pick(names)
        if picked is None:
            raise InvalidInput(
                f"a key names the column {inner.name!r}, which the table does not have"
            )
        found.append(picked)
    return tuple(found)


def check_text(condition: exp.Expr) -> str:
    """A check as the tables evaluate it: names in backticks."""
    inner = condition.this if isinstance(condition, exp.Paren) else condition
    return inner.sql(dialect="spark", identify=True)
