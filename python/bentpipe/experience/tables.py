"""Figures of people as tables for the terminal, as Markdown and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.console import few, table
from bentpipe.experience.figures import NO_TARGET
from bentpipe.numbers import SAME_IN_ALL, ends, scaled
from bentpipe.study.quantities import shown, unit_beside
from bentpipe.study.significance import ALL_THE_SAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from bentpipe.experience.plan import Plan
    from bentpipe.experience.results import Measured, Report

HEADINGS = ("<application", "<figure", "mean", "95 % interval", "<target", "<verdict")


def rows(reports: Sequence[Report]) -> list[list[str]]:
    """One row for each figure."""
    listed = []
    for report in reports:
        name = report.application.flow
        for one in report.measured:
            factor, unit = shown(one.quantity)
            label = f"{one.label} {unit_beside(one.label, unit)}".rstrip()
            undefined = f" ({one.undefined} undefined)" if one.undefined else ""
            target = NO_TARGET if one.target is None else one.target.words(one.unit)
            interval = SAME_IN_ALL if one.deterministic else ends(one.ci95, factor, n=one.n)
            mean = f"{scaled(one.mean, factor)}{undefined}"
            listed.append([name, label, mean, interval, target, one.verdict or ""])
            name = ""
    return listed


def figures_table(reports: Sequence[Report]) -> Table:
    """The figures with their intervals and verdicts."""
    made = table(*HEADINGS)
    for row in rows(reports):
        made.add_row(*row)
    return made


def limits(reports: Sequence[Report]) -> dict[str, str]:
    """What limits each application, by the names of the flows."""
    return {
        report.application.flow: f"limited by the {report.limit.by}. {report.limit.sentence}"
        if report.limit.by != "none"
        else report.limit.sentence
        for report in reports
    }


def sources(reports: Sequence[Report]) -> list[str]:
    """The sources of the targets, each once."""
    found: dict[str, list[str]] = {}
    for report in reports:
        for one in report.measured:
            if one.target and one.label not in found.setdefault(one.target.source, []):
                found[one.target.source].append(one.label)
    return [f"Target of {' and '.join(labels)}: {source}." for source, labels in found.items()]


def answer(reports: Sequence[Report], runs: int) -> dict[str, str]:
    """Three lines: targets, limits, and the runs behind them."""
    if not reports:
        return {"targets": "Nothing yet: no run is complete.", "limits": "Unknown.", "sure": ""}
    judged = [(report, one) for report in reports for one in report.measured if one.target]
    missed = [said(*pair) for pair in judged if pair[1].verdict == "missed"]
    unclear = [said(*pair) for pair in judged if pair[1].verdict in ("not clear", "undefined")]
    reached = sum(one.verdict == "reached" for _, one in judged)
    parts = [f"{reached} of {len(judged)} published targets are reached"]
    parts += [f"missed: {few(missed, separator='; ')}"] if missed else []
    parts += [f"not clear: {few(unclear, separator='; ')}"] if unclear else []
    places = [f"{one.application.flow}: {one.limit.by}" for one in reports]
    exact = all(one.deterministic for report in reports for one in report.measured)
    sure = f"{runs} run{'' if runs == 1 else 's'}, simulated"
    sure += f", all the same: {ALL_THE_SAME}" if exact else ""
    return {
        "targets": f"{'; '.join(parts)}.",
        "limits": f"{few(places, separator=', ')}.",
        "sure": f"{sure}; 95 % intervals of the means.",
    }


def said(report: Report, one: Measured) -> str:
    """A figure in a few words: `MOS of call 3.66`."""
    factor, unit = shown(one.quantity)
    number = f"{scaled(one.mean, factor)} {unit_beside(one.label, unit)}".rstrip()
    return f"{one.label} of {report.application.flow} {number}"


def markdown(plan: Plan, reports: Sequence[Report], summary: Mapping[str, Any]) -> str:
    """The figures as Markdown."""
    lines = [f"# Experience: {plan.scenario.name}", ""]
    lines += [f"- {label}: {text}" for label, text in summary["answer"].items()]
    lines += ["", *plan.notes, ""]
    heads = [heading.lstrip("<") for heading in HEADINGS]
    lines += [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows(reports)]
    lines += ["", *(f"- {flow}: {sentence}" for flow, sentence in limits(reports).items())]
    lines += ["", *(f"- {source}" for source in sources(reports))]
    return "\n".join(lines) + "\n"


def to_dict(
    plan: Plan, reports: Sequence[Report], replications: int, *, complete: bool
) -> dict[str, Any]:
    """The object that `--json` prints, also in `experience.json`."""
    return {
        "bentpipe": _native.version(),
        "notes": plan.notes,
        "replications": replications,
        "applications": [application(report) for report in reports],
        "sources": sources(reports),
        "answer": answer(reports, replications),
        "complete": complete,
    }


def application(report: Report) -> dict[str, Any]:
    """An application for JSON."""
    return {
        "flow": report.application.flow,
        "application": report.application.kind.key,
        "title": report.application.kind.title,
        "figures": [asdict(one) for one in report.measured],
        "limited": asdict(report.limit),
    }
