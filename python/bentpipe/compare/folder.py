"""The folder of several studies with one summary: made, or found to be that of the same plan."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bentpipe.errors import OutputError
from bentpipe.papers.command import writable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

PAGE = "report.html"
"""What `bentpipe report` writes there."""


def taken(folder: Path, name: str, studies: Collection[str], plan: Mapping[str, Any]) -> Path:
    """Make the folder for `studies`, the files `name`.json and `name`.md, and a report of them.

    `OutputError` when it holds anything else, or a summary in which a value of `plan` is another:
    nothing of another comparison is overwritten. Each study sees to its own folder.
    """
    own = {f"{name}.json", f"{name}.md", PAGE, *studies}
    if folder.is_dir():
        foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in own)
        if foreign:
            raise OutputError(
                f"{folder} holds {foreign[0]}, which is not of this {name}; nothing was written"
            )
        if (folder / f"{name}.json").exists():
            check(folder / f"{name}.json", plan)
    return writable(folder)


def check(summary: Path, plan: Mapping[str, Any]) -> None:
    """Refuse a summary of another plan."""
    try:
        found = json.loads(summary.read_text(encoding="utf-8"))
        differing = [key for key, value in plan.items() if found[key] != value]
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputError(f"{summary} cannot be read; choose another folder") from None
    if differing:
        key = differing[0]
        raise OutputError(
            f"{summary.parent} holds another one: {key} is {json.dumps(found[key])} there,"
            f" {json.dumps(plan[key])} here; choose another folder"
        )
