"""A small graph, single operations on it, and what each does to a model of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import omnigraph
from omnigraph import Graph
from support.naive_merge import Image, State, Type

BOAT = Type(
    "Boat",
    {
        "name": ("name", "String"),
        "crew": ("crew", "I32?"),
        "flag": ("flag", "String?"),
        "reg": ("reg", "String?"),
    },
    frozenset({("unique", "reg")}),
)
MEETS = Type("Meets", {"days": ("days", "I32?")}, ends=("Boat", "Boat"))
TOWS = Type("Tows", {}, ends=("Boat", "Boat"), card=1)


def boat(name: str, crew: int | None = None, flag: str | None = None) -> Image:
    return {"name": name, "crew": crew, "flag": flag, "reg": None}


BASE = State(
    {"Boat": BOAT, "Meets": MEETS, "Tows": TOWS},
    {
        "Boat": {"Ada": boat("Ada", 2), "Bly": boat("Bly", 3), "Cap": boat("Cap", flag="NL")},
        "Meets": {"m1": {"src": "Bly", "dst": "Cap", "days": 1}},
        "Tows": {},
    },
)


def declared(state: State, renamed: dict[str, str] | None = None) -> str:
    """The schema of a state as text; `renamed` maps identities to their names until now."""
    hints = renamed or {}
    lines = []
    for identity, type_ in state.types.items():
        hint = f' @rename_from("{hints[identity]}")' if identity in hints else ""
        members = []
        for prop, (name, declaration) in type_.props.items():
            key = " @key" if prop == "name" else ""
            old = hints.get(f"{identity}.{prop}")
            members.append(
                f"{name}: {declaration}{key}" + (f' @rename_from("{old}")' if old else "")
            )
        for rule in sorted(type_.rules):
            name = type_.props[rule[1]][0]
            members.append(
                f"@unique({name})" if rule[0] == "unique" else f"@range({name}, ..{rule[2]})"
            )
        body = "{ " + "  ".join(members) + " }" if members else "{}"
        if type_.ends is None:
            lines.append(f"node {type_.name}{hint} {body}")
        else:
            src, dst = (state.types[end].name for end in type_.ends)
            card = f" @card(0..{type_.card})" if type_.card is not None else ""
            lines.append(f"edge {type_.name}: {src} -> {dst}{card}{hint} {body}")
    return "\n".join(lines)


def build(root: str) -> Graph:
    """A graph in the base state."""
    graph = omnigraph.init(root, declared(BASE) + "\n")
    with graph.transaction() as txn:
        for identity in BASE.types:
            txn.upsert(BASE.key(identity), written(BASE, identity, BASE.of(identity)))
    return graph


def written(state: State, identity: str, rows: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """Images under the names of a state, as a transaction takes them."""
    props = state.types[identity].props
    found = []
    for key, image in rows.items():
        row = {name: image.get(prop) for prop, (name, _) in props.items()}
        ends = {end: image[end] for end in ("src", "dst") if end in image}
        found.append({"id": key, **ends, **row} if ends else row)
    return found


@dataclass(frozen=True)
class Operation:
    """One change: what becomes of a state, or none where it makes no sense."""

    name: str
    apply: Callable[[State], State | None]

    def run(self, graph: Graph, branch: str, state: State) -> State | None:
        """Do it to a branch that is in a state; the state after."""
        after = self.apply(state)
        if after is None:
            return None
        if after.types != state.types:
            graph.apply_schema(declared(after, _renames(state, after)), branch=branch)
        with graph.transaction(branch) as txn:
            for identity in after.types:
                old, new = state.of(identity), after.of(identity)
                gone = [key for key in old if key not in new]
                if gone:
                    txn.delete(after.key(identity), gone, cascade=False)
                changed = {key: row for key, row in new.items() if old.get(key) != row}
                if changed:
                    txn.upsert(after.key(identity), written(after, identity, changed))
        return after


def _renames(state: State, after: State) -> dict[str, str]:
    hints = {}
    for identity, type_ in after.types.items():
        old = state.types.get(identity)
        if old is None:
            continue
        if old.name != type_.name:
            hints[identity] = old.name
        for prop, (name, _) in type_.props.items():
            if prop in old.props and old.props[prop][0] != name:
                hints[f"{identity}.{prop}"] = old.props[prop][0]
    return hints


def put(identity: str, key: str, **values: Any) -> Callable[[State], State | None]:  # noqa: ANN401
    """Insert an entity, or change some of its values."""

    def apply(state: State) -> State | None:
        if identity not in state.types or not values.keys() <= {
            *state.types[identity].props,
            "src",
            "dst",
        }:
            return None
        ends = (values.get("src"), values.get("dst"))
        if any(end is not None and end not in state.of("Boat") for end in ends):
            return None
        known = state.of(identity).get(key)
        if known is None and identity == "Boat":
            known = {"name": key}
        if known is None and "src" not in values:
            return None
        image = dict.fromkeys(state.types[identity].props) | (known or {}) | values
        for prop, (_, declaration) in state.types[identity].props.items():
            if "@default" in declaration and image[prop] is None:
                image[prop] = "y"
        after = state.with_rows(identity, {**state.of(identity), key: image})
        return None if broken(after) else after

    return apply


def broken(state: State) -> bool:
    from support.naive_merge import broken_rules

    return bool(broken_rules(state))


def take(identity: str, key: str) -> Callable[[State], State | None]:
    """Delete an entity, a node with its edges."""

    def apply(state: State) -> State | None:
        if key not in state.of(identity):
            return None
        rest = {k: row for k, row in state.of(identity).items() if k != key}
        state = state.with_rows(identity, rest)
        for edge, type_ in state.types.items():
            if type_.ends and identity in type_.ends:
                stays = {
                    k: row
                    for k, row in state.of(edge).items()
                    if key not in (row["src"], row["dst"])
                }
                state = state.with_rows(edge, stays)
        return state

    return apply


def change(identity: str, how: Callable[[Type], Type | None]) -> Callable[[State], State | None]:
    """Change the declaration of a type."""

    def apply(state: State) -> State | None:
        type_ = state.types.get(identity)
        after = how(type_) if type_ else None
        if after is None or type_ is None or after == type_:
            return None
        state = state.with_type(identity, after)
        kept = {
            key: {
                name: image[name] if name in image else _filled(after, name)
                for name in (*after.props, *(("src", "dst") if after.ends else ()))
            }
            for key, image in state.of(identity).items()
        }
        state = state.with_rows(identity, kept)
        return None if broken(state) else state

    return apply


def _filled(type_: Type, prop: str) -> str | None:
    declaration = type_.props[prop][1]
    return declaration.split('"')[1] if "@default" in declaration else None


def with_prop(prop: str, name: str, declaration: str) -> Callable[[Type], Type | None]:
    def how(type_: Type) -> Type | None:
        if prop in type_.props or any(given == name for given, _ in type_.props.values()):
            return None
        return replace(type_, props={**type_.props, prop: (name, declaration)})

    return how


def without_prop(prop: str) -> Callable[[Type], Type | None]:
    def how(type_: Type) -> Type | None:
        if prop not in type_.props or any(rule[1] == prop for rule in type_.rules):
            return None
        return replace(type_, props={i: p for i, p in type_.props.items() if i != prop})

    return how


def with_rule(*rule: Any) -> Callable[[Type], Type | None]:  # noqa: ANN401
    return lambda t: replace(t, rules=t.rules | {rule}) if rule[1] in t.props else None


def add_port(state: State) -> State | None:
    if "Port" in state.types:
        return None
    port = Type("Port", {"name": ("name", "String"), "size": ("size", "I32?")})
    return state.with_type("Port", port).with_rows("Port", {"Rye": {"name": "Rye", "size": 1}})


def add_other_port(state: State) -> State | None:
    if "Port" in state.types:
        return None
    return state.with_type("Port", Type("Port", {"name": ("name", "String")}))


def drop_tows(state: State) -> State | None:
    return state.with_type("Tows", None) if "Tows" in state.types else None


def retyped(prop: str, old: str, new: str) -> Callable[[Type], Type | None]:
    def how(type_: Type) -> Type | None:
        name, declaration = type_.props.get(prop, ("", ""))
        if declaration != old:
            return None
        return replace(type_, props={**type_.props, prop: (name, new)})

    return how


def renamed(prop: str, new: str) -> Callable[[Type], Type | None]:
    def how(type_: Type) -> Type | None:
        if prop not in type_.props:
            return None
        return replace(type_, props={**type_.props, prop: (new, type_.props[prop][1])})

    return how


def _there_and_back(state: State) -> State | None:
    return state if "Ada" in state.of("Boat") and "crew" in BOAT.props else None


ROWS = [
    Operation("insert Dot 1", put("Boat", "Dot", crew=1)),
    Operation("insert Dot 2", put("Boat", "Dot", crew=2)),
    Operation("Ada crew 5", put("Boat", "Ada", crew=5)),
    Operation("Ada crew 6", put("Boat", "Ada", crew=6)),
    Operation("Ada flag", put("Boat", "Ada", flag="BE")),
    Operation("Cap flag empty", put("Boat", "Cap", flag="")),
    Operation("Ada reg R1", put("Boat", "Ada", reg="R1")),
    Operation("Bly reg R1", put("Boat", "Bly", reg="R1")),
    Operation("delete Ada", take("Boat", "Ada")),
    Operation("delete Bly", take("Boat", "Bly")),
    Operation("insert m2", put("Meets", "m2", src="Ada", dst="Cap")),
    Operation("insert m2 otherwise", put("Meets", "m2", src="Ada", dst="Bly")),
    Operation("m1 days", put("Meets", "m1", days=3)),
    Operation("m1 ends at Ada", put("Meets", "m1", dst="Ada", src="Bly")),
    Operation("delete m1", take("Meets", "m1")),
    Operation("tow Bly", put("Tows", "t1", src="Ada", dst="Bly")),
    Operation("tow Cap", put("Tows", "t2", src="Ada", dst="Cap")),
]
SCHEMAS = [
    Operation("add tons", change("Boat", with_prop("tons", "tons", "I32?"))),
    Operation("add other tons", change("Boat", with_prop("tons", "tons", "I64?"))),
    Operation("add required", change("Boat", with_prop("rank", "rank", 'String @default("x")'))),
    Operation("drop flag", change("Boat", without_prop("flag"))),
    Operation("rename crew", change("Boat", renamed("crew", "hands"))),
    Operation("rename crew otherwise", change("Boat", renamed("crew", "people"))),
    Operation("widen crew", change("Boat", retyped("crew", "I32?", "I64?"))),
    Operation("limit crew", change("Boat", with_rule("range", "crew", 5))),
    Operation("unique flag", change("Boat", with_rule("unique", "flag"))),
    Operation("rename Boat", change("Boat", lambda t: replace(t, name="Ship"))),
    Operation("add Port", add_port),
    Operation("add other Port", add_other_port),
    Operation("drop Tows", drop_tows),
    Operation("two tows", change("Tows", lambda t: replace(t, card=2))),
]
