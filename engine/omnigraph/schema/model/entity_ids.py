"""Ids: the one routine that turns stored key values into id text, and fresh ULIDs.

Loading, mutation and uniqueness checks all come here, so they cannot disagree (section 5).
Everything works on whole Arrow columns; only floats that Arrow prints with an exponent are
formatted one by one.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import InvalidInput
from omnigraph.schema.model.arrow_schema import arrow_type
from omnigraph.schema.model.catalog import NodeType
from omnigraph.schema.model.property_types import PropertyType, Scalar

Column: TypeAlias = pa.Array | pa.ChunkedArray


def key_text(array: Column, type_: PropertyType) -> pa.StringArray:
    """The key text of every value; null stays null."""
    if not type_.has_key_text:
        raise InvalidInput(f"a value of type {type_} has no key text")
    values = _stored(array, type_)
    if type_.is_text:
        return values
    if type_.scalar is Scalar.DATE:
        values = values.cast(pa.int32())
    elif type_.scalar is Scalar.DATETIME:
        values = values.cast(pa.int64())
    elif type_.is_float:
        return _float_text(values)
    return values.cast(pa.utf8())


def derive_ids(node_type: NodeType, columns: Mapping[str, Column]) -> pa.StringArray:
    """The ids of rows of a keyed node type, from the columns of its key members."""
    if node_type.key is None:
        raise InvalidInput(f"{node_type.name} has no key; its ids are ULIDs")
    members = [node_type.property(name) for name in node_type.key.members]
    for member in members:
        if columns[member.name].null_count:
            raise InvalidInput(f"{node_type.name}.{member.name} is part of the key and is null")
    texts = [key_text(columns[member.name], member.type) for member in members]
    if len(texts) == 1:
        return texts[0]
    quoted = [
        _json_escaped(text) if member.type.is_text else text
        for text, member in zip(texts, members, strict=True)
    ]
    return _json_array(quoted)


def tuple_text(texts: list[pa.StringArray]) -> pa.StringArray:
    """One text per row that is equal exactly when all members are; null when any is null."""
    return texts[0] if len(texts) == 1 else _json_array([_json_escaped(t) for t in texts])


def _stored(array: Column, type_: PropertyType) -> pa.Array:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # several chunks remain only past 2 GiB of text
        raise InvalidInput("a batch holds more than 2 GiB of key text; use smaller batches")
    target = arrow_type(type_)
    return array if array.type == target else array.cast(target)


# --------------------------------------------------------------------------- floats


def _float_text(values: pa.Array) -> pa.StringArray:
    if pc.any(pc.invert(pc.is_finite(values))).as_py():
        raise InvalidInput("a key value is NaN or infinite")
    # Arrow prints the shortest digits that read back; adding zero turns -0 into 0.
    text = pc.add(values, pa.scalar(0, values.type)).cast(pa.utf8())
    exponents = pc.match_substring(text, "e")
    if not pc.any(exponents).as_py():
        return text
    numbers = values.filter(exponents).to_numpy(zero_copy_only=False)
    plain = [np.format_float_positional(number, unique=True, trim="-") for number in numbers]
    return pc.replace_with_mask(text, pc.fill_null(exponents, False), pa.array(plain, pa.utf8()))


# --------------------------------------------------------------------------- JSON arrays

_NAMED_ESCAPES = {'"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def _json_escaped(text: pa.StringArray) -> pa.StringArray:
    """The inside of the JSON string of every value, as json.dumps writes it."""
    if not _found(text, r'[\x00-\x1f"\\]'):
        return text
    text = pc.replace_substring(text, "\\", "\\\\")  # first: the others add backslashes
    for character, escape in _NAMED_ESCAPES.items():
        text = pc.replace_substring(text, character, escape)
    if _found(text, r"[\x00-\x1f]"):
        for code in range(0x20):
            text = pc.replace_substring(text, chr(code), f"\\u{code:04x}")
    return text


def _found(text: pa.StringArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(text, pattern)).as_py())


def _json_array(escaped: list[pa.StringArray]) -> pa.StringArray:
    joined = pc.binary_join_element_wise(*escaped, '","')
    return pc.binary_join_element_wise('["', joined, '"]', "")


# --------------------------------------------------------------------------- ULIDs

_CROCKFORD = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", dtype=np.uint8)
_PAIRS = np.stack([_CROCKFORD.repeat(32), np.tile(_CROCKFORD, 32)], axis=1).view(np.uint16).ravel()
"""Ten bits as two characters."""
_MAX_BATCH = (2**31 - 1) // 26  # what 32-bit offsets can address


class _UlidClock:
    """Deals ranges of 128-bit numbers that only ever grow within a process.

    The lock protects `_next`: the smallest number not handed out yet.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self._lock = threading.Lock()
        self._next = 0

    def take(self, count: int) -> int:
        """The first of `count` consecutive numbers."""
        # The top random bit stays 0, so counting on cannot run into the next millisecond.
        fresh = (time.time_ns() // 1_000_000 << 80) | int.from_bytes(os.urandom(10)) >> 1
        with self._lock:
            # Within one millisecond, or when the clock went back, go on from the last one.
            same = fresh >> 80 <= (self._next - 1) >> 80 and self._next > 0
            first = self._next if same else fresh
            self._next = first + count
        return first


_clock = _UlidClock()
# A forked child would otherwise deal the same numbers as its parent.
os.register_at_fork(after_in_child=_clock.restart)


def new_ulids(n: int) -> pa.StringArray:
    """`n` ULIDs, each greater than the one before and than all this process made earlier."""
    if n > _MAX_BATCH:
        raise InvalidInput(f"at most {_MAX_BATCH} ids at a time, not {n}")
    first = _clock.take(n)
    text = np.empty((n, 13), dtype=np.uint16)
    # 40 bits are eight characters, and fit a 64-bit lane with room for the carry.
    low = np.uint64(first & (2**40 - 1)) + np.arange(n, dtype=np.uint64)
    middle = np.uint64(first >> 40 & (2**40 - 1)) + (low >> np.uint64(40))
    high = np.uint64(first >> 80) + (middle >> np.uint64(40))
    for numbers, left, right in ((high, 0, 5), (middle, 5, 9), (low, 9, 13)):
        # They only grow: where the last is the first, all are.
        lane = numbers[:1] if n and numbers[0] == numbers[-1] else numbers
        for place, column in enumerate(reversed(range(left, right))):
            text[:, column] = _PAIRS[(lane >> np.uint64(10 * place)) & np.uint64(1023)]
    offsets = np.arange(n + 1, dtype=np.int32) * np.int32(26)
    return pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(text))


def new_ulid() -> str:
    return str(new_ulids(1)[0].as_py())
