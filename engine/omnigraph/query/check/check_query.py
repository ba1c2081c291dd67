"""Tree to checked query: every name resolved against the catalog, every rule held.

The rules and their codes are docs/design/query-language.md#9-type-codes.
"""

from __future__ import annotations

from omnigraph.query.check.check_match import check_match
from omnigraph.query.check.check_mutation import check_mutation
from omnigraph.query.check.check_order import check_order
from omnigraph.query.check.check_params import check_params
from omnigraph.query.check.check_return import check_return
from omnigraph.query.check.checked_query import CheckedRead
from omnigraph.query.check.variable_scope import VariableScope
from omnigraph.query.logical.logical_plan import MutationPlan
from omnigraph.query.syntax.tree import QueryFile, QueryTree, ReadTree
from omnigraph.schema.model.catalog import Catalog
from omnigraph.schema.model.property_types import PropertyType


def check(
    file: QueryFile, query: QueryTree, catalog: Catalog
) -> tuple[dict[str, PropertyType], CheckedRead | MutationPlan]:
    """Check one query of a file: the types of its parameters, and its body."""
    params = check_params(file, query)
    scope = VariableScope(file, catalog, params)
    if isinstance(query.body, ReadTree):
        return params, _check_read(scope, query.body)
    return params, check_mutation(scope, query.body)


def check_distinct(file: QueryFile, query: QueryTree) -> None:
    """Refuse a query whose name an earlier query of the file has."""
    first = next(q for q in file.queries if q.name.text == query.name.text)
    if first is not query:
        raise file.error(None, f"query {query.name.text!r} is declared twice", query.name.span)


def _check_read(scope: VariableScope, tree: ReadTree) -> CheckedRead:
    match = check_match(scope, tree.clauses)
    items = check_return(scope, tree.items)
    rank, keys = check_order(scope, tree, items)
    return CheckedRead(match, items, rank, keys, tree.limit)
