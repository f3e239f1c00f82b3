"""Scenarios on the kernel of this machine, as users start them."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bentpipe import Scenario, load, run

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

SHORT = ("--set", "link.0.delay=50ms", "--set", "flow.0.controller=cubic")


def test_a_scenario_gives_the_same_recording_on_both_backends(
    bentpipe: Bentpipe, for_kernel: Path
) -> None:
    found = {}
    for backend in ("simulator", "kernel"):
        done = bentpipe("run", for_kernel, "--backend", backend, *SHORT, "--json")
        assert done.returncode == 0, done.stderr
        found[backend] = json.loads(done.stdout)
    quality = found["kernel"].pop("kernel")
    assert quality["timed_packets"] > 300
    assert found["kernel"].keys() == found["simulator"].keys()
    # The kernel reports no RTT samples, so it has no distribution of them. Of the limits it knows
    # the times of the receive window and of the send buffer.
    absent = {f"{name}_rtt_ms" for name in ("mean", "median", "p95", "p99", "max")} | {
        f"limited_by_{name}"
        for name in ("set_up", "recovery", "application", "congestion_window", "pacing")
    }
    of_kernel, of_simulator = (found[name]["flows"][0].keys() for name in ("kernel", "simulator"))
    assert of_kernel == of_simulator - absent
    assert absent <= of_simulator
    assert found["kernel"]["links"][0].keys() == found["simulator"]["links"][0].keys()
    assert found["kernel"]["flows"][0]["bytes"] == found["simulator"]["flows"][0]["bytes"]


def test_connections_that_have_ended_take_no_time_of_the_processor(
    bentpipe: Bentpipe, for_kernel: Path, tmp_path: Path
) -> None:
    (tmp_path / "two.toml").write_text(
        for_kernel.read_text()
        + """
[[flow]]
from = "server"
to = "client"
start = "5s"
controller = "cubic"
traffic = { download = "10kB" }
"""
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    shorter = ("--set", "flow.0.traffic.download=10kB", "--set", "flow.0.name=first")
    done = bentpipe("run", "two.toml", "--backend", "kernel", *SHORT, *shorter, "--json")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    simulated = json.loads(done.stdout)["simulated_s"]
    assert simulated > 5
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < simulated / 2, "something is asked again and again"


def test_a_trace_limits_both_backends(for_kernel: Path, tmp_path: Path) -> None:
    # One delivery of 1500 bytes in each second millisecond: 6 Mbit/s on a link of 100 Mbit/s.
    deliveries = tmp_path / "deliveries"
    deliveries.write_text("".join(f"{2 * n}\n" for n in range(1, 500)))
    trace = {"deliveries": str(deliveries), "loop": True}
    changes = {"link.0.rate": "100Mbit/s", "link.0.delay": "5ms", "link.0.forward.trace": trace}
    scenario = Scenario.load(for_kernel).with_(changes | {"flow.0.traffic.download": "1MB"})
    for backend in ("simulator", "kernel"):
        (flow,) = run(scenario, backend=backend).recording.flows
        assert flow.completed
        assert flow.bytes == 1_000_000
        assert flow.completion_s is not None
        assert flow.completion_s >= 1e6 * 8 / 6e6, backend


def test_the_quality_of_the_emulation_is_printed(bentpipe: Bentpipe, for_kernel: Path) -> None:
    done = bentpipe("run", for_kernel, "--backend", "kernel", *SHORT)
    assert done.returncode == 0, done.stderr
    assert "delay error of" in done.stdout
    assert "valid" in done.stdout or "INVALID" in done.stdout
    assert "transport.rto.min" in done.stdout


@pytest.mark.parametrize(
    ("ip", "field", "addresses"),
    [("ipv4", "ip.src", {"10.0.0.1", "10.0.0.2"}), ("ipv6", "ipv6.src", {"fd00::1", "fd00::2"})],
)
def test_series_and_packets_are_saved(
    bentpipe: Bentpipe, for_kernel: Path, tmp_path: Path, ip: str, field: str, addresses: set[str]
) -> None:
    out = tmp_path / "out"
    changed = [*SHORT, "--set", "record.interval=50ms", "--set", f"ip={ip}"]
    done = bentpipe("run", for_kernel, "--backend", "kernel", *changed, "--out", out, "--pcap")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in out.iterdir()} >= {
        "recording.json", "flow_series.parquet", "link_series.parquet", "capture.pcapng",
    }  # fmt: skip
    if shutil.which("tshark"):
        command = ("tshark", "-r", out / "capture.pcapng", "-T", "fields", "-e", field)
        read = subprocess.run(command, capture_output=True, text=True, check=True)
        assert addresses == set(read.stdout.split())


def test_python_runs_on_the_kernel_and_loads_what_was_saved(
    for_kernel: Path, tmp_path: Path
) -> None:
    changes = {"link.0.delay": "50ms", "flow.0.controller": "cubic", "record.interval": "50ms"}
    done = run(Scenario.load(for_kernel).with_(changes), backend="kernel")
    assert (done.backend, done.flows["bytes"].to_list()) == ("kernel", [300_000])
    assert done.kernel is not None
    assert done.kernel.timed_packets > 300
    done.save(tmp_path / "out")
    assert load(tmp_path / "out").kernel == done.kernel
    assert load(tmp_path / "out") == done


def test_a_controller_that_the_kernel_lacks_is_bad_input(
    bentpipe: Bentpipe, for_kernel: Path
) -> None:
    done = bentpipe("run", for_kernel, "--backend", "kernel", "--set", "flow.0.controller=adalr")
    assert done.returncode == 2
    assert "controller: expected one that this kernel has: " in done.stderr


def test_a_segment_too_small_for_ipv6_is_bad_input(bentpipe: Bentpipe, for_kernel: Path) -> None:
    small = ("--set", "ip=ipv6", "--set", "flow.0.transport.mss=1219")
    done = bentpipe("run", for_kernel, "--backend", "kernel", *SHORT, *small)
    assert done.returncode == 2
    told = "mss: expected 1220 to 32767; no MTU of IPv6 is below 1280 (RFC 8200 section 5)"
    assert told in done.stderr


def test_a_program_runs_across_the_link(bentpipe: Bentpipe, for_kernel: Path) -> None:
    connect = (
        "import socket, time\n"
        "for attempt in range(200):\n"
        "    start = time.monotonic()\n"
        "    try: socket.create_connection(('server', 7000)); break\n"
        "    except OSError: time.sleep(0.05)\n"
        "print(time.monotonic() - start)\n"
        "raise SystemExit(3)"
    )
    serve = f"exec {sys.executable} -c \"import socket; socket.create_server(('', 7000)).accept()\""
    done = bentpipe(
        "shell", for_kernel, "--set", "link.0.channel.per=0", "--serve", "server", serve,
        "--", sys.executable, "-c", connect,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert 0.5 <= float(done.stdout) < 0.6
    assert "delay error of" in done.stderr
    done = bentpipe("shell", for_kernel, "--", "true")
    assert done.returncode == 0, done.stderr
    assert "no packet crossed a link, so the delay error is unknown" in done.stderr
    assert "; valid" not in done.stderr


@pytest.mark.parametrize(
    ("wrapper", "told"),
    [
        (("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"), "CAP_SYS_ADMIN"),
        (
            ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev/net && exec "$@"', "sh"),
            "the kernel backend needs /dev/net/tun; load the kernel module tun",
        ),
    ],
)
def test_what_the_machine_lacks_is_told(
    for_kernel: Path, wrapper: tuple[str, ...], told: str
) -> None:
    if shutil.which(wrapper[0]) is None:
        pytest.skip(f"{wrapper[0]} is not installed")
    command = [
        sys.executable,
        "-m",
        "bentpipe",
        "run",
        str(for_kernel),
        "--backend",
        "kernel",
        *SHORT,
    ]
    done = subprocess.run([*wrapper, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
