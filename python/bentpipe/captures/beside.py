"""Captures for a comparison: of a scenario, the recording of a run, or another capture."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe import OutputFolder, Scenario, _native
from bentpipe.captures.traces import Taken, read
from bentpipe.console import late_progress
from bentpipe.errors import CaptureError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CAPTURE = "capture.pcapng"
"""Name of the capture in the folder of a run."""


@contextmanager
def compared(path: Path, sets: Sequence[str], seed: int | None) -> Iterator[Taken]:
    """Yields the capture at `path`: of a scenario, which is run, of a folder, or the file itself.

    `InputError` if there is none, or if `sets` or `seed` are given without a scenario.
    """
    if path.suffix == ".toml":
        with tempfile.TemporaryDirectory(prefix="bentpipe-") as folder:
            yield simulated(path, sets, seed, Path(folder) / "run")
        return
    if sets or seed is not None:
        option = "--set" if sets else "--seed"
        raise InputError.of_value(option, "a scenario at --beside", str(path))
    if not path.is_dir():
        yield read(path, "other capture")
        return
    if not (path / CAPTURE).is_file():
        raise InputError.of_value(
            "--beside", f"a folder with {CAPTURE}, as `bentpipe run --pcap --out` writes it",
            f"{path} without it",
        )  # fmt: skip
    yield read(path / CAPTURE, "recording")


def simulated(path: Path, sets: Sequence[str], seed: int | None, folder: Path) -> Taken:
    """Run a scenario in the simulator, and read its capture."""
    scenario = Scenario.load(path, list(sets))
    output = OutputFolder(folder)
    with late_progress(scenario.name, 1.0) as progress:
        recording = _native.run(scenario, seed=seed, progress=progress, capture=output)
    output.save(recording, scenario)
    try:
        return read(folder / CAPTURE, "simulation")
    except CaptureError as error:
        reason = str(error).partition(": ")[2]
        raise InputError.of_value(
            "--beside", "a scenario with TCP", f"{path} ({reason})"
        ) from error
