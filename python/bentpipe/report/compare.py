"""The page of a comparison: verdicts, an overview, and each ranking with its figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.numbers import NONE, count
from bentpipe.report.beam_rankings import KEYS as OF_BEAMS
from bentpipe.report.beam_rankings import beam_rankings_page
from bentpipe.report.first import buffers_tradeoff, of_comparison, queue_figures
from bentpipe.report.page import Cell, Column, Page, Section, Table, Text
from bentpipe.report.rankings import Ranking, rank_cell
from bentpipe.report.scenarios import studies_section
from bentpipe.report.shown import Shown
from bentpipe.report.source import read_json
from bentpipe.study.significance import rule

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ("bentpipe", "compare", "link", "complete", "command", "controllers", "left_out",
        "workloads", "verdicts")  # fmt: skip
INTERRUPTED = "Interrupted: incomplete workloads are not shown."

HOW_TO_READ = (
    f"All controllers met the same losses and the same competing traffic. {rule('a ranking')}"
)


def compare_page(folder: Path) -> Page:
    """The page of a folder of `bentpipe compare --out`."""
    if "rankings" in read_json(folder / "compare.json"):
        return beam_rankings_page(folder, read_json(folder / "compare.json", *OF_BEAMS))
    found = read_json(folder / "compare.json", *KEYS)
    workloads = [Ranking(row, found["verdicts"]) for row in found["workloads"]]
    runs = sum(ranking.runs for ranking in workloads)
    # Of earlier releases, the folder is that of the workload.
    names = [row.get("folder", row["workload"]) for row in found["workloads"]]
    # Only there if several queues were compared.
    buffers = found.get("buffers")
    if buffers:
        runs += buffers["runs"]
        names.append(buffers["study"])
    return Page(
        title=f"Controllers on {found['compare']}",
        subtitle=f"{count(len(found['controllers']))} {kind(found)} in {count(runs)} runs",
        version=found["bentpipe"],
        summary=[
            f"The link: {found['link']['described']}.",
            # Not in comparisons of earlier releases.
            *found["link"].get("about", ()),
            *([buffers["sentence"]] if buffers else []),
            *(verdict["sentence"] for verdict in found["verdicts"]),
            HOW_TO_READ,
        ],
        sections=[
            *([buffers_section(folder, buffers, drawn="answer" not in found)] if buffers else []),
            *([at_a_glance(found, workloads)] if workloads else []),
            *(ranking.section() for ranking in workloads),
            studies_section(folder, names, found["bentpipe"], found["command"]),
        ],
        warnings=[] if found["complete"] else [INTERRUPTED],
        first=of_comparison(folder, found),
        things=[one["name"] for one in found["controllers"]],
    )


def kind(found: dict[str, Any]) -> str:
    """What the rows of the rankings are."""
    several = any(one.get("transport") for one in found["controllers"])
    return "combinations of controller and transport" if several else "congestion controllers"


def at_a_glance(found: dict[str, Any], workloads: list[Ranking]) -> Section:
    """The rank of every controller in every workload, without a sum, which would need weights."""
    columns = [
        Column("controller", numeric=False),
        Column("status", numeric=False, choices=True),
        *(Column(ranking.title) for ranking in workloads),
    ]
    by_name = [{place["controller"]: place for place in r.places} for r in workloads]
    asks = [c["asks"] for c in found["controllers"] if c["asks"]]
    notes = [f"Needs {reason}." for reason in dict.fromkeys(asks)]
    rows = [
        [
            Cell(c["name"], note=notes.index(f"Needs {c['asks']}.") + 1 if c["asks"] else None),
            Cell(c["status"]),
            *(rank_cell(places.get(c["name"])) for places in by_name),
        ]
        for c in found["controllers"]
    ]
    reasons: dict[str, list[str]] = {}
    for row in found["left_out"]:
        reasons.setdefault(row["needs"], []).append(row["controller"])
    left = [f"Left out because they need {why}: {', '.join(who)}." for why, who in reasons.items()]
    # Not in comparisons of earlier releases.
    left += [one["sentence"] for one in found.get("not_carried", ())]
    left += found.get("notes", ())
    described = "Rank in each workload; = not significantly different from the best"
    table = Table("places", described, columns, rows, notes)
    return Section("places", "At a glance", [table, *([Text(left)] if left else [])])


def buffers_section(folder: Path, found: dict[str, Any], *, drawn: bool) -> Section:
    """Controllers and queues, and which to choose; with the figure if no first screen has it."""
    rows = found["combinations"]
    goodput = Shown("flow.bulk.goodput_bps", "goodput", "bit/s")
    latency = Shown("flow.bulk.p95_rtt_ms", "latency under load, p95 RTT", "ms")
    content: list[Any] = [Text([found["sentence"]])]
    if rows and drawn:
        content.append(buffers_tradeoff(found, queue_figures(folder, found)))
    if rows:
        content.append(buffers_table(found, goodput, latency))
    if found["undefined"]:
        content.append(Text([f"Undefined in some run: {'; '.join(found['undefined'])}."]))
    return Section("buffers", "Controllers and buffers", content)


def buffers_table(found: dict[str, Any], goodput: Shown, latency: Shown) -> Table:
    """All combinations, lowest latency first."""
    columns = [
        Column("controller", numeric=False),
        Column("queue", numeric=False, choices=True),
        Column(goodput.label, goodput.column_unit),
        Column("95 % interval", goodput.column_unit),
        Column(latency.label, latency.column_unit),
        Column("95 % interval", latency.column_unit),
        Column("p95 queueing delay", "ms"),
        Column("timeouts"),
        Column("front", numeric=False, choices=True),
    ]
    best = found["recommended"]
    rows = [
        [
            Cell(row["controller"]),
            Cell(row["queue"]),
            *mean_cells(goodput, row, "goodput_bps"),
            *mean_cells(latency, row, "p95_rtt_ms"),
            latency.number_cell(row["p95_queueing_delay_ms"]),
            latency.number_cell(row["timeouts"]),
            Cell(place(row, best)),
        ]
        for row in found["combinations"]
    ]
    caption = "One bulk flow of each controller with each queue: means and intervals"
    return Table("buffers-table", caption, columns, rows)


def mean_cells(quantity: Shown, row: dict[str, Any], name: str) -> list[Cell]:
    """The mean of a combination with its interval."""
    is_fixed = row.get("deterministic", False)
    return quantity.mean_cells(
        row[name]["mean"], row[name]["ci95"], row["n"], deterministic=is_fixed
    )


def place(row: dict[str, Any], best: dict[str, str] | None) -> str:
    """Whether a combination is recommended or on the front."""
    if best == {key: row[key] for key in ("controller", "queue")}:
        return "recommended"
    return "front" if row["on_front"] else NONE
