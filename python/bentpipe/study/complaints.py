"""Errors of a study, with file and line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bentpipe.errors import StudyError

if TYPE_CHECKING:
    from pathlib import Path

Key = tuple[str | int, ...]
"""A place in a study file: `("quantity", 0, "name")`."""

HEADER = re.compile(r"\s*(\[\[?)([^\[\]]+)\]")
ENTRY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"))*)\s*=")
STEP = re.compile(r"[\w-]+|\"[^\"]*\"|'[^']*'")


def lines_of(text: str) -> dict[Key, int]:
    """The line of each table and key of a TOML text, counted from 1.

    The values of inline tables are on the line of the table.
    """
    found: dict[Key, int] = {}
    counts: dict[Key, int] = {}
    table: Key = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := HEADER.match(line):
            table = steps(header[2])
            if header[1] == "[[":
                found.setdefault(table, number)
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            found.setdefault(table, number)
        elif entry := ENTRY.match(line):
            found.setdefault((*table, *steps(entry[1])), number)
    return found


def steps(dotted: str) -> Key:
    """The names of a dotted key, without their quotes."""
    return tuple(step.strip("\"'") for step in STEP.findall(dotted))


class Complaints:
    """Collects the errors of a study, to report all of them at once."""

    def __init__(self, file: Path | None = None, text: str = "") -> None:
        self.file = file
        self.lines = lines_of(text)
        self.found: list[tuple[int | None, str]] = []

    def add(self, key: Key, message: str) -> None:
        """Add an error at `key`, or at the table that includes it."""
        self.found.append((self.line(key), message))

    def line(self, key: Key) -> int | None:
        """The line of the key, or of the nearest table that includes it."""
        while key:
            if key in self.lines:
                return self.lines[key]
            key = key[:-1]
        return None

    def tell(self) -> None:
        """Raise `StudyError` if there are errors."""
        if not self.found:
            return
        messages = [f"{self.place(line)}{message}" for line, message in self.found]
        file = str(self.file) if self.file else None
        raise StudyError("\n\n".join(dict.fromkeys(messages)), file, self.found[0][0])

    def place(self, line: int | None) -> str:
        """`FILE:LINE: `, as far as known."""
        if not self.file:
            return ""
        return f"{self.file}:{line}: " if line else f"{self.file}: "
