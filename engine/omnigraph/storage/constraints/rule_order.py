"""The order in which the rules of a schema are checked, whoever looks for what breaks them.

All uniqueness, then all endpoints, then all references, then all cardinality: the order of
docs/design/loading.md#5-validation.
Checks find candidates in what a write changed and confirm them on the final state, so that rows a
later operation replaced cannot raise a false alarm. Violations come one by one: a write needs the
first, a merge reports all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from omnigraph.errors import ConstraintViolation
from omnigraph.storage.constraints.cardinality import cardinality_violations
from omnigraph.storage.constraints.endpoints import endpoint_violations, reference_violations
from omnigraph.storage.constraints.final_state import FinalState, TableChange, Violations
from omnigraph.storage.constraints.uniqueness import unique_violations

Table = TypeVar("Table")


@dataclass(frozen=True)
class RuleSet(Generic[Table]):
    """The tables to check, and for each rule how to find what breaks it in one of them."""

    tables: Collection[Table]
    uniqueness: Callable[[Table], Violations]
    endpoints: Callable[[Table], Violations]
    """Both ends of every edge exist."""
    references: Callable[[Table], Violations]
    """No edge of another table names a node that was deleted."""
    cardinality: Callable[[Table], Violations]


def violations(
    rules: RuleSet[Table], *, deferred: bool = False
) -> Iterator[tuple[Table, ConstraintViolation]]:
    """Every violation with its table, in order; what is deferred spans tables (see `merge`)."""
    spanning = () if deferred else (rules.endpoints, rules.references, rules.cardinality)
    for rule in (rules.uniqueness, *spanning):
        for table in rules.tables:
            yield from ((table, violation) for violation in rule(table))


def require_valid(rules: RuleSet[Table], *, deferred: bool = False) -> None:
    """Raise the first violation, or return."""
    for _, violation in violations(rules, deferred=deferred):
        raise violation


def changed_tables(state: FinalState) -> RuleSet[TableChange]:
    """The rules where a write can have broken them."""
    return RuleSet(
        [change for _, change in sorted(state.changed.items())],
        uniqueness=partial(unique_violations, state),
        endpoints=partial(endpoint_violations, state),
        references=partial(reference_violations, state),
        cardinality=partial(cardinality_violations, state),
    )
