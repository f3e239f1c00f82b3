"""The command `bentpipe report`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bentpipe.console import late_progress
from bentpipe.errors import BentpipeError, OutputError
from bentpipe.plots import FORMATS, save_figures
from bentpipe.report.render import GENERATOR, html
from bentpipe.report.sheet import MARK
from bentpipe.report.source import recognise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.report.page import Page
    from bentpipe.report.source import Source

MANIFEST = "figures.json"
"""Lists the files that an earlier report wrote into a folder of figures, and so may replace."""

SHEET = "sheet.pdf"
"""Name of a sheet in the folder of its results."""

DEFAULT = Path()
"""Stands for the default name of a sheet."""

HEAD_BYTES = 400


def write_report(
    folders: Sequence[Path],
    out: Path | None,
    figures: Path | None,
    sheet: Path | None = None,
) -> None:
    """Write the page of a folder, or of several runs, and print its name.

    Also write the figures if `figures` is set. With `sheet`, write that PDF, and a page only if
    `out` or `figures` is set. Raises `BentpipeError` for a folder of another kind, and
    `OutputError` if a file of another program would be replaced. Both are checked before anything
    is written.
    """
    sources = [recognise(folder) for folder in folders]
    others = [source for source in sources if source.kind != "run"]
    if len(sources) > 1 and others:
        raise BentpipeError(
            f"{others[0].folder}: several folders must be runs, of `bentpipe run --out`; this is "
            f"a folder of `bentpipe {others[0].kind}`"
        )
    if sheet is None or figures:
        out = out or (folders[0] / "report.html" if len(folders) == 1 else Path("report.html"))
    if out:
        check_page(out)
    if sheet:
        sheet = folders[0] / SHEET if sheet == DEFAULT and len(folders) == 1 else sheet
        sheet = Path(SHEET) if sheet == DEFAULT else sheet
        check_sheet(sheet)
    with late_progress("page", None):
        page = page_of(sources[0]) if len(sources) == 1 else several(folders)
    if sheet:
        write_sheet(page, sheet)
    if out:
        write_page(page, out, figures)


def write_sheet(page: Page, path: Path) -> None:
    """Write the first screen of a page as a PDF of one sheet, and print its name."""
    from bentpipe.report import sheet

    if page.first and not page.first.blocks:
        raise BentpipeError(
            f"{path.parent}: no results for a sheet yet. {' '.join(page.first.answer.values())} "
            "The same command with --out continues."
        )
    with late_progress("sheet", None):
        pdf = sheet.sheet(page)
    try:
        replace(path, pdf)
    except OSError as error:
        raise OutputError(f"cannot write {error.filename or path}: {error.strerror}") from error
    click.echo(f"{path}: one sheet of A4, {len(pdf) / 1e3:.0f} kB")


def write_page(page: Page, out: Path | None, figures: Path | None, *, err: bool = False) -> None:
    """Write a page and its figures where they are named, and print these names, or on stderr.

    `OutputError` if a file of another program would be replaced, before anything is written.
    """
    names = [f"{figure.name}.{ending}" for figure in page.figures for ending in FORMATS]
    if out:
        check_page(out)
    if figures:
        check_figures(figures, names)
    try:
        with late_progress("figures", None):
            text = html(page) if out else ""
            if figures:
                figures.mkdir(parents=True, exist_ok=True)
                manifest = {"generator": "bentpipe report", "files": names}
                (figures / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
                save_figures(page.figures, figures)
        if out:
            replace(out, text)
    except OSError as error:
        raise OutputError(f"cannot write {error.filename or out}: {error.strerror}") from error
    if out:
        click.echo(
            f"{out}: {len(page.figures)} figures, {len(text.encode()) / 1e6:.1f} MB", err=err
        )
    if figures:
        click.echo(f"{figures}: {len(names)} files", err=err)


def several(folders: Sequence[Path]) -> Page:
    """The page of several runs."""
    from bentpipe.report.several import several_page

    return several_page(folders)


def page_of(source: Source) -> Page:
    """The page for a recognised folder."""
    try:
        if source.kind == "run":
            from bentpipe.report.run import run_page

            return run_page(source.folder)
        if source.kind == "study":
            from bentpipe.report.study import study_page

            return study_page(source.folder)
        if source.kind == "compare":
            from bentpipe.report.compare import compare_page

            return compare_page(source.folder)
        if source.kind == "evaluate":
            from bentpipe.report.evaluate import evaluate_page

            return evaluate_page(source.folder)
        if source.kind == "experience":
            from bentpipe.report.experience import experience_page

            return experience_page(source.folder)
        from bentpipe.report.reproductions import reproductions_page

        return reproductions_page(source.reproductions)
    except KeyError as error:
        reason = f"{error.args[0]!r} is missing in its files"
        raise BentpipeError(f"{source.folder} is no {source.kind} folder: {reason}") from error


def check_sheet(path: Path) -> None:
    """Refuse to replace a file that is not a sheet of Bentpipe."""
    if path.is_dir() or path.suffix.lower() != ".pdf":
        what = "is a folder" if path.is_dir() else "is no name of a PDF"
        raise OutputError(f"{path} {what}; expected FILE.pdf for --sheet")
    if not path.parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no folder {path.parent}")
    try:
        is_own = not path.exists() or path.read_bytes().endswith(MARK)
    except OSError as error:
        raise OutputError(f"cannot read {path}: {error.strerror}") from error
    if not is_own:
        raise OutputError(f"{path} is not a sheet of Bentpipe; it was not changed")


def check_page(path: Path) -> None:
    """Refuse to replace a file that is not a report of Bentpipe."""
    if path.is_dir() or path.suffix.lower() not in (".html", ".htm"):
        what = "is a folder" if path.is_dir() else "is no name of a page"
        raise OutputError(
            f"{path} {what}; expected FILE.html for --out, and a folder for --figures"
        )
    if not path.parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no folder {path.parent}")
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise OutputError(f"cannot read {path}: {error.strerror}") from error
    if GENERATOR.encode() not in head:
        raise OutputError(f"{path} is not a report of Bentpipe; it was not changed")


def check_figures(folder: Path, names: list[str]) -> None:
    """Refuse to replace files that no report wrote."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is not a folder")
    try:
        own = set(json.loads((folder / MANIFEST).read_text("utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        own = set()
    foreign = [name for name in names if name not in own and (folder / name).exists()]
    if foreign:
        raise OutputError(f"{folder / foreign[0]} was not written by a report; it was not changed")


def replace(path: Path, content: str | bytes) -> None:
    """Write a temporary file in the same folder, and rename it when it is complete."""
    # A name of its own: two reports of one folder do not mix.
    beside = path.with_name(f".bentpipe-report-{os.getpid()}-{path.name}")
    try:
        beside.write_bytes(content if isinstance(content, bytes) else content.encode())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
