"""What an expression mentions: its variables, its searches, the key that it fixes."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.query.logical.expressions import (
    Aggregate,
    Bm25,
    Compare,
    Condition,
    Contains,
    Expr,
    Literal,
    Membership,
    Nearest,
    NodeRef,
    Param,
    PropertyRef,
    Rrf,
    StartsWith,
    TextMatch,
)
from omnigraph.schema.model.catalog import NodeType


def variables_of(expr: Condition | Expr | None) -> frozenset[str]:
    """The variables an expression mentions."""
    match expr:
        case PropertyRef() | NodeRef():
            return frozenset({expr.variable})
        case (
            Compare(left=one, right=other)
            | Contains(text=one, part=other)
            | StartsWith(text=one, prefix=other)
            | Membership(list=one, item=other)
            | TextMatch(field=one, query=other)
        ):
            return variables_of(one) | variables_of(other)
        case Nearest(field=ranked) | Bm25(field=ranked) | Rrf(first=ranked):
            return variables_of(ranked)
        case _:
            return frozenset()


def searches(expr: Condition | Expr) -> bool:
    """Whether a search or ranking call is part of an expression."""
    match expr:
        case TextMatch() | Nearest() | Bm25() | Rrf():
            return True
        case Compare():
            return searches(expr.left) or searches(expr.right)
        case Membership():
            return searches(expr.item)
        case Aggregate():
            return searches(expr.argument)
        case _:
            return False


def key_lookup(
    conditions: Iterable[Condition], type_: NodeType
) -> tuple[Compare | Membership, Expr] | None:
    """The first condition that fixes the key of a type, and the constant, or list, it fixes it to.

    Only a key of one member is fixed by one condition.
    """
    if type_.key is None or len(type_.key.members) != 1:
        return None
    (member,) = type_.key.members
    for condition in conditions:
        match condition:
            case Compare() if equated(condition) == member:
                on_left = isinstance(condition.left, PropertyRef)
                return condition, condition.right if on_left else condition.left
            case Membership(list=Literal() | Param(), item=PropertyRef(property=name)):
                if name == member:
                    return condition, condition.list
    return None


def equated(condition: Condition) -> str | None:
    """The property that a condition says equals a constant."""
    match condition:
        case (
            Compare(operator="=", left=PropertyRef(property=name), right=Literal() | Param())
            | Compare(operator="=", left=Literal() | Param(), right=PropertyRef(property=name))
        ):
            return name
        case _:
            return None
