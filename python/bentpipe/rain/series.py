"""A time series of attenuation, and the file that the channel of a scenario reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.errors import RainError
from bentpipe.tables import SUFFIXES, save_table

if TYPE_CHECKING:
    import os

    from bentpipe.rain.gaussian import Array

MOST_SAMPLES = 40_000_000
"""Maximum number of samples, 15 months at 1 s. More would not fit the memory of small machines."""


METHOD = "bentpipe rain, method"
"""Key of the method in the metadata of Parquet, and the start of a remark in CSV."""

SYNTHETIC = "# A synthetic rain event"
"""The start of the remark of files that no method of `bentpipe rain` made."""


@dataclass(frozen=True, eq=False)
class Series:
    """Attenuation over time, both arrays of shape (samples,).

    - `time_s`: seconds from 0, in equal steps
    - `attenuation_db`: rain attenuation in dB, not negative
    - `method`: name of the method that made it, which Parquet keeps for `bentpipe cite`
    """

    time_s: Array
    attenuation_db: Array
    method: str = ""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `time_s,attenuation_db` as CSV or Parquet, by the suffix of `path`.

        The file is written completely or not at all. An existing file is replaced. `RainError` for
        another suffix, `OutputError` if the file cannot be written.
        """
        import polars as pl

        target = Path(path)
        check_suffix(target)
        frame = pl.DataFrame({"time_s": self.time_s, "attenuation_db": self.attenuation_db})
        save_table(frame, target, {METHOD: self.method})


def remark(method: str) -> str:
    """The first line of a CSV file of a scenario. Files of series have none, for other programs."""
    return f"# {METHOD} {method}\n"


def method_of(path: Path) -> str | None:
    """The method that a file names; None if it names none. `OSError` if it cannot be read."""
    if path.suffix == ".parquet":
        import polars as pl

        return pl.read_parquet_metadata(path).get(METHOD) or None
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    for start, method in ((f"# {METHOD} ", None), (SYNTHETIC, "synthetic")):
        if first.startswith(start):
            return method or first.removeprefix(start).strip()
    return None


def check_suffix(path: Path) -> None:
    """Check that the suffix is that of CSV or Parquet; `RainError` otherwise."""
    if path.suffix not in SUFFIXES:
        raise RainError("path", f"a file that ends in {' or '.join(SUFFIXES)}", str(path))


def steps_in(duration_s: float, step_s: float, fewest: int = 1) -> int:
    """The number of steps in the duration; `RainError` if it is not a whole number."""
    step_ns = nanoseconds("step_s", step_s)
    steps, rest = divmod(nanoseconds("duration_s", duration_s), step_ns)
    if rest or not fewest <= steps < MOST_SAMPLES:
        expected = f"a whole number of steps of {step_s:g} s, from {fewest} to {MOST_SAMPLES - 1}"
        raise RainError("duration_s", expected, f"{duration_s:g} s")
    return steps


def times(steps: int, step_s: float) -> Array:
    """Instants 0, step, 2 step, ... in seconds, each the nearest to its decimal number."""
    instants: Array = np.arange(steps + 1) * nanoseconds("step_s", step_s) / 1e9
    return instants


def nanoseconds(parameter: str, seconds: float) -> int:
    """A time in whole nanoseconds, at least one; at most 100 years."""
    if not 1e-9 <= seconds <= 3.2e9:
        raise RainError(parameter, "a time from 1 ns to 100 years", f"{seconds:g} s")
    return round(seconds * 1e9)
