"""Statements on branches and tags: CREATE, DROP and MERGE BRANCH, CREATE and DROP TAG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from omnigraph.errors import AlreadyExists, InvalidInput, NotFound
from omnigraph_sql.catalog.access_guard import AccessRequest
from omnigraph_sql.catalog.session_context import SessionContext
from omnigraph_sql.frontend.parser import parse_one


def _clauses(
    session: SessionContext, body: str, keywords: Sequence[str], *, alone: str | None = None
) -> dict[str, str]:
    """The text of a statement by clause: what follows each keyword, without quotes.

    The first clause, which has no keyword, is under the empty text. Something follows every keyword
    but the one that stands `alone`.
    """
    tokens = list(sqlglot.tokenize(body, read=session.dialect))
    clauses: dict[str, str] = {}
    keyword, first, index = "", 0, 0

    def close(end: int) -> None:
        inside = tokens[first:end]
        if keyword and bool(inside) == (keyword == alone):
            raise InvalidInput(
                f"something is missing after {keyword}"
                if not inside
                else f"{inside[0].text!r} cannot follow {keyword}",
                hint="Complete the clause or leave it out; docs/writing-sql.md shows how.",
            )
        if len(inside) == 1 and inside[0].token_type in (TokenType.IDENTIFIER, TokenType.STRING):
            clauses[keyword] = inside[0].text
        else:
            clauses[keyword] = body[inside[0].start : inside[-1].end + 1] if inside else ""

    while index < len(tokens):
        words = [token.text.upper() for token in tokens[index : index + 3]]
        following = next((k for k in keywords if words[: k.count(" ") + 1] == k.split()), None)
        if following is None or tokens[index].token_type is TokenType.IDENTIFIER:
            index += 1
            continue
        close(index)
        keyword, first = following, index + len(following.split())
        index = first
    close(len(tokens))
    return clauses


def create_branch(session: SessionContext, body: str) -> int:
    """CREATE BRANCH [IF NOT EXISTS] b [FROM m] [WITH (ttl = …, owner = …, deferred_checks = …)]"""
    clauses = _clauses(session, body, ["FROM", "IF NOT EXISTS", "WITH"])
    name = _required(clauses.get("IF NOT EXISTS", clauses[""]), "CREATE BRANCH b [FROM m]")
    source = clauses.get("FROM", session.catalog)
    options = _branch_options(clauses.get("WITH", "()"), session.dialect)
    session.guard(AccessRequest("branch", name))
    session.pins().touch("read", source)
    try:
        session.graph.create_branch(name, source, **options)
    except AlreadyExists:
        if "IF NOT EXISTS" not in clauses:
            raise
    return 0


_OPTIONS: dict[str, type] = {"ttl": str, "owner": str, "deferred_checks": bool}


def _branch_options(text: str, dialect: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    tree = parse_one(f"SELECT {text}", dialect).tree.expressions[0]
    for option in tree.expressions if isinstance(tree, exp.Tuple) else [tree.this]:
        name = option.this.name.lower() if isinstance(option, exp.EQ) else ""
        value = option.expression.to_py() if name and option.expression.is_string else None
        if name and isinstance(option.expression, exp.Boolean):
            value = bool(option.expression.this)
        if not isinstance(value, _OPTIONS.get(name, ())):
            raise InvalidInput(
                f"{option.sql()} is not an option of a branch",
                hint="Write WITH (ttl = '7d', owner = 'ada', deferred_checks = true).",
            )
        options[name] = value
    return options


def drop_branch(session: SessionContext, body: str) -> int:
    """DROP BRANCH [IF EXISTS] b"""
    return _drop(session, body, "BRANCH b", session.graph.delete_branch)


def drop_tag(session: SessionContext, body: str) -> int:
    """DROP TAG [IF EXISTS] t"""
    return _drop(session, body, "TAG t", session.graph.tags.delete)


def _drop(session: SessionContext, body: str, form: str, delete: Callable[[str], None]) -> int:
    clauses = _clauses(session, body, ["IF EXISTS"])
    name = _required(clauses.get("IF EXISTS", clauses[""]), f"DROP {form}")
    if form.startswith("BRANCH") and name == session.catalog:
        raise InvalidInput(
            f"cannot drop branch {name} while the session uses it", hint="USE another branch first."
        )
    session.guard(AccessRequest("branch", name))
    try:
        delete(name)
    except NotFound:
        if "IF EXISTS" not in clauses:
            raise
    return 0


def merge_branch(session: SessionContext, body: str) -> int:
    """MERGE BRANCH a [INTO b] [ON CONFLICT ours|theirs] [DROP SOURCE] [WITH MESSAGE 'text']"""
    keywords = ["INTO", "ON CONFLICT", "DROP SOURCE", "WITH MESSAGE"]
    clauses = _clauses(session, body, keywords, alone="DROP SOURCE")
    source = _required(clauses[""], "MERGE BRANCH a INTO b")
    target = clauses.get("INTO", session.catalog)
    session.pins().touch("branch", source)
    session.pins().touch("branch", target)
    session.graph.merge(
        source,
        target,
        on_conflict=_policy(clauses.get("ON CONFLICT", "fail")),
        delete_source="DROP SOURCE" in clauses,
        actor=session.user,
        message=clauses.get("WITH MESSAGE"),
    )
    return 0


def _policy(word: str) -> Literal["fail", "ours", "theirs"]:
    match word.lower():
        case "ours" | "theirs" | "fail" as policy:
            return policy
    raise InvalidInput(f"ON CONFLICT {word} is unknown", hint="Write ours, theirs or fail.")


def create_tag(session: SessionContext, body: str) -> int:
    """CREATE TAG t [FROM m]"""
    clauses = _clauses(session, body, ["FROM", "AT"])
    at = clauses.get("FROM", clauses.get("AT", session.catalog))
    session.pins().touch("branch", at)
    session.graph.tags.create(_required(clauses[""], "CREATE TAG t [FROM m]"), at)
    return 0


def _required(name: str, form: str) -> str:
    if not name:
        raise InvalidInput("the statement gives no name", hint=f"Write {form}.")
    return name
