"""Several studies with one summary: their folder, and running them in turn."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from bentpipe.console import late_progress
from bentpipe.errors import OutputError
from bentpipe.reproductions.command import writable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from bentpipe.study import Results, Study

Progress: TypeAlias = "Callable[[int], object]"
"""A function that is called with the number of finished runs."""
LATE: Literal["late"] = "late"
"""A progress bar on stderr instead of a function."""
PAGES = ("report.html", "sheet.pdf")
"""The files that `bentpipe report` writes into the folder."""


def taken(folder: Path, name: str, studies: Collection[str], plan: Mapping[str, Any]) -> Path:
    """Create the folder for `studies`, the files `name`.json and `name`.md, and their report.

    `OutputError` if the folder has other files, or a summary with other values of `plan`. Results
    of another comparison are never overwritten. Each study checks its own folder.
    """
    own = {f"{name}.json", f"{name}.md", *PAGES, *studies}
    if folder.is_dir():
        foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in own)
        if foreign:
            raise OutputError(
                f"{folder} has another file, {foreign[0]}; expected a folder of"
                f" `bentpipe {name}`, or an empty or new one"
            )
        if (folder / f"{name}.json").exists():
            check(folder / f"{name}.json", plan)
    return writable(folder)


def check(summary: Path, plan: Mapping[str, Any]) -> None:
    """Reject a summary of another plan."""
    try:
        found = json.loads(summary.read_text(encoding="utf-8"))
        differing = [key for key, value in plan.items() if found[key] != value]
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputError(f"{summary} cannot be read; choose another folder") from None
    if differing:
        key = differing[0]
        raise OutputError(
            f"{summary.parent} has results of another command: expected {key} ="
            f" {json.dumps(plan[key])}, found {json.dumps(found[key])}; choose another folder"
        )


def run_in_turn(
    title: str,
    studies: Mapping[str, Study],
    folder: Path | None,
    workers: int | None,
    progress: Progress | Literal["late"] | None = None,
) -> list[Results]:
    """Run studies, each in its own folder below `folder`.

    `progress` is called with the number of finished runs; `LATE` is one progress bar for all. After
    Ctrl-C, return the results of the studies that are complete.
    """
    found: list[Results] = []
    before = 0
    total = sum(study.most_runs for study in studies.values())
    bar = late_progress(title, total, unit="runs") if progress == LATE else nullcontext(progress)
    with bar as called:
        for name, study in studies.items():
            place = folder / name if folder else None
            results = study.run(out=place, workers=workers, progress=after(before, called))
            if not results.complete:
                break
            found.append(results)
            before += study.most_runs
    return found


def after(before: int, progress: Progress | None) -> Callable[[int], object] | None:
    """A progress callback for one study that adds the runs `before` it."""
    return None if progress is None else lambda done: progress(before + done)
