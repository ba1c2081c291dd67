"""Constraints on the final image of a write: uniqueness, endpoints, cardinality.

Each check finds candidates in what the write changed and confirms them on the final image, so that
rows a later operation replaced cannot raise a false alarm. Order: all uniqueness, then all
endpoints, then all cardinality (loading.md §5).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.schema import Catalog, EdgeType, NodeType
from omnigraph.schema.catalog import GraphType
from omnigraph.schema.keys import key_text, tuple_text
from omnigraph.schema.types import PropertyType, Scalar
from omnigraph.storage import violations
from omnigraph.storage.staging import PARTITION_ROWS, Staged, part_of
from omnigraph.storage.tables import (
    PROBE_LIMIT,
    Tables,
    TableVersion,
    chunks,
    guarded,
    in_condition,
    one_array,
)

_ENDPOINT = PropertyType("scalar", Scalar.STRING)


@dataclass(frozen=True)
class FinalImage:
    """The graph as it would be after the write."""

    tables: Tables
    catalog: Catalog
    staged: Mapping[str, Staged]
    current: Callable[[str], tuple[TableVersion, int]]
    """Version and row count of a table the write does not touch; notes that it was relied on."""

    def table(self, key: str) -> tuple[TableVersion, int]:
        if key in self.staged:
            return self.staged[key].version, self.staged[key].rows
        return self.current(key)


def validate(image: FinalImage, *, deferred: bool = False) -> None:
    """Raise the first violation, or return. What is deferred spans tables: the merge checks it."""
    changed = [staged for _, staged in sorted(image.staged.items())]
    for staged in changed:
        for rule in staged.type.uniques:
            _check_unique(image, staged, rule.members)
    if deferred:
        return
    for staged in changed:
        if isinstance(staged.type, EdgeType):
            _check_endpoints(image, staged, staged.type)
    for staged in changed:
        if isinstance(staged.type, NodeType):
            _check_references(image, staged, staged.type)
    for staged in changed:
        if isinstance(staged.type, EdgeType) and not staged.type.cardinality.is_free:
            _check_cardinality(image, staged, staged.type)


def check_everything(image: FinalImage) -> None:
    """Uniqueness, endpoints and upper cardinality over whole tables; for verification."""
    for type_ in image.catalog.types():
        version, rows = image.table(type_.table_key)
        for rule in type_.uniques if rows else ():
            check_unique_everywhere(image.tables, version, type_, rule.members)
        if not isinstance(type_, EdgeType) or not rows:
            continue
        for end, node_name in (("src", type_.src), ("dst", type_.dst)):
            named = _all_values(image.tables, version, end)
            for missing in _missing_nodes(image, node_name, named):
                edge_id = _edge_with(image, version, end, missing)
                raise violations.endpoint(type_.name, end, edge_id, missing, node_name)
        high = type_.cardinality.max
        if high is not None:
            sources = _all_values(image.tables, version, "src")
            for source, count in _counts(image.tables, version, sources):
                if count > high:
                    raise violations.cardinality(type_.name, source, count, high, above=True)


# --------------------------------------------------------------------------- uniqueness


def check_unique_everywhere(
    tables: Tables, version: TableVersion, type_: GraphType, members: Sequence[str]
) -> None:
    """The same rule over a whole table, for a constraint that is new."""
    _confirm_unique(tables, version, type_, members, None, pa.array([], pa.string()))


def _check_unique(image: FinalImage, staged: Staged, members: Sequence[str]) -> None:
    texts, ids = [], []
    for write in staged.written:
        for rows in write.buffer.scan(_columns(members)):
            text = _tuples(staged.type, members, rows)
            known = text.is_valid()
            texts.append(text.filter(known))
            ids.append(rows.column("id").combine_chunks().filter(known))
        if write.one_file:
            _check_within_file(staged.type, members, texts, ids)
    if not texts:
        return
    candidates = pa.chunked_array(texts, pa.string()).unique()
    if len(candidates):
        changed = pa.chunked_array(ids, pa.string())
        _confirm_unique(image.tables, staged.version, staged.type, members, candidates, changed)


def _check_within_file(
    type_: GraphType,
    members: Sequence[str],
    texts: Sequence[pa.StringArray],
    ids: Sequence[pa.StringArray],
) -> None:
    """Rows of one load input may not repeat a tuple, whatever their ids."""
    table = pa.table(
        {"text": pa.chunked_array(texts, pa.string()), "id": pa.chunked_array(ids, pa.string())}
    )
    counts = table.column("text").value_counts()
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        first = repeated[0].as_py()
        holders = table.filter(pc.equal(table.column("text"), first)).column("id").to_pylist()
        raise violations.unique(type_.name, members, _parts(first, members), holders[0], holders[1])


def _confirm_unique(
    tables: Tables,
    version: TableVersion,
    type_: GraphType,
    members: Sequence[str],
    candidates: pa.StringArray | None,
    changed: pa.Array | pa.ChunkedArray,
) -> None:
    """No two rows of a version may hold one of the tuples (or any tuple, without candidates)."""
    texts, ids = [], []
    reader = tables.scan(
        version, columns=_columns(members), condition=_member_condition(type_, members, candidates)
    )
    for rows in chunks(guarded(reader, version)):
        text = _tuples(type_, members, rows)
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
    if not len(repeated):
        return
    first = pc.min(repeated).as_py()
    holders = table.filter(pc.equal(table.column("text"), first)).column("id")
    offenders = holders.filter(pc.is_in(holders, changed)).to_pylist()
    earlier = holders.filter(pc.invert(pc.is_in(holders, changed))).to_pylist()
    holders = earlier + offenders
    raise violations.unique(type_.name, members, _parts(first, members), holders[0], holders[1])


def _columns(members: Sequence[str]) -> list[str]:
    return ["id", *(m for m in members if m != "id")]


def _member_type(type_: GraphType, member: str) -> PropertyType:
    return _ENDPOINT if member in ("src", "dst") else type_.property(member).type


def _tuples(type_: GraphType, members: Sequence[str], rows: pa.Table) -> pa.StringArray:
    return tuple_text([key_text(rows.column(m), _member_type(type_, m)) for m in members])


def _parts(text: str, members: Sequence[str]) -> list[str]:
    return [text] if len(members) == 1 else list(json.loads(text))


def _member_condition(
    type_: GraphType, members: Sequence[str], candidates: pa.StringArray | None
) -> str | None:
    """A filter that Lance can push down, when there are few candidates of one text column."""
    if candidates is None or len(candidates) > PROBE_LIMIT or len(members) > 1:
        return None
    if not _member_type(type_, members[0]).is_text:
        return None
    return in_condition(members[0], candidates)


# --------------------------------------------------------------------------- endpoints


def _check_endpoints(image: FinalImage, staged: Staged, edge: EdgeType) -> None:
    """Both ends of every written edge must be there."""
    ends = (("src", edge.src), ("dst", edge.dst))
    named = [partial(_written_values, staged, end) for end, _ in ends]
    count = sum(write.buffer.rows for write in staged.written)
    # Set membership runs without the interpreter's lock: the two ends are checked side by side.
    with ThreadPoolExecutor(2) as pool:
        absent = list(pool.map(partial(_absent, image, count), (n for _, n in ends), named))
    for (end, node_name), candidates in zip(ends, absent, strict=True):
        for missing in candidates:
            edge_id = _edge_with(image, staged.version, end, missing)
            if edge_id is not None:
                raise violations.endpoint(edge.name, end, edge_id, missing, node_name)


def _written_values(staged: Staged, column: str) -> Iterator[pa.ChunkedArray]:
    for write in staged.written:
        for rows in write.buffer.scan([column]):
            yield rows.column(column)


def _absent(
    image: FinalImage,
    count: int,
    node_name: str,
    named: Callable[[], Iterator[pa.ChunkedArray]],
) -> list[str]:
    """Ids among the `count` named that a node type does not hold, in order; in bounded memory."""
    version, rows = image.table(f"node:{node_name}")
    if count <= PROBE_LIMIT:
        ids = pa.chunked_array([c for column in named() for c in column.chunks], pa.string())
        return _missing_nodes(image, node_name, ids.unique())
    missing: set[str] = set()
    parts = -(-max(rows, 1) // PARTITION_ROWS)
    for part in range(parts):
        reader = image.tables.scan(version, columns=["id"])
        held = one_array(
            part_of(chunk.column("id"), part, parts) for chunk in chunks(guarded(reader, version))
        )
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


def _missing_nodes(image: FinalImage, node_name: str, ids: pa.StringArray) -> list[str]:
    """Those of the ids that the node type does not hold, in order."""
    version, rows = image.table(f"node:{node_name}")
    absent = pc.invert(pc.is_in(ids, _held(image.tables, version, rows, ids)))
    return sorted(ids.filter(absent).to_pylist())


def _held(tables: Tables, version: TableVersion, rows: int, ids: pa.StringArray) -> pa.Array:
    """A set of ids that contains those of the given ones that the version holds."""
    if not rows:
        return pa.array([], pa.string())
    if len(ids) <= PROBE_LIMIT:
        return tables.locate(version, ids).ids
    reader = tables.scan(version, columns=["id"])
    held = [chunk.column("id") for chunk in chunks(guarded(reader, version))]
    return pa.chunked_array([c for column in held for c in column.chunks], pa.string())


def _edge_with(image: FinalImage, version: TableVersion, end: str, node: str) -> str | None:
    """The id of an edge of the final image at that node, if there is one."""
    rows = image.tables.read(
        version, columns=["id"], condition=in_condition(end, pa.array([node], pa.string()))
    )
    return pc.min(rows.column("id")).as_py() if rows.num_rows else None


def _check_references(image: FinalImage, staged: Staged, node: NodeType) -> None:
    """No surviving edge may name a node that is gone."""
    if not staged.replaced and not len(staged.removed):
        return
    for edge in image.catalog.edges_touching(node.name):
        version, rows = image.table(edge.table_key)
        if not rows:
            continue
        for end in (e for e, name in (("src", edge.src), ("dst", edge.dst)) if name == node.name):
            named = (
                _all_values(image.tables, version, end)
                if staged.replaced
                else _values_among(image.tables, version, end, staged.removed.unique())
            )
            for missing in _missing_nodes(image, node.name, named):
                edge_id = _edge_with(image, version, end, missing)
                raise violations.endpoint(edge.name, end, edge_id, missing, node.name)


def _all_values(tables: Tables, version: TableVersion, column: str) -> pa.StringArray:
    reader = tables.scan(version, columns=[column])
    parts = [chunk.column(column).unique() for chunk in chunks(guarded(reader, version))]
    return pa.chunked_array(parts, pa.string()).unique()


def _values_among(
    tables: Tables, version: TableVersion, column: str, values: pa.StringArray
) -> pa.StringArray:
    if len(values) <= PROBE_LIMIT:
        rows = tables.read(version, columns=[column], condition=in_condition(column, values))
        return rows.column(column).unique()
    present = _all_values(tables, version, column)
    return present.filter(pc.is_in(present, values))


# --------------------------------------------------------------------------- cardinality


def _check_cardinality(image: FinalImage, staged: Staged, edge: EdgeType) -> None:
    """Count the edges of every source whose edges the write touched."""
    sources = [staged.touched]
    for write in staged.written:
        sources += [rows.column("src").unique() for rows in write.buffer.scan(["src"])]
    touched = pa.chunked_array(sources, pa.string()).unique()
    if not len(touched):
        return
    low, high = edge.cardinality.min, edge.cardinality.max
    counts = dict(_counts(image.tables, staged.version, touched))
    for source in sorted(counts):
        if high is not None and counts[source] > high:
            raise violations.cardinality(edge.name, source, counts[source], high, above=True)
    if not low:
        return
    few = [s for s in sorted(touched.to_pylist()) if counts.get(s, 0) < low]
    if not few:
        return
    gone = set(_missing_nodes(image, edge.src, pa.array(few, pa.string())))
    for source in few:
        if source not in gone:
            count = counts.get(source, 0)
            raise violations.cardinality(edge.name, source, count, low, above=False)


def _counts(
    tables: Tables, version: TableVersion, sources: pa.StringArray
) -> Iterator[tuple[str, int]]:
    condition = in_condition("src", sources) if len(sources) <= PROBE_LIMIT else None
    reader = tables.scan(version, columns=["src"], condition=condition)
    parts = [chunk.column("src") for chunk in chunks(guarded(reader, version))]
    if not parts:
        return
    column = pa.chunked_array([c for part in parts for c in part.chunks], pa.string())
    counts = column.value_counts()
    kept = pc.is_in(counts.field("values"), sources)
    yield from zip(
        counts.field("values").filter(kept).to_pylist(),
        counts.field("counts").filter(kept).to_pylist(),
        strict=True,
    )
