"""The constraints a type can declare, as values.

Members are property names (`src` and `dst` too, on edges). Their order is the stable identity
order, so neither the order written nor a rename changes what a constraint means.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

RangeBound = int | float


@dataclass(frozen=True)
class _MemberTuple:
    members: tuple[str, ...]
    kind: ClassVar[str]

    def __str__(self) -> str:
        return f"@{self.kind}({', '.join(self.members)})"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "members": list(self.members)}


@dataclass(frozen=True)
class Key(_MemberTuple):
    """The properties an id is derived from; the order is the order inside a composite id."""

    kind = "key"


@dataclass(frozen=True)
class Unique(_MemberTuple):
    """No two live entities share the whole tuple; a null member exempts."""

    kind = "unique"


@dataclass(frozen=True)
class Index(_MemberTuple):
    """An intent to index; never changes what a query returns."""

    kind = "index"


@dataclass(frozen=True)
class Range:
    """Inclusive bounds of a numeric property; None is open."""

    prop: str
    lo: RangeBound | None
    hi: RangeBound | None
    kind: ClassVar[str] = "range"

    def __str__(self) -> str:
        return f"@range({self.prop}, {bound_text(self.lo)}..{bound_text(self.hi)})"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "property": self.prop, "lo": self.lo, "hi": self.hi}


@dataclass(frozen=True)
class PatternCheck:
    """A regular expression (RE2 syntax) to be found somewhere in a String property."""

    prop: str
    pattern: str
    kind: ClassVar[str] = "check"

    def __str__(self) -> str:
        return f"@check({self.prop}, {quote(self.pattern)})"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "property": self.prop, "pattern": self.pattern}


@dataclass(frozen=True)
class Cardinality:
    """How many edges of a type may leave one source node; `max` None is open."""

    min: int = 0
    max: int | None = None

    def __str__(self) -> str:
        return f"@card({self.min}..{'' if self.max is None else self.max})"

    @property
    def is_free(self) -> bool:
        """Whether every count satisfies it."""
        return self.min == 0 and self.max is None

    def admits(self, other: Cardinality) -> bool:
        """Whether every count that `other` allows is allowed here too."""
        enough = self.max is None or (other.max is not None and other.max <= self.max)
        return self.min <= other.min and enough


Constraint = Key | Unique | Index | Range | PatternCheck


def constraint_from_json(body: dict[str, Any]) -> Constraint:
    """One of the `constraints` of a type; its key and its cardinality have members of their own."""
    match body["kind"]:
        case "range":
            return Range(body["property"], body["lo"], body["hi"])
        case "check":
            return PatternCheck(body["property"], body["pattern"])
        case "unique":
            return Unique(tuple(body["members"]))
        case "index":
            return Index(tuple(body["members"]))
        case other:
            raise ValueError(f"unknown constraint kind {other!r}")


def bound_text(bound: RangeBound | None) -> str:
    """A bound as the language spells it, which has no exponents."""
    if bound is None:
        return ""
    if isinstance(bound, int):
        return str(bound)
    # Decimal prints the shortest digits of a float without an exponent.
    text = format(Decimal(repr(bound)), "f")
    return text if "." in text else f"{text}.0"


def quote(text: str) -> str:
    """A string literal of the language."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'
