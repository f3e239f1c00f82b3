"""The reproductions of papers, and `report`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bentpipe.cli.root import FILE, Completed, cli, json_option, verbose_option
from bentpipe.signals import INTERRUPTED

if TYPE_CHECKING:
    from pathlib import Path


@cli.group()
def papers() -> None:
    """Reproduce published experiments, and compare published with measured values."""


@papers.command("list")
@click.argument("name", type=Completed("paper"), required=False, metavar="[NAME]")
@json_option
def list_papers(name: str | None, as_json: bool) -> None:
    """List the papers that can be reproduced, or the statements of the paper NAME.

    The ids of statements are those of `papers explain ID`.
    """
    from bentpipe.reproductions.command import print_list, print_statements

    if name is None:
        print_list(as_json)
    else:
        print_statements(name, as_json)


@papers.command("run")
@click.argument("names", type=Completed("paper"), nargs=-1, metavar="[NAME]...")
@click.option("--workers", type=click.IntRange(1), help="Threads; by default one per core.")
@click.option("--out", type=FILE, metavar="DIR", help="Write tables and plots to this folder.")
@click.option(
    "--full", is_flag=True, help="Run the larger set of `helpers`: 15 times as many runs."
)
@click.option(
    "--data", type=FILE, metavar="DIR", help="Folder with the measured files that `leo` reads."
)
@verbose_option
@json_option
def run_papers(
    names: tuple[str, ...],
    workers: int | None,
    out: Path | None,
    full: bool,
    data: Path | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Reproduce the papers NAME... (by default all) and compare each published value.

    --full with --out keeps finished runs in DIR/helpers/runs. After an interruption, the same
    command goes on there. Without --data, values that need a measured file are not measured.
    """
    from bentpipe.reproductions.command import run_and_print

    complete = run_and_print(names, workers, out, as_json, full, verbose, data)
    if not complete:
        sys.exit(INTERRUPTED)


@papers.command("explain")
@click.argument("statement", metavar="ID")
@click.option("--results", type=FILE, metavar="DIR", help="A folder of `papers run --out`.")
@json_option
def explain_paper(statement: str, results: Path | None, as_json: bool) -> None:
    """Explain one statement of a paper: source, reading, alternatives tried, runs and figure.

    ID is the id of a statement or of a row, such as ftp/rtt/baseline/250-ms, or PAPER:ID.
    `papers list PAPER` lists those of a paper.
    With --results, also show the values that those runs measured.
    """
    from bentpipe.reproductions.explaining import explain_and_print

    explain_and_print(statement, results, as_json)


@cli.command()
@click.argument("folders", type=FILE, metavar="DIR...", nargs=-1)
@click.option(
    "--out",
    type=FILE,
    metavar="FILE.html",
    help="File of the page; by default DIR/report.html, or report.html for several folders.",
)
@click.option("--figures", type=FILE, metavar="DIR", help="Write the figures as SVG, PDF and PNG.")
@click.option(
    "--sheet",
    type=FILE,
    metavar="[FILE.pdf]",
    is_flag=False,
    flag_value=".",
    help="Write the answer, figure and table on one sheet of A4; by default DIR/sheet.pdf.",
)
@click.pass_context
def report(
    context: click.Context,
    folders: tuple[Path, ...],
    out: Path | None,
    figures: Path | None,
    sheet: Path | None,
) -> None:
    """Write one HTML page about DIR, the --out folder of another command.

    For several folders of `bentpipe run`, the page shows all series in common figures.
    """
    from bentpipe.report.command import DEFAULT, write_report

    if sheet and sheet != DEFAULT and sheet.suffix != ".pdf" and sheet.is_dir():
        # `--sheet DIR` instead of `DIR --sheet`.
        folders, sheet = (sheet, *folders), DEFAULT
    if not folders:
        raise click.MissingParameter(ctx=context, param=context.command.params[0])
    write_report(folders, out, figures, sheet)
