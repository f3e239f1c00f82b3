"""Results of suites as tables of docs/fidelity.md."""

from __future__ import annotations

import statistics
import sys
from typing import Any

from bentpipe.numbers import decimals, signed
from suites import OF_PROGRAMS
from suites.suite import ROOT

PAGE = ROOT / "docs" / "fidelity.md"
README = ROOT / "README.md"

HEADS = {
    "as written": "As written",
    "the same QUIC": "QUIC",
    "default hosts": "Default hosts",
    "recovery linux": '`recovery = "linux"`, and CUBIC and Reno with `variant = "linux"`',
}


def differences(found: dict[str, Any], model: str) -> dict[tuple[str, ...], dict[str, Any] | None]:
    """Difference of the model from the kernel in percent by the names of the variant."""
    return {
        tuple(cell["names"]): (
            {"mean": compared["median_difference"], "ci95": None}
            if "median_difference" in compared
            else compared[f"{found['quantity']}_difference"]
        )
        for cell in found["cells"]
        for compared in cell["models"]
        if compared["model"] == model
    }


def texts(found: dict[str, Any], model: str) -> dict[tuple[str, ...], str]:
    """The text of each variant in the table of a model."""
    if "median" in found["cells"][0]["kernel"]:
        return {
            tuple(cell["names"]): median_text(cell["kernel"], compared, found["quantity"])
            for cell in found["cells"]
            for compared in cell["models"]
            if compared["model"] == model
        }
    return {names: cell_text(each) for names, each in differences(found, model).items()}


def table(name: str, found: dict[str, Any]) -> str:
    """The results of a name as Markdown."""
    if name in OF_PROGRAMS:
        return str(OF_PROGRAMS[name].table(found))
    if found.get("baseline"):
        return times_table(found)
    return differences_table(found)


def times_table(found: dict[str, Any]) -> str:
    """A suite whose columns are compared with one of them, each with its completion times."""
    cells = {tuple(cell["names"]): cell for cell in found["cells"]}
    lines = [
        "| controller | buffers | kernel s | times the default | simulator s | times the default |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for (row, column), cell in cells.items():
        base = cells[row, found["baseline"]]
        parts = []
        for median in (kernel_median, simulator_median):
            parts += [decimals(median(cell), 2), decimals(median(base) / median(cell), 2)]
        lines.append(f"| {row} | {column} | {' | '.join(parts)} |")
    return "\n".join([*lines, "", footer(found)])


def kernel_median(cell: dict[str, Any]) -> float:
    """Median of the kernel's runs."""
    return float(cell["kernel"]["median"])


def simulator_median(cell: dict[str, Any]) -> float:
    """Median of the first model's runs."""
    return float(cell["models"][0]["simulator"]["median"])


def differences_table(found: dict[str, Any]) -> str:
    """A suite as Markdown: one sentence for each model, then the differences."""
    what = {"goodput": "goodput", "completion": "completion time"}[found["quantity"]]
    has_medians = "median" in found["cells"][0]["kernel"]
    what = f"{what} (median of the runs)" if has_medians else what
    lines = []
    for model in found["models"]:
        by_names = texts(found, model)
        rows = list(dict.fromkeys(names[0] for names in by_names))
        columns = list(dict.fromkeys(names[1:] for names in by_names))
        means = differences(found, model).items()
        sizes = {names: abs(each["mean"]) for names, each in means if each is not None}
        where = max(sizes, key=lambda names: sizes[names])
        within = sum(size <= 10 for size in sizes.values())
        lines += [
            f"{HEADS.get(model, model)}: {what} differs by "
            f"{decimals(statistics.median(sizes.values()), 1)} % in the median and by "
            f"{decimals(sizes[where], 1)} % at most ({', '.join(where)}); "
            f"{within} of {len(sizes)} variants are within 10 %.",
            "",
            f"| difference % | {' | '.join(', '.join(column) for column in columns)} |",
            f"|---|{'---:|' * len(columns)}",
        ]
        lines += [
            f"| {row} | "
            + " | ".join(by_names.get((row, *column), "-") for column in columns)
            + " |"
            for row in rows
        ]
        lines.append("")
    return "\n".join([*lines, footer(found)])


def footer(found: dict[str, Any]) -> str:
    """The last line of a table."""
    invalid = sum(cell["invalid"] for cell in found["cells"])
    seeds = len(found["seeds"])
    return f"{found['date']}, commit {found['commit']}, Linux {found['kernel']}, {seeds} seeds" + (
        f"; {invalid} kernel runs were not valid and are left out." if invalid else "."
    )


def cell_text(difference: dict[str, Any] | None) -> str:
    """A difference with its interval."""
    if difference is None:
        return "-"
    # Not "-0.0".
    mean = signed(round(difference["mean"], 1) + 0.0, places=1)
    return mean if difference["ci95"] is None else f"{mean} ±{decimals(difference['ci95'], 1)}"


def median_text(kernel: dict[str, Any], compared: dict[str, Any], quantity: str) -> str:
    """A difference of medians with the range of the kernel's runs."""
    scale, unit = {"goodput": (1e-6, "Mbit/s"), "completion": (1.0, "s")}[quantity]
    difference = signed(round(compared["median_difference"], 1) + 0.0, places=1)
    low, high = (decimals(scale * end, 2) for end in kernel["range"])
    between = low if low == high else f"{low} to {high}"
    return f"{difference} ({between} {unit})"


def page_with(results: dict[str, Any]) -> str:
    """The page with the table of each suite between its comments."""
    page = PAGE.read_text()
    for name, found in results.items():
        begin, end = f"<!-- made by benches/fidelity.py: {name} -->\n", "<!-- end -->"
        before, found_begin, rest = page.partition(begin)
        _, found_end, after = rest.partition(end)
        if not (found_begin and found_end):
            sys.exit(f"{PAGE}: expected a place for the suite {name}: {begin}{end}")
        page = f"{before}{begin}\n{table(name, found)}\n\n{end}{after}"
    return page


def readme_sentence(results: dict[str, Any]) -> str:
    """What the README says of the downloads."""
    by_model = {total["model"]: total for total in results["downloads"]["summary"]}
    like_linux, as_written = by_model["recovery linux"], by_model["as written"]
    return (
        f"Goodput differs by {decimals(like_linux['median'], 1)} % in the median and "
        f'{decimals(like_linux["largest"], 1)} % at most with `recovery = "linux"` and the '
        f"variants of CUBIC and Reno for Linux, and by {decimals(as_written['median'], 1)} % and "
        f"{decimals(as_written['largest'], 1)} % with the recovery of RFC 6675."
    )
