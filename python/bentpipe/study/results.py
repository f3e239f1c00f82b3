"""Results of a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.study.estimates import Difference, Estimate

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.plots import Figure
    from bentpipe.study.figures import Kind
    from bentpipe.study.plan import Study
    from bentpipe.study.tables import Content, TableFormat


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

    def plot(
        self,
        x: str,
        y: str,
        hue: str | None = None,
        *,
        kind: Kind = "interval",
        panel: str | None = None,
    ) -> Figure:
        """A figure of the quantity `y` over the parameter `x`, a series for each value of `hue`.

        With `panel`, there is a panel with the same scales for each value of that parameter. `x`,
        `hue` and `panel` are labels of parameters, `y` is the name of a quantity. `kind` is
        `interval` (means with 95 % intervals), `box` or `strip` (single runs), or `ecdf` (the share
        of runs up to each value). Parameters that are not named become part of the series.
        `InputError` for other names. `figure.for_paper(1)` has the width of one column of a paper.
        """
        from bentpipe.study.figures import plot

        return plot(self, x, y, hue, kind, panel)

    def table(self, form: TableFormat = "markdown", *, of: Content = "means") -> str:
        """The means with their intervals as `markdown`, `latex` (booktabs) or `csv`.

        With `of="differences"`, the paired differences of the comparisons.
        """
        from bentpipe.study.tables import table

        return table(self, form, of)

    @property
    def comparisons(self) -> list[Difference]:
        """Paired differences from the baselines, with intervals."""
        return [Difference.read(row) for row in self.summary["comparisons"]]
