"""What is known at a place of a query: the schema, the parameters, the variables bound so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

from omnigraph.common.lexical import Span
from omnigraph.errors import QueryTypeError
from omnigraph.query.logical.logical_plan import VariableInfo
from omnigraph.query.syntax.tree import ANONYMOUS, QueryFile, VariableTree
from omnigraph.schema.model.catalog import Catalog
from omnigraph.schema.model.property_types import PropertyType


@dataclass
class VariableScope:
    """Grows while the clauses of one block are read from left to right.

    `outer` are the variables of the enclosing blocks, `own` those this block binds. `reserved`
    are variables that an earlier `not` block of this block used without this block knowing them:
    binding one later makes it the same variable, so it must fit every such use.
    """

    file: QueryFile
    catalog: Catalog
    params: Mapping[str, PropertyType]
    outer: Mapping[str, VariableInfo] = field(default_factory=dict)
    own: dict[str, VariableInfo] = field(default_factory=dict)
    reserved: dict[str, tuple[VariableInfo, ...]] = field(default_factory=dict)
    mentioned: dict[str, VariableInfo] = field(default_factory=dict)
    _anonymous: count[int] = field(default_factory=lambda: count(1))

    def inner(self) -> VariableScope:
        """The scope at the start of a `not` block."""
        outer = {**self.outer, **self.own}
        return VariableScope(
            self.file, self.catalog, self.params, outer=outer, _anonymous=self._anonymous
        )

    def error(self, code: str | None, problem: str, span: Span) -> QueryTypeError:
        return self.file.error(code, problem, span)

    # ------------------------------------------------------------------ variables

    def find(self, name: str) -> VariableInfo | None:
        """The variable as bound so far; asking for it counts as mentioning it."""
        info = self.own.get(name) or self.outer.get(name)
        if info is not None:
            self.mentioned[name] = info
        return info

    def names(self) -> tuple[str, ...]:
        """Every name somebody could have meant."""
        known = {**self.outer, **self.own}
        return (*(n for n, info in known.items() if not info.anonymous), *self.params)

    def bind_node(self, variable: VariableTree, type_name: str) -> str:
        """Bind a fresh node variable and return its name in the plan."""
        if variable.name == ANONYMOUS:
            name = f"{ANONYMOUS}#{next(self._anonymous)}"
            return self.bind(name, VariableInfo("node", type_name, anonymous=True))
        for earlier in self.reserved.get(variable.name, ()):
            if earlier.kind == "edge":
                raise self.error(
                    "T23",
                    f"`${variable.name}` is an edge in an earlier `not` block; choose another name",
                    variable.span,
                )
            if earlier.type_name != type_name:
                raise self.rebound(variable, earlier.type_name, type_name)
        return self.bind(variable.name, VariableInfo("node", type_name))

    def reserve(self, name: str, *uses: VariableInfo) -> None:
        """Remember that a `not` block used a variable this block does not know."""
        self.reserved[name] = (*self.reserved.get(name, ()), *uses)

    def rebound(self, variable: VariableTree, old: str, new: str) -> QueryTypeError:
        return self.error(
            None,
            f"`${variable.name}` is bound to {old} already and cannot be a {new} too",
            variable.span,
        )

    def bind(self, name: str, info: VariableInfo) -> str:
        """Bind a variable that the block does not have yet, and return its name."""
        self.own[name] = self.mentioned[name] = info
        return name
