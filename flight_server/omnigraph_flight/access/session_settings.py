"""Where a statement runs."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_BRANCH = "main"
DEFAULT_SCHEMA = "public"


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a statement runs: which graph, which branch or moment, which schema, which SQL."""

    graph: str
    catalog: str = DEFAULT_BRANCH
    schema: str | None = None
    dialect: str = "postgres"
