"""A tree written as text reads back as the same tree, whatever its names are."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.query import parse
from omnigraph.query.syntax.tree import QueryTree

from .trees import clauses, queries, text, without_spans


@settings(max_examples=80, deadline=None)
@given(queries)
def test_a_query_reads_back_as_it_was_written(query: QueryTree) -> None:
    (again,) = parse(text(query)).queries
    assert without_spans(again) == query


@settings(max_examples=80, deadline=None)
@given(st.lists(clauses, min_size=1, max_size=6))
def test_clauses_that_follow_each_other_stay_apart(written: list[Any]) -> None:
    joined = " ".join(map(text, written))
    (query,) = parse(f"query q() {{ match {{ {joined} }} return {{ 1 }} }}").queries
    assert without_spans(query.body).clauses == tuple(written)
