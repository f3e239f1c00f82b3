"""The comparison as text tables, as Markdown and as JSON."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.compare import buffers, counters, fade
from bentpipe.compare.buffers import BULK
from bentpipe.compare.events import fades, phase_of, phases
from bentpipe.compare.workloads import DEFAULT, LABELS, SHORTEST_S
from bentpipe.console import few, table
from bentpipe.numbers import NONE, count, ends, scaled
from bentpipe.printing.setting import hosts
from bentpipe.study.quantities import shown, unit_beside
from bentpipe.study.significance import LEFT_OUT, deterministic_sentence, of_pairs, text

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

RTT = "flow.bulk.p95_rtt_ms"


def headings(outcome: Outcome) -> list[str]:
    """The columns of a ranking."""
    main, *others = map(heading, outcome.workload.quantities)
    return ["rank", "<controller", "<status", main, "95 % interval",
            "minus best", f"<minus {outcome.baseline or NONE}", *others]  # fmt: skip


def heading(name: str) -> str:
    """The label of a quantity, with its unit if the label does not say it."""
    return f"{LABELS[name]} {unit_beside(LABELS[name], shown(name)[1])}".rstrip()


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
                place.rank_text,
                candidate.title,
                candidate.status,
                f"{scaled(place.mean, factor)}{undefined}",
                ends(place.ci95, factor, n=place.n, deterministic=place.deterministic),
                "best" if place.is_best else text(place.against_best, factor),
                text(place.against_baseline, factor),
                *others(outcome, place),
            ]
        )
    return listed


def others(outcome: Outcome, place: Place) -> list[str]:
    """The means of the other quantities."""
    return [scaled(means[place.name], shown(name)[0]) for name, means in outcome.also.items()]


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
    lines += [line for about in about_link(link, asked, outcomes) for line in (about, "")]
    lines += [f"- {verdict.sentence}" for verdict in found]
    lines += [f"- {name} was left out: it needs {reason}." for name, reason in left_out.items()]
    lines += [f"- {note}" for note in notes]
    for outcome in outcomes:
        heads = [heading.lstrip("<") for heading in headings(outcome)]
        lines += ["", f"## {outcome.title}", "", f"| {' | '.join(heads)} |"]
        lines += [f"|{'---|' * len(heads)}"]
        lines += [f"| {' | '.join(row)} |" for row in rows(outcome)]
        lines += [line for sentence in notes_on(outcome) for line in ("", sentence)]
        lines += counters.markdown(outcome)
    if choice:
        lines += ["", *buffers.markdown(choice)]
    return "\n".join(lines) + "\n"


def aborted(outcome: Outcome) -> list[str]:
    """The candidates whose connections were aborted, as a sentence; none if there are none."""
    shares = [f"{name} ({count(100 * share)} %)" for name, share in outcome.aborted.items()]
    return [f"Connections aborted, in % of the runs: {few(shares)}."] if shares else []


def notes_on(outcome: Outcome) -> list[str]:
    """Sentences under a ranking, if any: deterministic candidates, undefined values, aborts."""
    names = outcome.deterministic
    fixed = deterministic_sentence(names, len(outcome.candidates))
    rows = [row for p in outcome.places for row in (p.against_best, p.against_baseline) if row]
    cut = [LEFT_OUT] if any(map(of_pairs, rows)) else []
    return [*([fixed] if fixed else []), *cut, *without_rtt(outcome), *aborted(outcome)]


def without_rtt(outcome: Outcome) -> list[str]:
    """The candidates whose flow a proxy splits, as a sentence; none if there are none."""
    if RTT not in outcome.workload.also:
        return []
    compared = outcome.workload.compared
    split = [
        name
        for name, explanation in outcome.explanations.items()
        if any(one.legs for one in explanation.flows if one.name == compared)
    ]
    if not split:
        return []
    return [
        f"No RTT for {few(split)}: a proxy splits the connection, and none spans the path."
        " The counters of the mechanism have the delivery time from host to host, one way."
    ]


def described(link: Link) -> str:
    """The link in one line. Means of traces and values at the start stand with their ranges."""
    own = "of the hosts" if link.host.get("host", "none") != "none" else "of each controller"
    transport = link.transport.get("recovery", own)
    fade = ", with the fade of the scenario" if link.own_fade else ""
    rest = f"loss recovery {transport}{fade}"
    first, *others = link.ways
    if not others:
        return f"{of_path(link)}, {rest}"
    parts = [f"at the start over {first.name} {of_path(first.link)}"]
    parts += [f"over {way.name} {of_path(way.link)}" for way in others]
    return f"{len(link.ways)} paths: {'; '.join(parts)}; {rest}"


def of_path(link: Link) -> str:
    """The rate, the round-trip time and their product on a link with one path."""
    figures = link.figures
    changes = " at the start" if figures.rate_range_bps or figures.rtt_range_ms else ""
    return (
        f"{link.bottleneck.rate_bps / 1e6:g} Mbit/s{of_rate(link)}, RTT {link.rtt_s * 1e3:g} ms"
        f"{of_delays(link)}, bandwidth-delay product {link.bdp_bytes / 1e3:,.0f} kB{changes}"
    )


def of_switches(link: Link) -> list[str]:
    """When packets take which path, one sentence for each switch; none with one path only."""
    if len(link.ways) == 1:
        return []
    return [
        f"The switch between {' and '.join(one['between'])} has paths over"
        f" {' and '.join(path['via'] for path in one['paths'])}. Packets move {one['rule']}."
        " Results of a run are those of all paths that its packets have used."
        for one in link.scenario.explain().switches
    ]


def host(link: Link) -> str:
    """The transport and the receive buffer of the flow that is compared."""
    (flow, *_) = link.scenario.explain().flows
    return hosts([flow], ["receive_buffer"])


def of_rate(link: Link) -> str:
    """The range of the rate of the bottleneck if a trace or events change it; else nothing."""
    trace = link.replayed(link.bottleneck) or {}
    figures = link.figures
    if trace.get("rate_bps") is None and not (trace and figures.mean_rate):
        if not figures.rate_range_bps:
            return ""
        scale = link.rate_bps / figures.bottleneck_bps / 1e6
        low, high = (end * scale for end in figures.rate_range_bps)
        return f" at the start ({low:g} to {high:g} Mbit/s in the run)"
    silent = f", {trace['outage_s']:g} s of outages" if trace["outage_s"] else ""
    of = part_of(link, [trace])
    if trace["rate_bps"] is None:
        return f" (mean of its trace{of}{silent})"
    low, high = (end / 1e6 for end in trace["rate_bps"])
    return f" (mean of its trace{of}, {low:g} to {high:g} Mbit/s{silent})"


def of_delays(link: Link) -> str:
    """The range of the delays if traces or events change them on the way; else nothing."""
    traces = [link.replayed(hop) or {} for hop in (*link.hops, *link.back)]
    known = [trace for trace in traces if trace.get("delay_s") is not None]
    if not known:
        if not link.figures.rtt_range_ms:
            return ""
        low, high = link.figures.rtt_range_ms
        return f" at the start ({low:g} to {high:g} ms in the run)"
    ends = (trace["delay_s"] for trace in known)
    spans = ", ".join(f"{low * 1e3:g} to {high * 1e3:g} ms" for low, high in ends)
    return f" (means of traces{part_of(link, known)}; one way {spans})"


def part_of(link: Link, traces: Sequence[Mapping[str, Any]]) -> str:
    """The length of traces of which a run has a part only; else nothing."""
    longest = max(trace["length_s"] for trace in traces)
    if longest <= link.window_s(SHORTEST_S):
        return ""
    return f" of {longest:g} s, of which a run has a part"


def about_link(
    link: Link, asked: Sequence[Workload], outcomes: Sequence[Outcome] = ()
) -> list[str]:
    """What a comparison takes from the link, adds to it and leaves out, in sentences."""
    lines = [link.left_out] if link.left_out else []
    lines += [*of_switches(link), *([link.queues] if link.queues else [])]
    lines += [f"{line}." for line in (*phases(events_of(link, asked)), *fades(link))]
    if concerns_fade(asked):
        lines.append(fade.planned(link).sentence)
    # Those of one link are the same in all workloads with one bulk flow.
    if outcomes:
        lines += [f"`bentpipe explain` warns: {one}." for one in outcomes[0].shared_warnings]
    return lines


def concerns_fade(asked: Sequence[Workload]) -> bool:
    """True if the built-in fade is a workload, or is left out of the default ones."""
    names = {workload.name for workload in asked}
    return any(workload.fades for workload in asked) or names >= {*DEFAULT} - {"fade"}


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
    asked = list(dict.fromkeys(outcome.workload for outcome in outcomes)) or [BULK]
    return {
        "compare": link.name,
        "bentpipe": _native.version(),
        "link": {
            "rate_bps": link.rate_bps,
            "rtt_s": link.rtt_s,
            "bdp_bytes": link.bdp_bytes,
            "paths": [way.to_dict() for way in link.ways] if len(link.ways) > 1 else None,
            "described": described(link),
            "trace": link.replayed(link.bottleneck),
            "left_out": link.left_out or None,
            "fade": fade.to_dict(link) if concerns_fade(asked) else None,
            "about": about_link(link, asked, outcomes),
            "events": events_of(link, asked),
        },
        "controllers": [candidate.to_dict() for candidate in candidates],
        "left_out": [{"controller": name, "needs": why} for name, why in left_out.items()],
        "not_carried": [asdict(one) for one in plan.left_out],
        "on_path": [{"name": one.name, "place": one.place} for one in plan.on_path],
        "notes": plan.notes,
        "workloads": [workload(outcome, link) for outcome in outcomes],
        "verdicts": [asdict(verdict) for verdict in found],
    }


def workload(outcome: Outcome, link: Link) -> dict[str, Any]:
    """One ranking."""
    return {
        "workload": outcome.name,
        "title": outcome.title,
        "head": outcome.head,
        "legend": outcome.workload.legend,
        "beside": [{"quantity": name, "head": head} for name, head in outcome.workload.beside],
        "application": outcome.application and outcome.application.words,
        "study": outcome.studies[0].study.name,
        "studies": [results.study.name for results in outcome.studies],
        "folder": outcome.studies[0].study.name.removeprefix(f"{link.name}-"),
        "duration_s": outcome.workload.duration_s(link),
        "runs": outcome.run_count,
        "quantity": outcome.workload.quantity,
        "label": LABELS[outcome.workload.quantity],
        "unit": outcome.unit,
        "higher_is_better": outcome.workload.higher_is_better,
        "baseline": outcome.baseline,
        "deterministic": outcome.deterministic,
        "notes": notes_on(outcome),
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
