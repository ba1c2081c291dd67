"""Interfaces to effective properties (docs/design/schema-language.md#8-interfaces)."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.common.lexical import NameNode
from omnigraph.errors import did_you_mean
from omnigraph.schema.compiler.annotations import PropertyNotes, read_property
from omnigraph.schema.syntax.diagnostics import CatalogProblem
from omnigraph.schema.syntax.tree import (
    EdgeTree,
    InterfaceTree,
    NodeTree,
    PropertyDeclaration,
)


@dataclass(frozen=True)
class EffectiveProperty:
    """A property as a type has it; `injected` when an interface brought it."""

    tree: PropertyDeclaration
    notes: PropertyNotes
    injected: bool = False

    @property
    def name(self) -> str:
        return self.tree.name.text


Effective = dict[str, EffectiveProperty]


def own_properties(owner: InterfaceTree | NodeTree | EdgeTree) -> Effective:
    return {
        prop.name.text: EffectiveProperty(prop, read_property(prop)) for prop in owner.properties
    }


def effective_properties(node: NodeTree, interfaces: dict[str, Effective]) -> Effective:
    """The node's own properties and those its interfaces bring, by name."""
    own = own_properties(node)
    injected: dict[str, tuple[EffectiveProperty, str]] = {}
    for implemented in node.implements:
        for prop in _interface(implemented, interfaces).values():
            if prop.name in own:
                _require_same_type(node, own[prop.name], prop, implemented.text)
                continue
            other, source = injected.setdefault(prop.name, (prop, implemented.text))
            if _declaration(prop) != _declaration(other):
                raise CatalogProblem(
                    f"interfaces {source} and {implemented.text} give {node.name.text} "
                    f"different declarations of {prop.name}",
                    implemented.span,
                )
    brought = {
        name: EffectiveProperty(prop.tree, prop.notes, injected=True)
        for name, (prop, _) in injected.items()
    }
    return own | brought


def _interface(name: NameNode, interfaces: dict[str, Effective]) -> Effective:
    try:
        return interfaces[name.text]
    except KeyError:
        close = did_you_mean(name.text, tuple(interfaces))
        raise CatalogProblem(f"unknown interface {name.text!r}{close}", name.span) from None


def _require_same_type(
    node: NodeTree, own: EffectiveProperty, given: EffectiveProperty, source: str
) -> None:
    if own.tree.type != given.tree.type:
        raise CatalogProblem(
            f"{node.name.text}.{own.name} is {own.tree.type}, "
            f"but interface {source} declares it as {given.tree.type}",
            own.tree.type_span,
        )


def _declaration(prop: EffectiveProperty) -> str:
    """Everything a declaration says, without where it says it and without rename hints."""
    notes = prop.notes
    default = None if notes.default is None else notes.default.value
    others = sorted(notes.others, key=repr)
    says = (prop.tree.type, sorted(notes.sugar), notes.description, notes.embed, default, others)
    return repr(says)
