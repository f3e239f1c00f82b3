"""The first screens of comparisons and evaluations: the answer, one figure, one table.

The figure has goodput against latency, with the recommended choice ringed and the Pareto front as a
line. The table is in order of rank and fits the screen. Everything else of a page is folded.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from bentpipe.evaluate.answer import baselines, labelled
from bentpipe.evaluate.checklist import kinds
from bentpipe.numbers import NONE, count
from bentpipe.plots import Spot, tradeoff_figure, with_front
from bentpipe.report import queues
from bentpipe.report.page import Cell, Column, First, Table
from bentpipe.report.rankings import Ranking, rank_cell
from bentpipe.report.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bentpipe.explanation import Figures
    from bentpipe.plots import Figure

MOST_ROWS = 18
"""Rows of a table of a first screen, so that it fits a sheet of paper with the figure."""
LATENCY = "flow.bulk.p95_rtt_ms"
HOW_TO_READ = (
    "Up and to the left is better. Dashed: the Pareto front. No choice is above and left of it."
)
TIMES = ("burst_completion_s", "response_s")
"""Ends of the quantities of evaluations that are latencies or page load times."""
HEADS = {
    "bulk": "goodput",
    "beside-newreno": "left to NewReno",
    "fade": "goodput in fade",
    "video": "video",
    "call": "call MOS",
    "speedtest": "speed test",
}
TIED = "= not significantly different from the best of its column."
CellOf: TypeAlias = "Callable[[Mapping[str, Any] | None], Cell]"
"""The cell of a place in a ranking; None if the candidate is not in it."""
LABELS = ("choose", "costs", "sure", "on")


def lines_of(answer: Mapping[str, Any]) -> dict[str, str]:
    """The lines of an answer with their labels."""
    return {key.capitalize(): answer[key] for key in LABELS if answer.get(key)}


def rest(shown: int, of: int) -> list[str]:
    """A note on rows that a short table leaves out."""
    return [f"{count(of - shown)} more rows are not here."] if of > shown else []


# -------------------------------------------------------------------------------- comparisons


def of_comparison(folder: Path, found: Mapping[str, Any]) -> First | None:
    """The first screen of a comparison; None for one of an earlier release, without an answer."""
    answer = found.get("answer")
    if answer is None:
        return None
    if buffers := found.get("buffers"):
        sizes = queue_figures(folder, buffers)
        drawn = buffers_tradeoff(buffers, sizes) if buffers["combinations"] else None
        return First(lines_of(answer), drawn, buffers_table(buffers, sizes))
    if not found["workloads"]:
        return First(lines_of(answer), None, None)
    best = answer["recommended"][:1]
    return First(lines_of(answer), ranked_figure(folder, found, best), ranked_table(found, best))


def ranked_figure(folder: Path, found: Mapping[str, Any], best: Sequence[str]) -> Figure | None:
    """Goodput of one bulk flow against its latency, or the first ranking without a bulk flow.

    None where no connection spans the path.
    """
    bulk = next((one for one in found["workloads"] if one["workload"] == "bulk"), None)
    if bulk is None:
        return Ranking(found["workloads"][0], []).figure()
    goodput = Shown(bulk["quantity"], "goodput of one bulk flow", bulk["unit"])
    spots = [
        Spot(
            place["controller"],
            place["also"][LATENCY],
            place["mean"] / goodput.size,
            *goodput.ends(place["ci95"]),
            is_best=place["controller"] in best,
        )
        for place in bulk["ranking"]
        if place["mean"] is not None and place["also"].get(LATENCY) is not None
    ]
    if not spots:
        return None
    notes = [HOW_TO_READ, *queues.sentence(folder / bulk.get("folder", bulk["workload"]))]
    return tradeoff_figure(
        "answer",
        "Goodput against latency under load",
        "p95 RTT under load (ms)",
        goodput.title,
        with_front(spots, higher_is_better=True),
        notes,
    )


def ranked_table(found: Mapping[str, Any], best: Sequence[str]) -> Table:
    """The candidates in the order of the first ranking, with their means in all of them."""
    workloads = found["workloads"]
    first = workloads[0]
    ranked = [[place["controller"] for place in one["ranking"]] for one in workloads]
    names = list(dict.fromkeys(name for each in ranked for name in each))
    wanted = {*best, first["baseline"]}
    kept = [name for name in names if name in wanted]
    room = MOST_ROWS - len([name for name in kept if names.index(name) >= MOST_ROWS])
    shown = [name for number, name in enumerate(names) if number < room or name in wanted]
    heads = [HEADS.get(one["workload"], page_head(one, workloads)) for one in workloads]
    groups = [columns_of(one, head) for one, head in zip(workloads, heads, strict=True)]
    columns = [Column("rank"), Column("controller", numeric=False)]
    columns += [column for group in groups for column, _ in group]
    by_name = [{p["controller"]: p for p in one["ranking"]} for one in workloads]
    rows = []
    for name in shown:
        rank = rank_cell(by_name[0].get(name), tie="")
        cells = [
            cell(places.get(name))
            for group, places in zip(groups, by_name, strict=True)
            for _, cell in group
        ]
        rows.append([rank, Cell(name), *cells])
    strong = [number for number, name in enumerate(shown) if name in best]
    notes = " ".join([TIED, *rest(len(shown), len(names))])
    caption = f"By {heads[0]}, best first. {notes}"
    return Table("rank", caption, columns, rows, strong=strong, is_short=True)


def columns_of(one: Mapping[str, Any], head: str) -> list[tuple[Column, CellOf]]:
    """The columns of a ranking with their cells: the quantity, and those next to it."""
    main = Shown(one["quantity"], one["label"], one["unit"])
    found: list[tuple[Column, CellOf]] = [
        (Column(head, main.column_unit), partial(mean_cell, main))
    ]
    also = {other["quantity"]: other for other in one["also"]}
    # Not in comparisons of earlier releases.
    default = [{"quantity": LATENCY, "head": "p95 RTT"}] if LATENCY in also else []
    for beside in one.get("beside", default):
        quantity, label = beside["quantity"], beside["head"]
        form = Shown(quantity, label, also[quantity]["unit"])
        found.append((Column(label, form.column_unit), partial(beside_cell, form)))
    return found


def beside_cell(form: Shown, place: Mapping[str, Any] | None) -> Cell:
    """A mean next to the quantity of its ranking."""
    return Cell(NONE) if place is None else form.number_cell(place["also"].get(form.name))


def page_head(one: Mapping[str, Any], workloads: Sequence[Mapping[str, Any]]) -> str:
    """The heading of a ranking of pages; with its application if there are several."""
    several = sum(bool(other.get("application")) for other in workloads) > 1
    words = (one.get("application") or one["title"]).partition(",")[0]
    if "application" in one and one["application"] is None:
        return str(one["label"])
    return f"page load time, {words}" if several else "page load time"


def mean_cell(form: Shown, place: Mapping[str, Any] | None) -> Cell:
    """A mean, marked if it is the best of its ranking or not significantly different from it."""
    if place is None or place["mean"] is None:
        return Cell(NONE)
    cell = form.number_cell(place["mean"])
    mark = " best" if place["against_best"] is None else " =" if place["tied_with_best"] else ""
    return Cell(f"{cell.text}{mark}", cell.value)


# ------------------------------------------------------------------------ controllers and queues


def queue_figures(folder: Path, found: Mapping[str, Any]) -> dict[str, Figures | None]:
    """The sizes of each queue, by its label."""
    labels = [one["label"] for one in found["queues"]]
    return dict(zip(labels, queues.of_study(folder / found["study"]), strict=False))


def queue_words(label: str, figures: Figures | None) -> str:
    """The queue in kB and ms, or as the user wrote it."""
    return queues.size(figures) or label


def is_recommended(row: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """True for the recommended combination."""
    best: dict[str, str] | None = found["recommended"]
    return best == {key: row[key] for key in ("controller", "queue")}


def buffers_tradeoff(found: Mapping[str, Any], sizes: Mapping[str, Figures | None]) -> Figure:
    """The combinations as points; those of a controller are joined in the order of queues."""
    order = [one["label"] for one in found["queues"]]
    rows = sorted(found["combinations"], key=lambda r: (r["controller"], order.index(r["queue"])))
    goodput = Shown("flow.bulk.goodput_bps", "goodput", "bit/s")
    spots = []
    for row in rows:
        figures = sizes.get(row["queue"])
        whole = queue_words(row["queue"], figures)
        short = queues.kilobytes(figures) or row["queue"]
        best = is_recommended(row, found)
        spots.append(
            Spot(
                f"{row['controller']}, {whole if best else short}",
                row["p95_rtt_ms"]["mean"],
                row["goodput_bps"]["mean"] / goodput.size,
                *goodput.ends(row["goodput_bps"]["ci95"]),
                group=row["controller"],
                detail=f"a queue of {row['queue']}: {whole}",
                is_best=best,
                # As the command judges: candidates with special needs are on no front.
                on_front=row["on_front"],
            )
        )
    return tradeoff_figure(
        "answer",
        "Goodput against latency under load, by the queue",
        "p95 RTT under load (ms)",
        goodput.title,
        spots,
        [f"{HOW_TO_READ} Lines join the queues of a controller."],
    )


def buffers_table(found: Mapping[str, Any], sizes: Mapping[str, Figures | None]) -> Table:
    """The combinations: the recommended one, others with nearly its goodput, then by goodput."""
    goodput = Shown("flow.bulk.goodput_bps", "goodput", "bit/s")
    latency = Shown(LATENCY, "p95 RTT", "ms")

    def rank(row: Mapping[str, Any]) -> tuple[bool, bool, float]:
        full = row["nearly_full"]
        order = row["p95_rtt_ms"]["mean"] if full else -row["goodput_bps"]["mean"]
        return not is_recommended(row, found), not full, order

    ordered = sorted(found["combinations"], key=rank)
    columns = [
        Column("rank"),
        Column("controller", numeric=False),
        Column("queue", "kB"),
        Column("queue", "ms"),
        Column("goodput", goodput.column_unit),
        Column("p95 RTT", "ms"),
        Column("front", numeric=False),
    ]
    rows = [
        [
            Cell(f"{number}", number),
            Cell(row["controller"]),
            *queue_cells(row["queue"], sizes.get(row["queue"])),
            goodput.number_cell(row["goodput_bps"]["mean"]),
            latency.number_cell(row["p95_rtt_ms"]["mean"]),
            Cell("on it" if row["on_front"] else NONE),
        ]
        for number, row in enumerate(ordered[:MOST_ROWS], 1)
    ]
    notes = " ".join(rest(len(rows), len(ordered)))
    caption = "Those with at least 95 % of the highest goodput by their latency, then by goodput."
    caption = f"{caption} {notes}".rstrip()
    strong = [0] if ordered and is_recommended(ordered[0], found) else []
    return Table("rank", caption, columns, rows, strong=strong, is_short=True)


def queue_cells(label: str, figures: Figures | None) -> list[Cell]:
    """The queue in kB and in ms; as it was written if its size is not known."""
    if figures is None or not figures.bottleneck_queue_bytes:
        return [Cell(label), Cell(NONE)]
    size = figures.bottleneck_queue_bytes / 1e3
    drain = 8 * figures.bottleneck_queue_bytes / figures.bottleneck_bps * 1e3
    return [Cell(f"{size:,.4g}", size), Cell(f"{drain:,.3g}", drain)]


# --------------------------------------------------------------------------------- evaluations


def of_evaluation(folder: Path, found: Mapping[str, Any]) -> First:
    """The first screen of an evaluation."""
    against = ", ".join(baselines(found))
    runs = sum(item["runs"] for item in found["items"])
    on = f"{items_of(found)}, {count(runs)} runs, against {against}"
    return First(labelled(found) | {"On": on}, evaluated_figure(folder, found), items_table(found))


NOUNS = {"checklist": "item{} of the checklist", "workloads": "workload{}"}


def items_of(found: Mapping[str, Any]) -> str:
    """The numbers of items and of workloads: `3 items of the checklist and 1 workload`."""
    parts = [
        f"{number} {NOUNS[kind].format('' if number == 1 else 's')}"
        for kind, number in kinds(item["section"] for item in found["items"]).items()
    ]
    return " and ".join(parts) or "no complete item"


def goodput_and_time(item: Mapping[str, Any]) -> tuple[str, str] | None:
    """The quantities of an item that are drawn against each other: goodput, and a time."""
    names = list(dict.fromkeys(one["quantity"] for one in item["findings"]))
    goodput = next((name for name in names if name.endswith("goodput_bps")), None)
    time = next((name for name in names if name.rstrip(")").endswith(TIMES)), None)
    return (goodput, time) if goodput and time else None


def evaluated_figure(folder: Path, found: Mapping[str, Any]) -> Figure | None:
    """Goodput against latency of the candidate and its baselines, in one item with both.

    The item is that on bufferbloat, otherwise the one with most cases; None if no item has both.
    Each case has a panel with its own front, because cases differ in links or in competitors.
    """
    able = [item for item in found["items"] if goodput_and_time(item)]
    if not able:
        return None
    item = max(able, key=lambda one: (one["item"] == "bufferbloat", len(one["findings"])))
    quantities = goodput_and_time(item)
    if quantities is None:
        return None
    y, x = quantities
    at = {(one["case"], one["quantity"]): one for one in item["findings"]}
    cases = list(dict.fromkeys(one["case"] for one in item["findings"]))
    sizes = queues.of_study(folder / item["item"])
    words = {
        case: queue_words(case, figures)
        for case, figures in zip(cases, sizes, strict=False)
        if len(sizes) == len(cases)
    }
    goodput = Shown(y, at[cases[0], y]["label"], "bit/s")
    spots = []
    for name in (found["evaluate"], *baselines(found)):
        for case in cases:
            high, time = (values_of(at.get((case, q)), name) for q in (y, x))
            if high is None or time is None:
                continue
            spots.append(
                Spot(
                    name,
                    time[0] * 1e3,
                    high[0] / goodput.size,
                    *goodput.ends(high[1]),
                    group=name,
                    detail=words.get(case, case),
                    is_best=name == found["evaluate"],
                    panel=case if len(cases) > 1 else None,
                )
            )
    if not spots:
        return None
    label = at[cases[0], x]["label"]
    known = "; ".join(f"{case}: {size}" for case, size in words.items() if size != case)
    return tradeoff_figure(
        "answer",
        f"{item['title']}: {goodput.label} against {label}",
        f"{label} (ms)",
        goodput.title,
        with_front(spots, higher_is_better=True),
        [
            f"{HOW_TO_READ} Ringed: the candidate.",
            *(["Each case has its own front and axes."] if len(cases) > 1 else []),
            *([f"Queues: {known}."] if known else []),
        ],
        own_axes=len(cases) > 1,
    )


def values_of(one: Mapping[str, Any] | None, name: str) -> tuple[float, Any] | None:
    """The mean and the interval of a controller in a finding; None if it is undefined."""
    if one is None:
        return None
    row = next((row for row in one["against"] if row["baseline"] == name), None)
    mean, ends = (row["mean"], row["mean_ci95"]) if row else (one["mean"], one["ci95"])
    return None if mean is None else (mean, ends)


def items_table(found: Mapping[str, Any]) -> Table:
    """The items, those with most worse findings first."""
    columns = [
        Column("item", numeric=False),
        Column("section", numeric=False),
        Column("worse"),
        Column("better"),
        Column("not significant"),
    ]
    rows = []
    for item in found["items"]:
        words = [row["finding"] for one in item["findings"] for row in one["against"]]
        counts = [words.count(word) for word in ("worse", "better")]
        same = len(words) - sum(counts)
        rows.append((counts, [
            Cell(item["title"]),
            Cell(item["section"]),
            *(Cell(count(value) if value else NONE, value) for value in (*counts, same)),
        ]))  # fmt: skip
    rows.sort(key=lambda row: (-row[0][0], row[0][1]))
    caption = "Findings in each item, most worse ones first"
    kept = [cells for _, cells in rows[:MOST_ROWS]]
    notes = " ".join(rest(len(kept), len(rows)))
    return Table("rank", f"{caption}. {notes}".rstrip(), columns, kept, is_short=True)
