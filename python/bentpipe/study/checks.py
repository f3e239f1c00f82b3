"""Checks of a whole study, after its parts were checked one by one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bentpipe.console import nearest
from bentpipe.study.parameters import axes, identity, overlap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.study.complaints import Complaints
    from bentpipe.study.parameters import Parameter
    from bentpipe.study.plan import Comparison, Replications, Variant
    from bentpipe.study.quantities import Quantity

SCENARIO = "scenario"
"""Label and path of the parameter that chooses among several base scenarios."""
FIXED = ("run", "variant", "seed", "replication", "bentpipe", "scenario", "wall_s", "events")
"""Columns of every study. Parameters and quantities cannot use these names."""
LARGEST_SEED = 2**64 - 1
MOST_VARIANTS = 100_000
"""The largest number of variants. Each is a scenario in memory."""
MOST_RUNS = 1_000_000


def check_kinds(key: str, values: Sequence[Any], kind: Any, complaints: Complaints) -> None:
    """A program may hand over anything."""
    for value in values:
        if not isinstance(value, kind):
            expected = getattr(kind, "__name__", "Quantity or its name")
            complaints.add((key,), f"{key}: expected {expected}, found {value!r}")


def check_parameters(
    parameters: Sequence[Parameter], zips: Sequence[Sequence[str]], complaints: Complaints
) -> None:
    """Check that each parameter has unique values, and that no two set the same path."""
    zipped = [label for group in zips for label in group]
    for number, parameter in enumerate(parameters):
        for expected, found in wrong_with(parameter, parameters[:number], zipped):
            key = ("parameters", parameter.label)
            complaints.add(key, f"{parameter.label}: expected {expected}, found {found}")
    for label in repeated(zipped):
        complaints.add(("zip",), f"zip: expected each parameter once, found {label!r} again")
    for group in zips:
        check_zip(group, {parameter.label: parameter for parameter in parameters}, complaints)


def wrong_with(
    parameter: Parameter, before: Sequence[Parameter], zipped: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Pairs of what was expected and what was found, for each error of a parameter."""
    if not parameter.values:
        yield "at least one value", "none"
    if parameter.label not in zipped:
        for value in repeated(list(parameter.values)):
            yield "each value once", f"{value!r} again"
    for other in before:
        if overlap(parameter.path, other.path):
            found = f"{parameter.path}, which {other.label} sets too by {other.path}"
            yield "a path of its own", found
    if parameter.path in FIXED and parameter.label != SCENARIO:
        reason = "seeds come from [replications]" if parameter.path == "seed" else "it is reserved"
        yield "another path", f"{parameter.path!r}: {reason}"


def check_zip(
    group: Sequence[str], by_label: Mapping[str, Parameter], complaints: Complaints
) -> None:
    """Check that paired parameters exist, have equally many values, and no pair occurs twice."""
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
    """The values that occur more than once."""
    seen: set[object] = set()
    again = []
    for value in values:
        again += [value] if identity(value) in seen else []
        seen.add(identity(value))
    return again


def check_quantities(quantities: Sequence[Quantity], complaints: Complaints) -> None:
    """Check that there are quantities, each once. Their names were checked before."""
    if not quantities:
        complaints.add(("quantity",), "expected at least one [[quantity]], found none")
    for name in repeated([quantity.name for quantity in quantities]):
        complaints.add(("quantity",), f"expected each quantity once, found {name!r} again")


def check_replications(plan: Replications, quantities: list[str], complaints: Complaints) -> None:
    """Check that there is a count, or all settings of sequential stopping."""

    def expect(key: str, right: bool, expected: str) -> None:
        if not right:
            found = getattr(plan, key)
            complaints.add(
                ("replications", key), f"replications.{key}: expected {expected}, found {found!r}"
            )

    most = f"{MOST_RUNS:,}"
    for name in ("count", "seed", "minimum", "maximum", "round", "budget"):
        value = getattr(plan, name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            expect(name, False, "a whole number")
            return
    if plan.count is None and plan.quantity is None:
        complaints.add(("replications",), "replications: expected a count, or a quantity with its"
                       " relative_half_width, found neither")  # fmt: skip
    elif plan.count is not None:
        expect("count", 1 <= plan.count <= MOST_RUNS, f"from 1 to {most}")
        expect("quantity", plan.quantity is None, "either a count or a quantity")
    else:
        near = nearest(str(plan.quantity), quantities)
        expect("quantity", plan.quantity in quantities, f"one of the quantities{near}")
        width = plan.relative_half_width
        is_share = isinstance(width, int | float) and 0 < width < 1
        expect("relative_half_width", is_share, "a number from 0 to 1")
        expect("minimum", plan.minimum >= 2, "at least 2")
        least = f"from the minimum {plan.minimum} to {most}"
        expect("maximum", plan.minimum <= plan.maximum <= MOST_RUNS, least)
        expect("round", 1 <= plan.round <= MOST_RUNS, f"from 1 to {most}")
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
    """Check that parameter, baseline and quantities exist."""
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
        elif parameter.values and (times := parameter.values.count(comparison.baseline)) != 1:
            values = [str(value) for value in parameter.values]
            hint = nearest(str(comparison.baseline), values)
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


def check_size(
    parameters: Sequence[Parameter],
    zips: Sequence[Sequence[str]],
    replications: Replications,
    complaints: Complaints,
) -> None:
    """Check the number of variants and runs, and that the budget covers the first rounds."""
    variants = math.prod(len(axis[0].values) for axis in axes(parameters, zips))
    if variants > MOST_VARIANTS:
        complaints.add(
            ("parameters",),
            f"parameters: expected at most {MOST_VARIANTS:,} variants, found {variants:,}",
        )
        return
    name = "minimum" if replications.count is None else "count"
    runs = variants * getattr(replications, name)
    if runs > MOST_RUNS:
        complaints.add(
            ("replications", name),
            f"replications.{name}: expected at most {MOST_RUNS:,} runs, found {runs:,}"
            f" of {variants:,} variants",
        )
    elif replications.budget is not None and replications.budget < runs:
        complaints.add(
            ("replications", "budget"),
            f"replications.budget: expected at least {runs:,}, the first runs of {variants:,}"
            f" variants, found {replications.budget:,}",
        )


def check_rows(
    quantities: Sequence[Quantity], variants: Sequence[Variant], complaints: Complaints
) -> None:
    """Check that the scenario has the flows, links and pages of the quantities."""
    for number, quantity in enumerate(quantities):
        native = quantity.taken.native()
        if any(native.is_in(variant.scenario) for variant in variants):
            continue
        names = native.names_in(variants[0].scenario)
        table = quantity.taken.table.removesuffix("s")
        if table in ("page", "object") and not names:
            message = "the scenario has no flow with web pages (traffic.web)"
        else:
            hint = nearest(quantity.taken.name or "", names) if names else ""
            message = f"the scenario has no such {table}{hint}"
        complaints.add(("quantity", number, "name"), f"{quantity.name}: {message}")
