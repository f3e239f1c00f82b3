"""Studies: many runs of scenarios over parameters and seeds, with statistics.

    study = bentpipe.Study.load("examples/study-controllers.toml")
    results = study.run(out="out/controllers")
    print(results.rows)

`plan` defines what to run, and `document` reads it from a TOML file. `runner` and `cluster` run it.
`store` keeps the rows, and `summary` computes means and intervals.
"""

from bentpipe.study.parameters import Parameter
from bentpipe.study.plan import Comparison, Replications, Study
from bentpipe.study.quantities import Quantity
from bentpipe.study.results import Results
from bentpipe.study.scenarios import Base

__all__ = ["Base", "Comparison", "Parameter", "Quantity", "Replications", "Results", "Study"]
