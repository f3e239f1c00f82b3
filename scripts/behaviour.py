"""Figures of the behaviour of each mechanism of the path and each profile of hosts, for the site.

A figure compares a run with the mechanism and one without it, on the same path with the same seed.
`SHOWN` says for each kind of mechanism what makes its effect visible. Paths and runs are made here,
and no figure is kept in the repository.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe.compare import mechanisms
from bentpipe.compare.links import Link

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bentpipe import Run, Scenario
    from bentpipe._native import HostProfile
    from bentpipe.plots.comparing import Series

ROOT = Path(__file__).resolve().parent.parent
PATH = """
name = "path"
duration = "60s"
[[link]]
between = ["server", "gateway"]
rate = "100Mbit/s"
delay = "10ms"
[[link]]
between = ["gateway", "terminal"]
rate = "10Mbit/s"
delay = "250ms"
queue = { bdp = 2 }
[[link]]
between = ["terminal", "client"]
rate = "100Mbit/s"
delay = "1ms"
[[flow]]
from = "server"
to = "client"
controller = "cubic"
transport = { receive_buffer = "4MiB" }
traffic = { bulk = "unlimited" }
[record]
interval = "100ms"
"""
"""A geostationary link of 10 Mbit/s between two nodes that forward, with a deep queue."""
DOWNLOAD = """
name = "download"
duration = "300s"
[[link]]
between = ["server", "client"]
rate = "20Mbit/s"
delay = "250ms"
queue = { bdp = 1 }
[[flow]]
from = "server"
to = "client"
host = "linux-6.18"
traffic = { download = "20MB" }
[record]
interval = "200ms"
"""
"""A download over a geostationary link of 20 Mbit/s."""
WORDS = {"cwnd": "congestion window", "goodput": "goodput", "queue": "queue", "rtt": "RTT"}
NEWEST = "linux-6.18"
"""The profile that others are compared with."""


@dataclass(frozen=True)
class Shown:
    """What a figure of a mechanism shows."""

    series: Series
    words: str
    """The path, after `link`."""
    path: dict[str, Any] = field(default_factory=dict)
    """Changes of the path with and without the mechanism."""
    value: Any = None
    """The value of its key, of a mechanism that needs parameters."""
    links: tuple[int, ...] = ()
    """Links that all need it; otherwise its usual place (`compare --on-path`)."""
    controller: bool = False
    """True if the controller has the name of the mechanism."""
    labels: tuple[str, str] = ("without", "with it")
    """Names of both runs."""
    link: str = "a geostationary link of 10 Mbit/s"


def acm(name: str) -> Shown:
    """The same modem in clear sky and in a fade."""
    clear = {"es_n0": 12.0, "modem": {"name": name, "bandwidth": 5e6}}
    return Shown(
        "goodput",
        "with a modem of 5 MHz",
        {"duration": "400s", "link.1.forward.channel": clear},
        clear | FADE,
        labels=("in clear sky", "in a rain fade"),
        link="a geostationary link",
    )


LOSSY = {"link.1.forward.channel": {"per": 0.003}}
THIN = {"link.1.backward.rate": "40kbit/s"}
FADE = {"attenuation": str(ROOT / "examples/fade.csv")}
IN_LOSSES = "that loses three packets in a thousand"
OVER_THIN = "with a return link of 40 kbit/s"
DEEP = "with a queue of two bandwidth-delay products"
SHOWN = {
    "active queue management": Shown("queue", DEEP),
    "automatic repeat request": Shown("goodput", IN_LOSSES, LOSSY),
    "forward error correction": Shown("goodput", IN_LOSSES, LOSSY),
    "demand assignment": Shown("rtt", DEEP),
    "header compression": Shown("goodput", OVER_THIN, THIN),
    "middlebox": Shown("goodput", IN_LOSSES, LOSSY),
    "split proxy": Shown("goodput", IN_LOSSES, LOSSY),
    "MTU": Shown("goodput", "with an MTU of 1,000 B", value={"bytes": 1000}, links=(1,)),
    "tunnel": Shown("goodput", "whose packets it makes longer"),
    "feedback from routers": Shown("cwnd", DEEP, links=(0, 1, 2), controller=True),
}
"""By kind; `OF_NAME` has exceptions."""
OF_NAME = {
    "quick-start": Shown(
        "cwnd", DEEP, {"flow.0.transport.quick_start": "10Mbit/s", "duration": "15s"},
        links=(0, 1, 2),
    ),
    "dvb-s2": acm("dvb-s2"),
    "dvb-s2x": acm("dvb-s2x"),
    "trace": Shown(
        "rtt", "whose delay and losses are those of a file",
        value={"file": str(ROOT / "examples/path-steps.csv"), "loop": True},
    ),
    "shaper": Shown("queue", "shaped to 4 Mbit/s", value={"rate": "4Mbit/s", "burst": "64KiB"}),
    "policer": Shown("cwnd", "policed to 4 Mbit/s", value={"rate": "4Mbit/s", "burst": "64KiB"}),
    "ack-filter": Shown("goodput", OVER_THIN, THIN),
    "ack-decimation": Shown("goodput", OVER_THIN, THIN),
    "vj": Shown(
        "goodput", f"{OVER_THIN}, and without timestamps and SACK",
        THIN | {"flow.0.transport.timestamps": False, "flow.0.transport.recovery": "newreno"},
    ),
    "ack-reconstruction": Shown("cwnd", OVER_THIN, THIN),
}  # fmt: skip


def scenario(name: str, shown: Shown) -> Scenario:
    """The path of a figure. A figure of queues has the slow link only, and so one queue."""
    path = bentpipe.Scenario.parse(PATH).with_({"name": name})
    if shown.series == "queue":
        slow = Link(name, path).document["link"][1]
        path = path.with_({"link": [slow | {"between": ["server", "client"]}]})
    return path.with_(shown.path)


def without_and_with(name: str, kind: str, key: str) -> tuple[Shown, list[Run]]:
    """What is shown of a mechanism, and the runs without and with it."""
    shown = OF_NAME.get(name) or SHOWN[kind]
    path = scenario(name, shown)
    inner = key.removeprefix("link.")
    if shown.links:
        value = shown.value or name
        added = {f"link.{number}.{inner}": value for number in shown.links}
        added |= {"flow.0.controller": name} if shown.controller else {}
    elif shown.value:
        # A modem is a part of a channel.
        slow = 0 if shown.series == "queue" else 1
        added = {f"link.{slow}.forward.{inner.partition('.')[0]}": shown.value}
    elif key == "flow.tunnel":
        added = {"flow.0.tunnel": name}
    else:
        added = mechanisms.of_name(name, Link(name, path)).changes
    jobs = [(path, 1), (path.with_(added), 1)]
    return shown, bentpipe.run_many(jobs)


def of_mechanisms(folder: Path, wanted: Callable[[str], bool]) -> dict[str, str]:
    """Makes the figures of all mechanisms in `folder`; the paragraph for each, by its name."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {}
    for one in filter(lambda each: wanted(each.name), bentpipe.mechanisms()):
        shown, runs = without_and_with(one.name, one.kind, one.key)
        figure = bentpipe.plot(runs, shown.series, labels=shown.labels)
        figure.save(folder / f"{one.name}.svg")
        texts[one.name] = (
            f"\n![{one.name}: {WORDS[shown.series]} {' and '.join(shown.labels)}]"
            f"(../images/mechanisms/{one.name}.svg)\n\n"
            f"`{one.name}`: one flow over {shown.link} {shown.words}. "
            f"Its goodput is {goodputs(runs, shown.labels)}.\n"
        )
    return texts


def goodputs(runs: Sequence[Run], labels: Sequence[str]) -> str:
    """The goodput of the first flow of each run in words."""
    values = (run.flows["goodput_bps"][0] / 1e6 for run in runs)
    pairs = zip(values, labels, strict=True)
    return " and ".join(f"{value:.2f} Mbit/s {label}" for value, label in pairs)


def of_hosts(folder: Path, wanted: Callable[[str], bool]) -> dict[str, str]:
    """The pages of all profiles by their names, with figures in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = bentpipe.Scenario.parse(DOWNLOAD)
    return {
        one.name: f"# `{one.name}`: {one.summary}\n\n{one.system}; {one.status}. The profile sets "
        f"these values of a host ([all profiles](../hosts.md)).\n\n"
        + (download(one.name, path, folder) if wanted(one.name) else "")
        + values(one)
        for one in bentpipe.hosts()
    }


def download(name: str, path: Scenario, folder: Path) -> str:
    """The figure of a profile, and the paragraph about it."""
    hosts = list(dict.fromkeys((NEWEST, name)))
    jobs = [(path.with_({"name": name, "flow.0.host": host}), 1) for host in hosts]
    runs = bentpipe.run_many(jobs)
    bentpipe.plot(runs, "goodput", labels=hosts).save(folder / f"{name}.svg")
    completion_s = runs[-1].flows["completion_s"][0]
    took = "has no end in 300 s" if completion_s is None else f"takes {completion_s:.1f} s"
    other = f", and of `{NEWEST}`" if len(hosts) > 1 else ""
    return (
        f"![Goodput of {name} over time](../images/hosts/{name}.svg)\n\nGoodput of a download of "
        f"20 MB over a geostationary link of 20 Mbit/s, with `{name}` at both ends{other}. With "
        f"`{name}` it {took}.\n\n"
    )


def values(profile: HostProfile) -> str:
    """The values of a profile as a table, with their sources."""
    rows = [
        f"| `{one.name}` | {cell(one.value)} | {cell(one.source)} | {one.certainty} |"
        for one in profile.values
    ]
    notes = "".join(f"\n- {note}" for note in profile.notes)
    head = ["| value | set to | source | certainty |", "|---|---|---|---|"]
    return "\n".join([*head, *rows]) + (f"\n\n## Notes\n{notes}" if notes else "") + "\n"


def cell(value: object) -> str:
    """A text in a table."""
    return str(value).replace("|", "\\|")
