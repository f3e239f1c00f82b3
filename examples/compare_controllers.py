"""Goodput of four controllers over the packet error rate, with 95 % confidence intervals.

    python examples/compare_controllers.py [FOLDER]

writes goodput-over-per.svg into FOLDER (here by default). Under one seed all controllers meet the
same losses, so that their differences are no luck; the intervals are over the seeds.
"""

import sys
from pathlib import Path

import polars as pl

import bentpipe as bp
from bentpipe.plots import Point, interval_figure
from bentpipe.study.statistics import mean

CONTROLLERS = ["newreno", "cubic", "hybla", "westwood"]
RATES = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]
SEEDS = range(1, 9)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
base = bp.Scenario.load(Path(__file__).parent / "lossy-geo.toml").with_(duration="60s")

points = []
for controller in CONTROLLERS:
    for per in RATES:
        changes = {"flow.0.controller": controller, "link.1.channel": {"per": per}}
        scenario = base.with_(changes)
        runs = bp.run_many([(scenario, seed) for seed in SEEDS])
        goodput = mean([run.flows["goodput_bps"][0] / 1e6 for run in runs])
        half = goodput.ci95 or 0.0
        low, high = goodput.value - half, goodput.value + half
        points.append(Point(controller, per, goodput.value, low, high, len(SEEDS)))

table = pl.DataFrame(points).rename({"series": "controller", "x": "per"})
with pl.Config(tbl_rows=-1):
    print(table)

title, x, y = "Goodput over the PER", "packet error rate (per packet)", "goodput (Mbit/s)"
figure = interval_figure("goodput-over-per", title, x, y, points, "log")
figure.save(folder / f"{figure.name}.svg")
