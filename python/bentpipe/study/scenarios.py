"""Base scenarios with the files that they refer to, so that they can be saved and sent."""

from __future__ import annotations

import shutil
import tempfile
import tomllib
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from bentpipe._native import Scenario, scenario_files
from bentpipe.errors import StudyError

AnyScenario: TypeAlias = "Base | Scenario | str | Path"


class Unpacked:
    """A temporary folder that is deleted with this object."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="bentpipe-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class Base:
    """A scenario that variants override. `files` lists the files that it needs, itself first.

    `written` is its name in the study file.
    """

    path: Path
    files: dict[str, bytes]
    written: str = ""
    folder: Unpacked | None = field(default=None, compare=False, repr=False)

    @classmethod
    def read(cls, path: Path, written: str = "") -> Base:
        """The scenario file and, if it can be read, the files that it refers to."""
        try:
            content = path.read_bytes()
            text = content.decode()
            tomllib.loads(text)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            Scenario.load(path)  # raises the error with its place
            raise
        files = {path.name: content}
        for name in scenario_files(text, path.parent):
            named = path.parent / name
            if named.is_file():
                files[name] = named.read_bytes()
        return cls(path, files, written)

    @classmethod
    def of(cls, text: str, name: str = "scenario.toml") -> Base:
        """A scenario that a program created, as TOML."""
        return cls.unpack({name: text.encode()})

    @classmethod
    def made(cls, scenario: Scenario) -> Base:
        """A scenario that a program created, with the files that it names."""
        text, named = scenario.to_toml_with_files()
        files = {name: path.read_bytes() for name, path in named}
        return cls.unpack({"scenario.toml": text.encode()} | files)

    @classmethod
    def from_any(cls, scenario: AnyScenario) -> Base:
        """A scenario of a program or of a file; `StudyError` for other values."""
        if isinstance(scenario, Base):
            return scenario
        if isinstance(scenario, Scenario):
            return cls.made(scenario)
        if isinstance(scenario, str | Path):
            return cls.read(Path(scenario))
        expected = "a Scenario or the name of a file"
        raise StudyError.of_value("scenario", expected, repr(scenario))

    @classmethod
    def unpack(cls, files: dict[str, bytes]) -> Base:
        """The same files in a new folder, which is deleted with the object."""
        folder = Unpacked()
        write(files, folder.path)
        return cls(folder.path / next(iter(files)), files, folder=folder)

    def with_indices(self, path: str) -> str:
        """The path of an override with the index of an entry in place of its name."""
        table, _, rest = path.partition(".")
        name, dot, key = rest.partition(".")
        if name.isdecimal():
            return path
        entries = tomllib.loads(next(iter(self.files.values())).decode()).get(table)
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict) and name in entry_names(entry, number, table):
                return f"{table}.{number}{dot}{key}"
        return path

    def load(self, sets: tuple[str, ...] = ()) -> Scenario:
        """The scenario with overrides, or `ScenarioError`."""
        return Scenario.load(self.path, sets)


def entry_names(entry: dict[str, Any], number: int, table: str) -> set[str]:
    """Names of a node, a flow, a mix or a link in paths of overrides."""
    if isinstance(ends := entry.get("between"), list):
        names = [str(end) for end in ends]
        return {"-".join(names), "-".join(reversed(names))}
    return {str(entry.get("name", f"{table}-{number}"))}


def write(files: dict[str, bytes], folder: Path, main: str | None = None) -> None:
    """Write files below `folder`, the first of them under the name `main`."""
    for number, (name, content) in enumerate(files.items()):
        place = folder / (main if main and number == 0 else name)
        if not place.resolve().is_relative_to(folder.resolve()):
            raise StudyError(f"{name}: expected a file in the folder of the scenario or below it")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
