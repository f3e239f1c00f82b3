"""Goodput of four controllers over the packet error rate, with 95 % confidence intervals.

    python examples/compare_controllers.py [FOLDER]

writes goodput-over-per.svg, one column of a paper wide, and goodput.tex into FOLDER (here by
default). Under one seed, all controllers meet the same losses.
"""

import sys
from pathlib import Path

import bentpipe as bp
from bentpipe.study import Comparison, Parameter, Replications, Study

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
study = Study.make(
    name="controllers",
    scenario=bp.Scenario.load(Path(__file__).parent / "lossy-geo.toml").with_(duration="60s"),
    parameters=[
        Parameter("PER", "link.1.channel.per", (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)),
        Parameter("controller", "flow.0.controller", ("newreno", "cubic", "hybla", "westwood")),
    ],
    quantities=["flow.goodput_bps"],
    replications=Replications(count=8),
    comparisons=[Comparison("controller", "newreno")],
)
results = study.run()
figure = results.plot("PER", "flow.goodput_bps", hue="controller")
figure.for_paper(1).save(folder / "goodput-over-per.svg")
(folder / "goodput.tex").write_text(results.table("latex"))
print(results.table())
