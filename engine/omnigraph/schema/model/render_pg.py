"""A catalog back to canonical `.pg` text: what `schema show` prints.

The text compiles to an equal fingerprint. Rename hints have done their work and are left out;
comments are not part of a catalog.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.schema.model.catalog import (
    Annotation,
    Catalog,
    EdgeType,
    NodeType,
    Property,
    TypeDeclaration,
    Value,
)
from omnigraph.schema.model.constraints import Index, bound_text, quote


def to_source(catalog: Catalog) -> str:
    """Interfaces, nodes and edges, each by name."""
    return "\n".join(
        _source(catalog, type_)
        for types in catalog.by_kind.values()
        for _, type_ in sorted(types.items())
    )


def declaration(catalog: Catalog, type_: TypeDeclaration) -> str:
    """One type as its catalog declares it, on one line."""
    return " ".join(_source(catalog, type_).split())


def property_declaration(type_: TypeDeclaration, prop: Property) -> str:
    """One property as its type declares it."""
    return " ".join((f"{prop.name}: {prop.type}", *_property_annotations(type_, prop)))


def _source(catalog: Catalog, type_: TypeDeclaration) -> str:
    match type_:
        case NodeType():
            return _node(catalog, type_)
        case EdgeType():
            return _edge(type_)
        case _:
            return _block(f"interface {type_.name}", _members(type_, type_.properties))


def _node(catalog: Catalog, node: NodeType) -> str:
    head = " ".join((f"node {node.name}", *_type_annotations(node)))
    if node.implements:
        head += f" implements {', '.join(node.implements)}"
    own = tuple(prop for prop in node.properties if not _is_inherited(catalog, node, prop))
    return _block(head, _members(node, own))


def _edge(edge: EdgeType) -> str:
    head = f"edge {edge.name}: {edge.src} -> {edge.dst}"
    card = () if edge.cardinality.is_free else (str(edge.cardinality),)
    head = " ".join((head, *card, *_type_annotations(edge)))
    members = list(_members(edge, edge.properties))
    return _block(head, members) if members else f"{head}\n"


def _block(head: str, members: Iterator[str] | list[str]) -> str:
    lines = [f"  {member}\n" for member in members]
    return f"{head} {{\n{''.join(lines)}}}\n" if lines else f"{head} {{}}\n"


def _members(type_: TypeDeclaration, properties: tuple[Property, ...]) -> Iterator[str]:
    for prop in properties:
        yield property_declaration(type_, prop)
    if type_.key is not None and len(type_.key.members) > 1:
        yield str(type_.key)
    implied = type_.key and Index(type_.key.members)
    for constraint in type_.constraints:
        as_sugar = constraint.kind in ("unique", "index") and any(
            constraint.kind in _sugar(type_, prop) and constraint.members == (prop.name,)  # type: ignore[union-attr]
            for prop in type_.properties
        )
        if constraint != implied and not as_sugar:
            yield str(constraint)


def _is_inherited(catalog: Catalog, node: NodeType, prop: Property) -> bool:
    """Whether leaving the property out brings the same one in from the interfaces."""
    declared = [
        (interface, interface.by_name[prop.name])
        for interface in (catalog.interfaces[name] for name in node.implements)
        if prop.name in interface.by_name
    ]
    wanted = (_says(prop), _sugar(node, prop))
    return bool(declared) and all((_says(p), _sugar(i, p)) == wanted for i, p in declared)


def _says(prop: Property) -> str:
    return repr((prop.type, prop.annotations, prop.description, prop.embed, prop.default))


def _sugar(type_: TypeDeclaration, prop: Property) -> tuple[str, ...]:
    """The one-member constraints that can be written on the property itself."""
    alone = (prop.name,)
    found = ["key"] if type_.key is not None and type_.key.members == alone else []
    if any(unique.members == alone for unique in type_.uniques):
        found.append("unique")
    # A list takes @index only in the body; a key has its index already.
    if any(index.members == alone for index in type_.indexes) and not (
        prop.type.is_list or "key" in found
    ):
        found.append("index")
    return tuple(found)


# --------------------------------------------------------------------------- annotations


def _type_annotations(type_: TypeDeclaration) -> Iterator[str]:
    if type_.description is not None:
        yield f"@description({quote(type_.description)})"
    if type_.instruction is not None:
        yield f"@instruction({quote(type_.instruction)})"
    yield from (_annotation(annotation) for annotation in type_.annotations)


def _property_annotations(type_: TypeDeclaration, prop: Property) -> Iterator[str]:
    yield from (f"@{kind}" for kind in _sugar(type_, prop))
    if prop.default is not None:
        yield f"@default({_literal(prop.default)})"
    if prop.embed is not None:
        model = "" if prop.embed.model is None else f", model={quote(prop.embed.model)}"
        yield f"@embed({quote(prop.embed.source)}{model})"
    if prop.description is not None:
        yield f"@description({quote(prop.description)})"
    yield from (_annotation(annotation) for annotation in prop.annotations)


def _annotation(annotation: Annotation) -> str:
    if annotation.argument is None:
        return f"@{annotation.name}"
    first = str(annotation.argument) if annotation.bare else _literal(annotation.argument)
    rest = (f"{name}={_literal(value)}" for name, value in annotation.keywords)
    return f"@{annotation.name}({', '.join((first, *rest))})"


def _literal(value: Value) -> str:
    if isinstance(value, str):
        return quote(value)
    return str(value).lower() if isinstance(value, bool) else bound_text(value)
