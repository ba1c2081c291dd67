"""NDJSON to typed batches: a fast reading that proves itself, an exact one that decides.

The fast reading decodes a chunk of lines with orjson and converts column by column. It accepts a
chunk only if it can show that the exact reading of `ndjson_record` would accept every line with the
same values; otherwise it gives up on the chunk, smaller parts of it are tried again, and what
remains is read exactly, in line order. So speed never changes an answer.
"""

from __future__ import annotations

import gc
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import orjson
import pyarrow as pa

from omnigraph.errors import LoadError, NotFound, OmniGraphError, ResourceLimit
from omnigraph.loading.json_columns import NeedsExactReading, json_column
from omnigraph.loading.line_framing import (
    DEFAULT_LIMITS,
    MIB,
    Limits,
    LineChunk,
    check_lines,
    cut,
    read_chunks,
)
from omnigraph.loading.ndjson_record import BLANKS, RESERVED, Record, read_record, repeated_member
from omnigraph.loading.typed_batch import EntityType, IdMismatch, TypedBatch, row_width, typed_batch
from omnigraph.schema import Catalog, EdgeType
from omnigraph.schema.model.arrow_schema import arrow_type, table_schema

CHUNK_BYTES = 8 * MIB
# Small chunks keep the decoded objects in the processor's cache: 256 KiB reads 1.4 times as many
# records a second as 4 MiB.
LINE_CHUNK_BYTES = 256 * 1024
BATCH_BYTES = 64 * MIB
_PARTS = 16
_SMALL = 64

_NAME_END = re.compile(rb'"[ \t\r]*:')

Object = dict[str, Any]


def read_ndjson(
    source: BinaryIO,
    catalog: Catalog,
    limits: Limits = DEFAULT_LIMITS,
    on_progress: Callable[[int], None] | None = None,
) -> Iterator[TypedBatch]:
    """Typed batches of an NDJSON stream, one per type and chunk, rows in input order.

    The first wrong line raises LoadError; `on_progress` gets the number of bytes read so far.
    """
    widest = max((row_width(table_schema(t)) for t in catalog.types()), default=1)
    most_lines = max(16, BATCH_BYTES // 4 // widest)
    reader = _Reader(catalog, limits)
    first = 1
    unflushed = 0
    for block in read_chunks(source, limits, CHUNK_BYTES, on_progress):
        for chunk in cut(block, first, LINE_CHUNK_BYTES, most_lines):
            if sum(map(len, chunk.lines)) > limits.line_bytes:
                check_lines(chunk, limits)
            for rows in reader.read(chunk):
                yield from reader.add(rows)
        first += block.count(b"\n")
        unflushed += len(block)
        if unflushed >= CHUNK_BYTES // 2:  # a source may give less at a time than was asked for
            yield from reader.flush()
            unflushed = 0
    yield from reader.flush()


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Decoded records hold no cycles; looking for some halves the speed."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@dataclass
class _Reader:
    """Reads chunks and gathers the rows of each type until a batch is due."""

    catalog: Catalog
    limits: Limits
    records: int = 0
    pending: dict[str, list[TypedBatch]] = field(default_factory=lambda: defaultdict(list))
    pending_bytes: int = 0

    @_garbage_collection_paused()
    def read(self, chunk: LineChunk) -> list[TypedBatch]:
        try:
            batches, records = _read_fast(chunk.lines, self.catalog, self.limits)
        except NeedsExactReading:
            if len(chunk.lines) > _SMALL:
                return [batch for part in _parts(chunk) for batch in self.read(part)]
            batches, records = _read_exact(chunk, self.catalog, self.limits)
        self.records += records
        if self.limits.records is not None and self.records > self.limits.records:
            raise ResourceLimit("records", self.limits.records, self.records)
        return batches

    def add(self, rows: TypedBatch) -> Iterator[TypedBatch]:
        self.pending[rows.type.table_key].append(rows)
        self.pending_bytes += rows.batch.nbytes
        if self.pending_bytes > BATCH_BYTES:
            yield from self.flush()

    def flush(self) -> Iterator[TypedBatch]:
        for parts in self.pending.values():
            whole = pa.concat_batches([part.batch for part in parts])
            yield TypedBatch(parts[0].type, whole, all(part.generated_ids for part in parts))
        self.pending.clear()
        self.pending_bytes = 0


def _parts(chunk: LineChunk) -> Iterator[LineChunk]:
    size = max(_SMALL, -(-len(chunk.lines) // _PARTS))
    for low in range(0, len(chunk.lines), size):
        yield LineChunk(chunk.first + low, chunk.lines[low : low + size])


# --------------------------------------------------------------------------- the fast reading


def _read_fast(
    lines: list[bytes], catalog: Catalog, limits: Limits
) -> tuple[list[TypedBatch], int]:
    """The batches of some lines and their number of records, or `NeedsExactReading`."""
    if limits.depth < 3:  # a list in data in an envelope: nothing that is accepted is deeper
        raise NeedsExactReading
    records = _decoded(lines)
    if not records:
        return [], 0
    if set(map(type, records)) != {dict}:
        raise NeedsExactReading
    batches, members = [], 0
    for type_, group in _grouped(records, catalog):
        batch, found = _fast_batch(type_, group)
        batches.append(batch)
        members += found
    _prove_no_repeats(lines, records, members)
    return batches, len(records)


def _decoded(lines: list[bytes]) -> list[Object]:
    try:
        try:
            return list(map(orjson.loads, lines))
        except orjson.JSONDecodeError:
            return list(map(orjson.loads, filter(_not_blank, lines)))
    except orjson.JSONDecodeError:
        raise NeedsExactReading from None


def _not_blank(line: bytes) -> bytes:
    return line.strip(BLANKS)


def _grouped(records: list[Object], catalog: Catalog) -> Iterable[tuple[EntityType, list[Object]]]:
    """The records of each type in input order; None as a name means: not there."""
    heads: list[Any] = [record.get("type") for record in records]
    try:
        names = set(heads)
        types: dict[Any, EntityType] = {n: catalog.node(n) for n in names if n is not None}
        if None in names:
            heads = [
                ("edge", record.get("edge")) if head is None else head
                for head, record in zip(heads, records, strict=True)
            ]
            types |= {head: catalog.edge(head[1]) for head in set(heads) - names}
    except (NotFound, TypeError, AttributeError):  # unknown, or not a text
        raise NeedsExactReading from None
    if len(types) == 1:
        return [(type_, records) for type_ in types.values()]
    groups: dict[str, tuple[EntityType, list[Object]]] = {}
    lists = {}
    for head, type_ in types.items():  # several spellings of an edge share one list
        lists[head] = groups.setdefault(type_.table_key, (type_, []))[1]
    for head, record in zip(heads, records, strict=True):
        lists[head].append(record)
    return groups.values()


def _fast_batch(type_: EntityType, records: list[Object]) -> tuple[TypedBatch, int]:
    """The batch of one type and the number of members in its records."""
    data: list[Any] = [record.get("data") for record in records]
    kinds = set(map(type, data))
    with_data = len(records)
    if kinds != {dict}:
        if not kinds <= {dict, type(None)}:
            raise NeedsExactReading
        with_data -= data.count(None)
        data = [d or {} for d in data]
    members = len(records) + with_data
    ends: list[list[Any]] = []
    if isinstance(type_, EdgeType):
        ends = [[record.get(end) for record in records] for end in ("from", "to")]
        members += 2 * len(records)
        if any(set(map(type, end)) != {str} for end in ends):
            raise NeedsExactReading
    # Every member counted is there, so an equal sum leaves room for no other.
    if sum(map(len, records)) != members:
        raise NeedsExactReading
    try:
        return _batch(type_, data, ends), members + sum(map(len, data))
    except IdMismatch:
        raise NeedsExactReading from None


def _prove_no_repeats(lines: list[bytes], records: list[Object], members: int) -> None:
    """No object repeats a member: the text has no more members than were decoded.

    Every member has a colon, and before it the quote that ends its name. Texts may hold colons
    and even quotes before colons, so the counts are upper bounds; they are made finer only as
    far as needed, and the lines that remain are decoded again.
    """
    text = b"\n".join(lines)
    if text.count(b":") == members or _most_members(text) == members:
        return
    for line, record in zip(filter(_not_blank, lines), records, strict=True):
        decoded = len(record) + len(record.get("data", ()))
        if _most_members(line) != decoded and repeated_member(line.decode()) is not None:
            raise NeedsExactReading


def _most_members(text: bytes) -> int:
    if b" :" in text or b"\t:" in text or b"\r:" in text:
        return len(_NAME_END.findall(text))
    return text.count(b'":')


# --------------------------------------------------------------------------- the exact reading


def _read_exact(chunk: LineChunk, catalog: Catalog, limits: Limits) -> tuple[list[TypedBatch], int]:
    records: list[Record] = []
    problem: OmniGraphError | None = None
    try:
        for number, line in enumerate(chunk.lines, chunk.first):
            if _not_blank(line):
                records.append(read_record(line, number, catalog, limits))  # noqa: PERF401
    except (LoadError, ResourceLimit) as error:
        problem = error  # an earlier line may still have a wrong id
    groups: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        groups[record.type.table_key].append(record)
    batches, mismatches = [], []
    for group in groups.values():
        try:
            batches.append(_exact_batch(group))
        except LoadError as error:
            mismatches.append(error)
    if mismatches:
        raise min(mismatches, key=lambda error: error.line or 0)
    if problem is not None:
        raise problem
    return batches, len(records)


def _exact_batch(records: list[Record]) -> TypedBatch:
    type_ = records[0].type
    ends = [[r.src for r in records], [r.dst for r in records]]
    try:
        return _batch(type_, [r.data for r in records], ends)
    except IdMismatch as error:
        line = records[error.row].line
        raise LoadError(
            "id_mismatch", str(error), line=line, type_name=type_.name, field="id"
        ) from None


# --------------------------------------------------------------------------- both


def _batch(type_: EntityType, data: list[Object], ends: Sequence[list[Any]]) -> TypedBatch:
    """The batch of decoded `data` objects; `NeedsExactReading` or IdMismatch if one is wrong."""
    columns: dict[str, pa.Array] = {}
    for prop in type_.properties:
        if prop.name in RESERVED:  # declared by a schema, but never loadable
            column = pa.nulls(len(data), arrow_type(prop.type))
        else:
            name = prop.name
            column = json_column([d.get(name) for d in data], prop.type)
        if column.null_count and not prop.nullable:
            raise NeedsExactReading
        columns[prop.name] = column
    given = None
    if sum(map(len, data)) != sum(len(data) - column.null_count for column in columns.values()):
        given = _given_ids(data)  # there are members that did not become a value
        _prove_known(data, columns)
    arrays = [pa.array(end, pa.utf8()) for end in ends] if isinstance(type_, EdgeType) else []
    return typed_batch(type_, given, arrays, columns, len(data))


def _given_ids(data: list[Object]) -> pa.Array | None:
    given = [d.get("id") for d in data]
    kinds = set(map(type, given))
    if kinds == {type(None)}:
        return None
    if not kinds <= {str, type(None)}:
        raise NeedsExactReading
    return pa.array(given, pa.utf8())


def _prove_known(data: list[Object], columns: dict[str, pa.Array]) -> None:
    """Every member of `data` is a property or the id, and an id is not null."""
    if not set().union(*data) <= columns.keys() - RESERVED | {"id"}:
        raise NeedsExactReading
    if any("id" in d and d["id"] is None for d in data):
        raise NeedsExactReading
