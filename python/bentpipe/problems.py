"""Problems that the reader of a study finds after its keys and values were checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe._native import near_names
from bentpipe.console import alternatives

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bentpipe._native import StudySource

Key = tuple[str | int, ...]
"""A place in a study file: `("quantity", 0, "name")`."""


@dataclass(frozen=True)
class StudyProblem:
    """A problem at a path of a study."""

    path: Key
    expected: str
    found: str
    reason: str | None = None
    suggestion: str | None = None


class UnfitError(ValueError):
    """A value that cannot be right, before its place in a study is known.

    `at` is the key below the place that the caller knows.
    """

    def __init__(
        self, expected: str, found: str, *, suggestion: str | None = None, at: Key = ()
    ) -> None:
        hint = f"; did you mean {suggestion}?" if suggestion else ""
        super().__init__(f"expected {expected}, found {found}{hint}")
        self.expected = expected
        self.found = found
        self.suggestion = suggestion
        self.at = at


class Problems:
    """Collects the problems of a study, to report all of them at once."""

    def __init__(self, source: StudySource) -> None:
        self.source = source
        self.found: list[StudyProblem] = []

    def add(
        self,
        path: Key,
        expected: str,
        found: str,
        *,
        reason: str | None = None,
        suggestion: str | None = None,
    ) -> None:
        """Add a problem at `path`, or at the nearest table that was written."""
        self.found.append(StudyProblem(path, expected, found, reason, suggestion))

    def add_unfit(self, path: Key, error: UnfitError) -> None:
        """Add a problem of a value at `path`."""
        self.add((*path, *error.at), error.expected, error.found, suggestion=error.suggestion)

    def add_unknown(self, path: Key, what: str, name: str, known: Iterable[str]) -> None:
        """Add the problem that `name` is none of the names `known`."""
        names = list(known)
        expected = f"{what}: {listed(names)}" if names else f"{what}, but there are none"
        self.add(path, expected, quoted(name), suggestion=suggested(name, names))

    def report(self) -> None:
        """Raise `StudyError` if there are problems."""
        if self.found:
            raise self.source.error(self.found)


def quoted(value: object) -> str:
    """A value in the notation of a study file."""
    return json.dumps(value, ensure_ascii=False, default=repr)


def listed(names: Iterable[str]) -> str:
    """Names in the notation of a study file."""
    return ", ".join(map(quoted, names))


def suggested(name: str, known: Iterable[str]) -> str | None:
    """The nearest valid names in the notation of a study file."""
    near = near_names(name, list(known))
    return alternatives(map(quoted, near)) if near else None
