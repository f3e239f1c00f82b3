"""The bibliography: publications, and those that each name of the registry cites."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from bentpipe.cite.bibtex import Entry

FILE = "references.toml"
NOT_IN_KEYS = re.compile(r"[^a-z0-9.]+")


@dataclass(frozen=True)
class Thing:
    """A part of a scenario that a publication describes."""

    kind: str
    """The table of the bibliography that has it, such as `controllers` or `mechanisms.link.aqm`."""
    name: str
    """The name in the registry."""
    status: str = "published"
    """Provenance, as the registry has it."""
    implementation: str | None = None
    """The program in which its rules were read, if they were not read in the publication."""

    @property
    def label(self) -> str:
        """The part in words: `controller cubic`, `aqm codel`."""
        last = self.kind.removeprefix("mechanisms.").rpartition(".")[2].replace("_", " ")
        kind = KINDS.get(self.kind, last)
        return kind if kind == self.name else f"{kind} {self.words}"

    @property
    def words(self) -> str:
        """The name in a sentence: `packet errors`, `slow start hystart++`."""
        if self.kind == "channels":
            return self.name.replace("_", " ")
        if self.kind == "settings":
            last = self.name.removeprefix("transport.").removeprefix("controller.")
            return last.replace("_", " ").replace(".", " ")
        return self.name


KINDS = {
    "controllers": "controller",
    "transports": "transport",
    "hosts": "host",
    "mixes": "mix",
    "channels": "channel",
    "recoveries": "recovery",
    "settings": "setting",
    "applications": "application",
    "pages": "model of pages",
    "http": "HTTP",
    "tls": "TLS",
    "rules": "rule of video",
    "codecs": "codec",
    "beams": "beam",
    "constellations": "constellation",
    "switches": "rule of a switch",
    "hints": "source of hints",
    "papers": "paper",
    "methods": "method",
    "python": "controller in Python",
}
"""Kinds of things as they are called in sentences."""


@cache
def library() -> dict[str, Any]:
    """The bibliography as it is written."""
    text = (resources.files("bentpipe.cite") / FILE).read_text(encoding="utf-8")
    return tomllib.loads(text)


def cited(thing: Thing) -> list[str] | str | None:
    """The keys that a thing cites, or why it cites none; None if the bibliography lacks it."""
    table: Any = library()
    first, _, rest = thing.kind.partition(".")
    for key in filter(None, (first, rest)):
        table = table.get(key, {})
    found: list[str] | str | None = table.get(thing.name)
    return found


def entry(key: str) -> Entry:
    """The entry of a publication or of a program with its version; `KeyError` if there is none."""
    written = library()["entries"].get(key)
    if written is None:
        return software(key)
    fields = {name: str(value) for name, value in written.items()}
    if number := fields.pop("rfc", None):
        fields |= {
            "type": "RFC",
            "number": number,
            "institution": "RFC Editor",
            "doi": f"10.17487/RFC{number:>04}",
        }
    return Entry(key, fields.pop("entry", "techreport"), fields)


def software(text: str) -> Entry:
    """The entry of a program, such as `Linux 6.12, net/ipv4/tcp_cubic.c`."""
    known = library()["software"]
    name = max((one for one in known if text.startswith(one)), key=len, default=None)
    if name is None:
        raise KeyError(text)
    fields = {"title": text, "howpublished": "Computer program"}
    return Entry(key_of(text), "misc", fields | known[name])


def key_of(text: str) -> str:
    """A key of BibTeX for a program."""
    return NOT_IN_KEYS.sub("-", text.lower()).strip("-")
