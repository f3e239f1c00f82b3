"""Citations: `cite`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli.root import FILE, cli, json_option

if TYPE_CHECKING:
    from pathlib import Path


@cli.command()
@click.argument("file", type=FILE)
@click.option("--methods", is_flag=True, help="Print only the methods paragraph, as LaTeX.")
@json_option
def cite(file: Path, methods: bool, as_json: bool) -> None:
    """Print BibTeX of Bentpipe and of everything that FILE uses, and a methods paragraph.

    FILE is a scenario, a study, or a folder of results: of `run`, `study`, `compare`, `evaluate` or
    `papers run` with --out. The paragraph has version, seeds, replications and intervals.
    """
    from bentpipe.cite.command import print_citations

    print_citations(file, as_json, methods)
