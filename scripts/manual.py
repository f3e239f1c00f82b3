"""Makes the man page `bentpipe.1` from the commands and their options, for `scripts/generated.py`.

The wheel installs it in `share/man/man1`. It has no date, so that equal commands give equal pages.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

import bentpipe
from bentpipe.cli import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (
    Path(__file__).resolve().parent.parent / "python/bentpipe.data/data/share/man/man1/bentpipe.1"
)
FIRST = re.compile(r"^([.'])", re.MULTILINE)

FILES = """\
.SH EXIT STATUS
.TP
0
Done.
.TP
1
A defect of Bentpipe.
.TP
2
Bad input, or output that cannot be written.
.TP
130
Interrupted by Ctrl-C or SIGTERM. Completed results are kept.
.SH SEE ALSO
The pages in
.I docs
of the source, beginning with
.IR docs/getting-started.md .
.BR tc (8),
.BR ss (8),
.BR ip-netns (8)
"""


def roff(text: str) -> str:
    """The text with what roff would read as its own made harmless."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return FIRST.sub(r"\\&\1", escaped)


def paragraphs(text: str) -> str:
    """The paragraphs of a help text. Those marked with a backspace keep their lines."""
    parts = []
    for part in inspect.cleandoc(text).split("\n\n"):
        if part.startswith("\b\n"):
            parts.append(f".nf\n{roff(part[2:])}\n.fi")
        else:
            parts.append(roff(" ".join(part.split())))
    return "\n.PP\n".join(parts)


def option(parameter: click.Option, context: click.Context) -> str:
    """One option with its help."""
    record = parameter.get_help_record(context)
    if record is None:
        return ""
    names, text = record
    return f".TP\n.B {roff(names)}\n{roff(text)}\n"


def section(command: click.Command, context: click.Context) -> Iterator[str]:
    """A command, and then the commands of its group."""
    usage = " ".join(command.collect_usage_pieces(context))
    yield f".SS {roff(context.command_path)} {roff(usage)}\n{paragraphs(command.help or '')}\n"
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            yield option(parameter, context)
    yield from sections(command, context)


def sections(group: click.Command, context: click.Context) -> Iterator[str]:
    """The commands of a group by name."""
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if command is not None and not command.hidden:
                yield from section(command, click.Context(command, context, name))


def page() -> str:
    """The whole page."""
    context = click.Context(cli, info_name="bentpipe")
    head = (
        f'.TH BENTPIPE 1 "" "bentpipe {bentpipe.__version__}" "User Commands"\n'
        f".SH NAME\nbentpipe \\- {roff((cli.help or '').rstrip('.'))}\n"
        ".SH SYNOPSIS\n.B bentpipe\n.I COMMAND\n[\\fIOPTIONS\\fR]...\n"
        ".SH DESCRIPTION\nA scenario file describes hosts, links and flows. It runs in a "
        "simulator or on the TCP of this machine's kernel, and both give the same recording. "
        "All commands have\n.BR \\-\\-help .\n.SH COMMANDS\n"
    )
    return head + "".join(sections(cli, context)) + FILES
