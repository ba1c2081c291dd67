"""Text and catalog to compiled queries: parse, check, lower, describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal as OneOf

from omnigraph.errors import InvalidInput, did_you_mean
from omnigraph.query.check.check_query import check, check_distinct
from omnigraph.query.logical.describe import Descriptor, FieldDescriptor, describe, describe_field
from omnigraph.query.logical.logical_plan import Plan, ReadPlan
from omnigraph.query.lower import lower
from omnigraph.query.syntax.parse import parse
from omnigraph.query.syntax.tree import QueryFile, QueryTree
from omnigraph.schema.model.catalog import Catalog
from omnigraph.schema.model.property_types import PropertyType


@dataclass(frozen=True)
class CompiledQuery:
    """A query that fits its catalog. `params` are in the order they are declared."""

    name: str
    params: Mapping[str, PropertyType]
    ir: Plan
    descriptor: Descriptor
    description: str | None
    instruction: str | None

    @property
    def kind(self) -> OneOf["read", "mutation"]:
        return "read" if isinstance(self.ir, ReadPlan) else "mutation"

    @property
    def param_descriptors(self) -> tuple[FieldDescriptor, ...]:
        """The parameters as a client must send them."""
        return tuple(describe_field(name, type_) for name, type_ in self.params.items())


def compile_query(
    source: str, catalog: Catalog, name: str | None = None, file: str | None = None
) -> CompiledQuery:
    """One query of a text; the name may be left out when there is only one."""
    tree, query = choose_query(source, name, file)
    return compile_tree(tree, query, catalog)


def choose_query(
    source: str, name: str | None = None, file: str | None = None
) -> tuple[QueryFile, QueryTree]:
    """One query of a text as it is written, which needs no catalog; and the text it is part of."""
    return _choose(source, name, file)


@lru_cache(maxsize=32)  # a caller that looks before it compiles parses once
def _choose(source: str, name: str | None, file: str | None) -> tuple[QueryFile, QueryTree]:
    tree = parse(source, file)
    return tree, _chosen(tree, name)


def compile_file(
    source: str, catalog: Catalog, file: str | None = None
) -> Mapping[str, CompiledQuery]:
    """Every query of a text, by name, in the order written."""
    tree = parse(source, file)
    return {query.name.text: compile_tree(tree, query, catalog) for query in tree.queries}


def compile_tree(file: QueryFile, query: QueryTree, catalog: Catalog) -> CompiledQuery:
    check_distinct(file, query)
    params, body = check(file, query, catalog)
    plan = lower(body)
    return CompiledQuery(
        name=query.name.text,
        params=params,
        ir=plan,
        descriptor=describe(plan, catalog),
        description=query.description,
        instruction=query.instruction,
    )


def _chosen(file: QueryFile, name: str | None) -> QueryTree:
    names = [query.name.text for query in file.queries]
    if name is None:
        if len(names) == 1:
            return file.queries[0]
        if not names:
            raise InvalidInput("the text holds no query")
        raise InvalidInput(
            f"the text holds {len(names)} queries: {', '.join(names)}",
            hint="Say which one to run.",
            details={"query_names": names},
        )
    for query in reversed(file.queries):  # the last of a repeated name, which is then refused
        if query.name.text == name:
            return query
    raise InvalidInput(
        f"no query is called {name!r}{did_you_mean(name, names)}", details={"query_names": names}
    )
