"""Controllers over several queue lengths: which controller and which buffer for a link.

A study runs one bulk flow of each controller over each queue. Every combination has a goodput and
a latency under load, the 95th percentile of the flow's RTT. A combination is on the Pareto front
if no other has at least its goodput with at most its latency. The recommended one has the lowest
latency of those whose goodput is nearly the highest.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.compare.outcome import explained
from bentpipe.compare.ranking import Differences, Runs
from bentpipe.compare.workloads import CONTROLLER, named
from bentpipe.console import table
from bentpipe.errors import InputError
from bentpipe.numbers import FEWEST, count, ends, scaled
from bentpipe.study import Comparison, Parameter, Quantity, Replications, Study
from bentpipe.study.intervals import around
from bentpipe.study.pairs import defined
from bentpipe.study.quantities import shown
from bentpipe.study.ranking import NEARLY
from bentpipe.study.scenarios import Base
from bentpipe.study.significance import decided, is_tied
from bentpipe.study.summary import values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from bentpipe.compare.candidates import Candidate
    from bentpipe.compare.links import Buffer, Link
    from bentpipe.study import Results

BULK = named("bulk")
GOODPUT = BULK.quantity
LATENCY = "flow.bulk.p95_rtt_ms"
TIMEOUTS = "flow.bulk.timeouts"
COMPARED = (
    "Compared: goodput and latency under load of one bulk flow. Not compared: page load times and"
    " sharing with NewReno (one --queue compares them)."
)
"""What the recommendation is based on."""
NAMED = 4
"""Combinations that a sentence names."""


@dataclass(frozen=True)
class Measured:
    """Mean of a quantity in one combination, with its 95 % interval.

    `against_recommended` is the paired difference from the recommended combination.
    """

    mean: float
    ci95: tuple[float, float] | None
    against_recommended: dict[str, Any] | None = None


@dataclass(frozen=True)
class Combination:
    """A controller with a queue. The field names are the JSON names."""

    controller: str
    queue: str
    n: int
    needs: str | None
    goodput_bps: Measured
    p95_rtt_ms: Measured
    p95_queueing_delay_ms: float | None
    timeouts: float | None
    on_front: bool
    nearly_full: bool
    """True if the goodput is at least 95 % of the highest."""
    deterministic: bool = False
    """True if all its runs are the same."""
    warnings: tuple[str, ...] = ()
    """The warnings of `bentpipe explain` about the flow."""

    @property
    def with_queue(self) -> str:
        """The controller and its queue in words; a length without a unit is in packets."""
        packets = " packets" if self.queue.isdigit() else ""
        return f"{self.controller} with a queue of {self.queue}{packets}"

    @property
    def title(self) -> str:
        """Controller and queue; an asterisk if the controller has special needs."""
        return f"{self.controller}{'*' if self.needs else ''}, {self.queue}"


@dataclass(frozen=True)
class Choice:
    """All combinations with defined values, lowest latency first, and the recommended one."""

    combinations: list[Combination]
    undefined: list[str]
    recommended: Combination | None
    sentence: str


def study(
    link: Link,
    candidates: Sequence[Candidate],
    buffers: Sequence[Buffer],
    replications: int,
) -> Study:
    """The study of all controllers over all queues with the same seeds.

    `InputError` if a gateway splits the flow: it has no round-trip time to choose by.
    """
    scenario = BULK.scenario(link)
    if scenario.explain().flows[0].legs:
        raise InputError(
            "several --queue: expected a path without a split proxy, because a choice needs the"
            " RTT under load, and no connection spans a path that is split; compare one --queue at"
            " a time"
        )
    queue = Parameter("queue", link.queue_path, tuple(buffer.setting for buffer in buffers))
    baseline = next(c.setting for c in candidates if c.name == BULK.baseline)
    return Study.make(
        name=f"{link.name}-buffers",
        title=f"Controllers and buffers on {link.name}",
        scenario=Base.made(scenario),
        parameters=[
            Parameter("controller", CONTROLLER, tuple(c.setting for c in candidates)),
            queue,
        ],
        quantities=[Quantity(name) for name in (GOODPUT, LATENCY, delay_of(link), TIMEOUTS)],
        replications=Replications(count=replications, seed=link.scenario.seed),
        comparisons=[Comparison("controller", baseline)],
    )


def delay_of(link: Link) -> str:
    """The quantity of the queueing delay at the bottleneck."""
    hop = link.bottleneck
    name = "-".join(link.document["link"][hop.link]["between"])
    return f"link.{name}.{hop.direction}.p95_queueing_delay_ms"


def choice(
    link: Link, candidates: Sequence[Candidate], buffers: Sequence[Buffer], results: Results
) -> Choice:
    """The combinations and the recommendation."""
    both = [(candidate, buffer) for candidate in candidates for buffer in buffers]
    names = (GOODPUT, LATENCY, delay_of(link), TIMEOUTS)
    values = {name: values_of(results.rows, name) for name in names}
    runs = {
        (candidate.name, buffer.label): {name: values[name][number] for name in names}
        for number, (candidate, buffer) in enumerate(both)
    }
    known = {
        key: found
        for key, found in runs.items()
        if all(len(defined(found[name])) == len(found[name]) > 0 for name in (GOODPUT, LATENCY))
    }
    needs = {candidate.name: candidate.asks for candidate in candidates}
    able = {
        key: (mean(found[GOODPUT]), mean(found[LATENCY]))
        for key, found in known.items()
        if not needs[key[0]]
    }
    variants = results.study.variants
    warnings = {
        (candidate.name, buffer.label): tuple(explained(variants[number].scenario, "bulk"))
        for number, (candidate, buffer) in enumerate(both)
    }
    exact = set(results.summary["deterministic"])
    fixed = [key for number, key in enumerate(runs) if number in exact]
    highest = max((goodput for goodput, _ in able.values()), default=0.0)
    full = [key for key, (goodput, _) in able.items() if goodput >= NEARLY * highest]
    best = min(full, key=lambda key: (able[key][1], -able[key][0]), default=None)
    front = on_front(able)

    rows = {name: from_best(known, name, best, fixed) for name in (GOODPUT, LATENCY)}

    def measured(key: tuple[str, str], name: str) -> Measured:
        found = known[key][name]
        interval = around(defined(found), deterministic=key in fixed)
        return Measured(mean(found), interval, rows[name].get(key))

    combinations = [
        Combination(
            controller=key[0],
            queue=key[1],
            n=len(found[GOODPUT]),
            needs=needs[key[0]],
            goodput_bps=measured(key, GOODPUT),
            p95_rtt_ms=measured(key, LATENCY),
            p95_queueing_delay_ms=mean_of(found[delay_of(link)]),
            timeouts=mean_of(found[TIMEOUTS]),
            on_front=key in front,
            nearly_full=key in full,
            deterministic=key in fixed,
            warnings=warnings[key],
        )
        for key, found in known.items()
    ]
    combinations.sort(key=lambda one: (one.p95_rtt_ms.mean, -one.goodput_bps.mean))
    recommended = next((c for c in combinations if (c.controller, c.queue) == best), None)
    undefined = [", ".join(key) for key in runs if key not in known]
    return Choice(combinations, undefined, recommended, sentence(combinations, recommended))


Key = tuple[str, str]
"""A controller and the label of a queue."""


def from_best(
    known: Mapping[Key, Mapping[str, Runs]], name: str, best: Key | None, fixed: Sequence[Key]
) -> dict[Key, dict[str, Any]]:
    """The differences of a quantity from the recommended combination: one family."""
    if best is None:
        return {}
    runs = {": ".join(key): found[name] for key, found in known.items()}
    tests = Differences(runs, [": ".join(key) for key in fixed])
    numbers = tests.add((each, ": ".join(best)) for each in runs)
    rows = decided(tests.tests)
    return {key: rows[n] for key in known if (n := numbers.get(": ".join(key))) is not None}


def mean(runs: Runs) -> float:
    """The mean of values of which there is one at least."""
    values = defined(runs)
    return sum(values) / len(values)


def mean_of(runs: Runs) -> float | None:
    """The mean of the values; None without any."""
    return mean(runs) if defined(runs) else None


def on_front(points: dict[tuple[str, str], tuple[float, float]]) -> set[tuple[str, str]]:
    """The combinations of goodput and latency that no other dominates: the Pareto front."""
    return {
        key
        for key, (goodput, latency) in points.items()
        if not any(
            other >= goodput and less <= latency and (other, less) != (goodput, latency)
            for other, less in points.values()
        )
    }


def sentence(combinations: Sequence[Combination], best: Combination | None) -> str:
    """The recommendation with its reasons."""
    if best is None:
        return "No combination of controller and buffer can be recommended."
    able = [one for one in combinations if not one.needs]
    highest = max(able, key=lambda one: one.goodput_bps.mean)
    full = [one for one in able if one.nearly_full]
    said = (
        f"Recommended for one bulk flow: {best.with_queue}:"
        f" {goodput(best)} with a p95 RTT of {latency(best)}."
    )
    if len(full) > 1:
        said += (
            f" It has the lowest p95 RTT of the {count(len(full))} combinations with at least"
            f" {100 * NEARLY:g} % of the highest goodput"
        )
    else:
        said += f" No other combination has {100 * NEARLY:g} % of its goodput"
    if highest is not best:
        said += (
            f", which is {goodput(highest)} ({highest.controller}, {highest.queue}) with a p95 RTT"
            f" of {latency(highest)}"
        )
    said = f"{said}. {alike(full, best)}".rstrip()
    return f"{said}{warned(full, best)}"


def warned(full: Sequence[Combination], best: Combination) -> str:
    """What `bentpipe explain` says about the recommended combination, and one without warnings."""
    if not best.warnings:
        return ""
    said = "".join(f" `bentpipe explain` warns about it: {one}." for one in best.warnings)
    quiet = [one for one in full if not one.warnings]
    if not quiet:
        return said
    other = min(quiet, key=lambda one: (one.p95_rtt_ms.mean, -one.goodput_bps.mean))
    return (
        f"{said} Without a warning: {other.with_queue},"
        f" {goodput(other)} with a p95 RTT of {latency(other)}."
    )


def alike(full: Sequence[Combination], best: Combination) -> str:
    """The combinations whose latency is not significantly different from that of the best."""
    if best.n < FEWEST:
        return "Fewer than three runs show no significance; use more replications."
    tied = [
        one.title
        for one in full
        if (row := one.p95_rtt_ms.against_recommended) is not None and is_tied(row)
    ]
    if best.deterministic:
        return "It is deterministic, so differences from it are exact for this scenario only."
    if not tied:
        return (
            "The p95 RTT of all others of these is significantly higher." if len(full) > 1 else ""
        )
    more = f" and {len(tied) - NAMED} others" if len(tied) > NAMED else ""
    return f"Not significantly different in p95 RTT: {'; '.join(tied[:NAMED])}{more}."


def goodput(one: Combination) -> str:
    """The goodput with its interval."""
    factor, unit = shown(GOODPUT)
    return with_ends(one.goodput_bps, factor, unit)


def latency(one: Combination) -> str:
    """The latency under load with its interval."""
    factor, unit = shown(LATENCY)
    return with_ends(one.p95_rtt_ms, factor, unit)


def with_ends(found: Measured, factor: float, unit: str) -> str:
    """A mean with its interval and unit."""
    interval = f" ({ends(found.ci95, factor)})" if found.ci95 else ""
    return f"{scaled(found.mean, factor)}{interval} {unit}"


HEADINGS = ("<controller", "<queue", "goodput Mbit/s", "95 % interval", "p95 RTT ms",
            "95 % interval", "p95 queueing delay ms", "timeouts", "<front")  # fmt: skip


def rows(found: Choice) -> list[list[str]]:
    """One row for each combination, lowest latency first."""
    listed = []
    for one in found.combinations:
        title = f"{one.controller}{'*' if one.needs else ''}"
        mark = "recommended" if one is found.recommended else "front" if one.on_front else ""
        factor, _ = shown(GOODPUT)
        listed.append(
            [
                title,
                one.queue,
                scaled(one.goodput_bps.mean, factor),
                ends(one.goodput_bps.ci95, factor, n=one.n, deterministic=one.deterministic),
                scaled(one.p95_rtt_ms.mean, 1.0),
                ends(one.p95_rtt_ms.ci95, 1.0, n=one.n, deterministic=one.deterministic),
                scaled(one.p95_queueing_delay_ms, 1.0),
                scaled(one.timeouts, 1.0),
                mark,
            ]
        )
    return listed


def text_table(found: Choice) -> Table:
    """The combinations as a table for the terminal."""
    listed = table(*HEADINGS)
    for row in rows(found):
        listed.add_row(*row)
    return listed


def markdown(found: Choice) -> list[str]:
    """The combinations as lines of Markdown."""
    heads = [heading.lstrip("<") for heading in HEADINGS]
    lines = ["## Controllers and buffers", "", found.sentence, "", f"| {' | '.join(heads)} |"]
    lines += [f"|{'---|' * len(heads)}"]
    return lines + [f"| {' | '.join(row)} |" for row in rows(found)]


def to_dict(found: Choice, buffers: Sequence[Buffer], runs: int) -> dict[str, Any]:
    """The part `buffers` of the object that `--json` prints."""
    best = found.recommended
    return {
        "queues": [asdict(buffer) for buffer in buffers],
        "study": "buffers",
        "runs": runs,
        "combinations": [asdict(one) for one in found.combinations],
        "undefined": found.undefined,
        "recommended": best and {"controller": best.controller, "queue": best.queue},
        "sentence": found.sentence,
    }
