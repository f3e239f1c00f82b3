"""The folder of `bentpipe compare --out` over a beam.

`runs.json` has the quantities of each run, by a digest of its scenario and by its seed. It is
written after each run, so an interrupted comparison continues. `compare.json` has the output of
`--json`, `compare.md` the rankings as tables, and `scenario` the scenario with its files.
"""

from __future__ import annotations

import json
from threading import Lock
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.compare.folder import taken
from bentpipe.errors import OutputError
from bentpipe.folders import unwritable
from bentpipe.seal import is_whole, sealed
from bentpipe.study.plan import hashed
from bentpipe.study.scenarios import Base, write
from bentpipe.study.store import as_json, save

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bentpipe._native import Scenario

RUNS = "runs.json"
SCENARIO = "scenario"
"""The folder of the scenario, whose main file is `scenario.toml`."""
Values = dict[str, float | None]
"""The quantities of a run; None for a value that is infinite."""


class Kept:
    """The runs of a comparison, in a folder or in memory only.

    Raises OutputError for a folder that cannot be written, or has files of another command or
    rankings of another comparison.
    """

    def __init__(
        self,
        folder: Path | None,
        plain: Scenario,
        variants: Mapping[str, Scenario],
        plan: Mapping[str, Any],
    ) -> None:
        self.folder = folder
        self.runs: dict[str, dict[str, Values]] = {}
        self.digests: dict[str, str] = {}
        self.lock = Lock()
        if folder is None:
            return
        taken(folder, "compare", [RUNS, SCENARIO], plan)
        self.digests = {name: digest_of(one, plan) for name, one in variants.items()}
        try:
            write(Base.made(plain).files, folder / SCENARIO, "scenario.toml")
        except OSError as error:
            raise unwritable(folder, error) from error
        if (folder / RUNS).exists():
            self.runs = read(folder / RUNS)

    def of(self, name: str, seed: int) -> Values | None:
        """The values of an earlier run of a candidate; None if it has to run."""
        return self.runs.get(self.digests.get(name, ""), {}).get(str(seed))

    def add(self, name: str, seed: int, values: Values) -> None:
        """Keep the values of a run."""
        if self.folder is None:
            return
        with self.lock:
            self.runs.setdefault(self.digests[name], {})[str(seed)] = values
            save(self.folder / RUNS, as_json(sealed({"runs": self.runs})))

    def finish(self, summary: Mapping[str, Any], markdown: str) -> None:
        """Write the rankings."""
        if self.folder is not None:
            save(self.folder / "compare.json", as_json(summary))
            save(self.folder / "compare.md", markdown.encode())


def digest_of(scenario: Scenario, plan: Mapping[str, Any]) -> str:
    """A digest of all that determines the values of a run, but the seed."""
    version = f"{_native.version()}\n{plan['group']}".encode()
    return hashed({"": version} | Base.made(scenario).files)


def read(path: Path) -> dict[str, dict[str, Values]]:
    """The runs of an earlier command; `OutputError` for a damaged file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        runs: dict[str, dict[str, Values]] = found["runs"]
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputError(f"{path} cannot be read; choose another folder") from None
    if not is_whole(found):
        raise OutputError(f"{path} is damaged, or was changed; remove it, or choose another folder")
    return runs
