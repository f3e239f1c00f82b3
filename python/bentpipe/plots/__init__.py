"""Figures in one theme: charts of runs for Python (`Plots`), and figures of pages (`vega`)."""

from bentpipe.plots.figure import Figure
from bentpipe.plots.runs import Plots

__all__ = ["Figure", "Plots"]
