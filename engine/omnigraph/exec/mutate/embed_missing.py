"""Vectors that an insert leaves to an embedder.

`@embed` in docs/design/query-language.md#7-mutations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from omnigraph.embedding.embedder import EmbedderOf
from omnigraph.errors import InvalidInput
from omnigraph.exec.evaluate.ranking_scores import require_model
from omnigraph.exec.mutate.statement_values import StatementValues
from omnigraph.query.logical.logical_plan import InsertNode, MutationPlan
from omnigraph.schema import Catalog
from omnigraph.schema.model.catalog import NodeType, Property

_MissingVector = tuple[int, NodeType, Property, str]
Vector = list[float]
VectorsByRow = Mapping[int, Mapping[str, Vector]]
"""Per statement number: property to vector."""


def embed_missing(
    catalog: Catalog, plan: MutationPlan, values: StatementValues, embedder_for: EmbedderOf
) -> VectorsByRow:
    """All vectors the plan lacks, from one call of the embedder for each dimension."""
    missing_by_dimension: dict[int, list[_MissingVector]] = {}
    for number, statement in enumerate(plan.statements):
        if isinstance(statement, InsertNode):
            node = catalog.node(statement.type_name)
            given = {a.property: values.of(a.value) for a in statement.assignments}
            for name in statement.embeds:
                prop = node.property(name)
                text = given.get(prop.embed.source) if prop.embed else None
                dimension = prop.type.dimension or 0
                if text is not None and embedder_for(dimension) is not None:
                    missing_by_dimension.setdefault(dimension, []).append(
                        (number, node, prop, text)
                    )
                elif not prop.nullable:
                    raise _missing(node, prop, text)
    vectors: dict[int, dict[str, Vector]] = {}
    for dimension, missing in missing_by_dimension.items():
        embedder = embedder_for(dimension)
        assert embedder is not None
        for _, node, prop, _ in missing:
            require_model(node.name, prop, embedder)
        embedded = list(embedder.embed([text for *_, text in missing]))
        if len(embedded) != len(missing):
            raise InvalidInput(
                f"the embedder returned {len(embedded)} vectors for {len(missing)} texts"
            )
        for (number, node, prop, _), vector in zip(missing, embedded, strict=True):
            vectors.setdefault(number, {})[prop.name] = _usable(node, prop, vector)
    return vectors


def _missing(node: NodeType, prop: Property, text: str | None) -> InvalidInput:
    assert prop.embed is not None
    why = f"`{prop.embed.source}` is null" if text is None else "no embedder is configured"
    return InvalidInput(
        f"{node.name}.{prop.name} is required and cannot be computed: {why}",
        hint="Give the vector itself, or configure an embedder.",
        details={"type_name": node.name, "property": prop.name},
    )


def _usable(node: NodeType, prop: Property, vector: Iterable[float]) -> Vector:
    """The vector scaled to length one; refused if that is impossible, or the dimension differs."""
    numbers = [float(x) for x in vector]
    length = math.hypot(*numbers)
    problem = None
    if len(numbers) != prop.type.dimension:
        problem = f"{len(numbers)} numbers instead of {prop.type.dimension}"
    elif not math.isfinite(length) or length == 0:
        problem = "a vector that is not finite" if length else "the zero vector"
    if problem:
        raise InvalidInput(
            f"the embedder returned {problem} for {node.name}.{prop.name}",
            hint="Check which model the embedder uses.",
            details={"type_name": node.name, "property": prop.name},
        )
    return [x / length for x in numbers]
