"""Entries of BibTeX: in ASCII, with titles whose capitals stay."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ACCENTS = {
    "\N{COMBINING GRAVE ACCENT}": "`",
    "\N{COMBINING ACUTE ACCENT}": "'",
    "\N{COMBINING CIRCUMFLEX ACCENT}": "^",
    "\N{COMBINING TILDE}": "~",
    "\N{COMBINING DIAERESIS}": '"',
    "\N{COMBINING CEDILLA}": "c ",
    "\N{COMBINING CARON}": "v ",
}
"""Commands of LaTeX for accents."""
SPECIAL = re.compile(r"[%&#_$]")
"""Characters that LaTeX reads as commands."""
MATHS = {"<=": r"$\le$"}
"""Signs of formulas in titles."""
VERBATIM = ("doi", "url")
"""Fields that LaTeX's packages read without commands."""
FIELDS = (
    "author", "title", "journal", "booktitle", "type", "number", "institution", "publisher",
    "volume", "pages", "howpublished", "version", "year", "doi", "url", "note",
)  # fmt: skip
"""The fields of entries in the order in which they are written."""


@dataclass(frozen=True)
class Entry:
    """An entry of a bibliography."""

    key: str
    kind: str
    """The type of the entry, such as `article`."""
    fields: Mapping[str, str]

    def __str__(self) -> str:
        """The entry as BibTeX."""
        width = max(map(len, self.fields))
        lines = [
            f"  {name:<{width}} = {{{value(name, self.fields[name])}}},"
            for name in FIELDS
            if name in self.fields
        ]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])


def value(name: str, text: str) -> str:
    """The text of a field."""
    if name in VERBATIM:
        return text
    return f"{{{escaped(text)}}}" if name == "title" else escaped(text)


def escaped(text: str) -> str:
    """A text for LaTeX, in ASCII."""
    plain = SPECIAL.sub(lambda found: f"\\{found[0]}", without_accents(text))
    for sign, command in MATHS.items():
        plain = plain.replace(sign, command)
    return plain


def without_accents(text: str) -> str:
    """The text with accents as commands of LaTeX."""
    found = []
    for char in text:
        apart = unicodedata.normalize("NFD", char)
        letter = apart[0]
        for mark in apart[1:]:
            letter = f"{{\\{ACCENTS[mark]}{letter}}}"
        found.append(letter)
    return "".join(found)
