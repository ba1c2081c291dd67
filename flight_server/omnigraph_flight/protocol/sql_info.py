"""GetSqlInfo: a value for every code that ODBC and JDBC drivers ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pyarrow as pa


class Ordinal(int):
    """A member of an enum, sent as a 32-bit number; a tuple of members is sent as a bit mask."""


_TEXT, _BOOL, _BIGINT, _INT32, _TEXTS, _MAP = range(6)
_CHILDREN = (
    pa.field("string_value", pa.string(), nullable=False),
    pa.field("bool_value", pa.bool_(), nullable=False),
    pa.field("bigint_value", pa.int64(), nullable=False),
    pa.field("int32_bitmask", pa.int32(), nullable=False),
    pa.field("string_list", pa.list_(pa.field("string_data", pa.string())), nullable=False),
    pa.field(
        "int32_to_int32_list_map",
        pa.map_(pa.int32(), pa.list_(pa.field("$data$", pa.int32()))),
        nullable=False,
    ),
)
SCHEMA = pa.schema(
    [
        pa.field("info_name", pa.uint32(), nullable=False),
        pa.field("value", pa.dense_union(list(_CHILDREN)), nullable=False),
    ]
)


def _words(text: str) -> list[str]:
    return text.split()


_KEYWORDS = _words(
    """
    BRANCH CATALOG EDGE ILIKE LIMIT MERGE NODE OFFSET QUALIFY SAVEPOINT SHOW TABLESAMPLE TAG
    USE
    """
)
_NUMERIC = _words(
    """
    ABS ACOS ASIN ATAN ATAN2 CEILING COS COT DEGREES EXP FLOOR LOG LOG10 MOD PI POWER
    RADIANS RAND ROUND SIGN SIN SQRT TAN TRUNCATE
    """
)
_STRING = _words(
    """
    ASCII CHAR CHAR_LENGTH CHARACTER_LENGTH CONCAT LCASE LEFT LENGTH LOCATE LTRIM
    OCTET_LENGTH POSITION REPEAT REPLACE RIGHT RTRIM SUBSTRING UCASE
    """
)
_SYSTEM = ["IFNULL", "USER"]
_DATETIME = _words(
    """
    CURDATE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP EXTRACT HOUR MINUTE MONTH NOW
    QUARTER SECOND TIMESTAMPADD TIMESTAMPDIFF YEAR
    """
)

# Members of SqlSupportsConvert.
_BINARY, _CHAR, _DATE, _TIMESTAMP, _VARBINARY, _VARCHAR = 1, 3, 4, 16, 18, 19
_NUMBERS = (0, 5, 6, 7, 12, 13, 14, 17)
_CONVERSIONS: dict[int, list[int]] = {
    **dict.fromkeys(_NUMBERS, sorted((*_NUMBERS, _CHAR, _VARCHAR))),
    **dict.fromkeys((_CHAR, _VARCHAR), sorted((*_NUMBERS, 2, _CHAR, _DATE, 15, 16, _VARCHAR))),
    2: sorted((*_NUMBERS, 2, _CHAR, _VARCHAR)),
    **dict.fromkeys((_DATE, _TIMESTAMP), [_CHAR, _DATE, _TIMESTAMP, _VARCHAR]),
    **dict.fromkeys((_BINARY, _VARBINARY), [_BINARY, _VARBINARY]),
}


# Codes of features.
_SUPPORTED = (
    *(4, 9, 10, 11, 501, 502, 506, 515, 516, 518, 520, 521, 523, 524),
    *(532, 539, 563, 572, 573, 574),
)
_UNSUPPORTED = (3, 5, 500, 519, 527, 536, 537, 556, 565, 566, 575, 576)


@cache
def _values() -> Mapping[int, Any]:
    try:
        own = version("omnigraph-flight")
    except PackageNotFoundError:
        own = "0"
    return {
        **dict.fromkeys(_SUPPORTED, True),
        **dict.fromkeys(_UNSUPPORTED, False),
        **dict.fromkeys((*range(541, 556), *range(558, 562)), 0),  # no limits on names, columns, …
        **dict.fromkeys((533, 534, 535, 570, 571), ()),
        **dict.fromkeys((522, 526, 540, 567), (0, 1)),
        **dict.fromkeys((6, 7, 514), ""),
        0: "OmniGraph",
        1: own,
        2: pa.__version__,
        8: Ordinal(2),  # transactions and savepoints
        100: Ordinal(0),
        101: Ordinal(0),
        503: Ordinal(1),  # names are found in any case
        504: '"',
        505: Ordinal(1),
        507: Ordinal(0),  # nulls sort high
        508: _KEYWORDS,
        509: _NUMERIC,
        510: _STRING,
        511: _SYSTEM,
        512: _DATETIME,
        513: "\\",
        517: _CONVERSIONS,
        525: (0, 1, 2),
        528: Ordinal(2),  # full outer joins
        529: "schema",
        530: "stored query",
        531: "branch",
        538: (0, 1, 2, 3),
        557: 4 * 1024 * 1024,
        562: Ordinal(3),  # repeatable read: a statement sees one snapshot, a transaction its branch
        564: (3,),
        568: (1,),
        569: (1,),
    }


def sql_info(codes: Sequence[int] = ()) -> pa.Table:
    """The values of those of these codes that are known; of all if none are named."""
    known = _values()
    answered = [code for code in codes if code in known] if codes else sorted(known)
    batch = pa.record_batch(
        [pa.array(answered, pa.uint32()), _union([known[code] for code in answered])], schema=SCHEMA
    )
    return pa.Table.from_batches([batch])


def _union(values: list[Any]) -> pa.Array:
    """A dense union whose children are not nullable, which `UnionArray.from_dense` cannot make."""
    columns: list[list[Any]] = [[] for _ in _CHILDREN]
    kinds, offsets = [], []
    for value in values:
        kind, encoded = _member(value)
        kinds.append(kind)
        offsets.append(len(columns[kind]))
        columns[kind].append(encoded)
    buffers = [
        None,
        pa.py_buffer(np.array(kinds, np.int8)),
        pa.py_buffer(np.array(offsets, np.int32)),
    ]
    children = [
        pa.array(column, field.type) for column, field in zip(columns, _CHILDREN, strict=True)
    ]
    return pa.Array.from_buffers(
        SCHEMA.field("value").type, len(values), buffers, children=children
    )


def _member(value: Any) -> tuple[int, Any]:  # noqa: ANN401
    """The member of the union that a value goes into, and the value as it is sent."""
    if isinstance(value, str):
        return _TEXT, value
    if isinstance(value, bool):
        return _BOOL, value
    if isinstance(value, Ordinal):
        return _INT32, int(value)
    if isinstance(value, int):
        return _BIGINT, value
    if isinstance(value, tuple):
        return _INT32, sum(1 << bit for bit in value)
    if isinstance(value, list):
        return _TEXTS, value
    return _MAP, list(value.items())
