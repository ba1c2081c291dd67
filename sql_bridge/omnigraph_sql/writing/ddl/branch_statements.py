"""Branch statements: CREATE, DROP and MERGE BRANCH, USE."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypedDict

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from omnigraph.errors import AlreadyExists, InvalidInput, NotFound
from omnigraph_sql.catalog.access_guard import AccessRequest
from omnigraph_sql.catalog.find_relation import find_schema
from omnigraph_sql.frontend.identifiers import IdentifierPart
from omnigraph_sql.frontend.parser import parse_one

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection


def split(
    body: str, keywords: Iterable[tuple[str, ...]], dialect: str, *, alone: str | None = None
) -> dict[str, str]:
    """The text of a statement by clause: what follows each keyword, quotes taken off.

    The first clause, which has no keyword, is under the empty text. Something follows every keyword
    but the one that stands `alone`.
    """
    tokens = list(sqlglot.tokenize(body, read=dialect))
    found: dict[str, str] = {}
    current, first, place = "", 0, 0

    def close(end: int) -> None:
        inside = tokens[first:end]
        if current and bool(inside) == (current == alone):
            raise InvalidInput(
                f"something is missing after {current}"
                if not inside
                else f"{inside[0].text!r} cannot follow {current}",
                hint="Complete the clause or leave it out; docs/writing-sql.md shows how.",
            )
        if len(inside) == 1 and inside[0].token_type in (TokenType.IDENTIFIER, TokenType.STRING):
            found[current] = inside[0].text
        else:
            found[current] = body[inside[0].start : inside[-1].end + 1] if inside else ""

    while place < len(tokens):
        words = tuple(token.text.upper() for token in tokens[place : place + 3])
        keyword = next((k for k in keywords if words[: len(k)] == k), None)
        if keyword is None or tokens[place].token_type is TokenType.IDENTIFIER:
            place += 1
            continue
        close(place)
        current, first = " ".join(keyword), place + len(keyword)
        place = first
    close(len(tokens))
    return found


def create_branch(connection: Connection, body: str) -> int:
    """CREATE BRANCH [IF NOT EXISTS] b [FROM m] [WITH (ttl = …, owner = …, deferred_checks = …)]"""
    said = split(body, [("FROM",), ("IF", "NOT", "EXISTS"), ("WITH",)], connection.dialect)
    name = _required(said.get("IF NOT EXISTS", said[""]), "CREATE BRANCH b [FROM m]")
    source = said.get("FROM", connection.catalog)
    options = _branch_options(said.get("WITH", "()"), connection.dialect)
    connection.guard(AccessRequest("branch", name))
    connection.pins().touch("read", source)
    try:
        connection.graph.create_branch(name, source, **options)
    except AlreadyExists:
        if "IF NOT EXISTS" not in said:
            raise
    return 0


class BranchOptions(TypedDict, total=False):
    """What WITH may say of a new branch."""

    ttl: str
    owner: str
    deferred_checks: bool


_OPTIONS: dict[str, type] = {"ttl": str, "owner": str, "deferred_checks": bool}


def _branch_options(text: str, dialect: str) -> BranchOptions:
    options = BranchOptions()
    tree = parse_one(f"SELECT {text}", dialect).tree.expressions[0]
    for said in tree.expressions if isinstance(tree, exp.Tuple) else [tree.this]:
        name = said.this.name.lower() if isinstance(said, exp.EQ) else ""
        value = said.expression.to_py() if name and said.expression.is_string else None
        if name and isinstance(said.expression, exp.Boolean):
            value = bool(said.expression.this)
        if not isinstance(value, _OPTIONS.get(name, ())):
            raise InvalidInput(
                f"{said.sql()} is no option of a branch",
                hint="Write WITH (ttl = '7d', owner = 'ada', deferred_checks = true).",
            )
        options[name] = value  # type: ignore[literal-required]
    return options


def drop_branch(connection: Connection, body: str) -> int:
    """DROP BRANCH [IF EXISTS] b"""
    said = split(body, [("IF", "EXISTS")], connection.dialect)
    name = _required(said.get("IF EXISTS", said[""]), "DROP BRANCH b")
    if name == connection.catalog:
        raise InvalidInput(f"the session is on {name}", hint="USE another branch first.")
    connection.guard(AccessRequest("branch", name))
    try:
        connection.graph.delete_branch(name)
    except NotFound:
        if "IF EXISTS" not in said:
            raise
    return 0


def merge_branch(connection: Connection, body: str) -> int:
    """MERGE BRANCH a [INTO b] [ON CONFLICT ours|theirs] [DROP SOURCE] [WITH MESSAGE 'text']"""
    clauses = [("INTO",), ("ON", "CONFLICT"), ("DROP", "SOURCE"), ("WITH", "MESSAGE")]
    said = split(body, clauses, connection.dialect, alone="DROP SOURCE")
    source = _required(said[""], "MERGE BRANCH a INTO b")
    connection.pins().touch("branch", source)
    connection.pins().touch("branch", said.get("INTO", connection.catalog))
    connection.graph.merge(
        source,
        said.get("INTO", connection.catalog),
        on_conflict=_policy(said.get("ON CONFLICT", "fail")),
        delete_source="DROP SOURCE" in said,
        actor=connection.user,
        message=said.get("WITH MESSAGE"),
    )
    return 0


def _policy(word: str) -> Literal["fail", "ours", "theirs"]:
    match word.lower():
        case "ours":
            return "ours"
        case "theirs":
            return "theirs"
        case "fail":
            return "fail"
    raise InvalidInput(f"ON CONFLICT {word} is unknown", hint="Write ours, theirs or fail.")


def create_tag(connection: Connection, body: str) -> int:
    """CREATE TAG t [FROM m]"""
    said = split(body, [("FROM",), ("AT",)], connection.dialect)
    at = said.get("FROM", said.get("AT", connection.catalog))
    connection.pins().touch("branch", at)
    connection.graph.tags.create(_required(said[""], "CREATE TAG t [FROM m]"), at)
    return 0


def drop_tag(connection: Connection, body: str) -> int:
    """DROP TAG [IF EXISTS] t"""
    said = split(body, [("IF", "EXISTS")], connection.dialect)
    name = _required(said.get("IF EXISTS", said[""]), "DROP TAG t")
    connection.guard(AccessRequest("branch", name))
    try:
        connection.graph.tags.delete(name)
    except NotFound:
        if "IF EXISTS" not in said:
            raise
    return 0


def _required(name: str, form: str) -> str:
    if not name:
        raise InvalidInput("the statement names nothing", hint=f"Write {form}.")
    return name


def use(connection: Connection, statement: exp.Use) -> int:
    """USE b, USE SCHEMA s, USE b.s: where names are looked up from now on."""
    kind = str(statement.args.get("kind") or "").upper()
    parts = [
        IdentifierPart(part.name, bool(part.args.get("quoted"))) for part in statement.this.parts
    ]
    match kind, parts:
        case "SCHEMA" | "DATABASE", [schema]:
            connection.schema = find_schema(connection, schema)
        case "SCHEMA" | "DATABASE" | "", [catalog, schema]:
            _use_catalog(connection, catalog)
            connection.schema = find_schema(connection, schema)
        case "CATALOG" | "", [catalog]:
            _use_catalog(connection, catalog)
        case _:
            raise InvalidInput(f"{statement.sql()} is unknown", hint="Write USE branch.")
    return 0


def _use_catalog(connection: Connection, name: IdentifierPart) -> None:
    branches = [branch.name for branch in connection.graph.branches()]
    found = name.pick(branches) or name.text
    connection.check_out(found)
