"""Help of groups of commands: in the order of use, with whole summaries; and unknown names."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from click.shell_completion import CompletionItem

END = re.compile(r"(?<=[^.]\.) ")
"""The end of a sentence; `NAME... ` is none."""
GROUPS = {
    "Start here": {
        "new": "starting",
        "explain": "running",
        "run": "running",
        "compare": "studies",
        "lab": "lab",
    },
    "Studies": {
        "study": "studies",
        "evaluate": "studies",
        "experience": "studies",
        "beam": "beam",
        "report": "papers",
        "fidelity": "studies",
    },
    "Kernel and proxy": {"kernel": "kernel", "shell": "running", "proxy": "proxy"},
    "Papers": {"papers": "papers", "cite": "citing"},
    "Links and files of other tools": {
        "rain": "rain",
        "orbit": "orbit",
        "trace": "measured",
        "replay": "measured",
        "page": "pages",
        "import": "importing",
        "capture": "captures",
    },
    "Lists": {
        "controllers": "lists",
        "path": "lists",
        "transports": "lists",
        "hosts": "lists",
        "mixes": "lists",
        "constellations": "lists",
        "examples": "starting",
    },
    "For developers": {
        "lockstep": "running",
        "wheel": "starting",
        "schema": "starting",
        "completion": "starting",
    },
}
"""The commands by what they are for, with the modules of this package that define them."""


SUMMARIES = Path(__file__).with_name("summaries.tsv")
"""The summary of each command, written by `make generated`: the list of all commands is printed
without the modules that define them."""


def summary(command: click.Command) -> str:
    """The first sentence of a help text, never cut."""
    import inspect

    first = " ".join(inspect.cleandoc(command.help or "").partition("\n\n")[0].split())
    return END.split(first, maxsplit=1)[0]


@cache
def summaries() -> dict[str, str]:
    """The summaries of all commands by name."""
    lines = SUMMARIES.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


def written() -> str:
    """The file of summaries as the commands have them now."""
    from bentpipe.cli.root import cli

    return "".join(f"{name}\t{summary(one)}\n" for name, one in cli.subcommands().items())


class Group(click.Group):
    """A group that lists its commands with whole summaries, and knows near names."""

    group_class: type[click.Group | type] | None = type
    """Groups in it are the same."""

    sections: Mapping[str, Iterable[str]] = MappingProxyType({})
    """The names of commands by headings; empty for one list."""

    def subcommands(self) -> dict[str, click.Command]:
        """The commands of the group by name."""
        context = click.Context(self)
        found = {name: self.get_command(context, name) for name in self.list_commands(context)}
        return {name: command for name, command in found.items() if command}

    def summaries(self) -> dict[str, str]:
        """The first sentence about each command."""
        return {name: summary(command) for name, command in self.subcommands().items()}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their sections."""
        known = self.summaries()
        sections = self.sections or {"Commands": tuple(known)}
        margin = max(map(len, known), default=0)
        for heading, listed in sections.items():
            with formatter.section(heading):
                # The same margin in all sections.
                rows = [(f"{name:<{margin}}", known[name]) for name in listed]
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


class Commands(Group):
    """The group of all commands. It imports the module of a command that is called."""

    group_class = Group
    sections = GROUPS
    modules: Mapping[str, str] = MappingProxyType(
        {name: module for group in GROUPS.values() for name, module in group.items()}
    )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, from its module."""
        if cmd_name in self.modules:
            import_module(f"bentpipe.cli.{self.modules[cmd_name]}")
        return super().get_command(ctx, cmd_name)

    def summaries(self) -> dict[str, str]:
        """The first sentence about each command."""
        return summaries()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin with `incomplete`, or the options."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=text)
            for name, text in summaries().items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


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
    import json

    import bentpipe

    schema = json.loads(bentpipe.schema())["properties"]
    plain = [name for name, one in schema.items() if one.get("type") != "array"]
    yield from plain
    for name in ("link", "flow"):
        for key in schema[name]["items"].get("properties", {}):
            yield f"{name}.0.{key}"
