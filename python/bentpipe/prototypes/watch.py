"""Finds methods of controllers in Python that block.

A timer looks for a call that was under way at one tick and is still under way much later. A method
that never returns to the interpreter is found by a thread of `faulthandler`, which writes the
traceback and ends the process.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
Result = TypeVar("Result")

GIVEN_UP = 1
"""Exit status if a controller cannot be interrupted."""
TICKS = 4
"""Looks at the running call within the time after which it has blocked."""


class BlockedError(BaseException):
    """A call has taken too long. No `except Exception` of a controller catches it."""


class Watch:
    """Looks for calls that take longer than `limit_s`.

    `defied` is called before the process ends because a controller catches `BlockedError`. The
    traceback of a call that never returns is written to the file descriptor `dump`.
    """

    def __init__(self, limit_s: float, dump: int, defied: Callable[[str], object]) -> None:
        self.limit_s = limit_s
        self.dump = dump
        self.defied = defied
        self.call: FrameType | None = None
        self.since = 0.0

    def start(self) -> None:
        """Begin to look."""
        self.arm()
        signal.signal(signal.SIGALRM, self.tick)
        signal.setitimer(signal.ITIMER_REAL, self.limit_s / TICKS, self.limit_s / TICKS)

    def stop(self) -> None:
        """Look no more."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()

    def arm(self) -> None:
        """End the process if there is no tick for long."""
        faulthandler.dump_traceback_later(2 * self.limit_s, exit=True, file=self.dump)

    def tick(self, _signal: int, frame: FrameType | None) -> None:
        """Compare the running call with that of the last tick."""
        self.arm()
        call = outermost(frame)
        now = time.monotonic()
        if call is None or call is not self.call:
            self.call, self.since = call, now
            return
        took_s = now - self.since
        if took_s >= 2 * self.limit_s:
            # The controller has caught the exception and goes on.
            self.defied(blocked(took_s))
            os._exit(GIVEN_UP)
        if took_s >= self.limit_s:
            raise BlockedError(blocked(took_s))


def blocked(took_s: float) -> str:
    """The description of a call without end."""
    return f"a method blocks: one call has taken {took_s:.0f} s"


def outermost(frame: FrameType | None) -> FrameType | None:
    """The call of the engine that is under way; None while no Python runs for it."""
    inner = None
    while frame is not None and frame.f_code is not perform.__code__:
        inner, frame = frame, frame.f_back
    return inner if frame is not None else None


def perform(call: Callable[..., Result], *arguments: Any, **named: Any) -> Result:
    """Call the engine. The frame of this function marks where the controllers begin."""
    return call(*arguments, **named)
