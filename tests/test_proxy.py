"""The commands of `bentpipe proxy` to a running daemon. A socket of this test answers as one does.

crates/proxy/tests has the real daemon.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from bentpipe import BentpipeError, proxy
from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Bentpipe

PATIENCE_S = 60


@pytest.fixture(scope="module", autouse=True)
def program() -> None:
    """The program, which is built if there is none."""
    try:
        proxy.program()
    except BentpipeError:
        command = ["cargo", "build", "--quiet", "--locked", "--package", "proxy"]
        subprocess.run(command, cwd=ROOT, check=True)


def leg(side: str, received: int) -> dict[str, Any]:
    return {
        "side": side, "state": 1, "srtt_ms": 612.3, "cwnd_segments": 400, "mss": 1448,
        "retransmitted_segments": 3, "unsent_bytes": 1000, "delivery_rate_bps": 9_800_000,
        "received_bytes": received, "waits_for_rate": False,
    }  # fmt: skip


def connection(number: int, received: int) -> dict[str, Any]:
    return {
        "client": f"10.1.0.{number}:50000", "server": "203.0.113.7:443", "is_connected": True,
        "seconds": 12, "held_bytes": 2000, "client_leg": leg("terrestrial", received),
        "server_leg": leg("satellite", 10),
    }  # fmt: skip


class Daemon:
    """Answers words on a control socket. Each list has more bytes than the one before."""

    def __init__(self, folder: Path) -> None:
        self.words: list[str] = []
        self.file = folder / "proxy.toml"
        path = folder / "control"
        self.file.write_text(
            f'control = "{path}"\n[terrestrial]\ninterfaces = ["eth0"]\n[satellite]\n'
            'interfaces = ["eth1"]\n'
        )
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            with stream, stream.makefile("r") as file:
                word, _, asked = file.read().partition(" ")
                if not word:
                    continue
                assert word == "list" or asked == str(self.file)
                self.words.append(word)
                stream.sendall(json.dumps(self.answer(word)).encode())
            if word == "stop":
                self.listener.close()
                return

    def answer(self, word: str) -> Any:
        if word == "list":
            received = 1_000_000 * self.words.count("list")
            return [connection(number, received) for number in range(30)]
        if word == "reload":
            return {"error": "reload refused; nothing has changed: proxy.toml:1:1: unknown key"}
        if word == "stop":
            return {"done": "stopping", "within_s": 2.5}
        return {"done": "process 7 has taken over"}


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    made = Daemon(tmp_path)
    yield made
    made.listener.close()


@contextmanager
def on_a_terminal(words: list[str], rows: int, columns: int) -> Iterator[tuple[Any, list[bytes]]]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    command = [sys.executable, "-m", "bentpipe", "proxy", *words]
    parts: list[bytes] = []
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)

        def read() -> None:
            try:
                while part := os.read(ours, 65536):
                    parts.append(part)
            except OSError:  # Linux: the other end is closed
                pass

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield process, parts
        finally:
            process.kill()
            process.wait()
            reader.join()
            os.close(ours)


@pytest.mark.parametrize("columns", [60, 80, 100, 120])
def test_top_is_drawn_again_in_place(columns: int, daemon: Daemon) -> None:
    with on_a_terminal(["top", str(daemon.file)], 24, columns) as (process, parts):
        start = time.monotonic()
        while daemon.words.count("list") < 3 and time.monotonic() - start < PATIENCE_S:
            time.sleep(0.05)
        time.sleep(0.3)
        assert process.poll() is None
    # The first picture clears the terminal, the others begin at its top.
    clear, *pictures = b"".join(parts).decode().split("\x1b[H")
    assert clear == "\x1b[2J"
    assert len(pictures) >= 3
    for picture in pictures[:3]:
        lines = picture.replace("\x1b[K", "").replace("\x1b[J", "").splitlines()
        assert len(lines) < 24
        assert max(map(len, lines)) <= columns
        assert lines[0] == "30 connections, 60.0 kB held"
        assert lines[-1] == "24 more"
    # A megabyte in about a second.
    rate = (
        float(pictures[1].splitlines()[3].removesuffix("\x1b[K").split()[-1]) if columns > 60 else 8
    )
    assert 4 < rate < 8.1


@pytest.mark.parametrize("words", [["--once"], []])
def test_top_is_one_table_once_and_without_a_terminal(
    words: list[str], daemon: Daemon, bentpipe: Bentpipe
) -> None:
    if words:
        with on_a_terminal(["top", str(daemon.file), *words], 24, 80) as (process, parts):
            assert process.wait(PATIENCE_S) == 0
        text = b"".join(parts).decode().replace("\r\n", "\n")
    else:
        text = bentpipe("proxy", "top", str(daemon.file)).stdout
    assert daemon.words == ["list"]
    assert "\x1b" not in text
    assert len(text.splitlines()) == 2 + 3 * 30
    assert max(map(len, text.splitlines())) <= 80


def test_commands_print_the_outcome(daemon: Daemon, bentpipe: Bentpipe) -> None:
    file = str(daemon.file)
    done = bentpipe("proxy", "reload", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert "reload refused; nothing has changed: proxy.toml:1:1: unknown key" in done.stderr
    done = bentpipe("proxy", "upgrade", file)
    assert (done.returncode, done.stdout) == (0, "process 7 has taken over\n")
    done = bentpipe("proxy", "stop", file)
    assert done.returncode == 0
    assert done.stdout == "stopping: open connections have 2.5 s to end\nstopped\n"
    assert daemon.words == ["reload", "upgrade", "stop"]
    done = bentpipe("proxy", "stop", file)
    assert done.returncode == 1
    assert "no daemon answers" in done.stderr


@pytest.mark.parametrize("command", ["top", "reload", "upgrade", "stop"])
def test_a_file_without_a_socket_is_refused(
    command: str, tmp_path: Path, bentpipe: Bentpipe
) -> None:
    text = '[terrestrial]\ninterfaces = ["eth0"]\n[satellite]\ninterfaces = ["eth1"]\n'
    (tmp_path / "proxy.toml").write_text(text)
    done = bentpipe("proxy", command, "proxy.toml")
    assert done.returncode == 2
    assert "expected the key `control`, found none" in done.stderr
