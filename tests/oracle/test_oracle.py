"""The oracle itself: the examples of the language reference, with their results written out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from omnigraph.query import coerce_params, compile_query
from omnigraph.query.logical.logical_plan import ReadPlan
from omnigraph.schema import compile_schema
from oracle.naive import evaluate
from oracle.plain import plain_graph, read_records
from oracle.text import edits, terms

EXAMPLES = Path(__file__).parents[1] / "spec" / "query"


@dataclass(frozen=True)
class Example:
    schema: str
    title: str
    notes: dict[str, str]
    source: str

    def rows(self) -> list[list[Any]]:
        return [_rounded(row) for row in json.loads(self.notes["rows"])]


def examples() -> list[Example]:
    found = []
    for path in sorted(EXAMPLES.glob("*.gq")):
        for text in path.read_text("utf-8").split("// case: ")[1:]:
            title, *lines = text.splitlines()
            notes = [line.removeprefix("// ") for line in lines if line.startswith("// ")]
            source = "\n".join(line for line in lines if not line.startswith("// "))
            expectations = dict(note.split(": ", 1) for note in notes)
            found.append(Example(path.stem, title, expectations, source))
    return [example for example in found if "rows" in example.notes]


def answer(example: Example) -> list[list[Any]]:
    catalog = compile_schema((EXAMPLES / f"{example.schema}.pg").read_text("utf-8"))
    records = read_records((EXAMPLES / f"{example.schema}.jsonl").read_text("utf-8"))
    query = compile_query(example.source, catalog)
    assert isinstance(query.ir, ReadPlan)
    params = coerce_params(query, json.loads(example.notes.get("params", "{}")))
    return [_rounded(row) for row in evaluate(query.ir, plain_graph(catalog, records), params)]


def _rounded(row: Any) -> list[Any]:  # noqa: ANN401
    return [round(value, 6) if isinstance(value, float) else value for value in row]


@pytest.mark.parametrize("example", examples(), ids=lambda e: f"{e.schema}: {e.title}")
def test_the_oracle_gives_what_the_reference_says(example: Example) -> None:
    found, expected = answer(example), example.rows()
    if example.notes.get("ordered") == "yes":
        assert found == expected
    else:
        assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_every_read_example_is_checked() -> None:
    numbers = {int(example.title.split()[0]) for example in examples()}
    assert numbers == {*range(1, 21), 22, 23, 24}


def test_texts_are_analysed() -> None:
    assert terms("The Kites, flying_over: CAFÉ") == ["kite", "fli", "over", "cafe"]
    assert (edits("kite", "kites"), edits("", "ab"), edits("abc", "cab")) == (1, 2, 2)
