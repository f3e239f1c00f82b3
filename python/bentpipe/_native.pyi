"""The compiled engine. What its classes and functions mean is said here; they do no more."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict, final, type_check_only

import polars as pl

__all__ = [
    "ArrowTable",
    "OutputFolder",
    "Quantity",
    "Recording",
    "Scenario",
    "build_profile",
    "controllers",
    "kernel_controllers",
    "kernel_load",
    "kernel_missing",
    "kernel_set",
    "kernel_status",
    "kernel_unload",
    "number_columns",
    "reference",
    "run",
    "run_many",
    "run_on_kernel",
    "run_study",
    "schema",
    "shell",
    "version",
]

@type_check_only
class Parameter(TypedDict):
    """One parameter of a controller, with what it may be and what it means."""

    name: str
    default: str
    allowed: str
    meaning: str

@type_check_only
class Controller(TypedDict):
    """What is known of a controller. `status` is `published` or `reconstructed`."""

    name: str
    summary: str
    source: str
    status: str
    recovery: str
    parameters: list[Parameter]

@type_check_only
class KernelController(TypedDict):
    """A controller that the running kernel can be given; `definition` is the simulator's."""

    name: str
    kernel_name: str
    definition: str
    summary: str
    source: str
    parameters: list[str]

@type_check_only
class KernelParameter(TypedDict):
    """A parameter of a loaded controller; `default` says whether it has its default."""

    name: str
    value: str
    default: bool

@type_check_only
class KernelUse(TypedDict):
    """A controller that is loaded, or was and is still used by `sockets` connections."""

    name: str
    kernel_name: str
    loaded: bool
    sockets: int
    default_of: list[str]
    parameters: list[KernelParameter]

@final
class Scenario:
    """A scenario in which nothing is left open."""

    @staticmethod
    def load(path: str | PathLike[str], sets: Sequence[str] = ...) -> Scenario:
        """Read a scenario file; `sets` are overrides as `"seed=7"`.

        Raises `ScenarioError` with file and line when the scenario cannot be right.
        """

    @staticmethod
    def parse(text: str, *, file: str | PathLike[str] | None = None) -> Scenario:
        """Read a scenario from TOML; errors name it `file`, from where names of files count.

        Raises `ScenarioError` with the line.
        """

    @staticmethod
    def build(**keys: Any) -> Scenario:
        """Make a scenario from values, with the names and units of a scenario file.

            link = {"between": ["server", "client"], "rate": "2Mbit/s", "delay": "250ms"}
            flow = {"from": "server", "to": "client", "controller": "cubic",
                    "traffic": {"download": "5MB"}}
            Scenario.build(name="geo", duration="600s", link=[link], flow=[flow])

        Keys are those of docs/scenario.md: `link` and `flow` are lists of dictionaries, quantities
        texts with their unit. None is the default. Scalars of NumPy and paths may stand for numbers
        and texts. Raises `ScenarioError` with the path of the value and the nearest valid name.
        """

    def with_(self, changes: Mapping[str, Any] | None = None, /, **named: Any) -> Scenario:
        """A new scenario with values changed, each at its path.

            scenario.with_({"flow.0.controller": "cubic", "link.*.delay": "280ms"})
            scenario.with_(seed=7, flow__0__traffic={"download": "5MB"})

        Paths are those of `--set`; in keywords two underscores stand for a dot. They count from
        zero, `*` means all of a list. Changes apply in their order. Raises `ScenarioError`.
        """

    def to_toml(self, *, seed: int | None = None) -> str:
        """The scenario as a file that runs to the same recording, by default with its own seed.

        Changes are part of it, its name and seed are written out, and names of files are absolute.
        """

    def explain(self) -> str:
        """Every value that will be used, defaults included, with warnings."""

    @property
    def name(self) -> str:
        """Name of the scenario."""

    @property
    def seed(self) -> int:
        """Seed that a run takes when it is given none."""

    @property
    def duration_s(self) -> float:
        """Upper bound of the simulated time in seconds."""

@final
class ArrowTable:
    """A table of a recording as an Arrow stream, in the memory of the recording.

    Polars, PyArrow, pandas, DuckDB and others take it: `pyarrow.table(recording.arrow("flows"))`.
    Source: Arrow PyCapsule interface.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with a C stream of one batch; the schema is always the table's own."""

@final
class Recording:
    """What one run left behind."""

    @staticmethod
    def load(path: str | PathLike[str]) -> Recording:
        """Read back the folder of `OutputFolder.save`; `RecordingError` when it is none."""

    def to_json(self) -> str:
        """One JSON object: what `bentpipe run --json` prints."""

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary."""

    def digest(self) -> str:
        """SHA-256 of totals and series without wall time and version: equal runs have one."""

    def table(self, name: str) -> pl.DataFrame:
        """A table as a data frame; `KeyError` when there is none of that name.

        The tables are those of the Parquet files: `flows`, `links`, `pages`, `objects`, and, if the
        scenario asks for them, `flow_series` and `link_series`. Numbers of series are not copied:
        the frame looks into the recording, and keeps it alive.
        """

    def arrow(self, name: str) -> ArrowTable:
        """The same table for any library that takes Arrow streams."""

    @property
    def flows(self) -> list[dict[str, Any]]:
        """Totals of each flow, with the names of the JSON object."""

    @property
    def links(self) -> list[dict[str, Any]]:
        """Totals of each direction of each link."""

    @property
    def scenario(self) -> str:
        """Name of the scenario."""

    @property
    def bed(self) -> str:
        """`simulator` or `kernel`."""

    @property
    def version(self) -> str:
        """Version of Bentpipe that made it."""

    @property
    def seed(self) -> int:
        """Seed of the run."""

    @property
    def wall_s(self) -> float:
        """Wall time of the run in seconds."""

    @property
    def simulated_s(self) -> float:
        """Simulated time in seconds."""

    @property
    def events(self) -> int:
        """Number of events: packet arrivals and timers."""

    @property
    def partial(self) -> bool:
        """Whether the run was interrupted before its end."""

    @property
    def jain_index(self) -> float | None:
        """Jain's fairness index over the goodput of all flows."""

@final
class OutputFolder:
    """A folder for recordings, made and known to be writable before the run that fills it.

    Raises `OutputError` when it cannot be written, or holds foreign files and not `force`. It takes
    one recording; when none is saved, nothing is left behind.
    """

    def __new__(cls, path: str | PathLike[str], *, force: bool = False) -> OutputFolder: ...
    def save(self, recording: Recording, scenario: Scenario) -> None:
        """Write a recording and the scenario that it came from; `OutputError` when it fails."""

@final
class Quantity:
    """One number of a recording, for `run_study`. `bentpipe.study.Quantity` reads its name."""

    def __new__(
        cls,
        table: str,
        column: str,
        *,
        name: str | None = None,
        direction: str | None = None,
        aggregate: str = "mean",
    ) -> Quantity:
        """`table` is one of `number_columns`; `name` of a flow or link may hold `*`.

        `ValueError` when there is no such column or `aggregate`.
        """

    def of(self, recording: Recording) -> float | None:
        """Its value, None where it is undefined: a flow or link has none, or no page ever came."""

    def is_in(self, scenario: Scenario) -> bool:
        """Whether a scenario has flows or links that it is taken from."""

def number_columns() -> dict[str, list[str]]:
    """The columns that a quantity can be, by table; `run` is what a recording has once."""

def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    progress: Callable[[float], object] | None = None,
    capture: OutputFolder | None = None,
) -> Recording:
    """Run a scenario in the simulator.

    `progress` is called now and then with the fraction that is done. The packets are written into
    `capture`, whose `save` completes them; `OutputError` when they cannot be written. Ctrl-C raises
    `Interrupted` with the partial recording.
    """

def run_many(
    jobs: Sequence[tuple[Scenario, int | None]],
    *,
    workers: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Recording]:
    """Run jobs of scenario and seed on `workers` threads, by default one for each core.

    The recordings come in the order of the jobs and do not depend on `workers`. `progress` is
    called with the number of finished jobs. Ctrl-C raises `Interrupted`.
    """

def run_study(
    scenarios: Sequence[Scenario],
    jobs: Sequence[tuple[int, int]],
    quantities: Sequence[Quantity],
    sink: Callable[[list[tuple[int, list[float | None], float, int]]], object],
    *,
    workers: int | None = None,
) -> None:
    """Run jobs, each the number of a scenario and a seed, and keep only numbers of each run.

    `sink` is called in this thread with rows of finished runs as they come, in no particular
    order: number of the job, quantities, wall time in seconds, events. Series are not recorded.
    Ctrl-C raises `KeyboardInterrupt`; what was finished has been handed over then.
    """

def run_on_kernel(
    scenario: Scenario,
    *,
    seed: int | None = None,
    progress: Callable[[float], object] | None = None,
    capture: OutputFolder | None = None,
) -> Recording:
    """Run a scenario on the TCP of this machine's kernel, in real time.

    Arguments as for `run`. `KernelError` says what the machine lacks, or what of the scenario a
    kernel cannot do. How well the network was emulated stands in the recording under `kernel`.
    """

def shell(
    scenario: Scenario,
    command: Sequence[str],
    *,
    host: str | None = None,
    servers: Sequence[tuple[str, Sequence[str]]] = ...,
    seed: int | None = None,
) -> tuple[int, str]:
    """Run a program on a host of a scenario, by default the one that receives the first flow.

    The ends of all flows are reached by name. `servers` are hosts and programs that run beside it
    and are killed when it ends. Returns its exit status and, as JSON, what a recording has under
    `kernel`. Raises `KernelError` as `run_on_kernel`.
    """

def controllers() -> list[Controller]:
    """All congestion controllers, in the order of the registry."""

def kernel_controllers() -> list[KernelController]:
    """The controllers that the running Linux kernel can be given."""

def kernel_missing() -> list[str]:
    """What this machine lacks to load them, each with what to do; empty when nothing."""

def kernel_load(
    name: str,
    sets: Sequence[str] = ...,
    *,
    default: bool = False,
    namespace: str | None = None,
) -> str:
    """Load a controller with parameters as `"beta=2"`; gives the folder that it is pinned in.

    It stays when this process ends. With `default`, new sockets of the network namespace (as
    `ip netns` names it, by default this one) use it; a loaded one can be made the default.
    `KernelError` when it cannot be as asked for, or the machine or the kernel does not let it.
    """

def kernel_set(name: str, sets: Sequence[str]) -> list[KernelParameter]:
    """Change parameters of a loaded controller; connections that use it see them at once."""

def kernel_unload(name: str) -> int:
    """Unload a controller; gives the number of connections that keep it until they end.

    Network namespaces that have it as their default get back what they had.
    """

def kernel_status() -> list[KernelUse]:
    """The controllers that are loaded, and those that were and are still used."""

def reference() -> str:
    """The reference of the scenario language in Markdown: `docs/scenario.md`."""

def schema() -> str:
    """The JSON Schema of the scenario language."""

def version() -> str:
    """Version of the engine and of the package."""

def build_profile() -> str:
    """How the engine was compiled: `release`, or `debug` which is ten times slower."""
