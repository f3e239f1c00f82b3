"""A rain event over a Ka-band link: what a fade does to goodput, window and round-trip time.

    python examples/rain_fade.py [FOLDER]

makes an event of 15 dB that lasts ten minutes, runs a transfer through it and one in clear sky, and
writes fade-goodput.svg, fade-cwnd.svg and fade-rtt.svg into FOLDER (here by default).
"""

import sys
from pathlib import Path

import polars as pl

import bentpipe as bp
from bentpipe.rain import SPINO_DADDA, DiracLognormal, event

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
fade = event(DiracLognormal.fit(SPINO_DADDA), 15.0, 600.0, seed=1)
fade.save(folder / "event.csv")

scenario = bp.Scenario.load(Path(__file__).parent / "fade.toml").with_(
    {
        "duration": "900s",
        "link.1.forward.channel.attenuation": {"file": folder / "event.csv", "outside": "hold"},
    }
)
run = bp.run(scenario, seed=1)
clear = bp.run(scenario.with_({"link.1.forward.channel.attenuation": 0.0}), seed=1)
for series in ("goodput", "cwnd", "rtt"):
    bp.plot([run, clear], series, labels=["event", "clear sky"]).save(folder / f"fade-{series}.svg")

lost = clear.flows["bytes"][0] - run.flows["bytes"][0]
silent = run.series.filter(pl.col("goodput_bps") == 0).height
print(f"goodput in clear sky: {clear.flows['goodput_bps'][0] / 1e6:.2f} Mbit/s")
print(f"goodput with the event: {run.flows['goodput_bps'][0] / 1e6:.2f} Mbit/s")
print(f"the event cost {lost / 1e6:.0f} MB and {silent} s without any data")
