"""Arrow columns as JSON text, one text per row, without going through Python values.

Dates and instants are integers, Blobs base64, as loading reads them back
(docs/design/loading.md#8-export).
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.json_values import BLOB_PREFIX

_NULL = pa.scalar("null")
_EMPTY = pa.scalar("")

# What JSON does not allow inside a string as it is.
_SPECIAL = np.zeros(256, bool)
_SPECIAL[:0x20] = True
_SPECIAL[[ord('"'), ord("\\")]] = True

_ESCAPES = [(c, json.dumps(c)[1:-1]) for c in ("\\", '"', *map(chr, range(0x20)))]
"""The backslash first: the others add backslashes."""


def json_texts(column: pa.Array) -> pa.Array:
    """The JSON text of every value; `null` for null."""
    texts = _texts(column)
    return texts.fill_null(_NULL) if texts.null_count else texts


def escaped(texts: pa.Array) -> pa.Array:
    """The inside of the JSON string of every text; non-ASCII stays as it is."""
    present = _present_specials(texts)
    for character, escape in _ESCAPES:
        if ord(character) in present:
            texts = pc.replace_substring(texts, character, escape)
    return texts


def _present_specials(texts: pa.Array) -> set[int]:
    data = texts.buffers()[2]
    if data is None or len(texts) == 0:
        return set()
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :]
    used = np.frombuffer(data, np.uint8)[offsets[0] : offsets[len(texts)]]
    found = used[_SPECIAL[used]]
    return set(np.unique(found).tolist())


def _texts(column: pa.Array) -> pa.Array:
    """Texts with null where the value is null."""
    type_ = column.type
    if pa.types.is_string(type_):
        return _joined('"', escaped(column), '"')
    if pa.types.is_floating(type_):
        return _float_texts(column)
    if pa.types.is_date32(type_):
        return column.cast(pa.int32()).cast(pa.utf8())
    if pa.types.is_timestamp(type_):
        return column.cast(pa.int64()).cast(pa.utf8())
    if pa.types.is_large_binary(type_):
        return _blob_texts(column)
    if pa.types.is_fixed_size_list(type_):
        return _vector_texts(column)
    if pa.types.is_list(type_):
        return _list_texts(column)
    return column.cast(pa.utf8())


def _joined(*parts: Any) -> pa.Array:  # noqa: ANN401
    return pc.binary_join_element_wise(*parts, _EMPTY)


def _float_texts(column: pa.Array) -> pa.Array:
    """Shortest digits that read back at the stored width, and always a float: 2.0, not 2."""
    texts = column.cast(pa.utf8())
    whole = pc.match_substring_regex(texts, "^-?[0-9]+$")
    if not pc.any(whole).as_py():
        return texts
    return pc.if_else(whole, _joined(texts, ".0"), texts)


def _blob_texts(column: pa.Array) -> pa.Array:
    encoded = [None if b is None else b64encode(b).decode() for b in column.to_pylist()]
    return _joined(f'"{BLOB_PREFIX}', pa.array(encoded, pa.utf8()), '"')


def _list_texts(column: pa.Array) -> pa.Array:
    lengths = pc.list_value_length(column).fill_null(0).to_numpy()
    offsets = np.zeros(len(column) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    missing = column.is_null() if column.null_count else None
    elements = json_texts(column.flatten())
    lists = pa.ListArray.from_arrays(pa.array(offsets), elements, mask=missing)
    return _joined("[", pc.binary_join(lists, ","), "]")


def _vector_texts(column: pa.Array) -> pa.Array:
    numbers = column.flatten().to_numpy(zero_copy_only=False)
    vectors = numbers.reshape(-1, column.type.list_size)
    if len(vectors) == 0:
        return pa.nulls(len(column), pa.utf8())
    # orjson prints float32 twice as fast as Arrow, and with the same digits.
    whole = orjson.dumps(np.ascontiguousarray(vectors), option=orjson.OPT_SERIALIZE_NUMPY)
    inner = whole[2:-2].decode().split("],[")
    texts = _joined("[", pa.array(inner, pa.utf8()), "]")
    if not column.null_count:
        return texts
    present = column.is_valid().to_numpy(zero_copy_only=False)
    positions = pa.array(np.cumsum(present) - 1, mask=~present)
    return texts.take(positions)
