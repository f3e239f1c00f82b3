"""The link, the workload and the host of a result in one line."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from bentpipe.console import few
from bentpipe.numbers import amount, significant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bentpipe import Scenario
    from bentpipe.explanation import Explanation, Flow, Host

MOST_EXPLAINED = 64
"""Scenarios that are explained to see what they have in common."""
MOST_DIFFERENT = 3
"""Different values that the line names; otherwise it names their range."""
RECONSTRUCTED = "reconstructed"
"""The status of a profile whose buffers or controller have no source."""
HOST = ("recovery", "receive_buffer")
"""Settings of the transport that describe a host."""


def setting(scenarios: Iterable[Scenario]) -> str:
    """The workload, the link and the host that scenarios have, with what differs among them."""
    explained = [one.explain() for one in islice(scenarios, MOST_EXPLAINED)]
    firsts = [one.flows[0] for one in explained]
    others = {len(one.flows) - 1 for one in explained}
    more = "" if others == {0} else f" and {max(others)} other flows"
    rate = span((one.figures.bottleneck_bps for one in firsts), "bit/s")
    rtt = span((one.figures.base_rtt_ms for one in firsts), "ms")
    work = few(dict.fromkeys(map(workload, firsts)), MOST_DIFFERENT, " or ")
    link = f"bottleneck {rate}, round trip {rtt}"
    return f"{names(explained)}: {work}{more}; {link}; {hosts(firsts)}"


def names(explained: Iterable[Explanation]) -> str:
    """The names of the scenarios."""
    return few(dict.fromkeys(one.scenario for one in explained))


def workload(flow: Flow) -> str:
    """What the flow does, without its controller."""
    return flow.summary.removesuffix(f", {flow.controller.name}")


def hosts(flows: Sequence[Flow], keys: Sequence[str] = HOST) -> str:
    """The protocols and the settings of hosts."""
    settings = [
        {one.name.removeprefix("transport."): one.text for one in flow.settings} for flow in flows
    ]

    def values(key: str) -> str:
        return few(
            dict.fromkeys(one[key] for one in settings if key in one), MOST_DIFFERENT, " or "
        )

    own = (f"{key.replace('_', ' ')} {values(key)}" for key in keys if values(key))
    protocol = values("protocol").upper().replace(" OR ", " or ") or "TCP"
    return ", ".join([protocol, *own, *profiles(flows)])


def profiles(flows: Sequence[Flow]) -> list[str]:
    """The profiles of the hosts, from the sender to the receiver of the data; none without."""
    pairs = dict.fromkeys(" to ".join(map(profile, flow.hosts)) for flow in flows if flow.hosts)
    return [f"hosts {few(pairs, MOST_DIFFERENT, ' or ')}"] if pairs else []


def profile(host: Host) -> str:
    """The profile of a host, with the label of one that is reconstructed."""
    if host.profile is None:
        return "no profile"
    label = f" ({RECONSTRUCTED})" if host.status == RECONSTRUCTED else ""
    return f"{host.profile}{label}"


def span(values: Iterable[float], unit: str) -> str:
    """One amount, or the lowest and the highest."""
    known = sorted(set(values))
    low, high = (
        amount(end, unit) if unit == "bit/s" else f"{significant(end, 3)} {unit}"
        for end in (known[0], known[-1])
    )
    return low if low == high else f"{low} to {high}"
