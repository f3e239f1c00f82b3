"""Comparison of simulator and kernel: the same scenario on both backends, over several seeds."""

from bentpipe.fidelity.experiment import Cell, Comparison, Experiment, compare

__all__ = ["Cell", "Comparison", "Experiment", "compare"]
