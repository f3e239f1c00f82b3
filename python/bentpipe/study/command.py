"""The command `bentpipe study`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.console import late_progress, show, show_labelled, table
from bentpipe.numbers import NONE, ends, scaled, signed
from bentpipe.printing.setting import setting
from bentpipe.stdout import about_to_print
from bentpipe.study import significance
from bentpipe.study.answer import answer
from bentpipe.study.overview import overviews
from bentpipe.study.plan import Study
from bentpipe.study.quantities import shown
from bentpipe.study.store import as_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bentpipe.study.parameters import Value
    from bentpipe.study.results import Results


def run_and_print(
    file: Path,
    workers: int | None,
    cluster: str | None,
    out: Path | None,
    as_one_object: bool,
    verbose: bool = False,
) -> bool:
    """Run the study of a file and print the results; true if all runs are complete."""
    study = Study.load(file)
    with late_progress(study.title, study.most_runs, unit="runs") as progress:
        results = study.run(out=out, workers=workers, cluster=cluster, progress=progress)
    about_to_print(study.name, lambda: as_json(results.summary).decode(), out)
    if as_one_object:
        click.echo(as_json(results.summary).decode(), nl=False)
        return results.complete
    print_answer(results)
    if verbose:
        print_results(results)
    else:
        print_overviews(results)
    print_notes(results)
    show(where_the_rest_is(out, verbose))
    return results.complete


def print_answer(results: Results) -> None:
    """Print the title, the setting, and three lines: the choice, its cost, and how sure it is."""
    found = answer(results)
    show(results.study.title)
    lines = {"Choose": found.choose, "Costs": found.costs, "Sure": found.sure}
    show_labelled(lines | {"On": setting(v.scenario for v in results.study.variants)})


def print_overviews(results: Results) -> None:
    """Print one table for each quantity."""
    for one in overviews(results):
        show("")
        if one.title:
            show(one.title)
        show(one.table)
        if one.left_out:
            show(f"{one.left_out} more rows: --verbose, --json")


def where_the_rest_is(out: Path | None, verbose: bool) -> str:
    """The last sentence: the folder, the page and the options that have the rest."""
    rest = "" if verbose else " --verbose: medians, percentiles, all differences. --json: all."
    if out is None:
        return (
            f"--out DIR keeps rows and summary; `bentpipe report DIR` makes a page of them.{rest}"
        )
    return f"Rows and summary are in {out}. `bentpipe report {out}` makes a page of them.{rest}"


def print_results(results: Results) -> None:
    """Print the tables of all means and of all differences."""
    study = results.study
    heads = (one.heading for one in study.parameters)
    means = table(*heads, "<quantity", "n", "mean", "95 % interval", "median",
                  *percentile_columns(results), "<unit")  # fmt: skip
    for cell in results.cells:
        factor, unit = shown(cell.quantity)
        asked = [cell.percentiles.get(name[1:]) for name in percentile_columns(results)]
        means.add_row(
            *map(str, cell.parameters.values()),
            cell.quantity,
            str(cell.n),
            scaled(cell.mean, factor),
            ends(cell.ci95, factor, n=cell.n, deterministic=cell.deterministic),
            scaled(cell.median, factor),
            *(scaled(value, factor) for value in asked),
            unit,
        )
    show(means)
    if results.comparisons:
        print_comparisons(results)


def print_notes(results: Results) -> None:
    """Print notes on the results: significance, stopping, deterministic and undefined values."""
    study = results.study
    show("")
    if results.comparisons and results.comparisons[0].family:
        show(significance.rule("the study", results.comparisons[0].family))
    if described := describe_stopping(results):
        show(described)
    if described := significance.deterministic_sentence(*deterministic(results)):
        show(f"Warning: {described}")
    undefined = sum(cell.undefined for cell in results.cells)
    if undefined:
        show(f"{undefined} values are undefined, for example because a download did not complete."
             " Means do not include them, and n is the number of defined values.")  # fmt: skip
    if any(significance.of_pairs(vars(row)) for row in results.comparisons):
        show(significance.LEFT_OUT)
    complete = "" if results.complete else " (interrupted: partial)"
    show(f"{results.summary['runs']:,} runs of {len(study.variants)} variants{complete}")


def print_comparisons(results: Results) -> None:
    """Print the paired differences from the baselines."""
    study = results.study
    listed = table("quantity", "<other parameters", "<value", "<baseline", "pairs", "difference",
                   "95 % interval", "relative", "<significant", "<unit")  # fmt: skip
    for row in results.comparisons:
        share = row.relative
        factor, unit = shown(row.quantity)
        relative = NONE if share is None else f"{signed(share * 100, places=1)} %"
        listed.add_row(
            row.quantity,
            named(study, row.parameters),
            named(study, row.of),
            named(study, row.against),
            str(row.n),
            scaled(row.difference, factor),
            ends(row.ci95, factor, n=row.n, deterministic=row.deterministic),
            relative,
            YES_OR_NO.get(row.words, row.words),
            unit,
        )
    show(listed)


YES_OR_NO = {"significant": "yes", "not significant": "no"}
"""Findings in the column `significant`. Others stand there as they are."""


def deterministic(results: Results) -> tuple[list[str], int]:
    """The names of the deterministic variants, and the number of all variants."""
    fixed = set(results.summary["deterministic"])
    variants = results.study.variants
    named_ones = [named(results.study, one.parameters) for one in variants if one.number in fixed]
    return named_ones, len(variants)


def percentile_columns(results: Results) -> list[str]:
    """The percentiles of all quantities, as p5 and p95."""
    asked = {percent for quantity in results.study.quantities for percent in quantity.percentiles}
    return [f"p{percent:g}" for percent in sorted(asked)]


def named(study: Study, parameters: Mapping[str, Value]) -> str:
    """Values for one cell, in the order of the study; with labels if there are several."""
    own = [p for p in study.parameters if p.path in parameters]
    described = [f"{parameters[p.path]}{p.unit or ''}" for p in own]
    if len(own) == 1:
        return described[0]
    return ", ".join(f"{p.label}={value}" for p, value in zip(own, described, strict=True))


def describe_stopping(results: Results) -> str:
    """A sentence on variants that did not reach the required interval; empty if none."""
    stopping = results.summary["stopping"]
    if not stopping or not stopping["wide"] or not results.complete:
        return ""
    return (
        f"{len(stopping['wide'])} of {len(results.study.variants)} variants reached the maximum or"
        f" the budget before the half width of {stopping['quantity']} was"
        f" {stopping['relative_half_width']:.3g} of its mean"
    )
