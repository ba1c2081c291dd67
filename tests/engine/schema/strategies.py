"""Hypothesis strategies for schemas that compile, as text."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from omnigraph.schema.model.constraints import quote

NAMES = ("age", "bio", "code", "depth", "edge", "enum", "node", "type", "_row_id", "x1")
SCALARS = ("String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "DateTime", "Date", "Blob")
KEYABLE = frozenset(SCALARS) - {"Blob"}
NUMERIC = ("I32", "I64", "U32", "U64", "F32", "F64")

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(str.strip)
literals = st.one_of(
    texts.map(quote),
    st.integers(0, 10**20).map(str),
    st.decimals(0, 10**6, places=3).map(lambda d: format(d, "f")),
    st.booleans().map(lambda b: str(b).lower()),
)


@st.composite
def types(draw: DrawFn) -> str:
    base = draw(
        st.one_of(
            st.sampled_from(SCALARS),
            st.sampled_from(sorted(KEYABLE)).map(lambda s: f"[{s}]"),
            st.integers(1, 64).map(lambda n: f"Vector({n})"),
            st.lists(st.sampled_from(("a", "2x", "data-eng", "_n")), min_size=1, unique=True).map(
                lambda values: f"enum({', '.join(values)})"
            ),
        )
    )
    return base + draw(st.sampled_from(("", "?")))


@st.composite
def notes(draw: DrawFn) -> str:
    found = []
    if draw(st.booleans()):
        found.append(f"@description({draw(texts.map(quote))})")
    for name in draw(st.lists(st.sampled_from(("unit", "node", "since")), max_size=2)):
        shape = draw(st.sampled_from(("", "(word)", "literal", "keyword")))
        if shape == "literal":
            shape = f"({draw(literals)})"
        elif shape == "keyword":
            shape = f"(word, key={draw(literals)})"
        found.append(f"@{name}{shape}")
    return " ".join(found)


def _plain(type_: str) -> str:
    return type_.removesuffix("?")


def _has_text(type_: str) -> bool:
    return _plain(type_) in KEYABLE or type_.startswith("enum")


@st.composite
def members(draw: DrawFn, kind: str, *, names: tuple[str, ...] = NAMES) -> str:
    """The body of a node, edge or interface."""
    chosen = draw(st.dictionaries(st.sampled_from(names), types(), max_size=4))
    lines = []
    keyed = False
    for name, type_ in chosen.items():
        sugar = []
        if kind != "edge" and not keyed and _has_text(type_) and not type_.endswith("?"):
            keyed = draw(st.booleans())
            sugar += ["@key"] if keyed else []
        if _has_text(type_) and draw(st.booleans()):
            sugar.append("@unique")
        if (_has_text(type_) or type_.startswith("Vector")) and draw(st.booleans()):
            sugar.append("@index")
        if _plain(type_) in ("I32", "U64") and draw(st.booleans()):
            sugar.append("@default(7)")
        lines.append(f"{name}: {type_} {' '.join(sugar)} {draw(notes())}")
    if kind == "interface":
        return "\n".join(lines)
    candidates = [name for name, type_ in chosen.items() if _has_text(type_)]
    candidates += ["src", "dst"] if kind == "edge" else []
    if candidates:
        group = st.lists(st.sampled_from(candidates), min_size=1, max_size=3, unique=True)
        kinds = draw(st.lists(st.sampled_from(("unique", "index")), max_size=2))
        lines += [f"@{constraint}({', '.join(draw(group))})" for constraint in kinds]
    for name, type_ in chosen.items() if kind == "node" else ():
        if _plain(type_) in NUMERIC and draw(st.booleans()):
            low = draw(st.integers(-100, 100))
            lines.append(f"@range({name}, {low}..{draw(st.sampled_from(('', low + 5, '200.5')))})")
        if _plain(type_) == "String" and draw(st.booleans()):
            lines.append(f'@check({name}, "^[a-z]\\\\d")')
    return "\n".join(draw(st.permutations(lines)))


@st.composite
def schemas(draw: DrawFn) -> str:
    """A text that compiles."""
    blocks = []
    nodes = ("Ship", "Berth", "Node")[: draw(st.integers(1, 3))]
    with_interface = draw(st.booleans())
    if with_interface:
        names = ("slug", "note")
        blocks.append(f"interface Tagged {{ {draw(members('interface', names=names))} }}")
    for name in nodes:
        # A second key would be an error, so a node with an interface gets a body without one.
        implements = with_interface and draw(st.booleans())
        body = draw(members("edge" if implements else "node"))
        if implements and ("src" in body or "dst" in body):
            body = ""
        head = f"node {name} {draw(notes())}"
        blocks.append(f"{head} {'implements Tagged' if implements else ''} {{ {body} }}")
    for name in draw(st.lists(st.sampled_from(("Docks", "Ship", "Sails")), unique=True)):
        ends = [draw(st.sampled_from(nodes)) for _ in range(2)]
        card = draw(st.sampled_from(("", "@card(0..1)", "@card(1..)", "@card(2..5)")))
        head = f"edge {name}: {ends[0]} -> {ends[1]} {card} {draw(notes())}"
        blocks.append(f"{head} {{ {draw(members('edge'))} }}")
    return "\n".join(draw(st.permutations(blocks)))
