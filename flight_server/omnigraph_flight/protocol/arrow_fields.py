"""Arrow schemas of answers, written as text."""

from __future__ import annotations

import pyarrow as pa

_TYPES = {
    "utf8": pa.string(),
    "bool": pa.bool_(),
    "int32": pa.int32(),
    "uint8": pa.uint8(),
    "bytes": pa.binary(),
    "utf8[]": pa.list_(pa.field("item", pa.string(), nullable=False)),
}


def flat_schema(fields: str) -> pa.Schema:
    """`name: type` separated by commas; a `!` after the type says that it has no nulls."""
    parts = [part.strip().split(": ") for part in fields.split(",")]
    return pa.schema(
        pa.field(name, _TYPES[type_.rstrip("!")], nullable=not type_.endswith("!"))
        for name, type_ in parts
    )
