"""Results of a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.study.plan import Study


@dataclass(frozen=True)
class Results:
    """The rows of a study, one for each run by its number, and their summary.

    `summary` is the object that `bentpipe study --json` prints. `complete` is false after Ctrl-C.
    """

    study: Study
    rows: pl.DataFrame
    summary: dict[str, Any]

    @property
    def complete(self) -> bool:
        """True if all runs of the study are complete."""
        return bool(self.summary["complete"])

    @property
    def cells(self) -> list[dict[str, Any]]:
        """Mean, interval, median and percentiles of each quantity in each variant."""
        found: list[dict[str, Any]] = self.summary["cells"]
        return found

    @property
    def comparisons(self) -> list[dict[str, Any]]:
        """Paired differences from the baselines, with intervals."""
        found: list[dict[str, Any]] = self.summary["comparisons"]
        return found
