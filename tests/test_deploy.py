"""`bentpipe kernel`: controllers in the running kernel, where there are root and BTF."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as package
from conftest import ROOT

if TYPE_CHECKING:
    from conftest import Bentpipe

KERNEL_NAMES = {row.name: row.kernel_name for row in package.kernel_controllers()}
NAMES = list(KERNEL_NAMES)
MISSING = package.kernel_missing()
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
TRANSFER = Path(__file__).parent / "kernel_transfer.py"

needs_kernel = pytest.mark.skipif(bool(MISSING), reason=f"missing: {'; '.join(MISSING)}")
needs_ip = pytest.mark.skipif(shutil.which("ip") is None, reason="missing: iproute2")


def ip(*arguments: str) -> str:
    """What iproute2 prints."""
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


def transfer(name: str) -> dict[str, Any]:
    """What the transfer of one controller has seen, in namespaces of its own."""
    result = subprocess.run(
        ["unshare", "--net", "--mount", sys.executable, TRANSFER, name],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    seen: dict[str, Any] = json.loads(result.stdout)
    return seen


@needs_kernel
@needs_ip
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("name", NAMES)
def test_the_verifier_takes_it_and_it_carries_a_transfer_that_loses_segments(name: str) -> None:
    seen = transfer(name)
    assert seen["chosen"] == KERNEL_NAMES[name]
    assert seen["received"] == 300 << 16
    assert seen["resent"] > 0
    assert seen["cwnd"] > 2
    assert (seen["loaded"]["loaded"], seen["loaded"]["sockets"]) == (True, 1)
    assert seen["kept"] == 1
    assert (seen["unloaded"]["loaded"], seen["unloaded"]["sockets"]) == (False, 1)
    assert seen["left"] == []


@needs_kernel
@pytest.mark.usefixtures("kernel")
def test_it_stays_when_the_command_ends_and_goes_when_it_is_unloaded(bentpipe: Bentpipe) -> None:
    loaded = bentpipe("kernel", "load", "veno", "--set", "beta=5")
    try:
        assert (loaded.returncode, loaded.stderr) == (0, "")
        (use,) = json.loads(bentpipe("kernel", "status", "--json").stdout)["controllers"]
        assert use["parameters"] == [{"name": "beta", "value": "5", "default": False}]
        assert "bp_veno" in AVAILABLE.read_text()
        again = bentpipe("kernel", "load", "bp_veno")
        assert (again.returncode, "loaded already" in again.stderr) == (2, True)
        assert bentpipe("kernel", "set", "veno", "beta=2.5").stdout == "beta = 2.5\n"
        assert "beta=2.5" in bentpipe("kernel", "status").stdout
    finally:
        unloaded = bentpipe("kernel", "unload", "veno")
    assert (unloaded.returncode, unloaded.stderr) == (0, "")
    again = bentpipe("kernel", "unload", "veno")
    assert (again.returncode, "bp_veno is not loaded" in again.stderr) == (2, True)


@needs_kernel
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("name", ["westwood-plus", "ck-stp", "logwestwood-plus"])
def test_the_command_prints_the_name_that_the_kernel_has(bentpipe: Bentpipe, name: str) -> None:
    in_kernel = KERNEL_NAMES[name]
    try:
        assert f"{in_kernel} is loaded" in bentpipe("kernel", "load", name).stdout
        assert in_kernel in AVAILABLE.read_text().split()
    finally:
        unloaded = bentpipe("kernel", "unload", name)
    assert f"{in_kernel} is unloaded" in unloaded.stdout


@needs_kernel
@needs_ip
@pytest.mark.usefixtures("kernel")
def test_a_namespace_has_it_as_default_only_when_asked_to(bentpipe: Bentpipe) -> None:
    here = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text()
    space = f"bentpipe-{os.getpid()}"
    inside = ("netns", "exec", space, "cat", "/proc/sys/net/ipv4/tcp_congestion_control")
    ip("netns", "add", space)
    try:
        before = ip(*inside)
        assert bentpipe("kernel", "load", "hybla").returncode == 0
        assert ip(*inside) == before
        loaded = bentpipe("kernel", "load", "hybla", "--default", "--namespace", space)
        assert (loaded.returncode, loaded.stderr) == (0, "")
        assert ip(*inside) == "bp_hybla\n"
        assert space in bentpipe("kernel", "status").stdout
    finally:
        bentpipe("kernel", "unload", "hybla")
        after = ip(*inside)
        ip("netns", "del", space)
    assert after == before
    assert Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text() == here


@needs_kernel
@needs_ip
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("loaded", "unloaded", "between"),
    [
        (["hybla", "veno"], ["hybla", "veno"], "bp_veno"),
        (["hybla", "veno"], ["veno", "hybla"], "bp_hybla"),
        (["hybla", "veno", "hybla"], ["hybla", "veno"], None),
        (["hybla", "veno", "hybla"], ["veno", "hybla"], "bp_hybla"),
    ],
)
def test_a_namespace_gets_its_first_default_back_in_any_order(
    bentpipe: Bentpipe, loaded: list[str], unloaded: list[str], between: str | None
) -> None:
    """After the first unload the default is `between`; None for that before all."""
    space = f"bentpipe-{os.getpid()}"
    inside = ("netns", "exec", space, "cat", "/proc/sys/net/ipv4/tcp_congestion_control")
    first = next(name for name in AVAILABLE.read_text().split() if name != "reno")
    ip("netns", "add", space)
    try:
        ip("netns", "exec", space, "sysctl", "-qw", f"net.ipv4.tcp_congestion_control={first}")
        for name in loaded:
            done = bentpipe("kernel", "load", name, "--default", "--namespace", space)
            assert (done.returncode, done.stderr) == (0, "")
        found = []
        for name in unloaded:
            assert bentpipe("kernel", "unload", name).returncode == 0
            found.append(ip(*inside).strip())
    finally:
        for name in ("hybla", "veno"):
            bentpipe("kernel", "unload", name)
        ip("netns", "del", space)
    assert found == [between or first, first]


def test_the_list_says_what_there_is(bentpipe: Bentpipe) -> None:
    listed = json.loads(bentpipe("kernel", "list", "--json").stdout)
    assert [row["name"] for row in listed["controllers"]] == NAMES
    assert listed["missing"] == MISSING
    assert "bp_logwestplus" in bentpipe("kernel", "list").stdout


def test_the_documentation_has_the_controllers_of_linux() -> None:
    text = (ROOT / "docs" / "kernel.md").read_text(encoding="utf-8")
    for row in package.kernel_likeness():
        name, likeness = row.definition, row.likeness
        assert f"| `{name}` | `{row.kernel_name}` | {likeness} | {row.differs} |" in text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["load", "hibla"], 'did you mean "hybla"?'),
        (["load", "veno", "--set", "betta=1"], 'did you mean "beta"?'),
        (["load", "veno", "--set", "beta=-1"], "a number from 0 to 1000000"),
        (["load", "adalr", "--set", "rwnd=per-ack"], "would break flow control"),
        (["load", "veno", "--namespace", "x"], "add --default"),
        (["set", "ck-stp", "rate"], "NAME=VALUE"),
        (
            ["set", "hybla", "rtt0=7", "rtt0=8"],
            'expected one value of "rtt0", found "rtt0=7" and "rtt0=8"',
        ),
        (
            ["load", "veno", "--set", "beta=2", "--set", "beta=3"],
            'expected one value of "beta", found "beta=2"',
        ),
    ],
)
def test_bad_input_is_answered(bentpipe: Bentpipe, arguments: list[str], told: str) -> None:
    result = bentpipe("kernel", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert told in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_without_root_it_says_what_is_missing() -> None:
    code = (
        "import os, bentpipe, bentpipe.cli\n"
        "os.setresuid(65534, 65534, 65534)\n"
        "bentpipe.cli.main()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, "kernel", "load", "veno"], capture_output=True, text=True
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert "missing: root: run it with sudo" in result.stderr
