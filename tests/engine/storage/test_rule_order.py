"""Rules are checked one after the other over all tables, whoever looks for what breaks them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from omnigraph.errors import ConstraintViolation
from omnigraph.storage.constraints.final_state import Violations
from omnigraph.storage.constraints.rule_order import RuleSet, require_valid, violations

RULES = ("unique", "endpoint", "reference", "card")


def broken(rule: str) -> Callable[[str], Violations]:
    return lambda table: iter([ConstraintViolation(rule, f"{rule}({table})", "broken", {})])


def rules() -> RuleSet[str]:
    return RuleSet(["a", "b"], *(broken(rule) for rule in RULES))


def test_a_rule_is_checked_on_all_tables_before_the_next() -> None:
    found = [(violation.kind, table) for table, violation in violations(rules())]
    assert found == [(rule, table) for rule in RULES for table in ("a", "b")]


def test_deferred_checks_leave_rules_that_span_tables_to_the_merge() -> None:
    found = [(violation.kind, table) for table, violation in violations(rules(), deferred=True)]
    assert found == [("unique", "a"), ("unique", "b")]


def test_a_write_is_refused_for_the_first_violation() -> None:
    with pytest.raises(ConstraintViolation) as caught:
        require_valid(rules())
    assert caught.value.notation == "unique(a)"
