"""The graph as table functions: `gq`, stored queries by name, `traverse`, `nearest`, `bm25`.

Each reads at the snapshot that the statement has pinned, and can be joined with anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from omnigraph import CHANGE_SCHEMA, REACH_SCHEMA, Graph, Snapshot
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.query import Fact, compile_query, result_schema
from omnigraph.query.logical import ReadPlan
from omnigraph_sql.catalog.pinned_snapshots import PinnedSnapshots
from omnigraph_sql.datafusion.computed_table import ComputedRows


class Unbound:
    """Stands for the value of a parameter before there is one."""


UNBOUND = Unbound()


@dataclass(frozen=True)
class TableFunctionCall:
    """A table function as it is called: arguments by position and by name."""

    name: str
    pins: PinnedSnapshots
    catalog: str
    positional: Sequence[Any]
    named: Mapping[str, Any]

    @property
    def graph(self) -> Graph:
        return self.pins.graph

    @property
    def snapshot(self) -> Snapshot:
        return self.pins.snapshot(self.catalog)

    def reads(self, *facts: Fact) -> None:
        """Ask the session's guard for the types that the function reads."""
        self.pins.touch_types("read", self.catalog, facts)

    def argument(self, position: int, name: str, default: Any = ...) -> Any:  # noqa: ANN401
        """One argument, however it was given."""
        if position < len(self.positional):
            return self.positional[position]
        if name in self.named:
            return self.named[name]
        if default is ...:
            raise InvalidInput(
                f"{self.name}() needs {name}", hint=f"Write {self.name}({_USAGE[self.name]})."
            )
        return default

    def text(self, position: int, name: str) -> str:
        """An argument that must be known before the statement runs."""
        value = self.argument(position, name)
        if not isinstance(value, str):
            raise InvalidInput(f"the argument {name} of {self.name}() must be a string literal")
        return value

    def number(self, position: int, name: str, default: int) -> int:
        value = self.argument(position, name, default)
        if isinstance(value, bool) or not isinstance(value, int | Unbound):
            raise InvalidInput(f"the argument {name} of {self.name}() must be an integer")
        return default if isinstance(value, Unbound) else value


def call_function(call: TableFunctionCall) -> ComputedRows:
    """The rows of a table function; NotFound if there is no such function."""
    return _FUNCTIONS.get(call.name, _stored)(call)


# --------------------------------------------------------------------------- queries


def _gq(call: TableFunctionCall) -> ComputedRows:
    text = call.text(0, "query")
    params = call.argument(1, "params", "{}")
    has_name = len(call.positional) > 2 or "name" in call.named
    return _query(call, text, call.text(2, "name") if has_name else None, _json_object(params))


def _stored(call: TableFunctionCall) -> ComputedRows:
    """A stored query: its parameters by name, by position, or as one JSON text."""
    try:
        query = call.graph.stored_query(call.name, call.snapshot)
    except NotFound as error:
        raise NotFound(
            f"there is no table function {call.name!r}: {error.message}",
            hint=f"There are {', '.join(sorted(_FUNCTIONS))}, and each stored query.",
        ) from error
    match call.positional:
        case [str(text)] if text.lstrip().startswith("{"):
            given = _json_object(text)
        case _:
            given = dict(zip(query.params, call.positional, strict=False))
    return _query(call, query.source, call.name, {**call.named, **given})


def _query(call: TableFunctionCall, text: str, name: str | None, params: Any) -> ComputedRows:  # noqa: ANN401
    compiled = compile_query(text, call.snapshot.catalog, name)
    call.reads(*compiled.descriptor.reads)
    plan = compiled.ir
    if not isinstance(plan, ReadPlan):
        raise InvalidInput(
            "a mutation cannot be used as a table function", hint="Run it with mutate."
        )
    schema = result_schema(plan)
    duplicates = sorted({n for n in schema.names if schema.names.count(n) > 1})
    if duplicates:
        raise InvalidInput(
            f"two columns of the query are called {duplicates[0]!r}",
            hint="Give one of them another name: `… as name`.",
        )

    def batches() -> Iterator[pa.RecordBatch]:
        _require_bound(params.values() if isinstance(params, dict) else [params])
        return call.graph.query(text, name, params, call.snapshot).batches()

    return ComputedRows(schema, batches)


def _json_object(text: Any) -> Any:  # noqa: ANN401
    if isinstance(text, Unbound):
        return text
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the parameters are not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInput("parameters are a JSON object", hint="""Write '{"name": "Ada"}'.""")
    return value


def _require_bound(values: Any) -> None:  # noqa: ANN401
    if any(isinstance(value, Unbound) for value in values):
        raise InvalidInput("a parameter of a table function has no value")


# --------------------------------------------------------------------------- graph


def _traverse(call: TableFunctionCall) -> ComputedRows:
    edge, node = call.text(0, "edge"), call.text(1, "node")
    seed = call.argument(2, "seed", None)
    low, high = call.number(3, "min", 1), call.number(4, "max", 1)
    direction = call.argument(5, "direction", None)
    seeds = [seed] if isinstance(seed, str) else seed
    # Unknown names are refused when the statement is planned.
    edge_type, node_type = call.snapshot.catalog.edge(edge), call.snapshot.catalog.node(node)
    call.reads(Fact("edge", edge_type.name), Fact("node", node_type.name))

    def batches() -> pa.RecordBatchReader:
        _require_bound([seed, direction])
        return call.graph.reach(
            edge,
            node,
            seeds,
            min_steps=low,
            max_steps=max(low, high),
            direction=direction,
            at=call.snapshot,
        )

    return ComputedRows(REACH_SCHEMA, batches)


def _ranked(score: str, query_name: str, call: TableFunctionCall) -> ComputedRows:
    """The best entities of a type by a ranking, with all their properties and the score."""
    type_ = call.snapshot.catalog.node(call.text(0, "type"))
    field = type_.property(call.text(1, "property")).name
    query, limit = call.argument(2, query_name), call.number(3, "limit", 10)
    if limit < 0:
        raise InvalidInput(f"the limit {limit} is negative", hint="Give a number of rows.")
    properties = [p for p in type_.properties if not p.type.is_blob]
    kind = type_.property(field).type
    by_text = isinstance(query, str) or not kind.is_vector
    declared = "String" if by_text else f"Vector({kind.dimension})"
    returned = [f"$n.{p.name} as {p.name}" for p in properties]
    call_text = f"{call.name}($n.{field}, $q)"
    text = (
        f"query ranked($q: {declared}) {{ match {{ $n: {type_.name} }} "
        f"return {{ $n as id, {', '.join([*returned, f'{call_text} as {score}'])} }} "
        f"order {{ {call_text} }} limit {limit} }}"
    )
    return _query(call, text, "ranked", {"q": query})


def _changes(call: TableFunctionCall) -> ComputedRows:
    before, after = call.text(0, "from"), call.text(1, "to")
    for moment in (before, after):
        call.pins.touch("read", moment)
    return ComputedRows(CHANGE_SCHEMA, lambda: call.graph.diff(before, after).batches())


_FUNCTIONS: Mapping[str, Callable[[TableFunctionCall], ComputedRows]] = {
    "gq": _gq,
    "traverse": _traverse,
    "nearest": partial(_ranked, "distance", "vector"),
    "bm25": partial(_ranked, "score", "text"),
    "changes": _changes,
}
_USAGE = {
    "gq": "'query …', '{\"param\": …}'",
    "traverse": "'Edge', 'Node', seed => 'id', min => 1, max => 3, direction => 'out'",
    "nearest": "'Type', 'property', [0.1, …], 10",
    "bm25": "'Type', 'property', 'words', 10",
    "changes": "'main@v1', 'main'",
}
