"""The comparison as text tables, as Markdown and as JSON."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.compare import buffers, counters
from bentpipe.compare.buffers import BULK
from bentpipe.compare.links import phase_of, phases
from bentpipe.console import table
from bentpipe.numbers import NONE, count, ends, scaled, signed
from bentpipe.study.quantities import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from bentpipe.compare.buffers import Choice
    from bentpipe.compare.candidates import Candidate
    from bentpipe.compare.links import Link
    from bentpipe.compare.outcome import Outcome
    from bentpipe.compare.parts import Plan
    from bentpipe.compare.ranking import Place
    from bentpipe.compare.verdict import Verdict
    from bentpipe.compare.workloads import Workload

LABELS = {
    "flow.bulk.goodput_bps": "goodput",
    "flow.bulk.p95_rtt_ms": "latency under load (p95 RTT)",
    "flow.bulk.timeouts": "timeouts",
    "page.web.response_s": "page load time",
    "p95(page.web.response_s)": "p95 page load time",
    "flow.beside-newreno.goodput_bps": "NewReno goodput",
    "flow.beside-candidate.goodput_bps": "own goodput",
    "jain(flow.beside-*.goodput_bps)": "Jain index",
}


NOT_SIGNIFICANT = "(n.s.)"
"""Follows differences that are not significant (95 %)."""


def headings(outcome: Outcome) -> list[str]:
    """The columns of a ranking."""
    quantity = outcome.workload.quantity
    main = shown(quantity)[1]
    others = []
    for name in outcome.workload.also:
        unit = shown(name)[1]
        others.append(LABELS[name] if unit in ("1", LABELS[name]) else f"{LABELS[name]} {unit}")
    return ["rank", "<controller", "<status", f"{LABELS[quantity]} {main}", "95 % interval",
            "minus best", f"<minus {outcome.workload.baseline}", *others]  # fmt: skip


def rows(outcome: Outcome) -> list[list[str]]:
    """One row for each controller, best first."""
    by_name = {candidate.name: candidate for candidate in outcome.candidates}
    factor = shown(outcome.workload.quantity)[0]
    listed = []
    for place in outcome.places:
        candidate = by_name[place.name]
        undefined = f" ({place.undefined} undefined)" if place.undefined else ""
        listed.append(
            [
                f"{place.rank}{'=' if place.tied else ''}",
                candidate.title,
                candidate.status,
                f"{scaled(place.mean, factor)}{undefined}",
                ends(place.ci95, factor, n=place.n),
                from_best(place, factor),
                from_baseline(place, factor),
                *others(outcome, place),
            ]
        )
    return listed


def others(outcome: Outcome, place: Place) -> list[str]:
    """The means of the other quantities."""
    return [scaled(means[place.name], shown(name)[0]) for name, means in outcome.also.items()]


def from_best(place: Place, factor: float) -> str:
    """The difference from the best, and whether it is significant."""
    if place.against_best is None:
        return "best"
    return from_other(place.against_best, factor)


def from_baseline(place: Place, factor: float) -> str:
    """The difference from the baseline, and whether it is significant."""
    row = place.against_baseline
    return NONE if row is None else from_other(row, factor)


def from_other(row: Mapping[str, Any], factor: float) -> str:
    """The interval of a difference, and whether it is significant."""
    interval = ends(row["ci95"], factor, signed, row["n"])
    decided = row["distinct"] or row["ci95"] is None
    return interval if decided else f"{interval} {NOT_SIGNIFICANT}"


def text_table(outcome: Outcome) -> Table:
    """The ranking as a table for the terminal."""
    listed = table(*headings(outcome))
    for row in rows(outcome):
        listed.add_row(*row)
    return listed


def markdown(
    link: Link,
    outcomes: Sequence[Outcome],
    found: Sequence[Verdict],
    left_out: Mapping[str, str],
    choice: Choice | None = None,
    notes: Sequence[str] = (),
) -> str:
    """The comparison as Markdown."""
    asked = [outcome.workload for outcome in outcomes] or [BULK]
    lines = [f"# Controllers on {link.name}", "", f"{described(link)}.", "",
             f"{windows(link, asked)}.", ""]  # fmt: skip
    lines += [text for phase in phases(events_of(link, asked)) for text in (f"{phase}.", "")]
    lines += [f"- {verdict.sentence}" for verdict in found]
    lines += [f"- {name} was left out: it needs {reason}." for name, reason in left_out.items()]
    lines += [f"- {note}" for note in notes]
    for outcome in outcomes:
        heads = [heading.lstrip("<") for heading in headings(outcome)]
        lines += ["", f"## {outcome.workload.title}", "", f"| {' | '.join(heads)} |"]
        lines += [f"|{'---|' * len(heads)}"]
        lines += [f"| {' | '.join(row)} |" for row in rows(outcome)]
        lines += [text for sentence in aborted(outcome) for text in ("", sentence)]
        lines += counters.markdown(outcome)
    if choice:
        lines += ["", *buffers.markdown(choice)]
    return "\n".join(lines) + "\n"


def aborted(outcome: Outcome) -> list[str]:
    """The candidates whose connections were aborted, as a sentence; none if there are none."""
    shares = [f"{name} ({count(100 * share)} %)" for name, share in outcome.aborted.items()]
    return [f"Connections aborted, in % of the runs: {', '.join(shares)}."] if shares else []


def described(link: Link) -> str:
    """The link in one line."""
    transport = link.transport.get("recovery", "of each controller")
    fade = ", with the fade of the scenario" if link.own_fade else ""
    return (
        f"{link.bottleneck.rate_bps / 1e6:g} Mbit/s, RTT {link.rtt_s * 1e3:g} ms, "
        f"bandwidth-delay product {link.bdp_bytes / 1e3:,.0f} kB, loss recovery {transport}{fade}"
    )


def windows(link: Link, asked: Sequence[Workload]) -> str:
    """The simulated time of each workload in one line."""
    spans = ", ".join(f"{workload.name} {workload.duration_s(link):g} s" for workload in asked)
    source = "the duration of the scenario" if link.own_duration else "chosen for the link"
    return f"Simulated time, {source}: {spans}"


def events_of(link: Link, asked: Sequence[Workload]) -> dict[str, Any] | None:
    """When the events of the link happen in the workloads; None without events."""
    return phase_of([replace(link, scenario=workload.scenario(link)) for workload in asked])


def to_dict(
    link: Link,
    candidates: Sequence[Candidate],
    outcomes: Sequence[Outcome],
    found: Sequence[Verdict],
    left_out: Mapping[str, str],
    plan: Plan,
) -> dict[str, Any]:
    """The object that `--json` prints, also in `compare.json`."""
    return {
        "compare": link.name,
        "bentpipe": _native.version(),
        "link": {
            "rate_bps": link.rate_bps,
            "rtt_s": link.rtt_s,
            "bdp_bytes": link.bdp_bytes,
            "described": described(link),
            "events": events_of(link, [o.workload for o in outcomes] or [BULK]),
        },
        "controllers": [candidate.to_dict() for candidate in candidates],
        "left_out": [{"controller": name, "needs": why} for name, why in left_out.items()],
        "not_carried": [asdict(one) for one in plan.left_out],
        "notes": plan.notes,
        "workloads": [workload(outcome, link) for outcome in outcomes],
        "verdicts": [asdict(verdict) for verdict in found],
    }


def workload(outcome: Outcome, link: Link) -> dict[str, Any]:
    """One ranking."""
    return {
        "workload": outcome.workload.name,
        "title": outcome.workload.title,
        "study": outcome.studies[0].study.name,
        "studies": [results.study.name for results in outcome.studies],
        "duration_s": outcome.workload.duration_s(link),
        "runs": outcome.run_count,
        "quantity": outcome.workload.quantity,
        "label": LABELS[outcome.workload.quantity],
        "unit": outcome.unit,
        "higher_is_better": outcome.workload.higher_is_better,
        "baseline": outcome.workload.baseline,
        "also": [
            {"quantity": name, "label": LABELS[name], "unit": outcome.unit_of(name)}
            for name in outcome.also
        ],
        "ranking": [
            {
                "rank": place.rank,
                "controller": place.name,
                "n": place.n,
                "undefined": place.undefined,
                "mean": place.mean,
                "ci95": place.ci95,
                "tied_with_best": place.tied,
                "aborted": outcome.aborted.get(place.name, 0.0),
                "against_best": place.against_best,
                "against_baseline": place.against_baseline,
                "also": {name: means[place.name] for name, means in outcome.also.items()},
            }
            for place in outcome.places
        ],
        "counters": counters.to_dicts(outcome),
    }
