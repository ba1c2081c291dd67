"""Parsers whose tables are computed before they are shipped.

Building a parser from its grammar takes about 100 ms, reading its tables a few. The tables of a
language lie beside its grammar and name what they were made from: after a change they are computed
anew, until `python -m omnigraph.common.grammar` has written them again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import lark
from lark import Token, Transformer
from lark.grammar import Rule
from lark.lexer import Lexer, TerminalDef

LANGUAGES = ("omnigraph.query.syntax", "omnigraph.schema.syntax")
GRAMMAR = "grammar.lark"
TABLES = "grammar.tables.json"
_PAIRS = "pairs"
"""Marks a mapping whose keys are numbers, which JSON does not have."""


def load_parser(package: str, lexer: type[Lexer], builder: Transformer[Token, Any]) -> lark.Lark:
    """The LALR parser of the grammar of a package."""
    grammar = files(package).joinpath(GRAMMAR).read_text("utf-8")
    stored = files(package).joinpath(TABLES)
    if stored.is_file():
        tables = json.loads(stored.read_bytes(), object_hook=_unpacked)
        if tables.pop("made_from") == _origin(grammar):
            tables["data"]["options"] |= {"lexer": lexer, "transformer": builder}
            tables["data"]["parser"]["lexer_conf"]["lexer_type"] = lexer
            return lark.Lark.load(tables)
    return lark.Lark(grammar, parser="lalr", lexer=lexer, transformer=builder)


def tables_of(package: str) -> str:
    """What belongs into the tables of a package."""
    grammar = files(package).joinpath(GRAMMAR).read_text("utf-8")
    parser = lark.Lark(grammar, parser="lalr", lexer=TokenLexer)
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    del data["options"]["lexer"], data["parser"]["lexer_conf"]["lexer_type"]
    tables = {"made_from": _origin(grammar), "data": _packed(data), "memo": _packed(memo)}
    return json.dumps(tables, separators=(",", ":")) + "\n"


class TokenLexer(Lexer):
    """Lark's view of a function that yields the tokens of a text; a language sets `tokens`."""

    tokens: Callable[[bytes], Iterator[Token]]

    def __init__(self, conf: object) -> None: ...

    def lex(self, data: bytes) -> Iterator[Token]:  # type: ignore[override]  # lark's simple form
        return self.tokens(data)


def _origin(grammar: str) -> str:
    text = f"lark {lark.__version__}\n{grammar}"
    return hashlib.sha256(text.encode()).hexdigest()


def _packed(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        packed = [(key, _packed(each)) for key, each in value.items()]
        return dict(packed) if all(isinstance(key, str) for key in value) else {_PAIRS: packed}
    if isinstance(value, list | tuple):
        return [_packed(each) for each in value]
    return value


def _unpacked(value: dict[str, Any]) -> dict[Any, Any]:
    return dict(value[_PAIRS]) if value.keys() == {_PAIRS} else value


def main() -> None:
    """Write the tables of every language beside its grammar."""
    for package in LANGUAGES:
        files(package).joinpath(TABLES).write_text(tables_of(package), "utf-8")  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
