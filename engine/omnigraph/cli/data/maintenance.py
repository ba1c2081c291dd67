"""`omnigraph optimize`, `collect` and `verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.exit_codes import STORAGE
from omnigraph.cli.progress import progress

if TYPE_CHECKING:
    from omnigraph.storage.maintenance.check_files import CheckedFiles

SHOWN_COMMITS = 5
"""So many of the commits that become unreadable are named; `--json` names all."""


@command(
    "optimize",
    example="""
    omnigraph optimize --dry-run
    omnigraph optimize --branch draft
    """,
)
@click.option("--branch", metavar="NAME", default="main", help="Whose tables.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@pass_invocation
def optimize(invocation: Invocation, branch: str, dry_run: bool) -> None:
    """Compact tables and bring their indexes up to date.

    No answer changes. Writers go on meanwhile; a table that they move again and again is left to
    the next run.
    """
    graph = invocation.graph()
    with progress("optimizing", unit="steps") as on_progress:
        report = graph.optimize(branch, dry_run=dry_run, on_progress=on_progress)
    if invocation.json:
        output.write_json(report.to_json())
        return
    if report.gave_way:
        busy = ", ".join(report.gave_way)
        output.write_line(f"Skipped {busy}: writers kept changing them. Run it again later.")
    elif not report.tables:
        output.write_line("Every table is optimized already.")
    if not report.tables:
        return
    output.write_table(
        ["table", "fragments before", "after", "rows rewritten", "indexes built", "dropped"],
        [
            (
                key,
                done.fragments_before,
                done.fragments_after,
                f"{done.rows_rewritten:,}",
                ", ".join(done.indexes_built) or None,
                ", ".join(done.indexes_dropped) or None,
            )
            for key, done in sorted(report.tables.items())
        ],
        numbers=["fragments before", "after", "rows rewritten"],
    )
    if report.commit is None:
        output.write_line("Dry run: nothing was changed.")
    else:
        output.write_line(f"Published in commit {report.commit.id} (v{report.commit.version}).")


@command(
    "collect",
    example="""
    omnigraph collect --keep-for 7d --keep 100 --dry-run
    omnigraph collect --keep-for 7d --keep 100
    """,
)
@click.option(
    "--keep",
    metavar="N",
    type=int,
    help="The newest N commits of each branch stay readable.  [default: all]",
)
@click.option(
    "--keep-for",
    metavar="TIME",
    help="Every state of the last TIME stays readable: 90s, 30m, 24h, 7d, 2w.  [default: all]",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be reclaimed and deleted.")
@pass_invocation
def collect(invocation: Invocation, keep: int | None, keep_for: str | None, dry_run: bool) -> None:
    """Delete files that no kept commit and no tag needs.

    With both options a commit stays that either of them keeps. Reclaimed commits can no longer be
    read. Branches whose time to live is over are removed. Writers that are under way are told to
    start again.
    """
    graph = invocation.graph()
    with progress("collecting", unit="steps") as on_progress:
        report = graph.collect(keep, keep_for=keep_for, dry_run=dry_run, on_progress=on_progress)
    if invocation.json:
        output.write_json(report.to_json())
        return
    verb = "Would delete" if report.dry_run else "Deleted"
    output.write_line(
        f"{verb} {output.counted(report.files, 'file')} ({output.shown_size(report.bytes)}); "
        f"{output.counted(report.kept_commits, 'commit')} kept."
    )
    if report.tables:
        output.write_table(
            ["table", "files", "size"],
            [
                (key, f"{freed.files:,}", output.shown_size(freed.bytes))
                for key, freed in report.tables.items()
            ],
            numbers=["files", "size"],
        )
    verb = "Would reclaim" if report.dry_run else "Reclaimed"
    if report.given_up:
        ids = ", ".join(f"{each.id} (v{each.version})" for each in report.given_up[:SHOWN_COMMITS])
        more = len(report.given_up) - SHOWN_COMMITS
        output.write_line(
            f"{verb} {output.counted(len(report.given_up), 'commit')}: {ids}"
            + (f" and {more:,} more." if more > 0 else ".")
        )
    if report.expired_branches:
        names = ", ".join(report.expired_branches)
        output.write_line(f"{verb} branches whose time to live is over: {names}.")
    if report.spared_transactions:
        jobs = output.counted(report.spared_transactions, "open job")
        output.write_line(f"Kept all files of the tables of {jobs}.")


@command(
    "verify",
    example="""
    omnigraph verify
    omnigraph verify --deep --json
    """,
)
@click.option("--rules", is_flag=True, help="Check the rows of every branch against the schema.")
@click.option("--deep", is_flag=True, help="That, read every byte, and compare indexes with rows.")
@pass_invocation
@click.pass_context
def verify(context: click.Context, invocation: Invocation, rules: bool, deep: bool) -> None:
    """Check that everything the manifest says is true.

    Without options no rows are read. Exits with 5 when it finds anything.
    """
    graph = invocation.graph()
    with progress("verifying", unit="steps") as on_progress:
        report = graph.verify(rules=rules, deep=deep, on_progress=on_progress)
    if invocation.json:
        output.write_json(report.to_json())
    else:
        if report.findings:
            output.write_table(
                ["where", "problem"], [(each.where, each.problem) for each in report.findings]
            )
        found = output.counted(len(report.findings), "problem")
        output.write_line(
            f"Looked at {output.counted(report.branches, 'branch', 'branches')}, "
            f"{output.counted(report.commits, 'commit')} and "
            f"{output.counted(report.table_versions, 'table version')}: "
            f"{'all is well' if report.ok else found}."
        )
        if report.files:
            output.write_line(_shown_files(report.files))
    if not report.ok:
        context.exit(STORAGE)


def _shown_files(files: CheckedFiles) -> str:
    """What was read of the files, and what could not be said of them."""
    read = output.counted(files.files + files.unchecked, "file")
    compared = f"compared {files.files:,} with their digests"
    without = f"{files.unchecked:,} have none and could only be decoded"
    return (
        f"Read {read} ({output.shown_size(files.bytes)}): {compared}"
        + (f", {without}" if files.unchecked else "")
        + (f"; {files.unneeded:,} are not needed." if files.unneeded else ".")
    )
