"""Studies: many runs of scenarios over parameters and seeds, with statistics.

    study = bentpipe.Study.load("examples/study-controllers.toml")
    results = study.run(out="out/controllers")
    print(results.rows)

`plan` defines what to run, and `document` reads it from a TOML file. `runner` and `cluster` run it.
`store` keeps the rows, and `summary` computes means and intervals.

Decisions:

- A study keeps numbers of a run, not the run: the quantities are taken out of each recording in
  the thread that ran it, so memory is flat and Python sees batches of rows.
- The number of a run is `replication * variants + variant`: known before it is known how many
  there will be, so rows of threads, clusters and resumed studies need no order and cannot be
  confused.
- A study is known by what decides its rows: more replications, labels and comparisons go on in
  the same folder; anything that moves a number is refused.
"""

from bentpipe._native import study_reference as reference
from bentpipe._native import study_schema as schema
from bentpipe.study.estimates import Difference, Estimate
from bentpipe.study.parameters import Parameter
from bentpipe.study.plan import Comparison, Replications, Study
from bentpipe.study.quantities import Quantity
from bentpipe.study.results import Results
from bentpipe.study.scenarios import Base

__all__ = [
    "Base",
    "Comparison",
    "Difference",
    "Estimate",
    "Parameter",
    "Quantity",
    "Replications",
    "Results",
    "Study",
    "reference",
    "schema",
]
