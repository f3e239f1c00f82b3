"""Runs a command of the command line once, and shows its output on terminals of several widths.

    python at_widths.py 400 60 80 -- run small.toml

prints an object: `json` is the output with `--json`, each width what a pseudo-terminal of this
width gets. The simulations run the first time only. All later times the engine's results are given
again, call by call.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import sys
import tempfile
import termios
import threading
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

SIMULATE = ("run", "run_many", "run_study")


class Repeated:
    """A function of the engine whose results are kept in the order of its calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.kept: list[tuple[Any, list[Any]]] = []
        self.next = 0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The result of this call, and what it hands to a function among the arguments."""
        if self.next == len(self.kept):
            rows: list[Any] = []
            sinks = [callable(one) for one in arguments]
            given = [
                self.sink(one, rows) if is_sink else one
                for one, is_sink in zip(arguments, sinks, strict=True)
            ]
            self.kept.append((self.function(*given, **named), rows))
        else:
            for sink in filter(callable, arguments):
                for row in self.kept[self.next][1]:
                    sink(row)
        self.next += 1
        return self.kept[self.next - 1][0]

    @staticmethod
    def sink(function: Callable[[Any], Any], rows: list[Any]) -> Callable[[Any], Any]:
        def take(row: Any) -> Any:
            rows.append(row)
            return function(row)

        return take


def output(arguments: list[str], descriptor: int) -> None:
    """Runs the command with `descriptor` as its output; what it says on stderr is an error here."""
    with tempfile.TemporaryFile() as errors:
        kept = [os.dup(1), os.dup(2)]
        os.dup2(descriptor, 1)
        os.dup2(errors.fileno(), 2)
        sys.argv = ["bentpipe", *arguments]
        try:
            main()
            status: Any = 0
        except SystemExit as done:
            status = done.code or 0
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, old in enumerate(kept, start=1):
                os.dup2(old, number)
                os.close(old)
        errors.seek(0)
        said = errors.read().decode()
        if status or said:
            sys.exit(f"{arguments} ended with {status}: {said}")


def on_a_terminal(arguments: list[str], width: int) -> str:
    """The output on a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    parts: list[bytes] = []

    def read() -> None:
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:  # Linux: the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    output(arguments, theirs)
    os.close(theirs)
    reader.join()
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


def at_widths(widths: list[int], arguments: list[str]) -> dict[str, str]:
    """The output as JSON and on terminals of these widths."""
    simulations = [Repeated(getattr(_native, name)) for name in SIMULATE]
    for name, simulation in zip(SIMULATE, simulations, strict=True):
        setattr(_native, name, simulation)
    with tempfile.TemporaryFile() as file:
        output([*arguments, "--json"], file.fileno())
        file.seek(0)
        found = {"json": file.read().decode()}
    for width in widths:
        for simulation in simulations:
            simulation.next = 0
        found[str(width)] = on_a_terminal(arguments, width)
        assert all(one.next == len(one.kept) for one in simulations), "another run than for JSON"
    return found


if __name__ == "__main__":
    border = sys.argv.index("--")
    numbers, command = [int(one) for one in sys.argv[1:border]], sys.argv[border + 1 :]
    print(json.dumps(at_widths(numbers, command)))
