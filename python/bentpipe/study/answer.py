"""The answer of a study in three lines: the choice, its cost, and how sure it is.

One parameter is chosen: that of the first comparison, otherwise the controller, otherwise the first
one. All combinations of the others are the conditions that it meets. In each condition the values
are ranked by the first quantity that has a better direction. Those without a value in more runs,
such as downloads that did not complete, rank below. A value is tied with the best if their paired
difference is not significant, in the same family of tests as the tables (`ranking`). Runs that vary
much are not significantly different from anything, so a value is chosen for several conditions only
if its means are within 5 % of the best.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from bentpipe.console import few
from bentpipe.numbers import FEWEST, scaled
from bentpipe.study.figures import words
from bentpipe.study.quantities import better, shown, unit_beside
from bentpipe.study.ranking import (
    chosen_parameter,
    directed,
    is_given,
    label_of,
    rankings,
    together,
)
from bentpipe.study.significance import is_significant
from bentpipe.study.summary import values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bentpipe.study.parameters import Value
    from bentpipe.study.plan import Study
    from bentpipe.study.quantities import Quantity
    from bentpipe.study.ranking import Ranked
    from bentpipe.study.results import Results

    Rankings = Mapping[str, Sequence[Ranked]]

MOST_CONDITIONS = 3
"""Conditions whose best values a line names, at most."""


@dataclass(frozen=True)
class Answer:
    """The three lines."""

    choose: str
    costs: str
    sure: str


def described(study: Study, values: Mapping[str, Value]) -> str:
    """Values with their labels and units: `delay 250 ms, per 0.01`."""
    return ", ".join(
        f"{one.label} {values[one.path]}{f' {one.unit}' if one.unit else ''}"
        for one in study.parameters
        if one.path in values
    )


def answer(results: Results) -> Answer:
    """The three lines. They name no winner where a difference is not significant."""
    return answered(results, rankings_of(results))


def rankings_of(results: Results) -> Rankings:
    """The ranking of each quantity that has a better direction."""
    study = results.study
    found = {one.name: values_of(results.rows, one.name) for one in study.quantities}
    return rankings(study, found, results.summary["deterministic"])


def answered(results: Results, ranked: Rankings) -> Answer:
    """The three lines from the rankings."""
    study = results.study
    parameter = chosen_parameter(study)
    if parameter is None:
        return Answer(
            "Nothing: the study has one variant.", "See the table.", certainty(results, [])
        )
    if not directed(study):
        named = few(words(one) for one in study.quantities)
        return Answer(
            f"Up to you: neither more nor less of {named} is better in general.",
            "See the tables.",
            certainty(results, []),
        )
    main, *others = directed(study)
    conditions = ranked[main.name]
    if not conditions:
        return Answer("Nothing yet: no run is complete.", "Unknown.", certainty(results, []))
    label = label_of(study, parameter)
    if choose_none := no_ranking(label, main, conditions):
        return Answer(choose_none, "Unknown.", certainty(results, conditions))
    choice = universal(conditions)
    is_choice = not all(is_given(one) for one in together(study, parameter))
    given = "" if is_choice else f"{label} is no choice but given. "
    return Answer(
        given + choose(results, label, main, conditions, choice),
        costs(others, ranked, choice) if choice else regret(results, label, main, conditions),
        certainty(results, conditions),
    )


def no_ranking(label: str, main: Quantity, conditions: Sequence[Ranked]) -> str:
    """The first line where the values cannot be ranked; empty if they can."""
    if not any(one.best for one in conditions):
        return f"Nothing: {words(main)} is undefined in every run.{without_value(main, conditions)}"
    if few_runs(conditions):
        return f"Nothing yet: too few runs to rank {label} by {words(main)}."
    return ""


def to_dict(results: Results) -> dict[str, Any]:
    """The three lines, the ranking behind them, and the recommended variant of each condition.

    `parameters` are those that change together with `parameter`, which is the first of them.
    `conditions` are rankings of variants. The first `tied` are the best and those tied with it, and
    the others follow, best first. Without a value for all conditions, `recommended` is the best of
    each that has one.
    """
    ranked = rankings_of(results)
    parameter = chosen_parameter(results.study)
    main = next(iter(directed(results.study)), None)
    found = ranked.get(main.name, []) if main else []
    able = [one for one in found if one.best]
    if parameter is None or main is None or no_ranking(parameter.label, main, found):
        able = []
    choice = universal(found)[:1] if able else []
    return asdict(answered(results, ranked)) | {
        "parameter": parameter and parameter.path,
        "parameters": [one.path for one in together(results.study, parameter)] if parameter else [],
        "quantity": main and main.name,
        "conditions": [{"variants": tied_first(one), "tied": len(one.best)} for one in found],
        "recommended": [
            one.variants[list(one.names).index(choice[0])] if choice else one.variants[0]
            for one in able
        ],
        "for_all": bool(choice),
    }


def tied_first(one: Ranked) -> list[int]:
    """The variants of a condition: the best, those tied with it, and the others."""
    best = [name in one.best for name in one.names]
    return [
        *(variant for variant, tied in zip(one.variants, best, strict=True) if tied),
        *(variant for variant, tied in zip(one.variants, best, strict=True) if not tied),
    ]


def universal(conditions: Sequence[Ranked]) -> list[str]:
    """The values that are the best, or tied and near, in all conditions, most often the best first.

    With one condition they are all that are tied. If none is near the best everywhere, but several
    are tied in all conditions, nothing distinguishes these: they are the values, the one that loses
    least where it loses most first.
    """
    if len(conditions) == 1:
        return conditions[0].best
    common = [
        name
        for name in conditions[0].names
        if all(name in c.best and c.is_near(name) for c in conditions)
    ]
    if not common and len(tied := tied_in_all(conditions)) > 1:
        return sorted(tied, key=lambda name: largest_loss(name, conditions) or 0.0)
    return sorted(common, key=lambda name: -sum(c.names[0] == name for c in conditions))


def tied_in_all(conditions: Sequence[Ranked]) -> list[str]:
    """The values that are the best, or tied with it, in all conditions."""
    return [name for name in conditions[0].names if all(name in one.best for one in conditions)]


def largest_loss(name: str, conditions: Sequence[Ranked]) -> float | None:
    """The largest difference of a mean from the best, as a share of it; None if it has no value."""
    known = [loss_of(name, one) for one in conditions]
    return None if None in known else max(loss or 0.0 for loss in known)


def loss_of(name: str, one: Ranked) -> float | None:
    """The difference of a mean from the best of a condition, as a share of it."""
    at, best = one.means.get(name), one.means[one.names[0]]
    if at is None or not best or one.lacks(name):
        return None
    return abs(at - best) / abs(best)


def choose(
    results: Results,
    label: str,
    main: Quantity,
    conditions: Sequence[Ranked],
    choice: Sequence[str],
) -> str:
    """The first line."""
    wanted = f"{best_word(main)} {words(main)}{among(main, conditions)}"
    lacking = without_value(main, conditions)
    number = len(conditions)
    everywhere = (
        f" in {'both' if number == 2 else f'all {number}'} conditions" if number > 1 else ""
    )
    if len(choice) > 1:
        rows = [one.against_best.get(name) for one in conditions for name in choice]
        exact = all(row["finding"] == "deterministic" for row in rows if row)
        kind = "The same" if exact else "Not significantly different from the"
        return (
            f"Tied: {few(choice)}. {kind} {wanted}{everywhere},"
            f" {reached(choice[0], main, conditions)}.{far(choice, conditions)}{lacking}"
        )
    if choice:
        alone = sum(one.best == [choice[0]] for one in conditions)
        if alone == number:
            kind = f"{wanted}{everywhere}"
        elif alone:
            kind = f"{wanted}, alone in {alone} of {number} conditions and tied in the others"
        else:
            kind = f"{wanted} or tied with it{everywhere}"
        return f"{choice[0]}: {kind}, {reached(choice[0], main, conditions)}.{lacking}"
    study = results.study
    each = [
        f"{' or '.join(one.best[:3]) or 'none'}{' or others' if len(one.best) > 3 else ''}"
        f"{' (tied)' if len(one.best) > 1 else ''} at {described(study, one.condition)}"
        for one in conditions
    ]
    return f"No one {label} for all: {few(each, MOST_CONDITIONS, '; ')}, by {wanted}." + lacking


def far(choice: Sequence[str], conditions: Sequence[Ranked]) -> str:
    """A sentence on tied values whose means are far from the best in a condition; empty without."""
    losses = {name: largest_loss(name, conditions) or 0.0 for name in choice}
    if all(one.is_near(name) for one in conditions for name in choice):
        return ""
    parts = (f"{name} by up to {loss * 100:.3g} %" for name, loss in losses.items())
    return f" Means differ from the best of a condition: {few(parts)}."


def is_completion(quantity: Quantity) -> bool:
    """True for the completion time of a flow, which has no value if it did not complete."""
    return quantity.taken.column == "completion_s"


def among(quantity: Quantity, conditions: Sequence[Ranked]) -> str:
    """The values among which the best is ranked, if others are undefined in more runs than it."""
    if not any(one.lacks(name) for one in conditions for name in one.names):
        return ""
    if any(one.undefined[one.names[0]] for one in conditions):
        return " among the values with the fewest undefined runs"
    has_value = "completed" if is_completion(quantity) else "are defined"
    return f" among the values that {has_value} in every run"


def without_value(quantity: Quantity, conditions: Sequence[Ranked]) -> str:
    """A sentence on the runs of each value in which a quantity is undefined; empty if in none."""
    found: dict[str, list[int]] = {}
    for one in conditions:
        for name in one.names:
            counted = found.setdefault(name, [0, 0])
            counted[0] += one.undefined[name]
            counted[1] += one.runs[name]
    parts = [f"{name} in {lacks} of {runs} runs" for name, (lacks, runs) in found.items() if lacks]
    kind = "Did not complete" if is_completion(quantity) else "Undefined"
    return f" {kind}: {few(parts)}." if parts else ""


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
    unit = f" {unit}" if (unit := unit_beside(words(quantity), unit)) else ""
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def costs(others: Sequence[Quantity], ranked: Rankings, choice: Sequence[str]) -> str:
    """The second line for a choice: the other quantities in which others are better."""
    if not others:
        return "Not measured: the study has no other quantity with a better direction."
    of = f"{choice[0]}: " if len(choice) > 1 else ""
    parts = [cost(quantity, ranked[quantity.name], choice[0]) for quantity in others]
    return f"{of}{few(parts, separator='; ')}."


def cost(quantity: Quantity, conditions: Sequence[Ranked], name: str) -> str:
    """One other quantity of the choice, and the values that are significantly better."""
    at = f"{words(quantity)} {reached(name, quantity, conditions)}"
    if lacks := sum(one.undefined.get(name, 0) for one in conditions):
        at += f" (undefined in {lacks} of {sum(one.runs.get(name, 0) for one in conditions)} runs)"
    able = [one for one in conditions if one.best]
    if not able:
        return at
    worse = [one for one in able if name not in one.best]
    if not worse:
        return f"{at}, the best or tied"
    leaders = dict.fromkeys(one.names[0] for one in worse)
    firsts = [best for one in worse if (best := one.means[one.names[0]]) is not None]
    factor, unit = shown(quantity.name)
    unit = unit_beside(words(quantity), unit)
    ends = [scaled(end, factor) for end in (min(firsts), max(firsts))]
    reached_there = " to ".join(dict.fromkeys(ends)) + (f" {unit}" if unit else "")
    where = f" in {len(worse)} of {len(conditions)} conditions" if len(conditions) > 1 else ""
    return f"{at}, worse than {few(leaders, 2)} ({reached_there}){where}"


def regret(results: Results, label: str, main: Quantity, conditions: Sequence[Ranked]) -> str:
    """The second line without a choice: the value that loses least where it loses most."""
    losses: dict[str, tuple[float, Ranked]] = {}
    for name in conditions[0].names:
        lost = [(loss, one) for one in conditions if (loss := loss_of(name, one)) is not None]
        if len(lost) == len(conditions):
            losses[name] = max(lost, key=lambda pair: pair[0])
    if not losses:
        return f"Unknown: no {label} has enough values of {words(main)} everywhere."
    name = min(losses, key=lambda one: losses[one][0])
    share, where = losses[name]
    return (
        f"One {label} for all would be {name}: its mean {words(main)} is at most"
        f" {share * 100:.3g} % from the best ({described(results.study, where.condition)})."
    )


def few_runs(conditions: Sequence[Ranked]) -> bool:
    """True if no difference has enough pairs, and some are not deterministic.

    Enough runs without a value of all but the best decide, too.
    """
    rows = [row for one in conditions for row in one.against_best.values()]
    return (
        bool(rows)
        and all(row["finding"] in ("too few", "undefined") for row in rows)
        and not any(
            one.lacks(name) and min(one.runs[name], one.runs[one.names[0]]) >= FEWEST
            for one in conditions
            for name in one.names
        )
    )


def certainty(results: Results, conditions: Sequence[Ranked]) -> str:
    """The third line: the runs, and what their differences show."""
    counts = runs_of_variants(results)
    span = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    runs = f"{span} run{'' if span == '1' else 's'} of each variant, simulated"
    partial = "" if results.complete else "; interrupted, so partial"
    whole = [
        row for one in conditions for name, row in one.against_best.items() if not one.lacks(name)
    ]
    number = sum(len(one.against_best) for one in conditions)
    tested = [row for row in whole if row["p_holm"] is not None]
    exact = [row for row in whole if row["finding"] == "deterministic"]
    said = []
    if tested:
        clear = sum(is_significant(row) for row in tested)
        said.append(
            f"{clear} of {len(tested)} differences from the best are significant (paired by seed,"
            f" Holm over all {tested[0]['family']} differences of the study)"
        )
    if exact:
        said.append(
            f"{'' if len(exact) < number else 'all '}{len(exact)} differences are deterministic:"
            " exact for this scenario only, no significance"
        )
    elif not tested and counts[-1] < FEWEST:
        said.append("fewer than three runs show no significance")
    if number > len(whole):
        said.append(
            f"{number - len(whole)} rank below the best because of runs without a value, which no"
            " test decides"
        )
    return "; ".join([runs + partial, *said]) + "."


def runs_of_variants(results: Results) -> list[int]:
    """The numbers of runs of the variants, in order."""
    name = results.study.quantities[0].name
    return sorted(len(runs) for runs in values_of(results.rows, name).values()) or [0]
