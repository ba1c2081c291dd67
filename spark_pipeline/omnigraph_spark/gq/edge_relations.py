"""Edges of a pattern as relations: one row per pair of ends `l` and `r`, or per edge.

Longer paths are searched breadth-first, as the language defines them: each round joins the pairs
reached last with the edges and keeps the shortest distance of every pair. The text grows by one
join per hop, so hops are limited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph.query.logical import Expand
from omnigraph_spark.gq.constants import call
from omnigraph_spark.gq.table_columns import ReferencedColumns, column

MAX_HOPS = 16
"""Joins in a row that Spark plans in reasonable time."""


def edge_relation(tables: ReferencedColumns, expand: Expand, properties: Iterable[str]) -> exp.Expr:
    """One row per edge: its ends as the pattern sees them, its id and some properties."""
    names = ["id", *properties]

    def read(left: str, right: str) -> exp.Select:
        table = tables.use("edge", expand.edge_type, *properties)
        ends = [column("e", left).as_("l"), column("e", right).as_("r")]
        return exp.select(*ends, *(column("e", name) for name in names)).from_(table.as_("e"))

    if expand.direction == "undirected":
        backward = read("dst", "src").where(column("e", "src").neq(column("e", "dst")))
        return read("src", "dst").union(backward, distinct=False)
    return read("src", "dst") if expand.direction == "forward" else read("dst", "src")


def pair_relation(
    tables: ReferencedColumns, expand: Expand, sources: Callable[[], exp.Select]
) -> exp.Expr:
    """The pairs of nodes that an expansion connects; `sources` has the ids it may start from."""
    if expand.min_hops > expand.max_hops:
        return _steps(tables, expand).where(exp.false())
    if expand.is_single_hop:
        return _distinct(_steps(tables, expand))
    if expand.max_hops > MAX_HOPS:
        raise InvalidInput(
            f"{expand.max_hops} hops over {expand.edge_type} are too many for Spark",
            hint=f"Use at most {MAX_HOPS} hops, or run the query with Graph.query.",
        )
    reached = exp.select(
        column("s", "id").as_("l"), column("s", "id").as_("r"), exp.Literal.number("0").as_("d")
    ).from_(sources().subquery("s"))
    for hop in range(expand.max_hops):
        reached = _one_further(reached, _steps(tables, expand), hop)
    return _emitted(tables, expand, reached)


def _steps(tables: ReferencedColumns, expand: Expand) -> exp.Select:
    """All single hops, repeated where edges are parallel."""

    def read(left: str, right: str) -> exp.Select:
        table = tables.use("edge", expand.edge_type)
        ends = [column("e", left).as_("l"), column("e", right).as_("r")]
        return exp.select(*ends).from_(table.as_("e"))

    match expand.direction:
        case "forward":
            return read("src", "dst")
        case "reverse":
            return read("dst", "src")
        case _:
            both = read("src", "dst").union(read("dst", "src"), distinct=False)
            return exp.select("l", "r").from_(both.subquery("both"))


def _distinct(steps: exp.Select) -> exp.Select:
    return exp.select("l", "r").distinct().from_(steps.subquery("steps"))


def _one_further(reached: exp.Select, steps: exp.Select, hop: int) -> exp.Select:
    """Pairs with their shortest distance, after one more hop from those that are `hop` away."""
    ahead = _pair(column("e", "r"), exp.Add(this=column("p", "d"), expression=exp.convert(1)))
    here = _pair(column("p", "r"), column("p", "d"))
    view = exp.Lateral(
        this=call("INLINE", call("ARRAY", here, ahead)),
        view=True,
        alias=exp.TableAlias(
            this=exp.to_identifier("x"), columns=[exp.to_identifier("r"), exp.to_identifier("d")]
        ),
    )
    joined = (
        exp.select(column("p", "l"), column("x", "r"), exp.Min(this=column("x", "d")).as_("d"))
        .from_(reached.subquery("p"))
        .join(
            steps.subquery("e"),
            on=exp.and_(column("e", "l").eq(column("p", "r")), column("p", "d").eq(hop)),
            join_type="left",
        )
        .where(column("x", "r").is_(exp.null()).not_())
        .group_by(column("p", "l"), column("x", "r"))
    )
    joined.append("laterals", view)
    return joined


def _pair(node: exp.Expr, distance: exp.Expr) -> exp.Expr:
    return call("NAMED_STRUCT", exp.Literal.string("r"), node, exp.Literal.string("d"), distance)


def _emitted(tables: ReferencedColumns, expand: Expand, reached: exp.Select) -> exp.Select:
    """Pairs within the bounds; an edge from a node to itself leads there in one hop more."""
    low, high = expand.min_hops, expand.max_hops
    table = tables.use("edge", expand.edge_type)
    loops = (
        exp.select(column("e", "src").as_("node"))
        .distinct()
        .from_(table.as_("e"))
        .where(column("e", "src").eq(column("e", "dst")))
    )
    distance = column("p", "d")
    looped = exp.and_(
        column("o", "node").is_(exp.null()).not_(), distance.between(low - 1, high - 1)
    )
    return (
        exp.select(column("p", "l"), column("p", "r"))
        .from_(reached.subquery("p"))
        .join(loops.subquery("o"), on=column("o", "node").eq(column("p", "r")), join_type="left")
        .where(exp.or_(distance.between(low, high), looped))
    )
