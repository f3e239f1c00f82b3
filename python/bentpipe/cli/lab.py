"""The command of the live page: `lab`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli.groups import WithSet
from bentpipe.cli.root import FILE, Completed, cli, sets_option

if TYPE_CHECKING:
    from pathlib import Path


@cli.command(cls=WithSet)
@click.argument("file", type=FILE, required=False)
@click.option(
    "--controllers",
    type=Completed("controllers"),
    metavar="A,B,...",
    help="Controllers to show, separated by commas; by default that of FILE, and usual ones.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of all random numbers.")
@sets_option
@click.option(
    "--port",
    type=click.IntRange(1, 65_535),
    help="Port of the page; by default the first free one from 8177.",
)
@click.option("--open", "browse", is_flag=True, help="Open the page in the browser.")
def lab(
    file: Path | None,
    controllers: str | None,
    seed: int | None,
    sets: tuple[str, ...],
    port: int | None,
    browse: bool,
) -> None:
    """Open a live page of the scenario FILE, or of a built-in link: sliders run it again.

    The page is for this machine only. Its address has a token. Ctrl-C ends it.
    """
    from bentpipe.lab.command import serve

    serve(file, sets, controllers, seed, port, browse)
