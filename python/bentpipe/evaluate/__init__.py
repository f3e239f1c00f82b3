"""Evaluation of a congestion controller by the checklist of RFC 9743 (BCP 133).

`checklist` lists the items, with scenarios in `scenarios/`. `items` runs one item. `findings`
compares the measurements with the baselines. `tables` and `command` print the result.

The package can be called: `bentpipe.evaluate(...)` is `evaluate` in `evaluation`.
"""

from bentpipe.callable import make_callable

make_callable(__name__, "evaluation")
