"""Node and edge types in SQL: CREATE NODE TABLE, CREATE EDGE TABLE, and changes of their columns.

A type is made by changing the schema of the graph; rows follow in the same publish.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import AlreadyExists, InvalidInput, UnsupportedSchemaChange
from omnigraph.schema import quote, table_schema, to_source
from omnigraph_sql.catalog.catalog_tables import EDGES, NODES
from omnigraph_sql.frontend.identifiers import pick_name
from omnigraph_sql.frontend.sql_types import arrow_type
from omnigraph_sql.writing.ddl.parse_create_type import CreateType
from omnigraph_sql.writing.ddl.pg_properties import pg_type, property_type, type_text
from omnigraph_sql.writing.statement.column_mapping import cast_rows, pick_columns
from omnigraph_sql.writing.statement.write_statement import WriteStatement, tables_of
from omnigraph_sql.writing.statement.write_target import WriteTarget, find_target, target_name

Edit = Callable[[list[str]], list[str]]
"""Changes the lines of one declaration."""


def create_type(work: WriteStatement, statement: CreateType) -> int:
    """Make or replace a node or edge type, with the rows of a query if there is one."""
    types = NODES if statement.kind == "node" else EDGES
    named = target_name(work.session, statement.create.this)._replace(schema=types)
    target = find_target(work.session, work.snapshot, named, "define")
    exists = target.kind != "absent"
    if exists and statement.create.args.get("exists"):
        return 0
    if exists and not statement.create.args.get("replace"):
        raise AlreadyExists(
            f"there is a {statement.kind} type {target.name} already",
            hint=f"Use CREATE OR REPLACE {statement.kind.upper()} TABLE, or drop it first.",
        )
    query = statement.create.args.get("expression")
    reader = work.read(query) if isinstance(query, exp.Query) else None
    declared = type_text(
        statement, target.name, reader.schema if reader else None, list(work.txn.catalog.nodes)
    )
    _declare(work, target, declared.text)
    type_name = f"{statement.kind}:{target.name}"
    if exists:
        work.txn.clear(type_name)
    if reader is None:
        return 0
    schema, count = table_schema(work.txn.catalog.type_for(type_name)), 0
    for rows in tables_of(reader):
        work.txn.insert(type_name, cast_rows(rows.rename_columns(list(declared.columns)), schema))
        count += rows.num_rows
    return count


def _declare(work: WriteStatement, target: WriteTarget, text: str) -> None:
    """Add a type to the schema, or replace the one of its name."""
    if target.kind == "absent":
        at = f"{work.snapshot.branch}@{work.snapshot.commit}"
        source = work.session.graph.schema(at).source
        work.txn.apply_schema(f"{source.rstrip()}\n\n{text}")
        return
    canonical = to_source(work.txn.catalog)
    try:
        work.txn.apply_schema(_replaced(canonical, target, lambda _: _lines(text)))
    except UnsupportedSchemaChange:
        if target.kind == "node" and work.txn.catalog.edges_touching(target.name):
            raise
        # The rows are replaced anyway: it may be another type of the same name.
        without = _replaced(canonical, target, lambda _: [])
        work.txn.apply_schema(without)
        work.txn.apply_schema(f"{without.rstrip()}\n\n{text}")


# --------------------------------------------------------------------------- changing a type


def drop_type(work: WriteStatement, target: WriteTarget) -> None:
    """DROP TABLE of a node or edge type; the edges of a node type must be dropped first."""
    source = to_source(work.txn.catalog)
    work.txn.apply_schema(_replaced(source, target, lambda _: []))


def alter_type(work: WriteStatement, target: WriteTarget, actions: list[exp.Expr]) -> int:
    """ALTER TABLE of a node or edge type, as a change of the schema."""
    type_ = target.type(work.snapshot)
    schema = table_schema(type_)
    source = to_source(work.txn.catalog)
    for action in actions:
        if isinstance(action, exp.AlterRename):
            source = _renamed_type(source, target, action.this.name)
        else:
            source = _replaced(source, target, _edit(action, schema, target))
    work.txn.apply_schema(source)
    return 0


def _edit(action: exp.Expr, schema: pa.Schema, target: WriteTarget) -> Edit:
    match action:
        case exp.ColumnDef():
            if action.args.get("exists") and pick_name(action.name, schema.names):
                return lambda lines: lines
            return lambda lines: _with_member(lines, property_type(action))
        case exp.Drop(kind="COLUMN"):
            column = action.args["tables"][0] if action.args.get("tables") else action.this
            if action.args.get("exists") and pick_name(column.name, schema.names) is None:
                return lambda lines: lines
            (dropped,) = pick_columns([column.name], schema, target.full)
            return lambda lines: [line for line in lines if not line.startswith(f"  {dropped}: ")]
        case exp.RenameColumn():
            (old,) = pick_columns([action.this.name], schema, target.full)
            new = action.args["to"].name
            return lambda lines: [_renamed_property(line, old, new) for line in lines]
        case exp.AlterColumn():
            (name,) = pick_columns([action.this.name], schema, target.full)
            return lambda lines: [_altered(line, name, action) for line in lines]
    raise InvalidInput(f"{action.sql()} is not supported for a type of the graph")


def _with_member(lines: list[str], member: str) -> list[str]:
    head = lines[0]
    if head.endswith("{}"):
        return [head[:-1], f"  {member}", "}"]
    if not head.endswith("{"):  # an edge without properties has no braces
        return [f"{head} {{", f"  {member}", "}"]
    return [head, f"  {member}", *lines[1:]]


def _renamed_property(line: str, old: str, new: str) -> str:
    if line.startswith(f"  {old}: "):
        return f"  {new}: {line.removeprefix(f'  {old}: ')} @rename_from({quote(old)})"
    return re.sub(rf"\b{re.escape(old)}\b", new, line) if line.startswith("  @") else line


def _altered(line: str, name: str, action: exp.AlterColumn) -> str:
    if not line.startswith(f"  {name}: "):
        return line
    old, _, annotations = line.removeprefix(f"  {name}: ").partition(" @")
    nullable, type_ = old.endswith("?"), old.removesuffix("?")
    if action.args.get("allow_null") is not None:
        nullable = bool(action.args["allow_null"])
    if action.args.get("dtype") is not None:
        type_ = pg_type(arrow_type(action.args["dtype"]), name)
    suffix = f" @{annotations}" if annotations else ""
    return f"  {name}: {type_}{'?' if nullable else ''}{suffix}"


def _renamed_type(source: str, target: WriteTarget, new: str) -> str:
    def rename(lines: list[str]) -> list[str]:
        head = re.sub(rf"^({target.kind}) {re.escape(target.name)}\b", rf"\1 {new}", lines[0])
        hint = f"@rename_from({quote(target.name)})"
        body = head.rstrip("{} ")
        return [f"{body} {hint}{head[len(body) :]}", *lines[1:]]

    changed = _replaced(source, target, rename)
    if target.kind == "edge":
        return changed
    ends = re.compile(rf"^(edge \w+: )({_NAME}) -> ({_NAME})", re.M)
    return ends.sub(
        lambda m: m[1] + " -> ".join(new if end == target.name else end for end in m.group(2, 3)),
        changed,
    )


_NAME = r"[A-Za-z_][A-Za-z0-9_]*"


def _replaced(source: str, target: WriteTarget, edit: Edit) -> str:
    """Canonical text with one declaration changed; it ends at a closing brace, or at once."""
    lines = _lines(source)
    head = re.compile(rf"{target.kind} {re.escape(target.name)}\b")
    start = next(n for n, line in enumerate(lines) if head.match(line))
    end = start
    if lines[start].endswith("{"):
        end = next(n for n in range(start, len(lines)) if lines[n] == "}")
    return "\n".join([*lines[:start], *edit(lines[start : end + 1]), *lines[end + 1 :]]) + "\n"


def _lines(source: str) -> list[str]:
    """Its lines; what else `splitlines` takes for the end of one may stand in a text."""
    return source.removesuffix("\n").split("\n")


def comment_on_type(
    work: WriteStatement, target: WriteTarget, column: str | None, text: str | None
) -> None:
    """Set the comment of a type or of one of its properties; none removes it."""
    note = f"@description({quote(text)})" if text is not None else ""

    def described(line: str, suffix: str = "") -> str:
        bare = re.sub(r' @description\("(?:[^"\\]|\\.)*"\)', "", line.removesuffix(suffix))
        return (f"{bare} {note}" if note else bare) + suffix

    def edit(lines: list[str]) -> list[str]:
        if column is None:
            suffix = " {" if lines[0].endswith("{") else " {}" if lines[0].endswith("{}") else ""
            return [described(lines[0], suffix), *lines[1:]]
        return [described(line) if line.startswith(f"  {name}: ") else line for line in lines]

    name = ""
    if column is not None:
        (name,) = pick_columns([column], table_schema(target.type(work.snapshot)), target.full)
    work.txn.apply_schema(_replaced(to_source(work.txn.catalog), target, edit))
