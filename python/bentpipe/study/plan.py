"""What a study is to run: variants of scenarios, each once for each seed, and what to make of them.

A `Study` is complete and valid once it is made. The TOML file that users write is read by
`document`; programs make one from scenarios, parameters and quantities with `Study.make`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.console import nearest
from bentpipe.errors import ScenarioError
from bentpipe.study.complaints import Complaints
from bentpipe.study.parameters import Parameter, Value, axes, points
from bentpipe.study.scenarios import FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe.study.quantities import Quantity
    from bentpipe.study.results import Results
    from bentpipe.study.scenarios import Base

SCENARIO = "scenario"
"""Label and path of the parameter that chooses among several base scenarios."""
FIXED = ("run", "variant", "seed", "replication", "bentpipe", "scenario", "wall_s", "events")
"""Columns of every study, which no parameter or quantity can be called."""
ROUND = 10
"""Replications of a variant that are added before its interval is looked at again."""
LARGEST_SEED = 2**64 - 1


@dataclass(frozen=True)
class Replications:
    """How often each variant runs: `count` times, or until an interval is narrow enough.

    Replication r of every variant has the seed `seed` + r, so that all meet the same losses. With
    `quantity`, a variant goes on until the half width of the 95 % interval of its mean is at most
    `relative_half_width` of that mean. It is looked at after `minimum` replications and then every
    `round`, whatever the number of workers. `maximum` bounds the replications of a variant, and
    `budget` the runs of the study.
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
    """Each other value of a parameter against `baseline`, run by run of the same seed."""

    parameter: str
    baseline: Value
    quantities: tuple[str, ...] = ()
    """The quantities to compare; none are all."""


@dataclass(frozen=True)
class Variant:
    """One combination of values: `parameters` by path, as they stand in tables."""

    number: int
    parameters: dict[str, Value]
    base: str
    sets: tuple[str, ...]
    scenario: _native.Scenario = field(compare=False, repr=False)


@dataclass(frozen=True)
class Study:
    """A study that can run: everything in it was found to be right."""

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

    @staticmethod
    def load(path: str | Path) -> Study:
        """Read a study file. Nothing has run when it is found to be wrong.

        `StudyError` tells all that is wrong with it, `ScenarioError` what is with the scenario.
        """
        from bentpipe.study.document import read

        return read(Path(path))

    @classmethod
    def make(
        cls,
        *,
        name: str,
        scenario: Base | Mapping[str, Base],
        quantities: Sequence[Quantity],
        replications: Replications,
        title: str = "",
        parameters: Sequence[Parameter] = (),
        zips: Sequence[Sequence[str]] = (),
        comparisons: Sequence[Comparison] = (),
        text: str = "",
        complaints: Complaints | None = None,
    ) -> Study:
        """A study of one scenario, or of several by name. `StudyError` tells what is wrong."""
        complaints = complaints or Complaints()
        parameters = tuple(parameters)
        if isinstance(scenario, dict):
            bases = dict(scenario)
            parameters = (Parameter(SCENARIO, SCENARIO, tuple(bases)), *parameters)
        else:
            base: Any = scenario
            bases = {base.load().name: base}
        check_parameters(parameters, zips, complaints)
        check_quantities(quantities, complaints)
        check_replications(replications, [q.name for q in quantities], complaints)
        check_comparisons(comparisons, parameters, zips, quantities, complaints)
        complaints.tell()
        variants = made_variants(bases, parameters, zips, complaints)
        for number, quantity in enumerate(quantities):
            native = quantity.taken.native()
            if not any(native.is_in(variant.scenario) for variant in variants):
                key = ("quantity", number, "name")
                table = quantity.taken.table.rstrip("s")
                complaints.add(key, f"{quantity.name}: the scenario has no such {table}")
        complaints.tell()
        if replications.seed is None:
            seed = next(iter(bases.values())).load().seed
            replications = Replications(**(asdict(replications) | {"seed": seed}))
        return cls(
            name=name,
            title=title or name,
            bases=bases,
            parameters=parameters,
            zips=tuple(map(tuple, zips)),
            quantities=tuple(quantities),
            replications=replications,
            comparisons=tuple(comparisons),
            variants=variants,
            text=text,
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

        The rows are kept in `out` as they come, so that the same call goes on after an
        interruption. Ctrl-C gives what was finished, with `complete` false. `progress` is called
        with the number of finished runs. `OutputError` when the folder holds anything else,
        `ClusterError` when the cluster cannot be used.
        """
        from bentpipe.study.runner import run

        return run(self, out=out, workers=workers, cluster=cluster, progress=progress)

    @cached_property
    def most_runs(self) -> int:
        """The number of runs; with sequential stopping the largest it can be."""
        runs = len(self.variants) * self.replications.most
        return min(runs, self.replications.budget or runs)

    def values_of_files(self) -> list[str]:
        """The values of parameters that name files, from the working directory as for `--set`."""
        files = [p for p in self.parameters if p.path.rpartition(".")[2] in FILES]
        values = [str(value) for parameter in files for value in parameter.values]
        return [value for value in values if Path(value).is_file()]

    def number(self, variant: int, replication: int) -> int:
        """The number of a run, which no other run has however many replications there will be."""
        return replication * len(self.variants) + variant

    def seed(self, replication: int) -> int:
        """The seed that all variants have in a replication."""
        return ((self.replications.seed or 0) + replication) & LARGEST_SEED

    @cached_property
    def description(self) -> dict[str, Any]:
        """What `study.json` holds: the plan with a digest of all that decides the outcome."""
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
            },
            "runs": [[variant.base, *variant.sets] for variant in self.variants],
        }
        digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
        del described["runs"]
        return described | {"digest": digest}


def hashed(files: Mapping[str, bytes]) -> str:
    """One hash of files and their names."""
    total = hashlib.sha256()
    for name, content in files.items():
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def check_parameters(
    parameters: Sequence[Parameter], zips: Sequence[Sequence[str]], complaints: Complaints
) -> None:
    """Each has values, once; paths are not used twice."""
    paths: dict[str, str] = {}
    zipped = [label for group in zips for label in group]

    def expect(parameter: Parameter, expected: str, found: str) -> None:
        key = ("parameters", parameter.label)
        complaints.add(key, f"{parameter.label}: expected {expected}, found {found}")

    for parameter in parameters:
        if not parameter.values:
            expect(parameter, "at least one value", "none")
        if parameter.label not in zipped:
            for value in repeated(list(parameter.values)):
                expect(parameter, "each value once", f"{value!r} again")
        if parameter.path in paths:
            found = f"that of {paths[parameter.path]}: {parameter.path}"
            expect(parameter, "a path of its own", found)
        if parameter.path in FIXED and parameter.label != SCENARIO:
            reason = "seeds come from [replications]" if parameter.path == "seed" else "it is taken"
            expect(parameter, "a path that is free", f"{parameter.path!r}: {reason}")
        paths[parameter.path] = parameter.label
    for label in repeated(zipped):
        complaints.add(("zip",), f"zip: expected each parameter once, found {label!r} again")
    for group in zips:
        check_zip(group, {parameter.label: parameter for parameter in parameters}, complaints)


def check_zip(
    group: Sequence[str], by_label: Mapping[str, Parameter], complaints: Complaints
) -> None:
    """The parameters exist and have equally many values, and no combination comes twice."""
    for label in group:
        if label not in by_label:
            hint = nearest(label, by_label)
            complaints.add(("zip",), f"zip: there is no parameter {label!r}{hint}")
    known = [by_label[label] for label in group if label in by_label]
    lengths = {parameter.label: len(parameter.values) for parameter in known}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{label} has {length}" for label, length in lengths.items())
        complaints.add(("zip",), f"zip: expected equally many values of each, found: {told}")
        return
    for values in repeated(list(zip(*(parameter.values for parameter in known), strict=True))):
        complaints.add(("zip",), f"zip: expected each combination once, found {values!r} again")


def repeated(values: Sequence[Any]) -> list[Any]:
    """The values that come a second time. True is not 1."""
    seen: set[str] = set()
    again = []
    for value in values:
        again += [value] if repr(value) in seen else []
        seen.add(repr(value))
    return again


def check_quantities(quantities: Sequence[Quantity], complaints: Complaints) -> None:
    """There are some, and each once. Their names were found to be right when they were made."""
    if not quantities:
        complaints.add(("quantity",), "expected at least one [[quantity]], found none")
    for name in repeated([quantity.name for quantity in quantities]):
        complaints.add(("quantity",), f"expected each quantity once, found {name!r} again")
    for number, quantity in enumerate(quantities):
        for percent in quantity.percentiles:
            if not 0 <= percent <= 100:
                key = ("quantity", number, "percentiles")
                complaints.add(key, f"expected percentiles from 0 to 100, found {percent}")


def check_replications(plan: Replications, quantities: list[str], complaints: Complaints) -> None:
    """A count, or all that sequential stopping needs."""

    def expect(key: str, right: bool, expected: str) -> None:
        if not right:
            found = getattr(plan, key)
            complaints.add(
                ("replications", key), f"replications.{key}: expected {expected}, found {found!r}"
            )

    if plan.count is None and plan.quantity is None:
        complaints.add(("replications",), "replications: expected a count, or a quantity with its"
                       " relative_half_width, found neither")  # fmt: skip
    elif plan.count is not None:
        expect("count", plan.count >= 1, "at least 1")
        expect("quantity", plan.quantity is None, "no quantity beside a count")
    else:
        near = nearest(str(plan.quantity), quantities)
        expect("quantity", plan.quantity in quantities, f"one of the quantities{near}")
        width = plan.relative_half_width
        expect("relative_half_width", width is not None and 0 < width < 1, "a number from 0 to 1")
        expect("minimum", plan.minimum >= 2, "at least 2")
        expect("maximum", plan.maximum >= plan.minimum, f"at least the minimum {plan.minimum}")
        expect("round", plan.round >= 1, "at least 1")
    expect("budget", plan.budget is None or plan.budget >= 1, "at least 1")
    seed = plan.seed
    expect("seed", seed is None or 0 <= seed <= LARGEST_SEED, f"from 0 to {LARGEST_SEED}")


def check_comparisons(
    comparisons: Sequence[Comparison],
    parameters: Sequence[Parameter],
    zips: Sequence[Sequence[str]],
    quantities: Sequence[Quantity],
    complaints: Complaints,
) -> None:
    """Parameter, baseline and quantities exist."""
    by_label = {parameter.label: parameter for parameter in parameters}
    names = [quantity.name for quantity in quantities]
    for number, comparison in enumerate(comparisons):
        key = ("comparison", number)
        parameter = by_label.get(comparison.parameter)
        if parameter is None:
            hint = nearest(comparison.parameter, by_label) if by_label else ""
            complaints.add(
                (*key, "parameter"),
                f"comparison: there is no parameter {comparison.parameter!r}{hint}",
            )
        elif (times := parameter.values.count(comparison.baseline)) != 1:
            values = [str(value) for value in parameter.values]
            hint = nearest(str(comparison.baseline), values) if values else ""
            found = f"{comparison.baseline!r}{hint}" if times == 0 else (
                f"{comparison.baseline!r}, which several have"
            )  # fmt: skip
            complaints.add(
                (*key, "baseline"),
                f"comparison: expected a value of {parameter.label}, found {found}",
            )
        for name in comparison.quantities:
            if name not in names:
                complaints.add(
                    (*key, "quantities"),
                    f"comparison: there is no quantity {name!r}{nearest(name, names)}",
                )


def made_variants(
    bases: Mapping[str, Base],
    parameters: Sequence[Parameter],
    zips: Sequence[Sequence[str]],
    complaints: Complaints,
) -> tuple[Variant, ...]:
    """All combinations, each with its scenario; the first that cannot be right is told."""
    found: list[Variant] = []
    for number, point in enumerate(points(axes(parameters, zips))):
        base = next(iter(bases))
        sets = []
        plain: dict[str, Value] = {}
        for parameter in parameters:
            value = point[parameter.label]
            plain[parameter.path] = parameter.plain[value]
            if parameter.path == SCENARIO:
                base = str(parameter.values[value])
            else:
                sets.append(parameter.set(value))
        try:
            scenario = bases[base].load(tuple(sets))
        except ScenarioError as error:
            guilty = [
                parameter.label
                for parameter in parameters
                if parameter.path != SCENARIO
                and f"--set {parameter.set(point[parameter.label])}: " in str(error)
            ]
            if not guilty:
                raise
            complaints.add(("parameters", guilty[0]), f"parameters.{guilty[0]}: {error}")
            break
        found.append(Variant(number, plain, base, tuple(sets), scenario))
    return tuple(found)
