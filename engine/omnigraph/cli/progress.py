"""Progress on stderr, where a person is watching it; stdout stays free for pipes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

Unit = Literal["bytes", "rows", "steps", "nothing"]
"""What progress is counted in; with `nothing` one only sees that the work goes on."""
Advance = Callable[..., None]
"""Called with how much is done and, where it is known only then, with the total."""


@contextmanager
def progress(
    what: str, *, total: int | None = None, unit: Unit = "nothing", hidden: bool = False
) -> Iterator[Advance | None]:
    """Show how far the work of the block is; nothing is shown, or given, without a terminal."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    columns = _columns(unit)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)

        def advance(done: int, of: int | None = None) -> None:
            bar.update(task, completed=done, total=total if of is None else of)

        yield advance


def _columns(unit: Unit) -> list[ProgressColumn]:
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TransferSpeedColumn,
    )

    start = [SpinnerColumn(), TextColumn("{task.description}", markup=False)]
    amount: dict[Unit, list[ProgressColumn]] = {
        "bytes": [BarColumn(), DownloadColumn(), TransferSpeedColumn()],
        "rows": [TextColumn("{task.completed:,.0f} rows")],
        "steps": [BarColumn(), MofNCompleteColumn()],
        "nothing": [],
    }
    return [*start, *amount[unit], TimeElapsedColumn()]
