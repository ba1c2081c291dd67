"""Plain tables in SQL: CREATE TABLE … [AS], DROP, TRUNCATE, COMMENT, CLONE."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import AlreadyExists, InvalidInput
from omnigraph.tables import PlainTable, TableDeclaration, conformed, storable
from omnigraph_sql.frontend.identifiers import IdentifierPart
from omnigraph_sql.writing.ddl.column_definitions import ColumnDefinitions, declared, required
from omnigraph_sql.writing.ddl.graph_types import comment_on_type, drop_type
from omnigraph_sql.writing.ddl.sql_schemas import require_schema
from omnigraph_sql.writing.ddl.temporary_tables import is_temporary
from omnigraph_sql.writing.ddl.views import comment_on_view
from omnigraph_sql.writing.statement.column_mapping import picked, renamed
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import (
    WriteTarget,
    find_target,
    place_for,
    require,
    target_name,
)


def create_table(work: WriteStatement, statement: exp.Create) -> int:
    """Make a table, empty or with the rows of a query, in one publish; how many rows."""
    target = place_for(work.connection, work.snapshot, target_name(work.connection, statement.this))
    require_schema(work, target.schema)
    if target.kind != "absent":
        if statement.args.get("exists"):
            return 0
        if target.kind != "table" or not statement.args.get("replace"):
            raise AlreadyExists(
                f"there is a {target.kind} {target.full} already",
                hint="Use CREATE OR REPLACE TABLE, or drop it first.",
            )
    if is_temporary(statement):
        work.connection.remember_temporary(work.catalog, target.full)
    clone = statement.args.get("clone")
    if clone is not None:
        return _clone(work, target, clone.this)
    like = _like(statement)
    if like is not None:
        source = _plain(work, like)
        _create(work, target, source.schema, replace(source.declaration, comment=None))
        return 0
    query = statement.args.get("expression")
    items = statement.this.expressions if isinstance(statement.this, exp.Schema) else []
    if isinstance(query, exp.Query):
        return _create_as(work, target, items, query, _comment(statement))
    said = declared(items)
    if not said.columns:
        raise InvalidInput("a table has at least one column", hint="Declare its columns.")
    _create(work, target, said.schema(), said.declaration(_comment(statement)))
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
    said = declared(
        [item for item in items if not isinstance(item, exp.Identifier | exp.Column)],
        names or reader.schema.names,
    )
    schema = _result_schema(reader.schema, said, names)
    _create(work, target, schema, said.declaration(comment))
    kept, count = work.txn.plain.schema(target.full), 0
    for batch in reader:
        if batch.num_rows:
            rows = renamed(pa.Table.from_batches([batch]), kept.names)
            work.txn.plain.append(target.full, conformed(rows, kept))
            count += batch.num_rows
    return count


def _result_schema(result: pa.Schema, said: ColumnDefinitions, names: list[str]) -> pa.Schema:
    """The columns of a table made from a query: declared, or as the query gives them."""
    if said.columns:
        if len(said.columns) != len(result):
            raise InvalidInput(
                f"{len(said.columns)} columns are declared and the query gives {len(result)}"
            )
        return said.schema()
    shown = names or list(result.names)
    if len(shown) != len(result):
        raise InvalidInput(f"{len(shown)} columns are named and the query gives {len(result)}")
    given = pa.schema([pa.field(n, f.type) for n, f in zip(shown, result, strict=True)])
    return required(storable(given), said.primary_key)


def _clone(work: WriteStatement, target: WriteTarget, source: exp.Expr) -> int:
    if target.kind == "table":
        work.txn.plain.drop(target.full)
    work.txn.plain.clone(_plain(work, source), target.full)
    return 0


def _plain(work: WriteStatement, table: exp.Expr) -> PlainTable:
    named = target_name(work.connection, table)
    snapshot = work.connection.pins().snapshot(named.catalog)
    found = require(find_target(work.connection, snapshot, named), "table")
    return snapshot.plain_table(found.full)


def _like(statement: exp.Create) -> exp.Expr | None:
    properties = statement.args.get("properties")
    found = list(properties.expressions) if properties else []
    if isinstance(statement.this, exp.Schema):
        found += statement.this.expressions
    return next((p.this for p in found if isinstance(p, exp.LikeProperty)), None)


def _comment(statement: exp.Create) -> str | None:
    properties = statement.args.get("properties")
    for item in properties.expressions if properties else ():
        if isinstance(item, exp.SchemaCommentProperty):
            return str(item.this.name)
    return None


def drop(work: WriteStatement, statement: exp.Drop) -> int:
    """DROP TABLE and DROP VIEW; a node or edge type goes by a change of the schema."""
    wanted = "view" if statement.args["kind"] == "VIEW" else "table"
    for table in statement.args.get("tables") or [statement.this]:
        named = target_name(work.connection, table)
        target = find_target(work.connection, work.snapshot, named)
        if target.kind == "absent":
            if statement.args.get("exists"):
                continue
            require(target)
        if (target.kind == "view") != (wanted == "view"):
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
    count = 0
    for table in statement.expressions:
        named = target_name(work.connection, table)
        target = require(
            find_target(work.connection, work.snapshot, named), "table", "node", "edge"
        )
        if target.is_type:
            count += work.snapshot.count(target.type_name)
            work.txn.clear(target.type_name)
        else:
            count += work.txn.plain.table(target.full).rows
            work.txn.plain.clear(target.full)
    return count


def comment(work: WriteStatement, statement: exp.Comment) -> int:
    """COMMENT ON TABLE, VIEW or COLUMN."""
    kind = str(statement.args["kind"]).upper()
    given = statement.expression
    text = None if isinstance(given, exp.Null) or not given.name else given.name
    name, column = statement.this, None
    if kind == "COLUMN":
        parts = list(name.parts)
        column = IdentifierPart(parts[-1].name, bool(parts[-1].args.get("quoted")))
        name = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts[:-1]), strict=False)))
    target = find_target(work.connection, work.snapshot, target_name(work.connection, name))
    require(target, "table", "view", "node", "edge")
    if target.is_type:
        comment_on_type(work, target, column, text)
    elif target.kind == "view":
        comment_on_view(work, target, column, text)
    else:
        _comment_on_table(work, target, column, text)
    return 0


def _comment_on_table(
    work: WriteStatement, target: WriteTarget, column: IdentifierPart | None, text: str | None
) -> None:
    plain = work.txn.plain
    known = plain.table(target.full).declaration
    if column is None:
        plain.declare(target.full, replace(known, comment=text))
        return
    (name,) = picked([column], plain.schema(target.full), target.full)
    comments = {k: v for k, v in known.column_comments.items() if k != name}
    if text is not None:
        comments[name] = text
    plain.declare(target.full, replace(known, column_comments=comments))
