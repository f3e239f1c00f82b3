"""Looks of series: colour, dash and shape, equal for one thing in all figures of a page.

A thing is a flow, a link direction, a controller or another value. A series is about the first
thing that its name mentions: `hybla minus newreno` is about hybla.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from bentpipe.plots.theme import DASHES, PALETTE, SHAPES

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_SERIES = len(PALETTE) * len(DASHES)
"""Maximum number of series that readers can distinguish by colour with dash or shape."""


@dataclass(frozen=True)
class Look:
    """Indices of a colour of the palette, of a dash and of a shape."""

    colour: int
    dash: int
    shape: int

    @staticmethod
    def numbered(number: int) -> Look:
        """The look of the series with this number. Those below `MOST_SERIES` all differ."""
        turn, colour = divmod(number, len(PALETTE))
        return Look(colour, turn % len(DASHES), (colour + turn) % len(SHAPES))


def usual(series: Sequence[str]) -> list[Look]:
    """The looks of the series of a figure that stands alone."""
    return [Look.numbered(number) for number in range(len(series))]


def ranges(looks: Sequence[Look]) -> dict[str, list[Any]]:
    """The ranges of the scales of looks, by the name of their channel."""
    return {
        "color": [PALETTE[look.colour] for look in looks],
        "strokeDash": [DASHES[look.dash] for look in looks],
        "shape": [SHAPES[look.shape] for look in looks],
    }


class Wardrobe:
    """The looks of the things of a page, in the order in which they are named."""

    def __init__(self, things: Sequence[str] = ()) -> None:
        self.numbers = {thing: number for number, thing in enumerate(dict.fromkeys(things))}

    def thing_of(self, series: str) -> str:
        """The thing that the name of a series mentions first; the name itself if it has none."""
        found = [
            (match.start(), -len(thing), thing)
            for thing in self.numbers
            if (match := token(thing).search(series))
        ]
        return min(found)[2] if found else series

    def looks(self, series: Sequence[str]) -> list[Look]:
        """The looks of the series of a figure: the colours of their things, and all different."""
        found: list[Look] = []
        for name in series:
            number = self.numbers.setdefault(self.thing_of(name), len(self.numbers))
            # Series of one thing differ by dash and shape; with more than these, also by colour.
            free = (
                Look(
                    look.colour, (look.dash + more) % len(DASHES), (look.shape + more) % len(SHAPES)
                )
                for turn in range(len(PALETTE))
                for look in [Look.numbered(number + turn)]
                for more in range(len(DASHES))
            )
            look = next((one for one in free if different(one, found)), Look.numbered(number))
            found.append(look)
        return found


def different(look: Look, others: Sequence[Look]) -> bool:
    """True if neither a line nor a point of another look is the same."""
    return all(
        look.colour != other.colour or (look.dash != other.dash and look.shape != other.shape)
        for other in others
    )


@cache
def token(thing: str) -> re.Pattern[str]:
    """The thing as a whole word, so that `cubic` is not found in `cubic-hystart`."""
    return re.compile(rf"(?<![\w.:=-]){re.escape(thing)}(?![\w=-]|[:.]\w)")


def dressed(node: Any, series: Sequence[str], looks: Sequence[Look]) -> Any:
    """The specification with other looks of its series. Lines get the dashes that they need."""
    if isinstance(node, list):
        return [dressed(each, series, looks) for each in node]
    if not isinstance(node, dict):
        return node
    changed = {key: dressed(value, series, looks) for key, value in node.items()}
    encoding = changed.get("encoding")
    if not isinstance(encoding, dict):
        return changed
    wanted = ranges(looks)
    for channel, values in wanted.items():
        found = encoding.get(channel)
        if isinstance(found, dict) and found.get("scale", {}).get("domain") == list(series):
            found["scale"] = found["scale"] | {"range": values}
    of_series = isinstance(encoding.get("color"), dict) and "scale" in encoding["color"]
    if mark_of(changed) == "line" and of_series and any(look.dash for look in looks):
        scale = {"domain": list(series), "range": wanted["strokeDash"]}
        legend = {key: encoding["color"][key] for key in ("legend",) if key in encoding["color"]}
        encoding["strokeDash"] = {
            "field": "series", "type": "nominal", "scale": scale, **legend
        }  # fmt: skip
    return changed


def mark_of(node: dict[str, Any]) -> str:
    """The kind of the mark of a layer; empty without one."""
    mark = node.get("mark", "")
    return str(mark.get("type", "") if isinstance(mark, dict) else mark)
