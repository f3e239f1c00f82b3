"""Signals of the command line.

Until a command works, a signal ends the process at once: there is nothing to keep, and an exception
amid an import would print a traceback. While it works, Ctrl-C and SIGTERM raise
`KeyboardInterrupt`, so that finished results are kept. SIGTERM is how Slurm, systemd and containers
end a process.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130
"""Exit status after Ctrl-C or SIGTERM."""

AGAIN_S = 0.01


def is_command() -> bool:
    """True if this process is `bentpipe` or `python -m bentpipe`, also while it imports itself."""
    # Each `import bentpipe` comes here, and pathlib would take a sixth of it.
    program = os.path.basename(sys.argv[0]) if sys.argv else ""  # noqa: PTH119
    if program == "-m":
        words = sys.orig_argv
        return "bentpipe" in words[words.index("-m") + 1 : words.index("-m") + 2]
    return program == "bentpipe"


def end_at_once() -> None:
    """Let signals end the process with one line. Ignored signals stay ignored."""

    def end(number: int, frame: FrameType | None) -> None:
        os.write(2, b"bentpipe: interrupted\n")
        os._exit(INTERRUPTED)

    handle(end, end)


def ignore() -> None:
    """Ignore signals: the exit status stands, and an ending interpreter would die of them.

    Under `python -m`, Python also dies of SIGINT after its end if the last string that was executed
    (`exec`, `eval`) ended in a `KeyboardInterrupt`, even in one that was caught. Packages execute
    strings while they are imported, so one more is evaluated here.
    """
    handle(signal.SIG_IGN, signal.SIG_IGN)
    eval("None")


def interrupt() -> None:
    """Let signals raise `KeyboardInterrupt`, also those that come in a callback of the interpreter.

    Python prints what such a callback raises and goes on. Here the signal comes once more.
    """

    def ignored(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            threading.Timer(AGAIN_S, signal.raise_signal, [signal.SIGINT]).start()
        else:
            sys.__unraisablehook__(unraisable)

    def terminate(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    sys.unraisablehook = ignored
    handle(signal.default_int_handler, terminate)


def leave_termination() -> None:
    """Let SIGTERM end the process at once, for a command that waits for another program."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def handle(on_interrupt: signal._HANDLER, on_termination: signal._HANDLER) -> None:
    """Set the handlers of both signals where they are not ignored."""
    for number, handler in ((signal.SIGINT, on_interrupt), (signal.SIGTERM, on_termination)):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


if is_command() and threading.current_thread() is threading.main_thread():
    end_at_once()
    # First registered is called last.
    atexit.register(ignore)
