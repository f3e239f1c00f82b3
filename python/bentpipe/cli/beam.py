"""Beams: how full, who waits, and how many terminals."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from bentpipe.cli.groups import WithSet
from bentpipe.cli.root import DEFECT, FILE, backend_option, cli, json_option, refuse, sets_option

if TYPE_CHECKING:
    from pathlib import Path


@cli.command(cls=WithSet)
@click.argument("file", type=FILE)
@backend_option
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Seed of all random numbers.")
@sets_option
@click.option(
    "--find",
    type=click.Choice(["terminals"]),
    help="Search the largest number of terminals of --group with which each --within is met.",
)
@click.option("--group", help="With --find: the group whose number of terminals is searched.")
@click.option(
    "--within",
    multiple=True,
    metavar="QUANTITY=VALUE",
    help="With --find: an upper bound, such as page_p95=8s. Quantities: page_p50, page_p95,"
    " transfer_p95, stalls_p95, stalled_p95, and mos_p5, which is at least the value.",
)
@click.option(
    "--range",
    "limits",
    metavar="LOW:HIGH",
    help="With --find: numbers of terminals to search in. Default: 1:1000.",
)
@click.option(
    "--seeds", type=click.IntRange(1, 1000), help="With --find: number of seeds. Default: 5."
)
@json_option
def beam(
    file: Path,
    backend: str,
    seed: int | None,
    sets: tuple[str, ...],
    find: str | None,
    group: str | None,
    within: tuple[str, ...],
    limits: str | None,
    seeds: int | None,
    as_json: bool,
) -> None:
    """Run the scenario FILE and print how full its beams are, and what each group gets.

    With --find terminals, exit status 1 if a bound is not met with the smallest number.
    """
    import bentpipe
    from bentpipe import beams
    from bentpipe.beams import printing
    from bentpipe.console import late_progress

    scenario = bentpipe.Scenario.load(file, sets)
    if find is None:
        given = {"--group": group, "--within": within, "--range": limits, "--seeds": seeds}
        for name, value in given.items():
            if value:
                refuse(f"{name}: expected --find terminals with it")
        run = bentpipe._native.run_on_kernel if backend == "kernel" else bentpipe._native.run
        with late_progress(scenario.name, 1.0) as progress:
            recording = run(scenario, seed=seed, progress=progress)
        found = beams.answer(scenario, recording)
        click.echo(json.dumps(found.to_dict())) if as_json else printing.show_answer(found)
        return
    if backend == "kernel":
        refuse("--backend kernel: expected no --find, which searches in the simulator")
    chosen = printing.chosen(scenario, group, within, limits)
    first = scenario.seed if seed is None else seed
    numbers = range(first, first + (5 if seeds is None else seeds))
    try:
        with late_progress(scenario.name, 1.0) as progress:
            result = beams.find_terminals(scenario, *chosen, numbers, progress)
    except beams.NeverMetError as error:
        click.echo(f"bentpipe: {error}", err=True)
        sys.exit(DEFECT)
    click.echo(printing.as_json(result)) if as_json else printing.show_found(result)
