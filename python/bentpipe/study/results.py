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

    @property
    def means(self) -> pl.DataFrame:
        """One row for each variant and quantity: its parameters by their labels, and the estimate.

        `mean`, `low`, `high` (95 % interval) and `median` are in the unit of the rows. The types of
        columns do not depend on the values of the quantities, so frames can be concatenated.
        """
        import polars as pl

        from bentpipe.study.store import type_of

        parameters = self.study.parameters
        types = [type_of(one.plain) for one in parameters]
        rows = []
        for cell in self.cells:
            low, high = cell.ci95 or (None, None)
            own = [cell.parameters[one.path] for one in parameters]
            texts = [str(v) if t == pl.String else v for v, t in zip(own, types, strict=True)]
            rows.append((*texts, cell.quantity, cell.unit, cell.n, cell.mean, low, high,
                         cell.median))  # fmt: skip
        columns = {
            "quantity": pl.String, "unit": pl.String, "n": pl.Int64, "mean": pl.Float64,
            "low": pl.Float64, "high": pl.Float64, "median": pl.Float64,
        }  # fmt: skip
        # A parameter can have the label of a column.
        names = [one.path if one.label in columns else one.label for one in parameters]
        schema = dict(zip(names, types, strict=True)) | columns
        return pl.DataFrame(rows, schema=schema, orient="row")

    def to_pandas(self) -> Any:
        """The rows, one for each run, as a data frame of pandas.

        `BentpipeError` if pandas is not installed.
        """
        from bentpipe.frames import to_pandas

        return to_pandas(self.rows)

    def __str__(self) -> str:
        from bentpipe.study.shown import results_text

        return results_text(self)

    def _repr_html_(self) -> str:
        from bentpipe.study.shown import results_html

        return results_html(self)

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

    def table(
        self, form: TableFormat = "markdown", *, of: Content = "means", long: bool = False
    ) -> str:
        """The means with their intervals as `markdown`, `latex` (booktabs) or `csv`.

        A table of means in LaTeX has the controllers (or the other parameter that is compared) in
        its columns, the best mean of a row in bold, and the same digits in all rows of a quantity.
        With `long` it has one row for each mean, as Markdown and CSV. With `of="differences"`, the
        paired differences of the comparisons.
        """
        from bentpipe.study.tables import table

        return table(self, form, of, long=long)

    @property
    def comparisons(self) -> list[Difference]:
        """Paired differences from the baselines, with intervals."""
        return [Difference.read(row) for row in self.summary["comparisons"]]
