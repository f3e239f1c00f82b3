"""The evaluation as text tables, as Markdown and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.compare.events import phases
from bentpipe.console import compact_table, keep_lines, lines_of, table
from bentpipe.evaluate.checklist import method, not_covered
from bentpipe.evaluate.findings import SHOWN, sentences, shown_difference
from bentpipe.numbers import ends, scaled
from bentpipe.study.quantities import shown
from bentpipe.study.significance import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from bentpipe.evaluate.evaluation import Report
    from bentpipe.evaluate.findings import Finding
    from bentpipe.evaluate.needs import Need

HEADINGS = ("case", "<quantity", "<unit", "value", "95 % interval", "<baseline", "its value",
            "difference", "<finding")  # fmt: skip


def rows(found: Sequence[Finding]) -> list[list[str]]:
    """One row for each quantity, case and baseline."""
    listed = []
    case = None
    for one in found:
        factor, unit = shown(one.quantity)
        undefined = f" ({one.undefined} undefined)" if one.undefined else ""
        head = ["" if one.case == case else one.case, one.label, unit,
                f"{scaled(one.mean, factor)}{undefined}",
                ends(one.ci95, factor, n=one.n, deterministic=one.deterministic)]  # fmt: skip
        case = one.case
        for row in one.against:
            finding = row.finding
            described = [row.baseline, scaled(row.mean, factor),
                    shown_difference(vars(row), factor),
                    SHOWN.get(finding, finding)]  # fmt: skip
            listed.append([*head, *described])
            head = [""] * len(head)
    return listed


def text_table(found: Sequence[Finding], width: int | None = None) -> Table:
    """The findings as a table for the terminal, or of at most `width` columns.

    If it is too wide, intervals are below their values, and findings below the differences.
    """
    listed = table(*HEADINGS)
    for row in rows(found):
        listed.add_row(*row)
    return listed if lines_of(listed, width) is not None else narrow_table(found)


def dashed(interval: str) -> str:
    """An interval with a dash between its ends."""
    return interval.replace(" to ", "\N{EN DASH}")


def broken(interval: str) -> str:
    """An interval on two lines."""
    return interval.replace(" to ", " to\n")


def narrow_table(found: Sequence[Finding]) -> Table:
    """The findings in five columns with three lines in a row."""
    listed = compact_table("case", "<quantity and unit", "<value 95 % interval",
                           "<baseline its value", "<difference and finding")  # fmt: skip
    for case, label, unit, value, interval, baseline, its_value, difference, finding in rows(found):
        listed.add_row(
            case,
            f"{label} {unit}".strip(),
            f"{value}\n{dashed(interval)}" if value else "",
            f"{baseline}\n{its_value}",
            f"{broken(difference)}\n{finding}",
        )
    keep_lines(listed, 2)
    return listed


def markdown(
    reports: Sequence[Report], candidate: str, against: Sequence[str], needed: Sequence[Need]
) -> str:
    """The evaluation as Markdown."""
    items = [report.item for report in reports]
    lines = [f"# {candidate} {method(item.section for item in items)}", ""]
    lines += [f"Compared with {' and '.join(against)}. The RFC sets no thresholds."
              f" {rule('an item')}"]  # fmt: skip
    lines += [text for one in needed for text in ("", one.sentence)]
    for report in reports:
        item = report.item
        lines += ["", f"## {item.section} {item.title}", ""]
        lines += [item.note, ""] if item.note else []
        lines += [text for phase in phases(report.events) for text in (f"{phase}.", "")]
        lines += [f"- {described}" for described in sentences(report.found)]
        heads = [heading.lstrip("<") for heading in HEADINGS]
        lines += ["", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        lines += [f"| {' | '.join(row)} |" for row in rows(report.found)]
    left_out = not_covered(items)
    lines += ["", "## Not covered", ""] if left_out else []
    lines += [f"- {section}: {why}" for section, why in left_out.items()]
    return "\n".join(lines) + "\n"


def to_dict(
    reports: Sequence[Report], plan: Mapping[str, Any], needed: Sequence[Need]
) -> dict[str, Any]:
    """The object that `--json` prints, also in `evaluate.json`."""
    return {
        **plan,
        "bentpipe": _native.version(),
        "needs": [asdict(one) for one in needed],
        "items": [item(report) for report in reports],
        "not_covered": [
            {"section": section, "reason": why}
            for section, why in not_covered([report.item for report in reports]).items()
        ],
    }


def item(report: Report) -> dict[str, Any]:
    """One item of the checklist."""
    listed = report.item
    return {
        "item": listed.name,
        "section": listed.section,
        "title": listed.title,
        "scenario": listed.scenario,
        "note": listed.note,
        "runs": report.runs,
        "events": report.events,
        "findings": [asdict(one) for one in report.found],
        "sentences": sentences(report.found),
    }
