"""`omnigraph snapshot`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, is_given, pass_invocation
from omnigraph.cli.options import at_option

if TYPE_CHECKING:
    from omnigraph.storage.refs.snapshot import Snapshot

PREVIEW_ROWS = 20


@command(
    "snapshot",
    example="""
    omnigraph snapshot
    omnigraph snapshot --at main@v2 --json
    omnigraph snapshot Person --columns name,age --filter "age > 30" --limit 5
    """,
)
@click.argument("type_name", metavar="[TYPE]", required=False)
@at_option
@click.option("--columns", metavar="A,B,…", help="Only these properties.  [default: all]")
@click.option("--filter", "condition", metavar="SQL", help="Only rows that meet a condition.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=PREVIEW_ROWS,
    help="At most this many rows.",
)
@pass_invocation
@click.pass_context
def snapshot(
    context: click.Context,
    invocation: Invocation,
    type_name: str | None,
    at: str,
    columns: str | None,
    condition: str | None,
    limit: int,
) -> None:
    """Show the types of the graph at a moment, or some rows of one.

    Without TYPE: every type with its kind, how many entities it has, and its version.
    """
    if type_name is None:
        if any(is_given(context, option) for option in ("columns", "condition", "limit")):
            raise click.UsageError("--columns, --filter and --limit need a TYPE")
        _show_types(invocation, invocation.graph().snapshot(at))
        return
    names = [name.strip() for name in columns.split(",")] if columns is not None else None
    _show_rows(invocation, invocation.graph().snapshot(at), type_name, names, condition, limit)


def _show_types(invocation: Invocation, shown: Snapshot) -> None:
    types = [(type_, shown.pointer(type_)) for type_ in shown.types()]
    if invocation.json:
        output.write_json(
            {
                "branch": shown.branch,
                "graph_commit_id": shown.commit,
                "graph_manifest_version": shown.version,
                "types": [
                    {
                        "name": type_.name,
                        "kind": type_.kind,
                        "entities": pointer.rows,
                        "table_version": pointer.version,
                    }
                    for type_, pointer in types
                ],
                "tables": [
                    {
                        "name": table.name,
                        "rows": table.rows,
                        "table_version": table.pointer.version,
                    }
                    for table in shown.plain_tables()
                ],
            }
        )
        return
    output.write_line(f"{shown.branch} at {shown.commit} (v{shown.version})")
    output.write_table(
        ["type", "kind", "entities", "version"],
        [
            *((t.name, t.kind, f"{pointer.rows:,}", f"v{pointer.version}") for t, pointer in types),
            *(
                (t.name, "table", f"{t.rows:,}", f"v{t.pointer.version}")
                for t in shown.plain_tables()
            ),
        ],
        numbers=["entities", "version"],
    )


def _show_rows(
    invocation: Invocation,
    shown: Snapshot,
    type_name: str,
    columns: list[str] | None,
    condition: str | None,
    limit: int,
) -> None:
    from omnigraph.common.arrow_to_python import python_rows
    from omnigraph.common.json_values import json_value

    table = shown.scan(type_name, columns, condition, limit).read_all()
    rows = python_rows(table)
    if invocation.json:
        output.write_json(
            {
                "type": type_name,
                "target": {"branch": shown.branch, "snapshot": shown.commit},
                "row_count": len(rows),
                "columns": table.column_names,
                "rows": [{name: json_value(row[name]) for name in row} for row in rows],
                "graph_commit_id": shown.commit,
            }
        )
        return
    output.write_table(
        table.column_names,
        [[_cell(row[name]) for name in table.column_names] for row in rows],
    )
    total = shown.count(type_name)
    if condition is None and total > len(rows):
        output.write_line(f"{len(rows):,} of {total:,}; see more with --limit.")


def _cell(value: object) -> str | None:
    """A stored value in one short line."""
    from omnigraph.common.json_values import json_value

    if value is None:
        return None
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    return output.shortened(str(json_value(value)))
