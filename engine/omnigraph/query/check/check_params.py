"""The declared parameters of a query and their types."""

from __future__ import annotations

from omnigraph.query.syntax.tree import ParamTree, QueryFile, QueryTree, TypeTree
from omnigraph.schema.model.property_types import (
    MAX_DIMENSION,
    PropertyType,
    Scalar,
    list_type,
    scalar_type,
    vector_type,
)
from omnigraph.schema.syntax.tree_builder import unknown_type


def check_params(file: QueryFile, query: QueryTree) -> dict[str, PropertyType]:
    """The type of each parameter, in the order they are declared."""
    params: dict[str, PropertyType] = {}
    for param in query.params:
        name = param.name.name
        if name in params:
            raise file.error(None, f"parameter `${name}` is declared twice", param.name.span)
        params[name] = _type(file, param)
    return params


def _type(file: QueryFile, param: ParamTree) -> PropertyType:
    written = param.type
    word, span = written.word.text, written.word.span
    if written.form == "vector":
        return _vector(file, written)
    if word == "Vector":
        raise file.error(None, "a Vector needs its dimension, as in `Vector(384)`", span)
    try:
        scalar = Scalar(word)
    except ValueError:
        raise file.error(None, f"`${param.name.name}` has an {unknown_type(word)}", span) from None
    if written.form == "scalar":
        return scalar_type(scalar, nullable=written.nullable)
    if scalar is Scalar.BLOB:
        raise file.error(None, "a list cannot hold Blob values", span)
    return list_type(scalar, nullable=written.nullable)


def _vector(file: QueryFile, written: TypeTree) -> PropertyType:
    word, span = written.word.text, written.word.span
    if word != "Vector":
        raise file.error(None, f"`{word}` takes no argument; only Vector does", span)
    dimension = written.dimension or 0
    if not 1 <= dimension <= MAX_DIMENSION:
        raise file.error(None, f"a Vector has between 1 and {MAX_DIMENSION} dimensions", span)
    return vector_type(dimension, nullable=written.nullable)
