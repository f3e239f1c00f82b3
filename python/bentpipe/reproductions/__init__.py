"""Reproductions of published experiments.

Each folder is the reproduction of one paper. `published.toml` lists the printed values,
`scenarios/` has the scenarios, and the module `experiments` defines the runs and computes the
published quantities from them. The modules next to the folders are shared by all reproductions.
"""

from bentpipe.reproductions.judgement import Judged, Measured, Row, Summary
from bentpipe.reproductions.reproduction import Job, Plan, Reproduction, Results, find

__all__ = ["Job", "Judged", "Measured", "Plan", "Reproduction", "Results", "Row", "Summary", "find"]
