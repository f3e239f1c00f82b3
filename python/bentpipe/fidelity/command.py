"""The command `bentpipe fidelity`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

import bentpipe
from bentpipe.console import late_progress, show
from bentpipe.fidelity.experiment import Experiment, compare, total_runs
from bentpipe.fidelity.plots import figure
from bentpipe.fidelity.tables import markdown, summary, text_table, to_dict
from bentpipe.fidelity.variants import combinations
from bentpipe.folders import writable
from bentpipe.stdout import about_to_print
from bentpipe.study.store import save

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

AS_WRITTEN = "as written"


def run_and_print(
    file: Path,
    sets: tuple[str, ...],
    varied: Sequence[str],
    also: tuple[str, ...],
    seeds: int,
    parallel: int,
    flow: int | None,
    kernel_runs: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compare the backends, print the result, and save it in `out` if that is set."""
    models = {AS_WRITTEN: ()} | ({_name(also): also} if also else {})
    first = bentpipe.Scenario.load(file, sets).seed
    experiment = Experiment(
        file=file,
        sets=sets,
        variants=combinations(varied),
        models=models,
        seeds=range(first, first + seeds),
        parallel=parallel,
        flow=flow,
        kernel_runs=kernel_runs,
    )
    folder = writable(out) if out else None
    scenario = bentpipe.Scenario.load(file, sets).name
    with late_progress(scenario, total_runs(experiment)) as progress:
        cells = compare(experiment, progress)
    found = to_dict(experiment, scenario, cells)
    about_to_print(f"{scenario}-fidelity", lambda: json.dumps(found))
    if folder:
        save(folder / "fidelity.json", f"{json.dumps(found, indent=1)}\n".encode())
        save(folder / "fidelity.md", markdown(cells).encode())
        for ending in ("svg", "png"):
            figure(cells, scenario).save(folder / f"fidelity.{ending}")
    if as_json:
        click.echo(json.dumps(found))
        return
    show(text_table(cells))
    for sentence in summary(cells):
        show(sentence)
    if folder:
        show(f"The table, its numbers and the curves of cwnd are in {folder}.")


def _name(also: tuple[str, ...]) -> str:
    """The name of a model with these settings."""
    pairs = (setting.partition("=") for setting in also)
    return ", ".join(f"{path.rsplit('.', 1)[-1]} {value}" for path, _, value in pairs)
