"""Files of statements and the rows they give.

A case is the word `query` and options, the statement, `----`, and the rows with tabs between
values, up to an empty line. Options: `dialect=<name>` is how the statement is spelled; `ours` says
that duckdb does not have the statement, or means something else by it. Every other case is run by
duckdb as well, on the same rows. Rows of statements without ORDER BY are sorted.

`python tests/sql/logic_files.py` writes what duckdb gives into cases that have no rows yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "logic"


@dataclass(frozen=True)
class Case:
    """One statement and the rows it gives."""

    file: str
    line: int
    sql: str
    expected: tuple[str, ...] | None
    dialect: str = "postgres"
    ours: bool = False

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def ordered(self) -> bool:
        return "order by" in self.sql.lower().rsplit(")", 1)[-1]

    def shown(self, rows: Iterable[Sequence[Any]]) -> tuple[str, ...]:
        """Rows as the file has them."""
        lines = ["\t".join(map(text_of, row)) for row in rows]
        return tuple(lines if self.ordered else sorted(lines))


def text_of(value: Any) -> str:  # noqa: ANN401
    """A value as the files write it: numbers by value, instants in UTC."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float() | Decimal():
            text = f"{value:.6f}"
            text = text.rstrip("0").rstrip(".") if "." in text else text
            return "0" if text == "-0" else text
        case datetime():
            return value.replace(tzinfo=None).isoformat(" ")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return f"{value.total_seconds():.0f}s"
        case bytes():
            return value.hex()
        case list() | tuple():
            return f"[{', '.join(map(text_of, value))}]"
        case dict():
            return "{" + ", ".join(f"{k}: {text_of(v)}" for k, v in value.items()) + "}"
    return str(value) if str(value) else "(empty)"


def cases(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    lines = path.read_text("utf-8").split("\n")
    place = 0
    while place < len(lines):
        if not lines[place].startswith("query"):
            place += 1
            continue
        options = lines[place].split()[1:]
        start = place
        place += 1
        sql: list[str] = []
        while place < len(lines) and lines[place] not in ("----", ""):
            sql.append(lines[place])
            place += 1
        expected: list[str] | None = None
        if place < len(lines) and lines[place] == "----":
            expected = []
            place += 1
            while place < len(lines) and lines[place]:
                expected.append(lines[place])
                place += 1
        dialect = next((o.removeprefix("dialect=") for o in options if "=" in o), "postgres")
        case = Case(path.name, start + 1, "\n".join(sql), None, dialect, "ours" in options)
        yield replace(case, expected=None if expected is None else tuple(expected))


def every_case() -> list[Case]:
    """The cases of all files."""
    return [case for path in sorted(FOLDER.glob("*.test")) for case in cases(path)]


def _fill(path: Path, database: Any) -> None:  # noqa: ANN401
    """Write duckdb's rows into cases that have none."""
    lines = path.read_text("utf-8").rstrip("\n").split("\n")
    for case in sorted(cases(path), key=lambda case: -case.line):
        if case.expected is None and not case.ours:
            rows = case.shown(database.execute(case.sql).fetchall())
            end = case.line + case.sql.count("\n") + 1
            lines[end:end] = ["----", *rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    from sql.logic_data import logic_duckdb

    for found in sorted(FOLDER.glob("*.test")):
        _fill(found, logic_duckdb())
