"""Results of a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.study.estimates import Difference, Estimate

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
    def cells(self) -> list[Estimate]:
        """Mean, interval, median and percentiles of each quantity in each variant."""
        return [Estimate.read(cell) for cell in self.summary["cells"]]

    @property
    def comparisons(self) -> list[Difference]:
        """Paired differences from the baselines, with intervals."""
        return [Difference.read(row) for row in self.summary["comparisons"]]
