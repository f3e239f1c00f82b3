"""Checks of the arguments that a program gives to a function of the package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bentpipe.errors import InputError


def text(name: str, value: Any, expected: str) -> str:
    """The text of an argument. `InputError` for another type, such as a class."""
    if not isinstance(value, str):
        raise InputError.of_value(name, expected, repr(value))
    return value


def texts(name: str, values: Any, example: str, *, least: int = 1) -> list[str]:
    """The texts of an argument, at least `least`. `InputError` for one alone and other types."""
    listed = "at least one text in a list" if least else "a list of texts"
    expected = f"{listed}, such as [{example!r}]"
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError.of_value(name, expected, repr(values))
    found = list(values)
    if len(found) < least:
        raise InputError.of_value(name, expected, "an empty list")
    for number, one in enumerate(found):
        text(f"{name}[{number}]", one, f"a text such as {example!r}")
    return found


def whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least`. `InputError` for others, and for True and False."""
    if type(value) is not int or value < least:
        raise InputError.of_value(name, f"a whole number of at least {least}", repr(value))
    return value
