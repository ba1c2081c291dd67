"""Plain tables in SQL: CREATE TABLE … [AS], DROP, TRUNCATE, COMMENT, CLONE."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import AlreadyExists, InvalidInput
from omnigraph.tables import PlainTable, TableDeclaration, storable
from omnigraph_sql.writing.ddl.column_definitions import (
    ColumnDefinitions,
    column_definitions,
    required,
)
from omnigraph_sql.writing.ddl.graph_types import comment_on_type, drop_type
from omnigraph_sql.writing.ddl.temporary_tables import is_temporary
from omnigraph_sql.writing.ddl.views import comment_on_view
from omnigraph_sql.writing.statement.column_mapping import pick_columns
from omnigraph_sql.writing.statement.row_sinks import clear_rows, insert_all, sink_for
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import (
    WriteTarget,
    defined_target,
    find_target,
    new_target,
    require,
    rows_target,
    target_name,
)


def create_table(work: WriteStatement, statement: exp.Create) -> int:
    """Make a table, empty or with the rows of a query, in one publish; how many rows."""
    target = new_target(work, target_name(work.session, statement.this), "define")
    if target.kind != "absent":
        if statement.args.get("exists"):
            return 0
        if target.kind != "table" or not statement.args.get("replace"):
            raise AlreadyExists(
                f"there is a {target.kind} {target.full} already",
                hint="Use CREATE OR REPLACE TABLE, or drop it first.",
            )
    if is_temporary(statement):
        work.session.remember_temporary(work.catalog, target.full)
    clone = statement.args.get("clone")
    if clone is not None:
        if target.kind == "table":
            work.txn.plain.drop(target.full)
        work.txn.plain.clone(_plain_table(work, clone.this), target.full)
        return 0
    like = _like(statement)
    if like is not None:
        source = _plain_table(work, like)
        _create(work, target, source.schema, replace(source.declaration, comment=None))
        return 0
    query = statement.args.get("expression")
    items = statement.this.expressions if isinstance(statement.this, exp.Schema) else []
    if isinstance(query, exp.Query):
        return _create_as(work, target, items, query, _comment(statement))
    definitions = column_definitions(items)
    if not definitions.columns:
        raise InvalidInput("a table has at least one column", hint="Declare its columns.")
    _create(work, target, definitions.schema(), definitions.declaration(_comment(statement)))
    return 0


def _create(
    work: WriteStatement, target: WriteTarget, schema: pa.Schema, declaration: TableDeclaration
) -> None:
    work.txn.plain.create(target.full, schema, declaration, replace=target.kind == "table")


def _create_as(
    work: WriteStatement,
    target: WriteTarget,
    items: list[exp.Expr],
    query: exp.Query,
    comment: str | None,
) -> int:
    reader = work.read(query)
    names = [item.name for item in items if isinstance(item, exp.Identifier | exp.Column)]
    definitions = column_definitions(
        [item for item in items if not isinstance(item, exp.Identifier | exp.Column)],
        names or reader.schema.names,
    )
    schema = _result_schema(reader.schema, definitions, names)
    _create(work, target, schema, definitions.declaration(comment))
    sink = sink_for(work, target)
    return insert_all(sink, reader, sink.schema.names)


def _result_schema(
    result: pa.Schema, definitions: ColumnDefinitions, names: list[str]
) -> pa.Schema:
    """The columns of a table made from a query: declared, or as the query gives them."""
    given = definitions.columns or names or result.names
    if len(given) != len(result):
        verb = "declared" if definitions.columns else "named"
        raise InvalidInput(f"{len(given)} columns are {verb} and the query gives {len(result)}")
    if definitions.columns:
        return definitions.schema()
    types = pa.schema([pa.field(n, f.type) for n, f in zip(given, result, strict=True)])
    return required(storable(types), definitions.primary_key)


def _plain_table(work: WriteStatement, table: exp.Expr) -> PlainTable:
    named = target_name(work.session, table)
    snapshot = work.session.pins().snapshot(named.catalog)
    target = require(find_target(work.session, snapshot, named, "define"), "table")
    return snapshot.plain_table(target.full)


def _like(statement: exp.Create) -> exp.Expr | None:
    like = statement.find(exp.LikeProperty)
    return None if like is None else like.this


def _comment(statement: exp.Create) -> str | None:
    comment = statement.find(exp.SchemaCommentProperty)
    return None if comment is None else str(comment.this.name)


def drop(work: WriteStatement, statement: exp.Drop) -> int:
    """DROP TABLE and DROP VIEW; a node or edge type is dropped by a change of the schema."""
    is_view = statement.args["kind"] == "VIEW"
    for table in statement.args.get("tables") or [statement.this]:
        target = defined_target(work, table)
        if target.kind == "absent":
            if statement.args.get("exists"):
                continue
            require(target)
        if (target.kind == "view") != is_view:
            raise InvalidInput(
                f"{target.full} is a {target.kind}",
                hint=f"Use DROP {'VIEW' if target.kind == 'view' else 'TABLE'}.",
            )
        if target.is_type:
            drop_type(work, target)
        elif target.kind == "view":
            work.txn.plain.undefine("view", target.full)
        else:
            work.txn.plain.drop(target.full)
    return 0


def truncate(work: WriteStatement, statement: exp.TruncateTable) -> int:
    """Remove all rows; how many there were."""
    return sum(clear_rows(work, rows_target(work, table)) for table in statement.expressions)


def comment(work: WriteStatement, statement: exp.Comment) -> int:
    """COMMENT ON TABLE, VIEW or COLUMN."""
    kind = str(statement.args["kind"]).upper()
    given = statement.expression
    text = None if isinstance(given, exp.Null) or not given.name else given.name
    name, column = statement.this, None
    if kind == "COLUMN":
        parts = list(name.parts)
        column = parts[-1].name
        name = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts[:-1]), strict=False)))
    target = require(defined_target(work, name), "table", "view", "node", "edge")
    if target.is_type:
        comment_on_type(work, target, column, text)
    elif target.kind == "view":
        comment_on_view(work, target, column, text)
    else:
        _comment_on_table(work, target, column, text)
    return 0


def _comment_on_table(
    work: WriteStatement, target: WriteTarget, column: str | None, text: str | None
) -> None:
    plain = work.txn.plain
    known = plain.declaration(target.full)
    if column is None:
        plain.declare(target.full, replace(known, comment=text))
        return
    (name,) = pick_columns([column], plain.schema(target.full), target.full)
    comments = {k: v for k, v in known.column_comments.items() if k != name}
    if text is not None:
        comments[name] = text
    plain.declare(target.full, replace(known, column_comments=comments))
