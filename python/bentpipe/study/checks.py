"""Checks of a whole study, after its keys and values were checked against the schema."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bentpipe._native import dotted_path
from bentpipe.errors import StudyError
from bentpipe.problems import listed, quoted, suggested
from bentpipe.study.parameters import axes, identity, overlap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.problems import Problems
    from bentpipe.study.parameters import Parameter
    from bentpipe.study.plan import Comparison, Replications, Variant
    from bentpipe.study.quantities import Quantity
    from bentpipe.study.scenarios import Base

SCENARIO = "scenario"
"""Label and path of the parameter that chooses among several base scenarios."""
FIXED = ("run", "variant", "seed", "replication", "bentpipe", "scenario", "wall_s", "events")
"""Columns of every study. Parameters and quantities cannot use these names."""
LARGEST_SEED = 2**64 - 1
MOST_VARIANTS = 100_000
"""The largest number of variants. Each is a scenario in memory."""
MOST_RUNS = 1_000_000


def check_kinds(key: str, values: Sequence[Any], kind: Any) -> None:
    """Reject other values than those of `kind`, which a program may give; `StudyError`."""
    if isinstance(values, str):
        raise StudyError.of_value(key, "a list", repr(values))
    for value in values:
        if not isinstance(value, kind):
            expected = getattr(kind, "__name__", "Quantity or its name")
            raise StudyError.of_value(key, expected, repr(value))


def check_parameters(
    parameters: Sequence[Parameter],
    zips: Sequence[Sequence[str]],
    problems: Problems,
    bases: Sequence[Base],
) -> None:
    """Check that each parameter has unique values, and that no two set the same path."""
    zipped = [label for group in zips for label in group]
    for number, parameter in enumerate(parameters):
        key = ("parameters", parameter.label)
        if parameter.label not in zipped:
            for index in repeated(parameter.values):
                found = f"{quoted(parameter.values[index])} again"
                problems.add((*key, "values", index), "each value once", found)
        for reason in taken(parameter, parameters[:number], bases):
            expected = "a path that nothing else sets"
            problems.add((*key, "path"), expected, quoted(parameter.path), reason=reason)
    by_label = {parameter.label: parameter for parameter in parameters}
    again = {zipped[index] for index in repeated(zipped)}
    for number, group in enumerate(zips):
        for index, label in enumerate(group):
            if label in again:
                expected = "each parameter once"
                problems.add(("zip", number, index), expected, f"{quoted(label)} again")
        check_zip(number, group, by_label, problems)


def taken(
    parameter: Parameter, before: Sequence[Parameter], bases: Sequence[Base]
) -> Iterator[str]:
    """Reasons why a parameter cannot set its path."""
    path = dotted_path(parameter.path) or parameter.path
    for other in before:
        set_before = dotted_path(other.path) or other.path
        if any(overlap(base.with_indices(path), base.with_indices(set_before)) for base in bases):
            yield f"the parameter {quoted(other.label)} sets it by {quoted(other.path)}"
    if path in FIXED and parameter.label != SCENARIO:
        yield "seeds come from [replications]" if path == "seed" else "the name is reserved"


def check_zip(
    number: int, group: Sequence[str], by_label: Mapping[str, Parameter], problems: Problems
) -> None:
    """Check that paired parameters exist, have equally many values, and no pair occurs twice."""
    for index, label in enumerate(group):
        if label not in by_label:
            problems.add_unknown(("zip", number, index), "a parameter", label, by_label)
    known = [by_label[label] for label in group if label in by_label]
    lengths = {parameter.label: len(parameter.values) for parameter in known}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{length} of {quoted(label)}" for label, length in lengths.items())
        problems.add(("zip", number), "equally many values of each", found)
        return
    rows = list(zip(*(parameter.values for parameter in known), strict=True))
    for index in repeated(rows):
        found = f"{quoted(rows[index])} again"
        problems.add(("zip", number), "each combination once", found)


def repeated(values: Sequence[Any]) -> list[int]:
    """The indices of values that occur before."""
    seen: set[object] = set()
    again = []
    for index, value in enumerate(values):
        again += [index] if identity(value) in seen else []
        seen.add(identity(value))
    return again


def check_quantities(quantities: Sequence[Quantity], problems: Problems) -> None:
    """Check that each quantity is there once. Their names were checked before."""
    names = [quantity.name for quantity in quantities]
    for index in repeated(names):
        found = f"{quoted(names[index])} again"
        problems.add(("quantity", index, "name"), "each quantity once", found)


def check_replications(plan: Replications, quantities: list[str], problems: Problems) -> None:
    """Check that the quantity of sequential stopping exists, and the order of its limits."""
    if plan.quantity is None:
        return
    if plan.quantity not in quantities:
        key = ("replications", "quantity")
        problems.add_unknown(key, "one of the quantities", plan.quantity, quantities)
    if plan.minimum > plan.maximum:
        expected = f"at least the minimum {plan.minimum}"
        problems.add(("replications", "maximum"), expected, str(plan.maximum))


def check_comparisons(
    comparisons: Sequence[Comparison],
    parameters: Sequence[Parameter],
    zips: Sequence[Sequence[str]],
    quantities: Sequence[Quantity],
    problems: Problems,
) -> None:
    """Check that parameter, baseline and quantities exist.

    Only parameters of `zips` can have a value twice. For others `check_parameters` reports it.
    """
    zipped = [label for group in zips for label in group]
    by_label = {parameter.label: parameter for parameter in parameters}
    names = [quantity.name for quantity in quantities]
    for number, comparison in enumerate(comparisons):
        key = ("comparison", number)
        parameter = by_label.get(comparison.parameter)
        if parameter is None:
            known = (*key, "parameter")
            problems.add_unknown(known, "a parameter", comparison.parameter, by_label)
        elif (times := parameter.values.count(comparison.baseline)) == 0 or (
            times > 1 and parameter.label in zipped
        ):
            values = [str(value) for value in parameter.values]
            problems.add(
                (*key, "baseline"),
                f"a value of {quoted(parameter.label)}",
                quoted(comparison.baseline),
                reason="several values are equal to it" if times else None,
                suggestion=None if times else suggested(str(comparison.baseline), values),
            )
        for index, name in enumerate(comparison.quantities):
            if name not in names:
                problems.add_unknown((*key, "quantities", index), "a quantity", name, names)


def check_size(
    parameters: Sequence[Parameter],
    zips: Sequence[Sequence[str]],
    replications: Replications,
    problems: Problems,
) -> None:
    """Check the number of variants and runs, and that the budget covers the first rounds."""
    variants = math.prod(len(axis[0].values) for axis in axes(parameters, zips))
    if variants > MOST_VARIANTS:
        problems.add(("parameters",), f"at most {MOST_VARIANTS:,} variants", f"{variants:,}")
        return
    name = "minimum" if replications.count is None else "count"
    runs = variants * getattr(replications, name)
    if runs > MOST_RUNS:
        found = f"{runs:,} of {variants:,} variants"
        problems.add(("replications", name), f"at most {MOST_RUNS:,} runs", found)
    elif replications.budget is not None and replications.budget < runs:
        expected = f"at least {runs:,}, the first runs of {variants:,} variants"
        problems.add(("replications", "budget"), expected, f"{replications.budget:,}")


def check_rows(
    quantities: Sequence[Quantity], variants: Sequence[Variant], problems: Problems
) -> None:
    """Check that the scenario has the flows, links and pages of the quantities."""
    for number, quantity in enumerate(quantities):
        native = quantity.taken.native()
        if any(native.is_in(variant.scenario) for variant in variants):
            continue
        of_variants = (native.names_in(variant.scenario) for variant in variants)
        names = next((names for names in of_variants if names), [])
        taken = quantity.taken
        key = ("quantity", number, "name")
        if taken.of_mechanism:
            expected = "a quantity of the scenario"
            name = quoted(taken.table)
            reason = f"the table {name} of its recordings has {listed(names)}"
            if not names:
                reason = f"its recordings have no table {name}, because nothing adds one"
            near = suggested(taken.name or "", names)
            problems.add(key, expected, quoted(quantity.name), reason=reason, suggestion=near)
            continue
        table = taken.table.removesuffix("s")
        if table in ("page", "object") and not names:
            expected = "a quantity of the scenario"
            reason = "the scenario has no flow with web pages (traffic.web)"
            problems.add(key, expected, quoted(quantity.name), reason=reason)
        else:
            problems.add_unknown(
                key, f"a {table} of the scenario", quantity.taken.name or "", names
            )
