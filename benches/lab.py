#!/usr/bin/env python3
"""Time from a slider to the picture of the live page, in Chromium.

    lab.py [--moves 20] [--cores 1]     prints a table; writes out/bench-lab.json

The page has four controllers over 60 s of a link with about 20 Mbit/s, as `bentpipe lab` shows it.
Each move has another seed, so that nothing is known from before. The time ends when the figures of
all four have been drawn. The server and its runs have as many cores as `--cores` says, Chromium has
all. The last column is the time that the engine's four runs took in all.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from typing import Any

from side_by_side import OUT, machine

MOVE = """async (steps) => {
  const slider = document.getElementById('control-rate');
  const before = lab.counts.pictures;
  const began = performance.now();
  slider.value = Number(slider.value) + steps;
  slider.dispatchEvent(new Event('input'));
  while (lab.counts.pictures === before) await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""
IDLE = """() => globalThis.lab &&
  document.documentElement.dataset.ready === String(lab.counts.requests)"""


def measure(moves: int, cores: int) -> dict[str, Any]:
    """Times of moves in milliseconds, and the time of the engine's runs in each."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "bentpipe", "lab"]
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, allowed),
        ) as server,
        sync_playwright() as playwright,
    ):  # fmt: skip
        assert server.stdout
        address = server.stdout.readline().strip()
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.goto(address)
        page.wait_for_function(IDLE)
        times, engine = [], []
        for number in range(moves):
            page.evaluate(f"document.getElementById('control-seed').value = {number + 2}")
            page.dispatch_event("#control-seed", "change")
            page.wait_for_timeout(50)
            page.wait_for_function(IDLE, timeout=60_000)
            times.append(page.evaluate(MOVE, 1 if number % 2 else -1))
            page.wait_for_function(IDLE, timeout=60_000)
            engine.append(
                page.evaluate("lab.charts.runs.reduce((sum, one) => sum + one[2].wall_ms, 0)")
            )
        browser.close()
        server.terminate()
    return {"times_ms": times, "engine_ms": engine, "cores": cores}


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moves", type=int, default=20)
    parser.add_argument("--cores", type=int, default=1)
    chosen = parser.parse_args()
    if shutil.which("chromium") is None:
        print("the live page: skipped, chromium is missing")
        return 0
    found = measure(chosen.moves, chosen.cores)
    times, engine = found["times_ms"], found["engine_ms"]
    print("| live page, four controllers | moves | cores | median | slowest | engine |")
    print("|---|---|---|---|---|---|")
    print(
        f"| slider to picture | {len(times)} | {chosen.cores} | {statistics.median(times):.0f} ms"
        f" | {max(times):.0f} ms | {statistics.median(engine):.0f} ms |"
    )
    OUT.mkdir(exist_ok=True)
    (OUT / "bench-lab.json").write_text(json.dumps({"machine": machine(), **found}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
