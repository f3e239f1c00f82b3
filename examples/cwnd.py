"""The congestion window of two controllers that meet the same losses over a geostationary link.

    python examples/cwnd.py [FOLDER]

writes cwnd.svg, goodput.svg and cwnd-band.svg (means and ranges of five seeds) into FOLDER (here by
default).
"""

import sys
from pathlib import Path

import bentpipe as bp

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
scenario = bp.Scenario.load(Path(__file__).parent / "lossy-geo.toml")
jobs = [
    (scenario.with_({"flow.0.controller": name}), seed)
    for seed in range(1, 6)
    for name in ("newreno", "hybla")
]
runs = bp.run_many(jobs)
bp.plot(runs[:2], "cwnd").save(folder / "cwnd.svg")
bp.plot(runs[:2], "goodput").save(folder / "goodput.svg")
bp.plot(runs, "cwnd", band=True).for_paper(2).save(folder / "cwnd-band.svg")
for run in runs[:2]:
    print(f"{run.flows['controller'][0]}: {run.flows['goodput_bps'][0] / 1e6:.2f} Mbit/s")
