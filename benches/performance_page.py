"""The page docs/performance.md, from the counts of `performance.py`."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.plots.lines import line_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bentpipe.plots import Figure

Results = dict[str, Any]


@dataclass(frozen=True)
class Goal:
    """A bound, and what was measured."""

    name: str
    aim: float
    measured: float
    unit: str

    @property
    def is_reached(self) -> bool:
        """Whether the measured value is within the aim."""
        return self.measured <= self.aim

    def row(self) -> list[str]:
        """The row of the table."""
        cells = [self.name, number(self.aim), number(self.measured), self.unit]
        return [*cells, "reached" if self.is_reached else "falls short"]


def number(value: float) -> str:
    """A number with three digits or more."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """A table in Markdown whose first columns are texts and the others numbers."""
    rule = [*["---"] * texts, *["---:"] * (len(columns) - texts)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [columns, rule, *rows])


FULL = "plain sender, full window"
"""The row of the sender that repairs as many losses as controllers that fill the link."""
COSTLIEST = 10
"""Controllers with a row of their own."""


def ratios(found: Sequence[dict[str, Any]], scenario: str, base: str) -> dict[str, float]:
    """The costs of the controllers as multiples of those of `base`."""
    costs = {str(row["name"]): float(row.get(scenario, 0)) for row in found}
    return {name: cost / costs[base] for name, cost in costs.items() if name != FULL}


RATIOS = {
    "recoveries": ('`recovery = "linux"`', 1.4, "linux", "sack", "times SACK"),
    "changes": ("path with a change every 10 ms", 1.2, "every 10 ms", "none", "times one without"),
}
"""Goals that are the ratio of two rows of a section: name, aim, rows, and unit."""


def goals(results: Results) -> list[Goal]:
    """The goals of the sections that were counted."""
    found = {name: section["found"] for name, section in results.items()}
    made: list[Goal] = []
    if "packets" in found:
        (plain,) = (row["per_hop"] for row in found["packets"] if row["name"] == "plain")
        made.append(Goal("plain download", 330, plain, "instructions per hop"))
    if "growth" in found:
        first = found["growth"][0]["per_hop"]
        for row in found["growth"][2:]:
            aim = 1.3 if row["flows"] == 1000 else 2.0
            name = f"{row['flows']:,} flows"
            made.append(Goal(name, aim, row["per_hop"] / first, "times the instructions of one"))
    if "memory" in found:
        made += goals_of_memory(found["memory"])
    if "controllers" in found:
        made += goals_of_controllers(found["controllers"])
    made += [
        Goal(name, aim, found[section][one] / found[section][other], unit)
        for section, (name, aim, one, other, unit) in RATIOS.items()
        if section in found
    ]
    if "start" in found:
        commands = list(found["start"]["commands"].items())[1:]
        for (name, seconds), aim in zip(commands, (60, 100, 150, 1000), strict=True):
            made.append(Goal(name, aim, seconds * 1000, "ms of processor time"))
    return made


def goals_of_memory(memory: Any) -> list[Goal]:
    """The goals of flows, households and terminals that wait."""
    # A group without flows is an error.
    terminal = memory["terminal"] - memory["not started"]
    return [
        Goal("flow not started", 250, memory["not started"], "bytes"),
        Goal("open, idle connection", 1500, memory["open and idle"], "bytes"),
        Goal("household before its first session", 2000, memory["household"], "bytes"),
        Goal("idle terminal of a beam, without its flow", 2000, terminal, "bytes"),
    ]


COLUMNS = (
    ("no loss", "reno", "without loss", "times Reno"),
    ("losses", "reno", "with losses", "times Reno"),
    ("losses", FULL, "with losses", "times a full window"),
)
"""Comparisons of controllers: scenario, row, and both in words."""


def goals_of_controllers(found: Any) -> list[Goal]:
    """The goals of the most expensive controllers."""
    made = []
    for scenario, base, text, unit in COLUMNS:
        values = ratios(found, scenario, base)
        name = f"costliest of {len(values)} controllers, {text}"
        made.append(Goal(name, 2.0, max(values.values()), unit))
    return made


def packets(found: Any) -> str:
    """Mechanisms and protocols."""
    plain = found[0]["per_hop"]
    rows = [
        [
            row["name"],
            number(row["per_hop"]),
            number(row["per_hop"] / plain),
            number(row["per_segment"]),
        ]
        for row in found
    ]
    columns = ["download", "instructions per hop", "times the first", "per data segment"]
    return table(columns, rows)


def changes(found: Any) -> str:
    """A path with and without changes."""
    return table(
        ["changes of the path", "instructions per hop"],
        [[name, number(cost)] for name, cost in found.items()],
    )


def functions(found: Any) -> str:
    """Functions with the most instructions."""
    parts = []
    for name, rows in found.items():
        lines = [
            [f"`{shortened(function)}`", number(cost), f"{share:.1%}"]
            for function, cost, share in rows
        ]
        columns = ["function", "instructions per data segment", "share"]
        parts.append(f"With {name}:\n\n{table(columns, lines)}")
    return "\n\n".join(parts)


def shortened(function: str) -> str:
    """The name of a function without what is between angle brackets but for the first type."""
    return function.replace("|", "\\|")[:96]


def growth(found: Any) -> str:
    """Growth with flows."""
    first = found[0]["per_hop"]
    rows = [
        [
            f"{row['flows']:,}",
            number(row["per_hop"]),
            number(row["per_hop"] / first),
            number(row["misses_per_hop"]),
        ]
        for row in found
    ]
    columns = ["flows", "instructions per hop", "times one flow", "data misses per hop"]
    return table(columns, rows)


def memory(found: Any) -> str:
    """Memory of flows and sizes of structures."""
    rows = [
        ["flow that has not started", number(found["not started"])],
        ["flow with an open, idle connection", number(found["open and idle"])],
        ["household before its first session, with its six flows", number(found["household"])],
        ["idle terminal of a beam, with a flow that has not started", number(found["terminal"])],
        *([name, number(size)] for name, size in found["sizes"].items()),
    ]
    return table(["structure", "bytes"], rows)


def controllers(found: Any) -> str:
    """The costliest controllers in a table, and the others in a sentence."""
    costs = {row["name"]: row for row in found}
    plain, lossy, full = (ratios(found, scenario, base) for scenario, base, *_ in COLUMNS)

    def row(name: str) -> list[str]:
        no_loss, losses = costs[name]["no loss"], costs[name]["losses"]
        cells = [no_loss, plain[name], losses, lossy[name], full[name]]
        return [f"`{name}`", *map(number, cells)]

    order = sorted(plain, key=lambda name: -max(plain[name], lossy[name]))
    listed, others = order[:COSTLIEST], order[COSTLIEST:]
    rows = [row(name) for name in [*listed, "reno"]]
    losses = costs[FULL]["losses"]
    rows.append([FULL, "", "", number(losses), number(losses / costs["reno"]["losses"]), "1.00"])
    head = [
        "controller", "without loss", "times Reno",
        "PER 1e-3", "times Reno", "times a full window",
    ]  # fmt: skip
    middle = [number(statistics.median(values.values())) for values in (plain, lossy, full)]
    within = [sum(value <= 2 for value in values.values()) for values in (plain, lossy, full)]
    rest = ", ".join(
        f"`{name}` {number(plain[name])} and {number(lossy[name])}"
        for name in others
        if name != "reno"
    )
    return (
        f"{table(head, rows)}\n\n"
        f"The median of all {len(plain)} controllers is {middle[0]} times Reno without loss,"
        f" {middle[1]} times Reno with losses and {middle[2]} times a full window. At most 2 times"
        f" cost {within[0]}, {within[1]} and {within[2]} of them. The others, as times Reno without"
        f" loss and with losses: {rest}."
    )


def recoveries(found: Any) -> str:
    """Recoveries."""
    rows = [
        [f'`"{name}"`', number(cost), number(cost / found["sack"])] for name, cost in found.items()
    ]
    columns = ["recovery", "instructions per data segment", "times SACK"]
    return table(columns, rows)


def start(found: Any) -> str:
    """Start of commands."""
    rows = [[name, number(seconds * 1000)] for name, seconds in found["commands"].items()]
    return table(["command", "ms"], rows)


TABLES: dict[str, Callable[[Any], str]] = {
    "packets": packets,
    "functions": functions,
    "growth": growth,
    "changes": changes,
    "memory": memory,
    "controllers": controllers,
    "recoveries": recoveries,
    "start": start,
}


def filled(page: str, results: Results) -> str:
    """The page with the tables of all sections that were counted, each between its comments."""
    rows = [goal.row() for goal in goals(results)]
    texts = {"goals": table(["cost", "aim, at most", "measured", "unit", "verdict"], rows)}
    for name, section in results.items():
        of = f"Counted on {section['date']} with {section['compiler']}."
        texts[name] = f"{TABLES[name](section['found'])}\n\n{of}"
    for name, text in texts.items():
        begin, end = f"<!-- made by benches/performance.py: {name} -->\n", "<!-- end -->"
        before, found_begin, rest = page.partition(begin)
        _, found_end, after = rest.partition(end)
        if not (found_begin and found_end):
            raise ValueError(f"the page has no place for {name}: {begin}{end}")
        page = f"{before}{begin}\n{text}\n\n{end}{after}"
    return page


def figure(found: Any) -> Figure:
    """Growth as a figure with two panels."""
    points = [
        {"panel": panel, "series": "Bentpipe", "x": float(row["flows"]), "y": float(row[key])}
        for panel, key in (
            ("instructions per hop", "per_hop"),
            ("cache misses per hop", "misses_per_hop"),
        )
        for row in found
    ]
    title = "Cost of a packet and hop with many flows"
    return line_figure("performance", title, "flows", "per packet and hop", pl.DataFrame(points))
