"""Recognition of the kind of a folder, and reading of its files with clear errors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bentpipe.errors import BentpipeError
from bentpipe.seal import is_whole

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["run", "study", "papers", "compare", "evaluate", "experience"]

MARKS: dict[str, Kind] = {
    "study.json": "study",
    "recording.json": "run",
    "rows.json": "papers",
    "compare.json": "compare",
    "evaluate.json": "evaluate",
    "experience.json": "experience",
}
"""The file by which each kind of folder is recognised."""

EXPECTED = (
    "a folder that `bentpipe run`, `study`, `compare`, `evaluate`, `experience` or `papers run`"
    " wrote by --out"
)


@dataclass(frozen=True)
class Source:
    """A folder with its kind. `reproductions` lists those of papers: itself or folders in it."""

    kind: Kind
    folder: Path
    reproductions: tuple[Path, ...] = ()


def recognise(folder: Path) -> Source:
    """Recognise the kind of the folder; `BentpipeError` if it is of no known kind."""
    try:
        if not folder.is_dir():
            what = "is a file" if folder.exists() else "does not exist"
            raise BentpipeError(f"{folder} {what}; expected {EXPECTED}")
        for name, kind in MARKS.items():
            if (folder / name).is_file() or (kind == "run" and is_unsettled(folder)):
                return Source(kind, folder, (folder,) if kind == "papers" else ())
        inner = sorted(path for path in folder.iterdir() if path.is_dir())
        reproductions = tuple(path for path in inner if (path / "rows.json").is_file())
    except OSError as error:
        raise BentpipeError(f"cannot read {folder}: {error.strerror}") from error
    if reproductions:
        return Source("papers", folder, reproductions)
    within = [path for path in inner if any((path / name).is_file() for name in MARKS)]
    hint = f"; {within[0]} is one" if within else ""
    marks = ", ".join(MARKS)
    raise BentpipeError(f"{folder} holds none of {marks}: expected {EXPECTED}{hint}")


def is_unsettled(folder: Path) -> bool:
    """True if a run was killed while it moved its files to their places. Loading it goes on."""
    return any((folder / f".bentpipe-{state}").is_dir() for state in ("complete", "placing"))


def read_text(path: Path) -> str:
    """The text of a file."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BentpipeError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BentpipeError(f"cannot read {path}: it is no text in UTF-8") from error


def read_json(path: Path, *keys: str) -> dict[str, Any]:
    """The JSON object in a file. It must have `keys`."""
    try:
        content = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise BentpipeError(f"{path}:{error.lineno}: expected JSON, {error.msg}") from error
    if isinstance(content, dict) and not is_whole(content):
        raise BentpipeError(
            f"{path}: expected the content that its checksum was made of, found another: it is"
            " damaged, or was changed; the command that made it makes it again"
        )
    missing = [key for key in keys if not isinstance(content, dict) or key not in content]
    if missing:
        raise BentpipeError(f"{path}: expected an object with {missing[0]!r}, found none")
    found: dict[str, Any] = content
    return found
