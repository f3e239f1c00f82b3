"""Common to several tests: the command as users start it, scenarios to change, and reproductions.

Also which tests share a process when they run on several.
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from xdist.scheduler import LoadScopeScheduling

import at_night
from bentpipe import KernelError, Scenario, run_on_kernel
from forks import Forks
from reproduced import reproduced

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from xdist.remote import Producer

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"

# A shell starts its background jobs with Ctrl-C ignored, and so whatever they start; the tests of
# Ctrl-C would then wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Runs on the kernel are in real time. Controllers in the kernel are there for all of them.

    All papers take minutes.
    """
    for item in items:
        if "kernel" in item.fixturenames:
            item.add_marker("kernel")
        elif "for_kernel" in item.fixturenames and not item.get_closest_marker("alone"):
            item.add_marker("real_time")
        if "reproductions" in item.fixturenames:
            item.add_marker("nightly")
    at_night.mark(items)


def pytest_collection_finish() -> None:
    """What pytest has collected stays, and need not be searched for garbage again."""
    gc.collect()
    gc.freeze()


class Scheduler(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each process one test after the other, but all tests of a file that shares fixtures.

    Fixtures of a module are made by each process that runs a test of it. pytest-xdist 3.8 has marks
    for this, which pytest 9.2 no longer passes on.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        return file if shares_fixtures(file) else nodeid


@cache
def shares_fixtures(file: str) -> bool:
    """Return true if a file of tests has fixtures that are made once for all of its tests."""
    return 'scope="module"' in (ROOT / file).read_text(encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduler:
    """Largest groups first: see `Scheduler`."""
    return Scheduler(config, log)


SMALL = """\
name = "small"
duration = "60s"

[[link]]
between = ["server", "client"]
rate = "2Mbit/s"
delay = "250ms"
channel = { per = 0.01 }

[[flow]]
from = "server"
to = "client"
controller = "newreno"
traffic = { download = "300kB" }

[record]
interval = "1s"
"""

STUDY = """\
title = "Small"
scenario = "small.toml"

[parameters]
controller = { path = "flow.0.controller", values = ["newreno", "hybla"] }
delay = { path = "link.0.delay", range = { from = "100ms", to = "200ms", step = "100ms" } }

[replications]
count = 20

[[quantity]]
name = "flow.completion_s"
percentiles = [5, 95]

[[quantity]]
name = "link.server-client.forward.utilisation"
interval = "bootstrap"

[[comparison]]
parameter = "controller"
baseline = "newreno"
"""


class Bentpipe(Protocol):
    """Runs the command line with arguments and returns what it printed and its exit status."""

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]: ...


TUNNEL = """
duration = "6s"

[[link]]
between = ["server", "gateway"]
rate = "50Mbit/s"
delay = "5ms"

[[link]]
between = ["gateway", "hub"]
rate = "5Mbit/s"
delay = "20ms"
mtu = 1400

[[link]]
between = ["hub", "client"]
rate = "50Mbit/s"
delay = "5ms"

[[flow]]
from = "server"
to = "client"
controller = "reno"
traffic = { bulk = "200kB" }
"""
"""A path whose second link has a small MTU."""


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """The process that commands are forked from: one for each process of pytest."""
    found = Forks()
    yield found
    found.close()


@pytest.fixture
def bentpipe(tmp_path: Path, forks: Forks) -> Bentpipe:
    """The command line, started in an empty folder."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"COLUMNS": "160", "NO_COLOR": "1"}
        return forks.run([*map(str, arguments)], tmp_path, environment, timeout=60)

    return run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario file with losses and series that runs in a millisecond."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def file(small: Path) -> Path:
    """A study of 80 runs of a millisecond beside its scenario."""
    path = small.parent / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture(scope="session")
def reproductions() -> Path:
    """The folder of `bentpipe papers run --out`, and its JSON as `printed.json`."""
    return reproduced()


@pytest.fixture
def for_kernel(small: Path) -> Path:
    """A scenario that this machine's kernel can run, if it can run any."""
    tiny = ["link.0.delay=0s", "link.0.channel.per=0", "flow.0.controller=reno"]
    try:
        run_on_kernel(Scenario.load(small, [*tiny, "flow.0.traffic.download=1B"]))
    except KernelError as error:
        pytest.skip(str(error))
    return small


@pytest.fixture
def kernel() -> Iterator[None]:
    """The machine's one kernel for one test at a time; what a test leaves in it is its failure."""
    with Path("/run/lock/bentpipe-tests").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = leftovers()
        yield
        assert leftovers() == before


def leftovers() -> list[str]:
    """Controllers, pins and notes that are in the kernel."""
    folders = [Path("/sys/fs/bpf/bentpipe"), Path("/run/bentpipe/default")]
    pins = [str(path) for folder in folders if folder.exists() for path in folder.iterdir()]
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    return pins + [name for name in known if name.startswith("bp_")]
