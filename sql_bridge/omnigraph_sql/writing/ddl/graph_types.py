"""Node and edge types in SQL: CREATE NODE TABLE, CREATE EDGE TABLE, and changes of their columns.

A type is made by changing the schema of the graph; rows follow in the same publish.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import AlreadyExists, InvalidInput, UnsupportedSchemaChange
from omnigraph.schema import table_schema, to_source
from omnigraph_sql.catalog.catalog_tables import EDGES, NODES
from omnigraph_sql.frontend.identifiers import IdentifierPart
from omnigraph_sql.writing.ddl.parse_create_type import CreateType
from omnigraph_sql.writing.ddl.pg_properties import TypeText, property_type, quote, type_text
from omnigraph_sql.writing.statement.column_mapping import picked, typed
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import (
    TargetName,
    WriteTarget,
    find_target,
    target_name,
)

Edit = Callable[[list[str]], list[str]]
"""Changes the lines of one declaration."""


def create_type(work: WriteStatement, statement: CreateType) -> int:
    """Make or replace a node or edge type, with the rows of a query if there is one."""
    place = NODES if statement.kind == "node" else EDGES
    named = target_name(work.connection, statement.create.this)
    target = find_target(
        work.connection, work.snapshot, TargetName(named.catalog, IdentifierPart(place), named.name)
    )
    there = target.kind != "absent"
    if there and statement.create.args.get("exists"):
        return 0
    if there and not statement.create.args.get("replace"):
        raise AlreadyExists(
            f"there is a {statement.kind} type {target.name} already",
            hint=f"Use CREATE OR REPLACE {statement.kind.upper()} TABLE, or drop it first.",
        )
    query = statement.create.args.get("expression")
    reader = work.read(query) if isinstance(query, exp.Query) else None
    ends = _ends(work, statement)
    said = type_text(statement, target.name, reader.schema if reader else None, ends)
    _declare(work, target, said, there=there)
    type_name = f"{statement.kind}:{target.name}"
    if there:
        work.txn.clear(type_name)
    if reader is None:
        return 0
    return _fill(work, type_name, said, reader)


def _ends(work: WriteStatement, statement: CreateType) -> tuple[str, str] | None:
    """The node types an edge goes between, as the graph spells them."""
    if statement.ends is None:
        return None
    src, dst = statement.ends
    known = list(work.txn.catalog.nodes)
    return src.pick(known) or src.text, dst.pick(known) or dst.text


def _declare(work: WriteStatement, target: WriteTarget, said: TypeText, *, there: bool) -> None:
    source = work.connection.graph.schema(_at(work)).source
    if not there:
        work.txn.apply_schema(f"{source.rstrip()}\n\n{said.text}")
        return
    canonical = to_source(work.txn.catalog)
    try:
        work.txn.apply_schema(_replaced(canonical, target, lambda _: said.text.splitlines()))
    except UnsupportedSchemaChange:
        if target.kind == "node" and work.txn.catalog.edges_touching(target.name):
            raise
        # The rows are replaced anyway: another type of the same name may take its place.
        without = _replaced(canonical, target, lambda _: [])
        work.txn.apply_schema(without)
        work.txn.apply_schema(f"{without.rstrip()}\n\n{said.text}")


def _at(work: WriteStatement) -> str:
    return f"{work.snapshot.branch}@{work.snapshot.commit}"


def _fill(
    work: WriteStatement, type_name: str, said: TypeText, reader: pa.RecordBatchReader
) -> int:
    schema = table_schema(work.txn.catalog.type_for(type_name))
    count = 0
    for batch in reader:
        if batch.num_rows:
            rows = pa.Table.from_batches([batch]).rename_columns(list(said.columns))
            work.txn.insert(type_name, typed(rows, schema))
            count += batch.num_rows
    return count


# --------------------------------------------------------------------------- changing a type


def drop_type(work: WriteStatement, target: WriteTarget) -> None:
    """DROP TABLE of a node or edge type; the edges of a node type have to go first."""
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
            if action.args.get("exists") and IdentifierPart(action.name).pick(schema.names):
                return lambda lines: lines
            return lambda lines: _with_member(lines, property_type(action))
        case exp.Drop(kind="COLUMN"):
            column = action.args["tables"][0] if action.args.get("tables") else action.this
            wanted = IdentifierPart(column.name)
            if action.args.get("exists") and wanted.pick(schema.names) is None:
                return lambda lines: lines
            (gone,) = picked([wanted], schema, target.full)
            return lambda lines: [line for line in lines if not line.startswith(f"  {gone}: ")]
        case exp.RenameColumn():
            (old,) = picked([IdentifierPart(action.this.name)], schema, target.full)
            new = action.args["to"].name
            return lambda lines: [_renamed_property(line, old, new) for line in lines]
        case exp.AlterColumn():
            (name,) = picked([IdentifierPart(action.this.name)], schema, target.full)
            return lambda lines: [_altered(line, name, action) for line in lines]
    raise InvalidInput(f"{action.sql()} cannot be done to a type of the graph")


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
    said, _, rest = line.removeprefix(f"  {name}: ").partition(" @")
    nullable = said.endswith("?")
    if action.args.get("allow_null") is not None:
        nullable = bool(action.args["allow_null"])
    bare = said.removesuffix("?")
    declared = action.args.get("dtype")
    if declared is not None:
        bare = (
            property_type(exp.ColumnDef(this=exp.to_identifier(name), kind=declared))
            .partition(": ")[2]
            .removesuffix("?")
        )
    return f"  {name}: {bare}{'?' if nullable else ''}" + (f" @{rest}" if rest else "")


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
    lines = source.splitlines()
    head = re.compile(rf"{target.kind} {re.escape(target.name)}\b")
    start = next(n for n, line in enumerate(lines) if head.match(line))
    end = start
    if lines[start].endswith("{"):
        end = next(n for n in range(start, len(lines)) if lines[n] == "}")
    made = edit(lines[start : end + 1])
    return "\n".join([*lines[:start], *made, *lines[end + 1 :]]) + "\n"


def comment_on_type(
    work: WriteStatement, target: WriteTarget, column: IdentifierPart | None, text: str | None
) -> None:
    """Say something about a type or one of its properties; none unsays it."""
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
        (name,) = picked([column], table_schema(target.type(work.snapshot)), target.full)
    work.txn.apply_schema(_replaced(to_source(work.txn.catalog), target, edit))
