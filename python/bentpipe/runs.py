"""Runs of a scenario with a seed, with totals and series as data frames.

import bentpipe as bp

run = bp.run(bp.Scenario.load("examples/geo-download.toml"), seed=1)
print(run.flows["completion_s"][0])
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from bentpipe import _native
from bentpipe.errors import ControllerError, InputError, Interrupted, RecordingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike

    import polars as pl

    from bentpipe._native import KernelQuality, Recording, Scenario
    from bentpipe.plots import Plots
    from bentpipe.prototypes import Maker

Controllers: TypeAlias = "Mapping[str, Maker | str]"
"""Controllers in Python by the names of flows: classes, or texts such as `mine.py:Mine`."""

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
    def seed(self) -> int:
        """Seed of all random numbers."""
        return self.recording.seed

    @property
    def version(self) -> str:
        """Version of Bentpipe that ran it."""
        return self.recording.version

    @property
    def wall_s(self) -> float:
        """Wall time of the run in seconds, or of the run that it is a copy of."""
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

    def to_pandas(self, table: str = "flows") -> Any:
        """A table by its name as a data frame of pandas; by default the totals of the flows.

        `KeyError` when there is no such table, `BentpipeError` if pandas is not installed.
        """
        from bentpipe.frames import to_pandas

        return to_pandas(self.table(table))

    def _repr_html_(self) -> str:
        from bentpipe.shown import run_html

        return run_html(self)

    def __repr__(self) -> str:
        partial = ", partial" if self.partial else ""
        flows = len(self.recording.flows)
        return f"<Run of {self.name!r}, seed {self.seed}, {self.backend}, {flows} flows{partial}>"


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    backend: Backend = "simulator",
    progress: Callable[[float], object] | None = None,
    controllers: Controllers | None = None,
) -> Run:
    """Run a scenario.

    `seed` is by default that of the scenario. The kernel backend is the TCP of this machine
    in real time, which requires root. `KernelError` names what the machine or the scenario lacks.
    `progress` is called with the fraction that is done. An exception in it ends the run.

    `controllers` maps names of flows to controllers in Python: classes, functions that create
    controllers, or texts such as `"mine.py:Mine"` (docs/python-controllers.md). Only the simulator
    supports them. The name of an entry with `count` applies to all its copies, `*` to every flow
    that is not named. `ControllerError` if a controller violates the interface or a flow does not
    exist.

    Other threads can run Python meanwhile. Ctrl-C raises `Interrupted`, whose attribute `run` is
    the partial run.
    """
    if backend not in get_args(Backend):
        raise InputError.of_value("backend", "'simulator' or 'kernel'", repr(backend))
    check_seed("seed", seed)
    run_on = _native.run_on_kernel if backend == "kernel" else _native.run
    try:
        makers = None if controllers is None else makers_of(controllers)
        recording = run_on(scenario, seed=seed, progress=progress, controllers=makers)
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
    controllers: Controllers | None = None,
) -> list[Run]:
    """Run jobs of scenario and seed in the simulator, by default on all cores.

    A seed of None is the scenario's own. The runs come in the order of the jobs and do not depend
    on `workers`. `progress` is called with the number of finished jobs; an exception in it ends
    the runs. Ctrl-C raises `Interrupted`, whose `runs` has for each job its run or None.

    `controllers` are those of `run`, for all jobs. They run in processes, one for each core. If one
    fails, `ControllerError` has the number and the seed of the run, and in `runs` those that are
    complete.
    """
    jobs = [job(f"jobs[{number}]", one) for number, one in enumerate(jobs)]
    if controllers is not None and controllers != {}:
        return run_prototypes(jobs, makers_of(controllers), workers, progress)
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


def job(name: str, value: Any) -> tuple[Scenario, int | None]:
    """A scenario and a seed. `InputError` for anything else."""
    expected = "a scenario and a seed, such as (scenario, 1)"
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InputError.of_value(name, expected, repr(value))
    scenario, seed = value
    if not isinstance(scenario, _native.Scenario):
        raise InputError.of_value(name, expected, repr(scenario))
    check_seed(f"{name}: seed", seed)
    return scenario, seed


def check_seed(name: str, seed: Any) -> None:
    """Refuse True and False with `InputError`, which the engine would take for one and zero."""
    if isinstance(seed, bool):
        raise InputError.of_value(name, f"a whole number from 0 to {2**64 - 1}", repr(seed))


def makers_of(controllers: Controllers) -> dict[str, Maker]:
    """The classes of controllers, also of those that are named by file or module."""
    from bentpipe.problems import UnfitError
    from bentpipe.prototypes import Prototype, Spec

    if not isinstance(controllers, Mapping):
        expected = "names of flows with their controllers, such as {'*': Mine}"
        raise InputError.of_value("controllers", expected, repr(controllers))
    found: dict[str, Maker] = {}
    for flow, maker in controllers.items():
        if not isinstance(maker, str):
            found[flow] = maker
            continue
        try:
            spec = Spec.parse(maker)
            if not spec.in_python:
                expected = "a class in Python; the scenario names other controllers"
                raise UnfitError(expected, repr(maker))
            found[flow] = Prototype.load(maker, spec).make
        except UnfitError as error:
            raise ControllerError(f"controllers[{flow!r}]: {error}") from None
    return found


def run_prototypes(
    jobs: list[tuple[Scenario, int | None]],
    makers: dict[str, Maker],
    workers: int | None,
    progress: Callable[[int], object] | None,
) -> list[Run]:
    """`run_many` with controllers in Python. Recordings come through a temporary folder."""
    from bentpipe.prototypes import RunFailedError, pool

    names = tuple((flow, str(number)) for number, flow in enumerate(makers))
    seeds = [scenario.seed if seed is None else seed for scenario, seed in jobs]
    found: list[Run | None] = [None] * len(jobs)
    with tempfile.TemporaryDirectory(prefix="bentpipe-") as folder:
        setup = pool.Setup(
            cases=[pool.Case(scenario, names) for scenario, _ in jobs],
            makers=dict(zip(map(str, range(len(makers))), makers.values(), strict=True)),
            folder=Path(folder),
            search=tuple(sys.path),
            blocked_s=pool.BLOCKED_S,
        )

        def hand_over(rows: list[pool.Row]) -> None:
            for job, *_ in rows:
                saved = Path(folder) / str(job)
                found[job] = Run(_native.Recording.load(saved), jobs[job][0])
                shutil.rmtree(saved)
                if progress:
                    progress(sum(run is not None for run in found))

        try:
            pool.run(setup, list(enumerate(seeds)), hand_over, workers)
        except RunFailedError as error:
            place = f"run {error.job} of {len(jobs):,} (seed {seeds[error.job]})"
            raised = ControllerError(f"{place} failed: {error.description}")
            raised.run, raised.seed, raised.runs = error.job, seeds[error.job], found
            raise raised from None
        except KeyboardInterrupt:
            interrupted = Interrupted([None if run is None else run.recording for run in found])
            interrupted.runs = found
            raise interrupted from None
    return [run for run in found if run is not None]


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
