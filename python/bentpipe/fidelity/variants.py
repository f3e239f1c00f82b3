"""What `--vary PATH=VALUES` says, and all combinations of it."""

from __future__ import annotations

import json
import tomllib
from itertools import product
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.fidelity.experiment import Parameters


def combinations(varied: Sequence[str]) -> list[Parameters]:
    """One set of overrides for each combination, the values of the last path varying fastest."""
    axes = [_axis(text) for text in varied]
    paths = [path for path, _ in axes]
    return [
        dict(zip(paths, values, strict=True)) for values in product(*(values for _, values in axes))
    ]


def _axis(text: str) -> tuple[str, list[str]]:
    """The path and its values: `a,b`, or for what has commas in it the TOML array `["a", "b"]`."""
    path, equals, listed = text.partition("=")
    if not (equals and path.strip() and listed.strip()):
        raise BentpipeError(f"--vary: expected PATH=VALUE,VALUE..., found {text!r}")
    if listed.lstrip().startswith("["):
        try:
            values = [_written(value) for value in tomllib.loads(f"values = {listed}")["values"]]
        except tomllib.TOMLDecodeError as error:
            raise BentpipeError(f"--vary {path}: {error}") from error
    else:
        values = [value.strip() for value in listed.split(",")]
    if not all(values) or len(set(values)) < max(len(values), 1):
        raise BentpipeError(f"--vary {path}: expected values that differ, found {listed}")
    return path.strip(), values


def _written(value: Any) -> str:
    """A value as it stands in TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_written(v)}" for key, v in value.items()) + " }"
    return json.dumps(value)
