"""The answer of a study in three lines: the choice, its cost, and how sure it is.

One parameter is chosen: that of the first comparison, otherwise the controller, otherwise the first
one. All combinations of the others are the conditions that it meets. In each condition the values
are ranked by the first quantity that has a better direction. A value is tied with the best if their
paired difference is not significant. The tests of all conditions are one family. Runs that vary
much are not significantly different from anything, so a value is chosen for several conditions only
if its means are within 5 % of the best.
"""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from bentpipe.console import few
from bentpipe.numbers import FEWEST, scaled
from bentpipe.study.figures import words
from bentpipe.study.quantities import better, shown
from bentpipe.study.significance import decided, finding_of, is_tied, paired_test
from bentpipe.study.summary import paired, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bentpipe.study.parameters import Parameter, Value
    from bentpipe.study.plan import Study, Variant
    from bentpipe.study.quantities import Quantity
    from bentpipe.study.results import Results
    from bentpipe.study.summary import Values

GIVEN = frozenset(
    {"delay", "per", "ber", "jitter", "es_n0", "eb_n0", "attenuation", "trace", "seed"}
)
"""Last parts of paths that the link gives. They are no choice."""
NEARLY = 0.95
"""Share of the best mean that counts as nearly the best. Our choice."""

MOST_CONDITIONS = 3
"""Conditions whose best values a line names, at most."""


@dataclass(frozen=True)
class Answer:
    """The three lines."""

    choose: str
    costs: str
    sure: str


@dataclass(frozen=True)
class Ranked:
    """The values of the chosen parameter in one condition, best first."""

    condition: Mapping[str, Value]
    """The values of the other parameters by their paths."""
    variants: Sequence[int]
    """The numbers of the variants of the names."""
    names: Sequence[str]
    means: Mapping[str, float | None]
    against_best: Mapping[str, Mapping[str, Any]]
    """The paired difference of each other value from the best."""

    def is_equal(self, name: str) -> bool:
        """True if enough runs show no difference of a value from the best."""
        row = self.against_best[name]
        return is_tied(row) and finding_of(row) not in ("too few", "undefined")

    @property
    def best(self) -> list[str]:
        """The best value, and those that are tied with it."""
        first, *others = self.names
        return [first, *(name for name in others if is_tied(self.against_best[name]))]

    def is_near(self, name: str) -> bool:
        """True if the mean of a value is nearly that of the best."""
        return is_near(self.means[name], self.means[self.names[0]])


def is_near(own: float | None, top: float | None) -> bool:
    """True if two means are defined and differ by at most 5 % of the second."""
    if own is None or top is None:
        return False
    return abs(own - top) <= (1 - NEARLY) * abs(top)


def chosen_parameter(study: Study) -> Parameter | None:
    """The parameter whose value the study chooses; None if it has only one variant."""
    several = [one for one in study.parameters if len(one.values) > 1]
    compared = {one.parameter for one in study.comparisons}
    for wanted in (
        [one for one in several if one.label in compared],
        [one for one in several if one.names_controllers],
        [one for one in several if not is_given(one)],
        several,
    ):
        if wanted:
            return wanted[0]
    return None


def is_given(parameter: Parameter) -> bool:
    """True for a property of the link, such as its delay, which is not a choice."""
    return parameter.path.rpartition(".")[2] in GIVEN


def moved_with(study: Study, parameter: Parameter) -> set[str]:
    """The paths of the parameters that change together with one, itself included."""
    together = next((group for group in study.zips if parameter.label in group), (parameter.label,))
    return {one.path for one in study.parameters if one.label in together}


def rest_of(study: Study, parameter: Parameter, variant: Variant) -> dict[str, Value]:
    """The condition of a variant: the values of all parameters that are not chosen."""
    moved = moved_with(study, parameter)
    return {path: value for path, value in variant.parameters.items() if path not in moved}


def described(study: Study, values: Mapping[str, Value]) -> str:
    """Values with their labels and units: `delay 250 ms, per 0.01`."""
    return ", ".join(
        f"{one.label} {values[one.path]}{f' {one.unit}' if one.unit else ''}"
        for one in study.parameters
        if one.path in values
    )


def ranking(results: Results, parameter: Parameter, quantity: Quantity) -> list[Ranked]:
    """The values of the parameter in each condition, best first."""
    study = results.study
    runs = values_of(results.rows, quantity.name)
    higher = better(quantity.name) == "higher"
    groups: dict[str, list[Variant]] = {}
    for variant in study.variants:
        if runs[variant.number]:
            groups.setdefault(repr(rest_of(study, parameter, variant)), []).append(variant)
    fixed = set(results.summary["deterministic"])
    orders = [sorted(group, key=lambda one: place(runs, one, higher)) for group in groups.values()]
    pairs = [(one, order[0]) for order in orders for one in order[1:]]
    rows = iter(
        decided(
            paired_test(
                paired(runs[one.number], runs[best.number]),
                deterministic=one.number in fixed and best.number in fixed,
                counts=quantity.is_count,
            )
            for one, best in pairs
        )
    )

    def named(variant: Variant) -> str:
        value = str(variant.parameters[parameter.path])
        return f"{value} {parameter.unit}" if parameter.unit else value

    return [
        Ranked(
            condition=rest_of(study, parameter, order[0]),
            variants=[one.number for one in order],
            names=[named(one) for one in order],
            means={named(one): mean(runs, one) for one in order},
            against_best={named(one): next(rows) for one in order[1:]},
        )
        for order in orders
    ]


def mean(runs: Values, variant: Variant) -> float | None:
    """The mean of the defined values of a variant."""
    values = [value for value in runs[variant.number].values() if value is not None]
    return statistics.fmean(values) if values else None


def place(runs: Values, variant: Variant, higher: bool) -> tuple[int, float]:
    """The order of a ranking: fewer undefined values first, then the better mean."""
    at = mean(runs, variant)
    undefined = sum(value is None for value in runs[variant.number].values())
    return undefined, float("inf") if at is None else -at if higher else at


def answer(results: Results) -> Answer:
    """The three lines. They name no winner where a difference is not significant."""
    study = results.study
    parameter = chosen_parameter(study)
    directed = [one for one in study.quantities if better(one.name)]
    if parameter is None:
        return Answer(
            "Nothing: the study has one variant.", "See the table.", certainty(results, [])
        )
    if not directed:
        named = few(words(one) for one in study.quantities)
        return Answer(
            f"Up to you: neither more nor less of {named} is better in general.",
            "See the tables.",
            certainty(results, []),
        )
    main, *others = directed
    conditions = ranking(results, parameter, main)
    if not conditions:
        return Answer("Nothing yet: no run is complete.", "Unknown.", certainty(results, []))
    choice = universal(conditions)
    if few_runs(conditions):
        choose_none = f"Nothing yet: too few runs to rank {parameter.label} by {words(main)}."
        return Answer(choose_none, "Unknown.", certainty(results, conditions))
    given = f"{parameter.label} is no choice but given. " if is_given(parameter) else ""
    return Answer(
        given + choose(results, parameter, main, conditions, choice),
        costs(results, parameter, others, choice)
        if choice
        else regret(results, parameter, main, conditions),
        certainty(results, conditions),
    )


def to_dict(results: Results) -> dict[str, Any]:
    """The three lines, the ranking behind them, and the recommended variant of each condition.

    `conditions` are rankings of variants, best first. The first `tied` are the best or tied with
    it. Without a value for all conditions, `recommended` is the best of each.
    """
    lines = asdict(answer(results))
    parameter = chosen_parameter(results.study)
    main = next((one for one in results.study.quantities if better(one.name)), None)
    found = ranking(results, parameter, main) if parameter and main else []
    able = [] if few_runs(found) else found
    choice = universal(able)[:1] if able else []
    return lines | {
        "parameter": parameter and parameter.path,
        "quantity": main and main.name,
        "conditions": [{"variants": [*one.variants], "tied": len(one.best)} for one in found],
        "recommended": [
            one.variants[list(one.names).index(choice[0])] if choice else one.variants[0]
            for one in able
        ],
        "for_all": bool(choice),
    }


def universal(conditions: Sequence[Ranked]) -> list[str]:
    """The values that are the best, or tied and near, in all conditions, most often the best first.

    With one condition they are all that are tied.
    """
    if len(conditions) == 1:
        return conditions[0].best
    common = [
        name
        for name in conditions[0].names
        if all(name in c.best and c.is_near(name) for c in conditions)
    ]
    return sorted(common, key=lambda name: -sum(c.names[0] == name for c in conditions))


def choose(
    results: Results,
    parameter: Parameter,
    main: Quantity,
    conditions: Sequence[Ranked],
    choice: Sequence[str],
) -> str:
    """The first line."""
    wanted = f"{best_word(main)} {words(main)}"
    number = len(conditions)
    everywhere = (
        f" in {'both' if number == 2 else f'all {number}'} conditions" if number > 1 else ""
    )
    if len(choice) > 1:
        rows = [row for one in conditions for row in one.against_best.values()]
        exact = all(row["finding"] == "deterministic" for row in rows)
        kind = "The same" if exact else "Not significantly different from the"
        return (
            f"Tied: {few(choice)}. {kind} {wanted}{everywhere},"
            f" {reached(choice[0], main, conditions)}."
        )
    if choice:
        alone = sum(one.best == [choice[0]] for one in conditions)
        kind = (
            f"{wanted}{everywhere}"
            if alone == number
            else f"{wanted}, alone in {alone} of {number} conditions and tied in the others"
        )
        return f"{choice[0]}: {kind}, {reached(choice[0], main, conditions)}."
    study = results.study
    each = [
        f"{' or '.join(one.best[:3])}{' or others' if len(one.best) > 3 else ''}"
        f"{' (tied)' if len(one.best) > 1 else ''} at {described(study, one.condition)}"
        for one in conditions
    ]
    return f"No one {parameter.label} for all: {few(each, MOST_CONDITIONS, '; ')}, by {wanted}."


def best_word(quantity: Quantity) -> str:
    """The better end of a quantity."""
    return "highest" if better(quantity.name) == "higher" else "lowest"


def reached(name: str, quantity: Quantity, conditions: Sequence[Ranked]) -> str:
    """The means of a value over all conditions."""
    known = [at for one in conditions if (at := one.means.get(name)) is not None]
    if not known:
        return "undefined"
    factor, unit = shown(quantity.name)
    low, high = scaled(min(known), factor), scaled(max(known), factor)
    unit = "" if unit == "1" else f" {unit}"
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def costs(
    results: Results, parameter: Parameter, others: Sequence[Quantity], choice: Sequence[str]
) -> str:
    """The second line for a choice: the other quantities in which others are better."""
    if not others:
        return "Not measured: the study has no other quantity with a better direction."
    parts = []
    name = choice[0]
    for quantity in others:
        conditions = ranking(results, parameter, quantity)
        worse = [one for one in conditions if name not in one.best]
        at = f"{words(quantity)} {reached(name, quantity, conditions)}"
        if not worse:
            parts.append(f"{at}, the best or tied")
            continue
        leaders = dict.fromkeys(one.names[0] for one in worse)
        firsts = [best for one in worse if (best := one.means[one.names[0]]) is not None]
        factor, unit = shown(quantity.name)
        ends = [scaled(end, factor) for end in (min(firsts), max(firsts))]
        reached_there = " to ".join(dict.fromkeys(ends)) + ("" if unit == "1" else f" {unit}")
        where = f" in {len(worse)} of {len(conditions)} conditions" if len(conditions) > 1 else ""
        parts.append(f"{at}, worse than {few(leaders, 2)} ({reached_there}){where}")
    of = f"{name}: " if len(choice) > 1 else ""
    return f"{of}{few(parts, separator='; ')}."


def regret(
    results: Results, parameter: Parameter, main: Quantity, conditions: Sequence[Ranked]
) -> str:
    """The second line without a choice: the value that loses least where it loses most."""
    losses: dict[str, tuple[float, Ranked]] = {}
    for name in conditions[0].names:
        lost = []
        for one in conditions:
            at, best = one.means.get(name), one.means[one.names[0]]
            if at is None or not best:
                return "Unknown: some values are undefined in some conditions."
            lost.append((abs(at - best) / abs(best), one))
        losses[name] = max(lost, key=lambda pair: pair[0])
    name = min(losses, key=lambda one: losses[one][0])
    share, where = losses[name]
    return (
        f"One {parameter.label} for all would be {name}: its mean {words(main)} is at most"
        f" {share * 100:.3g} % from the best ({described(results.study, where.condition)})."
    )


def few_runs(conditions: Sequence[Ranked]) -> bool:
    """True if no difference has enough pairs, and some are not deterministic."""
    rows = [row for one in conditions for row in one.against_best.values()]
    return bool(rows) and all(row["finding"] in ("too few", "undefined") for row in rows)


def certainty(results: Results, conditions: Sequence[Ranked]) -> str:
    """The third line: the runs, and what their differences show."""
    counts = runs_of_variants(results)
    span = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    runs = f"{span} run{'' if span == '1' else 's'} of each variant, simulated"
    partial = "" if results.complete else "; interrupted, so partial"
    rows = [row for one in conditions for row in one.against_best.values()]
    tested = [row for row in rows if row["p_holm"] is not None]
    exact = [row for row in rows if row["finding"] == "deterministic"]
    said = []
    if tested:
        clear = sum(not is_tied(row) for row in tested)
        said.append(
            f"{clear} of {len(tested)} differences from the best are significant (paired by seed,"
            " Holm)"
        )
    if exact:
        said.append(
            f"{'' if len(exact) < len(rows) else 'all '}{len(exact)} differences are deterministic:"
            " exact for this scenario only, no significance"
        )
    elif not tested and counts[-1] < FEWEST:
        said.append("fewer than three runs show no significance")
    return "; ".join([runs + partial, *said]) + "."


def runs_of_variants(results: Results) -> list[int]:
    """The numbers of runs of the variants, in order."""
    name = results.study.quantities[0].name
    return sorted(len(runs) for runs in values_of(results.rows, name).values()) or [0]
