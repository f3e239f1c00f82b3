"""The plan of a study: variants of scenarios, seeds, quantities and comparisons.

A `Study` is complete and valid from its creation. `document` reads one from a TOML file. Programs
create one from scenarios, parameters and quantities with `Study.make`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.errors import ScenarioError, StudyError
from bentpipe.problems import Problems, UnfitError
from bentpipe.prototypes.spec import flows_of
from bentpipe.study.checks import (
    LARGEST_SEED,
    SCENARIO,
    check_comparisons,
    check_kinds,
    check_parameters,
    check_quantities,
    check_replications,
    check_rows,
    check_size,
)
from bentpipe.study.parameters import Parameter, Value, axes, points
from bentpipe.study.prototypes import named, prototypes_of
from bentpipe.study.quantities import Quantity
from bentpipe.study.scenarios import Base

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bentpipe.prototypes import Prototype
    from bentpipe.study.results import Results
    from bentpipe.study.scenarios import AnyScenario

ROUND = 10
"""Replications added to a variant before its interval is checked again."""


@dataclass(frozen=True)
class Replications:
    """Number of runs of each variant: `count`, or until an interval is narrow enough.

    Replication r of every variant has the seed `seed` + r, so that all meet the same losses. With
    `quantity`, a variant continues until the larger half of the 95 % interval of its mean is at
    most `relative_half_width` of that mean. The interval is checked after `minimum` replications
    and then after every `round`, for any number of workers. `maximum` limits the replications of a
    variant, and `budget` the runs of the study.
    """

    count: int | None = None
    seed: int | None = None
    quantity: str | None = None
    relative_half_width: float | None = None
    minimum: int = ROUND
    maximum: int = 1000
    round: int = ROUND
    budget: int | None = None

    @property
    def most(self) -> int:
        """The largest number of replications of a variant."""
        return self.maximum if self.count is None else self.count


@dataclass(frozen=True)
class Comparison:
    """Comparison of each value of a parameter with `baseline`, by pairs of the same seed."""

    parameter: str
    baseline: Value
    quantities: tuple[str, ...] = ()
    """The quantities to compare; all if empty."""


@dataclass(frozen=True)
class Variant:
    """One combination of values: `parameters` by path, as shown in tables."""

    number: int
    parameters: dict[str, Value]
    base: str
    sets: tuple[str, ...]
    scenario: _native.Scenario = field(compare=False, repr=False)
    controllers: tuple[tuple[str, str], ...] = ()
    """Controllers in Python: names of flows, or `*`, and of the study's `prototypes`."""


@dataclass(frozen=True)
class Study:
    """A study that has been checked and can run."""

    name: str
    title: str
    bases: dict[str, Base]
    parameters: tuple[Parameter, ...]
    zips: tuple[tuple[str, ...], ...]
    quantities: tuple[Quantity, ...]
    replications: Replications
    comparisons: tuple[Comparison, ...]
    variants: tuple[Variant, ...]
    text: str
    prototypes: Mapping[str, Prototype] = field(default_factory=dict, compare=False)
    """The controllers in Python, by their names in tables."""

    @staticmethod
    def load(path: str | Path) -> Study:
        """Read and check a study file.

        `StudyError` lists all errors of the study, `ScenarioError` those of the scenario.
        """
        from bentpipe.study.document import read

        return read(Path(path))

    @classmethod
    def make(
        cls,
        *,
        name: str,
        scenario: AnyScenario | Mapping[str, AnyScenario],
        quantities: Sequence[Quantity | str],
        replications: Replications,
        title: str = "",
        parameters: Sequence[Parameter] = (),
        zips: Sequence[Sequence[str]] = (),
        comparisons: Sequence[Comparison] = (),
        text: str = "",
        source: _native.StudySource | None = None,
    ) -> Study:
        """Create a study of one scenario, or of several by name: objects or files.

        Quantities can be names. `StudyError` lists all errors. With `source` they have its places.

        Controllers in Python can be values of a parameter: classes, `functools.partial`, or texts
        such as `"mine.py:Mine"`. So can controllers with parameters, as `"hybla:rtt0=0.05"` or as
        a dictionary with the keys of `flow.controller`. `ControllerError` if the file of a class
        fails.
        """
        kinds = (("parameters", parameters, Parameter), ("quantities", quantities, Quantity | str),
                 ("comparisons", comparisons, Comparison), ("replications", [replications],
                 Replications))  # fmt: skip
        for key, values, kind in kinds:
            check_kinds(key, values, kind)
        parameters, comparisons, given = named(parameters, comparisons)
        asked = made_quantities(quantities)
        problems = Problems(source or built(parameters, zips, asked, replications, comparisons))
        if isinstance(scenario, Mapping):
            bases = {name: Base.from_any(one) for name, one in scenario.items()}
            parameters = (Parameter(SCENARIO, SCENARIO, tuple(bases)), *parameters)
        else:
            base = Base.from_any(scenario)
            bases = {base.load().name: base}
        check_parameters(parameters, zips, problems, list(bases.values()))
        prototypes = given | prototypes_of(parameters, given, problems)
        check_quantities(asked, problems)
        check_replications(replications, [q.name for q in asked], problems)
        check_comparisons(comparisons, parameters, zips, asked, problems)
        problems.report()
        check_size(parameters, zips, replications, problems)
        problems.report()
        variants = made_variants(bases, parameters, zips, prototypes, problems)
        problems.report()
        check_rows(asked, variants, problems)
        problems.report()
        if replications.seed is None:
            seed = next(iter(bases.values())).load().seed
            replications = Replications(**(asdict(replications) | {"seed": seed}))
        return cls(
            name=name,
            title=title or name,
            bases=bases,
            parameters=parameters,
            zips=tuple(map(tuple, zips)),
            quantities=asked,
            replications=replications,
            comparisons=tuple(comparisons),
            variants=variants,
            text=text,
            prototypes=prototypes,
        )

    def run(
        self,
        *,
        out: str | Path | None = None,
        workers: int | None = None,
        cluster: str | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> Results:
        """Run what is not yet in the folder `out`, on all cores, `workers` threads or a cluster.

        The rows are saved in `out` as they arrive, so that the same call continues after an
        interruption. Ctrl-C returns the finished runs, with `complete` false. `progress` is called
        with the number of finished runs. `OutputError` if the folder has other files,
        `ClusterError` if the cluster cannot be used.
        """
        from bentpipe.study.runner import run

        return run(self, out=out, workers=workers, cluster=cluster, progress=progress)

    def _repr_html_(self) -> str:
        from bentpipe.study.shown import study_html

        return study_html(self)

    @cached_property
    def most_runs(self) -> int:
        """The number of runs; with sequential stopping their maximum."""
        runs = len(self.variants) * self.replications.most
        return min(runs, self.replications.budget or runs)

    def text_beside_scenarios(self) -> str:
        """The study file, with the names of its scenarios in the folder of results.

        Empty for a study that a program created, because it has no file.
        """
        names = {
            base.written: f"scenario-{number}/scenario.toml" if number else "scenario.toml"
            for number, base in enumerate(self.bases.values())
        }
        any_name = "|".join(map(re.escape, names))
        written = re.compile(rf"""(?P<sign>=\s*)(?P<quote>["'])(?P<name>{any_name})(?P=quote)""")
        return written.sub(lambda m: f'{m["sign"]}"{names[m["name"]]}"', self.text)

    def values_of_files(self) -> list[str]:
        """The values of parameters that name files, relative to the working directory."""
        files = [p for p in self.parameters if _native.names_a_file(p.path)]
        values = [str(value) for parameter in files for value in parameter.values]
        return [value for value in values if Path(value).is_file()]

    def number(self, variant: int, replication: int) -> int:
        """The number of a run. It is unique for any number of replications."""
        return replication * len(self.variants) + variant

    def seed(self, replication: int) -> int:
        """The seed of all variants in a replication."""
        return ((self.replications.seed or 0) + replication) & LARGEST_SEED

    @cached_property
    def description(self) -> dict[str, Any]:
        """The content of `study.json`: the plan, with a digest of all that determines the rows.

        Labels, comparisons and the number of replications are not part of the digest, so that a
        study can continue with other ones.
        """
        replications = {
            key: value for key, value in asdict(self.replications).items() if value is not None
        }
        if self.replications.count is not None:
            replications = {"count": self.replications.count, "seed": self.replications.seed}
        described = {
            "bentpipe": _native.version(),
            "study": self.name,
            "title": self.title,
            "parameters": [
                {"path": p.path, "label": p.label, "unit": p.unit, "values": list(p.plain)}
                for p in self.parameters
            ],
            "quantities": [
                asdict(q) | {"label": q.label or q.name, "unit": q.unit} for q in self.quantities
            ],
            "replications": replications,
            "comparisons": [asdict(comparison) for comparison in self.comparisons],
            "scenarios": {name: hashed(base.files) for name, base in self.bases.items()},
            "files": {
                value: hashed({value: Path(value).read_bytes()}) for value in self.values_of_files()
            }
            | {
                prototype.name: hashed({prototype.name: prototype.source})
                for prototype in self.prototypes.values()
            },
        }
        deciding = {key: described[key] for key in ("bentpipe", "scenarios", "files")} | {
            "parameters": [[p.path, list(p.plain)] for p in self.parameters],
            "quantities": [quantity.name for quantity in self.quantities],
            "seed": self.replications.seed,
            "runs": [
                [variant.base, *variant.sets, *map(list, variant.controllers)]
                for variant in self.variants
            ],
        }
        digest = hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()
        return described | {"digest": digest}


def made_quantities(quantities: Sequence[Quantity | str]) -> tuple[Quantity, ...]:
    """Quantities of which some are names; `StudyError` if there is none of a name."""
    found = []
    for number, one in enumerate(quantities):
        try:
            found.append(Quantity(one) if isinstance(one, str) else one)
        except UnfitError as error:
            near = f"; did you mean {error.suggestion}?" if error.suggestion else ""
            place = f"quantities[{number}]"
            raise StudyError.of_value(place, error.expected, f"{error.found}{near}") from None
    return tuple(found)


def hashed(files: Mapping[str, bytes]) -> str:
    """One hash of files and their names."""
    total = hashlib.sha256()
    for name, content in files.items():
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def made_variants(
    bases: Mapping[str, Base],
    parameters: Sequence[Parameter],
    zips: Sequence[Sequence[str]],
    prototypes: Mapping[str, Prototype],
    problems: Problems,
) -> tuple[Variant, ...]:
    """All combinations, each with its scenario. Reports the first invalid one.

    A controller in Python replaces the one that the scenario names, which stays there: it still
    decides what the scenario leaves open, such as the loss recovery.
    """
    found: list[Variant] = []
    for number, point in enumerate(points(axes(parameters, zips))):
        base = next(iter(bases))
        sets = []
        paths: list[tuple[str, str]] = []
        plain: dict[str, Value] = {}
        for parameter in parameters:
            value = point[parameter.label]
            plain[parameter.path] = parameter.plain[value]
            if parameter.path == SCENARIO:
                base = str(parameter.values[value])
            elif parameter.names_controllers and parameter.values[value] in prototypes:
                paths.append((parameter.path, str(parameter.values[value])))
            else:
                sets.append(parameter.set(value))
        try:
            scenario = bases[base].load(tuple(sets))
        except ScenarioError as error:
            if not blame_parameters(error, point, parameters, problems):
                raise
            break
        controllers = tuple((flows_of(path, scenario), name) for path, name in paths)
        found.append(Variant(number, plain, base, tuple(sets), scenario, controllers))
    return tuple(found)


def blame_parameters(
    error: ScenarioError,
    point: Mapping[str, int],
    parameters: Sequence[Parameter],
    problems: Problems,
) -> bool:
    """Report the errors of overrides at the parameters that made them; false if there are none."""
    by_set = {
        f"--set {parameter.set(point[parameter.label])}": parameter
        for parameter in parameters
        if parameter.path != SCENARIO
    }
    found = [(by_set[one.set], one) for one in error.errors if one.set in by_set]
    for parameter, problem in found:
        path = _native.dotted_path(parameter.path)
        inside = problem.path.replace("[", ".").replace("]", "")
        is_value = path is not None and is_within(inside, path)
        place = ("values", point[parameter.label]) if is_value else ("path",)
        problems.add(
            ("parameters", parameter.label, *place),
            problem.expected,
            problem.found,
            reason=problem.reason or (None if is_value else f"{problem.path} in the scenario"),
            suggestion=problem.suggestion,
        )
    return bool(found)


def is_within(inside: str, path: str) -> bool:
    """True if a place of a scenario is the value of an override's path, or in it.

    In the place, `*` and names of the path are indices.
    """
    places, steps = inside.split("."), path.split(".")
    return len(places) >= len(steps) and all(
        place == step or (place.isdecimal() and not step.isdecimal())
        for place, step in zip(places, steps, strict=False)
    )


def built(
    parameters: Sequence[Parameter],
    zips: Sequence[Sequence[str]],
    quantities: Sequence[Quantity],
    replications: Replications,
    comparisons: Sequence[Comparison],
) -> _native.StudySource:
    """The study of a program, checked against the schema of study files."""
    defaults = {one.name: one.default for one in fields(Replications)}
    document = {
        "scenario": "scenario.toml",
        "zip": list(map(list, zips)),
        "parameters": {p.label: {"path": p.path, "values": list(p.values)} for p in parameters},
        "replications": {
            key: value for key, value in asdict(replications).items() if value != defaults[key]
        },
        "quantity": [asdict(quantity) for quantity in quantities],
        "comparison": [asdict(comparison) for comparison in comparisons],
    }
    try:
        return _native.StudySource.build(document)
    except ScenarioError as error:
        # A value that is none of TOML.
        raise StudyError(error.message, errors=error.errors) from None
