"""The rules `@key` and `@unique`: no two rows with the same tuple."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.constraints import violations
from omnigraph.storage.constraints.distributed_protocol import member_type, tuples
from omnigraph.storage.constraints.final_state import FinalState, TableChange, Violations
from omnigraph.storage.constraints.hash_partitions import repeated
from omnigraph.storage.constraints.table_view import TableView


def unique_everywhere(view: TableView, type_: GraphType, members: Sequence[str]) -> Violations:
    """All violations of one rule in a whole table, for a rule that is new."""
    return repeated_tuples(view, type_, members, None, pa.array([], pa.string()))


def unique_violations(state: FinalState, change: TableChange) -> Violations:
    """Tuples that a written row shares with another row."""
    for rule in change.type.uniques:
        yield from unique_rule_violations(state, change, rule.members)


def unique_rule_violations(
    state: FinalState, change: TableChange, members: Sequence[str]
) -> Violations:
    """The same for one rule."""
    keys, ids = [], []
    for write in change.written:
        for rows in write.buffer.scan(key_columns(members)):
            key = tuples(change.type, members, rows)
            keys.append(key.drop_null())
            ids.append(rows.column("id").filter(key.is_valid()).combine_chunks())
        if write.one_file:
            yield from repeated_in_input(change.type, members, keys, ids)
    candidates = pa.chunked_array(keys, pa.string()).unique()
    if len(candidates):
        changed = pa.chunked_array(ids, pa.string())
        view = state.table(change.type.table_key)
        yield from repeated_tuples(view, change.type, members, candidates, changed)


def repeated_in_input(
    type_: GraphType,
    members: Sequence[str],
    keys: Sequence[pa.StringArray],
    ids: Sequence[pa.StringArray],
) -> Violations:
    """Rows of one load input may not repeat a tuple, whatever their ids."""
    key, id_ = pa.chunked_array(keys, pa.string()), pa.chunked_array(ids, pa.string())
    repeats = repeated(key)
    if len(repeats):
        holders = id_.filter(pc.equal(key, repeats[0])).to_pylist()
        values = _parts(repeats[0].as_py(), members)
        yield violations.unique(type_.name, members, values, holders[0], holders[1])


def repeated_tuples(
    view: TableView,
    type_: GraphType,
    members: Sequence[str],
    candidates: pa.StringArray | None,
    changed: pa.Array | pa.ChunkedArray,
) -> Violations:
    """No two rows may hold one of the tuples (or any tuple, without candidates)."""
    keys, ids = [], []
    among = None
    if candidates is not None and len(members) == 1 and member_type(type_, members[0]).is_text:
        among = (members[0], candidates)
    for rows in view.scan(key_columns(members), among):
        key = tuples(type_, members, rows)
        hit = key.is_valid() if candidates is None else pc.is_in(key, candidates)
        keys.append(key.filter(hit))
        ids.append(rows.column("id").filter(hit).combine_chunks())
    table = pa.table(
        {"key": pa.chunked_array(keys, pa.string()), "id": pa.chunked_array(ids, pa.string())}
    )
    clashing = table.filter(pc.is_in(table.column("key"), repeated(table.column("key"))))
    # Who was there before is the holder; who came with the write offends.
    clashing = clashing.append_column("new", pc.is_in(clashing.column("id"), changed))
    ordered = clashing.sort_by([("key", "ascending"), ("new", "ascending")]).to_pylist()
    for key, group in groupby(ordered, lambda row: row["key"]):
        holder, *offenders = (row["id"] for row in group)
        for offender in offenders:
            yield violations.unique(type_.name, members, _parts(key, members), holder, offender)


def key_columns(members: Sequence[str]) -> list[str]:
    """What is read to know the tuples of rows, and whose they are."""
    return ["id", *(m for m in members if m != "id")]


def _parts(text: str, members: Sequence[str]) -> list[str]:
    return [text] if len(members) == 1 else list(json.loads(text))
