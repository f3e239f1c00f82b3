"""Verdicts of a comparison in sentences, with number, interval and significance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.compare.ranking import Place, ranked
from bentpipe.console import few
from bentpipe.numbers import FEWEST, common, count, ends, scaled
from bentpipe.study.quantities import domain_of
from bentpipe.study.significance import is_tied

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.compare.outcome import Outcome


BESIDE = "beside-newreno"
"""The workload in which NewReno is what counts."""
OWN_GOODPUT = "flow.beside-candidate.goodput_bps"
STARVED = 0.5
"""Share of the fair share below which a controller is starved."""


@dataclass(frozen=True)
class Verdict:
    """One sentence and its data. The field names are the JSON names."""

    workload: str
    question: str
    controller: str | None
    """None if no run has a value."""
    mean: float | None
    ci95: tuple[float, float] | None
    unit: str
    not_distinguishable: list[str]
    sentence: str


def verdicts(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """One recommendation for each use, and the worst under the built-in fade.

    A controller that depends on settings or routers that a link may not have is never recommended.
    """
    found = []
    for outcome in outcomes:
        if outcome.workload.name == BESIDE:
            found.append(safest(outcome))
            continue
        over = f" over {outcome.application.words}" if outcome.application else ""
        found.append(best(outcome, f"{outcome.workload.best} {outcome.workload.use}{over}"))
        if outcome.workload.fades:
            found.append(worst(outcome, f"Worst under {outcome.workload.use}"))
    return found


def best(outcome: Outcome, question: str) -> Verdict:
    """The first of the ranking that can be recommended."""
    needy = special_needs(outcome)
    places = outcome.places
    without = {name: runs for name, runs in outcome.runs.items() if name not in needy}
    higher = outcome.workload.higher_is_better
    able = ranked(
        without,
        higher_is_better=higher,
        baseline=None,
        fixed=outcome.deterministic,
        domain=domain_of(outcome.workload.quantity),
    )
    before = places[: place_of(able[0].name, places)]
    notes = "".join(
        f" Not recommended: {place.name}, {told(outcome, place)}, because it needs"
        f" {needy[place.name]}."
        for place in before
    )
    return judged(outcome, question, able, notes)


def worst(outcome: Outcome, question: str) -> Verdict:
    """The last of the ranking. More undefined values still count as worse."""
    return judged(outcome, question, from_worst(outcome, outcome.workload.higher_is_better), "")


def safest(outcome: Outcome) -> Verdict:
    """The controller that leaves NewReno most nearly what another NewReno would leave it.

    One that gets less than half of a fair share itself is not safe but starved. The fair share is
    the goodput of one of two flows of NewReno. NewReno itself is the reference and not a candidate.
    """
    own = outcome.also[OWN_GOODPUT]
    baseline = outcome.workload.baseline
    reference = next(place for place in outcome.places if place.name == baseline)
    fair = own[baseline] or 0.0
    needy = special_needs(outcome)
    starved = [
        place.name
        for place in outcome.places
        if place.name != baseline and (own[place.name] or 0.0) < STARVED * fair
    ]
    able = [
        place
        for place in outcome.places
        if place.name not in {baseline, *needy, *starved} and place.mean is not None
    ]
    question = "Safest when sharing with NewReno"
    able.sort(key=lambda place: abs((place.mean or 0.0) - (reference.mean or 0.0)))
    places = able or [reference]
    first = places[0].name
    notes = f" It gets {amount(own[first], None, outcome.unit_of(OWN_GOODPUT))} itself."
    notes += harmful(outcome)
    if starved:
        notes += f" Starved, with less than half of a fair share: {few(starved)}."
    pairs = {place.name: outcome.runs[place.name] for place in places}
    fixed = outcome.deterministic
    against = ranked(pairs, higher_is_better=True, baseline=first, fixed=fixed)
    order = sorted(against, key=lambda place: [p.name for p in places].index(place.name))
    tied = [
        place.name
        for place in order[1:]
        if place.against_baseline is not None and is_tied(place.against_baseline)
    ]
    return judged(outcome, question, places, notes, tied)


def judged(
    outcome: Outcome,
    question: str,
    places: Sequence[Place],
    notes: str,
    tied: list[str] | None = None,
) -> Verdict:
    """The verdict on the first of `places`; `tied` by default those tied with it there."""
    first, *others = places
    if tied is None:
        tied = [place.name for place in others if place.tied]
    exact = first.name in outcome.deterministic
    described = alike(first, tied, others, exact=exact)
    sentence = f"{question}: {first.name}, {told(outcome, first)}. {described}"
    notes += warned(outcome, first.name)
    if first.mean is None:
        sentence, notes = f"{question}: none, because no run has a value.", ""
    return Verdict(
        workload=outcome.name,
        question=question,
        controller=None if first.mean is None else first.name,
        mean=first.mean,
        ci95=first.ci95,
        unit=outcome.unit,
        not_distinguishable=tied,
        sentence=sentence + notes,
    )


def warned(outcome: Outcome, name: str) -> str:
    """What `bentpipe explain` says about a controller, but not about all others too."""
    shared = outcome.shared_warnings
    own = [one for one in outcome.warnings[name] if one not in shared]
    return "".join(f" `bentpipe explain` warns about it: {one}." for one in own)


def special_needs(outcome: Outcome) -> dict[str, str]:
    """The controllers that depend on special routers or settings, and on which."""
    return {candidate.name: candidate.asks for candidate in outcome.candidates if candidate.asks}


def place_of(name: str, places: Sequence[Place]) -> int:
    """The position of a controller in a ranking, from 0."""
    return next(number for number, place in enumerate(places) if place.name == name)


def from_worst(outcome: Outcome, higher_is_better: bool) -> list[Place]:
    """The ranking in reverse, with differences from the worst."""
    found = {place.name: outcome.runs[place.name] for place in outcome.places}
    fixed = outcome.deterministic
    return ranked(
        found,
        higher_is_better=not higher_is_better,
        baseline=None,
        fixed=fixed,
        domain=domain_of(outcome.workload.quantity),
    )


def told(outcome: Outcome, place: Place) -> str:
    """The number with its interval; in competition with NewReno, the goodput of NewReno."""
    number = amount(place.mean, place.ci95, outcome.unit)
    if outcome.workload.noun:
        return f"{number} {outcome.workload.noun}"
    if outcome.workload.name == BESIDE:
        share = kept(outcome, place)
        of = f", {share} of its goodput when competing with another NewReno" if share else ""
        return f"which leaves NewReno {number}{of}"
    return number


def kept(outcome: Outcome, place: Place) -> str:
    """The goodput of NewReno in percent of its goodput when competing with another NewReno."""
    row = place.against_baseline
    base = next((p.mean for p in outcome.places if p.name == outcome.baseline), None)
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
    return f" Significantly less than with another NewReno: {few(names)}."


def alike(first: Place, tied: list[str], others: Sequence[Place], *, exact: bool) -> str:
    """A sentence on the controllers that are not significantly different from the first.

    `exact` says that the first is deterministic.
    """
    if not others:
        return "There are no other controllers."
    if first.n < FEWEST:
        return "Fewer than three runs show no significance; use more replications."
    if exact:
        same = f" The same: {few(tied)}." if tied else ""
        return f"It is deterministic, so differences are exact for this scenario only.{same}"
    lacking = [place.name for place in others if place.undefined > first.undefined]
    if lacking:
        whole = len(others) - len(lacking) - len(tied)
        said = [f"Not significantly different: {few(tied)}."] if tied else []
        said += ["The others with as many values are significantly different."] if whole else []
        return " ".join([*said, f"No value in more of the runs: {few(lacking)}."])
    if not tied:
        return "All others are significantly different."
    return f"Not significantly different: {few(tied)}."


def amount(mean: float | None, ci95: Any, unit: str) -> str:
    """A value with its interval in a common unit."""
    if mean is None:
        return "undefined in every run"
    factor, name = common(unit)
    interval = f" ({ends(ci95, factor)})" if ci95 else ""
    return f"{scaled(mean, factor)}{interval} {'' if name == '1' else name}".rstrip()
