"""The `omnigraph` command: each subcommand is a thin shell over one function of the public API.

Promises the exit codes of `exit_codes` and no traceback for a bad input. Imports click at once, and
the engine (with Lance and Arrow) and rich only when a command runs, so that `--help` is quick.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["main", "run"]


def main() -> NoReturn:
    """The entry point of the command.

    It ends at once: threads of the engines underneath, which give things back while the interpreter
    is taken down, would end the process with a signal now and then.
    """
    code = run(sys.argv[1:])
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    import click

    from omnigraph.cli.app import app
    from omnigraph.cli.exit_codes import BROKEN_PIPE, OK, exit_code
    from omnigraph.cli.output import close_stdout, write_error

    # Click before 8.2 has no such error: it prints the help by itself.
    no_arguments = getattr(click.exceptions, "NoArgsIsHelpError", ())
    try:
        code = app.main(list(arguments), prog_name="omnigraph", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except BrokenPipeError:
        close_stdout()
        return BROKEN_PIPE
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - the door where every error becomes a code
        context = getattr(error, "ctx", None) if isinstance(error, no_arguments) else None
        if context is not None:
            click.echo(context.get_help(), err=True)
        else:
            write_error(error, as_json="--json" in arguments)
        return exit_code(error)
