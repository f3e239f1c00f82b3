"""Commands that are forked from a process which has imported what they import.

Tests start a thousand commands, and importing takes most of a short one. Each forked command is a
process of its own, with its folder, environment, arguments, output and exit status; it runs the
function that `python -m bentpipe` runs. Tests of starting, signals and closed outputs start an
interpreter, and so does a command with other variables for Python, which are read at its start.

    forks.py DESCRIPTOR     serves the socket with this descriptor until its other end is closed
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LARGEST = 1 << 20
"""Bytes of a request at most: arguments and environment."""
NOT_IMPORTED = ("bentpipe.__main__", "bentpipe.new", "bentpipe.examples")
"""Modules that end the process, or are files for users."""
LIBRARIES = (
    "altair",
    "numpy",
    "polars",
    "rich.progress",
    "rich.table",
    "scipy.signal",
    "scipy.special",
)


class Forks:
    """The process that commands are forked from."""

    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(theirs.fileno())]
        self.of_python = of_python(os.environ)
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], process_group=0
        )
        theirs.close()

    def run(
        self, arguments: list[str], folder: Path, environment: dict[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command until it ends. Its output is text in UTF-8.

        After a `TimeoutError` nothing can be run: the process ends together with the command, whose
        exit status would be taken for that of the next one.
        """
        if of_python(environment) != self.of_python:
            return started(arguments, folder, environment, timeout)
        request = {"arguments": arguments, "folder": str(folder), "environment": environment}
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            files = [stdout.fileno(), stderr.fileno()]
            socket.send_fds(self.socket, [json.dumps(request).encode()], files)
            self.socket.settimeout(timeout)
            try:
                status = json.loads(self.socket.recv(LARGEST))
            except TimeoutError:
                os.killpg(self.process.pid, signal.SIGKILL)
                raise
            stdout.seek(0)
            stderr.seek(0)
            output = (stdout.read().decode(), stderr.read().decode())
        return subprocess.CompletedProcess(["bentpipe", *arguments], status, *output)

    def close(self) -> None:
        """End the process."""
        self.socket.close()
        self.process.wait()


def of_python(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that an interpreter reads when it starts."""
    return {name: value for name, value in environment.items() if name.startswith("PYTHON")}


def started(
    arguments: list[str], folder: Path, environment: dict[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run a command in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-m", "bentpipe", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def import_all() -> None:
    """All modules of Bentpipe, and libraries that they import when they are needed."""
    import bentpipe

    modules = (module.name for module in pkgutil.walk_packages(bentpipe.__path__, "bentpipe."))
    for name in (*LIBRARIES, *modules):
        if not name.startswith(NOT_IMPORTED):
            importlib.import_module(name)


def become(request: dict[str, Any], files: list[int]) -> NoReturn:
    """Turn this process into the command, which ends it."""
    from bentpipe.cli import main

    for target, file in enumerate(files, start=1):
        os.dup2(file, target)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[0] = request["folder"]  # as for `python -m`
    sys.argv = ["bentpipe", *request["arguments"]]
    try:
        main()
    except SystemExit as end:
        leave(end.code)
    except BaseException:
        traceback.print_exc()
        leave(1)
    leave(0)


def leave(status: str | int | None) -> NoReturn:
    """End this process as Python does, but without taking a thousand modules apart."""
    if isinstance(status, str):
        print(status, file=sys.stderr)
    # The two things that the interpreter does at its end; neither has a public name.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


def serve(descriptor: int) -> None:
    """Fork a command for each request, and answer with its exit status."""
    import_all()
    gc.freeze()
    with socket.socket(fileno=descriptor) as requests:
        while True:
            data, files, _, _ = socket.recv_fds(requests, LARGEST, 2)
            if not data:
                return
            child = os.fork()
            if child == 0:
                requests.close()
                become(json.loads(data), files)
            for file in files:
                os.close(file)
            _, status = os.waitpid(child, 0)
            requests.send(json.dumps(os.waitstatus_to_exitcode(status)).encode())


if __name__ == "__main__":
    serve(int(sys.argv[1]))
