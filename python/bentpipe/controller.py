"""Controllers in Python: the class to inherit from, and the arguments of its methods.

    import bentpipe
    from bentpipe.controller import Ack, Controller

    class Timid(Controller):
        def avoid_congestion(self, ack: Ack) -> None:
            self.window.grow_by_fraction(self.window.mss * ack.acked // 2)

    bentpipe.run(scenario, controllers={"*": Timid})

See docs/python-controllers.md.
"""

from bentpipe._native import (
    Ack,
    Controller,
    Feedback,
    Loss,
    LostSegment,
    Needs,
    PartialAck,
    PathChange,
    RateSample,
    Sent,
    Settings,
    Window,
)
from bentpipe.errors import ControllerError

__all__ = [
    "Ack",
    "Controller",
    "ControllerError",
    "Feedback",
    "Loss",
    "LostSegment",
    "Needs",
    "PartialAck",
    "PathChange",
    "RateSample",
    "Sent",
    "Settings",
    "Window",
]
