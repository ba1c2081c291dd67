"""Annotations to what they mean (docs/design/schema-language.md#7-annotations).

The short forms of constraints too (docs/design/schema-language.md#6-constraints).

Reading is checking: what comes out follows every rule that one annotation list alone can break.
"""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.common.lexical import NameNode, SourceProblem, Span
from omnigraph.schema.model.catalog import Annotation, Embed, Value
from omnigraph.schema.syntax.tree import (
    AnnotationTree,
    LiteralNode,
    PropertyDeclaration,
)

SUGAR = ("key", "unique", "index")
_BODY_ONLY = ("range", "check")


@dataclass(frozen=True)
class Default:
    """The argument of `@default`, and where it stands."""

    value: Value
    bare: bool
    span: Span


@dataclass(frozen=True)
class PropertyNotes:
    """What the annotations of one property say; `sugar` maps `key`, `unique`, `index` to spans."""

    sugar: dict[str, Span]
    description: str | None
    rename_from: LiteralNode | None
    embed: Embed | None
    embed_span: Span
    default: Default | None
    others: tuple[Annotation, ...]


@dataclass(frozen=True)
class TypeNotes:
    """What the annotations of one node or edge type say."""

    description: str | None
    instruction: str | None
    rename_from: LiteralNode | None
    others: tuple[Annotation, ...]


def read_property(prop: PropertyDeclaration) -> PropertyNotes:
    recognized = _once(prop.annotations, (*SUGAR, "description", "rename_from", "embed", "default"))
    for annotation in prop.annotations:
        name = annotation.name.text
        if name == "instruction":
            raise SourceProblem(
                "@instruction belongs on a node or an edge; use @description", annotation.span
            )
        if name in _BODY_ONLY:
            raise SourceProblem(
                f"@{name} needs arguments, as in {_EXAMPLES[name]}", annotation.span
            )
    embed = recognized.get("embed")
    return PropertyNotes(
        {name: recognized[name].span for name in SUGAR if name in recognized},
        _text(recognized.get("description")),
        _rename_from(recognized.get("rename_from")),
        _embed(embed) if embed else None,
        embed.span if embed else (0, 0),
        _default(recognized.get("default")),
        tuple(_plain(a) for a in prop.annotations if a.name.text not in recognized),
    )


def read_type(kind: str, annotations: tuple[AnnotationTree, ...]) -> TypeNotes:
    recognized = _once(annotations, ("description", "instruction", "rename_from"))
    for annotation in annotations:
        name = annotation.name.text
        if name in (*SUGAR, *_BODY_ONLY, "embed"):
            raise SourceProblem(f"@{name} cannot annotate a whole {kind} type", annotation.span)
        if name == "card" and kind == "edge":
            raise SourceProblem(
                "@card needs bounds, as in `@card(0..1)`, before annotations", annotation.span
            )
    return TypeNotes(
        _text(recognized.get("description")),
        _text(recognized.get("instruction")),
        _rename_from(recognized.get("rename_from")),
        tuple(_plain(a) for a in annotations if a.name.text not in recognized),
    )


_EXAMPLES = {"range": "`@range(depth, 0..9)`", "check": '`@check(code, "^[A-Z]+$")`'}


def _once(
    annotations: tuple[AnnotationTree, ...], names: tuple[str, ...]
) -> dict[str, AnnotationTree]:
    found: dict[str, AnnotationTree] = {}
    for annotation in annotations:
        name = annotation.name.text
        if name not in names:
            continue
        if name in found:
            raise SourceProblem(f"@{name} is written twice", annotation.span)
        found[name] = annotation
    return found


def _single(annotation: AnnotationTree, what: str) -> LiteralNode | NameNode:
    name = annotation.name.text
    if annotation.keywords:
        raise SourceProblem(f"@{name} takes no keywords", annotation.keywords[0][0].span)
    if annotation.argument is None:
        raise SourceProblem(f"@{name} needs {what}", annotation.span)
    return annotation.argument


def _text(annotation: AnnotationTree | None) -> str | None:
    if annotation is None:
        return None
    argument = _single(annotation, "a text in quotes")
    if isinstance(argument, NameNode) or not isinstance(argument.value, str):
        raise SourceProblem(f"@{annotation.name.text} needs a text in quotes", argument.span)
    if not argument.value.strip():
        raise SourceProblem(f"@{annotation.name.text} must not be empty", argument.span)
    return argument.value


def _rename_from(annotation: AnnotationTree | None) -> LiteralNode | None:
    if annotation is None:
        return None
    argument = _single(annotation, "the old name")
    if isinstance(argument, NameNode):
        return LiteralNode(argument.text, argument.span)
    if not isinstance(argument.value, str) or not argument.value:
        raise SourceProblem("@rename_from needs the old name in quotes", argument.span)
    return argument


def _embed(annotation: AnnotationTree) -> Embed:
    if annotation.argument is None:
        raise SourceProblem("@embed needs the String property to embed", annotation.span)
    argument = annotation.argument
    source = _value(argument)
    if not isinstance(source, str) or not source:
        raise SourceProblem("@embed needs the name of a String property", argument.span)
    model: str | None = None
    for keyword, value in annotation.keywords:
        if keyword.text != "model":
            raise SourceProblem(
                f"@embed knows only the keyword model, not {keyword.text}", keyword.span
            )
        if model is not None:
            raise SourceProblem("model is given twice", keyword.span)
        if not isinstance(value.value, str) or not value.value:
            raise SourceProblem("model needs a name in quotes", value.span)
        model = value.value
    return Embed(source, model)


def _default(annotation: AnnotationTree | None) -> Default | None:
    if annotation is None:
        return None
    argument = _single(annotation, "a value")
    return Default(_value(argument), isinstance(argument, NameNode), argument.span)


def _plain(annotation: AnnotationTree) -> Annotation:
    argument = annotation.argument
    value = None if argument is None else _value(argument)
    keywords = tuple((name.text, literal.value) for name, literal in annotation.keywords)
    return Annotation(annotation.name.text, value, keywords, bare=isinstance(argument, NameNode))


def _value(argument: LiteralNode | NameNode) -> Value:
    return argument.text if isinstance(argument, NameNode) else argument.value
