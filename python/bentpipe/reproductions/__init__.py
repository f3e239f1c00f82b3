"""Published experiments, run again.

Each folder here is the reproduction of one paper: `published.toml` lists the printed values,
`scenarios/` holds the scenarios, and the module `experiments` defines the runs and computes the
published quantities from them. The modules beside the folders are shared by all reproductions.
"""

from bentpipe.reproductions.reproduction import Job, Measured, Plan, Reproduction, Results, Row

__all__ = ["Job", "Measured", "Plan", "Reproduction", "Results", "Row"]
