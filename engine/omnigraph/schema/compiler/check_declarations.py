"""The static rules of declarations: names, eligibility of constraints, annotation targets.

They are docs/design/schema-language.md#4-physical-tables to #7-annotations.

`check_names` looks at the declarations as written; `check_type` at one type with its effective
properties.
"""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.common.lexical import NameNode, SourceProblem, Span
from omnigraph.errors import did_you_mean
from omnigraph.schema.compiler.interfaces import Effective, EffectiveProperty
from omnigraph.schema.model.arrow_schema import ROW_COLUMNS, pattern_problem
from omnigraph.schema.model.default_values import stored_default
from omnigraph.schema.model.property_types import PropertyType
from omnigraph.schema.syntax.diagnostics import CatalogProblem
from omnigraph.schema.syntax.tree import (
    CheckConstraint,
    EdgeTree,
    InterfaceTree,
    OwnerTree,
    RangeConstraint,
    SchemaTree,
    TupleConstraint,
)

NODE_RESERVED = ROW_COLUMNS | {"id"}
EDGE_RESERVED = ROW_COLUMNS | {"id", "src", "dst", "from", "to"}
ENDPOINTS = ("src", "dst")


# --------------------------------------------------------------------------- names


def check_names(tree: SchemaTree) -> None:
    _check_distinct("interface", (i.name for i in tree.interfaces))
    _check_distinct("node type", (n.name for n in tree.nodes))
    _check_distinct("edge type", (e.name for e in tree.edges))
    _check_edge_case(tree)
    for owner in tree.owners:
        _check_property_names(owner)
    for node in tree.nodes:
        _check_distinct(f"interface of {node.name.text}", node.implements)
    _check_endpoints(tree)


def _check_distinct(what: str, names: Iterable[NameNode]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.text in seen:
            raise CatalogProblem(f"{what} {name.text!r} is declared twice", name.span)
        seen.add(name.text)


def _check_edge_case(tree: SchemaTree) -> None:
    folded: dict[str, str] = {}
    for edge in tree.edges:
        other = folded.setdefault(edge.name.text.lower(), edge.name.text)
        if other != edge.name.text:
            raise CatalogProblem(
                f"edge types {other!r} and {edge.name.text!r} differ only in case, "
                "and edges are looked up ignoring case",
                edge.name.span,
            )


def _check_property_names(owner: OwnerTree) -> None:
    reserved = EDGE_RESERVED if isinstance(owner, EdgeTree) else NODE_RESERVED
    for prop in owner.properties:
        if prop.name.text in reserved:
            raise SourceProblem(
                f"{prop.name.text!r} is a reserved name; choose another", prop.name.span
            )
    _check_distinct(f"property of {owner.name.text}:", (p.name for p in owner.properties))


def _check_endpoints(tree: SchemaTree) -> None:
    nodes = {node.name.text for node in tree.nodes}
    interfaces = {interface.name.text for interface in tree.interfaces}
    for edge in tree.edges:
        for end in (edge.src, edge.dst):
            if end.text in nodes:
                continue
            if end.text in interfaces:
                problem = f"{end.text!r} is an interface; an edge joins node types"
            else:
                close = did_you_mean(end.text, sorted(nodes))
                problem = f"edge {edge.name.text} names unknown node type {end.text!r}{close}"
            raise CatalogProblem(problem, end.span)


# --------------------------------------------------------------------------- one type


def check_type(owner: OwnerTree, properties: Effective) -> None:
    for prop in properties.values():
        # What an interface brings was checked there; only @embed can depend on the node.
        if not prop.injected:
            _check_sugar(owner, prop)
            _check_default(prop)
        if prop.notes.embed is not None and not isinstance(owner, InterfaceTree):
            _check_embed_source(owner, prop, properties)
    for constraint in owner.constraints:
        match constraint:
            case TupleConstraint():
                _check_tuple(owner, constraint, properties)
            case RangeConstraint():
                _check_range(owner, constraint, properties)
            case CheckConstraint():
                _check_pattern(owner, constraint, properties)
    _check_one_key(owner, properties)
    if isinstance(owner, EdgeTree) and owner.cardinality is not None:
        card = owner.cardinality
        if card.max is not None and card.max < card.min:
            raise SourceProblem(f"@card needs min <= max, not {card.min}..{card.max}", card.span)


def _check_sugar(owner: OwnerTree, prop: EffectiveProperty) -> None:
    on_edge, type_ = isinstance(owner, EdgeTree), prop.tree.type
    where = f"{owner.name.text}.{prop.name}"
    for name, span in prop.notes.sugar.items():
        if name == "key" and on_edge:
            raise SourceProblem("an edge has no @key", span)
        if name == "index" and type_.is_list:
            raise SourceProblem(f"@index cannot be on {where}: it is a list", span)
        _check_eligible(name, type_, where, span)
    if prop.notes.embed is None:
        return
    if on_edge:
        raise SourceProblem("@embed belongs on a node, not on an edge", prop.notes.embed_span)
    if not type_.is_vector:
        raise SourceProblem(
            f"@embed needs a Vector property; {where} is {type_}", prop.notes.embed_span
        )


def _check_eligible(kind: str, type_: PropertyType, where: str, span: Span) -> None:
    """The rules that the property form and the body form share."""
    if type_.is_blob:
        raise SourceProblem(f"@{kind} cannot be on {where}: it is a Blob", span)
    if kind != "index" and not type_.has_key_text:
        raise SourceProblem(f"@{kind} cannot be on {where}: it is {type_}", span)
    if kind == "key" and type_.nullable:
        raise SourceProblem(f"@key needs a value always, but {where} is nullable", span)


def _check_default(prop: EffectiveProperty) -> None:
    default = prop.notes.default
    if default is None:
        return
    if default.bare and not prop.tree.type.is_enum:
        raise SourceProblem(
            f'@default needs a literal; did you mean "{default.value}"?', default.span
        )
    try:
        stored_default(default.value, prop.tree.type)
    except ValueError as error:
        raise SourceProblem(str(error), default.span) from None


def _check_embed_source(owner: OwnerTree, prop: EffectiveProperty, properties: Effective) -> None:
    assert prop.notes.embed is not None
    source = properties.get(prop.notes.embed.source)
    if source is None:
        close = did_you_mean(prop.notes.embed.source, tuple(properties))
        raise SourceProblem(
            f"@embed names unknown property {prop.notes.embed.source!r} "
            f"of {owner.name.text}{close}",
            prop.notes.embed_span,
        )
    if not source.tree.type.is_string:
        raise SourceProblem(
            f"@embed needs a String property; {source.name} is {source.tree.type}",
            prop.notes.embed_span,
        )


def _check_one_key(owner: OwnerTree, properties: Effective) -> None:
    spans = [p.notes.sugar["key"] for p in properties.values() if "key" in p.notes.sugar]
    tuples = [c for c in owner.constraints if isinstance(c, TupleConstraint)]
    spans += [constraint.span for constraint in tuples if constraint.kind == "key"]
    if len(spans) > 1:
        raise SourceProblem(
            f"{owner.name.text} has two keys; for one key of several properties write "
            "`@key(a, b)` in the body",
            max(spans),
        )


# --------------------------------------------------------------------------- body constraints


def _check_tuple(owner: OwnerTree, constraint: TupleConstraint, props: Effective) -> None:
    on_edge = isinstance(owner, EdgeTree)
    if constraint.kind == "key" and on_edge:
        raise SourceProblem("an edge has no @key", constraint.span)
    seen: set[str] = set()
    for member in constraint.members:
        if member.text in seen:
            raise SourceProblem(f"{member.text!r} is listed twice", member.span)
        seen.add(member.text)
        if on_edge and member.text in ENDPOINTS:
            continue
        prop = _member(owner, member, props, ENDPOINTS if on_edge else ())
        where = f"{owner.name.text}.{prop.name}"
        _check_eligible(constraint.kind, prop.tree.type, where, member.span)


def _check_range(owner: OwnerTree, constraint: RangeConstraint, props: Effective) -> None:
    _require_node(owner, "@range", constraint.span)
    prop = _member(owner, constraint.member, props)
    if not prop.tree.type.is_numeric:
        raise SourceProblem(
            f"@range needs a numeric type; {owner.name.text}.{prop.name} is {prop.tree.type}",
            constraint.member.span,
        )
    lo, hi = constraint.lo, constraint.hi
    if lo is not None and hi is not None and lo > hi:
        raise SourceProblem(f"@range is empty: {lo} is above {hi}", constraint.span)


def _check_pattern(owner: OwnerTree, constraint: CheckConstraint, props: Effective) -> None:
    _require_node(owner, "@check", constraint.span)
    prop = _member(owner, constraint.member, props)
    if not prop.tree.type.is_string:
        raise SourceProblem(
            f"@check needs a String; {owner.name.text}.{prop.name} is {prop.tree.type}",
            constraint.member.span,
        )
    if problem := pattern_problem(str(constraint.pattern.value)):
        raise SourceProblem(f"@check has an invalid pattern: {problem}", constraint.pattern.span)


def _require_node(owner: OwnerTree, what: str, span: Span) -> None:
    if isinstance(owner, EdgeTree):
        raise SourceProblem(f"{what} is for nodes; an edge cannot have it", span)


def _member(
    owner: OwnerTree,
    name: NameNode,
    properties: Effective,
    extra: tuple[str, ...] = (),
) -> EffectiveProperty:
    try:
        return properties[name.text]
    except KeyError:
        close = did_you_mean(name.text, (*properties, *extra))
        raise SourceProblem(
            f"{owner.name.text} has no property {name.text!r}{close}", name.span
        ) from None
