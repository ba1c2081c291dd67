"""Random well-typed query texts over a random graph."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from oracle.random_graphs import VALUES, RandomGraph, RandomProperty, RandomType

NUMBERS = {"I32", "I64", "U32", "U64", "F64", "F32"}
TEXTS = {"String", "enum(x, y, z)", "text"}
LISTS = {
    "[String]": "String",
    "[I64]": "I64",
    "[U64]": "U64",
    "[F32]": "F32",
    "[Bool]": "Bool",
    "[Date]": "Date",
    "[DateTime]": "DateTime",
}
LARGEST_SENT = 2**63 - 1
OPERATORS = ["=", "!=", "<", "<=", ">", ">="]
MAX_NODES, MAX_INNER = 4, 2


@dataclass(frozen=True)
class RandomQuery:
    source: str
    params: dict[str, Any]


@dataclass
class Scope:
    """What is bound so far. Blocks beside each other give the same names to what they bind."""

    graph: RandomGraph
    nodes: dict[str, RandomType] = field(default_factory=dict)
    edges: dict[str, RandomType] = field(default_factory=dict)
    params: dict[str, tuple[str, Any]] = field(default_factory=dict)
    depth: int = 0
    bound: int = 0
    room: int = MAX_NODES

    def fresh(self, letter: str) -> str:
        if letter == "p":
            return f"p{len(self.params) + 1}"
        self.bound += 1
        return f"{letter * (self.depth + 1)}{self.bound}"

    def bind(self, type_: RandomType) -> str:
        name = self.fresh("v")
        self.nodes[name] = type_
        self.room -= 1
        return name

    def inner(self) -> Scope:
        """The scope of a block: sees everything, binds for itself, shares parameters."""
        nodes, edges = dict(self.nodes), dict(self.edges)
        return Scope(self.graph, nodes, edges, self.params, self.depth + 1, room=MAX_INNER)

    def readable(self) -> list[tuple[str, RandomProperty]]:
        bound = {**self.nodes, **self.edges}
        return [(name, prop) for name, type_ in bound.items() for prop in type_.readable]


@st.composite
def queries(draw: st.DrawFn, graph: RandomGraph) -> RandomQuery:
    """A read: match, return, maybe order and limit."""
    scope = Scope(graph)
    match = _clauses(draw, scope, draw(st.sampled_from([1, 2, 3, 4, 5])))
    shape = draw(st.sampled_from([_plain, _plain, _plain, _aggregated]))
    return _query(scope, match, shape(draw, scope))


@st.composite
def rankings(draw: st.DrawFn, graph: RandomGraph) -> RandomQuery:
    """A read that ranks nodes of the first type, by vector, text or both."""
    scope = Scope(graph)
    ranked = scope.bind(graph.nodes[0])
    match = [f"${ranked}: {graph.nodes[0].name}", *_clauses(draw, scope, draw(st.integers(0, 2)))]
    if draw(st.booleans()):
        match.append(_search(draw, ranked))
    call = _ranking(draw, ranked)
    rest = [e for e, t in _items(scope) if t in NUMBERS | TEXTS and "$" in e]
    keys = [call, *(draw(st.lists(st.sampled_from(rest), max_size=1)) if rest else [])]
    columns = [f"${name}" for name in scope.nodes]
    if draw(st.booleans()):
        columns.append(f"{call} as score")
    limit = draw(st.integers(0, 6))
    tail = f"return {{ {', '.join(columns)} }} order {{ {', '.join(keys)} }} limit {limit}"
    return _query(scope, match, tail)


def _query(scope: Scope, match: Sequence[str], tail: str) -> RandomQuery:
    declared = ", ".join(f"${name}: {type_}" for name, (type_, _) in scope.params.items())
    source = f"query q({declared}) {{ match {{ {'  '.join(match)} }} {tail} }}"
    params = {n: v for n, (_, v) in scope.params.items() if v is not None}
    return RandomQuery(source, params)


# --------------------------------------------------------------------------- match


def _clauses(draw: st.DrawFn, scope: Scope, count: int, depth: int = 0) -> list[str]:
    found = []
    for _ in range(count):
        kinds = []
        if scope.room > 0:
            kinds += ["binding", "traversal", "traversal"]
        if scope.nodes:
            kinds += ["filter", "close"]
            kinds += ["not"] if depth < 2 else []
        kind = draw(st.sampled_from(kinds)) if kinds else "none"
        made = None
        match kind:
            case "binding":
                made = _binding(draw, scope)
            case "traversal" | "close":
                made = _traversal(draw, scope, closing=kind == "close")
            case "filter":
                made = _filter(draw, scope)
            case "not":
                made = _negation(draw, scope, depth)
        found += [made] if made else []
    if not found and not scope.nodes:
        found.append(_binding(draw, scope))
    return found


def _binding(draw: st.DrawFn, scope: Scope) -> str:
    if scope.nodes and draw(st.integers(0, 3)) == 0:
        name = draw(st.sampled_from(sorted(scope.nodes)))
    else:
        name = scope.bind(draw(st.sampled_from(scope.graph.nodes)))
    type_ = scope.nodes[name]
    pairs = []
    comparable = [prop for prop in type_.readable if prop.type != "Vector(2)"]
    if draw(st.booleans()):
        prop = draw(st.sampled_from(comparable))
        pairs.append(f"{prop.name}: {_value(draw, scope, LISTS.get(prop.type, prop.type))}")
    return f"${name}: {type_.name} {{ {', '.join(pairs)} }}"


def _traversal(draw: st.DrawFn, scope: Scope, *, closing: bool) -> str | None:
    edge = draw(st.sampled_from(scope.graph.edges))
    source, target = (scope.graph.type_named(end) for end in (edge.src, edge.dst))
    loop = edge.src == edge.dst
    starts = [n for n, t in scope.nodes.items() if t in (source, target)]
    if not starts:
        if closing or scope.room < 2:
            return None
        left, right = scope.bind(source), scope.bind(target)
    else:
        left = draw(st.sampled_from(starts))
        other = target if scope.nodes[left] == source else source
        ends = [n for n, t in scope.nodes.items() if t == other]
        if closing and ends:
            right = draw(st.sampled_from(ends))
        elif scope.room > 0:
            right = scope.bind(other)
        else:
            return None
        if right not in ends and draw(st.integers(0, 3)) == 0:
            del scope.nodes[right]
            right = "_"
        if draw(st.booleans()):
            left, right = right, left
    word = edge.name.lower()
    if loop and draw(st.integers(0, 3)) == 0:
        word = f"<{word}>"
    form = draw(st.sampled_from(["single", "single", "bounds", "edge"]))
    if form == "edge":
        name = scope.fresh("w")
        scope.edges[name] = edge
        return f"${left} ${name}:{word} ${right}"
    if form == "bounds":
        low = draw(st.integers(1, 3))
        word += f"{{{low},{draw(st.integers(low, 4))}}}"
    return f"${left} {word} ${right}"


def _negation(draw: st.DrawFn, scope: Scope, depth: int) -> str | None:
    """A block must speak of something outside it: its first clause does."""
    inner = scope.inner()
    first = _filter(draw, inner) if draw(st.booleans()) else _hop_out(draw, inner)
    if first is None:
        return None
    rest = _clauses(draw, inner, draw(st.sampled_from([0, 1, 2, 3])), depth + 1)
    return f"not {{ {'  '.join([first, *rest])} }}"


def _hop_out(draw: st.DrawFn, scope: Scope) -> str | None:
    name = draw(st.sampled_from(sorted(scope.nodes)))
    type_ = scope.nodes[name]
    edges = [e for e in scope.graph.edges if type_.name in (e.src, e.dst)]
    if not edges:
        return None
    edge = draw(st.sampled_from(edges))
    other = scope.bind(scope.graph.type_named(edge.dst if edge.src == type_.name else edge.src))
    pair = (name, other) if draw(st.booleans()) else (other, name)
    if draw(st.booleans()):
        return f"${pair[0]} {edge.name.lower()} ${pair[1]}"
    bound = scope.fresh("w")
    scope.edges[bound] = edge
    return f"${pair[0]} ${bound}:{edge.name.lower()} ${pair[1]}"


# --------------------------------------------------------------------------- filters


def _filter(draw: st.DrawFn, scope: Scope) -> str | None:
    usable = [(n, p) for n, p in scope.readable() if p.type != "Vector(2)"]
    if not usable:
        return None
    name, prop = draw(st.sampled_from(usable))
    left = f"${name}.{prop.name}"
    if prop.type in LISTS:
        return f"{left} contains {_operand(draw, scope, LISTS[prop.type])}"
    operators = OPERATORS + (["contains", "starts_with"] if prop.type in TEXTS else [])
    operator = draw(st.sampled_from(operators))
    right = _operand(draw, scope, prop.type)
    if operator in OPERATORS and draw(st.integers(0, 3)) == 0:
        left, right = right, left
    return f"{left} {operator} {right}"


def _operand(draw: st.DrawFn, scope: Scope, type_: str) -> str:
    """A literal, a parameter, or another property of a kind that compares with it."""
    others = [f"${n}.{p.name}" for n, p in scope.readable() if _comparable(p.type, type_)]
    if bool(others) and draw(st.booleans()):
        return draw(st.sampled_from(others))
    return _value(draw, scope, type_, numbers_mix=True)


def _comparable(a: str, b: str) -> bool:
    return a == b or {a, b} <= NUMBERS or {a, b} <= TEXTS


def _value(draw: st.DrawFn, scope: Scope, type_: str, *, numbers_mix: bool = False) -> str:
    kind = type_
    if type_ in NUMBERS and numbers_mix:
        kind = draw(st.sampled_from(sorted(NUMBERS)))
    values = VALUES[kind]
    if kind == "U64":  # neither a literal nor a parameter goes further
        values = [value for value in values if value <= LARGEST_SENT]
    value = draw(st.sampled_from(values))
    # A literal that is no value of its enum is refused; a parameter may be anything.
    written = kind not in ("F64", "F32") or abs(value) < 1e20
    if written and draw(st.booleans()):
        return _literal(kind, value)
    name = scope.fresh("p")
    declared = "String" if kind in TEXTS else kind
    nullable = draw(st.booleans())
    if nullable and draw(st.booleans()):
        value = None
    scope.params[name] = (f"{declared}{'?' if nullable else ''}", value)
    return f"${name}"


def _literal(type_: str, value: Any) -> str:  # noqa: ANN401
    match type_:
        case "Date":
            return f'date("{value}")'
        case "DateTime":
            return f'datetime("{value}")'
        case "F64" | "F32":
            return str(float(value))
        case _:
            return json.dumps(value, ensure_ascii=False)


# --------------------------------------------------------------------------- return and order


def _items(scope: Scope) -> list[tuple[str, str]]:
    """What can be returned, with its type."""
    found = [(f"${n}.{p.name}", p.type) for n, p in scope.readable()]
    return found + [(f"${name}", "node") for name in scope.nodes]


def _plain(draw: st.DrawFn, scope: Scope) -> str:
    chosen = draw(st.lists(st.sampled_from(_items(scope)), min_size=1, max_size=4))
    columns = [(f"c{n}", expr, type_) for n, (expr, type_) in enumerate(chosen)]
    text = f"return {{ {', '.join(f'{expr} as {alias}' for alias, expr, _ in columns)} }}"
    sortable = [(alias, t) for alias, _, t in columns]
    sortable += [(expr, t) for expr, t in _items(scope) if t != "node"]
    return text + _order(draw, sortable)


def _aggregated(draw: st.DrawFn, scope: Scope) -> str:
    items = [(e, t) for e, t in _items(scope) if t not in LISTS and t != "Vector(2)"]
    keys = draw(st.lists(st.sampled_from(items), max_size=2, unique=True))
    columns = [(expr, f"k{n}", type_) for n, (expr, type_) in enumerate(keys)]
    for number in range(draw(st.integers(1, 3))):
        expr, type_ = draw(st.sampled_from(_items(scope)))
        functions = ["count"]
        functions += ["sum", "avg"] if type_ in NUMBERS else []
        functions += ["min", "max"] if type_ in NUMBERS | TEXTS else []
        function = draw(st.sampled_from(functions))
        result = "I64" if function == "count" else "F64" if type_ in NUMBERS else "String"
        columns.append((f"{function}({expr})", f"a{number}", result))
    text = f"return {{ {', '.join(f'{expr} as {alias}' for expr, alias, _ in columns)} }}"
    # Sums of floats depend on the order of adding; only what does not can be sorted by safely.
    stable = [(alias, t) for expr, alias, t in columns if not expr.startswith(("sum", "avg"))]
    return text + _order(draw, stable)


def _order(draw: st.DrawFn, sortable: Sequence[tuple[str, str]]) -> str:
    usable = [expr for expr, type_ in sortable if type_ not in LISTS and type_ != "Vector(2)"]
    text = ""
    if bool(usable) and draw(st.booleans()):
        keys = draw(st.lists(st.sampled_from(usable), min_size=1, max_size=2))
        directions = [draw(st.sampled_from(["", " asc", " desc"])) for _ in keys]
        text = f" order {{ {', '.join(k + d for k, d in zip(keys, directions, strict=True))} }}"
    if draw(st.integers(0, 2)) == 0:
        text += f" limit {draw(st.integers(0, 5))}"
    return text


def _search(draw: st.DrawFn, name: str) -> str:
    words = draw(st.sampled_from(["kites", "marsh", "red festival", "the", "brid", ""]))
    call = draw(st.sampled_from(["search", "match_text", "fuzzy"]))
    found = f'{call}(${name}.body, "{words}")'
    return f"not {{ {found} }}" if draw(st.booleans()) else found


def _ranking(draw: st.DrawFn, ranked: str) -> str:
    def arm() -> str:
        if draw(st.booleans()):
            x, y = (draw(st.sampled_from([0.0, 0.3, 1.7, -2.1])) for _ in range(2))
            return f"nearest(${ranked}.vec, [{x}, {y}])"
        word = draw(st.sampled_from(["kite", "marsh", "red marsh", "birds", "none"]))
        return f'bm25(${ranked}.body, "{word}")'

    if draw(st.integers(0, 2)):
        return arm()
    return f"rrf({arm()}, {arm()}, {draw(st.sampled_from([1, 60]))})"
