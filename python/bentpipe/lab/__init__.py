"""The live page: a scenario whose sliders run it again, on this machine only (docs/lab.md).

from bentpipe.lab import Lab

with Lab("geo-ku", controllers=["cubic", "bbr"]) as lab:
    print(lab.address)
"""

from bentpipe.lab.notebook import Lab

__all__ = ["Lab"]
