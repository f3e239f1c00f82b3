"""What people experience on a scenario, as an object: `bentpipe.experience`."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bentpipe import _native
from bentpipe.arguments import texts, whole
from bentpipe.compare.folder import run_in_turn, taken
from bentpipe.errors import InputError
from bentpipe.experience import tables
from bentpipe.experience.figures import NO_TARGET, Target, Verdict
from bentpipe.experience.first_run import first_run
from bentpipe.experience.limits import Limit, evidence, limit
from bentpipe.experience.plan import Plan, planned
from bentpipe.experience.rates import most_of, rates_of
from bentpipe.experience.routes import routes_of
from bentpipe.seal import sealed
from bentpipe.study import Base, Replications, Study
from bentpipe.study.quantities import shown
from bentpipe.study.store import as_json, save

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    import polars as pl

    from bentpipe import Scenario
    from bentpipe.compare.folder import Progress
    from bentpipe.experience.plan import Application
    from bentpipe.study import Estimate, Results

__all__ = ["Experience", "Measured", "Report"]
"""The classes of results, for the API reference."""

STUDY = "runs"
"""The name of the study in the folder."""


@dataclass(frozen=True)
class Measured:
    """A figure of an application with its interval and its verdict."""

    quantity: str
    label: str
    unit: str
    n: int
    undefined: int
    """Runs in which it is undefined, such as the load time of a page that is not complete."""
    mean: float | None
    ci95: tuple[float, float] | None
    target: Target | None
    verdict: Verdict | None
    """None without a published target."""
    deterministic: bool


@dataclass(frozen=True)
class Report:
    """An application with its figures, and what limits it."""

    application: Application
    measured: list[Measured]
    limit: Limit


@dataclass(frozen=True)
class Experience:
    """Figures of the applications of a scenario. `summary` is the object that `--json` prints.

    `complete` is false after Ctrl-C; then there are no figures.
    """

    plan: Plan
    reports: Sequence[Report]
    summary: Mapping[str, Any]
    results: Results | None
    """The results of the study behind it; None if it is not complete."""

    @property
    def complete(self) -> bool:
        """True if all runs are complete."""
        return bool(self.summary["complete"])

    @property
    def labelled(self) -> dict[str, str]:
        """The answer in lines with their labels."""
        return {label.capitalize(): text for label, text in self.summary["answer"].items()}

    @property
    def figures(self) -> pl.DataFrame:
        """One row for each figure of each application, in the unit of the tables."""
        import polars as pl

        rows = []
        for report in self.reports:
            for one in report.measured:
                factor, unit = shown(one.quantity)
                ends = (one.mean, *(one.ci95 or (None, None)))
                values = [None if end is None else end * factor for end in ends]
                about = (report.application.flow, report.application.kind.key, one.label, unit)
                verdict = NO_TARGET if one.verdict is None else one.verdict
                rows.append((*about, *values, one.n, verdict))
        names = {
            "flow": pl.String, "application": pl.String, "figure": pl.String, "unit": pl.String,
            "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64,
            "verdict": pl.String,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=names, orient="row")

    def to_dict(self) -> dict[str, Any]:
        """The object that `bentpipe experience --json` prints."""
        return dict(self.summary)

    def blocks(self) -> list[Any]:
        """The table of figures, and a sentence on what limits each application."""
        said = [f"{flow}: {text}" for flow, text in tables.limits(self.reports).items()]
        return [tables.figures_table(self.reports), *said]

    def __str__(self) -> str:
        from bentpipe.shown import as_text

        return as_text(self.labelled, self.blocks())

    def __repr__(self) -> str:
        return f"<Experience of {self.plan.scenario.name!r}, {len(self.reports)} applications>"

    def _repr_html_(self) -> str:
        from bentpipe.shown import as_html

        return as_html(f"Experience: {self.plan.scenario.name}", self.labelled, self.blocks())


def experience(
    scenario: Scenario | str | PathLike[str],
    *,
    sets: Sequence[str] = (),
    alone: bool = False,
    replications: int = 10,
    workers: int | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Experience:
    """Figures of people for a scenario, as `bentpipe experience` has them (docs/experience.md).

    A scenario without pages, videos, calls, messages and speed tests gets a page, a video, a call
    and a speed test, one after the other; with `alone`, instead of its own flows. `sets` are
    overrides of the scenario. Seeds are that of the scenario and the following. With `out` the
    study is kept in this folder, and the same call continues there.

    `progress` is called with the number of finished runs. `InputError` for a path that takes no
    application, and for a `duration` in which its applications cannot end, before anything runs.
    """
    whole("replications", replications, 1)
    if isinstance(scenario, _native.Scenario):
        if sets:
            raise InputError("sets: expected none with a scenario object; use Scenario.with_")
        found = scenario
    else:
        overrides = tuple(texts("sets", sets, "duration=30s", least=0))
        found = _native.Scenario.load(Path(scenario), overrides)
    plan = planned(found, alone=alone)
    folder = None if out is None else Path(out)
    return run(plan, replications, workers, folder, progress=progress)


def run(
    plan: Plan,
    replications: int,
    workers: int | None,
    out: Path | None,
    command: Sequence[str] = (),
    progress: Progress | Literal["late"] | None = None,
) -> Experience:
    """Run the seeds of a plan, and keep the study in the folder `out`."""
    name = plan.scenario.name
    study = study_of(plan, replications)
    about = {"experience": name, "added": plan.added}
    folder = taken(out, "experience", [STUDY], about) if out else None
    results = run_in_turn(f"experience of {name}", {STUDY: study}, folder, workers, progress)
    reports = reports_of(plan, results[0]) if results else []
    made = about | tables.to_dict(plan, reports, replications, complete=bool(results))
    summary = sealed(made | {"command": [*command]})
    if folder:
        save(folder / "experience.json", as_json(summary))
        save(folder / "experience.md", tables.markdown(plan, reports, summary).encode())
    return Experience(plan, reports, summary, results[0] if results else None)


def study_of(plan: Plan, replications: int) -> Study:
    """One variant with all quantities of all applications."""
    names = []
    routes = routes_of(plan.scenario)
    for one in plan.applications:
        names += [figure.form.format(flow=one.flow) for figure in one.kind.figures]
        names += evidence(one.kind.key, one.flow)
        names += routes[one.flow].evidence
    return Study.make(
        name=f"{plan.scenario.name}-experience",
        title=f"Experience of {plan.scenario.name}",
        scenario=Base.made(plan.scenario),
        quantities=list(dict.fromkeys(names)),
        replications=Replications(count=replications, seed=plan.scenario.seed),
    )


def reports_of(plan: Plan, results: Results) -> list[Report]:
    """The figures and limits of all applications."""
    cells = {cell.quantity: cell for cell in results.cells}
    legs, beams = first_run(plan.scenario)
    routes, rates = routes_of(plan.scenario, beams), rates_of(plan.scenario)
    most = most_of(plan.scenario)

    def mean(name: str) -> float | None:
        return cells[name].mean

    def limit_of(one: Application) -> Limit:
        route, rate = routes[one.flow], rates.get(one.flow)
        return limit(one.kind.key, one.flow, mean, route, legs=legs(one.flow), rate=rate)

    return [
        Report(
            one,
            [
                measured(one, number, cells, most.get(one.flow, {}))
                for number in range(len(one.kind.figures))
            ],
            limit_of(one),
        )
        for one in plan.applications
    ]


def measured(
    one: Application, number: int, cells: Mapping[str, Estimate], most: Mapping[str, float]
) -> Measured:
    """A figure of an application with its verdict. A run without a value misses the target.

    `most` has rates that the path carries at most, by column. A speed test may measure more, and
    reaches no target by that.
    """
    figure = one.kind.figures[number]
    cell = cells[figure.form.format(flow=one.flow)]
    verdict: Verdict | None = None
    if figure.target:
        verdict = figure.target.judge(cell.mean, cell.ci95, exact=cell.deterministic)
        is_too_much = most.get(cell.quantity.rpartition(".")[2], inf) < figure.target.value
        if verdict == "reached" and (cell.undefined or is_too_much):
            verdict = "not clear"
    return Measured(
        quantity=cell.quantity,
        label=figure.label,
        unit=cell.unit,
        n=cell.n,
        undefined=cell.undefined,
        mean=cell.mean,
        ci95=cell.ci95,
        target=figure.target,
        verdict=verdict,
        deterministic=cell.deterministic,
    )
