"""Parameters of a study: paths in the scenario and their values."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from bentpipe.problems import UnfitError, quoted
from bentpipe.prototypes.spec import CONTROLLER_PATH, Spec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Value = bool | int | float | str
"""A value in the notation of scenarios. A controller can have parameters, or be a class in Python:
`"hybla:rtt0=0.05"`, `"mine.py:Mine"` (`bentpipe.prototypes.spec`)."""

NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-zµ%][A-Za-z/%]*)?\s*")
DIGITS = 12
"""Significant digits of the values of a range: 1e-7 instead of 9.99999999999999e-08."""
MOST_VALUES = 100_000
LARGEST_EXPONENT = 300
"""Largest power of ten of a number, so that it fits a double."""


@dataclass(frozen=True)
class Parameter:
    """A path in the scenario with its values in the notation of scenarios, such as `"10ms"`."""

    label: str
    path: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if isinstance(self.values, str):
            expected = f"values in a list, such as [{self.values!r}]"
            raise UnfitError(expected, quoted(self.values), at=("values",))

    @property
    def names_controllers(self) -> bool:
        """True if the values are controllers."""
        return CONTROLLER_PATH.fullmatch(self.path) is not None

    def spec(self, number: int) -> Spec | None:
        """The controller that value `number` names; None if it is not one, or only a name."""
        value = self.values[number]
        if not self.names_controllers or not isinstance(value, str) or ":" not in value:
            return None
        spec = Spec.parse(value)
        return spec if spec.in_python or not is_table(value) else None

    @property
    def unit(self) -> str | None:
        """The unit of all values; None if there is none or several."""
        units = {found[1] if (found := split(value)) else None for value in self.values}
        return units.pop() if len(units) == 1 else None

    @property
    def heading(self) -> str:
        """The label, with the unit if all values have the same."""
        return f"{self.label} {self.unit}" if self.unit else self.label

    @property
    def plain(self) -> tuple[Value, ...]:
        """The values for tables and figures, without their unit if all have the same."""
        if self.unit is None:
            return self.values
        return tuple(whole(number) for number, _ in map(written, self.values))

    def set(self, number: int) -> str:
        """The override that sets the path to value `number`."""
        value = self.values[number]
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if spec := self.spec(number):
            text = spec.setting
        return f"{self.path}={text}"


def is_table(text: str) -> bool:
    """True for an inline table of TOML, which scenarios read themselves."""
    return text.lstrip().startswith("{")


def split(value: Value) -> tuple[Decimal, str] | None:
    """Number and unit of `"10ms"`; None for a value without unit."""
    match = NUMBER.fullmatch(value) if isinstance(value, str) else None
    if not match or not match[2]:
        return None
    try:
        return decimal(match[1]), match[2]
    except ValueError:
        return None


def written(value: Value, at: str = "") -> tuple[Decimal, str]:
    """Number and unit, which may be empty; `UnfitError` at the key `at` for other values."""
    match = None if isinstance(value, bool) else NUMBER.fullmatch(str(value))
    if not match:
        raise UnfitError("a number with its unit", quoted(value), at=(at,))
    return decimal(match[1], at), match[2] or ""


def decimal(text: str, at: str = "") -> Decimal:
    """The number; `UnfitError` if it does not fit a double."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("inf")
    if not number.is_finite() or abs(number.adjusted()) > LARGEST_EXPONENT:
        expected = f"numbers from 1e-{LARGEST_EXPONENT} to 1e{LARGEST_EXPONENT}"
        raise UnfitError(expected, text, at=(at,))
    return number


def identity(value: object) -> object:
    """Equal for values that are written differently: `10ms` is `10.0ms`. True is not 1."""
    if isinstance(value, tuple):
        return tuple(map(identity, value))
    if isinstance(value, bool):
        return repr(value)
    if isinstance(value, int | float):
        return Decimal(repr(value))
    found = split(value) if isinstance(value, str) else None
    return found or repr(value)


def overlap(path: str, other: str) -> bool:
    """True if both paths can set the same value. `*` is any entry; a table includes its keys."""
    pairs = zip(path.split("."), other.split("."), strict=False)
    return all(this == that or "*" in (this, that) for this, that in pairs)


def whole(number: Decimal) -> int | float:
    """An integer where it is one."""
    return int(number) if number == number.to_integral_value() else float(number)


def rounded(number: float) -> Decimal:
    """The number with `DIGITS` significant digits."""
    return Decimal(f"{number:.{DIGITS}g}")


def spaced(start: Value, end: Value, *, step: Value | None, count: int | None) -> tuple[Value, ...]:
    """Values from `start` to `end`, in equal steps; `UnfitError` if they are invalid."""
    low, high, unit = ends(start, end)
    if step is not None:
        width, width_unit = written(step, "step")
        if width_unit != unit:
            expected = f"a step in {unit}" if unit else "a step without unit"
            raise UnfitError(expected, quoted(step), at=("step",))
        if width * (high - low) <= 0:
            raise UnfitError(f"a step that leads from {start} to {end}", quoted(step), at=("step",))
        number = int((high - low) / width) + 1
        if number > MOST_VALUES:
            raise UnfitError(f"a step to at most {MOST_VALUES} values", quoted(step), at=("step",))
        return tuple(with_unit(low + i * width, unit) for i in range(number))
    number = counted(count)
    width = (high - low) / (number - 1)
    return tuple(with_unit(rounded(float(low + i * width)), unit) for i in range(number))


def log_spaced(start: Value, end: Value, count: int | None) -> tuple[Value, ...]:
    """Values from `start` to `end`, each the same multiple of the previous one."""
    low, high, unit = ends(start, end)
    if low <= 0 or high <= 0:
        at, wrong = ("from", start) if low <= 0 else ("to", end)
        raise UnfitError("ends above zero", quoted(wrong), at=(at,))
    number = counted(count)
    first, ratio = math.log10(low), math.log10(high / low)
    values = [rounded(10 ** (first + ratio * i / (number - 1))) for i in range(number)]
    return tuple(with_unit(value, unit) for value in [low, *values[1:-1], high])


def ends(start: Value, end: Value) -> tuple[Decimal, Decimal, str]:
    """Both ends and their common unit."""
    (low, unit), (high, other) = written(start, "from"), written(end, "to")
    if unit != other:
        found = f"{quoted(start)} and {quoted(end)}"
        raise UnfitError("both ends in one unit", found, at=("to",))
    if low == high:
        raise UnfitError("two different ends", f"{quoted(start)} twice", at=("to",))
    return low, high, unit


def counted(count: int | None) -> int:
    """The number of values, at least 2 for both ends."""
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_VALUES:
        raise UnfitError(f"a count from 2 to {MOST_VALUES}", quoted(count), at=("count",))
    return count


def with_unit(number: Decimal, unit: str) -> Value:
    """The value in the notation of scenarios."""
    plain = whole(number)
    return f"{plain}{unit}" if unit else plain


def axes(parameters: Sequence[Parameter], zips: Sequence[Sequence[str]]) -> list[list[Parameter]]:
    """Groups of paired parameters and single ones, in the order of the first of each group."""
    together = {label: group for group in zips for label in group}
    found: list[list[Parameter]] = []
    for parameter in parameters:
        group = together.get(parameter.label, [parameter.label])
        axis = next((axis for axis in found if axis[0].label in group), None)
        if axis is None:
            found.append([parameter])
        else:
            axis.append(parameter)
    return found


def points(axes: Sequence[Sequence[Parameter]]) -> Iterator[dict[str, int]]:
    """All combinations: for each label the index of its value. The last axis varies fastest."""
    for numbers in itertools.product(*(range(len(axis[0].values)) for axis in axes)):
        yield {
            parameter.label: number
            for axis, number in zip(axes, numbers, strict=True)
            for parameter in axis
        }
