"""ALTER TABLE and ALTER VIEW: renames, and columns that come, go and change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import AlreadyExists, InvalidInput
from omnigraph.tables import TableDeclaration, conformed
from omnigraph_sql.frontend.identifiers import IdentifierPart, called, quoted
from omnigraph_sql.frontend.sql_types import arrow_type
from omnigraph_sql.writing.ddl.column_definitions import (
    ColumnDefinitions,
    read_column,
    read_constraint,
    required,
)
from omnigraph_sql.writing.ddl.graph_types import alter_type
from omnigraph_sql.writing.ddl.views import rename_view
from omnigraph_sql.writing.statement.column_defaults import DEFAULTS
from omnigraph_sql.writing.statement.column_mapping import picked
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import (
    WriteTarget,
    find_target,
    require,
    target_name,
)


@dataclass(frozen=True)
class TableAlteration:
    """A table on its way to other columns: what each is made of, and what is declared."""

    schema: pa.Schema
    values: Mapping[str, exp.Expr | str | None]
    """Per column: an expression over the old ones, an old column, or none for null."""
    declaration: TableDeclaration


def alter(work: WriteStatement, statement: exp.Alter) -> int:
    """Change a table, a view or a type of the graph."""
    named = target_name(work.connection, statement.this)
    target = find_target(work.connection, work.snapshot, named)
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
    _reshape(work, target, actions)
    return 0


def _rename(work: WriteStatement, target: WriteTarget, to: exp.Expr) -> int:
    named = target_name(work.connection, to)
    schema = named.schema.text if named.schema else target.schema
    new = WriteTarget(schema, named.name.text, "absent").full
    if new != target.full and (
        work.txn.plain.exists(new) or work.txn.plain.definition("view", new)
    ):
        raise AlreadyExists(f"there is a table or view {new} already", hint="Drop it first.")
    if target.kind == "view":
        rename_view(work, target, new)
    else:
        work.txn.plain.rename(target.full, new)
    return 0


def _reshape(work: WriteStatement, target: WriteTarget, actions: list[exp.Expr]) -> None:
    table = work.txn.plain.table(target.full)
    shape = TableAlteration(
        table.schema, {name: name for name in table.schema.names}, table.declaration
    )
    for action in actions:
        shape = _after(shape, action, target)
    if shape.schema == table.schema and all(k == v for k, v in shape.values.items()):
        work.txn.plain.declare(target.full, shape.declaration)
    else:
        sources = {k: v for k, v in shape.values.items() if not isinstance(v, exp.Expr)}
        if len(sources) == len(shape.values):
            work.txn.plain.reshape(target.full, shape.schema, sources, shape.declaration)
        else:
            _rewrite(work, target, shape)


def _rewrite(work: WriteStatement, target: WriteTarget, shape: TableAlteration) -> None:
    """Columns that are computed: the rows are read by a query and written anew."""
    columns = []
    for name in shape.schema.names:
        value = shape.values[name]
        made = exp.Column(this=quoted(value)) if isinstance(value, str) else value or exp.Null()
        columns.append(called(made.copy(), name))
    source = exp.Table(
        this=quoted(target.name), db=quoted(target.schema), catalog=quoted(work.catalog)
    )
    parts = work.parts(exp.select(*columns).from_(source))
    work.txn.plain.create(target.full, shape.schema, shape.declaration, replace=True)
    kept = work.txn.plain.schema(target.full)
    for part in parts:
        work.txn.plain.append(target.full, conformed(part, kept))


def _after(shape: TableAlteration, action: exp.Expr, target: WriteTarget) -> TableAlteration:
    match action:
        case exp.ColumnDef():
            return _added(shape, action)
        case exp.Drop(kind="COLUMN"):
            return _dropped(shape, action, target)
        case exp.RenameColumn():
            return _renamed(shape, action, target)
        case exp.AlterColumn():
            return _altered(shape, action, target)
        case exp.AddConstraint():
            said = ColumnDefinitions()
            for rule in action.expressions:
                read_constraint(rule, said, shape.schema.names)
            return _constrained(shape, said)
    raise InvalidInput(f"{action.sql()} is not supported")


def _added(shape: TableAlteration, column: exp.ColumnDef) -> TableAlteration:
    if IdentifierPart(column.name, True).pick(shape.schema.names) is not None:
        if column.args.get("exists"):
            return shape
        raise AlreadyExists(f"there is a column {column.name!r} already")
    said = ColumnDefinitions()
    read_column(column, said)
    (field,) = said.columns
    default = next(
        (
            c.args["kind"].this
            for c in column.args.get("constraints") or ()
            if isinstance(c.args["kind"], exp.DefaultColumnConstraint)
        ),
        None,
    )
    made = replace(
        shape,
        schema=shape.schema.append(field),
        values={**shape.values, field.name: default},
    )
    return _constrained(made, said)


def _constrained(shape: TableAlteration, said: ColumnDefinitions) -> TableAlteration:
    known = shape.declaration
    defaults = {**known.properties.get(DEFAULTS, {}), **said.defaults}
    declaration = replace(
        known,
        primary_key=said.primary_key or known.primary_key,
        uniques=(*known.uniques, *said.uniques),
        checks=(*known.checks, *said.checks),
        column_comments={**known.column_comments, **said.comments},
        properties={**known.properties, **({DEFAULTS: defaults} if defaults else {})},
    )
    return replace(shape, schema=required(shape.schema, said.primary_key), declaration=declaration)


def _dropped(shape: TableAlteration, action: exp.Drop, target: WriteTarget) -> TableAlteration:
    column = action.args["tables"][0] if action.args.get("tables") else action.this
    wanted = IdentifierPart(column.name)
    if action.args.get("exists") and wanted.pick(shape.schema.names) is None:
        return shape
    (name,) = picked([wanted], shape.schema, target.full)
    known = shape.declaration
    if name in known.primary_key and not action.args.get("cascade"):
        raise InvalidInput(f"{name!r} belongs to the primary key", hint="Add CASCADE.")
    checks = tuple(check for check in known.checks if f"`{name}`" not in check)
    return TableAlteration(
        pa.schema(field for field in shape.schema if field.name != name),
        {k: v for k, v in shape.values.items() if k != name},
        replace(
            known,
            primary_key=() if name in known.primary_key else known.primary_key,
            uniques=tuple(columns for columns in known.uniques if name not in columns),
            checks=checks,
            column_comments={k: v for k, v in known.column_comments.items() if k != name},
            properties=_properties(known, {name: None}),
        ),
    )


def _renamed(
    shape: TableAlteration, action: exp.RenameColumn, target: WriteTarget
) -> TableAlteration:
    (old,) = picked([IdentifierPart(action.this.name)], shape.schema, target.full)
    new = action.args["to"].name
    if new in shape.schema.names:
        raise AlreadyExists(f"there is a column {new!r} already")
    known = shape.declaration

    def now(name: str) -> str:
        return new if name == old else name

    return TableAlteration(
        pa.schema(field.with_name(now(field.name)) for field in shape.schema),
        {now(k): v for k, v in shape.values.items()},
        replace(
            known,
            primary_key=tuple(map(now, known.primary_key)),
            uniques=tuple(tuple(map(now, columns)) for columns in known.uniques),
            checks=tuple(check.replace(f"`{old}`", f"`{new}`") for check in known.checks),
            column_comments={now(k): v for k, v in known.column_comments.items()},
            properties=_properties(known, {old: new}),
        ),
    )


def _properties(known: TableDeclaration, names: Mapping[str, str | None]) -> dict[str, object]:
    """Properties in which defaults follow their columns."""
    moved = {
        names.get(column, column): text
        for column, text in known.properties.get(DEFAULTS, {}).items()
        if names.get(column, column) is not None
    }
    rest = {key: value for key, value in known.properties.items() if key != DEFAULTS}
    return rest | ({DEFAULTS: moved} if moved else {})


def _altered(
    shape: TableAlteration, action: exp.AlterColumn, target: WriteTarget
) -> TableAlteration:
    (name,) = picked([IdentifierPart(action.this.name)], shape.schema, target.full)
    place = shape.schema.get_field_index(name)
    field = shape.schema.field(place)
    values, declaration = dict(shape.values), shape.declaration
    if isinstance(action.args.get("dtype"), exp.Expr):
        field = field.with_type(arrow_type(action.args["dtype"]))
        using = action.args.get("using")
        if isinstance(using, exp.Expr):
            values[name] = using
    if action.args.get("allow_null") is not None:
        field = field.with_nullable(bool(action.args["allow_null"]))
    elif action.args.get("drop"):
        declaration = replace(declaration, properties=_properties(declaration, {name: None}))
    if isinstance(action.args.get("default"), exp.Expr):
        known = dict(declaration.properties.get(DEFAULTS, {}))
        known[name] = action.args["default"].sql("postgres")
        declaration = replace(declaration, properties={**declaration.properties, DEFAULTS: known})
    if isinstance(action.args.get("comment"), exp.Expr):
        comments = {**declaration.column_comments, name: action.args["comment"].name}
        declaration = replace(declaration, column_comments=comments)
    return TableAlteration(shape.schema.set(place, field), values, declaration)
