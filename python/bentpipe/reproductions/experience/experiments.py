"""Runs of what is published about pages and tunnels over geostationary satellites.

A run is named `page/case`: `shop/h2-vpn`. A page load time is the mean over the loads of a run and
over its seeds, and a row the mean over the four pages that the laboratory has.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from bentpipe.reproductions.judgement import Measured
from bentpipe.reproductions.plots import Bars
from bentpipe.reproductions.reproduction import Job
from bentpipe.study.statistics import Mean, mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import bentpipe
    from bentpipe.reproductions.reproduction import Plan, Results

PAGE = "page.toml"
BULK = "bulk.toml"
SITES = ("news", "shop", "search", "application")
SEEDS = range(1, 4)
"""Only QUIC has random numbers: its connection IDs."""

QUIC = "flow.0.transport={ protocol = 'quic' }"
TCP = "flow.0.transport={ recovery = 'linux' }"
PROXIES = ("node.0.proxy=scps-gateway", "node.1.proxy=scps-gateway")


def _http(version: str) -> tuple[str, ...]:
    return (f"flow.0.traffic.page.http='{version}'", QUIC if version == "3" else TCP)


def _tunnel(name: str) -> str:
    ends = "between = ['client', 'office'], established = true"
    return f"flow.0.tunnel={{ name = '{name}', {ends} }}"


def _quic_proxies(controller: str = "cubic") -> tuple[str, ...]:
    """QPEP: TCP ends at both gateways, and QUIC with tickets is between them."""
    side = f"protocol = 'quic', controller = '{controller}', quic = {{ zero_rtt = true }}"
    towards = {0: "terminal", 1: "hub"}
    return tuple(
        f"node.{node}.proxy={{ satellite = {{ towards = ['{name}'], {side} }} }}"
        for node, name in towards.items()
    )


CASES: Mapping[str, tuple[str, ...]] = {
    "h1": _http("1.1"),
    "h2": _http("2"),
    "h3": _http("3"),
    "h1-pep": (*_http("1.1"), *PROXIES),
    "h2-pep": (*_http("2"), *PROXIES),
    "h1-vpn": (*_http("1.1"), *PROXIES, _tunnel("wireguard")),
    "h2-vpn": (*_http("2"), *PROXIES, _tunnel("wireguard")),
    "h3-vpn": (*_http("3"), _tunnel("wireguard")),
    "h2-openvpn": (*_http("2"), *PROXIES, _tunnel("openvpn")),
    "h2-qpep": (*_http("2"), *_quic_proxies()),
    "h2-bbr": (*_http("2"), "flow.0.controller=bbr"),
    "h3-bbr": (*_http("3"), "flow.0.controller=bbr"),
}
"""Overrides of each case. Proxies let HTTP/3 pass, so `h3` stands for HTTP/3 beside them, too."""

TUNNELS = {"plain": (), "tunnel": ("flow.0.tunnel=wireguard",)}


def plan() -> Plan:
    """All runs."""
    pages = {
        f"{site}/{case}": Job(PAGE, (f"flow.0.traffic.page.site={site}", *sets), SEEDS)
        for site in SITES
        for case, sets in CASES.items()
    }
    bulk = {f"bulk/{name}": Job(BULK, sets) for name, sets in TUNNELS.items()}
    return {**pages, **bulk}


def measure(results: Results) -> Iterator[Measured]:
    """The measured value for each published value whose runs are in `results`."""
    times = {case: _time(results, case) for case in CASES}

    def above(case: str, best: str) -> Mean:
        return mean([100 * (a / b - 1) for a, b in zip(times[case], times[best], strict=True)])

    def shorter(case: str, than: str) -> Mean:
        return mean([100 * (1 - a / b) for a, b in zip(times[case], times[than], strict=True)])

    yield Measured("pep/h1-pep/above", above("h1-pep", "h2-pep"))
    yield Measured("pep/h3-pep/above", above("h3", "h2-pep"))
    yield Measured("http3/h1-pep/above", above("h1-pep", "h3"))
    yield Measured("http3-kosek/h1/above", above("h1", "h3"))
    yield Measured("http3-kosek/h1-pep/above", above("h1-pep", "h3"))
    yield Measured("vpn/h1-vpn/above", above("h1-vpn", "h3-vpn"))
    yield Measured("vpn/h2-vpn/above", above("h2-vpn", "h3-vpn"))
    ratios = [a / b for a, b in zip(times["h2-openvpn"], times["h2-qpep"], strict=True)]
    yield Measured("qpep/vpn/ratio", mean(ratios))
    yield Measured("qpep/pep/shorter", shorter("h2-qpep", "h2-pep"))
    gain, of_cubic = shorter("h3-bbr", "h2-bbr"), shorter("h3", "h2")
    yield Measured("network/bbr/shorter", gain)
    yield Measured("network-cubic/cubic/more", mean([gain.value - of_cubic.value]))
    for name in TUNNELS:
        [run] = results[f"bulk/{name}"]
        link = next(one for one in run.links if one.direction == "forward")
        yield Measured(f"efficiency/{name}/IPv4", mean([run.flows[0].bytes / link.delivered_bytes]))


def _time(results: Results, case: str) -> list[float]:
    """Mean page load time of a case over the four pages, for each seed."""
    runs: list[Sequence[bentpipe.Recording]] = [results[f"{site}/{case}"] for site in SITES]
    return [fmean(map(_load, of_seed)) for of_seed in zip(*runs, strict=True)]


def _load(run: bentpipe.Recording) -> float:
    """Mean page load time of a run."""
    return fmean(run.table("page_loads")["load_s"].to_list())


# -------------------------------------------------------------------------------------- trials


def trials() -> Mapping[str, Plan]:
    """Other readings, with the jobs that they change."""
    pages = {name: job for name, job in plan().items() if not name.startswith("bulk/")}

    def changed(*sets: str) -> Plan:
        return {name: job.with_sets(*sets) for name, job in pages.items()}

    split = "satellite = { towards = ['NODE'], controller = 'hybla', initial_window = 64 }"
    hybla = tuple(
        f"node.{node}.proxy={{ {split.replace('NODE', name)} }}"
        for node, name in ((0, "terminal"), (1, "hub"))
    )
    proxied = ("h1-pep", "h2-pep", "h1-vpn", "h2-vpn", "h2-openvpn")
    return {
        "20/2 Mbit/s": changed("link.2.forward.rate=20Mbit/s", "link.2.backward.rate=2Mbit/s"),
        "PER 1e-3": changed("link.2.channel={ per = 0.001 }"),
        "proxies with Hybla": {
            name: job.with_sets(*hybla)
            for name, job in pages.items()
            if name.partition("/")[2] in proxied
        },
        "one origin": {
            name: job.with_sets(_one_origin(name.partition("/")[2])) for name, job in pages.items()
        },
        "QUIC with BBR between the gateways": {
            name: job.with_sets(*_quic_proxies("bbr"))
            for name, job in pages.items()
            if name.endswith("/h2-qpep")
        },
    }


def _one_origin(case: str) -> str:
    """A page whose objects are all of one origin: 60 images of 15 kB."""
    version = {"h1": "1.1", "h2": "2", "h3": "3"}[case.partition("-")[0]]
    objects = (
        "{ name = 'document', bytes = '20kB' }, { name = 'image', bytes = '15kB', count = 60 }"
    )
    page = f"objects = [{objects}], http = '{version}', pages = 3, interval = '60s'"
    return f"flow.0.traffic={{ page = {{ {page} }} }}"


# ---------------------------------------------------------------------------------------- plots


def plots(results: Results) -> Mapping[str, Bars]:
    """Mean page load times by version of HTTP, with proxies, without, and in a VPN."""
    versions = {"h1": "HTTP/1.1", "h2": "HTTP/2", "h3": "HTTP/3"}
    ways = {"without proxies": "", "with proxies": "-pep", "in a VPN": "-vpn"}
    bars = {
        title: {
            way: mean(_time(results, f"{version}{end}"))
            for way, end in ways.items()
            if f"{version}{end}" in CASES
        }
        for version, title in versions.items()
    }
    return {"pages": Bars("Pages over GEO (50/5 Mbit/s)", "", "page load time (s)", bars)}
