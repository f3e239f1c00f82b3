"""A reproduction: its runs, and the comparison of published with measured values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module, resources
from pathlib import Path
from pkgutil import iter_modules
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import bentpipe
from bentpipe.errors import OutputError
from bentpipe.reproductions.published import Publication, Value, read
from bentpipe.seal import KEY, sealed

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from bentpipe.reproductions.plots import Bars, Plot
    from bentpipe.study.statistics import Mean

ROWS = "rows.json"

Verdict = Literal["reproduced", "deviates", "not comparable"]


@dataclass(frozen=True)
class Job:
    """A scenario of `scenarios/` with overrides, run once for each seed."""

    scenario: str
    sets: tuple[str, ...] = ()
    seeds: Sequence[int] = (1,)


Plan = Mapping[str, Job]
Results = Mapping[str, Sequence[bentpipe.Recording]]


@dataclass(frozen=True)
class Measured:
    """A measured value for the published value `id`.

    `case` names one of several measurements for one published range. `note` is the known reason of
    a deviation. `mean` is None if the value could not be measured, and `note` gives the reason.
    """

    id: str
    mean: Mean | None
    case: str = ""
    note: str = ""


@dataclass(frozen=True)
class Row:
    """A published value compared with a measured one. The field names are the JSON names.

    `deviation` is the relative deviation from the published value, or from the nearer end of a
    published range (0 inside the range). `tolerance` is the largest deviation that counts as
    reproduced. It was set before anything was measured. Both are absolute if the published value is
    zero.
    """

    id: str
    quantity: str
    unit: str
    published: float | list[float] | None
    measured: float | None
    ci95: float | None
    deviation: float | None
    tolerance: float | None
    verdict: Verdict
    note: str


def judge(value: Value, measured: Measured) -> Row:
    """Compare a value. It is reproduced if its mean is within the tolerance.

    The width of the confidence interval does not count.
    """
    at, ci95 = (measured.mean.value, measured.mean.ci95) if measured.mean else (None, None)
    deviation = tolerance = None
    verdict: Verdict = "not comparable"
    if at is not None and value.low is not None and value.high is not None:
        nearest = min(max(at, value.low), value.high)
        deviation = (at - nearest) / abs(nearest) if nearest else at - nearest
        if not value.not_comparable:
            allowed = value.tolerance.around(nearest)
            tolerance = allowed / abs(nearest) if nearest else allowed
            verdict = "reproduced" if abs(at - nearest) <= allowed else "deviates"
    return Row(
        id=f"{value.id}@{measured.case}" if measured.case else value.id,
        quantity=f"{value.quantity}, {measured.case}" if measured.case else value.quantity,
        unit=value.unit,
        published=value.printed,
        measured=at,
        ci95=ci95,
        deviation=deviation,
        tolerance=tolerance,
        verdict=verdict,
        note="; ".join(note for note in (value.not_comparable, measured.note) if note),
    )


@dataclass(frozen=True)
class Outcome:
    """All rows of a paper, the completeness of its runs, and the data of its plots."""

    reproduction: Reproduction
    rows: list[Row]
    results: Results
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """The object that `papers run --json` prints."""
        rows = [asdict(row) for row in self.rows]
        return {"paper": self.reproduction.name, "partial": not self.complete, "rows": rows}


@dataclass(frozen=True)
class Reproduction:
    """One paper. `plan`, `measure` and `plots` are the functions of its module `experiments`."""

    name: str
    folder: Traversable
    publication: Publication

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the reproduction's module."""
        found: Callable[..., Any] = getattr(
            import_module(f"bentpipe.reproductions.{self.name}.experiments"), name
        )
        return found

    def plan(self) -> Plan:
        """All runs, by names that `measure` and `plots` use."""
        plan: Plan = self.function("plan")()
        return plan

    def run(self, workers: int | None, progress: Callable[[int], object] | None) -> Outcome:
        """Run the whole plan and compare every published value, in the order of the paper.

        After Ctrl-C, values that need missing runs are not compared.
        """
        plan = self.plan()
        names, jobs = self.jobs(plan)
        try:
            runs: Sequence[bentpipe.Run | None] = bentpipe.run_many(
                jobs, workers=workers, progress=progress
            )
        except bentpipe.Interrupted as interrupted:
            runs = interrupted.runs
        results: dict[str, list[bentpipe.Recording]] = {name: [] for name in plan}
        for name, run in zip(names, runs, strict=True):
            if run is not None:
                results[name].append(run.recording)
        done = {name: runs for name, runs in results.items() if len(runs) == len(plan[name].seeds)}
        complete = len(done) == len(plan)
        return Outcome(self, self.rows(done, complete), done, complete)

    def jobs(self, plan: Plan) -> tuple[list[str], list[tuple[bentpipe.Scenario, int | None]]]:
        """Every run with the name of its job. Reading the scenarios checks them."""
        names: list[str] = []
        jobs: list[tuple[bentpipe.Scenario, int | None]] = []
        with resources.as_file(self.folder / "scenarios") as folder:
            for name, job in plan.items():
                scenario = bentpipe.Scenario.load(folder / job.scenario, job.sets)
                for seed in job.seeds:
                    names.append(name)
                    jobs.append((scenario, seed))
        return names, jobs

    def rows(self, results: Results, complete: bool) -> list[Row]:
        """Compare all values that `results` provide. A value without measurement has a note."""
        by_id: dict[str, list[Measured]] = {}
        measurements: Iterable[Measured] = self.function("measure")(results)
        try:
            for measured in measurements:
                by_id.setdefault(measured.id, []).append(measured)
        except KeyError:
            if complete:
                raise
        unknown = by_id.keys() - self.publication.values.keys()
        if unknown:
            raise ValueError(f"{self.name} measures what is not published: {sorted(unknown)}")
        rows = []
        for value in self.publication.values.values():
            missing = [Measured(value.id, None, note="not measured")]
            rows += [judge(value, measured) for measured in by_id.get(value.id, missing)]
        return rows

    def plots(self, results: Results) -> Mapping[str, Plot | Bars]:
        """The reproduction's plots by file name."""
        plots: Mapping[str, Plot | Bars] = self.function("plots")(results)
        return plots


def find(name: str) -> Reproduction:
    """The reproduction called `name`; `KeyError` when there is none."""
    if name not in names():
        raise KeyError(name)
    folder = resources.files("bentpipe.reproductions") / name
    return Reproduction(name, folder, read(folder / "published.toml"))


def names() -> list[str]:
    """Names of all reproductions."""
    import bentpipe.reproductions

    return sorted(
        module.name for module in iter_modules(bentpipe.reproductions.__path__) if module.ispkg
    )


def save(outcome: Outcome, folder: Path) -> None:
    """Write the rows as JSON and text and, if complete, the plots as SVG and PNG to `folder`.

    `plots.json` holds what the plots show, for `bentpipe report`, and the version that ran. Files
    are moved to `folder` when all are written. An earlier `rows.json` is removed before that and
    the new one is the last, so that a folder with this file is whole. `OutputError` if that fails.
    """
    try:
        with TemporaryDirectory(prefix=".bentpipe-", dir=folder) as name:
            unfinished = Path(name)
            write(outcome, unfinished)
            (folder / ROWS).unlink(missing_ok=True)
            for file in sorted(unfinished.iterdir(), key=lambda file: file.name == ROWS):
                file.replace(folder / file.name)
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror or error}") from error


def write(outcome: Outcome, folder: Path) -> None:
    """Write all files of an outcome."""
    import json

    from bentpipe.reproductions.plots import as_data, save_plot
    from bentpipe.reproductions.tables import as_text

    plots = outcome.reproduction.plots(outcome.results) if outcome.complete else {}
    for name, plot in plots.items():
        save_plot(plot, folder / name)
    rows = sealed({"papers": [outcome.to_dict()]})
    held = {
        "bentpipe": bentpipe.__version__,
        "title": outcome.reproduction.publication.title,
        "authors": outcome.reproduction.publication.authors,
        "runs": sum(map(len, outcome.results.values())),
        "rows": rows[KEY],
        "plots": {name: as_data(plot) for name, plot in plots.items()},
    }
    (folder / "plots.json").write_text(json.dumps(sealed(held), separators=(",", ":")) + "\n")
    (folder / "rows.txt").write_text(as_text(outcome))
    (folder / ROWS).write_text(json.dumps(rows, indent=1) + "\n")
