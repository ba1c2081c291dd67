"""Tables on a terminal, which are also Markdown."""

from __future__ import annotations

from collections.abc import Sequence

Cell = str | int | float | None


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Print a table; numbers stand to the right."""
    texts = [[cell_text(cell) for cell in row] for row in rows]
    widths = [
        max([len(name), *(len(row[i]) for row in texts)], default=0)
        for i, name in enumerate(columns)
    ]
    numeric = [
        all(isinstance(row[i], int | float | None) for row in rows) for i in range(len(columns))
    ]
    print(f"\n### {title}\n")
    print(_line(columns, widths, numeric))
    rules = ("-" * (w - 1) + ":" if n else "-" * w for w, n in zip(widths, numeric, strict=True))
    print(f"| {' | '.join(rules)} |")
    for row in texts:
        print(_line(row, widths, numeric))


def cell_text(cell: Cell) -> str:
    """A number with as many digits as mean something."""
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def ratio(value: float | None, base: float | None) -> str | None:
    """How many times the base a value is."""
    return f"{value / base:.1f}x" if value is not None and base else None


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    )
    return f"| {' | '.join(padded)} |"
