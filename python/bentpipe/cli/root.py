"""The group of all commands, and the options and types that several of them have."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

import bentpipe
from bentpipe.cli.groups import Commands

if TYPE_CHECKING:
    from collections.abc import Iterable

    from click.shell_completion import CompletionItem

DEFECT = 1
BAD_INPUT = 2

FILE = click.Path(path_type=Path)
seed_option = click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    default=1,
    show_default=True,
    help="Seed of all random numbers.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")

verbose_option = click.option(
    "--verbose",
    is_flag=True,
    help="Print all tables, with values that the short output leaves out.",
)


class Completed(click.ParamType[str]):
    """Option type of a text whose values shells complete; `what` is a name in `completion.VALUES`.

    The command checks the text.
    """

    name = "text"

    def __init__(self, what: str) -> None:
        self.what = what

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the values that begin with `incomplete`."""
        from bentpipe.completion import values

        return values(self.what, ctx, incomplete)


class Duration(click.ParamType[float]):
    """Option type of a time with its unit, in seconds."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the time, or fail with the reason."""
        from bentpipe.durations import seconds

        try:
            return seconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


backend_option = click.option(
    "--backend",
    type=click.Choice(["simulator", "kernel"]),
    default="simulator",
    show_default=True,
    help="Backend: the simulator, or the TCP of this machine's Linux kernel (as root).",
)

sets_option = click.option(
    "--set",
    "sets",
    type=Completed("override"),
    multiple=True,
    metavar="PATH=VALUE",
    help="Set a value of the scenario.",
)


def refuse(message: str) -> NoReturn:
    """Reject bad input: message on stderr, exit status 2."""
    sys.exit(told(message, BAD_INPUT))


def once(place: str, names: Iterable[str]) -> None:
    """Reject a name that has several values: all but the last one would have no effect."""
    for name, number in Counter(names).items():
        if number > 1:
            refuse(f"{place}{name}: expected one value, found {number}")


def told(message: str, status: int) -> int:
    """Print a message on stderr, and return the exit status."""
    click.echo(f"bentpipe: {message}", err=True)
    return status


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bentpipe.__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """A laboratory for TCP over satellite links."""
