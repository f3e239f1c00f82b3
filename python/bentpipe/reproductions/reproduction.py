"""A reproduction: its runs, and the comparison of published with measured values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import import_module, resources
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe.errors import OutputError
from bentpipe.reproductions import kept
from bentpipe.reproductions.files import Files
from bentpipe.reproductions.judgement import (
    NOT_MEASURED,
    Judged,
    Measured,
    Row,
    Summary,
    judge,
    statements,
    summarise,
)
from bentpipe.reproductions.published import Publication, read
from bentpipe.reproductions.readings import Reading, explain, read_readings
from bentpipe.seal import KEY, sealed

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from bentpipe.reproductions.plots import AnyPlot
    from bentpipe.reproductions.rankings import Ranking

ROWS = "rows.json"


@dataclass(frozen=True)
class Job:
    """A scenario of `scenarios/` with overrides, run once for each seed.

    `files` are the measured files that the scenario reads.
    """

    scenario: str
    sets: tuple[str, ...] = ()
    seeds: Sequence[int] = (1,)
    files: Sequence[str] = ()

    def with_sets(self, *sets: str) -> Job:
        """The job with further overrides."""
        return replace(self, sets=(*self.sets, *sets))


Plan = Mapping[str, Job]
Results = Mapping[str, Sequence[bentpipe.Recording]]


@dataclass(frozen=True)
class Outcome:
    """All rows of a paper, the completeness of its runs, and the data of its plots."""

    reproduction: Reproduction
    rows: list[Row]
    results: Results
    complete: bool
    full: bool = False

    @cached_property
    def rankings(self) -> list[Ranking]:
        """The rankings of a survey; none for a paper, or if runs are missing."""
        return self.reproduction.rankings(self.results) if self.complete else []

    @cached_property
    def statements(self) -> list[Judged]:
        """All statements of the paper with their judgements."""
        return statements(self.reproduction.publication, self.rows)

    @cached_property
    def summary(self) -> Summary:
        """The counts of statements and rows."""
        return summarise(self.statements, self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The object that `papers run --json` prints."""
        ranked = {"rankings": [one.to_dict() for one in self.rankings]} if self.rankings else {}
        return {
            "paper": self.reproduction.name,
            "partial": not self.complete,
            "summary": self.summary.to_dict(),
            "statements": [asdict(one) | {"counted": one.counted} for one in self.statements],
            "rows": [asdict(row) for row in self.rows],
            **ranked,
        }


@dataclass(frozen=True)
class Reproduction:
    """One paper. `plan`, `measure` and `plots` are the functions of its module `experiments`.

    `files` are the measured files that it reads, with the folder of the user if there is one.
    """

    name: str
    folder: Traversable
    publication: Publication
    files: Files

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the reproduction's module."""
        found: Callable[..., Any] = getattr(
            import_module(f"bentpipe.reproductions.{self.name}.experiments"), name
        )
        return found

    @property
    def short(self) -> str:
        """A short title, with the authors."""
        return self.publication.short or self.name

    def readings(self) -> list[Reading]:
        """The readings of the paper, with what else was tried."""
        return read_readings(self.folder)

    @cached_property
    def has_full(self) -> bool:
        """True if there is a larger set of runs."""
        return "full" in signature(self.function("plan")).parameters

    def plan(self, full: bool = False) -> Plan:
        """All runs, by names that `measure` and `plots` use; with `full` the larger set, if any."""
        larger = {"full": True} if full and self.has_full else {}
        plan: Plan = self.function("plan")(**larger)
        return plan

    def possible(self, plan: Plan) -> dict[str, Job]:
        """The jobs of a plan whose measured files are there."""
        return {name: job for name, job in plan.items() if self.files.has(job.files)}

    def with_files(self, folder: Path) -> Reproduction:
        """The reproduction with a folder of measured files; `BentpipeError` if one is missing."""
        return replace(self, files=self.files.in_folder(folder))

    def trials(self) -> Mapping[str, Plan]:
        """Other readings that were tried: the jobs that each of them changes."""
        trials: Mapping[str, Plan] = self.function("trials")()
        return trials

    def run(
        self,
        workers: int | None,
        progress: Callable[[int], object] | None,
        full: bool = False,
        keep: Path | None = None,
        announce: Callable[[str], object] = lambda _: None,
    ) -> Outcome:
        """Run the whole plan and compare every published value, in the order of the paper.

        After Ctrl-C, values that need missing runs are not compared. With `keep`, runs are kept in
        this folder, and those that are there already are not run. `announce` then gets a sentence
        on the time that the others take.
        """
        plan = self.possible(self.plan(full))
        if keep:
            folder = kept.Folder(keep)
            done = kept.run_all(self.scenarios(plan), folder, workers, progress, announce)
        else:
            done = self.results(plan, workers, progress)
        complete = len(done) == len(plan)
        return Outcome(self, self.rows(done, complete), done, complete, full and self.has_full)

    def results(
        self,
        plan: Plan,
        workers: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> dict[str, list[bentpipe.Recording]]:
        """The recordings of all jobs of the plan, after Ctrl-C of those that are complete."""
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
        return {name: runs for name, runs in results.items() if len(runs) == len(plan[name].seeds)}

    def jobs(self, plan: Plan) -> tuple[list[str], list[tuple[bentpipe.Scenario, int | None]]]:
        """Every run with the name of its job. Reading the scenarios checks them."""
        names: list[str] = []
        jobs: list[tuple[bentpipe.Scenario, int | None]] = []
        for name, (scenario, seeds) in self.scenarios(plan).items():
            for seed in seeds:
                names.append(name)
                jobs.append((scenario, seed))
        return names, jobs

    def scenarios(self, plan: Plan) -> dict[str, tuple[bentpipe.Scenario, Sequence[int]]]:
        """Scenario and seeds of every job whose files are there.

        Reading the scenarios checks them.
        """
        possible = self.possible(plan)
        names = [name for job in possible.values() for name in job.files]
        with (
            resources.as_file(self.folder / "scenarios") as folder,
            self.files.beside(folder, names) as place,
        ):
            return {
                name: (bentpipe.Scenario.load(place / job.scenario, job.sets), job.seeds)
                for name, job in possible.items()
            }

    def rows(self, results: Results, complete: bool) -> list[Row]:
        """Compare all values that `results` provide. A value without measurement has a note."""
        by_id: dict[str, list[Measured]] = {}
        measure = self.function("measure")
        more = {"files": self.files} if "files" in signature(measure).parameters else {}
        measurements: Iterable[Measured] = measure(results, **more)
        try:
            for measured in measurements:
                by_id.setdefault(measured.id, []).append(measured)
        except KeyError:
            if complete:
                raise
        unknown = by_id.keys() - self.publication.values.keys()
        if unknown:
            raise ValueError(f"{self.name} measures what is not published: {sorted(unknown)}")
        readings = self.readings()
        reasons = {
            name: " ".join(explain(readings, name).reasons) for name in self.publication.statements
        }
        rows = []
        for value in self.publication.values.values():
            missing = [Measured(value.id, None, note=NOT_MEASURED)]
            found = by_id.get(value.id, missing)
            judged = [judge(value, one, self.publication.repetitions) for one in found]
            rows += [with_reason(row, reasons[value.statement]) for row in judged]
        return rows

    def rankings(self, results: Results) -> list[Ranking]:
        """The rankings of a survey, by the function `rankings` of its module; none for a paper."""
        module = import_module(f"bentpipe.reproductions.{self.name}.experiments")
        make: Callable[[Results], list[Ranking]] | None = getattr(module, "rankings", None)
        return make(results) if make else []

    def plots(self, results: Results) -> Mapping[str, AnyPlot]:
        """The reproduction's plots by file name."""
        plots: Mapping[str, AnyPlot] = self.function("plots")(results)
        return plots


def with_reason(row: Row, reason: str) -> Row:
    """The row with the reason of its statement, if it was judged and does not come out."""
    unexplained = row.judgement in ("not judged", "contradicted") or row.verdict == "reproduced"
    if unexplained or not reason:
        return row
    return replace(row, note="; ".join(filter(None, (row.note, reason))))


def find(name: str) -> Reproduction:
    """The reproduction called `name`; `KeyError` when there is none."""
    if name not in names():
        raise KeyError(name)
    folder = resources.files("bentpipe.reproductions") / name
    publication = read(folder / "published.toml")
    return Reproduction(name, folder, publication, Files(publication.files))


def names() -> list[str]:
    """Names of all reproductions."""
    import bentpipe.reproductions

    return sorted(
        module.name for module in iter_modules(bentpipe.reproductions.__path__) if module.ispkg
    )


def save(outcome: Outcome, folder: Path) -> None:
    """Write the rows as JSON and text and, if complete, the plots as SVG and PNG to `folder`.

    `plots.json` has the data of the plots, for `bentpipe report`, and the version that ran. Files
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
        "scenarios": len(outcome.results),
        "runs": sum(map(len, outcome.results.values())),
        "full": outcome.full,
        "rows": rows[KEY],
        "plots": {name: as_data(plot) for name, plot in plots.items()},
    }
    drawn = json.dumps(sealed(held), separators=(",", ":")) + "\n"
    (folder / "plots.json").write_text(drawn, "utf-8")
    (folder / "rows.txt").write_text(as_text(outcome), "utf-8")
    (folder / ROWS).write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
