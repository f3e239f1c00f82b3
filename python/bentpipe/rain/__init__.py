"""Rain attenuation on a slant path: statistics of a site, series, and events on demand.

    from bentpipe.rain import SPINO_DADDA, DiracLognormal, attenuation_exceeded, event

    print(attenuation_exceeded(SPINO_DADDA, 0.01), "dB for 0.01 % of the year")
    fade = event(DiracLognormal.fit(SPINO_DADDA), 12.0, 1200.0, seed=1)
    fade.save("fade.csv")

docs/rain.md describes the methods. Importing this module loads NumPy and SciPy.
"""

from bentpipe.rain.cells import Cells, Grid, cells
from bentpipe.rain.elevations import Elevations, at_elevations
from bentpipe.rain.event import event
from bentpipe.rain.series import Series
from bentpipe.rain.site import SPINO_DADDA, Site, rain_height_km
from bentpipe.rain.specific import coefficients
from bentpipe.rain.statistics import attenuation_exceeded
from bentpipe.rain.synthesis import METHODS, DiracLognormal, MasengBakken, Synthesis

__all__ = [
    "METHODS",
    "SPINO_DADDA",
    "Cells",
    "DiracLognormal",
    "Elevations",
    "Grid",
    "MasengBakken",
    "Series",
    "Site",
    "Synthesis",
    "at_elevations",
    "attenuation_exceeded",
    "cells",
    "coefficients",
    "event",
    "rain_height_km",
]
