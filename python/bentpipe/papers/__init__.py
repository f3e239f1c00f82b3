"""Published experiments, run again.

A pack is a folder of `bentpipe.packs` (the project's `papers/`): `published.toml` with what the
paper prints, `scenarios/` with what to run, and a module `pack` that says which runs there are and
how a published quantity is computed from them. This package is what all packs share.
"""

from bentpipe.papers.pack import Job, Measured, Pack, Plan, Results, Row

__all__ = ["Job", "Measured", "Pack", "Plan", "Results", "Row"]
