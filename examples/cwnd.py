"""The congestion window of two controllers that meet the same losses over a geostationary link.

    python examples/cwnd.py [FOLDER]

writes cwnd-newreno.svg, cwnd-hybla.svg and the goodputs into FOLDER (here by default).
"""

import sys
from pathlib import Path

import bentpipe as bp

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
scenario = bp.Scenario.load(Path(__file__).parent / "lossy-geo.toml")

for controller in ["newreno", "hybla"]:
    run = bp.run(scenario.with_({"flow.0.controller": controller}), seed=1)
    run.plot.cwnd().save(folder / f"cwnd-{controller}.svg")
    run.plot.goodput(window_s=1).save(folder / f"goodput-{controller}.svg")
    print(f"{controller}: {run.flows['goodput_bps'][0] / 1e6:.2f} Mbit/s")
