"""A controller with its parameters as one text.

cubic                                   a controller of the registry
hybla:rtt0=0.05:pacing=off              with parameters, each after a colon
{ name = "hybla", rtt0 = 0.05 }         the same as a table
mine.py:Mine                            a class in a file
package.module:Mine:kept=0.5            a class of a module that can be imported, with an argument
"""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe.console import nearest
from bentpipe.errors import ControllerError, InputError
from bentpipe.problems import UnfitError, quoted

if TYPE_CHECKING:
    from bentpipe._native import Scenario

CONTROLLER_PATH = re.compile(r"flow\.[^.]+\.controller")
"""The paths of a scenario that name a controller."""
PARAMETER = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(\S.*?)\s*")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
FORM = 'a controller such as "cubic", "hybla:rtt0=0.05" or "mine.py:Mine"'


@dataclass(frozen=True)
class Spec:
    """A controller of the registry or a class in Python, with parameters."""

    target: str
    """The name in the registry, or `FILE.py:CLASS`, or `MODULE:CLASS`."""
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def in_python(self) -> bool:
        """True for a class, false for a controller of the registry."""
        return ":" in self.target

    @property
    def setting(self) -> str:
        """The value of `flow.controller` for a controller of the registry, as TOML."""
        return table(self.target, self.parameters) if self.parameters else self.target

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Read a text; `UnfitError` if it has another form."""
        if text.lstrip().startswith("{"):
            return cls.of_table(text)
        first, *rest = text.strip().split(":")
        if rest and "=" not in rest[0]:
            first = f"{first}:{rest.pop(0).strip()}"
        parameters: dict[str, Any] = {}
        for part in (one for group in rest for one in separated(group)):
            found = PARAMETER.fullmatch(part)
            if not found:
                raise UnfitError("a parameter as NAME=VALUE", f"{quoted(part)} in {quoted(text)}")
            if found[1] in parameters:
                raise UnfitError("each parameter once", f"{found[1]} twice in {quoted(text)}")
            parameters[found[1]] = value_of(found[2])
        if not all(first.strip().split(":")):
            raise UnfitError(FORM, quoted(text))
        return cls(first.strip(), parameters)

    @classmethod
    def of_table(cls, text: str) -> Spec:
        """Read an inline table of TOML."""
        try:
            parameters = tomllib.loads(f"it = {text}")["it"]
            return cls(str(parameters.pop("name")), parameters)
        except (tomllib.TOMLDecodeError, KeyError):
            raise UnfitError('a table such as { name = "hybla", rtt0 = 0.05 }', text) from None


def table(name: str, parameters: Mapping[str, Any]) -> str:
    """A controller with its parameters as an inline table of TOML."""
    return inline({"name": name, **parameters})


def inline(value: Any) -> str:
    """A value of TOML on one line."""
    if isinstance(value, Mapping):
        pairs = (f"{key_of(key)} = {inline(one)}" for key, one in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, float):
        return repr(value)  # which is nan and inf, where JSON has NaN and Infinity
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return json.dumps(value)


def key_of(key: str) -> str:
    """A key of TOML, in quotes where it has other characters."""
    return key if BARE_KEY.fullmatch(key) else json.dumps(key)


def value_of(text: str) -> Any:
    """A value of TOML, or the text itself."""
    try:
        return tomllib.loads(f"it = {text}")["it"]
    except tomllib.TOMLDecodeError:
        return text


def flows_of(path: str, scenario: Scenario) -> str:
    """The name of the flow whose controller a path sets, or `*`.

    `ControllerError` if the scenario has no flow of that number or name.
    """
    flow = path.split(".")[1]
    if flow == "*":
        return flow
    names = [one.name for one in scenario.explain().flows]
    if not flow.isdecimal():
        if flow not in names:
            raise ControllerError(f"{path}: there is no flow {flow!r}{nearest(flow, names)}")
        return flow
    if int(flow) >= len(names):
        expected = f"a flow from 0 to {len(names) - 1}"
        raise ControllerError(f"{path}: expected {expected}, found {flow}")
    return names[int(flow)]


def separated(text: str) -> list[str]:
    """The parts between commas, except commas in brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            depth += (char in "{[(") - (char in "}])")
        if char == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def items(option: str, text: str) -> list[str]:
    """The values in the comma-separated list of an option; `InputError` if one is empty."""
    found = separated(text)
    if not all(found):
        expected = "values with commas between them" if len(found) > 1 else "a value"
        reason = ": one of them is empty" if len(found) > 1 else ""
        raise InputError(f"{option}: expected {expected}, found {quoted(text)}{reason}")
    return found


def listed(option: str, text: str) -> list[str]:
    """The controllers in the comma-separated list of an option, each once.

    A part that only has a parameter belongs to the controller before it, as the second part of
    `hybla:rtt0=0.05,pacing=off`. `InputError` if one is empty.
    """
    found: list[str] = []
    for part in items(option, text):
        name, sign, _ = part.partition("=")
        if found and sign and ":" not in name and not part.startswith("{"):
            found[-1] += f":{part}"
        else:
            found.append(part)
    return list(dict.fromkeys(found))
