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
    Controller,
    OutputFolder,
    Recording,
    Scenario,
    build_profile,
    controllers,
    kernel_controllers,
    kernel_likeness,
    kernel_load,
    kernel_missing,
    kernel_set,
    kernel_settings,
    kernel_status,
    kernel_unload,
    mechanisms,
    reference,
    run_on_kernel,
    schema,
    shell,
    transports,
    version,
)
from bentpipe.errors import (
    BentpipeError,
    ClusterError,
    ControllerError,
    EngineError,
    InputError,
    Interrupted,
    KernelError,
    OutputError,
    Problem,
    RainError,
    RecordingError,
    ScenarioError,
    SeriesError,
    StudyError,
)
from bentpipe.explanation import Explanation
from bentpipe.runs import Run, load, run, run_many
from bentpipe.study import Study

if TYPE_CHECKING:
    from bentpipe.plots.comparing import plot
    from bentpipe.steps import lockstep

__version__ = version()


def __getattr__(name: str) -> object:
    """`plot`, which loads Altair and Polars only when it is used, and `lockstep`."""
    if name == "lockstep":
        from bentpipe.steps import lockstep

        return lockstep
    if name == "plot":
        from bentpipe.plots.comparing import plot

        return plot
    raise AttributeError(f"module 'bentpipe' has no attribute {name!r}")


__all__ = [
    "ArrowTable",
    "BentpipeError",
    "ClusterError",
    "Controller",
    "ControllerError",
    "EngineError",
    "Explanation",
    "InputError",
    "Interrupted",
    "KernelError",
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
    "build_profile",
    "controllers",
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
    "plot",
    "reference",
    "run",
    "run_many",
    "run_on_kernel",
    "schema",
    "shell",
    "transports",
    "version",
]
