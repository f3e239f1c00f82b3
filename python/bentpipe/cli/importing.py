"""Scenarios from files of other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli.root import FILE, cli, refuse

if TYPE_CHECKING:
    from pathlib import Path


@cli.group(name="import")
def import_() -> None:
    """Write a scenario from files of other tools."""


@import_.command()
@click.argument("file", type=FILE)
@click.option("--out", type=FILE, metavar="FILE", help="File to write; by default stdout.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def netem(file: Path, out: Path | None, force: bool) -> None:
    """Translate a script of `tc` lines (netem, tbf, codel, fq_codel, pie, pfifo, bfifo).

    The first device is the forward direction of a link, the second the other one. What has no
    translation is listed on stderr and at the head of the file, with what comes nearest.
    """
    from bentpipe.netem import read

    found = read(file)
    for remark in found.remarks:
        click.echo(f"not the same: {remark}", err=True)
    if out is None:
        click.echo(found.toml, nl=False)
    elif out.exists() and not force:
        refuse(f"{out}: exists; --force replaces it")
    else:
        out.write_text(found.toml, encoding="utf-8")
        click.echo(f"{out} written")
