"""Places of the texts in an SVG of Vega, and those that overlap."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import combinations
from xml.etree import ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
NARROW, WIDE = set("ijlIftr.,:;'|!()[] /-"), set("mwMW%@")
ANCHORS = {"start": 0.0, "middle": 0.5, "end": 1.0}
TOUCHING = 1.0
"""Pixels of an overlap that nobody sees, because our widths of letters are estimates."""

Corner = tuple[float, float]


@dataclass(frozen=True)
class Text:
    """A text with the four corners of its box, which may be rotated."""

    text: str
    corners: tuple[Corner, ...]


def drawn_texts(svg: str) -> list[Text]:
    """All visible texts of an SVG."""
    found: list[Text] = []
    visit(ET.fromstring(svg), (0.0, 0.0), found)
    return found


def visit(element: ET.Element, at: Corner, found: list[Text]) -> None:
    """Append the texts below `element`. Only texts are rotated by Vega, groups are not."""
    x, y, angle = transform(element.get("transform", ""))
    at = (at[0] + x, at[1] + y)
    if element.tag == f"{SVG}text":
        words = words_of(element)
        if words and element.get("opacity") != "0":
            found.append(Text(words, corners(element, words, at, angle)))
        return
    assert angle == 0 or element.tag == f"{SVG}text"
    for child in element:
        visit(child, at, found)


ABOVE = str.maketrans("\N{MINUS SIGN}0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def words_of(element: ET.Element) -> str:
    """The text of an element, in which raised digits are exponents again."""
    parts = [element.text or ""]
    for part in element:
        is_raised = (part.get("dy") or "").startswith("-")
        parts.append((part.text or "").translate(ABOVE) if is_raised else part.text or "")
    return "".join(parts)


def transform(text: str) -> tuple[float, float, float]:
    """The sum of the translations, and the rotation in degrees. A shift after it is rotated."""
    x = y = angle = 0.0
    for name, arguments in re.findall(r"(\w+)\(([^)]*)\)", text):
        values = [float(value) for value in re.split(r"[ ,]+", arguments.strip())]
        if name == "rotate":
            angle += values[0]
        else:
            assert name == "translate", name
            dx, dy = rotated((values[0], values[1] if len(values) > 1 else 0.0), angle)
            x, y = x + dx, y + dy
    return x, y, angle


def rotated(point: Corner, angle: float) -> Corner:
    """The point turned by degrees, clockwise as in SVG."""
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return point[0] * cos - point[1] * sin, point[0] * sin + point[1] * cos


def corners(element: ET.Element, words: str, at: Corner, angle: float) -> tuple[Corner, ...]:
    """The corners of the box of a text, from estimated widths of Arial's letters."""
    size = float((element.get("font-size") or "11px").removesuffix("px"))
    width = sum(0.28 if letter in NARROW else 0.85 if letter in WIDE else 0.55 for letter in words)
    left = -ANCHORS[element.get("text-anchor", "start")] * width * size
    box = [(left, -0.72 * size), (left + width * size, -0.72 * size)]
    box += [(left + width * size, 0.2 * size), (left, 0.2 * size)]
    turned = (rotated(corner, angle) for corner in box)
    return tuple((at[0] + x, at[1] + y) for x, y in turned)


def collisions(texts: list[Text]) -> list[tuple[str, str]]:
    """The pairs of texts whose boxes overlap."""
    return [(one.text, two.text) for one, two in combinations(texts, 2) if overlap(one, two)]


def overlap(one: Text, two: Text) -> bool:
    """True if no side of either box separates them (separating axis theorem)."""
    for box in (one.corners, two.corners):
        for (x0, y0), (x1, y1) in ((box[0], box[1]), (box[1], box[2])):
            length = math.hypot(x1 - x0, y1 - y0)
            if not length:
                return False
            axis = ((x1 - x0) / length, (y1 - y0) / length)
            a, b = ([x * axis[0] + y * axis[1] for x, y in text.corners] for text in (one, two))
            if min(max(a), max(b)) - max(min(a), min(b)) < TOUCHING:
                return False
    return True
