"""A parameter of a study on a page: its label, its values in words, and its axis."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bentpipe.numbers import plain, typeset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.plots.marks import XKind


@dataclass(frozen=True)
class Axis:
    """A parameter: its path in the scenario, its label, and its values."""

    path: str
    label: str
    unit: str | None
    values: list[Any]
    words: Mapping[str, str] = field(default_factory=dict)
    """Values in other words than their own, such as the size of a queue in kB and ms."""

    @property
    def numeric(self) -> bool:
        """True if the values can be drawn on an axis of numbers."""
        return len(self.values) > 1 and all(is_number(value) for value in self.values)

    @property
    def kind(self) -> XKind:
        """Logarithmic for values that span a power of ten and are not evenly spaced."""
        if not self.numeric:
            return "nominal"
        low, high = min(self.values), max(self.values)
        steps = [after - before for before, after in pairwise(sorted(self.values))]
        # Two values are as even as they are not.
        is_even = len(steps) > 1 and math.isclose(min(steps), max(steps), rel_tol=1e-6)
        return "log" if low > 0 and high / low >= 10 and not is_even else "linear"

    @property
    def title(self) -> str:
        """The title of an axis, with its unit if it has one."""
        return f"{self.label} ({self.unit})" if self.numeric and self.unit else self.label

    def text(self, value: Any) -> str:
        """A value in words."""
        if str(value) in self.words:
            return f"{self.label} {self.words[str(value)]}"
        if not is_number(value):
            return typeset(str(value))
        return f"{plain(value)} {self.unit}" if self.unit else f"{self.label} {plain(value)}"

    def named(self, value: Any) -> str:
        """A value in words with the name of its parameter, unless it is a word of its own."""
        words = self.text(value)
        return words if words.startswith(self.label) else f"{self.label} {words}"


def is_number(value: Any) -> bool:
    """True for numbers, but not for true and false."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def placed(axes: Sequence[Axis]) -> tuple[Axis | None, list[Axis]]:
    """The parameter on the x axis, and the others. Numbers with most values are preferred."""
    ranked = sorted(axes, key=lambda axis: (not axis.numeric, -len(axis.values)))
    return (ranked[0], [axis for axis in axes if axis is not ranked[0]]) if ranked else (None, [])
