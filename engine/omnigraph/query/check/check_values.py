"""Literals, parameters and `now()` against the property they are compared with or assigned to."""

from __future__ import annotations

from omnigraph.common.lexical import NameNode
from omnigraph.errors import did_you_mean
from omnigraph.query.check.type_compatibility import a_type, compatible, element, same_kind
from omnigraph.query.check.variable_scope import VariableScope
from omnigraph.query.logical.expressions import (
    Compare,
    Condition,
    Literal,
    Membership,
    Now,
    Param,
    PropertyRef,
    ValueExpr,
)
from omnigraph.query.syntax.tree import (
    ListTree,
    LiteralTree,
    NowTree,
    PairTree,
    PredicateTree,
    ScalarValue,
    ValueTree,
    VariableTree,
)
from omnigraph.schema.model.catalog import Property
from omnigraph.schema.model.property_types import (
    PropertyType,
    Scalar,
    list_type,
    scalar_type,
    vector_type,
)

# --------------------------------------------------------------------------- values by themselves


def literal(scope: VariableScope, tree: LiteralTree | ListTree) -> Literal:
    """A literal with the type it has by nature: I64, F64, a list of the widest element, …"""
    if isinstance(tree, LiteralTree):
        return Literal(tree.value, scalar_type(tree.scalar))
    items = _flat(scope, tree)
    if not items:
        return Literal((), list_type(Scalar.STRING))
    scalars = {item.scalar for item in items}
    widest = Scalar.F64 if Scalar.F64 in scalars else items[0].scalar
    return Literal(tuple(_widened(item.value, widest) for item in items), list_type(widest))


def param(scope: VariableScope, tree: VariableTree) -> Param:
    """A variable used as a value, which must be a parameter."""
    type_ = scope.params.get(tree.name)
    if type_ is None:
        close = did_you_mean(tree.name, tuple(scope.params))
        raise scope.error("T14", f"`${tree.name}` is not a declared parameter{close}", tree.span)
    return Param(tree.name, type_)


def _flat(scope: VariableScope, tree: ListTree) -> list[LiteralTree]:
    items: list[LiteralTree] = []
    for item in tree.items:
        if isinstance(item, ListTree):
            raise scope.error(None, "a list cannot hold lists", item.span)
        if items and not same_kind(items[0].scalar, item.scalar):
            raise scope.error(
                None, f"this list mixes {items[0].scalar} and {item.scalar}", item.span
            )
        items.append(item)
    return items


def _widened(value: ScalarValue, scalar: Scalar) -> ScalarValue:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole and scalar in (Scalar.F32, Scalar.F64) else value  # type: ignore[arg-type]


def is_empty_list(value: object) -> bool:
    """`[]`, which is a list of anything."""
    return isinstance(value, Literal) and value.value == () and value.type.is_list


# --------------------------------------------------------------------------- in a binding


def binding_predicate(
    scope: VariableScope, variable: str, pair: PairTree, prop: Property
) -> Condition:
    """`{ property: value }`: equality, or membership when the property is a list."""
    ref = PropertyRef(variable, prop.name, prop.type)
    if prop.type.is_blob:
        raise scope.error(
            "T3", f"Blob property `{prop.name}` cannot be matched", pair.property.span
        )
    if not prop.type.is_list:
        value = fitting(scope, pair.value, prop.type, prop.name)
        _refuse_comparison(scope, pair.property, prop.type)
        return Compare("=", ref, value)
    if isinstance(pair.value, ListTree):
        raise scope.error(
            "T3",
            f"`{prop.name}` is a list; give one value to match its members",
            pair.value.span,
        )
    return Membership(ref, fitting(scope, pair.value, element(prop.type), prop.name))


def _refuse_comparison(scope: VariableScope, name: NameNode, type_: PropertyType) -> None:
    if type_.is_list or type_.is_vector:
        raise scope.error(
            "T7", f"`{name.text}` is {a_type(type_)} and cannot be compared", name.span
        )


# --------------------------------------------------------------------------- against a property


def fitting(scope: VariableScope, tree: ValueTree, expected: PropertyType, name: str) -> ValueExpr:
    """The value, if it can be compared with or assigned to a property of that type."""
    if isinstance(tree, NowTree):
        if not compatible(Now().type, expected):
            raise scope.error(
                "T7", f"`{name}` is {a_type(expected)}, and now() is a DateTime", tree.span
            )
        return Now()
    if isinstance(tree, VariableTree):
        value = param(scope, tree)
        if not compatible(value.type, expected):
            raise scope.error(
                "T7",
                f"`{name}` is {a_type(expected)}, and `${tree.name}` is {a_type(value.type)}",
                tree.span,
            )
        return value
    return _fitting_literal(scope, tree, expected, name)


def assigned(scope: VariableScope, tree: ValueTree, expected: PropertyType, name: str) -> ValueExpr:
    """The value of an assignment: as `fitting`, and a String parameter may feed a Blob."""
    if expected.is_blob and isinstance(tree, VariableTree):
        value = param(scope, tree)
        if value.type.is_string:
            return value
    return fitting(scope, tree, expected, name)


def where_value(scope: VariableScope, tree: PredicateTree, expected: PropertyType) -> ValueExpr:
    """The value a `where` compares a property with."""
    name = tree.property.text
    if expected.is_blob:
        raise scope.error(
            "T11", f"Blob property `{name}` cannot stand in `where`", tree.property.span
        )
    if expected.is_list and isinstance(tree.value, ListTree):
        raise scope.error(
            "T3", f"`{name}` is a list; lists cannot be compared in `where`", tree.value.span
        )
    value = fitting(scope, tree.value, expected, name)
    _refuse_comparison(scope, tree.property, expected)
    return value


def _fitting_literal(
    scope: VariableScope, tree: LiteralTree | ListTree, expected: PropertyType, name: str
) -> Literal:
    if expected.is_vector and isinstance(tree, ListTree):
        return _vector_literal(scope, tree, expected, name)
    value = literal(scope, tree)
    if expected.is_list and is_empty_list(value):
        return Literal((), expected.with_nullable(False))
    if not compatible(value.type, expected):
        raise scope.error(
            "T3", f"`{name}` is {a_type(expected)}, not {a_type(value.type)}", tree.span
        )
    if expected.is_enum and value.value not in expected.values:
        close = did_you_mean(str(value.value), expected.values)
        raise scope.error(
            "T3",
            f"`{name}` is one of {', '.join(expected.values)}, not {value.value!r}{close}",
            tree.span,
        )
    return _widened_literal(value, expected)


def _vector_literal(
    scope: VariableScope, tree: ListTree, expected: PropertyType, name: str
) -> Literal:
    value = vector_literal(scope, tree)
    if value is None:
        raise scope.error("T3", f"`{name}` is {a_type(expected)}, a list of numbers", tree.span)
    if value.type.dimension != expected.dimension:
        raise scope.error(
            "T3",
            f"`{name}` is {a_type(expected)}, and this list has {value.type.dimension} numbers",
            tree.span,
        )
    return value


def vector_literal(scope: VariableScope, tree: ListTree) -> Literal | None:
    """A list of numbers as a vector of its length; None for any other list."""
    value = literal(scope, tree)
    if not isinstance(value.value, tuple) or not same_kind(value.type.scalar, Scalar.F64):
        return None
    numbers = tuple(_widened(item, Scalar.F64) for item in value.value)
    return Literal(numbers, vector_type(len(numbers)))


def _widened_literal(value: Literal, expected: PropertyType) -> Literal:
    """Whole numbers become floats where the property holds floats; the rest stays as written."""
    if expected.scalar not in (Scalar.F32, Scalar.F64) or value.type.scalar is not Scalar.I64:
        return value
    if isinstance(value.value, tuple):
        return Literal(tuple(_widened(v, Scalar.F64) for v in value.value), list_type(Scalar.F64))
    return Literal(_widened(value.value, Scalar.F64), scalar_type(Scalar.F64))
