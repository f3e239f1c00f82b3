"""What people experience on a scenario: pages, videos, calls, messages and speed tests.

`plan` has the scenario that runs: with the applications of the file, or with four that are added.
`figures` declares the figures of each application and the published targets. `limits` says what
limits each application. `experience` runs the seeds, `tables` and `command` print the result.

The package can be called: `bentpipe.experience(...)` is `experience` in `results`.
"""

from bentpipe.callable import make_callable

make_callable(__name__, "results")
