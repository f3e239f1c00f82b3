"""Figures of runs, as Altair charts in one theme; see `Plots`."""

from bentpipe.plots.figure import Figure
from bentpipe.plots.runs import Plots

__all__ = ["Figure", "Plots"]
