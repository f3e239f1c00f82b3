"""Results as text and as HTML, for `print` and for notebooks."""

from __future__ import annotations

import io
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.table import Table

    from bentpipe import Run, Scenario

WIDTH = 100
"""Columns of texts."""


def as_text(labelled: Mapping[str, str], blocks: Iterable[Any]) -> str:
    """Labels with their texts, then texts and tables, within 100 columns."""
    import textwrap

    from bentpipe.console import fitting, verbatim

    margin = max(map(len, labelled), default=0) + 2
    lines = [
        textwrap.fill(text, WIDTH, initial_indent=f"{label:<{margin}}",
                      subsequent_indent=" " * margin, break_long_words=False,
                      break_on_hyphens=False)
        for label, text in labelled.items()
    ]  # fmt: skip
    out = io.StringIO()
    console = verbatim(file=out, width=WIDTH)
    for block in blocks:
        console.print("")
        console.print(fitting(block, console))
    shown = (line.rstrip() for line in out.getvalue().splitlines())
    return "\n".join([*lines, *shown])


def as_html(title: str, labelled: Mapping[str, str], blocks: Iterable[Any] = ()) -> str:
    """A heading, labels with their texts, then texts and tables."""
    parts = [f"<h4>{escape(title)}</h4>"]
    if labelled:
        rows = "".join(
            f"<tr><th style='text-align: left'>{escape(label)}</th>"
            f"<td style='text-align: left'>{escape(text)}</td></tr>"
            for label, text in labelled.items()
        )
        parts.append(f"<table><tbody>{rows}</tbody></table>")
    parts += [
        f"<p>{escape(block)}</p>" if isinstance(block, str) else html_table(block)
        for block in blocks
    ]
    return f"<div class='bentpipe'>{''.join(parts)}</div>"


def html_table(table: Table) -> str:
    """A table of the terminal as HTML."""
    sides = [f" style='text-align: {column.justify}'" for column in table.columns]

    def row(cells: Iterable[Any], tag: str) -> str:
        made = (
            f"<{tag}{side}>{escape(str(cell)).replace(chr(10), '<br>')}</{tag}>"
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(made)}</tr>"

    heads = row((column.header for column in table.columns), "th")
    cells = zip(*(column.cells for column in table.columns), strict=True)
    body = "".join(row(one, "td") for one in cells)
    return f"<table><thead>{heads}</thead><tbody>{body}</tbody></table>"


def folded(title: str, text: str) -> str:
    """A text behind a heading that opens it."""
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"


def scenario_html(scenario: Scenario) -> str:
    """A scenario: its flows, links and warnings, and behind a heading all values."""
    from bentpipe.console import table
    from bentpipe.numbers import amount, significant

    found = scenario.explain()
    flows = table("flow", "<traffic", "<route", "RTT ms", "<bottleneck", "BDP", "PER")
    for flow in found.flows:
        figures = flow.figures
        flows.add_row(
            flow.name if flow.count == 1 else f"{flow.name} x {flow.count}",
            flow.summary,
            " \N{RIGHTWARDS ARROW} ".join(flow.route),
            significant(figures.base_rtt_ms),
            f"{figures.bottleneck}: {amount(figures.bottleneck_bps, 'bit/s')}",
            amount(figures.bdp_bytes, "B"),
            significant(figures.per, 3),
        )
    links = table("link", "<values that are not defaults")
    for link in found.links:
        own = (f"{one.name} {one.text}" for one in link.settings if not one.default)
        links.add_row(f"{link.from_} \N{RIGHTWARDS ARROW} {link.to}", ", ".join(own))
    about = {"duration": f"{scenario.duration_s:g} s", "seed": str(scenario.seed)}
    for warning in found.warnings:
        about[f"warning: {warning.subject}" if warning.subject else "warning"] = warning.message
    whole = as_html(f"Scenario {scenario.name}", about, [flows, links])
    return whole + folded("Every value", str(found))


def run_html(run: Run) -> str:
    """A run: the totals of its flows and links."""
    from bentpipe.counts import fairness
    from bentpipe.printing.recording import tables_of

    backend = "simulator" if run.kernel is None else f"Linux {run.kernel.release}"
    about = {"seed": str(run.seed), "backend": backend, "time": f"{run.simulated_s:,.1f} s"}
    index = fairness(run.recording)
    if index is not None:
        about["Jain index"] = f"{index:.4f}"
    if run.partial:
        about["partial"] = "the run was interrupted"
    return as_html(f"Run of {run.name}", about, tables_of(run.recording))
