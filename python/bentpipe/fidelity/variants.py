"""Parsing of `--vary PATH=VALUES`, and all combinations of the values."""

from __future__ import annotations

import json
import tomllib
from itertools import product
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError
from bentpipe.prototypes.spec import items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.fidelity.experiment import Parameters


def combinations(varied: Sequence[str]) -> list[Parameters]:
    """One set of overrides for each combination. The values of the last path vary fastest."""
    axes = [_axis(text) for text in varied]
    paths = [path for path, _ in axes]
    return [
        dict(zip(paths, values, strict=True)) for values in product(*(values for _, values in axes))
    ]


def _axis(text: str) -> tuple[str, list[str]]:
    """The path and its values: `a,b`, or the TOML array `["a", "b"]` for values with commas."""
    path, equals, listed = text.partition("=")
    if not (equals and path.strip() and listed.strip()):
        raise BentpipeError(f"--vary: expected PATH=VALUE,VALUE..., found {text!r}")
    if listed.lstrip().startswith("["):
        try:
            values = [_written(value) for value in tomllib.loads(f"values = {listed}")["values"]]
        except tomllib.TOMLDecodeError as error:
            raise BentpipeError(f"--vary {path}: {error}") from error
    else:
        values = items(f"--vary {path.strip()}", listed)
    if not all(values) or len(set(values)) < max(len(values), 1):
        raise BentpipeError(f"--vary {path}: expected different values, found {listed}")
    return path.strip(), values


def _written(value: Any) -> str:
    """A value in the notation of TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_written(v)}" for key, v in value.items()) + " }"
    return json.dumps(value)
