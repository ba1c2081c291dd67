"""ALTER TABLE and ALTER VIEW: renames, and columns that are added, dropped and changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import AlreadyExists, InvalidInput
from omnigraph.tables import TableDeclaration
from omnigraph_sql.frontend.identifiers import called, column_of, pick_name, quoted
from omnigraph_sql.frontend.sql_types import arrow_type
from omnigraph_sql.writing.ddl.column_definitions import (
    ColumnDefinitions,
    column_definitions,
    required,
)
from omnigraph_sql.writing.ddl.graph_types import alter_type
from omnigraph_sql.writing.ddl.views import rename_view
from omnigraph_sql.writing.statement.column_mapping import DEFAULTS, pick_columns
from omnigraph_sql.writing.statement.row_sinks import sink_for
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import (
    WriteTarget,
    defined_target,
    require,
    target_name,
)

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class TableAlteration:
    """The columns and the declaration that a table will have."""

    table: str
    schema: pa.Schema
    values: Mapping[str, exp.Expr | str | None]
    """Per column: an expression over the old ones, an old column, or none for null."""
    declaration: TableDeclaration

    def column(self, name: str) -> str:
        """A column by the name that a statement uses."""
        (column,) = pick_columns([name], self.schema, self.table)
        return column


def alter(work: WriteStatement, statement: exp.Alter) -> int:
    """Change a table, a view or a type of the graph."""
    target = defined_target(work, statement.this)
    if target.kind == "absent" and statement.args.get("exists"):
        return 0
    require(target, "table", "view", "node", "edge")
    actions = list(statement.args.get("actions") or ())
    if target.is_type:
        return alter_type(work, target, actions)
    if len(actions) == 1 and isinstance(actions[0], exp.AlterRename):
        return _rename(work, target, actions[0].this)
    if target.kind == "view":
        raise InvalidInput(f"{target.full} is a view", hint="Use CREATE OR REPLACE VIEW.")
    _alter_columns(work, target, actions)
    return 0


def _rename(work: WriteStatement, target: WriteTarget, to: exp.Expr) -> int:
    named = target_name(work.session, to)
    new = f"{named.schema or target.schema}.{named.name}"
    if new != target.full and (
        work.txn.plain.exists(new) or work.txn.plain.definition("view", new)
    ):
        raise AlreadyExists(f"there is a table or view {new} already", hint="Drop it first.")
    if target.kind == "view":
        rename_view(work, target, new)
    else:
        work.txn.plain.rename(target.full, new)
    return 0


def _alter_columns(work: WriteStatement, target: WriteTarget, actions: Sequence[exp.Expr]) -> None:
    plain = work.txn.plain
    table = plain.table(target.full)
    unchanged = {name: name for name in table.schema.names}
    after = TableAlteration(target.full, table.schema, unchanged, table.declaration)
    for action in actions:
        after = _altered(after, action)
    if after.schema == table.schema and after.values == unchanged:
        plain.declare(target.full, after.declaration)
        return
    sources = {k: v for k, v in after.values.items() if not isinstance(v, exp.Expr)}
    if len(sources) == len(after.values):
        plain.reshape(target.full, after.schema, sources, after.declaration)
    else:
        _rewrite(work, target, after)


def _rewrite(work: WriteStatement, target: WriteTarget, after: TableAlteration) -> None:
    """Columns that are computed: a query reads the rows, and they are written anew."""
    columns = []
    for name in after.schema.names:
        value = after.values[name]
        new = column_of(None, value) if isinstance(value, str) else value or exp.Null()
        columns.append(called(new.copy(), name))
    source = exp.Table(
        this=quoted(target.name), db=quoted(target.schema), catalog=quoted(work.catalog)
    )
    parts = work.parts(exp.select(*columns).from_(source))
    work.txn.plain.create(target.full, after.schema, after.declaration, replace=True)
    sink = sink_for(work, target)
    for part in parts:
        sink.insert(part)


def _altered(table: TableAlteration, action: exp.Expr) -> TableAlteration:
    """A table after one action of the statement."""
    match action:
        case exp.ColumnDef():
            return _with_column(table, action)
        case exp.Drop(kind="COLUMN"):
            return _without_column(table, action)
        case exp.RenameColumn():
            return _with_renamed_column(table, action)
        case exp.AlterColumn():
            return _with_changed_column(table, action)
        case exp.AddConstraint():
            definitions = column_definitions(action.expressions, table.schema.names)
            return _with_constraints(table, definitions)
    raise InvalidInput(f"{action.sql()} is not supported")


def _with_column(table: TableAlteration, column: exp.ColumnDef) -> TableAlteration:
    if pick_name(column.name, table.schema.names) is not None:
        if column.args.get("exists"):
            return table
        raise AlreadyExists(f"there is a column {column.name!r} already")
    definitions = column_definitions([column])
    (field,) = definitions.columns
    default = column.find(exp.DefaultColumnConstraint)
    extended = replace(
        table,
        schema=table.schema.append(field),
        values={**table.values, field.name: default.this if default is not None else None},
    )
    return _with_constraints(extended, definitions)


def _with_constraints(table: TableAlteration, added: ColumnDefinitions) -> TableAlteration:
    old = table.declaration
    declaration = replace(
        old,
        primary_key=added.primary_key or old.primary_key,
        uniques=(*old.uniques, *added.uniques),
        checks=(*old.checks, *added.checks),
        column_comments={**old.column_comments, **added.comments},
        properties=_with_defaults(old, {**old.properties.get(DEFAULTS, {}), **added.defaults}),
    )
    return replace(table, schema=required(table.schema, added.primary_key), declaration=declaration)


def _without_column(table: TableAlteration, action: exp.Drop) -> TableAlteration:
    column = action.args["tables"][0] if action.args.get("tables") else action.this
    if action.args.get("exists") and pick_name(column.name, table.schema.names) is None:
        return table
    name, old = table.column(column.name), table.declaration
    if name in old.primary_key and not action.args.get("cascade"):
        raise InvalidInput(f"{name!r} belongs to the primary key", hint="Add CASCADE.")
    return replace(
        table,
        schema=pa.schema(field for field in table.schema if field.name != name),
        values=_without(table.values, name),
        declaration=replace(
            old,
            primary_key=() if name in old.primary_key else old.primary_key,
            uniques=tuple(columns for columns in old.uniques if name not in columns),
            checks=tuple(check for check in old.checks if f"`{name}`" not in check),
            column_comments=_without(old.column_comments, name),
            properties=_with_defaults(old, _without(old.properties.get(DEFAULTS, {}), name)),
        ),
    )


def _with_renamed_column(table: TableAlteration, action: exp.RenameColumn) -> TableAlteration:
    old, new = table.column(action.this.name), action.args["to"].name
    if new in table.schema.names:
        raise AlreadyExists(f"there is a column {new!r} already")

    def renamed(name: str) -> str:
        return new if name == old else name

    known = table.declaration
    defaults = {renamed(k): v for k, v in known.properties.get(DEFAULTS, {}).items()}
    return replace(
        table,
        schema=pa.schema(field.with_name(renamed(field.name)) for field in table.schema),
        values={renamed(k): v for k, v in table.values.items()},
        declaration=replace(
            known,
            primary_key=tuple(map(renamed, known.primary_key)),
            uniques=tuple(tuple(map(renamed, columns)) for columns in known.uniques),
            checks=tuple(check.replace(f"`{old}`", f"`{new}`") for check in known.checks),
            column_comments={renamed(k): v for k, v in known.column_comments.items()},
            properties=_with_defaults(known, defaults),
        ),
    )


def _with_changed_column(table: TableAlteration, action: exp.AlterColumn) -> TableAlteration:
    name = table.column(action.this.name)
    index = table.schema.get_field_index(name)
    field = table.schema.field(index)
    values, declaration = dict(table.values), table.declaration
    defaults = dict(declaration.properties.get(DEFAULTS, {}))
    if isinstance(action.args.get("dtype"), exp.Expr):
        field = field.with_type(arrow_type(action.args["dtype"]))
        using = action.args.get("using")
        if isinstance(using, exp.Expr):
            values[name] = using
    if action.args.get("allow_null") is not None:
        field = field.with_nullable(bool(action.args["allow_null"]))
    elif action.args.get("drop"):
        defaults.pop(name, None)
    if isinstance(action.args.get("default"), exp.Expr):
        defaults[name] = action.args["default"].sql("postgres")
    if isinstance(action.args.get("comment"), exp.Expr):
        comments = {**declaration.column_comments, name: action.args["comment"].name}
        declaration = replace(declaration, column_comments=comments)
    declaration = replace(declaration, properties=_with_defaults(declaration, defaults))
    return replace(
        table, schema=table.schema.set(index, field), values=values, declaration=declaration
    )


def _with_defaults(declaration: TableDeclaration, defaults: Mapping[str, str]) -> dict[str, Any]:
    """The properties of a declaration with other defaults of columns."""
    rest = _without(declaration.properties, DEFAULTS)
    return rest | ({DEFAULTS: dict(defaults)} if defaults else {})


def _without(mapping: Mapping[str, _Value], key: str) -> dict[str, _Value]:
    return {k: v for k, v in mapping.items() if k != key}
