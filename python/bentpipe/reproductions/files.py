"""Measured files of others that a reproduction reads from a folder which the user names.

`published.toml` lists them under `[files]`, each with its source. None of them is part of the
package. Rows that need a file are not measured without the folder, and say which file is missing.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PACKED = ".gz"


@dataclass(frozen=True)
class Files:
    """The files of a reproduction. `sources` has the source of each name.

    `folder` is that of the user, or None without one. A file in it may be compressed with gzip, and
    then `.gz` is added to its name.
    """

    sources: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None

    def path(self, name: str) -> Path:
        """The path of a file; `FileNotFoundError` without the folder or the file."""
        _ = self.sources[name]
        if self.folder is not None:
            for path in (self.folder / name, self.folder / f"{name}{PACKED}"):
                if path.is_file():
                    return path
        raise FileNotFoundError(name)

    def text(self, name: str) -> str:
        """The content of a file; `FileNotFoundError` or `TraceError` if it cannot be read."""
        from bentpipe.traces.formats import content

        return content(self.path(name))

    def has(self, names: Iterable[str]) -> bool:
        """True if the folder has all these files."""
        return not self.missing(names)

    def missing(self, names: Iterable[str]) -> list[str]:
        """The names of those files that the folder does not have."""
        found = []
        for name in names:
            try:
                self.path(name)
            except FileNotFoundError:
                found.append(name)
        return found

    def note(self, names: Iterable[str]) -> str:
        """The reason of a row that was not measured because of these files."""
        return f"not measured: --data names no folder with {', '.join(self.missing(names))}"

    def in_folder(self, folder: Path) -> Files:
        """The same files in the folder of the user; `BentpipeError` unless it has all of them."""
        found = Files(self.sources, folder)
        if not folder.is_dir():
            raise BentpipeError(f"--data: expected a folder, found {folder}")
        for name in found.missing(self.sources):
            raise BentpipeError(
                f"--data: expected the file {folder / name}, or with {PACKED}, found none;"
                f" it is that of {self.sources[name]}"
            )
        return found

    @contextmanager
    def beside(self, scenarios: Path, names: Iterable[str]) -> Iterator[Path]:
        """A folder with copies of the scenarios and of these files, without compression.

        Without names, it is the folder of the scenarios itself.
        """
        wanted = sorted(set(names))
        if not wanted:
            yield scenarios
            return
        with TemporaryDirectory(prefix="bentpipe-") as made:
            folder = Path(made) / "scenarios"
            shutil.copytree(scenarios, folder)
            for name in wanted:
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_text(self.text(name), encoding="utf-8")
            yield folder
