"""Several studies with one summary: their folder, and running them in turn."""

from __future__ import annotations

import json
import textwrap
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from bentpipe.console import few, late_progress
from bentpipe.errors import InputError, OutputError
from bentpipe.folders import writable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from bentpipe.study import Results, Study

Progress: TypeAlias = "Callable[[int], object]"
"""A function that is called with the number of finished runs."""
LATE: Literal["late"] = "late"
"""A progress bar on stderr instead of a function."""
STUDY = "study.json"
"""A file of each folder of a study."""
WIDTH = 80
"""Columns of a message."""
MOST_SHOWN = 30
"""Characters of a value in a message; a longer one, such as a digest, says nothing."""
PAGES = ("report.html", "sheet.pdf")
"""The files that `bentpipe report` writes into the folder."""


def taken(folder: Path, name: str, studies: Collection[str], plan: Mapping[str, Any]) -> Path:
    """Create the folder for `studies`, the files `name`.json and `name`.md, and their report.

    `OutputError` if the folder has other files, or a summary with other values of `plan`. Results
    of another comparison are never overwritten. Each study checks its own folder.
    """
    own = {f"{name}.json", f"{name}.md", *PAGES, *studies}
    if folder.is_dir():
        is_kept = (folder / f"{name}.json").exists()
        if is_kept:
            check(folder / f"{name}.json", plan)
        foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in own)
        others = [one for one in foreign if is_kept and (folder / one / STUDY).exists()]
        files = [one for one in foreign if one not in others]
        if files:
            raise OutputError(
                f"{folder} has another file, {files[0]}; expected a folder of"
                f" `bentpipe {name}`, or an empty or new one"
            )
        if others:
            workload = "another workload" if len(others) == 1 else "other workloads"
            raise OutputError(
                f"{folder} has results of {workload}: {few(others)}; choose another folder"
            )
    return writable(folder)


def check(summary: Path, plan: Mapping[str, Any]) -> None:
    """Reject a summary of another plan."""
    try:
        found = json.loads(summary.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise OutputError(f"{summary} cannot be read; choose another folder")
    lines = [
        f"{key}: {difference(value, found.get(key))}"
        for key, value in plan.items()
        if found.get(key) != value
    ]
    if lines:
        head = f"{summary.parent} has results of another command; choose another folder"
        indented = (
            textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="    ",
                          break_long_words=False, break_on_hyphens=False)
            for line in lines
        )  # fmt: skip
        raise OutputError("\n".join([head, *indented]))


def difference(expected: object, found: object) -> str:
    """The difference of two values of a plan in words; of lists, only what one of them lacks."""
    if isinstance(expected, list) and isinstance(found, list):
        return "; ".join(differences({name_of(one): one for one in expected},
                                     {name_of(one): one for one in found}))  # fmt: skip
    texts = [json.dumps(value, ensure_ascii=False) for value in (expected, found)]
    if max(map(len, texts)) > MOST_SHOWN:
        return "not the same"
    return f"expected {texts[0]}, found {texts[1]}"


def differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """What one of two lists lacks, what is different in both, or that only their order is."""
    missing = [name for name in expected if name not in found]
    others = [name for name in found if name not in expected]
    changed = [name for name, value in expected.items() if found.get(name, value) != value]
    for words, names in (
        ("the folder lacks", missing),
        ("the folder also has", others),
        ("other settings of", changed),
    ):
        if names:
            yield f"{words} {few(names)}"
    if not missing and not others and not changed:
        yield "the folder has them in another order"


def name_of(entry: object) -> str:
    """The name of an entry of a list: of a candidate, an item or a workload."""
    return str(entry.get("name", entry) if isinstance(entry, dict) else entry)


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
    if progress not in (None, LATE) and not callable(progress):
        raise InputError.of_value("progress", "something that can be called", repr(progress))
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
