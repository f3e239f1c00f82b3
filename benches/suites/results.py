"""docs/fidelity.json: results of suites, one line for each cell.

A line for each value takes half as many bytes again. No digit is left out.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from suites.suite import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

RESULTS = ROOT / "docs" / "fidelity.json"


def load() -> dict[str, Any]:
    """The results of all suites, by their names."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def save(results: dict[str, Any]) -> None:
    """Write the results of all suites."""
    RESULTS.write_text(text_of(results))


def text_of(results: dict[str, Any]) -> str:
    """Results as JSON: the keys of suites and the items of their lists have lines of their own."""
    suites = (
        f"{json.dumps(name)}: {{\n{_joined(map(_line, found.items()))}\n}}"
        for name, found in results.items()
    )
    return f"{{\n{_joined(suites)}\n}}\n"


def _line(entry: tuple[str, Any]) -> str:
    key, value = entry
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return f"{json.dumps(key)}: [\n{_joined(map(_compact, value))}\n]"
    return f"{json.dumps(key)}: {_compact(value)}"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _joined(lines: Iterable[str]) -> str:
    return ",\n".join(lines)
