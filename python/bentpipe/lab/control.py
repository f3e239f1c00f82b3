"""A control of the page: one value of a scenario, with the values that a reader can choose."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe.numbers import scale, typeset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bentpipe.compare.links import Link

Changes = dict[str, Any]
"""Values by their paths in a scenario, for `Scenario.with_`."""


@dataclass(frozen=True)
class Option:
    """A value in the notation of scenarios; None leaves the scenario as it is."""

    value: str | bool | None
    text: str


@dataclass(frozen=True)
class Control:
    """A value of the scenario that the page can change."""

    id: str
    group: str
    label: str
    kind: str
    """`slider`, `choice` or `switch`."""
    options: Sequence[Option]
    """In the order of the slider or list. One of them has the value None."""
    changes: Callable[[Any, Link], Changes] = field(repr=False)
    """Changes that set a value, on a link with the changes of all controls before."""
    help: str = ""
    compared: bool = False
    """True if a value can be the scenario's own one, written differently."""

    def to_dict(self) -> dict[str, Any]:
        """The control for the page."""
        options = [{"value": one.value, "text": one.text} for one in self.options]
        return {"id": self.id, "group": self.group, "label": self.label, "kind": self.kind,
                "options": options, "help": self.help}  # fmt: skip


def slider(
    name: str,
    group: str,
    label: str,
    numbers: Sequence[float],
    now: float | None,
    notation: Callable[[float], str],
    text: Callable[[float], str],
    changes: Callable[[Any, Link], Changes],
    about: str = "",
    now_text: str = "",
) -> Control:
    """A slider over numbers, with the scenario's own value in its place among them.

    With `now_text`, the own value is in another notation than the others. Without a number it
    stands first.
    """
    shown = [one for one in numbers if now_text or one != now]
    others = [Option(notation(one), text(one)) for one in shown]
    before = 0 if now is None else sum(one < now for one in shown)
    own = Option(None, now_text or ("" if now is None else text(now)))
    options = [*others[:before], own, *others[before:]]
    return Control(name, group, label, "slider", options, changes, about)


def switch(
    name: str,
    group: str,
    label: str,
    changes: Callable[[Any, Link], Changes],
    about: str = "",
) -> Control:
    """A switch that makes the changes."""
    options = [Option(None, "off"), Option(True, "on")]
    return Control(name, group, label, "switch", options, changes, about)


def spaced(text: str) -> str:
    """A value in the notation of scenarios, for people: `60ms` becomes `60 ms`."""
    return typeset(re.sub(r"(?<=\d)(?=[A-Za-z])(?!e[-+]?\d)", " ", text))


def unspaced(text: str) -> str:
    """A value for people, in the notation of scenarios: `60 ms` becomes `60ms`."""
    return text.replace(" ", "")


def short(value: float, unit: str) -> str:
    """A value with three significant digits at most, and a suitable unit."""
    size, name = scale(unit, [value])
    return f"{rounded(value / size):g} {name}"


def rounded(value: float) -> float:
    """The number with three significant digits, so that 0.30000000000000004 is 0.3."""
    return float(f"{value:.3g}")
