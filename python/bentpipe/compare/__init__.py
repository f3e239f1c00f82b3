"""Comparison of the congestion controllers on a link of the user.

`links` reads the link: a preset in `links/` or a scenario file. `workloads` creates one study for
each workload, and `candidates` selects the controllers. `outcome` and `ranking` compute the
statistics, `verdict` the sentences. `tables` and `command` print the result.

The package can be called: `bentpipe.compare(...)` is `compare` in `comparison`.
"""

from bentpipe.callable import make_callable

make_callable(__name__, "comparison")
