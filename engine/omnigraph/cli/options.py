"""Options that several commands take, spelled and explained once."""

from __future__ import annotations

import click

MOMENTS = "a branch, branch@commit, branch@v42, branch@time, a tag or a commit"

at_option = click.option(
    "--at",
    metavar="MOMENT",
    default="main",
    help="A branch, branch@commit, branch@v42, branch@time or a commit.",
)
branch_option = click.option(
    "--branch", metavar="NAME", default="main", help="The branch to change."
)
actor_option = click.option("--actor", metavar="NAME", help="Who does it; kept in the commit.")
message_option = click.option("--message", metavar="TEXT", help="Why; kept in the commit.")
