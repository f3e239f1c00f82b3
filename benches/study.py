#!/usr/bin/env python3
"""A study of 1,000 GEO downloads compared with a shell loop over ns-3, on the same cores.

    study.py [--quick]        prints a table; writes out/bench-study.json

All runs of the study differ, so that each is done (`SPARE`). Both are whole processes: the
study with reading, statistics and Parquet, ns-3 with its start. The loop runs a sample, once one
after the other and once with both cores busy, and is scaled up. They take turns and the least of
each counts. Another pair of studies shows that memory does not grow with the number of runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from side_by_side import GEO, NS3, OUT, SCENARIOS, machine

RUNS = 1000
CORES = 2

STUDY = """\
title = "GEO download"
scenario = "geo-download.toml"

[parameters]
ssthresh = {{ path = "flow.0.transport.initial_ssthresh", values = ["65535B"] }}

[replications]
count = {count}

[[quantity]]
name = "flow.completion_s"

[[quantity]]
name = "flow.goodput_bps"
"""

SPARE = """
[[link]]
between = ["server", "elsewhere"]
rate = "1Mbit/s"
delay = "1ms"
event = [{ at = "1s", outage = "1ms" }]
"""
"""A link that no flow uses, with an event whose time depends on the seed. Bentpipe does one run for
all seeds where nothing depends on them."""


def study(count: int) -> tuple[float, int]:
    """Wall time in seconds and largest memory in KiB of a study with so many runs."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        scenario = (SCENARIOS / "geo-download.toml").read_text()
        (place / "geo-download.toml").write_text('phase = "random"\n' + scenario + SPARE)
        (place / "study.toml").write_text(STUDY.format(count=count))
        command = [sys.executable, "-m", "bentpipe", "study", "study.toml", "--out", "out"]
        started = time.perf_counter()
        with subprocess.Popen(
            [*command, "--workers", str(CORES)], cwd=place, stdout=subprocess.DEVNULL
        ) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        elapsed = time.perf_counter() - started
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        return elapsed, usage.ru_maxrss


def loop(sample: int, at_once: int) -> float:
    """Wall time in seconds that a shell loop over ns-3 would take for all runs."""
    options = " ".join(f"--{key}={value}" for key, value in GEO.items())
    script = f"seq {sample} | xargs -P {at_once} -I N {NS3} --counts=0 {options} >/dev/null"
    started = time.perf_counter()
    subprocess.run(["sh", "-euc", script], check=True)
    return (time.perf_counter() - started) * RUNS / sample


def main() -> int:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs, rougher figures")
    rounds, sample = (1, 4) if parser.parse_args().quick else (3, 10)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    ours, one, both = [], [], []
    for _ in range(rounds):
        ours.append(study(RUNS)[0])
        if NS3.exists():
            one.append(loop(sample, 1))
            both.append(loop(sample, CORES))
    few, many = study(RUNS // 10)[1] / 1024, study(RUNS)[1] / 1024
    found = {
        "machine": machine(),
        "study_s": min(ours),
        "ns3_loop_s": min(one, default=None),
        "ns3_loop_on_both_cores_s": min(both, default=None),
        "rss_mb": {RUNS // 10: few, RUNS: many},
    }
    print(f"(f) {RUNS:,} GEO downloads of 50 MB on {CORES} cores\n")
    print(f"  bentpipe study                   {min(ours):9.2f} s")
    for name, times in [("one after the other", one), ("both cores busy", both)]:
        if times:
            ratio = min(times) / min(ours)
            print(f"  ns-3.44, {name:<22}  {min(times):9.2f} s  {ratio:6.0f} x  (of {sample} runs)")
    print(f"\n  RSS of a study of {RUNS // 10} runs {few:.1f} MB, of {RUNS:,} runs {many:.1f} MB\n")
    OUT.mkdir(exist_ok=True)
    (OUT / "bench-study.json").write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
