#!/usr/bin/env python3
"""The daemon of `bentpipe proxy` compared with HAProxy, PEPsal and no proxy at all.

    proxy.py [--quick] [--write]    prints a table; --write puts it into docs/proxy.md
    proxy.py --open 50000           memory of the daemon with that many open connections
    proxy.py --round-trips 20       round trips without load, in 20 rounds, also with `busy_poll`

Client, gateway and server are three network namespaces joined by veth. Each proxy has one core, and
the client and the server have another one. Rounds are interleaved: in each of them every proxy is
started, measured and stopped. A figure is the median of the rounds.

Needs root, nft, ip, taskset and two cores. HAProxy (Debian's package `haproxy`) is found in PATH,
and PEPsal in .cache/peers/pepsal (benches/peers/README.md shows how to build it). What is missing
is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from side_by_side import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
LOAD = ROOT / "benches/peers/proxy_load.py"
PEPSAL = ROOT / ".cache/peers/pepsal"
DAEMON = ROOT / "target/engine/bentpipe-proxy"
PAGE = ROOT / "docs/proxy.md"
BEGIN, END = "<!-- made by benches/proxy.py -->\n", "<!-- end of benches/proxy.py -->"

PROXY_CORE, LOAD_CORE = "0", "1"
CLIENT_LINK, SERVER_LINK = "lan0", "sat0"
SERVER = "10.202.0.2"
PORTS = [str(port) for port in range(7000, 7004)]
PORT = 4440
OPEN = 50_000
DESCRIPTORS = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
HELD = min(OPEN, 2 * DESCRIPTORS // 7)
"""Connections of the measurement of memory: each has two descriptors of the proxy, and bentpipe
reserves others for pipes."""
PATIENCE_S = 30

OURS = f"""
port = {PORT}
[terrestrial]
interfaces = ["{CLIENT_LINK}"]
[satellite]
interfaces = ["{SERVER_LINK}"]
[limits]
connections = {HELD + 50}
"""
HAPROXY = f"""
global
    nbthread 1
    maxconn {HELD + 50}
defaults
    mode tcp
    option splice-auto
    timeout connect 10s
    timeout client 1h
    timeout server 1h
listen all
    bind *:{PORT} transparent
    option transparent
    source 0.0.0.0 usesrc clientip
"""
RULES = f"""
table ip peer {{
    chain split {{
        type filter hook prerouting priority mangle; policy accept;
        meta l4proto != tcp return
        socket transparent 1 meta mark set 1 accept
        iifname "{CLIENT_LINK}" meta l4proto tcp tproxy to :{PORT} meta mark set 1 accept
    }}
}}
"""


def run(*command: object, text: str | None = None) -> str:
    """What a command prints. It must succeed."""
    words = [str(word) for word in command]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout


class Lab:
    """The three namespaces."""

    def __init__(self, number: int = 0) -> None:
        self.names = {end: f"bench{os.getpid()}x{number}{end}" for end in "cgs"}

    def __enter__(self) -> Self:
        for name in self.names.values():
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        for end, link, net in (("c", CLIENT_LINK, "10.201.0"), ("s", SERVER_LINK, "10.202.0")):
            gateway, host = self.names["g"], self.names[end]
            peer = ("peer", "name", "eth0", "netns", host)
            run("ip", "link", "add", link, "netns", gateway, "type", "veth", *peer)
            run("ip", "-n", host, "address", "add", f"{net}.2/24", "dev", "eth0")
            run("ip", "-n", gateway, "address", "add", f"{net}.1/24", "dev", link)
            run("ip", "-n", host, "link", "set", "eth0", "up")
            run("ip", "-n", gateway, "link", "set", link, "up")
            run("ip", "-n", host, "route", "add", "default", "via", f"{net}.1")
        run(*self.inside("g", "sysctl", "-qw", "net.ipv4.ip_forward=1"))
        for end in "cgs":
            run(*self.inside(end, "sysctl", "-qw", "net.core.somaxconn=4096"))
            ports = "net.ipv4.ip_local_port_range=1024 65535"
            run(*self.inside(end, "sysctl", "-qw", ports))
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.names.values():
            run("ip", "netns", "delete", name)

    def inside(self, end: str, *command: object) -> list[str]:
        """The command in a namespace."""
        return ["ip", "netns", "exec", self.names[end], *map(str, command)]

    def load(self, end: str, *arguments: object) -> list[str]:
        """The load generator on its core."""
        program = ("taskset", "-c", LOAD_CORE, sys.executable, LOAD)
        return self.inside(end, *program, *arguments)

    def client(self, *arguments: object) -> list[float]:
        """Numbers that a client prints."""
        return [float(word) for word in run(*self.load("c", *arguments)).split()]

    @contextmanager
    def started(self, end: str, command: list[str]) -> Iterator[subprocess.Popen[str]]:
        """A program that runs meanwhile. `ip` and `taskset` become that program."""
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                self.inside(end, *command),
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            ) as process,
        ):
            try:
                yield process
            finally:
                if process.poll():
                    errors.seek(0)
                    print(f"{' '.join(command)} has ended: {errors.read()}", file=sys.stderr)
                process.kill()


@contextmanager
def ready(number: int = 0) -> Iterator[Lab]:
    """New namespaces with a server: no socket in TIME-WAIT is left of the measurement before."""
    with Lab(number) as lab, lab.started("s", lab.load("s", "serve", *PORTS)[4:]) as server:
        wait_for(lab, "s", server, PORTS[-1])
        yield lab


@dataclass
class Gateway:
    """A proxy, or none."""

    name: str
    command: Callable[[Path], list[str]] | None = None
    rules: Callable[[Lab, Path, bool], None] | None = None
    figures: dict[str, list[float]] = field(default_factory=dict)
    open_kib: float | None = None

    def note(self, name: str, value: float) -> None:
        """A figure of one round."""
        self.figures.setdefault(name, []).append(value)

    def median(self, name: str, digits: int) -> str:
        """Over the rounds."""
        values = self.figures.get(name)
        return f"{statistics.median(values):.{digits}f}" if values else "-"

    @contextmanager
    def runs(self, lab: Lab) -> Iterator[int | None]:
        """The process number while it runs with its rules."""
        if self.command is None or self.rules is None:
            yield None
            return
        with tempfile.TemporaryDirectory() as folder:
            pinned = ["taskset", "-c", PROXY_CORE, *self.command(Path(folder))]
            self.rules(lab, Path(folder), True)
            try:
                with lab.started("g", pinned) as process:
                    wait_for(lab, "g", process, PORT)
                    yield process.pid
            finally:
                self.rules(lab, Path(folder), False)


def wait_for(lab: Lab, end: str, process: subprocess.Popen[str], port: object) -> None:
    """Until a program listens."""
    until = time.monotonic() + PATIENCE_S
    while f":{port} " not in run(*lab.inside(end, "ss", "-Hltn")):
        if process.poll() is not None or time.monotonic() > until:
            sys.exit(f"nothing listens at port {port}")
        time.sleep(0.05)


def ours(folder: Path) -> list[str]:
    """The daemon with one thread."""
    (folder / "proxy.toml").write_text(f"threads = 1\n{OURS}")
    return [str(DAEMON), "run", str(folder / "proxy.toml")]


def polling(folder: Path) -> list[str]:
    """The daemon with a thread that does not sleep at once."""
    command = ours(folder)
    file = folder / "proxy.toml"
    file.write_text(f'busy_poll = "100us"\n{file.read_text()}')
    return command


def our_rules(lab: Lab, folder: Path, present: bool) -> None:
    """Those that `rules` prints."""
    remove = () if present else ("--remove",)
    run(*lab.inside("g", DAEMON, "rules", folder / "proxy.toml", "--apply", *remove))


def haproxy(folder: Path) -> list[str]:
    """TCP mode, transparent in both directions, splice where it wants to."""
    (folder / "haproxy.cfg").write_text(HAPROXY)
    return ["haproxy", "-db", "-f", str(folder / "haproxy.cfg")]


def pepsal(_: Path) -> list[str]:
    """Without Nagle and delayed ACKs, and as many connections as the others or its most."""
    return [str(PEPSAL), "-n", "-q", "-p", str(PORT), "-c", str(min(HELD + 50, 25_000))]


def peer_rules(lab: Lab, _: Path, present: bool) -> None:
    """TPROXY for a proxy of somebody else."""
    verb = "add" if present else "delete"
    run(*lab.inside("g", "ip", "rule", verb, "fwmark", 1, "lookup", 100))
    run(*lab.inside("g", "ip", "route", verb, "local", "default", "dev", "lo", "table", 100))
    text = RULES if present else "delete table ip peer"
    run(*lab.inside("g", "nft", "-f", "-"), text=text)


def cpu_s(process: int | None) -> float:
    """CPU time of a process so far, of its system calls too."""
    if process is None:
        return 0.0
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_kib(process: int) -> int:
    """Memory of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def measure(lab: Lab, gateway: Gateway, seconds: float, pings: int) -> None:
    """One round of a proxy."""
    with gateway.runs(lab) as process:
        before = cpu_s(process)
        total, taken = lab.client("download", SERVER, PORTS[0], seconds)
        gateway.note("gbps", total * 8e-9 / taken)
        if process is not None:
            gateway.note("cpu per GiB", (cpu_s(process) - before) / (total / 2**30))
        before = cpu_s(process)
        count, taken = lab.client("connect", SERVER, ",".join(PORTS), seconds)
        gateway.note("connections", count / taken)
        if process is not None:
            gateway.note("cpu per connection", (cpu_s(process) - before) / count * 1e6)
        for situation in ("idle", "loaded"):
            load = lab.load("c", "download", SERVER, PORTS[0], 3600)[4:]
            with lab.started("c", load if situation == "loaded" else ["sleep", "3600"]):
                times = sorted(lab.client("ping", SERVER, PORTS[1], pings, 2 * seconds))
            gateway.note(f"{situation} p50", statistics.median(times) * 1e3)
            gateway.note(f"{situation} p99", times[int(len(times) * 0.99)] * 1e3)


def round_trips(gateways: list[Gateway], rounds: int) -> str:
    """Round trips without load: medians over the rounds."""
    for _ in range(rounds):
        for gateway in gateways:
            with ready() as lab, gateway.runs(lab):
                times = sorted(lab.client("ping", SERVER, PORTS[1], 2000, PATIENCE_S))
                gateway.note("p50", statistics.median(times) * 1e3)
                gateway.note("p99", times[int(len(times) * 0.99)] * 1e3)
    lines = (
        f"{one.name}: {one.median('p50', 3)} ms, p99 {one.median('p99', 3)} ms" for one in gateways
    )
    return "\n".join(lines)


def hold(lab: Lab, gateway: Gateway, count: int) -> None:
    """Memory of open connections."""
    with gateway.runs(lab) as process:
        if process is None:
            return
        before = resident_kib(process)
        command = lab.load("c", "hold", SERVER, ",".join(PORTS), count)[4:]
        with lab.started("c", command) as client:
            if client.stdout is None or client.stdout.readline() != f"{count}\n":
                return
            gateway.open_kib = (resident_kib(process) - before) / count


def slab_kib() -> int:
    """Memory of the kernel's objects on this machine."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Slab:"))


def hold_all(count: int) -> str:
    """Memory of `count` open connections, in as many daemons as descriptors allow."""
    gateway = Gateway("bentpipe", ours, our_rules)
    parts = -(-count // HELD)
    shares = [count // parts + (number < count % parts) for number in range(parts)]
    kernel = slab_kib()
    with ExitStack() as stack:
        grown = 0
        for number, share in enumerate(shares):
            lab = stack.enter_context(ready(number))
            process = stack.enter_context(gateway.runs(lab))
            if process is None:
                sys.exit("no daemon runs")
            before = resident_kib(process)
            command = lab.load("c", "hold", SERVER, ",".join(PORTS), share)[4:]
            client = stack.enter_context(lab.started("c", command))
            if client.stdout is None or client.stdout.readline() != f"{share}\n":
                sys.exit(f"not all of {share} connections were opened")
            grown += resident_kib(process) - before
        kernel = slab_kib() - kernel
    return (
        f"{count} open connections in {parts} daemons: {grown / count:.2f} KiB each in the daemon, "
        f"and {kernel / count:.1f} KiB in the kernel with both hosts"
    )


def table(gateways: list[Gateway], rounds: int, held: int, remarks: list[str]) -> Table:
    """All figures."""
    columns = ["", *(gateway.name for gateway in gateways)]
    rows = [
        [title, *(gateway.median(name, digits) for gateway in gateways)]
        for title, name, digits in (
            ("download, Gbit/s", "gbps", 1),
            ("CPU seconds per GiB", "cpu per GiB", 2),
            ("short connections per second", "connections", 0),
            ("CPU microseconds per connection", "cpu per connection", 0),
            ("round trip, idle, median, ms", "idle p50", 3),
            ("round trip, idle, p99, ms", "idle p99", 3),
            ("round trip during a download, median, ms", "loaded p50", 3),
            ("round trip during a download, p99, ms", "loaded p99", 3),
        )
    ]
    memory = ["-" if one.open_kib is None else f"{one.open_kib:.1f}" for one in gateways]
    rows.append([f"KiB per open connection, {held} open", *memory])
    return Table(f"Proxies on one core, median of {rounds} rounds", columns, rows, remarks)


def those_there() -> tuple[list[Gateway], list[str]]:
    """The proxies of this machine, and remarks on them."""
    gateways = [Gateway("no proxy"), Gateway("bentpipe", ours, our_rules)]
    remarks: list[str] = []
    if shutil.which("haproxy"):
        version = run("haproxy", "-v").split()[2]
        gateways.append(Gateway("HAProxy", haproxy, peer_rules))
        remarks.append(f"HAProxy {version}: TCP mode, one thread, `transparent`, `splice-auto`.")
    else:
        remarks.append("HAProxy is not installed.")
    if PEPSAL.exists():
        gateways.append(Gateway("PEPsal", pepsal, peer_rules))
        remarks.append(
            "PEPsal 2.0.2: compiled with -O2 and without its setrlimit; `-n -q`, which helps it."
        )
    else:
        remarks.append("PEPsal is not there.")
    return gateways, remarks


def main() -> None:
    """Measures, and prints or writes the table."""
    parser = argparse.ArgumentParser(description="proxies side by side")
    parser.add_argument("--quick", action="store_true", help="short measurements")
    parser.add_argument("--write", action="store_true", help="write docs/proxy.md")
    parser.add_argument("--open", type=int, metavar="COUNT", help="only memory of open connections")
    parser.add_argument("--round-trips", type=int, metavar="ROUNDS", help="only round trips")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("network namespaces need root")
    run("make", "-s", "-C", ROOT, "proxy")
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    if arguments.open:
        print(hold_all(arguments.open))
        return
    gateways, remarks = those_there()
    if arguments.round_trips:
        gateways.insert(2, Gateway("bentpipe, busy_poll", polling, our_rules))
        print(round_trips(gateways, arguments.round_trips))
        return
    if HELD < OPEN:
        remarks.append(f"A process of this machine may have {DESCRIPTORS} descriptors.")
    rounds, seconds, pings, held = (1, 1.0, 500, 1000) if arguments.quick else (3, 4.0, 5000, HELD)
    for _ in range(rounds):
        for gateway in gateways:
            with ready() as lab:
                measure(lab, gateway, seconds, pings)
    for gateway in gateways:
        with ready() as lab:
            hold(lab, gateway, held)
    found = table(gateways, rounds, held, remarks)
    print(found.text())
    if arguments.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        text = found.markdown().partition("\n\n")[2]
        PAGE.write_text(f"{before}{BEGIN}\n{found.title}:\n\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
