"""Web pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli.root import FILE, cli, json_option

if TYPE_CHECKING:
    from pathlib import Path


@cli.group()
def page() -> None:
    """Make pages for `traffic.page` from what a browser has recorded."""


@page.command("import")
@click.argument("file", type=FILE)
@click.option("--out", type=FILE, help="Write the page to this file. Default: standard output.")
@json_option
def import_page(file: Path, out: Path | None, as_json: bool) -> None:
    """Write a page with the objects and dependencies of FILE, an HTTP archive (HAR 1.2).

    Developer tools of browsers save such files. A dependency is the initiator that the browser has
    noted. Where there is none, it is the document, script or style that had arrived last: the share
    of such guesses is printed.
    """
    from bentpipe.pages.command import convert

    convert(file, out, as_json)
