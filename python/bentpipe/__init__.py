"""Bentpipe: a laboratory for TCP over satellite links.

    import bentpipe as bp

    scenario = bp.Scenario.load("examples/lossy-geo.toml").with_({"flow.0.controller": "cubic"})
    run = bp.run(scenario, seed=1)
    print(run.flows["goodput_bps"][0])
    run.plot.cwnd().save("cwnd.svg")

Importing this module loads only the engine. Plots and statistics load their packages when used.
"""

from typing import TYPE_CHECKING

# First: until a command works, Ctrl-C ends it with one line.
from bentpipe import signals as _signals  # noqa: F401
from bentpipe._native import (
    ArrowTable,
    Capture,
    CapturedConnection,
    CapturedData,
    CaptureGraph,
    Constellation,
    Controller,
    OrbitGap,
    OrbitHandover,
    OrbitSeries,
    OutputFolder,
    Recording,
    Scenario,
    build_profile,
    capture_graphs,
    constellations,
    controllers,
    hosts,
    kernel_controllers,
    kernel_likeness,
    kernel_load,
    kernel_missing,
    kernel_set,
    kernel_settings,
    kernel_status,
    kernel_unload,
    mechanisms,
    mixes,
    orbit,
    read_capture,
    reference,
    run_on_kernel,
    schema,
    shell,
    transports,
    unset_for_programs,
    version,
)
from bentpipe.errors import (
    BentpipeError,
    CaptureError,
    ClusterError,
    ControllerError,
    EngineError,
    InputError,
    Interrupted,
    KernelError,
    OrbitError,
    OutputError,
    Problem,
    RainError,
    RecordingError,
    ScenarioError,
    SeriesError,
    StudyError,
    TraceError,
)

if TYPE_CHECKING:
    from bentpipe.compare.comparison import compare
    from bentpipe.evaluate.evaluation import evaluate
    from bentpipe.experience.results import experience
    from bentpipe.explanation import Explanation
    from bentpipe.plots.comparing import plot
    from bentpipe.reproductions.papers import papers
    from bentpipe.runs import Run, load, run, run_many
    from bentpipe.steps import lockstep
    from bentpipe.study import Study

__version__ = version()

LATE = {
    "Explanation": "bentpipe.explanation",
    "Run": "bentpipe.runs",
    "Study": "bentpipe.study",
    "compare": "bentpipe.compare",
    "evaluate": "bentpipe.evaluate",
    "experience": "bentpipe.experience",
    "load": "bentpipe.runs",
    "lockstep": "bentpipe.steps",
    "papers": "bentpipe.reproductions.papers",
    "plot": "bentpipe.plots.comparing",
    "run": "bentpipe.runs",
    "run_many": "bentpipe.runs",
}
"""Names that are imported when they are used: most commands need few of them, and some of their
modules load Polars, SciPy or Altair."""


def __getattr__(name: str) -> object:
    """Names of `LATE`. `compare`, `evaluate` and `experience` are packages that can be called."""
    from importlib import import_module

    if name not in LATE:
        raise AttributeError(f"module 'bentpipe' has no attribute {name!r}")
    module = import_module(LATE[name])
    return getattr(module, name, module)


def __dir__() -> list[str]:
    """All names, also those of `LATE`."""
    return sorted({*globals(), *LATE})


def _scenario_html(self: Scenario) -> str:
    """The scenario for a notebook."""
    from bentpipe.shown import scenario_html

    return scenario_html(self)


Scenario._repr_html_ = _scenario_html  # type: ignore[method-assign]


__all__ = [
    "ArrowTable",
    "BentpipeError",
    "Capture",
    "CaptureError",
    "CaptureGraph",
    "CapturedConnection",
    "CapturedData",
    "ClusterError",
    "Constellation",
    "Controller",
    "ControllerError",
    "EngineError",
    "Explanation",
    "InputError",
    "Interrupted",
    "KernelError",
    "OrbitError",
    "OrbitGap",
    "OrbitHandover",
    "OrbitSeries",
    "OutputError",
    "OutputFolder",
    "Problem",
    "RainError",
    "Recording",
    "RecordingError",
    "Run",
    "Scenario",
    "ScenarioError",
    "SeriesError",
    "Study",
    "StudyError",
    "TraceError",
    "build_profile",
    "capture_graphs",
    "compare",
    "constellations",
    "controllers",
    "evaluate",
    "experience",
    "hosts",
    "kernel_controllers",
    "kernel_likeness",
    "kernel_load",
    "kernel_missing",
    "kernel_set",
    "kernel_settings",
    "kernel_status",
    "kernel_unload",
    "load",
    "lockstep",
    "mechanisms",
    "mixes",
    "orbit",
    "papers",
    "plot",
    "read_capture",
    "reference",
    "run",
    "run_many",
    "run_on_kernel",
    "schema",
    "shell",
    "transports",
    "unset_for_programs",
    "version",
]
