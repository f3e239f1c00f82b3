"""Controllers in Python outside of a single run: their names in texts, and processes to run them.

`spec` reads `"hybla:rtt0=0.05"` and `"mine.py:Mine"`, `loading` imports the class, `pool` runs jobs
in processes, `worker` is the program of such a process.
"""

from bentpipe.prototypes.loading import Maker, Prototype
from bentpipe.prototypes.pool import RunFailedError
from bentpipe.prototypes.spec import Spec, listed

__all__ = ["Maker", "Prototype", "RunFailedError", "Spec", "listed"]
