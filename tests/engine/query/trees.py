"""Random trees and their text, to show that a text means the tree it was written from."""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime
from typing import Any

from hypothesis import strategies as st

from omnigraph.common.lexical import NameNode
from omnigraph.query.syntax.tree import (
    AggregateTree,
    BindingTree,
    Bm25Tree,
    BoundsTree,
    DeleteTree,
    FilterTree,
    IdentTree,
    InsertTree,
    ItemTree,
    KeyTree,
    ListTree,
    LiteralTree,
    MutationTree,
    NearestTree,
    NegationTree,
    NowTree,
    PairTree,
    ParamTree,
    PredicateTree,
    PropertyAccess,
    QueryTree,
    ReadTree,
    RrfTree,
    TextTree,
    TraversalTree,
    TypeTree,
    UpdateTree,
    VariableTree,
)
from omnigraph.schema.model.property_types import Scalar

NOWHERE = (0, 0)

KEYWORDS = (
    "query match return order limit insert update set delete where as asc desc contains "
    "starts_with true false now date datetime search match_text fuzzy nearest bm25 rrf count sum"
)
words = st.one_of(
    st.sampled_from(KEYWORDS.split(" ")), st.from_regex(r"[a-z_][A-Za-z0-9_]{0,5}", fullmatch=True)
)
edge_words = words.filter(lambda word: word != "not")
# In an expression these are literals, keywords or operators, and never bare words.
idents = words.filter(
    lambda word: word not in ("not", "true", "false", "as", "contains", "starts_with")
)
names = words.map(lambda word: NameNode(word, NOWHERE))
edges = edge_words.map(lambda word: NameNode(word, NOWHERE))
types = st.from_regex(r"[A-Z][A-Za-z0-9_]{0,5}", fullmatch=True).map(lambda w: NameNode(w, NOWHERE))
variables = words.map(lambda word: VariableTree(word, NOWHERE))
properties = st.builds(PropertyAccess, variables, names, st.just(NOWHERE))


def _literal(scalar: Scalar) -> Any:  # noqa: ANN401
    return lambda value: LiteralTree(value, scalar, NOWHERE)


texts = st.text(max_size=6).map(_literal(Scalar.STRING))
floats = st.decimals(-1000, 1000, places=3).map(float).map(_literal(Scalar.F64))
integers = st.integers(-(2**63), 2**63 - 1).map(_literal(Scalar.I64))
days = st.dates(min_value=date(1000, 1, 1)).map(_literal(Scalar.DATE))
moments = st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC))
scalars = st.one_of(
    texts,
    floats,
    integers,
    st.booleans().map(_literal(Scalar.BOOL)),
    days,
    moments.map(_literal(Scalar.DATETIME)),
)
literals: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3).map(lambda i: ListTree(tuple(i), NOWHERE)),
    max_leaves=4,
)
values = st.one_of(literals, variables, st.just(NowTree(NOWHERE)))
operands = st.one_of(values, properties, idents.map(lambda w: IdentTree(w, NOWHERE)))


def _text_calls(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    here, plain = st.just(NOWHERE), st.sampled_from(["search", "match_text"])
    return st.one_of(
        st.builds(TextTree, plain, inner, inner, st.none(), here),
        st.builds(TextTree, st.just("fuzzy"), inner, inner, st.none() | inner, here),
    )


def _calls(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    here = st.just(NOWHERE)
    return st.one_of(
        _text_calls(inner),
        st.builds(NearestTree, properties, inner, here),
        st.builds(Bm25Tree, inner, inner, here),
        st.builds(RrfTree, inner, inner, st.none() | inner, here),
        st.builds(
            AggregateTree, st.sampled_from(["count", "sum", "avg", "min", "max"]), inner, here
        ),
    )


exprs: st.SearchStrategy[Any] = st.recursive(operands, _calls, max_leaves=4)

pairs = st.builds(PairTree, names, values)
bindings = st.builds(BindingTree, variables, types, st.lists(pairs, max_size=2).map(tuple))
bounds = st.builds(BoundsTree, st.integers(0, 9), st.none() | st.integers(0, 9), st.just(NOWHERE))
traversals = st.builds(
    TraversalTree,
    variables,
    st.none() | variables,
    edges,
    st.booleans(),
    st.none() | bounds,
    variables,
)


def _is_filter(tree: FilterTree) -> bool:
    """`$a contains $b` is a traversal."""
    bare = isinstance(tree.left, VariableTree) and isinstance(tree.right, VariableTree)
    return not (bare and tree.operator in ("contains", "starts_with"))


filters = st.builds(
    FilterTree,
    exprs,
    st.sampled_from([">=", "<=", "!=", ">", "<", "=", "contains", "starts_with"]),
    exprs,
    st.just(NOWHERE),
).filter(_is_filter)
clauses: st.SearchStrategy[Any] = st.recursive(
    st.one_of(bindings, traversals, filters, _text_calls(exprs)),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(
        lambda c: NegationTree(tuple(c), NOWHERE)
    ),
    max_leaves=4,
)

items = st.builds(ItemTree, exprs, st.none() | names)
keys = st.builds(KeyTree, exprs, st.booleans()).filter(
    lambda key: not (isinstance(key.expr, NearestTree) and key.descending)
)


def _some(of: st.SearchStrategy[Any], least: int = 1) -> st.SearchStrategy[Any]:
    return st.lists(of, min_size=least, max_size=4).map(tuple)


reads = st.builds(
    ReadTree, _some(clauses), _some(items), _some(keys, 0), st.none() | st.integers(0, 99)
)
predicates = st.builds(
    PredicateTree, names, st.sampled_from([">=", "<=", "!=", ">", "<", "="]), values
)
statements = st.one_of(
    st.builds(InsertTree, types, _some(pairs), st.just(NOWHERE)),
    st.builds(UpdateTree, types, _some(pairs), predicates, st.just(NOWHERE)),
    st.builds(DeleteTree, types, predicates, st.just(NOWHERE)),
)
param_types = st.one_of(
    st.builds(TypeTree, st.sampled_from(["scalar", "list"]), types, st.none(), st.booleans()),
    st.builds(TypeTree, st.just("vector"), types, st.integers(0, 9), st.booleans()),
)
params = st.builds(ParamTree, variables, param_types)
queries = st.builds(
    QueryTree,
    names,
    _some(params, 0),
    st.none() | st.text(max_size=5),
    st.none() | st.text(max_size=5),
    st.one_of(reads, st.builds(MutationTree, _some(statements))),
)


# --------------------------------------------------------------------------- text


def text(tree: object) -> str:
    """The tree as `.gq` text, with as few separators as the language allows."""
    match tree:
        case NameNode():
            return tree.text
        case VariableTree():
            return f"${tree.name}"
        case IdentTree():
            return tree.name
        case PropertyAccess():
            return f"{text(tree.variable)}.{text(tree.property)}"
        case NowTree():
            return "now()"
        case ListTree():
            return f"[{','.join(map(text, tree.items))}]"
        case LiteralTree():
            return _literal_text(tree)
        case TextTree():
            return _call(tree.kind, tree.field, tree.query, tree.distance)
        case NearestTree():
            return _call("nearest", tree.field, tree.query)
        case Bm25Tree():
            return _call("bm25", tree.field, tree.query)
        case RrfTree():
            return _call("rrf", tree.first, tree.second, tree.k)
        case AggregateTree():
            return _call(tree.function, tree.argument)
        case PairTree():
            return f"{text(tree.property)}:{text(tree.value)}"
        case BindingTree():
            braces = "{" + ",".join(map(text, tree.pairs)) + "}" if tree.pairs else ""
            return f"{text(tree.variable)}:{text(tree.type)}{braces}"
        case TraversalTree():
            return _traversal_text(tree)
        case FilterTree():
            return f"{text(tree.left)} {tree.operator} {text(tree.right)}"
        case NegationTree():
            return "not{" + " ".join(map(text, tree.clauses)) + "}"
        case ItemTree():
            return text(tree.expr) + (f" as {text(tree.alias)}" if tree.alias else "")
        case KeyTree():
            return text(tree.expr) + (" desc" if tree.descending else "")
        case ReadTree():
            return _read_text(tree)
        case MutationTree():
            return " ".join(map(text, tree.statements))
        case InsertTree():
            return f"insert {text(tree.type)}{{{' '.join(map(text, tree.sets))}}}"
        case UpdateTree():
            sets = " ".join(map(text, tree.sets))
            return f"update {text(tree.type)} set{{{sets}}}where {text(tree.where)}"
        case DeleteTree():
            return f"delete {text(tree.type)} where {text(tree.where)}"
        case PredicateTree():
            return f"{text(tree.property)}{tree.operator}{text(tree.value)}"
        case QueryTree():
            return _query_text(tree)
    raise AssertionError(tree)


def _call(name: str, *arguments: object) -> str:
    return f"{name}({','.join(text(a) for a in arguments if a is not None)})"


def _literal_text(tree: LiteralTree) -> str:
    match tree.value:
        case bool():
            return "true" if tree.value else "false"
        case str():
            return _quoted(tree.value)
        case datetime():
            return f'datetime("{tree.value.isoformat()}")'
        case date():
            return f'date("{tree.value.isoformat()}")'
        case number:
            return str(number)


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _traversal_text(tree: TraversalTree) -> str:
    edge = f"<{text(tree.edge)}>" if tree.undirected else f" {text(tree.edge)}"
    binding = f" {text(tree.binding)}:" if tree.binding else ""
    hops = ""
    if tree.bounds:
        high = "" if tree.bounds.high is None else tree.bounds.high
        hops = f"{{{tree.bounds.low},{high}}}"
    return f"{text(tree.left)}{binding}{edge}{hops}{text(tree.right)}"


def _read_text(tree: ReadTree) -> str:
    parts = ["match{", *map(text, tree.clauses), "}return{", *map(text, tree.items), "}"]
    if tree.keys:
        parts.append("order{" + ",".join(map(text, tree.keys)) + "}")
    if tree.limit is not None:
        parts.append(f"limit {tree.limit}")
    return " ".join(parts)


def _query_text(tree: QueryTree) -> str:
    declared = ",".join(f"{text(p.name)}:{_type_text(p.type)}" for p in tree.params)
    notes = ""
    if tree.description is not None:
        notes += f"@description({_quoted(tree.description)})"
    if tree.instruction is not None:
        notes += f"@instruction({_quoted(tree.instruction)})"
    return f"query {text(tree.name)}({declared}){notes}{{{text(tree.body)}}}"


def _type_text(tree: TypeTree) -> str:
    word = text(tree.word)
    forms = {"scalar": word, "list": f"[{word}]", "vector": f"{word}({tree.dimension})"}
    return forms[tree.form] + ("?" if tree.nullable else "")


def without_spans(tree: Any) -> Any:  # noqa: ANN401
    """The tree with every span set to nowhere."""
    if isinstance(tree, tuple):
        return tuple(without_spans(part) for part in tree)
    if not dataclasses.is_dataclass(tree) or isinstance(tree, type):
        return tree
    changed = {f.name: without_spans(getattr(tree, f.name)) for f in dataclasses.fields(tree)}
    if "span" in changed:
        changed["span"] = NOWHERE
    return type(tree)(**changed)
