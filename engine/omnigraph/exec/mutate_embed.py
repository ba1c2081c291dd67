"""Vectors that an insert leaves to an embedder (section 7, `@embed`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from omnigraph.errors import InvalidInput
from omnigraph.exec.mutate_values import Values
from omnigraph.query.ir import InsertNode, MutationPlan
from omnigraph.schema import Catalog
from omnigraph.schema.catalog import NodeType, Property

Vector = list[float]
Vectors = Mapping[int, Mapping[str, Vector]]
"""Per statement number: property to vector."""


class Embedder(Protocol):
    """Turns texts into vectors; may have a `model`, the name of the space they lie in."""

    def embed(self, texts: Sequence[str]) -> Iterable[Iterable[float]]: ...


def embed_missing(
    catalog: Catalog, plan: MutationPlan, values: Values, embedder: Embedder | None
) -> Vectors:
    """All vectors the plan lacks, from one call of the embedder."""
    wanted: list[tuple[int, NodeType, Property, str]] = []
    for number, statement in enumerate(plan.statements):
        if isinstance(statement, InsertNode):
            node = catalog.node(statement.type_name)
            given = {a.property: values.of(a.value) for a in statement.assignments}
            for name in statement.embeds:
                prop = node.property(name)
                text = given.get(prop.embed.source) if prop.embed else None
                if text is not None and embedder is not None:
                    wanted.append((number, node, prop, text))
                elif not prop.nullable:
                    raise _missing(node, prop, text)
    if not wanted or embedder is None:
        return {}
    for _, node, prop, _ in wanted:
        _check_model(node, prop, embedder)
    embedded = list(embedder.embed([text for *_, text in wanted]))
    if len(embedded) != len(wanted):
        raise InvalidInput(f"the embedder gave {len(embedded)} vectors for {len(wanted)} texts")
    vectors: dict[int, dict[str, Vector]] = {}
    for (number, node, prop, _), vector in zip(wanted, embedded, strict=True):
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


def _check_model(node: NodeType, prop: Property, embedder: Embedder) -> None:
    recorded = prop.embed.model if prop.embed else None
    model = getattr(embedder, "model", None)
    if recorded is not None and model is not None and recorded != model:
        raise InvalidInput(
            f"{node.name}.{prop.name} holds vectors of {recorded!r}, the embedder makes {model!r}",
            hint=f"Configure an embedder for {recorded!r}.",
            details={"type_name": node.name, "property": prop.name, "model": recorded},
        )


def _usable(node: NodeType, prop: Property, vector: Iterable[float]) -> Vector:
    """The vector at length one; refused when it has none, or another dimension."""
    numbers = [float(x) for x in vector]
    length = math.hypot(*numbers)
    problem = None
    if len(numbers) != prop.type.dimension:
        problem = f"{len(numbers)} numbers instead of {prop.type.dimension}"
    elif not math.isfinite(length) or length == 0:
        problem = "a vector that is not finite" if length else "the zero vector"
    if problem:
        raise InvalidInput(
            f"the embedder gave {problem} for {node.name}.{prop.name}",
            hint="Check which model the embedder uses.",
            details={"type_name": node.name, "property": prop.name},
        )
    return [x / length for x in numbers]
