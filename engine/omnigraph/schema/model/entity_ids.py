"""Ids: the one routine that turns stored key values into id text, and fresh ULIDs.

Loading, mutation and uniqueness checks all come here, so they cannot disagree
(docs/design/schema-language.md#5-keys-and-ids).
Everything works on whole Arrow columns; only floats that Arrow prints with an exponent are
formatted one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.arrow_to_json import escaped
from omnigraph.errors import InvalidInput
from omnigraph.schema.model.arrow_schema import arrow_type, exact_values
from omnigraph.schema.model.catalog import NodeType
from omnigraph.schema.model.property_types import PropertyType, Scalar

ArrowColumn: TypeAlias = pa.Array | pa.ChunkedArray


def key_text(array: ArrowColumn, type_: PropertyType) -> pa.StringArray:
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


def derive_ids(node_type: NodeType, columns: Mapping[str, ArrowColumn]) -> pa.StringArray:
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
        escaped(text) if member.type.is_text else text
        for text, member in zip(texts, members, strict=True)
    ]
    return _json_array(quoted)


def ids_of_keys(node_type: NodeType, values: Sequence[Any]) -> Sequence[str]:
    """The ids of the nodes whose key, of one member, equals one of the values."""
    assert node_type.key is not None
    (name,) = node_type.key.members
    type_ = node_type.property(name).type
    if type_.is_text:
        return values
    stored = exact_values(values, arrow_type(type_))
    if type_.is_integer:
        return [str(value) for value in stored]
    texts: list[str] = key_text(pa.array(stored, arrow_type(type_)), type_).to_pylist()
    return texts


def tuple_text(texts: list[pa.StringArray]) -> pa.StringArray:
    """One text per row that is equal exactly when all members are; null when any is null."""
    return texts[0] if len(texts) == 1 else _json_array([escaped(t) for t in texts])


def _stored(array: ArrowColumn, type_: PropertyType) -> pa.Array:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # several chunks remain only past 2 GiB of text
        raise InvalidInput("a batch holds more than 2 GiB of key text; use smaller batches")
    target = arrow_type(type_)
    return array if array.type == target else array.cast(target)


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


def _json_array(escaped: list[pa.StringArray]) -> pa.StringArray:
    joined = pc.binary_join_element_wise(*escaped, '","')
    return pc.binary_join_element_wise('["', joined, '"]', "")
