"""What a client chooses: the graph, branch, schema and dialect in which its statements run."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_BRANCH = "main"
DEFAULT_SCHEMA = "public"
OPTIONS = ("graph", "catalog", "schema", "dialect", "slices")
_ALIASES = {"branch": "catalog", "database": "graph", "db_schema": "schema"}


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a statement runs: which graph, which branch or moment, which schema, which SQL."""

    graph: str
    catalog: str = DEFAULT_BRANCH
    schema: str | None = None
    dialect: str = "postgres"


def option_name(name: str) -> str | None:
    """The session option of a name or of one of its aliases; none if there is no such option."""
    option = _ALIASES.get(name, name)
    return option if option in OPTIONS else None
