"""Commands of shell scripts, one by one."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

QUOTED = r"""\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*'"""
ARITHMETIC = r"\$\(\((?:[^()\n]|\([^()\n]*\))*\)\)"
WORD = rf"""(?:{ARITHMETIC}|[^\s;&|()<>"'\\]|{QUOTED})+"""
TOKEN = re.compile(
    rf"""[^\S\n]*(?:
        (?P<comment>\#[^\n]*)
        | (?P<document>\d*<<(?P<tabs>-?)[^\S\n]*(?P<delimiter>{WORD}))
        | (?P<redirection>(?:\d*(?:<<<|>>|>\||<>|[<>]&|[<>]) | &>>?)[^\S\n]*{WORD})
        | (?P<separator>[;&|()]+|\n)
        | (?P<word>{WORD})
        )""",
    re.VERBOSE,
)
"""One token of a shell. A quotation may go on over several lines."""
REST = re.compile(rf"""(?:(?<=\s)\#[^\n]*|[^\n"'\\]|{QUOTED})*""")
"""The rest of a line, with all of its quotations."""


@dataclass(frozen=True)
class Command:
    """A simple command, without its redirections."""

    line: int
    """Number of the line where it starts, from 1."""
    text: str
    """As in the script, on one line."""
    words: list[str]
    """Words without their quotation marks."""
    unreadable: str = ""
    """The first word that cannot be read. The command has no words then."""


def commands(text: str, name: str) -> Iterator[Command]:
    r"""Yield the commands of a script.

    Commands end at `;`, `&`, `&&`, `|`, `||`, parentheses and the end of a line. A backslash at the
    end of a line continues it. Here-documents are skipped. A word that cannot be read ends the
    reading of its line.

    `InputError` with file and line if a quotation does not end.
    """
    # The same length, so that positions and numbers of lines stay those of the file.
    text = text.replace("\r\n", " \n").rstrip()
    joined = re.sub(r"\\\n|\\$", "  ", text) + "\n"
    words: list[str] = []
    documents: list[re.Pattern[str]] = []
    start = end = at = 0
    while at < len(joined):
        token = TOKEN.match(joined, at)
        ending = end_of_document(token) if token and token["document"] else None
        if token is None or (ending and not ending.search(joined, token.end())):
            at += len(joined[at:]) - len(joined[at:].lstrip())
            if joined[at] in "\"'":
                raise open_quote(name, text, at)
            end = rest_of_line(joined, at)
            start = start if words else at
            one_line, word = " ".join(joined[start:end].split()), joined[at:end].split()[0]
            yield Command(text.count("\n", 0, start) + 1, one_line, [], word)
            words, at = [], end
            continue
        at = token.end()
        if ending:
            documents.append(ending)
        elif token["word"] is not None:
            if not words:
                start = token.start("word")
            words += shlex.split(token["word"])
            end = token.end()
        elif token["separator"] is not None and words:
            one_line = " ".join(joined[start:end].split())
            yield Command(text.count("\n", 0, start) + 1, one_line, words)
            words = []
        if token["separator"] == "\n":
            at = after(documents, joined, at)
            documents = []


def rest_of_line(script: str, at: int) -> int:
    """The end of a line with a word that cannot be read, or the place of a quote in it."""
    found = REST.match(script, at)
    return found.end() if found else at


def open_quote(name: str, script: str, at: int) -> InputError:
    """The error of a quotation that does not end."""
    line, found = script.count("\n", 0, at) + 1, script[at:].partition("\n")[0]
    return InputError(f"{name}:{line}: expected a command with closed quotes, found {found}")


def end_of_document(token: re.Match[str]) -> re.Pattern[str]:
    """The last line of a here-document, with tabs before it after `<<-`."""
    delimiter = " ".join(shlex.split(token["delimiter"]))
    tabs = r"\t*" if token["tabs"] else ""
    return re.compile(rf"^{tabs}{re.escape(delimiter)}[^\S\n]*$", re.MULTILINE)


def after(documents: Sequence[re.Pattern[str]], script: str, at: int) -> int:
    """The place after the here-documents that begin at a line."""
    for ending in documents:
        found = ending.search(script, at)
        at = found.end() if found else at
    return at
