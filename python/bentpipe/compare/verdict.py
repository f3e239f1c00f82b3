"""Verdicts of a comparison in sentences, with number, interval and significance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.compare.ranking import Place, ranked
from bentpipe.numbers import common, count, ends, scaled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.compare.outcome import Outcome


@dataclass(frozen=True)
class Verdict:
    """One sentence and its data. The field names are the JSON names."""

    workload: str
    question: str
    controller: str
    mean: float | None
    ci95: tuple[float, float] | None
    unit: str
    not_distinguishable: list[str]
    sentence: str


def verdicts(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """Best for one bulk flow and web pages, least harm to NewReno, best and worst under fade."""
    by_name = {outcome.workload.name: outcome for outcome in outcomes}
    found = []
    for name, question, worst in (
        ("bulk", "Best for one bulk flow", False),
        ("web", "Best for web pages", False),
        ("beside-newreno", "Least harm to NewReno", False),
        ("fade", "Best under fade", False),
        ("fade", "Worst under fade", True),
    ):
        if name in by_name:
            found.append(verdict(by_name[name], question, worst=worst))
    return found


def verdict(outcome: Outcome, question: str, *, worst: bool) -> Verdict:
    """The verdict on the first of the ranking, or on the last if `worst`."""
    places = outcome.places
    if worst:
        higher = outcome.workload.higher_is_better
        # In reverse order. More undefined values still count as worse.
        places = from_worst(outcome, higher)
    first, *others = places
    tied = [place.name for place in others if place.tied]
    sentence = f"{question}: {first.name}, {told(outcome, first)}. {alike(first, tied, others)}"
    if outcome.workload.name == "beside-newreno":
        sentence += harmful(outcome)
    return Verdict(
        workload=outcome.workload.name,
        question=question,
        controller=first.name,
        mean=first.mean,
        ci95=first.ci95,
        unit=outcome.unit,
        not_distinguishable=tied,
        sentence=sentence,
    )


def from_worst(outcome: Outcome, higher_is_better: bool) -> list[Place]:
    """The ranking in reverse, with differences from the worst."""
    found = {place.name: outcome.runs[place.name] for place in outcome.places}
    return ranked(found, higher_is_better=not higher_is_better, baseline=None)


def told(outcome: Outcome, place: Place) -> str:
    """The number with its interval; in competition with NewReno, the goodput of NewReno."""
    number = amount(place.mean, place.ci95, outcome.unit)
    if outcome.workload.name == "web":
        return f"{number} page load time"
    if outcome.workload.name == "beside-newreno":
        share = kept(outcome, place)
        of = f", {share} of its goodput when competing with another NewReno" if share else ""
        return f"which leaves NewReno {number}{of}"
    return number


def kept(outcome: Outcome, place: Place) -> str:
    """The goodput of NewReno in percent of its goodput when competing with another NewReno."""
    row = place.against_baseline
    base = next((p.mean for p in outcome.places if p.name == outcome.workload.baseline), None)
    if row is None or not base or row["difference"] is None:
        return ""
    share = f"{count(100 + 100 * row['difference'] / base)} %"
    if row["ci95"] is None:
        return share
    interval = [100 + 100 * end / base for end in row["ci95"]]
    return f"{share} ({ends(interval, form=count)} %)"


def harmful(outcome: Outcome) -> str:
    """The controllers that harm NewReno significantly more than another NewReno does."""
    rows = [(place.name, place.against_baseline) for place in outcome.places]
    names = [
        name for name, row in rows if row is not None and row["distinct"] and row["difference"] < 0
    ]
    if not names:
        return " No controller leaves it significantly less than another NewReno does."
    return f" Significantly less than with another NewReno: {', '.join(names)}."


def alike(first: Place, tied: list[str], others: Sequence[Place]) -> str:
    """A sentence on the controllers that are not significantly different from the first."""
    if not others:
        return "There are no other controllers."
    if first.n < 2:
        return "One run shows no significance; use more replications."
    if not tied:
        return "All others are significantly different."
    return f"Not significantly different: {', '.join(tied)}."


def amount(mean: float | None, ci95: Any, unit: str) -> str:
    """A value with its interval in a common unit."""
    if mean is None:
        return "undefined in every run"
    factor, name = common(unit)
    interval = f" ({ends(ci95, factor)})" if ci95 else ""
    return f"{scaled(mean, factor)}{interval} {name}"
