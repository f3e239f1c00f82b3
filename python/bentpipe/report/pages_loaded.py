"""Page load times on the page of a run: a sentence of the summary, and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe.loads import PARTS, by_flow, median
from bentpipe.numbers import count, significant
from bentpipe.report.page import Cell, Column, Table

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.runs import Run

SHARES = {"median": 0.5, "p95": 0.95}


def loaded(run: Run) -> pl.DataFrame:
    """The pages that were loaded completely."""
    return run.pages.drop_nulls("response_s")


def sentence(run: Run) -> str:
    """Median and 95th percentile of the page load times; empty without pages."""
    if run.pages.is_empty():
        return ""
    times = loaded(run)["response_s"]
    missing = run.pages.height - len(times)
    if times.is_empty():
        return f"None of {count(missing)} pages were loaded before the end of the run."
    median, high = (quantile(times, share) for share in SHARES.values())
    rest = f" {count(missing)} more were not loaded before the end of the run." if missing else ""
    pages = "One page was" if len(times) == 1 else f"{count(len(times))} pages were"
    return (
        f"{pages} loaded. The page load time is {significant(median)} s at the median and "
        f"{significant(high)} s at the 95th percentile.{rest}"
    )


def quantile(times: pl.Series, share: float) -> float | None:
    """A quantile of times, linear between two of them."""
    return times.quantile(share, "linear")


def blocks(run: Run) -> list[Table]:
    """The page load times of each flow with pages; nothing without pages."""
    if run.pages.is_empty():
        return []
    names = run.flows["flow"].to_list()
    columns = [
        Column("flow", numeric=False),
        Column("pages loaded"),
        Column("not loaded"),
        *(Column(label, "s") for label in ("minimum", *SHARES, "maximum")),
    ]
    rows = []
    for (flow,), pages in run.pages.group_by("flow", maintain_order=True):
        times = pages["response_s"].drop_nulls()
        ends = [times.min(), *(quantile(times, share) for share in SHARES.values()), times.max()]
        missing = pages.height - len(times)
        rows.append([
            Cell(names[int(flow)]),  # type: ignore[call-overload, unused-ignore]
            Cell(count(len(times)), len(times)),
            Cell(count(missing), missing),
            *(Cell(significant(value), value) for value in ends),  # type: ignore[arg-type]
        ])  # fmt: skip
    return [Table("pages-table", "Page load times", columns, rows), *critical_paths(run)]


def critical_paths(run: Run) -> list[Table]:
    """Medians of the parts of the critical path of each flow that loads pages as browsers do."""
    if "page_loads" not in run.recording.names:
        return []
    columns = [
        Column("flow", numeric=False),
        Column("round trips"),
        Column("byte index", "s"),
        Column("object index", "s"),
        *(Column(words, "s") for words in PARTS.values()),
    ]
    numbers = ("round_trips", "byte_index_s", "object_index_s", *PARTS)
    rows = []
    for flow, complete in by_flow(run.recording.table("page_loads")):
        values = [median(complete[column]) for column in numbers]
        rows.append([Cell(flow), *(Cell(significant(value), value) for value in values)])
    return [Table("critical-path", "Critical path: medians of its parts", columns, rows)]
