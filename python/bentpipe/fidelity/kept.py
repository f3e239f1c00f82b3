"""Kernel runs in a folder, so that a changed simulator is compared without real time.

A run is found by its scenario, with the content of the files that it names, its seed and the
release of the kernel. The version of Bentpipe is not part of that: after a change of the testbed
or of the controllers for the kernel, the folder must be deleted.
"""

from __future__ import annotations

import hashlib
import json
import platform
from typing import TYPE_CHECKING

from bentpipe import _native
from bentpipe.study.scenarios import Base

if TYPE_CHECKING:
    from pathlib import Path


class KeptRuns:
    """Recordings of kernel runs below `folder`; without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def has(self, scenario: _native.Scenario, seed: int) -> bool:
        """Returns true if the run is kept."""
        return self.folder is not None and (self.folder / _key(scenario, seed)).exists()

    def run(self, scenario: _native.Scenario, seed: int, attempts: int = 1) -> _native.Recording:
        """The kept run, or a new one, which is kept if it is valid.

        A run that is not valid is repeated, so that there are at most `attempts`.
        """
        if self.folder is not None and self.has(scenario, seed):
            return _native.Recording.load(self.folder / _key(scenario, seed))
        for _ in range(attempts):
            recording = _native.run_on_kernel(scenario, seed=seed)
            if recording.kernel is not None and recording.kernel.valid:
                if self.folder is not None:
                    _native.OutputFolder(self.folder / _key(scenario, seed)).save(
                        recording, scenario
                    )
                break
        return recording


def _key(scenario: _native.Scenario, seed: int) -> str:
    contents = {
        name: hashlib.sha256(content).hexdigest()
        for name, content in Base.made(scenario).files.items()
    }
    written = json.dumps([platform.release(), seed, contents], sort_keys=True)
    return hashlib.sha256(written.encode()).hexdigest()[:32]
