"""Commands of shell scripts, one by one."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = re.compile(
    r"""[^\S\n]*(?:
        (?P<comment>\#[^\n]*)
        | (?P<redirection>\d*(?:>>?|<)(?:&\d|[^\S\n]*[^\s;&|()<>]+) | &>>?[^\S\n]*[^\s;&|()<>]+)
        | (?P<separator>[;&|()\n]+)
        | (?P<word>(?:[^\s;&|()<>"'\\]|\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+)
        )""",
    re.VERBOSE,
)
"""One token of a shell. A quotation may go on over several lines."""


@dataclass(frozen=True)
class Command:
    """A simple command, without its redirections."""

    line: int
    """Number of the line where it starts, from 1."""
    text: str
    """As in the script, on one line."""
    words: list[str]
    """Words without their quotation marks."""


def commands(text: str, name: str) -> Iterator[Command]:
    r"""Yield the commands of a script.

    Commands end at `;`, `&`, `&&`, `|`, `||`, parentheses and the end of a line. A backslash at the
    end of a line continues it.

    `InputError` with file and line if a quotation does not end.
    """
    # The same length, so that positions and numbers of lines stay those of the file.
    text = text.replace("\r\n", " \n").rstrip()
    joined = re.sub(r"\\\n|\\$", "  ", text) + "\n"
    words: list[str] = []
    start = end = at = 0
    while at < len(joined):
        token = TOKEN.match(joined, at)
        if token is None or token.end() == at:
            line = text.count("\n", 0, at) + 1
            found = joined[at:].strip().partition("\n")[0]
            raise InputError(f"{name}:{line}: expected a command with closed quotes, found {found}")
        if token["word"] is not None:
            if not words:
                start = token.start("word")
            words += shlex.split(token["word"])
            end = token.end()
        elif token["separator"] is not None and words:
            one_line = " ".join(joined[start:end].split())
            yield Command(text.count("\n", 0, start) + 1, one_line, words)
            words = []
        at = token.end()
