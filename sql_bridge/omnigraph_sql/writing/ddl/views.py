"""Views in SQL: a view is the text of a query, stored with the branch."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from omnigraph.errors import AlreadyExists, InvalidInput
from omnigraph.tables import define
from omnigraph_sql.frontend.identifiers import derived_table, pick_name
from omnigraph_sql.frontend.sql_types import sql_name
from omnigraph_sql.writing.ddl.temporary_tables import is_temporary
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import WriteTarget, new_target, target_name


def create_view(work: WriteStatement, statement: exp.Create) -> int:
    """Make or replace a view; it is planned first, which refuses one that cannot be read."""
    target = new_target(work, target_name(work.session, statement.this), "define")
    if target.kind not in ("absent", "view"):
        raise AlreadyExists(
            f"there is a {target.kind} {target.full} already", hint="Drop it first."
        )
    if target.kind == "view" and not statement.args.get("replace"):
        if statement.args.get("exists"):
            return 0
        raise AlreadyExists(
            f"there is a view {target.full} already", hint="Use CREATE OR REPLACE VIEW."
        )
    query = statement.args.get("expression")
    if not isinstance(query, exp.Query):
        raise InvalidInput("a view needs a query", hint="Write CREATE VIEW v AS SELECT …")
    columns = statement.this.expressions if isinstance(statement.this, exp.Schema) else []
    comments = {
        column.name: constraint.this.name
        for column in columns
        if (constraint := column.find(exp.CommentColumnConstraint)) is not None
    }
    if columns:
        names = [column.name for column in columns]
        query = exp.select("*").from_(derived_table(query.copy(), "view", names))
    schema = work.schema_of(query)
    body = {
        "sql": query.sql(dialect=work.session.dialect, comments=False),
        "dialect": work.session.dialect,
        "schema": work.session.schema,
        "columns": [
            {"name": field.name, "type": sql_name(field.type)}
            | ({"comment": comments[field.name]} if field.name in comments else {})
            for field in schema
        ],
    }
    work.txn.plain.define(define("view", target.full, body))
    if is_temporary(statement):
        work.session.remember_temporary(work.catalog, target.full)
    return 0


def comment_on_view(
    work: WriteStatement, target: WriteTarget, column: str | None, text: str | None
) -> None:
    """Set the comment of a view or of one of its columns; none removes it."""
    view = work.txn.plain.definition("view", target.full)
    assert view is not None
    body: dict[str, Any] = view.body
    commented = body
    if column is not None:
        columns = {item["name"]: item for item in body["columns"]}
        name = pick_name(column, columns)
        if name is None:
            raise InvalidInput(f"{target.full} has no column {column!r}")
        commented = columns[name]
    commented.pop("comment", None)
    if text is not None:
        commented["comment"] = text
    work.txn.plain.define(define("view", target.full, body))


def rename_view(work: WriteStatement, target: WriteTarget, name: str) -> None:
    """Give a view another name in its schema."""
    view = work.txn.plain.definition("view", target.full)
    assert view is not None
    work.txn.plain.undefine("view", target.full)
    work.txn.plain.define(define("view", name, view.body))
