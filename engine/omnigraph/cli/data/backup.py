"""`omnigraph backup`, `restore` and `repair`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.exit_codes import STORAGE
from omnigraph.cli.progress import progress

if TYPE_CHECKING:
    from omnigraph.storage.backup.copy_moment import CopyReport


@command(
    "backup",
    example="""
    omnigraph backup social.omni social.backup
    omnigraph backup s3://bucket/social s3://other-bucket/social
    """,
)
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@pass_invocation
def backup(invocation: Invocation, source: str, target: str) -> None:
    """Copy the graph at SRC to DST, or what is new in it.

    All branches, tags and the readable past are copied. DST shows one moment, and can be opened
    like a graph. Run it again to bring DST up to date: only new files are copied, and DST shows the
    moment before until the new one is complete. After a kill, run it again. Writers of SRC go on
    meanwhile. `omnigraph collect --store DST` deletes what DST does not need any more.
    """
    import omnigraph

    with progress("backing up", unit="bytes") as on_progress:
        report = omnigraph.backup(
            source, target, durability=invocation.durability, on_progress=on_progress
        )
    _write_report(invocation, "Backed up", report)


@command(
    "restore",
    example="""
    omnigraph restore social.backup restored.omni
    omnigraph restore s3://bucket/backups/social s3://bucket/social
    """,
)
@click.argument("backup", metavar="BACKUP")
@click.argument("target", metavar="DST")
@pass_invocation
def restore(invocation: Invocation, backup: str, target: str) -> None:
    """Make a graph at DST, where nothing is, of what BACKUP shows.

    Every file is compared with what was backed up. After a kill, run it again.
    """
    import omnigraph

    with progress("restoring", unit="bytes") as on_progress:
        report = omnigraph.restore(
            backup, target, durability=invocation.durability, on_progress=on_progress
        )
    _write_report(invocation, "Restored", report)


@command("repair", example="omnigraph repair social.omni --from social.backup")
@click.argument("uri", required=False)
@click.option("--from", "source", metavar="BACKUP", required=True, help="A backup of the graph.")
@pass_invocation
@click.pass_context
def repair(context: click.Context, invocation: Invocation, uri: str | None, source: str) -> None:
    """Put back files of the graph at URI that are missing or damaged.

    Every file that BACKUP has is compared with it and, if it differs, replaced, unless the copy in
    BACKUP is damaged, too. Then the graph is verified. Without URI it is the graph of --store.

    Exits with 5 when anything is still wrong.
    """
    import omnigraph

    with progress("repairing", unit="steps") as on_progress:
        report = omnigraph.repair(
            uri or invocation.uri(),
            source,
            durability=invocation.durability,
            on_progress=on_progress,
        )
    if invocation.json:
        output.write_json(report.to_json())
    else:
        for path in report.repaired:
            output.write_line(f"Put back {path}.")
        if report.unrepaired:
            output.write_table(
                ["where", "problem"], [(each.where, each.problem) for each in report.unrepaired]
            )
        left = output.counted(len(report.unrepaired), "problem")
        output.write_line(
            f"Compared {output.counted(report.checked_files, 'file')}, put back "
            f"{len(report.repaired):,}: {'all is well' if report.ok else left + ' left'}."
        )
        if not report.ok:
            output.write_line(
                f"`omnigraph restore {source} DST` makes a graph of what the backup shows."
            )
    if not report.ok:
        context.exit(STORAGE)


def _write_report(invocation: Invocation, verb: str, report: CopyReport) -> None:
    text = (
        f"{verb} {output.counted(report.branches, 'branch', 'branches')} to {report.uri}: "
        f"copied {report.copied_files:,} of {output.counted(report.files, 'file')} "
        f"({output.shown_size(report.copied_bytes)})."
    )
    output.write_answer(invocation, report.to_json(), text)
