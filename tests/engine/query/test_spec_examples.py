"""The examples of the language reference, as far as a compiler can tell."""

from __future__ import annotations

import json

import pytest

from omnigraph.errors import InvalidInput, QueryTypeError
from omnigraph.query.logical.logical_plan import Expand, Pattern, ReadPlan

from .cases import Case, cases

CASES = cases()


def outcome(case: Case) -> str:
    try:
        case.compile()
    except QueryTypeError as error:
        assert error.type_code is None or error.message.startswith(f"{error.type_code}: ")
        return error.type_code or error.code
    except InvalidInput as error:
        return error.code
    return "accept"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.schema}: {case.title}")
def test_an_example_is_accepted_or_refused_as_written(case: Case) -> None:
    assert outcome(case) == case.expect


@pytest.mark.parametrize(
    "case", [c for c in CASES if "columns" in c.expectations], ids=lambda case: case.title
)
def test_an_example_has_the_columns_written(case: Case) -> None:
    plan = case.compile().ir
    assert isinstance(plan, ReadPlan)
    assert [c.name for c in plan.columns] == case.expectations["columns"].split(", ")


@pytest.mark.parametrize(
    "case", [c for c in CASES if "directions" in c.expectations], ids=lambda case: case.title
)
def test_an_example_walks_its_edges_as_written(case: Case) -> None:
    plan = case.compile().ir
    assert isinstance(plan, ReadPlan)
    found = [f"{e.edge_type} {e.direction}" for e in expands(plan.pattern)]
    assert ", ".join(found) == case.expectations["directions"]


@pytest.mark.parametrize(
    "case", [c for c in CASES if "rows" in c.expectations], ids=lambda case: case.title
)
def test_the_rows_of_an_example_have_its_columns(case: Case) -> None:
    plan = case.compile().ir
    assert isinstance(plan, ReadPlan)
    rows = json.loads(case.expectations["rows"])
    assert all(len(row) == len(plan.columns) for row in rows)
    assert not plan.order or case.expectations.get("ordered") == "yes"


def test_every_static_example_is_there() -> None:
    numbers = {int(case.title.split()[0]) for case in CASES}
    assert numbers == {*range(1, 30), 31, 34}  # 30, 32, 33 are no query texts


def expands(pattern: Pattern) -> list[Expand]:
    inner = [e for negation in pattern.negations for e in expands(negation.pattern)]
    return [*pattern.expands, *inner]
