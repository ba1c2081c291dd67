"""What the exit code of `omnigraph` means, in one place."""

from __future__ import annotations

import click

from omnigraph.errors import Conflict, InvalidInput, NotFound, StorageError

OK = 0
UNEXPECTED = 1
"""A mistake of OmniGraph's own."""
BAD_INPUT = 2
"""The input or the command line is wrong: fix it and run again."""
NOT_FOUND = 3
"""A graph, branch, commit, type or file does not exist."""
CONFLICT = 4
"""A precondition failed or another writer was faster: look again and decide."""
STORAGE = 5
"""The store failed or cannot be trusted; also when `verify` finds something."""
INTERRUPTED = 130
"""Ctrl-C; the number shells use for a process that SIGINT ended."""
BROKEN_PIPE = 141
"""The reader of our output went away; the number shells use for SIGPIPE."""

_FAMILIES: tuple[tuple[type[BaseException], int], ...] = (
    (InvalidInput, BAD_INPUT),
    (NotFound, NOT_FOUND),
    (Conflict, CONFLICT),
    (StorageError, STORAGE),
    (click.ClickException, BAD_INPUT),
    (click.Abort, INTERRUPTED),
    (KeyboardInterrupt, INTERRUPTED),
    (BrokenPipeError, BROKEN_PIPE),
)


def exit_code(error: BaseException) -> int:
    """The exit code of a command that ended with this error."""
    for family, code in _FAMILIES:
        if isinstance(error, family):
            return code
    return UNEXPECTED
