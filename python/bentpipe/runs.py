"""Runs of a scenario with a seed, with totals and series as data frames.

import bentpipe as bp

run = bp.run(bp.Scenario.load("examples/geo-download.toml"), seed=1)
print(run.flows["completion_s"][0])
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from bentpipe import _native
from bentpipe.errors import InputError, Interrupted, RecordingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike

    import polars as pl

    from bentpipe._native import Controller, KernelQuality, Recording, Scenario, Settings
    from bentpipe.plots import Plots

Backend = Literal["simulator", "kernel"]


class Run:
    """Results of one run, as data frames and figures.

    Two runs are equal if everything that scenario and seed determine is equal. The wall time does
    not count.

    Columns of all frames end in their unit (`_s`, `_ms`, `_bytes`, `_bps`). docs/recording.md
    defines them. The frames of series are views of the memory of the run, not copies.
    """

    def __init__(self, recording: Recording, scenario: Scenario | Path) -> None:
        """Wrap a recording with its scenario, or with the file that holds it."""
        self.recording = recording
        self._scenario = scenario

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario that ran; `ScenarioError` if it was saved and this version rejects it."""
        if isinstance(self._scenario, Path):
            return _native.Scenario.load(self._scenario)
        return self._scenario

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self.recording.scenario

    @property
    def backend(self) -> str:
        """Backend of the run: `simulator` or `kernel`."""
        return self.recording.backend

    @property
    def bed(self) -> str:
        """The earlier name of `backend`."""
        return self.backend

    @property
    def seed(self) -> int:
        """Seed of all random numbers."""
        return self.recording.seed

    @property
    def version(self) -> str:
        """Version of Bentpipe that ran it."""
        return self.recording.version

    @property
    def wall_s(self) -> float:
        """Wall time of the run in seconds."""
        return self.recording.wall_s

    @property
    def simulated_s(self) -> float:
        """Simulated time in seconds."""
        return self.recording.simulated_s

    @property
    def events(self) -> int:
        """Number of events: packet arrivals and timers."""
        return self.recording.events

    @property
    def partial(self) -> bool:
        """True if the run was interrupted before its end."""
        return self.recording.partial

    @property
    def jain_index(self) -> float | None:
        """Jain's fairness index of the goodputs, from 1/n (one flow gets all) to 1 (equal shares).

        None if no flow delivered data. Source: Jain, Chiu, Hawe, DEC-TR-301 (1984).
        """
        return self.recording.jain_index

    @property
    def kernel(self) -> KernelQuality | None:
        """Accuracy of the kernel's emulation, and the settings as applied (docs/kernel.md).

        None for runs of the simulator.
        """
        return self.recording.kernel

    @cached_property
    def flows(self) -> pl.DataFrame:
        """Totals, one row for each flow in the order of the scenario.

        `completion_s` is null for flows that did not complete, `srtt_ms` if no RTT was measured.
        """
        return self.recording.table("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """Totals, one row for each direction of each link, and for routers with limits."""
        return self.recording.table("links")

    @cached_property
    def pages(self) -> pl.DataFrame:
        """One row for each web page; `flow` is its row in `flows`. Empty without web traffic."""
        return self.recording.table("pages")

    @cached_property
    def objects(self) -> pl.DataFrame:
        """One row for each object of a page; `flow` and `page` as in `pages`."""
        return self.recording.table("objects")

    @cached_property
    def flow_series(self) -> pl.DataFrame:
        """Series of the senders, one row for each flow and time `t_s`. `flow` is a row of `flows`.

        Empty, but with its columns, unless the scenario sets `record.interval` or `record.events`.
        """
        return self.recording.table("flow_series")

    @cached_property
    def link_series(self) -> pl.DataFrame:
        """Series of the links, one row for each direction and time. `link` is a row of `links`."""
        return self.recording.table("link_series")

    @property
    def tables(self) -> list[str]:
        """Names of all tables, for `table`: the ones above, and those of middleboxes and events."""
        return self.recording.names

    def table(self, name: str) -> pl.DataFrame:
        """A table by its name; `KeyError` when there is none."""
        return self.recording.table(name)

    @property
    def series(self) -> pl.DataFrame:
        """The series of the flows: `flow_series`."""
        return self.flow_series

    @property
    def plot(self) -> Plots:
        """Figures: `run.plot.cwnd()`, `.goodput()`, `.rtt()`, `.queue()`."""
        from bentpipe.plots import Plots

        return Plots(self)

    def to_dict(self) -> dict[str, Any]:
        """The totals as `bentpipe run --json` prints them."""
        return self.recording.to_dict()

    def digest(self) -> str:
        """SHA-256 of totals and series, without wall time and version. Equal for equal runs."""
        return self.recording.digest()

    def save(self, folder: str | PathLike[str], *, force: bool = False) -> None:
        """Write a folder like that of `bentpipe run --out`, which `bentpipe.load` reads.

        It includes `scenario.toml`, which gives the same result again, with copies of the files
        that it names. An earlier recording in the folder is replaced. `OutputError` if the folder
        has other files, unless `force` is set; then those files are left unchanged.
        """
        _native.OutputFolder(folder, force=force).save(self.recording, self.scenario)

    def __eq__(self, other: object) -> bool:
        return self.digest() == other.digest() if isinstance(other, Run) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest())

    def __repr__(self) -> str:
        partial = ", partial" if self.partial else ""
        flows = len(self.recording.flows)
        return f"<Run of {self.name!r}, seed {self.seed}, {self.backend}, {flows} flows{partial}>"


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    backend: Backend | None = None,
    progress: Callable[[float], object] | None = None,
    controllers: Mapping[str, Callable[[Settings], Controller]] | None = None,
    bed: Backend | None = None,
) -> Run:
    """Run a scenario.

    `seed` is by default that of the scenario. `backend` is by default the simulator. The kernel
    backend is the TCP of this machine in real time, which requires root. `KernelError` names what
    the machine or the scenario lacks. `bed` is the earlier name of `backend`. `progress` is called
    with the fraction that is done. An exception in it ends the run.

    `controllers` maps names of flows to controllers in Python: classes, or functions that create
    controllers (docs/python-controllers.md). Only the simulator supports them. The name of an entry
    with `count` applies to all its copies, `*` to every flow that is not named. `ControllerError`
    if a controller violates the interface or a flow does not exist.

    Other threads can run Python meanwhile. Ctrl-C raises `Interrupted`, whose attribute `run` is
    the partial run.
    """
    if backend is not None and bed is not None:
        raise InputError.of_value("backend", "one of backend and bed", "both")
    chosen = backend or bed or "simulator"
    if chosen not in get_args(Backend):
        raise InputError.of_value("backend", "'simulator' or 'kernel'", repr(chosen))
    run_on = _native.run_on_kernel if chosen == "kernel" else _native.run
    try:
        recording = run_on(scenario, seed=seed, progress=progress, controllers=controllers)
    except Interrupted as interrupted:
        for stopped in interrupted.recordings:
            if stopped is not None:
                interrupted.run = Run(stopped, scenario)
                interrupted.runs = [interrupted.run]
        raise
    return Run(recording, scenario)


def run_many(
    jobs: Iterable[tuple[Scenario, int | None]],
    *,
    workers: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Run]:
    """Run jobs of scenario and seed in the simulator, by default on all cores.

    A seed of None is the scenario's own. The runs come in the order of the jobs and do not depend
    on `workers`. `progress` is called with the number of finished jobs; an exception in it ends
    the runs. Ctrl-C raises `Interrupted`, whose `runs` has for each job its run or None.
    """
    jobs = list(jobs)
    try:
        recordings = _native.run_many(jobs, workers=workers, progress=progress)
    except Interrupted as interrupted:
        interrupted.runs = [
            None if recording is None else Run(recording, scenario)
            for (scenario, _), recording in zip(jobs, interrupted.recordings, strict=True)
        ]
        raise
    return [
        Run(recording, scenario) for (scenario, _), recording in zip(jobs, recordings, strict=True)
    ]


def load(folder: str | PathLike[str]) -> Run:
    """Load a run that `Run.save` or `bentpipe run --out` wrote. It is equal to the saved run.

    Raises `RecordingError` with file and line if the folder has no recording or cannot be read.
    """
    recording = _native.Recording.load(folder)
    scenario = Path(folder) / "scenario.toml"
    if not scenario.is_file():
        message = f"{folder}: expected a recording with its scenario, found no scenario.toml"
        raise RecordingError(message, str(folder))
    return Run(recording, scenario)
