"""Constraints on the final image of a write: uniqueness, endpoints, cardinality.

Each check finds candidates in what the write changed and confirms them on the final image, so that
rows a later operation replaced cannot raise a false alarm. Order: all uniqueness, then all
endpoints, then all cardinality (loading.md §5). Violations come one by one: a write needs the
first, a merge reports all.
"""

from __future__ import annotations

from omnigraph.schema import EdgeType
from omnigraph.storage.constraints.cardinality import cardinality_violations, too_many
from omnigraph.storage.constraints.endpoints import (
    all_values,
    dangling_edges,
    endpoint_violations,
    missing_nodes,
    reference_violations,
)
from omnigraph.storage.constraints.final_state import FinalState, Violations
from omnigraph.storage.constraints.uniqueness import check_unique_everywhere, unique_violations


def validate(image: FinalState, *, deferred: bool = False) -> None:
    """Raise the first violation, or return. What is deferred spans tables: the merge checks it."""
    for violation in all_violations(image, deferred=deferred):
        raise violation


def all_violations(image: FinalState, *, deferred: bool = False) -> Violations:
    """Everything that the final image breaks, in order."""
    changed = [change for _, change in sorted(image.changed.items())]
    for change in changed:
        yield from unique_violations(image, change)
    if deferred:
        return
    for change in changed:
        yield from endpoint_violations(image, change)
    for change in changed:
        yield from reference_violations(image, change)
    for change in changed:
        yield from cardinality_violations(image, change)


def check_everything(image: FinalState) -> None:
    """Uniqueness, endpoints and upper cardinality over whole tables; for verification."""
    for type_ in image.catalog.types():
        view = image.table(type_.table_key)
        for rule in type_.uniques if view.rows else ():
            check_unique_everywhere(view, type_, rule.members)
        if not isinstance(type_, EdgeType) or not view.rows:
            continue
        for end, node_name in (("src", type_.src), ("dst", type_.dst)):
            missing = missing_nodes(image, node_name, all_values(view, end))
            for violation in dangling_edges(view, type_, end, node_name, missing):
                raise violation
        for violation in too_many(view, type_, all_values(view, "src")):
            raise violation
