"""The command line. A call imports the module of its command only, so that it starts quickly.

Exit status: 0 done, 1 a defect, 2 bad input or output that cannot be written, 130 interrupted by
Ctrl-C or SIGTERM (completed results are kept). A pipe whose reader ends, such as `head`, ends the
command with 0.
"""

from __future__ import annotations

import os
import sys

import click

import bentpipe
from bentpipe import signals, stdout
from bentpipe.cli.root import BAD_INPUT, DEFECT, Completed, cli, refuse, told
from bentpipe.signals import INTERRUPTED

__all__ = ["Completed", "cli", "main"]

COMPLETE = "_BENTPIPE_COMPLETE"
"""Environment variable with which the shells ask for completions."""


def echo_errors(error: bentpipe.BentpipeError) -> None:
    """Print the errors as one JSON object, for programs that asked for JSON."""
    import json
    from dataclasses import asdict

    found = error.errors if isinstance(error, bentpipe.InputError) else ()
    errors = [asdict(problem) for problem in found] or [{"message": str(error)}]
    click.echo(json.dumps({"errors": errors}))


def run_command() -> int:
    """Run the command line. Errors become one line and an exit status."""
    if COMPLETE in os.environ:
        from bentpipe.completion import answer

        return answer(cli, os.environ[COMPLETE])
    try:
        signals.interrupt()
        with cli.make_context("bentpipe", sys.argv[1:]) as context:
            cli.invoke(context)
    except bentpipe.BentpipeError as error:
        if "--json" in sys.argv:
            echo_errors(error)
        return told(str(error), BAD_INPUT)
    except bentpipe.EngineError as error:
        return told(str(error), DEFECT)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        signals.end_at_once()
        return told("interrupted", INTERRUPTED)
    return 0


def main() -> None:
    """Run the command line and end the process. Output that cannot be written is bad input too."""
    if sys.stdout is None:
        refuse(stdout.CLOSED)
    stdout.guard()
    try:
        try:
            status: str | int | None = run_command()
        except SystemExit as end:
            status = end.code
        signals.end_at_once()
        sys.stdout.flush()
    except stdout.ReaderEndedError:
        stdout.discard()
        status = 0
    except stdout.StdoutError as error:
        stdout.discard()
        status = told(f"cannot write to stdout: {error}{stdout.told_saved()}", BAD_INPUT)
    sys.exit(status)
