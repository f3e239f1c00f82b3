"""The command `bentpipe report`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bentpipe.errors import BentpipeError, OutputError
from bentpipe.plots import FORMATS, save_figures
from bentpipe.report.render import GENERATOR, html
from bentpipe.report.source import recognise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.report.page import Page
    from bentpipe.report.source import Source

MANIFEST = "figures.json"
"""Lists the files that an earlier report wrote into a folder of figures, and so may replace."""

HEAD_BYTES = 400


def write_report(folders: Sequence[Path], out: Path | None, figures: Path | None) -> None:
    """Write the page of a folder, or of several runs, and print its name.

    Also write the figures if `figures` is set. Raises `BentpipeError` for a folder of another kind,
    and `OutputError` if a file of another program would be replaced. Both are checked before
    anything is written.
    """
    sources = [recognise(folder) for folder in folders]
    others = [source for source in sources if source.kind != "run"]
    if len(sources) > 1 and others:
        raise BentpipeError(
            f"{others[0].folder}: several folders must be runs, of `bentpipe run --out`; this is "
            f"a folder of `bentpipe {others[0].kind}`"
        )
    out = out or (folders[0] / "report.html" if len(folders) == 1 else Path("report.html"))
    check_page(out)
    page = page_of(sources[0]) if len(sources) == 1 else several(folders)
    names = [f"{figure.name}.{ending}" for figure in page.figures for ending in FORMATS]
    if figures:
        check_figures(figures, names)
    text = html(page)
    try:
        if figures:
            figures.mkdir(parents=True, exist_ok=True)
            manifest = {"generator": "bentpipe report", "files": names}
            (figures / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
            save_figures(page.figures, figures)
        replace(out, text)
    except OSError as error:
        raise OutputError(f"cannot write {error.filename or out}: {error.strerror}") from error
    click.echo(f"{out}: {len(page.figures)} figures, {len(text.encode()) / 1e6:.1f} MB")
    if figures:
        click.echo(f"{figures}: {len(names)} files")


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
        from bentpipe.report.reproductions import reproductions_page

        return reproductions_page(source.reproductions)
    except KeyError as error:
        reason = f"{error.args[0]!r} is missing in its files"
        raise BentpipeError(f"{source.folder} is no {source.kind} folder: {reason}") from error


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
        own = set(json.loads((folder / MANIFEST).read_text())["files"])
    except (OSError, ValueError, KeyError, TypeError):
        own = set()
    foreign = [name for name in names if name not in own and (folder / name).exists()]
    if foreign:
        raise OutputError(f"{folder / foreign[0]} was not written by a report; it was not changed")


def replace(path: Path, text: str) -> None:
    """Write a temporary file in the same folder, and rename it when it is complete."""
    # A name of its own: two reports of one folder do not mix.
    beside = path.with_name(f".bentpipe-report-{os.getpid()}-{path.name}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
