"""Goodput of four controllers over the packet error rate, with 95 % confidence intervals.

    python examples/compare_controllers.py [FOLDER]

writes goodput-over-per.svg into FOLDER (here by default). Under one seed all controllers meet the
same losses, so that their differences are no luck; the intervals are over the seeds.
"""

import sys
from pathlib import Path

import altair as alt
import polars as pl

import bentpipe as bp
from bentpipe.plots import Figure, theme
from bentpipe.study.statistics import mean

CONTROLLERS = ["newreno", "cubic", "hybla", "westwood"]
RATES = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]
SEEDS = range(1, 9)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
base = bp.Scenario.load(Path(__file__).parent / "lossy-geo.toml").with_(duration="60s")

rows = []
for controller in CONTROLLERS:
    for per in RATES:
        changes = {"flow.0.controller": controller, "link.1.channel": {"per": per}}
        scenario = base.with_(changes)
        runs = bp.run_many([(scenario, seed) for seed in SEEDS])
        goodput = mean([run.flows["goodput_bps"][0] / 1e6 for run in runs])
        half = goodput.ci95 or 0.0
        low, high = goodput.value - half, goodput.value + half
        row = {"controller": controller, "per": per, "mean": goodput.value}
        rows.append(row | {"low": low, "high": high})

table = pl.DataFrame(rows)
with pl.Config(tbl_rows=-1):
    print(table)

x = alt.X("per:Q", title="packet error rate (per packet)", scale=alt.Scale(type="log"))
y = alt.Y("mean:Q", title="goodput (Mbit/s)")
colour = alt.Color("controller:N", sort=CONTROLLERS, scale=alt.Scale(range=list(theme.PALETTE)))
figure = Figure({"values": rows}, width=theme.WIDTH, height=theme.HEIGHT).encode(x=x, color=colour)
lines = figure.mark_line(point=True).encode(y=y)
intervals = figure.mark_rule().encode(y=alt.Y("low:Q", title="goodput (Mbit/s)"), y2="high:Q")
(lines + intervals).configure(**theme.on_white()).save(folder / "goodput-over-per.svg")
