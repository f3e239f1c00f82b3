"""Captures of other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli.root import FILE, cli, json_option, sets_option

if TYPE_CHECKING:
    from pathlib import Path


@cli.command()
@click.argument("file", type=FILE)
@click.option(
    "--beside",
    type=FILE,
    metavar="OTHER",
    help="Also show the largest connection of a scenario, which is run, of the folder of a run with"
    " --pcap, or of another capture.",
)
@sets_option
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Seed of the run of the scenario.")
@click.option(
    "--connection",
    "numbers",
    type=click.IntRange(1),
    multiple=True,
    metavar="NUMBER",
    help="Show this connection only; several are possible.",
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Number of connections that are shown: those with most data.",
)
@click.option("--out", type=FILE, metavar="FILE.html", help="Write a page with figures.")
@click.option("--figures", type=FILE, metavar="DIR", help="Write the figures as SVG, PDF and PNG.")
@json_option
def capture(
    file: Path,
    beside: Path | None,
    sets: tuple[str, ...],
    seed: int | None,
    numbers: tuple[int, ...],
    top: int,
    out: Path | None,
    figures: Path | None,
    as_json: bool,
) -> None:
    """Show the TCP connections of the capture FILE (.pcapng or .pcap, also .gz).

    RTT, retransmissions, order, stalls and windows, as Wireshark and tcptrace define them.
    """
    from bentpipe.cli.captured import print_capture

    print_capture(
        file,
        beside=beside,
        sets=sets,
        seed=seed,
        numbers=numbers,
        top=top,
        out=out,
        figures=figures,
        as_json=as_json,
    )
