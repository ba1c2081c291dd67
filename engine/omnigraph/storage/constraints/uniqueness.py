"""The rules `@key` and `@unique`: no two rows with the same tuple."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.constraints import violations
from omnigraph.storage.constraints.distributed_protocol import member_type, tuples
from omnigraph.storage.constraints.final_state import FinalState, TableChange, Violations
from omnigraph.storage.constraints.table_view import TableView


def check_unique_everywhere(view: TableView, type_: GraphType, members: Sequence[str]) -> None:
    """The same rule over a whole table, for a constraint that is new."""
    for violation in unique_everywhere(view, type_, members):
        raise violation


def unique_everywhere(view: TableView, type_: GraphType, members: Sequence[str]) -> Violations:
    """All violations of one rule in a whole table."""
    return repeated_tuples(view, type_, members, None, pa.array([], pa.string()))


def unique_violations(image: FinalState, change: TableChange) -> Violations:
    """Tuples that a written row shares with another row."""
    for rule in change.type.uniques:
        yield from unique_rule_violations(image, change, rule.members)


def unique_rule_violations(
    image: FinalState, change: TableChange, members: Sequence[str]
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
