"""The column list of a CREATE TABLE: columns, keys, checks, defaults and comments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph.tables import TableDeclaration
from omnigraph_sql.frontend.identifiers import pick_name
from omnigraph_sql.frontend.sql_types import arrow_type
from omnigraph_sql.writing.statement.column_mapping import DEFAULTS

_COMPUTED = (
    exp.AutoIncrementColumnConstraint,
    exp.ComputedColumnConstraint,
    exp.GeneratedAsIdentityColumnConstraint,
    exp.GeneratedAsRowColumnConstraint,
    exp.OnUpdateColumnConstraint,
)


@dataclass
class ColumnDefinitions:
    """The columns and constraints that a statement declares."""

    columns: list[pa.Field] = field(default_factory=list)
    primary_key: tuple[str, ...] = ()
    uniques: list[tuple[str, ...]] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    defaults: dict[str, str] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)

    def schema(self) -> pa.Schema:
        """The columns; those of the primary key are never null."""
        return required(pa.schema(self.columns), self.primary_key)

    def declaration(self, comment: str | None = None) -> TableDeclaration:
        """The constraints, defaults and comments, as a table stores them."""
        return TableDeclaration(
            primary_key=self.primary_key,
            uniques=tuple(self.uniques),
            checks=tuple(self.checks),
            comment=comment,
            column_comments=dict(self.comments),
            properties={DEFAULTS: dict(self.defaults)} if self.defaults else {},
        )


def required(schema: pa.Schema, columns: Sequence[str]) -> pa.Schema:
    """A schema in which these columns are not nullable."""
    return pa.schema(f.with_nullable(f.nullable and f.name not in columns) for f in schema)


def column_definitions(items: Iterable[exp.Expr], known: Sequence[str] = ()) -> ColumnDefinitions:
    """Read columns and constraints; keys may name columns that are known otherwise."""
    definitions, listed = ColumnDefinitions(), list(items)
    for item in listed:
        if isinstance(item, exp.ColumnDef):
            _read_column(item, definitions)
    names = [*(f.name for f in definitions.columns), *known]
    for item in listed:
        if not isinstance(item, exp.ColumnDef):
            _read_constraint(item, definitions, names)
    return definitions


def _read_column(column: exp.ColumnDef, definitions: ColumnDefinitions) -> None:
    """One column with its constraints."""
    name, nullable = column.name, True
    type_, rules = type_and_rules(column)
    for rule in rules:
        match rule:
            case exp.NotNullColumnConstraint():
                nullable = bool(rule.args.get("allow_null"))
            case exp.PrimaryKeyColumnConstraint():
                definitions.primary_key, nullable = (name,), False
            case exp.UniqueColumnConstraint():
                definitions.uniques.append((name,))
            case exp.CheckColumnConstraint():
                definitions.checks.append(_check_text(rule.this))
            case exp.DefaultColumnConstraint():
                definitions.defaults[name] = rule.this.sql("postgres")
            case exp.CommentColumnConstraint():
                definitions.comments[name] = rule.this.name
    definitions.columns.append(pa.field(name, type_, nullable))


def type_and_rules(column: exp.ColumnDef) -> tuple[pa.DataType, list[exp.Expr]]:
    """The type of a column and its constraints, none of which asks the table for values."""
    kind = column.args.get("kind")
    if kind is None:
        raise InvalidInput(
            f"the column {column.name!r} has no type", hint="Write one, such as TEXT."
        )
    rules = [constraint.args["kind"] for constraint in column.args.get("constraints") or ()]
    if any(isinstance(rule, _COMPUTED) for rule in rules):
        raise InvalidInput(
            f"{column.name!r} is computed by the table, which is not supported",
            hint="Give its values with the rows.",
        )
    return arrow_type(kind), rules


def _read_constraint(item: exp.Expr, definitions: ColumnDefinitions, names: Sequence[str]) -> None:
    """A constraint of the whole table; foreign keys are accepted and not checked."""
    if isinstance(item, exp.Constraint):
        for inner in item.expressions:
            _read_constraint(inner, definitions, names)
        return
    match item:
        case exp.PrimaryKey():
            definitions.primary_key = _columns(item.expressions, names)
        case exp.UniqueColumnConstraint():
            inner = item.this
            definitions.uniques.append(_columns(inner.expressions if inner else [], names))
        case exp.CheckColumnConstraint():
            definitions.checks.append(_check_text(item.this))
        case exp.ForeignKey():
            return
        case _:
            raise InvalidInput(f"{item.sql()} is not supported in a table")


def _columns(given: Sequence[exp.Expr], names: Sequence[str]) -> tuple[str, ...]:
    columns = []
    for column in given:
        name = (column.this if isinstance(column, exp.Ordered) else column).name
        picked = pick_name(name, names)
        if picked is None:
            raise InvalidInput(f"a key names the column {name!r}, which the table does not have")
        columns.append(picked)
    return tuple(columns)


def _check_text(condition: exp.Expr) -> str:
    """A check as the tables evaluate it: names in backticks."""
    inner = condition.this if isinstance(condition, exp.Paren) else condition
    return inner.sql(dialect="spark", identify=True)
