"""The rules over everything that is stored, for verification: in memory that does not grow.

Keys are compared by their hashes, some million at a time, and read once for each such part. What
seems to break a rule is then looked for by its text, with the checks that writes are judged by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.common.value_hashes import Hashes, value_hashes
from omnigraph.schema import Catalog, EdgeType
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.constraints.cardinality import too_many
from omnigraph.storage.constraints.distributed_protocol import tuples
from omnigraph.storage.constraints.endpoints import dangling_edges, ends_of
from omnigraph.storage.constraints.final_state import Violations
from omnigraph.storage.constraints.rule_order import RuleSet
from omnigraph.storage.constraints.table_view import StoredTable
from omnigraph.storage.constraints.uniqueness import key_columns, repeated_tuples

PART_HASHES = 4 << 20
"""Hashes compared in one go."""
BATCH_ROWS = 1 << 14
SUSPECTS = 1000
"""So many keys that seem to break a rule are looked for; the first that does is told."""

Keys = Callable[[], Iterator[pa.StringArray]]
"""The keys of a table's rows, batch by batch; may be called again. Nulls are left out."""
_NO_TEXTS = pa.array([], pa.string())


def whole_tables(
    catalog: Catalog,
    stored: Callable[[str], StoredTable],
    part_hashes: int = PART_HASHES,
) -> RuleSet[GraphType]:
    """The rules over all rows of all tables; without lower cardinality."""

    def table(type_: GraphType) -> StoredTable:
        return stored(type_.table_key)

    def uniqueness(type_: GraphType) -> Violations:
        for rule in (("id",), *(rule.members for rule in type_.uniques)):
            keys = partial(_keys, table(type_), type_, rule)
            suspects = _held_by_more(keys, table(type_).rows, 1, part_hashes)
            if len(suspects):
                yield from repeated_tuples(table(type_), type_, rule, suspects, _NO_TEXTS)

    def endpoints(type_: GraphType) -> Violations:
        if isinstance(type_, EdgeType):
            for end, node_name in ends_of(type_):
                node = catalog.node(node_name)
                named = partial(_keys, table(type_), type_, (end,))
                known = partial(_keys, table(node), node, ("id",))
                missing = _missing(named, known, table(node).rows, part_hashes)
                yield from dangling_edges(table(type_), type_, end, node_name, missing)

    def cardinality(type_: GraphType) -> Violations:
        if isinstance(type_, EdgeType) and type_.cardinality.max is not None:
            keys, most = partial(_keys, table(type_), type_, ("src",)), type_.cardinality.max
            suspects = _held_by_more(keys, table(type_).rows, most, part_hashes)
            if len(suspects):
                yield from too_many(table(type_), type_, suspects)

    filled = [type_ for type_ in catalog.types() if table(type_).rows]
    return RuleSet(filled, uniqueness, endpoints, lambda _: iter(()), cardinality)


def _keys(table: StoredTable, type_: GraphType, members: Sequence[str]) -> Iterator[pa.StringArray]:
    for rows in table.batches(key_columns(members), BATCH_ROWS):
        yield tuples(type_, members, pa.Table.from_batches([rows])).drop_null()


def _held_by_more(keys: Keys, rows: int, most: int, part_hashes: int) -> pa.StringArray:
    """Keys that seem to be those of more rows than so many; those that are, are among them."""
    parts = -(-rows // part_hashes) or 1
    crowded = [_crowded(_sorted_part(keys, rows, part, parts), most) for part in range(parts)]
    suspects = np.concatenate(crowded)[:SUSPECTS]
    if not len(suspects):
        return _NO_TEXTS
    found = (texts.filter(pa.array(np.isin(value_hashes(texts), suspects))) for texts in keys())
    return pa.chunked_array([several.unique() for several in found], pa.string()).unique()


def _missing(named: Keys, known: Keys, known_rows: int, part_hashes: int) -> list[str]:
    """Some of the named keys that are not known, in order; none if all are."""
    parts = -(-known_rows // part_hashes) or 1
    missing: set[str] = set()
    for part in range(parts):
        ordered = _sorted_part(known, known_rows, part, parts)
        for texts in named():
            hashes = value_hashes(texts)
            absent = _is_in_part(hashes, part, parts) & ~_is_among(hashes, ordered)
            if absent.any():
                missing.update(texts.filter(pa.array(absent)).unique().to_pylist())
            if len(missing) > SUSPECTS:
                return sorted(missing)
    return sorted(missing)


def _crowded(ordered: Hashes, most: int) -> Hashes:
    """Those of some ascending hashes that are there more often than so many times."""
    later = ordered[most:]
    crowded: Hashes = np.unique(later[later == ordered[: len(later)]])
    return crowded


def _sorted_part(keys: Keys, rows: int, part: int, parts: int) -> Hashes:
    """The hashes that belong to one of several parts, ascending."""
    room: Hashes = np.empty(rows if parts == 1 else rows // parts * 21 // 20, np.uint64)
    used = 0
    for texts in keys():
        hashes = value_hashes(texts)
        mine = hashes[_is_in_part(hashes, part, parts)]
        if used + len(mine) > len(room):
            room = np.concatenate([room, np.empty(len(mine) + len(room) // 8, np.uint64)])
        room[used : used + len(mine)] = mine
        used += len(mine)
    ordered = room[:used]
    ordered.sort()
    return ordered


def _is_in_part(hashes: Hashes, part: int, parts: int) -> npt.NDArray[np.bool_]:
    mine: npt.NDArray[np.bool_] = (hashes >> np.uint64(32)) % np.uint64(parts) == part
    return mine


def _is_among(hashes: Hashes, ordered: Hashes) -> npt.NDArray[np.bool_]:
    if not len(ordered):
        return np.zeros(len(hashes), np.bool_)
    places = np.minimum(np.searchsorted(ordered, hashes), len(ordered) - 1)
    found: npt.NDArray[np.bool_] = ordered[places] == hashes
    return found
