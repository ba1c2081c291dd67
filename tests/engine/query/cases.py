"""Reads the example files of the query language."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from omnigraph.query import CompiledQuery, compile_query
from omnigraph.schema import Catalog, compile_schema

EXAMPLES = Path(__file__).parents[2] / "spec" / "query"


@dataclass(frozen=True)
class Case:
    schema: str
    title: str
    expectations: dict[str, str]
    source: str

    @property
    def expect(self) -> str:
        return self.expectations["expect"]

    def compile(self) -> CompiledQuery:
        return compile_query(self.source, catalog(self.schema))


@cache
def catalog(schema: str) -> Catalog:
    return compile_schema((EXAMPLES / f"{schema}.pg").read_text("utf-8"))


def cases() -> list[Case]:
    return [case for path in sorted(EXAMPLES.glob("*.gq")) for case in _cases(path)]


def _cases(path: Path) -> list[Case]:
    found = []
    for text in path.read_text("utf-8").split("// case: ")[1:]:
        title, *lines = text.splitlines()
        notes = [line.removeprefix("// ") for line in lines if line.startswith("// ")]
        source = "\n".join(line for line in lines if not line.startswith("// "))
        expectations = dict(note.split(": ", 1) for note in notes)
        found.append(Case(path.stem, title, expectations, source))
    return found
