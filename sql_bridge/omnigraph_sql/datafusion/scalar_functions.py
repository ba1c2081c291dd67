"""Scalar functions that DataFusion lacks, over whole Arrow arrays."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datafusion import SessionContext, udf

from omnigraph.errors import InvalidInput
from omnigraph_sql.datafusion.error_translation import wrap_for_datafusion

_MICROS = pa.timestamp("us")
_GROUP = re.compile(r"\\.?|\[(?:\\.|[^\]\\])*\]?|\((?!\?)", re.S)
"""A plain group opens; or an escape or a class, in which a parenthesis opens none."""
_DAY_NAMES = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
_UNIT_MICROS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 7 * 86_400_000_000,
}


def _constant(array: pa.Array) -> str:
    """The value of an argument that is a literal, the same in every row."""
    return str(array[0].as_py()) if len(array) else "day"


def _months(array: pa.Array) -> pa.Array:
    return pc.add(pc.multiply(pc.year(array), 12), pc.month(array))


def boundaries(unit: pa.Array, start: pa.Array, end: pa.Array) -> pa.Array:
    """How many boundaries of a unit lie between two instants: what DATEDIFF counts."""
    name = _constant(unit)
    if name == "month":
        count = pc.subtract(_months(end), _months(start))
    elif name in ("decade", "century"):
        years = 10 if name == "decade" else 100
        count = pc.subtract(pc.divide(pc.year(end), years), pc.divide(pc.year(start), years))
    else:
        count = pc.call_function(f"{name}s_between", [start, end])
    return count.cast(pa.int64())


def elapsed(unit: pa.Array, start: pa.Array, end: pa.Array) -> pa.Array:
    """How many whole units have passed between two instants."""
    name = _constant(unit)
    if name in _UNIT_MICROS:
        passed = pc.subtract(end.cast(pa.int64()), start.cast(pa.int64()))
        return pc.divide(passed, _UNIT_MICROS[name])
    months = pc.subtract(_months(end), _months(start))
    within = pc.subtract(_in_month(end), _in_month(start))
    early = pc.and_(pc.greater(months, 0), pc.less(within, 0)).cast(pa.int64())
    late = pc.and_(pc.less(months, 0), pc.greater(within, 0)).cast(pa.int64())
    whole = pc.add(pc.subtract(months, early), late)
    return pc.divide(whole, {"month": 1, "quarter": 3, "year": 12}[name]).cast(pa.int64())


def _in_month(array: pa.Array) -> pa.Array:
    start = pc.floor_temporal(array, unit="month")
    return pc.subtract(array.cast(pa.int64()), start.cast(pa.int64()))


def interval_of(months: pa.Array, days: pa.Array, nanos: pa.Array) -> pa.Array:
    """Intervals from their three parts."""
    parts = np.zeros(len(months), dtype=[("m", "<i4"), ("d", "<i4"), ("n", "<i8")])
    valid = pc.and_(pc.and_(pc.is_valid(months), pc.is_valid(days)), pc.is_valid(nanos))
    for name, array in (("m", months), ("d", days), ("n", nanos)):
        parts[name] = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
    bits = np.packbits(valid.to_numpy(zero_copy_only=False), bitorder="little")
    buffers = [pa.py_buffer(bits.tobytes()), pa.py_buffer(parts.tobytes())]
    return pa.Array.from_buffers(pa.month_day_nano_interval(), len(months), buffers)


def last_day(dates: pa.Array) -> pa.Array:
    """The last day of each date's month."""
    next_month = pc.ceil_temporal(dates, unit="month", ceil_is_strictly_greater=True)
    days = next_month.cast(pa.date32()).cast(pa.int32())
    return pc.subtract(days, pa.scalar(1, pa.int32())).cast(pa.date32())


def month_name(dates: pa.Array) -> pa.Array:
    """Jan, Feb, …"""
    return pc.strftime(dates.cast(_MICROS), format="%b")


def day_name(dates: pa.Array) -> pa.Array:
    """Mon, Tue, …"""
    return pa.array(_DAY_NAMES).take(pc.day_of_week(dates))


def hash_of(texts: pa.Array) -> pa.Array:
    """A stable 64-bit number of each text; null has one, too."""
    encoded = texts.dictionary_encode()
    numbers = [
        int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)
        for text in encoded.dictionary.to_pylist()
    ]
    return pc.fill_null(pa.array(numbers, pa.int64()).take(encoded.indices), 0)


def regexp_extract(texts: pa.Array, pattern: pa.Array, group: pa.Array) -> pa.Array:
    """One group of the first match of a pattern; null where nothing matches."""
    number = int(group[0].as_py()) if len(group) else 0
    regex = _constant(pattern) if len(pattern) else ""
    named, names = _named_groups(f"({regex})")
    groups = pc.extract_regex(texts, named)
    return groups.field(names[number]) if number < len(names) else pa.nulls(len(texts), pa.string())


def _named_groups(pattern: str) -> tuple[str, list[str]]:
    """A pattern whose plain groups have names, which is how Arrow gives them out."""
    names: list[str] = []

    def named(token: re.Match[str]) -> str:
        if token[0] != "(":
            return token[0]
        names.append(f"g{len(names)}")
        return f"(?P<{names[-1]}>"

    return _GROUP.sub(named, pattern), names


def single_row(counts: pa.Array) -> pa.Array:
    """True for every row for which a scalar subquery gave at most one; else it is an error."""
    if pc.any(pc.greater(counts, 1)).as_py():
        raise wrap_for_datafusion(
            InvalidInput(
                "a scalar subquery gives several rows",
                hint="Aggregate it, or add LIMIT 1.",
            )
        )
    return pa.repeat(pa.scalar(True), len(counts))


def register_functions(context: SessionContext) -> None:
    """Register the functions of this module under their names."""
    text, number, date = pa.string(), pa.int64(), pa.date32()
    signatures: list[tuple[Callable[..., pa.Array], list[pa.DataType], pa.DataType]] = [
        (boundaries, [text, _MICROS, _MICROS], number),
        (elapsed, [text, _MICROS, _MICROS], number),
        (interval_of, [number, number, number], pa.month_day_nano_interval()),
        (last_day, [date], date),
        (month_name, [date], text),
        (day_name, [date], text),
        (hash_of, [text], number),
        (single_row, [number], pa.bool_()),
        (regexp_extract, [text, text, number], text),
    ]
    for function, takes, gives in signatures:
        context.register_udf(udf(function, takes, gives, "immutable", function.__name__))
