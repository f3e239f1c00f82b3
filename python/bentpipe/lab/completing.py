"""Completion of the scenario file on the page: keys, values and tables at the place of the cursor.

The names are those of the schema, as on the command line (`bentpipe.completion`). `place` reads the
text before the cursor token by token, because a file that is being written is often not valid.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.completion import at_path, first_line, listed, variants

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_ITEMS = 60
"""Items of a list; the schema has tables with more keys."""
TOKEN = re.compile(
    r'(?P<comment>#[^\n]*)|(?P<text>"""(?:.*?"""|.*\Z)|\'\'\'(?:.*?\'\'\'|.*\Z)'
    r'|"(?:\\.|[^"\\\n])*"?|\'[^\'\n]*\'?)'
    r"|(?P<mark>[{}\[\],=.\n])|(?P<bare>[^\s{}\[\],=.#\"']+)",
    re.DOTALL,
)


@dataclass
class Table:
    """A table around the cursor: its path without numbers of entries."""

    path: list[str]
    is_list: bool = False
    """True for an array, whose entries have the same path."""
    given: dict[str, str] = field(default_factory=dict)
    """Its keys until there, with their values where those are no tables."""


@dataclass(frozen=True)
class Place:
    """What stands at the end of a text."""

    kind: str
    """`key`, `value`, `header`, or `after` a complete value, where nothing is offered."""
    path: list[str]
    """The table of a key, the key of a value, or the tables around the last one of a header."""
    word: str
    """The part that is written already; of a header the whole of it."""
    given: Mapping[str, str] = field(default_factory=dict)
    """The keys that the table of a key has already, with their values."""


@dataclass(frozen=True)
class Item:
    """A completion: the text that replaces the word, and a description."""

    text: str
    help: str


class Reader:
    """The state of the text while its tokens are read."""

    def __init__(self) -> None:
        self.around = [Table([])]
        self.kind = "key"
        self.parts: list[str] = []
        """Names of the key, or of the header, that is being read."""
        self.brackets = ""
        self.word = ""

    def read(self, kind: str, token: str) -> None:
        """Go on by one token."""
        if kind == "comment":
            self.word = ""
        elif kind == "mark":
            self.mark(token)
        else:
            self.name(token)

    def name(self, token: str) -> None:
        """A name or a value."""
        self.word = token
        if self.kind in ("key", "header"):
            self.parts.append(token.strip("\"'"))
        elif self.kind == "value":
            self.kind = "after"
            if not self.around[-1].is_list and len(self.parts) == 1:
                self.around[-1].given[self.parts[0]] = token.strip("\"'")

    def mark(self, token: str) -> None:
        """A character of the syntax."""
        self.word = ""
        inner = self.around[-1]
        if self.kind == "header":
            self.of_header(token)
        elif token == "\n":
            if len(self.around) == 1:
                self.kind, self.parts = "key", []
        elif token == "[" and self.kind == "key" and len(self.around) == 1:
            self.kind, self.parts, self.brackets = "header", [], "["
        elif token == "=" and self.kind == "key":
            inner.given.setdefault(self.parts[0] if self.parts else "", "")
            self.kind = "value"
        elif token in "{[" and self.kind == "value":
            path = self.key_path()
            self.around.append(Table(path, token == "["))
            self.kind, self.parts = ("key" if token == "{" else "value"), []
        elif token in "}]" and len(self.around) > 1:
            self.around.pop()
            self.kind = "after"
        elif token == ",":
            self.kind, self.parts = ("value" if inner.is_list else "key"), []

    def of_header(self, token: str) -> None:
        """A character of a header of a table."""
        if token == "[":
            self.brackets += token
        elif token in "]\n":
            self.around = [Table(self.parts)]
            self.kind, self.parts = ("key" if token == "\n" else "after"), []

    def key_path(self) -> list[str]:
        """The path of the value that is being read."""
        inner = self.around[-1]
        return [*inner.path, *([] if inner.is_list else self.parts)]


def place(before: str) -> Place:
    """The place at the end of the text before the cursor."""
    reader = Reader()
    was, end, kind = "key", 0, ""
    for token in TOKEN.finditer(before):
        was, end, kind = reader.kind, token.end(), str(token.lastgroup)
        reader.read(kind, token[0])
    if kind == "comment":
        return Place("after", [], "")
    if end < len(before):  # a space ends a word
        reader.word = ""
        was = reader.kind
    inner = reader.around[-1]
    if reader.kind == "header":
        parts = reader.parts if before[-1:] in "[." else reader.parts[:-1]
        return Place("header", parts, before[before.rindex(reader.brackets) :])
    if reader.kind == "key":
        parts = reader.parts[:-1] if reader.word else reader.parts
        if reader.parts and not reader.word and before[-1:] != ".":
            return Place("after", [], "")
        given = {} if parts else inner.given
        return Place("key", [*inner.path, *parts], reader.word, given)
    if "value" in (reader.kind, was):
        return Place("value", reader.key_path(), reader.word)
    return Place("after", [], "")


@cache
def schema() -> dict[str, Any]:
    """The schema of scenarios."""
    found: dict[str, Any] = json.loads(_native.schema())
    return found


def entries(path: list[str]) -> list[dict[str, Any]]:
    """The alternatives of the schema at a path; of lists those of their entries."""
    found = [schema()]
    for name in path:
        below = [at_path(one, [name]) for one in found]
        found = [inner for one in below for inner in unlisted(one)]
    return found


def unlisted(node: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
    """The alternatives of a node, with the entries of lists in place of the lists."""
    for one in variants(node):
        if "items" in one:
            yield from unlisted(one["items"])
        else:
            yield dict(one)


def items(before: str) -> tuple[int, list[Item]]:
    """The number of characters before the cursor that an item replaces, and the items."""
    found = place(before)
    offered = {"key": keys, "value": values, "header": headers}.get(found.kind)
    if offered is None:
        return 0, []
    word = found.word.lstrip("\"'[")
    fitting = {one.text: one for one in offered(found) if one.text.lstrip("\"'[").startswith(word)}
    kept = [one for one in fitting.values() if one.text != found.word]
    return len(found.word), kept[:MOST_ITEMS]


def keys(found: Place) -> Iterator[Item]:
    """Keys of a table that it does not have yet, of the forms that fit those that it has."""
    for node in entries(found.path):
        properties = node.get("properties", {})
        fixed = {name: one["const"] for name, one in properties.items() if "const" in one}
        if any(found.given.get(name, value) != value for name, value in fixed.items()):
            continue
        for name, child in properties.items():
            if name not in found.given:
                kinds = list(variants(child))
                is_table = all("properties" in one for one in kinds)
                yield Item(f"{name} = {'{ ' * is_table}", first_line(child.get("description")))


def values(found: Place) -> Iterator[Item]:
    """Values that the schema lists, in the notation of TOML."""
    for node in entries(found.path):
        for value in listed(node):
            yield Item(json.dumps(value), "")


def headers(found: Place) -> Iterator[Item]:
    """Headers of tables inside the tables that are written already."""
    for node in entries(found.path):
        for name, child in node.get("properties", {}).items():
            path = ".".join([*found.path, name])
            about = first_line(child.get("description"))
            for one in variants(child):
                if any("properties" in inner for inner in unlisted(one)):
                    yield Item(f"[[{path}]]" if "items" in one else f"[{path}]", about)
