"""Figures in one theme. `Figure` is the figure of all users; `Plots` are the figures of a run."""

from bentpipe.plots.figure import FORMATS, Figure, save_figures
from bentpipe.plots.grid import Tile, grid_figure
from bentpipe.plots.lines import as_points, line_figure
from bentpipe.plots.points import Point, bar_figure, interval_figure, ranking_figure
from bentpipe.plots.runs import Plots
from bentpipe.plots.tradeoff import Spot, tradeoff_figure, with_front

__all__ = [
    "FORMATS",
    "Figure",
    "Plots",
    "Point",
    "Spot",
    "Tile",
    "as_points",
    "bar_figure",
    "grid_figure",
    "interval_figure",
    "line_figure",
    "ranking_figure",
    "save_figures",
    "tradeoff_figure",
    "with_front",
]
