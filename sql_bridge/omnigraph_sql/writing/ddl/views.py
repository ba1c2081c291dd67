"""Views in SQL: a view is the text of a query, stored with the branch."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from omnigraph.errors import AlreadyExists, InvalidInput
from omnigraph.tables import define
from omnigraph_sql.frontend.identifiers import IdentifierPart, quoted
from omnigraph_sql.frontend.sql_types import sql_name
from omnigraph_sql.writing.ddl.sql_schemas import require_schema
from omnigraph_sql.writing.ddl.temporary_tables import is_temporary
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import WriteTarget, place_for, target_name


def create_view(work: WriteStatement, statement: exp.Create) -> int:
    """Make or replace a view; it is planned first, so that one that cannot be read is refused."""
    named = target_name(work.connection, statement.this)
    target = place_for(work.connection, work.snapshot, named)
    require_schema(work, target.schema)
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
    names, comments = _columns(statement)
    query = _named(query, names)
    schema = work.schema_of(query)
    body = {
        "sql": query.sql(dialect=work.connection.dialect, comments=False),
        "dialect": work.connection.dialect,
        "schema": work.connection.schema or "public",
        "columns": [
            {"name": field.name, "type": sql_name(field.type)}
            | ({"comment": comments[field.name]} if field.name in comments else {})
            for field in schema
        ],
    }
    work.txn.plain.define(define("view", target.full, body))
    if is_temporary(statement):
        work.connection.remember_temporary(work.catalog, target.full)
    return 0


def _columns(statement: exp.Create) -> tuple[list[str], dict[str, str]]:
    """The names a view gives its columns, and what it says about them."""
    names: list[str] = []
    comments: dict[str, str] = {}
    for item in statement.this.expressions if isinstance(statement.this, exp.Schema) else ():
        names.append(item.name)
        for constraint in item.args.get("constraints") or ():
            if isinstance(constraint.args.get("kind"), exp.CommentColumnConstraint):
                comments[item.name] = constraint.args["kind"].this.name
    return names, comments


def _named(query: exp.Query, names: list[str]) -> exp.Query:
    if not names:
        return query
    alias = exp.TableAlias(this=quoted("view"), columns=[quoted(name) for name in names])
    return exp.select("*").from_(exp.Subquery(this=query.copy(), alias=alias))


def comment_on_view(
    work: WriteStatement, target: WriteTarget, column: IdentifierPart | None, text: str | None
) -> None:
    """Say something about a view or one of its columns; none unsays it."""
    view = work.txn.plain.definition("view", target.full)
    assert view is not None
    body: dict[str, Any] = view.body
    if column is None:
        body = {key: value for key, value in body.items() if key != "comment"}
        body |= {"comment": text} if text is not None else {}
    else:
        found = column.pick(item["name"] for item in body["columns"])
        if found is None:
            raise InvalidInput(f"{target.full} has no column {column.text!r}")
        for item in body["columns"]:
            if item["name"] == found:
                item.pop("comment", None)
                item |= {"comment": text} if text is not None else {}
    work.txn.plain.define(define("view", target.full, body))


def rename_view(work: WriteStatement, target: WriteTarget, name: str) -> None:
    """Give a view another name in its schema."""
    view = work.txn.plain.definition("view", target.full)
    assert view is not None
    work.txn.plain.undefine("view", target.full)
    work.txn.plain.define(define("view", name, view.body))
