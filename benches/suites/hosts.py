"""Suites of hosts with every setting at its default: `make fidelity ROWS=hosts`."""

from __future__ import annotations

from functools import partial
from itertools import product

from suites.suite import SCENARIOS, Suite

HOSTS = SCENARIOS / "hosts.toml"
RATES = (10, 50, 100)
RTTS = (20, 100, 600)
MODELS = {"default hosts": ()}

CONTROLLERS = {
    # That of the profile.
    "cubic": {},
    "bbr": {"flow.0.controller": '"bbr"'},
}
PERS = {
    "PER 0": {"link.0.forward.channel.per": "0"},
    "PER 1e-4": {"link.0.forward.channel.per": "1e-4"},
}
SIZES = {
    name: {"flow.0.traffic.download": name.replace(" ", "")} for name in ("100 kB", "1 MB", "10 MB")
}
BUFFERS = {
    "default": {},
    "`tcp_wmem` 32 MiB": {"flow.0.transport.send_buffer": '{ max = "32MiB" }'},
    "`tcp_rmem` 128 MiB": {"flow.0.transport.receive_buffer": '{ max = "128MiB" }'},
}


def path(rate: int, rtt: int) -> dict[str, str]:
    """A link of `rate` Mbit/s with a round trip of `rtt` ms and a queue of one BDP."""
    return {
        "link.0.rate": f"{rate}Mbit/s",
        "link.0.delay": f"{rtt // 2}ms",
        "link.0.forward.queue.packets": str(rate * rtt * 1000 // 8 // 1500),
    }


def rows(rates: tuple[int, ...], rtts: tuple[int, ...]) -> dict[str, dict[str, str]]:
    """Rows for each controller, error rate and path."""
    return {
        f"{name}, {per}, {rate} Mbit/s, {rtt} ms": CONTROLLERS[name] | PERS[per] | path(rate, rtt)
        for name, per, rate, rtt in product(CONTROLLERS, PERS, rates, rtts)
    }


completion = partial(
    Suite,
    quantity="completion",
    parallel=2,
    attempts=5,
    file=HOSTS,
    models=MODELS,
    medians=True,
)
"""A suite of completion times, two kernel runs at a time, each repeated until it is valid."""

SUITES = {
    "hosts-downloads": completion(axes=(rows(RATES, RTTS), SIZES), seeds=5),
    "hosts-long": completion(
        axes=(rows((50, 100), (600,)), {"100 MB": {"flow.0.traffic.download": "100MB"}}),
        seeds=5,
    ),
    "hosts-settings": completion(
        axes=(
            {name: CONTROLLERS[name] | path(100, 600) for name in CONTROLLERS},
            BUFFERS,
        ),
        sets=("flow.0.traffic.download=100MB",),
        seeds=3,
        baseline="default",
    ),
}
