"""What is to be cited: the scenarios of a file or of a folder of results, and how they were run."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe.cite.library import Thing
from bentpipe.cite.used import of_scenario
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.problems import UnfitError
from bentpipe.prototypes.spec import CONTROLLER_PATH, Spec, flows_of
from bentpipe.report.source import EXPECTED, read_json, recognise
from bentpipe.study.checks import SCENARIO

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from bentpipe import Scenario, Study

PYTHON = "python:"
"""The start of the name of a controller in Python in a recording."""
OVER_A_BEAM = "compare over a beam"
"""The kind of a comparison over a beam."""
STUDY_KEYS = ("quantity", "parameters")
"""Keys of study files that no scenario has."""


@dataclass
class Part:
    """One study of a folder, or one run."""

    name: str
    variants: int = 1
    runs: int | None = None
    """Runs of all variants; None before any run."""
    replications: Mapping[str, Any] = field(default_factory=dict)
    """As in the description of a study: `count` and `seed`, or the rule of sequential stopping.

    Of reproductions the ranges: `least` and `most` replications, `first` and `last` seed.
    """
    intervals: frozenset[str] = frozenset()
    """Methods of the 95 % intervals: keys of `methods.INTERVALS`."""
    compared: bool = False
    """True if paired differences were tested."""
    complete: bool = True


@dataclass
class Work:
    """What a file or a folder is about."""

    kind: str
    """`scenario`, `study`, or a command that made results: `run`, `compare`, `evaluate`, ..."""
    name: str
    version: str
    parts: list[Part] = field(default_factory=list)
    things: set[Thing] = field(default_factory=set)
    backend: str = "simulator"
    kernel: str | None = None
    """Release of the kernel of a run on it."""
    notes: list[str] = field(default_factory=list)
    """Sentences on what could not be read."""

    def use(self, scenario: Scenario, replaced: Collection[str] = ()) -> None:
        """Add the things of a scenario, without the controllers of flows that have another one."""
        self.things |= of_scenario(scenario, replaced)


def read(path: Path) -> Work:
    """Read a scenario, a study, or a folder of results; `BentpipeError` says what is missing."""
    if path.is_file():
        return of_study_file(path) if is_study(path) else of_scenario_file(path)
    if not path.exists():
        raise BentpipeError(f"{path} does not exist; expected a scenario, a study, or {EXPECTED}")
    source = recognise(path)
    return READERS[source.kind](path, source.reproductions)


def is_study(path: Path) -> bool:
    """True for a study file; errors in it are found when it is read."""
    try:
        written = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False
    return any(key in written for key in STUDY_KEYS)


def of_scenario_file(path: Path) -> Work:
    """A scenario, which has not run."""
    scenario = bentpipe.Scenario.load(path)
    part = Part(scenario.name, replications={"count": 1, "seed": scenario.seed})
    work = Work("scenario", scenario.name, bentpipe.__version__, [part])
    work.use(scenario)
    return work


def of_study_file(path: Path) -> Work:
    """A study, which has not run."""
    study = bentpipe.Study.load(path)
    work = Work("study file", study.title, bentpipe.__version__, [planned(study)])
    for one in study.variants:
        work.use(one.scenario, [flows for flows, _ in one.controllers])
    work.things |= {python_controller(name) for name in study.prototypes}
    add_quantities(work, [quantity.name for quantity in study.quantities])
    return work


def planned(study: Study) -> Part:
    """A study before its first run."""
    kinds = frozenset(quantity.kind_of_interval for quantity in study.quantities)
    described = study.description["replications"]
    return Part(study.name, len(study.variants), None, described, kinds, bool(study.comparisons))


def of_run(folder: Path, _: Sequence[Path]) -> Work:
    """The folder of a run."""
    run = bentpipe.load(folder)
    part = Part(run.name, 1, 1, {"count": 1, "seed": run.seed}, complete=not run.partial)
    kernel = run.kernel.release if run.kernel else None
    work = Work("run", run.name, run.version, [part], backend=run.backend, kernel=kernel)
    own = {
        flow.flow: flow.controller.removeprefix(PYTHON)
        for flow in run.recording.flows
        if flow.controller.startswith(PYTHON)
    }
    work.use(run.scenario, own)
    work.things |= {python_controller(name) for name in own.values()}
    return work


def of_study(folder: Path, _: Sequence[Path]) -> Work:
    """The folder of a study."""
    described = read_json(folder / "study.json", "title", "bentpipe")
    work = Work("study", described["title"], described["bentpipe"])
    add_study(work, folder)
    return work


def of_studies(kind: str, title: str, folder: Path) -> Work:
    """A folder with the folders of several studies."""
    summary = read_json(folder / f"{kind}.json", title)
    work = Work(kind, str(summary[title]), str(summary.get("bentpipe", bentpipe.__version__)))
    for inner in sorted(folder.iterdir()):
        if (inner / "study.json").is_file():
            add_study(work, inner)
    if not work.parts:
        raise BentpipeError(f"{folder}: expected the folders of its studies, found none")
    return work


def of_compare(folder: Path, _: Sequence[Path]) -> Work:
    """The folder of a comparison, on a link or over a beam."""
    from bentpipe.beams.ranking import candidates_again

    found = read_json(folder / "compare.json", "compare")
    if "rankings" not in found:
        return of_studies("compare", "compare", folder)
    scenario = bentpipe.Scenario.load(folder / "scenario" / "scenario.toml")
    seeds, candidates = found["seeds"], found["candidates"]
    replications = {"count": len(seeds), "seed": seeds[0]}
    runs = len(seeds) * len(candidates)
    has_intervals = any(place["ci95"] for one in found["rankings"] for place in one["places"])
    intervals = frozenset({"student"} if has_intervals else ())
    part = Part(found["compare"], len(candidates), runs, replications, intervals, compared=True)
    work = Work(OVER_A_BEAM, str(found["compare"]), str(found["bentpipe"]), [part])
    for variant in candidates_again(scenario, found["group"], candidates):
        work.use(variant)
    return work


def of_evaluate(folder: Path, _: Sequence[Path]) -> Work:
    """The folder of an evaluation.

    Its findings are tests between the variants of a study, which has no comparisons of its own.
    """
    from bentpipe.evaluate.checklist import kinds

    work = of_studies("evaluate", "evaluate", folder)
    items = read_json(folder / "evaluate.json", "items")["items"]
    work.things |= {Thing("methods", kind) for kind in kinds(item["section"] for item in items)}
    tested = any(
        row["p"] is not None for item in items for one in item["findings"] for row in one["against"]
    )
    work.parts = [replace(part, compared=tested) for part in work.parts]
    return work


def of_experience(folder: Path, _: Sequence[Path]) -> Work:
    """The folder of `bentpipe experience`."""
    return of_studies("experience", "experience", folder)


def of_papers(folder: Path, reproductions: Sequence[Path]) -> Work:
    """The folder of reproductions, which cites the papers too."""
    from bentpipe.reproductions.reproduction import find

    work = Work("papers", "", bentpipe.__version__)
    names = []
    for inner in reproductions:
        paper = read_json(inner / "rows.json", "papers")["papers"][0]
        held = read_json(inner / "plots.json", "bentpipe", "runs", "scenarios")
        work.version = str(held["bentpipe"])
        reproduction = find(str(paper["paper"]))
        scenarios = reproduction.scenarios(reproduction.plan(bool(held.get("full"))))
        for scenario, _ in scenarios.values():
            work.use(scenario)
        work.things.add(Thing("papers", reproduction.name))
        names.append(reproduction.name)
        has_intervals = any(row["ci95"] for row in paper["rows"])
        work.parts.append(Part(
            names[-1], int(held["scenarios"]), int(held["runs"]),
            seeds_of([seeds for _, seeds in scenarios.values()]),
            frozenset({"linear"} if has_intervals else ()),
            complete=not paper["partial"],
        ))  # fmt: skip
    work.name = ", ".join(names)
    return work


def seeds_of(each: Sequence[Sequence[int]]) -> dict[str, int]:
    """The replications of scenarios that have seeds of their own, as ranges."""
    counts = [len(seeds) for seeds in each]
    seeds = [seed for of_one in each for seed in of_one]
    return {"least": min(counts), "most": max(counts), "first": min(seeds), "last": max(seeds)}


READERS = {
    "run": of_run,
    "study": of_study,
    "compare": of_compare,
    "evaluate": of_evaluate,
    "experience": of_experience,
    "papers": of_papers,
}
"""A reader for each kind of folder."""


def add_study(work: Work, folder: Path) -> None:
    """Add the folder of a study."""
    described = read_json(folder / "study.json", "study", "parameters", "replications")
    if not (folder / "summary.json").is_file():
        raise BentpipeError(
            f"{folder}: expected results, found no summary.json: the study has not finished a run;"
            " run the same command with --out again"
        )
    summary = read_json(folder / "summary.json", "cells", "comparisons", "runs")
    cells = summary["cells"]
    # One cell for each quantity of a variant.
    variants = {cell["variant"]: cell["parameters"] for cell in cells}
    kinds = frozenset(cell["interval"] for cell in cells if cell["ci95"] is not None)
    part = Part(
        str(described["study"]), len(variants), int(summary["runs"]), described["replications"],
        kinds, any(row["p"] is not None for row in summary["comparisons"]),
        bool(summary["complete"]),
    )  # fmt: skip
    work.parts.append(part)
    bases = {name: scenario_of(folder, n) for n, name in enumerate(described["scenarios"])}
    units = {one["path"]: one["unit"] or "" for one in described["parameters"]}
    for parameters in variants.values():
        use_variant(work, bases, parameters, units)
    add_quantities(work, [one["name"] for one in described["quantities"]])


def scenario_of(folder: Path, number: int) -> Path:
    """The file of a base scenario of a study."""
    return folder / f"scenario-{number}/scenario.toml" if number else folder / "scenario.toml"


def use_variant(
    work: Work, bases: Mapping[str, Path], parameters: Mapping[str, Any], units: Mapping[str, str]
) -> None:
    """Add the scenario of a variant of a study, or a note if it cannot be read any more."""
    base = bases[str(parameters.get(SCENARIO, next(iter(bases))))]
    sets, own = [], []
    for path, value in parameters.items():
        text = str(value).lower() if isinstance(value, bool) else f"{value}{units[path]}"
        if path == SCENARIO:
            continue
        if CONTROLLER_PATH.fullmatch(path):
            spec = spec_of(text)
            if spec is None or spec.in_python:
                work.things.add(python_controller(text))
                own.append(path)
                continue
            text = spec.setting
        sets.append(f"{path}={text}")
    try:
        scenario = bentpipe.Scenario.load(base, sets)
        work.use(scenario, [flows_of(path, scenario) for path in own])
    except ScenarioError as error:
        reason = error.message.partition("\n")[0]
        work.notes.append(f"{base} with {', '.join(sets)} cannot be read: {reason}")


def spec_of(text: str) -> Spec | None:
    """The controller of a value; None for another name, as programs give their own classes."""
    try:
        spec = Spec.parse(text)
    except UnfitError:
        return None
    known = {one.name for one in bentpipe.controllers()} | {"none"}
    return spec if spec.in_python or spec.target in known else None


def python_controller(name: str) -> Thing:
    """A controller of the user in Python."""
    return Thing("python", name)


def add_quantities(work: Work, names: Iterable[str]) -> None:
    """Add what the names of quantities cite."""
    if any("jain" in name for name in names):
        work.things.add(Thing("methods", "jain"))
