"""Runs of one scenario on both backends, and their differences.

The kernel is the reference. Differences are simulator minus kernel, in percent of the kernel. Runs
of the same seed are pairs: their links draw the same losses, but not for the same packets.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe import _native
from bentpipe.counts import packets
from bentpipe.fidelity.curves import Curve, distance, mean_cwnd
from bentpipe.fidelity.kept import KeptRuns
from bentpipe.study.statistics import Mean, gains, mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

Parameters = dict[str, str]
"""Path in the scenario -> the value in the notation of scenarios."""

SAMPLES = 600
"""Samples of cwnd in a run, unless the user sets `record.interval`."""

SET_UP_S = 0.5
"""Real time in which a kernel run sets up its namespaces and ends them."""


@dataclass(frozen=True)
class Experiment:
    """The plan of a comparison.

    `variants` are the scenarios, each as overrides of the file. `models` are the simulators, each
    as further overrides that apply to the simulator only. Goodput is that of all flows together,
    or that of the flow with the number `flow`, from 0. Kernel runs are kept in the folder
    `kernel_runs`, and those that are there are not repeated. `own` has further overrides of models
    for single variants, by the number of the variant and the name of the model. A kernel run that
    is not valid is repeated until there are `attempts`.
    """

    file: Path
    sets: tuple[str, ...]
    variants: Sequence[Parameters]
    models: Mapping[str, tuple[str, ...]]
    seeds: Sequence[int]
    parallel: int = 1
    flow: int | None = None
    kernel_runs: Path | None = None
    own: Mapping[tuple[int, str], tuple[str, ...]] = field(default_factory=dict)
    attempts: int = 1


@dataclass(frozen=True)
class Runs:
    """Results of the valid runs of one variant on one backend."""

    goodput_bps: Mapping[int, float]
    completion_s: Mapping[int, float]
    resent: Mapping[int, float]
    cwnd: Curve

    def mean_of(self, name: str) -> Mean | None:
        """Mean of a quantity over the seeds for which it is defined."""
        values = list(getattr(self, name).values())
        return mean(values) if values else None


@dataclass(frozen=True)
class Comparison:
    """A model compared with the kernel. Differences and distance are in percent of the kernel."""

    model: str
    runs: Runs
    goodput_difference: Mean | None
    completion_difference: Mean | None
    cwnd_distance: float | None


@dataclass(frozen=True)
class Cell:
    """One variant of the scenario. `invalid` is the number of kernel runs left out."""

    parameters: Parameters
    kernel: Runs
    invalid: int
    comparisons: list[Comparison]


@dataclass
class _Collected:
    """Recordings by variant, backend or model, and seed."""

    kernel: dict[int, dict[int, bentpipe.Recording]] = field(default_factory=dict)
    models: dict[tuple[int, str], dict[int, bentpipe.Recording]] = field(default_factory=dict)


def compare(
    experiment: Experiment, progress: Callable[[float], object] | None = None
) -> list[Cell]:
    """Run everything and compare. `progress` is called with the number of finished runs.

    Raises `ScenarioError` or `KernelError` early if a variant cannot run.
    """
    kernel, models = _scenarios(experiment)
    collected = _Collected()
    jobs = [(key, seed) for key in models for seed in experiment.seeds]
    recordings = _native.run_many([(models[key], seed) for key, seed in jobs])
    for (key, seed), recording in zip(jobs, recordings, strict=True):
        collected.models.setdefault(key, {})[seed] = recording
    done = len(jobs)
    if progress:
        progress(done)
    for number, seed, recording in _on_kernel(kernel, experiment):
        collected.kernel.setdefault(number, {})[seed] = recording
        done += 1
        if progress:
            progress(done)
    return [
        _cell(number, parameters, experiment, collected)
        for number, parameters in enumerate(experiment.variants)
    ]


def total_runs(experiment: Experiment) -> int:
    """The number of runs of `compare`."""
    return len(experiment.variants) * len(experiment.seeds) * (1 + len(experiment.models))


@dataclass(frozen=True)
class RealTime:
    """Real time of the kernel runs of an experiment, and of those that are not kept yet.

    It is that of the first model's runs and of the set-up of each, with as many at once as the
    experiment has. Runs that are not valid and are repeated take more.
    """

    runs: int
    seconds: float
    runs_left: int
    seconds_left: float


def real_time(experiment: Experiment) -> RealTime:
    """Computes the real time of `compare` by running the simulator."""
    kernel, models = _scenarios(experiment)
    first = next(iter(experiment.models))
    jobs = [(number, seed) for number in range(len(kernel)) for seed in experiment.seeds]
    recordings = _native.run_many([(models[number, first], seed) for number, seed in jobs])
    kept = KeptRuns(experiment.kernel_runs)
    all_runs, left = [], []
    for (number, seed), recording in zip(jobs, recordings, strict=True):
        ends = [flow.completion_s for flow in recording.flows]
        duration = kernel[number].duration_s
        seconds = SET_UP_S + max(duration if end is None else end for end in ends)
        all_runs.append(seconds)
        if not kept.has(kernel[number], seed):
            left.append(seconds)
    at_once = experiment.parallel
    return RealTime(len(all_runs), sum(all_runs) / at_once, len(left), sum(left) / at_once)


def _scenarios(
    experiment: Experiment,
) -> tuple[list[_native.Scenario], dict[tuple[int, str], _native.Scenario]]:
    """The scenarios of the kernel and of each model, all read before the first run."""
    kernel, models = [], {}
    for number, parameters in enumerate(experiment.variants):
        written = [f"{path}={value}" for path, value in parameters.items()]
        sets = [*_sampling(experiment), *experiment.sets, *written]
        kernel.append(_native.Scenario.load(experiment.file, sets))
        _check_flow(kernel[-1], experiment.flow)
        for model, more in experiment.models.items():
            own = experiment.own.get((number, model), ())
            models[number, model] = _native.Scenario.load(experiment.file, [*sets, *more, *own])
    return kernel, models


def _check_flow(scenario: _native.Scenario, flow: int | None) -> None:
    flows = sum(flow.count for flow in scenario.explain().flows)
    if flow is not None and flow >= flows:
        raise bentpipe.BentpipeError(
            f"--flow {flow}: expected a number below {flows}, the flows of {scenario.name}"
        )


def _sampling(experiment: Experiment) -> list[str]:
    """An override that samples cwnd. Overrides of the user come after it."""
    plain = _native.Scenario.load(experiment.file, experiment.sets)
    return [f"record.interval={plain.duration_s / SAMPLES}s"]


def _on_kernel(scenarios: Sequence[_native.Scenario], experiment: Experiment) -> Any:
    """Variant, seed and recording of each kernel run, in the order of their ends.

    The first run of each variant comes first, so that errors of the kernel are found early.
    """
    jobs = [(number, seed) for seed in experiment.seeds for number in range(len(scenarios))]
    kept = KeptRuns(experiment.kernel_runs)
    with ThreadPoolExecutor(experiment.parallel) as pool:
        running = {
            pool.submit(kept.run, scenarios[number], seed, experiment.attempts): (number, seed)
            for number, seed in jobs
        }
        try:
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    number, seed = running.pop(future)
                    yield number, seed, _heard(future, experiment.variants[number])
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _heard(future: Any, parameters: Parameters) -> bentpipe.Recording:
    """The recording, or the error with the name of its variant."""
    try:
        recording: bentpipe.Recording = future.result()
    except bentpipe.KernelError as error:
        raise bentpipe.KernelError(f"{label(parameters)}: {error}") from error
    return recording


def label(parameters: Parameters) -> str:
    """The variant on one line."""
    return ", ".join(f"{path}={value}" for path, value in parameters.items()) or "as written"


def _cell(
    number: int, parameters: Parameters, experiment: Experiment, collected: _Collected
) -> Cell:
    recordings = collected.kernel[number]
    valid = {
        seed: recording
        for seed, recording in sorted(recordings.items())
        if recording.kernel is not None and recording.kernel.valid
    }
    kernel = runs_of(valid, experiment.flow)
    comparisons = []
    for model in experiment.models:
        runs = runs_of(collected.models[number, model], experiment.flow)
        comparisons.append(
            Comparison(
                model,
                runs,
                _difference(runs.goodput_bps, kernel.goodput_bps),
                _difference(runs.completion_s, kernel.completion_s),
                distance(runs.cwnd, kernel.cwnd),
            )
        )
    return Cell(parameters, kernel, len(recordings) - len(valid), comparisons)


def _difference(model: Mapping[int, float], kernel: Mapping[int, float]) -> Mean | None:
    """The difference of the model from the kernel in percent, over the seeds of both."""
    seeds = sorted(model.keys() & kernel.keys())
    if not seeds or any(kernel[seed] == 0 for seed in seeds):
        return None
    return mean(gains([model[seed] for seed in seeds], [kernel[seed] for seed in seeds]))


def runs_of(recordings: Mapping[int, bentpipe.Recording], only: int | None) -> Runs:
    """Totals over all flows of each run, or those of one flow."""
    goodput, completion, resent = {}, {}, {}
    for seed, recording in recordings.items():
        flows = recording.flows if only is None else [recording.flows[only]]
        goodput[seed] = sum(flow.goodput_bps for flow in flows)
        ends = [flow.completion_s for flow in flows if flow.completion_s is not None]
        if len(ends) == len(flows):
            completion[seed] = max(ends)
        parts = [found for flow in flows if (found := packets(flow))]
        sent = sum(part.segments_sent for part in parts)
        resent[seed] = sum(part.segments_retransmitted for part in parts) / max(sent, 1)
    return Runs(goodput, completion, resent, mean_cwnd(recordings.values(), only))
