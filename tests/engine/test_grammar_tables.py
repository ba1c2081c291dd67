"""Parsers come from tables that lie beside their grammars, and never from tables of another one."""

from __future__ import annotations

import json
import time
from importlib.resources import files

import lark
import pytest

from omnigraph.common import grammar
from omnigraph.query.syntax.lexer import QueryLexer
from omnigraph.query.syntax.tree_builder import QueryTreeBuilder

TEXT = b"query q($n: String) { match { $p: Person { name: $n } } return { $p.age } limit 3 }"


@pytest.mark.parametrize("package", grammar.LANGUAGES)
def test_tables_are_those_of_the_grammar(package: str) -> None:
    stored = files(package).joinpath(grammar.TABLES).read_text("utf-8")
    made_from = json.loads(stored)["made_from"]
    wanted = json.loads(grammar.tables_of(package))["made_from"]
    assert made_from == wanted, "run `python -m omnigraph.common.grammar`"


def test_tables_give_what_the_grammar_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    build = lark.Lark.__init__

    def noted(self: lark.Lark, text: str, **options: object) -> None:
        built.append(text)
        build(self, text, **options)

    monkeypatch.setattr(lark.Lark, "__init__", noted)
    from_tables = grammar.load_parser("omnigraph.query.syntax", QueryLexer, QueryTreeBuilder())
    assert built == []
    monkeypatch.setattr(grammar, "_origin", lambda text: "another grammar")
    from_grammar = grammar.load_parser("omnigraph.query.syntax", QueryLexer, QueryTreeBuilder())
    assert len(built) == 1
    assert from_tables.parse(TEXT) == from_grammar.parse(TEXT)


def test_loading_takes_a_fraction_of_building(monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds() -> float:
        began = time.process_time()
        grammar.load_parser("omnigraph.query.syntax", QueryLexer, QueryTreeBuilder())
        return time.process_time() - began

    loading = min(seconds() for _ in range(5))
    monkeypatch.setattr(grammar, "_origin", lambda text: "another grammar")
    building = min(seconds() for _ in range(3))
    assert loading < building / 2
