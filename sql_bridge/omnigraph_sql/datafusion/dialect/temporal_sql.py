"""Dates, times and intervals."""

from __future__ import annotations

from sqlglot import exp, generator

from omnigraph.errors import InvalidInput
from omnigraph_sql.datafusion.dialect.expression_writer import ExpressionWriter, template

_UNITS = {
    "yyyy": "year", "yy": "year", "y": "year", "years": "year", "yr": "year",
    "qq": "quarter", "q": "quarter", "quarters": "quarter",
    "mm": "month", "mon": "month", "months": "month", "m": "month",
    "ww": "week", "wk": "week", "weeks": "week", "w": "week", "isoweek": "week",
    "dd": "day", "d": "day", "days": "day", "dy": "day", "dayofyear": "day",
    "hh": "hour", "h": "hour", "hours": "hour", "hr": "hour",
    "mi": "minute", "n": "minute", "minutes": "minute", "min": "minute",
    "ss": "second", "s": "second", "seconds": "second", "sec": "second",
    "ms": "millisecond", "milliseconds": "millisecond",
    "us": "microsecond", "mcs": "microsecond", "microseconds": "microsecond",
}  # fmt: skip
_FIELDS = {
    "dayofweek": "dow", "weekday": "dow", "dw": "dow", "dayofweek_iso": "dow",
    "dayofyear": "doy", "yearofweekiso": "isoyear", "epoch_second": "epoch",
}  # fmt: skip
"""What EXTRACT takes for a field, where it is no unit."""
_DATE_UNITS = frozenset({"year", "quarter", "month", "week", "day"})
_PARTS = {
    "year": (12, 0, 0), "quarter": (3, 0, 0), "month": (1, 0, 0), "decade": (120, 0, 0),
    "century": (1200, 0, 0), "week": (0, 7, 0), "day": (0, 1, 0),
    "hour": (0, 0, 3_600_000_000_000), "minute": (0, 0, 60_000_000_000),
    "second": (0, 0, 1_000_000_000), "millisecond": (0, 0, 1_000_000), "microsecond": (0, 0, 1000),
}  # fmt: skip


def unit_of(expression: exp.Expr, default: str = "day") -> str:
    """The unit of a date function, in its plain name."""
    unit = expression.args.get("unit")
    if unit is None:
        return default
    name = unit.this if isinstance(unit, exp.WeekStart) else unit.name
    name = str(getattr(name, "name", name)).lower()
    return _UNITS.get(name, name)


def times_interval(count: str, unit: str) -> str:
    """An interval of that many units, whatever is counted with."""
    if unit not in _PARTS:
        raise InvalidInput(f"there is no unit of time {unit!r}", hint="Use day, month, hour, …")
    parts = (f"CAST({count} AS BIGINT) * {part}" if part else "0" for part in _PARTS[unit])
    return f"interval_of({', '.join(parts)})"


def _moment(self: generator.Generator, value: exp.Expr) -> str:
    """A moment, which a literal is only when it is cast."""
    written = self.sql(value)
    return f"CAST({written} AS TIMESTAMP(6))" if isinstance(value, exp.Literal) else written


def _added(sign: int) -> ExpressionWriter:
    def write(self: generator.Generator, expression: exp.Expr) -> str:
        unit, count = unit_of(expression), expression.expression
        if isinstance(count, exp.Interval):
            unit, count = unit_of(count), count.this
        moment, number = _moment(self, expression.this), self.sql(count)
        if isinstance(count, exp.Literal) and count.is_string:
            number = count.name
        if unit not in _DATE_UNITS and _is_date(expression.this):
            moment = f"CAST({moment} AS TIMESTAMP(6))"
        interval = times_interval(number, unit)
        return f"({moment} {'+' if sign > 0 else '-'} {interval})"

    return write


def _is_date(expression: exp.Expr) -> bool:
    return isinstance(expression, exp.CurrentDate) or (
        isinstance(expression, exp.Cast) and expression.is_type("date")
    )


def _difference(function: str) -> ExpressionWriter:
    def write(self: generator.Generator, expression: exp.Expr) -> str:
        first, last = expression.this, expression.args.get("unit")
        if isinstance(first, exp.Column) and last is not None and not first.table:
            # The unit stands first, in a dialect where sqlglot takes it for the later date.
            unit, end = _UNITS.get(first.name.lower(), first.name.lower()), self.sql(last)
        else:
            unit, end = unit_of(expression), self.sql(first)
        start = self.sql(expression, "expression")
        return f"{function}('{unit}', CAST({start} AS TIMESTAMP(6)), CAST({end} AS TIMESTAMP(6)))"

    return write


def _truncated(self: generator.Generator, expression: exp.Expr) -> str:
    written = f"date_trunc('{unit_of(expression)}', {_moment(self, expression.this)})"
    return f"CAST({written} AS DATE)" if _is_date(expression.this) else written


def _part(name: str) -> ExpressionWriter:
    return lambda self, expression: f"date_part('{name}', {_moment(self, expression.this)})"


def _extract(self: generator.Generator, expression: exp.Extract) -> str:
    name = expression.this.name.lower()
    value = self.sql(expression, "expression")
    if name == "isodow":
        return f"((date_part('dow', {value}) + 6) % 7 + 1)"
    return f"date_part('{_FIELDS.get(name) or _UNITS.get(name, name)}', {value})"


def _format(expression: exp.Expr) -> str:
    """A format in DataFusion's spelling, which is that of strftime."""
    given = expression.args.get("format")
    text = given.name if given is not None else "%Y-%m-%d %H:%M:%S"
    return "'" + text.replace("strict", "").replace("'", "''") + "'"


def _to_text(self: generator.Generator, expression: exp.TimeToStr) -> str:
    value = expression.this
    moment = (
        self.sql(value, "this") if isinstance(value, exp.TimeStrToTime) else _moment(self, value)
    )
    return f"to_char({moment}, {_format(expression)})"


def _to_date(self: generator.Generator, expression: exp.Expr) -> str:
    value = self.sql(expression, "this")
    if expression.args.get("format") is None:
        return f"CAST({value} AS DATE)"
    return f"to_date({value}, {_format(expression)})"


def _interval(self: generator.Generator, expression: exp.Interval) -> str:
    count, unit = expression.this, expression.args.get("unit")
    if isinstance(unit, exp.Var) and isinstance(count, exp.Literal):
        name = unit_of(expression)
        number = count.name
        if name in _PARTS and number.lstrip("-").isdigit():
            return f"INTERVAL '{number} {name}'"
        return f"INTERVAL '{number} {unit.name}'"
    if unit is not None and count is not None:
        return times_interval(self.sql(count), unit_of(expression))
    if count is not None and not isinstance(count, exp.Literal):
        return f"CAST({self.sql(count)} AS INTERVAL)"
    text = count.name if count is not None else "0 seconds"
    return f"INTERVAL '{text}'"


def _multiplied(self: generator.Generator, expression: exp.Mul) -> str:
    for one, other in (("this", "expression"), ("expression", "this")):
        interval = expression.args[one].unnest()
        if isinstance(interval, exp.Interval) and interval.this is not None:
            unit = unit_of(interval)
            count = interval.this
            if unit in _PARTS and (not count.is_string or count.name.lstrip("-").isdigit()):
                number = count.name if isinstance(count, exp.Literal) else self.sql(count)
                return times_interval(f"({self.sql(expression, other)}) * {number}", unit)
    return self.binary(expression, "*")


DATES: dict[type[exp.Expr], ExpressionWriter] = {
    exp.AddMonths: lambda self, e: (
        f"({self.sql(e, 'this')} + {times_interval(self.sql(e, 'expression'), 'month')})"
    ),
    exp.AtTimeZone: template("({this} AT TIME ZONE {zone})"),
    exp.CurrentDatetime: template("arrow_cast(now(), 'Timestamp(Microsecond, None)')"),
    exp.CurrentTime: template("arrow_cast(current_time(), 'Time64(Microsecond)')"),
    exp.Date: template("CAST({this} AS DATE)"),
    **dict.fromkeys((exp.DateAdd, exp.DatetimeAdd, exp.TimestampAdd, exp.TsOrDsAdd), _added(1)),
    **dict.fromkeys((exp.DateDiff, exp.TsOrDsDiff), _difference("boundaries")),
    exp.DateFromParts: lambda self, e: self.func(
        "make_date", e.args["year"], e.args.get("month"), e.args.get("day")
    ),
    **dict.fromkeys((exp.DateStrToDate, exp.StrToDate, exp.TsOrDsToDate), _to_date),
    **dict.fromkeys((exp.DateSub, exp.DatetimeSub, exp.TimestampSub), _added(-1)),
    **dict.fromkeys((exp.DateTrunc, exp.DatetimeTrunc, exp.TimestampTrunc), _truncated),
    **dict.fromkeys((exp.DatetimeDiff, exp.TimestampDiff), _difference("elapsed")),
    **{
        kind: _part(kind.__name__.lower())
        for kind in (
            *(exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day),
            *(exp.Hour, exp.Minute, exp.Second),
        )
    },
    exp.DayOfMonth: _part("day"),
    exp.DayOfWeek: _part("dow"),
    exp.DayOfYear: _part("doy"),
    exp.WeekOfYear: _part("week"),
    exp.DayOfWeekIso: template("((date_part('dow', {this}) + 6) % 7 + 1)"),
    exp.Dayname: lambda self, e: self.func("day_name", exp.cast(e.this, "date")),
    exp.Extract: _extract,
    exp.Interval: _interval,
    exp.LastDay: lambda self, e: self.func("last_day", exp.cast(e.this, "date")),
    exp.Localtimestamp: template("arrow_cast(now(), 'Timestamp(Microsecond, None)')"),
    exp.Monthname: lambda self, e: self.func("month_name", exp.cast(e.this, "date")),
    exp.MonthsBetween: template(
        "(boundaries('month', CAST({expression} AS TIMESTAMP(6)), CAST({this} AS TIMESTAMP(6))) + "
        "(date_part('day', {this}) - date_part('day', {expression})) / CAST(31 AS DOUBLE))"
    ),
    exp.Mul: _multiplied,
    exp.StrToTime: lambda self, e: f"to_timestamp_micros({self.sql(e, 'this')}, {_format(e)})",
    exp.StrToUnix: template("CAST(date_part('epoch', CAST({this} AS TIMESTAMP(6))) AS BIGINT)"),
    exp.Systimestamp: lambda self, e: self.sql(exp.CurrentTimestamp()),
    exp.TimeToStr: _to_text,
    exp.TimeToUnix: template("date_part('epoch', {this})"),
    **dict.fromkeys(
        (exp.TimeStrToTime, exp.Timestamp, exp.TsOrDsToTimestamp),
        template("CAST({this} AS TIMESTAMP(6))"),
    ),
    exp.UnixToStr: lambda self, e: (
        f"to_char(arrow_cast({self.sql(e, 'this')} * 1000000, 'Timestamp(Microsecond, None)'), "
        f"{_format(e)})"
    ),
    exp.UnixToTime: template(
        "arrow_cast(CAST({this} * 1000000 AS BIGINT), 'Timestamp(Microsecond, Some(\"UTC\"))')"
    ),
}
