"""Suites of the tables with a link of 10 Mbit/s."""

from __future__ import annotations

from suites.suite import (
    CONTROLLERS,
    LINUX,
    SATELLITE,
    SCENARIOS,
    Suite,
    with_controller,
    written,
)

TWO_FLOWS = SCENARIOS / "two-flows.toml"
FRANKFURT = '[{ name = "Frankfurt", latitude_deg = 50.11, longitude_deg = 8.68 }]'
HANDOVERS = SCENARIOS / "handovers.toml"
QUIC = SCENARIOS / "quic.toml"
EDGES = SCENARIOS / "edges" / "edges.toml"
# Overrides name files from the current folder, which is that of the project in `run`.
TRACES = "benches/scenarios/edges"

# Those of the simulator on both backends, with their own defaults.
QUIC_CONTROLLERS = ("cubic", "bbr", "hybla", "adalr")

# A queue of one bandwidth-delay product of 10 Mbit/s.
RTTS = {
    "20 ms": {"link.1.delay": "0ms", "link.1.forward.queue.packets": "17"},
    "100 ms": {"link.1.delay": "40ms", "link.1.forward.queue.packets": "83"},
    "520 ms": {"link.1.delay": "250ms", "link.1.forward.queue.packets": "433"},
}
PERS = {
    "PER 0": {"link.1.forward.channel.per": "0"},
    "PER 1e-4": {"link.1.forward.channel.per": "1e-4"},
    "PER 1e-3": {"link.1.forward.channel.per": "1e-3"},
    "PER 1e-2": {"link.1.forward.channel.per": "1e-2"},
}
SIZES = {
    name: {"flow.0.traffic.download": name.replace(" ", "")} for name in ("10 kB", "100 kB", "1 MB")
}
CONDITIONS = {
    "as it is": {},
    "`timestamps = false`": {"flow.0.transport.timestamps": "false"},
    "ECN": {
        "flow.0.transport.ecn": "true",
        # Below the queue's limit on each of the paths.
        "link.1.forward.ecn_marking": "{ packets = 12, weight = 1 }",
    },
    # Half of the ACKs are lost, so that each of the rest acknowledges more.
    "stretch ACKs": {"link.1.backward.channel.per": "0.5"},
}
PAGES = (
    '{ main_object = "50kB", embedded_objects = 70, embedded_object = "30kB", connections = 6, '
    'pages = 2, interval = "30s" }'
)
SMALL_PAGES = (
    '{ main_object = "14kB", embedded_objects = 3, embedded_object = "28kB", connections = 1, '
    'pages = 2, interval = "5s" }'
)
# Each on the link that has the losses.
MECHANISMS = {
    name: {f"link.1.forward.{key}": name}
    for key, names in {
        "aqm": ("none", "codel", "fq-codel", "pie", "red", "dualpi2"),
        "arq": ("go-back-n", "selective-repeat"),
        "fec": ("reed-solomon",),
    }.items()
    for name in names
}
# Middleboxes, each where it has something to do: ACKs that leave the client on a thin link, and
# losses on a short last hop behind a gateway that is not the bottleneck.
MECHANISMS |= {
    "ack-filter": {
        "node": '[{ name = "client", middlebox = "ack-filter" }]',
        "link.1.backward.rate": "64kbit/s",
    },
    "snoop": {
        "node": '[{ name = "gateway", middlebox = "snoop" }]',
        "link.0.delay": "40ms",
        "link.0.rate": "10Mbit/s",
        "link.0.queue.packets": "332",
        "link.1.delay": "10ms",
        "link.1.forward.rate": "50Mbit/s",
    },
}
# Split proxies at the gateway, by the controller of the satellite leg. In the kernel: the daemon.
GATEWAY = '[{ name = "gateway", proxy = { satellite = { towards = ["client"] } } }]'
ONE_PAGE = (
    '{ main_object = "50kB", embedded_objects = 70, embedded_object = "30kB", connections = 6, '
    "pages = 1 }"
)
TWO_LINUX = {"recovery linux": (*LINUX, "flow.1.transport.recovery=linux")}
REORDERING = f'{{ file = "{TRACES}/reordering.csv", loop = true, phase = "random" }}'
# The path of trains has no rate of its own on the way back.
TRAINS = {
    f"ACK trains of {length} ms, RTT {name}": {
        **RTTS[name],
        "link.1.forward.queue.packets": packets,
        "link.1.backward.trace": (
            f'{{ file = "{TRACES}/trains-{length}.csv", loop = true, phase = "random" }}'
        ),
    }
    for name, packets in (("520 ms", "433"), ("20 ms", "83"))
    for length in (5, 20, 80)
}
EDGE_AXIS = {
    "data overtaken": {"link.1.reorder": "true", "link.1.forward.trace": REORDERING},
    "ACKs overtaken": {"link.1.reorder": "true", "link.1.backward.trace": REORDERING},
    "hand-over to a path 80 ms shorter": {
        "link.1.reorder": "true",
        "link.1.event": '[{ at = "8s", delay = "210ms" }]',
    },
    **TRAINS,
    "fade of 6 s": {"link.1.forward.trace": f'{{ file = "{TRACES}/fade.csv" }}'},
    "fade of 2 s": {"link.1.forward.trace": f'{{ file = "{TRACES}/short-fade.csv" }}'},
}
BURSTS = (
    '{ main_object = "1500kB", embedded_objects = 0, embedded_object = "1kB", connections = 1, '
    'pages = 3, interval = "5s" }'
)
IDLE_AXIS = {
    "pauses of 5 s": {},
    "the same, `idle_restart = false`": {"flow.0.transport.idle_restart": "false"},
}
ORBITS = {
    "lasers": {},
    "bent pipe": {"link.0.orbit.relay": '"bent-pipe"', "link.0.orbit.to": '"Frankfurt"',
                  "link.0.orbit.place": FRANKFURT},
}  # fmt: skip
PAIRS = (
    ("reno", "cubic"), ("reno", "bbr"), ("cubic", "bbr"), ("hybla", "reno"),
    ("westwood-plus", "cubic"), ("adalr", "reno"), ("aliad", "cubic"),
)  # fmt: skip


def with_proxy(name: str) -> dict[str, str]:
    """The overrides of a proxy whose satellite leg has this controller."""
    overrides = {"flow.0.controller": written("cubic"), "node": GATEWAY}
    overrides[f"{SATELLITE}.controller"] = written(name)
    if name == "bbr":
        overrides["flow.0.transport.pacing"] = "linux"
    return overrides


PROXY_AXIS = {f"not split, {name}": with_controller(name) for name in ("cubic", "hybla")} | {
    f"split, {name}": with_proxy(name) for name in ("cubic", "hybla", "bbr")
}
CONTROLLER_AXIS = {name: with_controller(name) for name in CONTROLLERS}
THREE_AXIS = {name: CONTROLLER_AXIS[name] for name in ("reno", "cubic", "bbr")}
PAIR_AXIS = {
    f"{one} with {two}": with_controller(one) | with_controller(two, flow=1) for one, two in PAIRS
}

SUITES = {
    "downloads": Suite(
        axes=(CONTROLLER_AXIS, PERS),
        seeds=5,
        models={"as written": (), "recovery linux": LINUX},
        figure=True,
    ),
    "short-flows": Suite(
        axes=(CONTROLLER_AXIS, RTTS, SIZES),
        quantity="completion",
        sets=("duration=40s", "link.1.forward.channel.per=0"),
        seeds=3,
    ),
    "lossy-short-flows": Suite(
        axes=(CONTROLLER_AXIS, RTTS, SIZES),
        quantity="completion",
        sets=("duration=60s", "link.1.forward.channel.per=1e-2"),
        # Most runs of the smallest flows lose nothing.
        seeds=15,
    ),
    "conditions": Suite(
        axes=(CONTROLLER_AXIS, RTTS, CONDITIONS),
        sets=("duration=30s", "link.1.forward.channel.per=0", "flow.0.traffic.download=50MB"),
        seeds=4,
    ),
    "pages": Suite(
        axes=(CONTROLLER_AXIS, {name: PERS[name] for name in ("PER 0", "PER 1e-3")}),
        quantity="completion",
        sets=("duration=120s", f"flow.0.traffic={{ web = {PAGES} }}"),
    ),
    "small-pages": Suite(
        axes=(CONTROLLER_AXIS, RTTS),
        quantity="completion",
        sets=(
            "duration=40s",
            "link.1.forward.channel.per=0",
            f"flow.0.traffic={{ web = {SMALL_PAGES} }}",
        ),
    ),
    "mechanisms": Suite(
        axes=(MECHANISMS, {name: CONTROLLER_AXIS[name] for name in ("reno", "cubic")}, PERS),
        # Four bandwidth-delay products, so that the mechanism acts before the limit of the queue.
        sets=(
            "duration=30s",
            "flow.0.traffic.download=50MB",
            "link.1.delay=40ms",
            "link.1.forward.queue.packets=332",
        ),
        seeds=6,
    ),
    "two-flows": Suite(
        axes=(PAIR_AXIS, RTTS),
        file=TWO_FLOWS,
        seeds=5,
        # With twelve at once on two cores the kernel's NewReno has a sixth less next to CUBIC.
        parallel=3,
        flow=0,
        models=TWO_LINUX,
    ),
    # A run has one of two outcomes, or much noise: five seeds are too few.
    "two-flows-bbr": Suite(
        axes=(
            {name: PAIR_AXIS[name] for name in ("reno with bbr", "cubic with bbr")},
            {"520 ms": RTTS["520 ms"]},
        ),
        file=TWO_FLOWS,
        seeds=20,
        parallel=3,
        flow=0,
        models=TWO_LINUX,
    ),
    # Its share depends on few losses, and twelve at once on two cores lower it in the kernel.
    "two-flows-westwood": Suite(
        axes=(
            {name: PAIR_AXIS[name] for name in ("westwood-plus with cubic",)},
            {"100 ms": RTTS["100 ms"]},
        ),
        file=TWO_FLOWS,
        seeds=20,
        parallel=3,
        flow=0,
        models=TWO_LINUX,
    ),
    "handovers": Suite(
        axes=(
            {name: CONTROLLER_AXIS[name] for name in ("cubic", "bbr", "hybla")},
            {
                f"{ends}, PER {per}": orbit | {"link.0.forward.channel.per": per}
                for ends, orbit in ORBITS.items()
                for per in ("0", "1e-3")
            },
        ),
        file=HANDOVERS,
        seeds=3,
        parallel=6,
    ),
    "proxy-downloads": Suite(
        axes=(PROXY_AXIS, PERS),
        quantity="completion",
        sets=("duration=200s", "flow.0.traffic.download=5MB"),
        seeds=5,
        parallel=3,
    ),
    "proxy-pages": Suite(
        axes=(PROXY_AXIS, PERS),
        quantity="completion",
        sets=("duration=100s", f"flow.0.traffic={{ web = {ONE_PAGE} }}"),
        seeds=5,
        parallel=3,
    ),
    "quic-downloads": Suite(
        axes=({name: {"flow.0.controller": f'"{name}"'} for name in QUIC_CONTROLLERS}, PERS),
        file=QUIC,
        seeds=8,
        # Its cryptography takes the time of the machine.
        parallel=3,
        models={"the same QUIC": ()},
    ),
    "bbr-stretch": Suite(
        axes=(
            {"bbr": CONTROLLER_AXIS["bbr"] | CONDITIONS["stretch ACKs"]},
            RTTS,
        ),
        sets=("duration=30s", "link.1.forward.channel.per=0", "flow.0.traffic.download=50MB"),
        seeds=20,
    ),
    "edges": Suite(axes=(EDGE_AXIS, THREE_AXIS), file=EDGES, seeds=5, parallel=5, medians=True),
    "edges-idle": Suite(
        axes=(IDLE_AXIS, THREE_AXIS),
        file=EDGES,
        quantity="completion",
        sets=("duration=30s", f"flow.0.traffic={{ web = {BURSTS} }}"),
        seeds=5,
        parallel=5,
        medians=True,
    ),
}
