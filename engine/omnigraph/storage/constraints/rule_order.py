"""Constraints on the final image of a write: uniqueness, endpoints, cardinality.

Each check finds candidates in what the write changed and confirms them on the final image, so that
rows a later operation replaced cannot raise a false alarm. Order: all uniqueness, then all
endpoints, then all cardinality (loading.md §5). Violations come one by one: a write needs the
first, a merge reports all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import ConstraintViolation
from omnigraph.schema import Catalog, EdgeType, NodeType
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.constraints import violations
from omnigraph.storage.constraints.distributed_protocol import member_type, tuples
from omnigraph.storage.constraints.table_view import TableView
from omnigraph.storage.core.table_version import PROBE_LIMIT, one_array
from omnigraph.storage.transaction.stage_rows import PARTITION_ROWS, batches_of, part_of

Violations = Iterator[ConstraintViolation]


class Rows(Protocol):
    """Rows that can be read again and again."""

    @property
    def rows(self) -> int: ...

    def scan(self, columns: Sequence[str]) -> Iterator[pa.Table]: ...


class Written(Protocol):
    """Rows that a write adds or replaces."""

    @property
    def buffer(self) -> Rows: ...

    @property
    def one_file(self) -> bool: ...


class Changed(Protocol):
    """What a write does to one table, as far as checks need to know."""

    @property
    def type(self) -> GraphType: ...

    @property
    def written(self) -> Sequence[Written]: ...

    @property
    def removed(self) -> pa.StringArray:
        """Ids that went; some may have been put back."""

    @property
    def touched(self) -> pa.StringArray:
        """Sources (of edges with a cardinality) that lost an edge."""

    @property
    def replaced(self) -> bool:
        """Whether all rows went."""


@dataclass(frozen=True)
class FinalImage:
    """The graph as it would be after the write."""

    catalog: Catalog
    changed: Mapping[str, Changed]
    table: Callable[[str], TableView]
    """A table as it would be; notes which of those that the write does not touch it relied on."""


def validate(image: FinalImage, *, deferred: bool = False) -> None:
    """Raise the first violation, or return. What is deferred spans tables: the merge checks it."""
    for violation in all_violations(image, deferred=deferred):
        raise violation


def all_violations(image: FinalImage, *, deferred: bool = False) -> Violations:
    """Everything that the final image breaks, in order."""
    changed = [change for _, change in sorted(image.changed.items())]
    for change in changed:
        yield from unique_violations(image, change)
    if deferred:
        return
    for change in changed:
        yield from endpoint_violations(image, change)
    for change in changed:
        yield from reference_violations(image, change)
    for change in changed:
        yield from cardinality_violations(image, change)


def check_everything(image: FinalImage) -> None:
    """Uniqueness, endpoints and upper cardinality over whole tables; for verification."""
    for type_ in image.catalog.types():
        view = image.table(type_.table_key)
        for rule in type_.uniques if view.rows else ():
            check_unique_everywhere(view, type_, rule.members)
        if not isinstance(type_, EdgeType) or not view.rows:
            continue
        for end, node_name in (("src", type_.src), ("dst", type_.dst)):
            missing = missing_nodes(image, node_name, _all_values(view, end))
            for violation in orphans(view, type_, end, node_name, missing):
                raise violation
        for violation in too_many(view, type_, _all_values(view, "src")):
            raise violation


# --------------------------------------------------------------------------- uniqueness


def check_unique_everywhere(view: TableView, type_: GraphType, members: Sequence[str]) -> None:
    """The same rule over a whole table, for a constraint that is new."""
    for violation in unique_everywhere(view, type_, members):
        raise violation


def unique_everywhere(view: TableView, type_: GraphType, members: Sequence[str]) -> Violations:
    """All violations of one rule in a whole table."""
    return repeated_tuples(view, type_, members, None, pa.array([], pa.string()))


def unique_violations(image: FinalImage, change: Changed) -> Violations:
    """Tuples that a written row shares with another row."""
    for rule in change.type.uniques:
        yield from unique_rule_violations(image, change, rule.members)


def unique_rule_violations(
    image: FinalImage, change: Changed, members: Sequence[str]
) -> Violations:
    """The same for one rule."""
    texts, ids = [], []
    for write in change.written:
        for rows in write.buffer.scan(named_columns(members)):
            text = tuples(change.type, members, rows)
            known = text.is_valid()
            texts.append(text.filter(known))
            ids.append(rows.column("id").combine_chunks().filter(known))
        if write.one_file:
            yield from within_file(change.type, members, texts, ids)
    if not texts:
        return
    candidates = pa.chunked_array(texts, pa.string()).unique()
    if len(candidates):
        changed = pa.chunked_array(ids, pa.string())
        view = image.table(change.type.table_key)
        yield from repeated_tuples(view, change.type, members, candidates, changed)


def within_file(
    type_: GraphType,
    members: Sequence[str],
    texts: Sequence[pa.StringArray],
    ids: Sequence[pa.StringArray],
) -> Violations:
    """Rows of one load input may not repeat a tuple, whatever their ids."""
    table = pa.table(
        {"text": pa.chunked_array(texts, pa.string()), "id": pa.chunked_array(ids, pa.string())}
    )
    counts = table.column("text").value_counts()
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        first = repeated[0].as_py()
        holders = table.filter(pc.equal(table.column("text"), first)).column("id").to_pylist()
        yield violations.unique(type_.name, members, _parts(first, members), holders[0], holders[1])


def repeated_tuples(
    view: TableView,
    type_: GraphType,
    members: Sequence[str],
    candidates: pa.StringArray | None,
    changed: pa.Array | pa.ChunkedArray,
) -> Violations:
    """No two rows may hold one of the tuples (or any tuple, without candidates)."""
    texts, ids = [], []
    among = None
    if candidates is not None and len(members) == 1 and member_type(type_, members[0]).is_text:
        among = (members[0], candidates)
    for rows in view.scan(named_columns(members), among):
        text = tuples(type_, members, rows)
        wanted = text.is_valid() if candidates is None else pc.is_in(text, candidates)
        texts.append(text.filter(wanted))
        ids.append(rows.column("id").combine_chunks().filter(wanted))
    if not texts:
        return
    table = pa.table(
        {"text": pa.chunked_array(texts, pa.string()), "id": pa.chunked_array(ids, pa.string())}
    )
    counts = table.column("text").value_counts()
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    held = table.filter(pc.is_in(table.column("text"), repeated))
    # Who was there before is the holder; who came with the write offends.
    held = held.append_column("new", pc.is_in(held.column("id"), changed))
    holder: tuple[str, str] | None = None
    for row in held.sort_by([("text", "ascending"), ("new", "ascending")]).to_pylist():
        if holder is None or holder[0] != row["text"]:
            holder = (row["text"], row["id"])
            continue
        values = _parts(row["text"], members)
        yield violations.unique(type_.name, members, values, holder[1], row["id"])


def named_columns(members: Sequence[str]) -> list[str]:
    """What is read to know the tuples of rows, and whose they are."""
    return ["id", *(m for m in members if m != "id")]


def _parts(text: str, members: Sequence[str]) -> list[str]:
    return [text] if len(members) == 1 else list(json.loads(text))


# --------------------------------------------------------------------------- endpoints


def endpoint_violations(image: FinalImage, change: Changed) -> Violations:
    """Both ends of every written edge must be there."""
    edge = change.type
    if not isinstance(edge, EdgeType):
        return
    ends = (("src", edge.src), ("dst", edge.dst))
    named = [partial(_written_values, change, end) for end, _ in ends]
    count = sum(write.buffer.rows for write in change.written)
    # Set membership runs without the interpreter's lock: the two ends are checked side by side.
    with ThreadPoolExecutor(2) as pool:
        absent = list(pool.map(partial(_absent, image, count), (n for _, n in ends), named))
    for (end, node_name), missing in zip(ends, absent, strict=True):
        if missing:
            view = image.table(edge.table_key)
            yield from orphans(view, edge, end, node_name, missing)


def _written_values(change: Changed, column: str) -> Iterator[pa.ChunkedArray]:
    for write in change.written:
        for rows in write.buffer.scan([column]):
            yield rows.column(column)


def _absent(
    image: FinalImage,
    count: int,
    node_name: str,
    named: Callable[[], Iterator[pa.ChunkedArray]],
) -> list[str]:
    """Ids among the `count` named that a node type does not hold, in order; in bounded memory."""
    if count <= PROBE_LIMIT:
        ids = pa.chunked_array([c for column in named() for c in column.chunks], pa.string())
        return missing_nodes(image, node_name, ids.unique())
    view = image.table(f"node:{node_name}")
    missing: set[str] = set()
    parts = -(-max(view.rows, 1) // PARTITION_ROWS)
    for part in range(parts):
        held = one_array(part_of(chunk.column("id"), part, parts) for chunk in view.scan(["id"]))
        for several in _gathered(named()):
            ids = part_of(several, part, parts)
            known = pc.is_in(ids, held)
            if not pc.all(known).as_py():
                missing.update(ids.filter(pc.invert(known)).unique().to_pylist())
    return sorted(missing)


def _gathered(columns: Iterable[pa.ChunkedArray]) -> Iterator[pa.ChunkedArray]:
    """Columns put together: looking ids up in few large pieces builds the set of ids seldom."""
    waiting: list[pa.Array] = []
    for column in columns:
        waiting += column.chunks
        if sum(map(len, waiting)) >= PARTITION_ROWS:
            yield pa.chunked_array(waiting, pa.string())
            waiting = []
    if waiting:
        yield pa.chunked_array(waiting, pa.string())


def missing_nodes(image: FinalImage, node_name: str, ids: pa.StringArray) -> list[str]:
    """Those of the ids that the node type does not hold, in order."""
    absent = pc.invert(pc.is_in(ids, _held(image.table(f"node:{node_name}"), ids)))
    return sorted(ids.filter(absent).to_pylist())


def _held(view: TableView, ids: pa.StringArray) -> pa.Array | pa.ChunkedArray:
    """A set of ids that contains those of the given ones that the table holds."""
    if not view.rows or not len(ids):
        return pa.array([], pa.string())
    if len(ids) <= PROBE_LIMIT:
        return view.held(ids)
    held = [chunk.column("id") for chunk in view.scan(["id"])]
    return pa.chunked_array([c for column in held for c in column.chunks], pa.string())


def orphans(
    view: TableView, edge: EdgeType, end: str, node_name: str, missing: Sequence[str]
) -> Violations:
    """The edges of the final image at nodes that are not there."""
    for several in batches_of(pa.array(missing, pa.string()), PROBE_LIMIT):
        found = [
            rows.filter(pc.is_in(rows.column(end), several))
            for rows in view.scan(["id", end], (end, several))
        ]
        if not found:
            continue
        ordered = pa.concat_tables(found).sort_by([(end, "ascending"), ("id", "ascending")])
        for row in ordered.to_pylist():
            yield violations.endpoint(edge.name, end, row["id"], row[end], node_name)


def reference_violations(image: FinalImage, change: Changed) -> Violations:
    """No surviving edge may name a node that is gone."""
    node = change.type
    if not isinstance(node, NodeType) or not (change.replaced or len(change.removed)):
        return
    for edge in image.catalog.edges_touching(node.name):
        view = image.table(edge.table_key)
        if not view.rows:
            continue
        for end in (e for e, name in (("src", edge.src), ("dst", edge.dst)) if name == node.name):
            named = (
                _all_values(view, end)
                if change.replaced
                else _values_among(view, end, change.removed.unique())
            )
            missing = missing_nodes(image, node.name, named)
            yield from orphans(view, edge, end, node.name, missing)


def _all_values(view: TableView, column: str) -> pa.StringArray:
    parts = [chunk.column(column).unique() for chunk in view.scan([column])]
    return pa.chunked_array(parts, pa.string()).unique()


def _values_among(view: TableView, column: str, values: pa.StringArray) -> pa.StringArray:
    parts = [chunk.column(column).unique() for chunk in view.scan([column], (column, values))]
    present = pa.chunked_array(parts, pa.string()).unique()
    return present.filter(pc.is_in(present, values))


# --------------------------------------------------------------------------- cardinality


def cardinality_violations(image: FinalImage, change: Changed) -> Violations:
    """Count the edges of every source whose edges the write touched."""
    edge = change.type
    if not isinstance(edge, EdgeType) or edge.cardinality.is_free:
        return
    sources = [change.touched]
    for write in change.written:
        sources += [c for rows in write.buffer.scan(["src"]) for c in rows.column("src").chunks]
    touched = pa.chunked_array(sources, pa.string()).unique()
    if not len(touched):
        return
    view = image.table(edge.table_key)
    yield from too_many(view, edge, touched)
    if edge.cardinality.min:
        yield from too_few(image, view, edge, touched)


def too_many(view: TableView, edge: EdgeType, sources: pa.StringArray) -> Violations:
    """Those of the sources that have more edges than they may."""
    high = edge.cardinality.max
    if high is None:
        return
    counts = _counts(view, sources)
    over = counts.filter(pc.greater(counts.column("count"), high))
    for row in over.sort_by("src").to_pylist():
        yield violations.cardinality(edge.name, row["src"], row["count"], high, above=True)


def too_few(
    image: FinalImage, view: TableView, edge: EdgeType, sources: pa.StringArray
) -> Violations:
    """Those of the sources that are there and have fewer edges than they must."""
    low = edge.cardinality.min
    counts = _counts(view, sources)
    enough = counts.filter(pc.greater_equal(counts.column("count"), low)).column("src")
    few = sources.filter(pc.invert(pc.is_in(sources, enough)))
    if not len(few):
        return
    gone = pa.array(missing_nodes(image, edge.src, few), pa.string())
    few = few.filter(pc.invert(pc.is_in(few, gone)))
    left = dict(zip(*(counts.column(name).to_pylist() for name in ("src", "count")), strict=True))
    for source in sorted(few.to_pylist()):
        count = left.get(source, 0)
        yield violations.cardinality(edge.name, source, count, low, above=False)


def _counts(view: TableView, sources: pa.StringArray) -> pa.Table:
    """How many edges each of the sources has; those with none are left out."""
    parts = [chunk.column("src") for chunk in view.scan(["src"], ("src", sources))]
    column = pa.chunked_array([c for part in parts for c in part.chunks], pa.string())
    counts = column.filter(pc.is_in(column, sources)).value_counts()
    return pa.table({"src": counts.field("values"), "count": counts.field("counts")})
