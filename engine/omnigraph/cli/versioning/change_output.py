"""Changed entities on stdout: lines of JSON for programs, a table for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation

if TYPE_CHECKING:
    from omnigraph.branching.compare.change_counts import Stats
    from omnigraph.branching.compare.snapshot_diff import PropertyValues

SHOWN_CHANGES = 500
"""As many changes as a terminal shows at once; programs get all of them."""

Options = Callable[[Callable[..., None]], Callable[..., None]]


def filter_options(*kinds: str) -> Options:
    """The options that narrow changes down; a command gets them as its argument `filters`."""

    def repeatable(name: str, what: str, **more: Any) -> Options:  # noqa: ANN401
        help_ = f"Only this {what}; may be repeated."
        return click.option(f"--{name}", f"{name}s", multiple=True, help=help_, **more)

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        @repeatable("kind", "kind", type=click.Choice(kinds))
        @repeatable("type", "type", metavar="TYPE")
        @repeatable("op", "operation", type=click.Choice(["insert", "update", "delete"]))
        @wraps(command)
        def with_filter(*args: Any, **options: Any) -> None:  # noqa: ANN401
            given = {name: options.pop(name) or None for name in ("kinds", "types", "ops")}
            command(*args, filters=given, **options)

        return with_filter

    return wrap


def for_programs(invocation: Invocation) -> bool:
    """Whether to write lines of JSON: asked for, or nobody is looking."""
    return invocation.json or not sys.stdout.isatty()


def write_changes(
    changes: Iterator[tuple[str, str, str, PropertyValues | None, PropertyValues | None]],
) -> None:
    """A table of operations, types, ids and values, as much as a terminal takes."""
    rows = [
        (op, type_name, id_, described(before, after))
        for op, type_name, id_, before, after in islice(changes, SHOWN_CHANGES)
    ]
    if not rows:
        output.write_line("No changes.")
        return
    output.write_table(["op", "type", "id", "what"], rows)
    if next(changes, None) is not None:
        output.write_line(f"The first {SHOWN_CHANGES:,} only; --stats counts all, --json has them.")


def write_stats(invocation: Invocation, stats: Stats, facts: Mapping[str, Any]) -> None:
    """Counts per operation, and the types that are affected."""
    if invocation.json:
        output.write_json({**facts, **stats.to_json()})
        return
    output.write_table(
        ["inserts", "updates", "deletes", "types"],
        [
            (
                f"{stats.inserts:,}",
                f"{stats.updates:,}",
                f"{stats.deletes:,}",
                ", ".join(stats.types) or None,
            )
        ],
        numbers=["inserts", "updates", "deletes"],
    )


def described(before: PropertyValues | None, after: PropertyValues | None) -> str | None:
    """A row state in one line, or what of it changed."""
    if before is None or after is None:
        values = _values(after or before or {})
        shown = (f"{name} {_short(value)}" for name, value in values.items() if value is not None)
        return ", ".join(shown) or None
    old, new = _values(before), _values(after)
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return ", ".join(f"{n} {_short(old.get(n))} → {_short(new.get(n))}" for n in changed) or None


def _values(state: PropertyValues) -> dict[str, Any]:
    return {**state.get("endpoints", {}), **state.get("properties", {})}


def _short(value: Any) -> str:  # noqa: ANN401
    text = "-" if value is None else value if isinstance(value, str) and value else repr(value)
    return output.shortened(text)
