"""Bentpipe: a laboratory for TCP over satellite links.

    import bentpipe

    scenario = bentpipe.Scenario.load("examples/geo-download.toml")
    recording = bentpipe.run(scenario, seed=1)
    print(recording.flows[0]["completion_s"])

Importing this loads the engine and nothing heavy; plots and statistics load what they need.
"""

from bentpipe._native import (
    Controller,
    OutputFolder,
    Recording,
    Scenario,
    build_profile,
    controllers,
    kernel_controllers,
    kernel_load,
    kernel_missing,
    kernel_set,
    kernel_status,
    kernel_unload,
    reference,
    run,
    run_many,
    run_on_kernel,
    schema,
    shell,
    version,
)
from bentpipe.errors import (
    BentpipeError,
    ControllerError,
    Interrupted,
    KernelError,
    OutputError,
    ScenarioError,
)

__version__ = version()

__all__ = [
    "BentpipeError",
    "Controller",
    "ControllerError",
    "Interrupted",
    "KernelError",
    "OutputError",
    "OutputFolder",
    "Recording",
    "Scenario",
    "ScenarioError",
    "build_profile",
    "controllers",
    "kernel_controllers",
    "kernel_load",
    "kernel_missing",
    "kernel_set",
    "kernel_status",
    "kernel_unload",
    "reference",
    "run",
    "run_many",
    "run_on_kernel",
    "schema",
    "shell",
    "version",
]
