"""Help of groups of commands: in the order of use, with whole summaries; and unknown names."""

from __future__ import annotations

import inspect
import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

END = re.compile(r"(?<=[^.]\.) ")
"""The end of a sentence; `NAME... ` is none."""
GROUPS = {
    "Start here": ("new", "explain", "run", "compare", "lab"),
    "Studies": ("study", "evaluate", "experience", "beam", "report", "fidelity"),
    "Kernel and proxy": ("kernel", "shell", "proxy"),
    "Papers": ("papers", "cite"),
    "Links and files of other tools": (
        "rain",
        "orbit",
        "trace",
        "replay",
        "page",
        "import",
        "capture",
    ),
    "Lists": ("controllers", "path", "transports", "hosts", "mixes", "constellations", "examples"),
    "For developers": ("lockstep", "wheel", "schema", "completion"),
}
"""The commands by what they are for."""


def summary(command: click.Command) -> str:
    """The first sentence of a help text, never cut."""
    first = " ".join(inspect.cleandoc(command.help or "").partition("\n\n")[0].split())
    return END.split(first, maxsplit=1)[0]


class Group(click.Group):
    """A group that lists its commands with whole summaries, and knows near names."""

    group_class = type
    """Groups in it are the same."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.sections: dict[str, tuple[str, ...]] = {}
        """The names of commands by headings; empty for one list."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their sections."""
        names = self.list_commands(ctx)
        known = {name: found for name in names if (found := self.get_command(ctx, name))}
        sections = self.sections or {"Commands": tuple(known)}
        margin = max(map(len, known), default=0)
        for heading, listed in sections.items():
            with formatter.section(heading):
                # The same margin in all sections.
                rows = [(f"{name:<{margin}}", summary(known[name])) for name in listed]
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or fail with the nearest names."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from bentpipe.console import nearest

            ctx.fail(f"No such command {name!r}{nearest(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


class WithSet(click.Command):
    """A command with `--set`, which it names for an option that is a key of scenarios."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and explain an unknown option that is a key of scenarios."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            refuse_key(error)


def refuse_key(error: click.NoSuchOption) -> NoReturn:
    """Raise the error again, with the override that does what the option says."""
    name = error.option_name.lstrip("-").replace("-", "_")
    path = next((path for path in paths() if path.rpartition(".")[2] == name), None)
    if path is None:
        raise error
    raise click.UsageError(
        f"No such option: {error.option_name}; expected --set {path}=..., which sets a value of the"
        " scenario",
        ctx=error.ctx,
    ) from None


def paths() -> Iterator[str]:
    """The keys of scenarios with their places, those of the whole scenario first."""
    import bentpipe

    schema = json.loads(bentpipe.schema())["properties"]
    plain = [name for name, one in schema.items() if one.get("type") != "array"]
    yield from plain
    for name in ("link", "flow"):
        for key in schema[name]["items"].get("properties", {}):
            yield f"{name}.0.{key}"
