#!/usr/bin/env python3
"""The tables of docs/fidelity.md, made by running both backends: `make fidelity`.

    fidelity.py                       every suite (two and a half hours of real time)
    fidelity.py short-flows hosts     these suites or groups; the others keep their results
    fidelity.py beams --seeds 1       fewer seeds, also of applications; prints the table only
    fidelity.py --tables              write the tables again from docs/fidelity.json
    fidelity.py --check               fail if the page has other tables than those

Each suite is a scenario, its variants and its seeds. Results go to docs/fidelity.json, each with
its date, commit and kernel, and from there into the page, between the comments that carry the name
of the suite. The kernel runs are in real time: the machine must do nothing else. They are kept in
`.cache/fidelity` and not repeated, so that a changed simulator is compared within a minute, and a
suite that was ended goes on where it stopped. Delete that folder after a change of the testbed or
of `bpf/`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import os
import platform
import statistics
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe.console import late_progress
from bentpipe.fidelity.experiment import Experiment, compare, real_time, total_runs
from bentpipe.fidelity.plots import figure
from bentpipe.fidelity.tables import to_dict
from bentpipe.numbers import count, decimals
from suites import GROUPS, OF_PROGRAMS, SUITES
from suites.figures import Comparison
from suites.page import PAGE, README, page_with, readme_sentence
from suites.results import RESULTS, load, save
from suites.suite import ROOT, like_linux

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bentpipe.fidelity.experiment import Cell
    from suites.suite import Suite

KERNEL_RUNS = ROOT / ".cache" / "fidelity"
NAMES = (*SUITES, *OF_PROGRAMS, *GROUPS)
FIGURE = ROOT / "docs" / "images" / "fidelity.png"
LOADED = ("adalr", "aliad", "hybla", "westwood-plus")


@contextmanager
def loaded() -> Iterator[None]:
    """The kernel with the controllers of the tables in it."""
    before = {row.name for row in bentpipe.kernel_status()}
    missing = [name for name in LOADED if name not in before]
    for name in missing:
        bentpipe.kernel_load(name)
    try:
        yield
    finally:
        for name in missing:
            bentpipe.kernel_unload(name)


def add_medians(cell: dict[str, Any], compared: Cell, quantity: str) -> None:
    """Add the medians of both backends and the range of the kernel's runs to a cell."""
    name = {"goodput": "goodput_bps", "completion": "completion_s"}[quantity]
    kernel = getattr(compared.kernel, name).values()
    middle = statistics.median(kernel)
    cell["kernel"]["range"] = [min(kernel), max(kernel)]
    cell["kernel"]["median"] = middle
    for model, comparison in zip(cell["models"], compared.comparisons, strict=True):
        found = statistics.median(getattr(comparison.runs, name).values())
        model["simulator"]["median"] = found
        model["median_difference"] = 100 * (found / middle - 1)


def experiment_of(suite: Suite) -> Experiment:
    """The plan of a suite."""
    named = suite.variants()
    return Experiment(
        file=suite.file,
        sets=suite.sets,
        variants=[overrides for _, overrides in named],
        models=suite.models,
        seeds=range(1, 1 + suite.seeds),
        parallel=suite.parallel,
        flow=suite.flow,
        kernel_runs=KERNEL_RUNS,
        attempts=suite.attempts,
        own={
            (number, "recovery linux"): like_linux(overrides)
            for number, (_, overrides) in enumerate(named)
        },
    )


def run(name: str, suite: Suite) -> dict[str, Any]:
    """Run a suite on both backends; its object in the results."""
    experiment, named = experiment_of(suite), suite.variants()
    with late_progress(name, total_runs(experiment)) as progress:
        cells = compare(experiment, progress)
    found = to_dict(experiment, name, cells)
    if suite.figure:
        figure(cells, "geo-fidelity").save(FIGURE)
        found["figure_sha256"] = hashlib.sha256(FIGURE.read_bytes()).hexdigest()
    for cell, (names, _) in zip(found["cells"], named, strict=True):
        cell["names"] = list(names)
    if suite.medians:
        for cell, compared in zip(found["cells"], cells, strict=True):
            add_medians(cell, compared, suite.quantity)
    return {"quantity": suite.quantity, "baseline": suite.baseline, **found}


def about_now() -> dict[str, str]:
    """The date, the commit and the kernel of results."""
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "commit": commit(),
        "kernel": platform.release().split("-")[0],
    }


def announce(names: Sequence[str]) -> None:
    """Print how long the suites take, and how much of that is left."""
    times = [real_time(experiment_of(SUITES[name])) for name in names if name in SUITES]
    runs, left = (sum(time.runs for time in times), sum(time.runs_left for time in times))
    # Programs are not kept.
    programs = sum(OF_PROGRAMS[name].real_time_s() for name in names if name in OF_PROGRAMS)
    minutes, minutes_left = (
        decimals((programs + sum(seconds)) / 60, 0)
        for seconds in ([time.seconds for time in times], [time.seconds_left for time in times])
    )
    print(
        f"The kernel takes {minutes} minutes of real time, for {count(runs)} runs. "
        f"{count(left)} runs and {minutes_left} minutes are left.",
        file=sys.stderr,
        flush=True,
    )


def chosen(named: Sequence[str]) -> list[str]:
    """Names of the suites for these names of suites and groups; all of them for no names."""
    every = (*SUITES, *OF_PROGRAMS)
    return [suite for name in named or every for suite in GROUPS.get(name, (name,))]


def commit() -> str:
    """The commit of the sources, with a mark where they have changed since."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout.strip()


def main() -> None:
    """Run what was asked for, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(NAMES)}")
    parser.add_argument(
        "--seeds", type=int, help="of `applications` or `beams`; prints its table only"
    )
    parser.add_argument("--tables", action="store_true", help="run nothing, write the tables")
    parser.add_argument(
        "--check", action="store_true", help="run nothing, fail if the page has other tables"
    )
    options = parser.parse_args()
    if unknown := [name for name in options.suites if name not in NAMES]:
        parser.error(f"no suite {unknown[0]}: expected {', '.join(NAMES)}")
    if options.seeds is not None:
        one = OF_PROGRAMS.get(options.suites[0]) if len(options.suites) == 1 else None
        if options.seeds < 1 or not isinstance(one, Comparison):
            parser.error("--seeds: expected at least 1, and applications or beams alone")
        print(one.table(about_now() | one.run(options.seeds)))
        return
    results = load()
    if options.check:
        if page_with(results) != PAGE.read_text():
            sys.exit(f"{PAGE}: not the tables of {RESULTS.name}; run fidelity.py --tables")
        if readme_sentence(results) not in " ".join(README.read_text().split()):
            sys.exit(f"{README}: expected: {readme_sentence(results)}")
        return
    if not options.tables:
        os.chdir(ROOT)
        names = chosen(options.suites)
        announce(names)
        # Programs and applications have controllers of Linux.
        with loaded() if any(name in SUITES for name in names) else nullcontext():
            for name in names:
                found = run(name, SUITES[name]) if name in SUITES else OF_PROGRAMS[name].run()
                results[name] = about_now() | found
                save(results)
    PAGE.write_text(page_with(results))


if __name__ == "__main__":
    main()
