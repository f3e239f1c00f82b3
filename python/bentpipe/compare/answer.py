"""The answer of a comparison in three lines: the choice, its cost, and how sure it is.

A controller is chosen if it is the best, or tied with the best, for one bulk flow, for web pages
and under the built-in fade. Those that depend on settings or routers that a link may not have are
never chosen, and neither are those with fewer defined values than the best. A controller is tied
with the best if their paired difference is not significant. That alone is no reason to choose it:
runs that vary much are not significantly different from anything, so its mean must also be within
5 % of the best.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bentpipe.compare import buffers
from bentpipe.compare.buffers import GOODPUT, LATENCY
from bentpipe.compare.verdict import BESIDE, best, told, warned
from bentpipe.console import few
from bentpipe.numbers import FEWEST, scaled
from bentpipe.study.answer import Answer
from bentpipe.study.quantities import shown
from bentpipe.study.ranking import is_near as is_near_mean
from bentpipe.study.significance import is_significant, is_tied

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.compare.buffers import Choice, Combination
    from bentpipe.compare.outcome import Outcome
    from bentpipe.compare.ranking import Place
    from bentpipe.compare.verdict import Verdict


def use(outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """The use of a ranking in a few words; several kinds of pages have the name of theirs."""
    own = outcome.workload.use
    if outcome.application is None:
        return own
    several = sum(one.workload is outcome.workload for one in outcomes) > 1
    words = outcome.application.words.partition(",")[0]
    return f"{own} over {words}" if several else own


def answer(outcomes: Sequence[Outcome]) -> Answer:
    """The three lines from the rankings of all workloads."""
    complete = [outcome for outcome in outcomes if outcome.name != BESIDE]
    if not complete:
        return Answer("Nothing yet: no workload is complete.", "Unknown.", "No complete runs.")
    ranked = [one for one in complete if not is_empty(one)]
    without = " and ".join(use(one, outcomes) for one in complete if one not in ranked)
    if not ranked:
        choose = f"None: nothing arrived in any run for {without}."
        return Answer(choose, "See the table.", certainty(outcomes))
    found = answer_of(ranked, outcomes)
    if without:
        return replace(found, choose=f"{found.choose} Nothing arrived in any run for {without}.")
    return found


def is_empty(outcome: Outcome) -> bool:
    """True if no candidate has delivered anything: goodputs of zero, undefined times."""
    worst = 0.0 if outcome.workload.higher_is_better else None
    return all(place.mean is None or place.mean == worst for place in outcome.places)


def answer_of(ranked: Sequence[Outcome], outcomes: Sequence[Outcome]) -> Answer:
    """The three lines from the rankings in which something has arrived."""
    bests = {use(one, outcomes): best(one, "") for one in ranked}
    if all(place.n < FEWEST for one in ranked for place in one.places):
        choose = "Nothing yet: fewer than three runs show no significance; use more replications."
        return Answer(choose, "See the table.", certainty(outcomes))
    chosen = universal(ranked, list(bests.values()))
    if not chosen:
        choose = f"No one for all: {few(map(alone, bests.items()), separator='; ')}."
        return Answer(choose, compromise(ranked), certainty(outcomes))
    first = chosen[0]
    numbers = "; ".join(
        f"{told(one, at(one, first))} for {of}"
        for of, one in zip(bests, ranked, strict=True)
        if has(one, first)
    )
    kinds = sum(one.application is not None for one in ranked)
    where = ", ".join(bests) + (" (each kind of pages is ranked on its own)" if kinds > 1 else "")
    if len(chosen) > 1:
        exact = all(first in one.deterministic for one in ranked)
        kind = "the same as" if exact else "not significantly different from"
        choose = f"Tied: {few(chosen)}, {kind} the best for {where}. {first} has {numbers}."
    else:
        clear = all(not v.not_distinguishable for v in bests.values())
        choose = (
            f"{first}: {'best' if clear else 'best or tied with the best'} in all uses, {numbers}."
        )
    return Answer(choose, costs(outcomes, first, several=len(chosen) > 1), certainty(outcomes))


def recommended(outcomes: Sequence[Outcome]) -> list[str]:
    """The candidates that the answer names first: those for all uses, or the best of each use.

    Nothing if fewer than three runs show no significance.
    """
    ranked = [outcome for outcome in outcomes if outcome.name != BESIDE and not is_empty(outcome)]
    if all(place.n < FEWEST for one in ranked for place in one.places):
        return []
    bests = [best(one, "") for one in ranked]
    return universal(ranked, bests) or list(
        dict.fromkeys(one.controller for one in bests if one.controller)
    )


def has(outcome: Outcome, name: str) -> bool:
    """True if a ranking has a candidate: pages over HTTP/1.1 and HTTP/3 are different rankings."""
    return any(place.name == name for place in outcome.places)


def at(outcome: Outcome, name: str) -> Place:
    """The place of a controller."""
    return next(place for place in outcome.places if place.name == name)


def universal(ranked: Sequence[Outcome], bests: Sequence[Verdict]) -> list[str]:
    """The candidates that are the best, or tied and near, in all rankings that have them."""
    able = [
        {
            one.controller,
            *(name for name in one.not_distinguishable if is_near(outcome, one, name)),
        }
        for outcome, one in zip(ranked, bests, strict=True)
    ]
    names = [
        place.name
        for place in ranked[0].places
        if all(
            place.name in one or not has(outcome, place.name)
            for outcome, one in zip(ranked, able, strict=True)
        )
    ]
    return sorted(names, key=lambda name: -sum(one.controller == name for one in bests))


def is_near(outcome: Outcome, found: Verdict, name: str) -> bool:
    """True if the mean of a candidate differs by at most 5 % from that of the best."""
    return is_near_mean(at(outcome, name).mean, found.mean)


def alone(pair: tuple[str, Verdict]) -> str:
    """The best for one use: `bbr for one bulk flow (tied with cubic)`."""
    of, found = pair
    names = found.not_distinguishable
    return f"{found.controller} for {of}" + (f" (tied with {few(names, 2)})" if names else "")


def compromise(ranked: Sequence[Outcome]) -> str:
    """The candidate that loses least in the workload in which it loses most."""
    needy = {one.name for outcome in ranked for one in outcome.candidates if one.asks}
    losses: dict[str, tuple[float, Outcome]] = {}
    for name in (place.name for place in ranked[0].places if place.name not in needy):
        lost = []
        for outcome in (one for one in ranked if has(one, name)):
            means = {p.name: p.mean for p in outcome.places if not p.undefined}
            top = next(
                (p.mean for p in outcome.places if p.name in means and p.name not in needy), None
            )
            own = means.get(name)
            if own is None or not top:
                break
            lost.append((abs(own - top) / abs(top), outcome))
        else:
            losses[name] = max(lost, key=lambda pair: pair[0])
    if not losses:
        return "No controller has a defined result in all workloads."
    name = min(losses, key=lambda one: losses[one][0])
    share, outcome = losses[name]
    return (
        f"One for all would be {name}: its mean is at most {100 * share:.3g} % worse than the best"
        f" (for {use(outcome, ranked)}).{''.join(about(name, ranked))}"
    )


def costs(outcomes: Sequence[Outcome], name: str, *, several: bool) -> str:
    """The latency under load of a candidate, its effect on NewReno, and warnings about it."""
    parts = []
    for outcome in outcomes:
        if LATENCY in outcome.also:
            parts.append(latency(outcome, name))
            break
    beside = (one for one in outcomes if one.name == BESIDE)
    parts += [shared(one, name) for one in beside if has(one, name)]
    of = f"{name}: " if several else ""
    text = "; ".join(filter(None, parts)) or "not measured"
    return f"{of}{text}.{''.join(about(name, outcomes))}"


def latency(outcome: Outcome, name: str) -> str:
    """The mean p95 RTT under load with the lowest of all candidates."""
    known = {one: mean for one, mean in outcome.also[LATENCY].items() if mean is not None}
    if name not in known:
        return "no RTT under load"
    lowest = min(known, key=lambda one: known[one])
    least = (
        "the lowest mean"
        if known[lowest] == known[name]
        else (f"lowest: {scaled(known[lowest])} ms, {lowest}")
    )
    return f"p95 RTT under load {scaled(known[name])} ms ({least})"


def shared(outcome: Outcome, name: str) -> str:
    """The goodput that NewReno keeps when it competes with a candidate."""
    if name == outcome.baseline:
        return ""
    row = at(outcome, name).against_baseline
    said = told(outcome, at(outcome, name)).removeprefix("which ")
    tied = " (not significantly different)" if row is not None and is_tied(row) else ""
    return f"{said}{tied}"


def about(name: str, outcomes: Sequence[Outcome]) -> list[str]:
    """Warnings of `bentpipe explain` about a candidate, each once."""
    said = [warned(one, name) for one in outcomes if name in one.warnings]
    return list(dict.fromkeys(filter(None, said)))


def certainty(outcomes: Sequence[Outcome]) -> str:
    """The runs, and how many differences from the best are significant in each ranking."""
    runs = max((len(values) for one in outcomes for values in one.runs.values()), default=0)
    parts = []
    exact = 0
    for outcome in outcomes:
        rows = [p.against_best for p in outcome.places if p.against_best is not None]
        tested = [row for row in rows if row["p_holm"] is not None]
        exact += sum(row["finding"] == "deterministic" for row in rows)
        if tested:
            clear = sum(is_significant(row) for row in tested)
            parts.append(f"{use(outcome, outcomes)} {clear} of {len(tested)}")
    said = [f"{runs} run{'' if runs == 1 else 's'} of each, simulated"]
    if parts:
        said.append(
            f"significant differences from the best (paired by seed, Holm): {', '.join(parts)}"
        )
    elif runs < FEWEST:
        said.append("too few for any significance")
    if exact:
        said.append(f"{exact} differences are deterministic: exact for these runs, no significance")
    return "; ".join(said) + "."


def of_choice(choice: Choice) -> Answer:
    """The three lines for controllers and buffers."""
    one = choice.recommended
    if one is None:
        return Answer(choice.sentence, "Unknown.", "No combination has defined values.")
    able = [other for other in choice.combinations if not other.needs]
    full = [other for other in able if other.nearly_full]
    tied = [
        other.title
        for other in full
        if (row := other.p95_rtt_ms.against_recommended) is not None and is_tied(row)
    ]
    name = one.with_queue
    with_it = f": {buffers.goodput(one)} with a p95 RTT of {buffers.latency(one)}"
    if one.n < FEWEST:
        choose = "Nothing yet: fewer than three runs show no significance; use more replications."
    elif tied:
        choose = f"Tied in p95 RTT: {few([one.title, *tied], separator='; ')}. {name}{with_it}."
    else:
        choose = f"{name}, for one bulk flow{with_it}."
    return Answer(choose, price(one, able) + buffers.warned(full, one), sureness(choice, one, full))


def price(one: Combination, able: Sequence[Combination]) -> str:
    """The goodput that the recommended combination gives up."""
    highest = max(able, key=lambda other: other.goodput_bps.mean)
    if highest is one:
        return "No goodput: none has a higher mean."
    factor, unit = shown(GOODPUT)
    lost = highest.goodput_bps.mean - one.goodput_bps.mean
    return (
        f"{scaled(lost * factor, 1.0, 3)} {unit} less than the highest mean,"
        f" {buffers.goodput(highest)} of {highest.title}, which has a p95 RTT of"
        f" {buffers.latency(highest)}."
    )


def sureness(choice: Choice, one: Combination, full: Sequence[Combination]) -> str:
    """The runs, and how many of the others with nearly the highest goodput differ in p95 RTT."""
    runs = f"{one.n} run{'' if one.n == 1 else 's'} of each, simulated"
    if one.deterministic:
        return f"{runs}. It is deterministic, so differences are exact for this scenario only."
    rows = [
        row
        for other in full
        if (row := other.p95_rtt_ms.against_recommended) is not None and row["p_holm"] is not None
    ]
    if not rows:
        return f"{runs}; {buffers.alike(full, one) or 'no other has 95 % of its goodput'}"
    clear = sum(is_significant(row) for row in rows)
    return (
        f"{runs}; {clear} of {len(rows)} others with at least 95 % of the highest goodput differ"
        " significantly in p95 RTT (paired by seed, Holm)."
    )
