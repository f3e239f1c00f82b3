"""How far the simulator is from the kernel: the same scenario on both beds, over several seeds."""

from bentpipe.fidelity.experiment import Cell, Comparison, Experiment, compare

__all__ = ["Cell", "Comparison", "Experiment", "compare"]
