"""Reproductions of papers as objects: `bentpipe.papers`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.arguments import text
from bentpipe.folders import writable
from bentpipe.reproductions.command import check_full, choose, with_files
from bentpipe.reproductions.judgement import Judged, Row
from bentpipe.reproductions.reproduction import names, save

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    import polars as pl

    from bentpipe.reproductions.reproduction import Outcome


__all__ = ["Papers"]
"""The classes of results, for the API reference."""


@dataclass(frozen=True)
class Papers:
    """Published values compared with measured ones, for one or several papers.

    `complete` is false after Ctrl-C.
    """

    outcomes: Sequence[Outcome]
    """One for each paper, with its rows, statements and recordings."""

    @property
    def complete(self) -> bool:
        """True if all runs are complete."""
        return all(outcome.complete for outcome in self.outcomes)

    @property
    def statements(self) -> pl.DataFrame:
        """One row for each statement of a paper with its judgement."""
        from dataclasses import asdict

        rows = [
            {"paper": outcome.reproduction.name, **asdict(one)}
            for outcome in self.outcomes
            for one in outcome.statements
        ]
        return frame_of(rows, Judged)

    @property
    def values(self) -> pl.DataFrame:
        """One row for each published value with the measured one and the verdict.

        `published` is the value or the range as text, and `published_low` and `published_high` are
        its ends: the same for a value.
        """
        from dataclasses import asdict

        rows = [
            {"paper": outcome.reproduction.name, **asdict(row)}
            | dict(zip(ENDS, ends_of(row.published), strict=True))
            for outcome in self.outcomes
            for row in outcome.rows
        ]
        return frame_of(rows, Row, ENDS)

    def to_pandas(self) -> Any:
        """The values as a data frame of pandas; `BentpipeError` if pandas is not installed."""
        from bentpipe.frames import to_pandas

        return to_pandas(self.values)

    def to_dict(self) -> dict[str, Any]:
        """The object that `bentpipe papers run --json` prints."""
        return {"papers": [outcome.to_dict() for outcome in self.outcomes]}

    def blocks(self) -> list[Any]:
        """The table with the counts of each paper."""
        from bentpipe.reproductions.tables import summary_table

        return [summary_table([(one.reproduction.name, one.summary) for one in self.outcomes])]

    def __str__(self) -> str:
        from bentpipe.shown import as_text

        return as_text({"Papers": self.titles}, self.blocks())

    @property
    def titles(self) -> str:
        """The titles of the papers."""
        return "; ".join(one.reproduction.publication.title for one in self.outcomes)

    def __repr__(self) -> str:
        partial = "" if self.complete else ", partial"
        listed = ", ".join(one.reproduction.name for one in self.outcomes)
        return f"<Papers {listed}{partial}>"

    def _repr_html_(self) -> str:
        from bentpipe.shown import as_html

        return as_html("Published and measured values", {"Papers": self.titles}, self.blocks())


ENDS = ("published_low", "published_high")
"""Columns with the ends of a published range."""


def ends_of(published: float | list[float] | None) -> tuple[float | None, float | None]:
    """Both ends of a published range; a value is both of its ends."""
    if published is None:
        return None, None
    values = published if isinstance(published, list) else [published]
    return float(values[0]), float(values[-1])


def frame_of(
    rows: Sequence[dict[str, Any]], of: type[Row | Judged], numbers: Sequence[str] = ()
) -> pl.DataFrame:
    """A data frame with the fields of a class and more columns of `numbers`.

    Fields that are numbers or None have the type of numbers, and all others are texts, so that any
    program can read it.
    """
    import polars as pl

    columns: dict[str, Any] = {"paper": pl.String}
    for one in fields(of):
        columns[one.name] = pl.Float64 if one.type == "float | None" else pl.String
    columns |= dict.fromkeys(numbers, pl.Float64)
    plain = [
        [
            row[name] if row[name] is None or kind == pl.Float64 else str(row[name])
            for name, kind in columns.items()
        ]
        for row in rows
    ]
    return pl.DataFrame(plain, schema=columns, orient="row", strict=False)


def papers(
    *chosen: str,
    full: bool = False,
    workers: int | None = None,
    out: str | PathLike[str] | None = None,
    data: str | PathLike[str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Papers:
    """Reproduce papers and compare each published value, as `bentpipe papers run` does.

    `chosen` are names of `bentpipe papers list`, by default all, which takes minutes. `full` runs
    the larger set of papers that have one. With `out`, tables and plots are written to this folder.
    `data` is a folder with measured files, for those that read some, such as `leo`.

    `progress` is called with the number of finished runs of a paper. `BentpipeError` for a name
    or a file that does not exist, or for `full` if none has a larger set, before anything runs.
    Ctrl-C returns what is complete, with `complete` false.
    """
    for name in chosen:
        text("papers", name, "names such as 'luglio'")
    found = [choose(name) for name in chosen or names()]
    check_full(full, found)
    reproductions = with_files(found, None if data is None else Path(data))
    folder = None if out is None else Path(out)
    places = {one.name: writable(folder / one.name) for one in reproductions if folder}
    outcomes = []
    for one in reproductions:
        keep = places[one.name] / "runs" if one.name in places and full and one.has_full else None
        outcome = one.run(workers, progress, full, keep)
        outcomes.append(outcome)
        if one.name in places:
            save(outcome, places[one.name])
        if not outcome.complete:
            break
    return Papers(outcomes)
