"""A node with a split proxy on both backends, as users have it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bentpipe import KernelError, Scenario, proxy, run
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from conftest import Bentpipe

ROOT = Path(__file__).resolve().parents[1]
FILE = """
duration = "30s"

[[node]]
name = "gateway"

[node.proxy.satellite]
towards = ["client"]
initial_window = 30
recovery = "linux"

[[link]]
between = ["server", "gateway"]
rate = "50Mbit/s"
delay = "5ms"

[[link]]
between = ["gateway", "client"]
delay = "50ms"
rate = "10Mbit/s"

[[flow]]
from = "server"
to = "client"
controller = { name = "cubic", variant = "linux" }
transport = { recovery = "linux" }
traffic = { download = "1MB" }
"""


@pytest.fixture
def gateway(tmp_path: Path, for_kernel: Path) -> Path:
    """A scenario with a proxy that this machine can run, with the program built."""
    assert for_kernel.exists()
    try:
        proxy.program()
    except BentpipeError:
        command = ["cargo", "build", "--quiet", "--workspace", "--locked", "--bin", proxy.NAME]
        subprocess.run(command, cwd=ROOT, check=True)
    path = tmp_path / "gateway.toml"
    path.write_text(FILE)
    return path


def test_both_backends_have_a_row_for_each_leg(gateway: Path) -> None:
    found: dict[str, pl.DataFrame] = {}
    for backend in ("simulator", "kernel"):
        recording = run(Scenario.load(gateway), backend=backend).recording
        assert recording.flows[0].completed
        found[backend] = pl.DataFrame(recording.table("legs"))
    simulator, kernel = found["simulator"], found["kernel"]
    assert simulator.schema == kernel.schema
    for column in ("from", "to", "protocol", "controller", "recovery", "connections", "bytes"):
        assert simulator[column].to_list() == kernel[column].to_list(), column
    assert kernel["controller_status"].to_list() == ["kernel", "kernel"]
    for row in range(2):
        assert kernel["min_rtt_ms"][row] == pytest.approx(simulator["min_rtt_ms"][row], rel=0.1)


def test_a_server_that_never_answers_is_given_up_in_time(gateway: Path) -> None:
    """The signal towards the server is lost before the client's SYN, which is reset in time."""
    text = FILE.replace(
        "[node.proxy.satellite]", '[node.proxy]\nconnect_timeout = "2s"\n\n[node.proxy.satellite]'
    )
    text = text.replace('delay = "5ms"', 'delay = "5ms"\nevent = [{ at = "1ms", outage = "1h" }]')
    gateway.write_text(text.replace("[[flow]]", '[[flow]]\nstart = "500ms"'))
    for backend in ("simulator", "kernel"):
        recording = run(Scenario.load(gateway), backend=backend).recording
        assert recording.flows[0].aborted, backend
        # The daemon looks once a second. Without the key it waits for 75 s.
        assert 2.5 < recording.simulated_s < 15, backend


CK_STP = ("ck-stp", "--set", "rate=10", "--set", "rtt=101.242")
PRESETS = {"pepsal": ("hybla",), "ck-stp": CK_STP, "aerotcp": CK_STP}
"""Presets with the controllers that they need in the kernel."""
OVER_SCPS_TP = {"scps-gateway", "satpep"}
"""Presets over a protocol that no kernel has. Tests of `testbed::plan` see them rejected."""


@pytest.mark.parametrize(("preset", "load"), PRESETS.items())
@pytest.mark.usefixtures("kernel")
def test_each_preset_carries_a_download_through_the_daemon(
    bentpipe: Bentpipe, gateway: Path, preset: str, load: tuple[str, ...]
) -> None:
    text = FILE.replace(
        "[node.proxy.satellite]", f'[node.proxy]\npreset = "{preset}"\n\n[node.proxy.satellite]'
    )
    gateway.write_text(text)
    loaded = bentpipe("kernel", "load", *load)
    assert loaded.returncode == 0, loaded.stderr
    try:
        recording = run(Scenario.load(gateway), backend="kernel").recording
    finally:
        bentpipe("kernel", "unload", load[0])
    assert recording.flows[0].completed
    legs = pl.DataFrame(recording.table("legs"))
    assert legs["controller"].to_list() == ["cubic", load[0]]
    assert legs["controller_status"].to_list() == ["kernel", "kernel"]
    assert legs["bytes"].to_list() == [1_000_000, 1_000_000]
    assert legs["connections_aborted"].to_list() == [0, 0]


def test_every_preset_has_a_test_with_the_daemon(bentpipe: Bentpipe) -> None:
    """Those of other keys are in `crates/testbed/tests/runs/mechanisms.rs`."""
    listed = json.loads(bentpipe("path", "--json").stdout)["mechanisms"]
    presets = {one["name"] for one in listed if one["key"] == "node.proxy"}
    assert presets == PRESETS.keys() | OVER_SCPS_TP


def test_a_program_of_the_shell_goes_through_the_proxy(
    bentpipe: Bentpipe, gateway: Path, tmp_path: Path
) -> None:
    (tmp_path / "page").write_text("through the gateway")
    # A proxy accepts before it asks the server, so a port without a server looks open at first.
    program = """
import socket, time, urllib.request
for attempt in range(100):
    try:
        page = urllib.request.urlopen("http://server:8000/page").read()
        break
    except OSError:
        time.sleep(0.1)
assert page == b"through the gateway", page
refused = socket.create_connection(("server", 9))
try:
    refused.recv(1)
except ConnectionResetError:
    raise SystemExit(7)
"""
    serve = f"python3 -m http.server 8000 --bind server --directory {tmp_path} >/dev/null 2>&1"
    command = ["shell", str(gateway), "--serve", "server", serve, "--", "python3", "-c", program]
    done = bentpipe(*command)
    assert done.returncode == 7, done.stderr
    unsplit = FILE.replace("[node.proxy.satellite]", "").replace('towards = ["client"]', "")
    unsplit = unsplit.replace("initial_window = 30\n", "", 1).replace('recovery = "linux"\n', "", 1)
    gateway.write_text(unsplit)
    done = bentpipe(*command)
    assert "ConnectionRefusedError" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (
            "initial_window = 30",
            'careful_resume = { saved_cwnd = "1MB", saved_rtt = "110ms" }',
            9,
            "careful_resume: expected none",
        ),
        ("initial_window = 30", 'controller = "peach"', 9, "controller: expected one that"),
        ('recovery = "linux"\n', "", 7, "tcp_dsack: expected the same as for"),
    ],
)
def test_what_the_daemon_cannot_do_is_refused_at_its_line(
    gateway: Path, old: str, new: str, line: int, message: str
) -> None:
    text = FILE.replace(old, new, 1)
    if not new:
        text = text.replace("initial_window = 30", 'controller = "cubic"')
    gateway.write_text(text)
    with pytest.raises(KernelError) as raised:
        run(Scenario.load(gateway), backend="kernel")
    assert f"gateway.toml:{line}:" in str(raised.value)
    assert message in str(raised.value)


def test_without_the_program_the_message_says_how_to_get_it(
    gateway: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: Any, **__: Any) -> None:
        return None

    monkeypatch.setattr(proxy, "SOURCES", Path("/nowhere"))
    monkeypatch.setattr("shutil.which", nothing)
    monkeypatch.setattr("sysconfig.get_path", lambda _: "/nowhere")
    with pytest.raises(BentpipeError, match="make proxy"):
        run(Scenario.load(gateway), backend="kernel")
