"""Paths of Hypatia over Kuiper's first shell, as `bentpipe orbit` computes them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import bentpipe
from bentpipe.reproductions.judgement import Measured
from bentpipe.study.statistics import Mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.reproductions.files import Files
    from bentpipe.reproductions.published import Value

STEP_MS = 100
PER_PLANE = 34
"""Satellites in a plane of the shell."""
NO_PATH = "Unreachable"

Way = tuple[int, int, int] | None
"""First satellite, last satellite and number of laser links of a path; None without a path."""


@dataclass(frozen=True)
class Pair:
    """A pair of stations, with their numbers in Hypatia's files."""

    label: str
    stations: str

    @property
    def files(self) -> tuple[str, str]:
        """The files with RTTs and with paths."""
        return f"hypatia/rtt_{self.stations}.txt", f"hypatia/path_{self.stations}.txt"


PAIRS = {
    "manila-dalian": Pair("Manila to Dalian", "1173_to_1241"),
    "manila-saint-petersburg": Pair("Manila to Saint Petersburg", "1173_to_1229"),
    "saint-petersburg-dalian": Pair("Saint Petersburg to Dalian", "1229_to_1241"),
}


SHORTER = "bound 30 m shorter"
"""The case of published.toml with the distances of Hypatia's files."""
BOUNDS = {"": "", SHORTER: "range_km = 1259.97\n"}
"""Longest distances to a satellite: that of the constellation, and a shorter one."""


@cache
def series(name: str, case: str = "") -> bentpipe.OrbitSeries:
    """The path of a pair over 200 s."""
    orbits = resources.files("bentpipe.reproductions.leo") / "orbits"
    text = (orbits / f"{name}.toml").read_text(encoding="utf-8")
    with TemporaryDirectory(prefix="bentpipe-") as folder:
        file = Path(folder) / f"{name}.toml"
        file.write_text(text + BOUNDS[case], encoding="utf-8")
        return bentpipe.orbit(file)


def measure(published: Mapping[str, Value], files: Files) -> Iterator[Measured]:
    """RTTs and changes of each pair, and the comparison with Hypatia's files if they are there."""
    for name, pair in PAIRS.items():
        for case in BOUNDS:
            rtts = [rtt for rtt in rtts_ms(name, case) if rtt is not None]
            ends = {"first": rtts[0], "shortest": min(rtts), "longest": max(rtts)}
            for column, rtt in ends.items():
                yield Measured(f"rtt/{name}/{column}", Mean(rtt), case)
        changes = changes_ms(name)
        yield Measured(f"changes/{name}/count", Mean(len(changes)))
        for identity, value in published.items():
            if identity.startswith((f"switches/{name}/", f"bound/{name}/")):
                yield Measured(identity, Mean(nearest(changes, value)))
        yield from compare(name, pair, files)


def nearest(changes: Sequence[int], value: Value) -> int:
    """The change that is nearest to a published time."""
    assert value.low is not None
    published = value.low
    return min(changes, key=lambda at: abs(at - published))


def compare(name: str, pair: Pair, files: Files) -> Iterator[Measured]:
    """All 2,000 RTTs and paths of a pair against Hypatia's files."""
    ids = f"samples/{name}/error", f"paths/{name}/differ"
    if not files.has(pair.files):
        for identity in ids:
            yield Measured(identity, None, note=files.note(pair.files))
        return
    of_rtts, of_paths = map(files.text, pair.files)
    golden = [float(line.split(",")[1]) / 1e6 for line in of_rtts.splitlines()]
    ways = golden_ways(of_paths, len(golden))
    own = list(zip(rtts_ms(name), own_ways(name), strict=True))
    same = [
        abs(rtt - expected)
        for (rtt, way), expected, other in zip(own, golden, ways, strict=True)
        if way == other and rtt is not None
    ]
    yield Measured(ids[0], Mean(1000 * max(same)))
    for case in BOUNDS:
        pairs = zip(own_ways(name, case), ways, strict=True)
        yield Measured(ids[1], Mean(sum(way != other for way, other in pairs)), case)


def golden_ways(text: str, steps: int) -> list[Way]:
    """The path at each step, from lines with the time of a change in ns and its nodes."""
    found: list[Way] = [None] * steps
    for line in text.splitlines():
        at, nodes = line.split(",")
        start = int(at) // (STEP_MS * 1_000_000)
        way: Way = None
        if nodes != NO_PATH:
            satellites = [int(one) for one in nodes.split("-")[1:-1]]
            way = satellites[0], satellites[-1], len(satellites) - 1
        found[start:] = [way] * (steps - start)
    return found


def own_ways(name: str, case: str = "") -> list[Way]:
    """The path at each step, with Hypatia's numbers of satellites."""
    found = series(name, case)
    columns = zip(found.satellite, found.to_satellite, found.lasers, strict=True)
    return [
        None
        if first is None or last is None or lasers is None
        else (number(first), number(last), lasers)
        for first, last, lasers in columns
    ]


def number(satellite: str) -> int:
    """Hypatia's number of a satellite `shell/plane.satellite`."""
    plane, _, place = satellite.rpartition("/")[2].partition(".")
    return int(plane) * PER_PLANE + int(place)


def rtts_ms(name: str, case: str = "") -> list[float | None]:
    """The RTT at each step, None without a path."""
    delays = series(name, case).delay_ms
    return [
        None if way is None else 2 * delay
        for way, delay in zip(own_ways(name, case), delays, strict=True)
    ]


def changes_ms(name: str) -> list[int]:
    """The times at which the path changes, ends or begins."""
    found = series(name)
    times = [one.t_s for one in found.handovers if not one.after_gap]
    times += [time for gap in found.gaps for time in (gap.start_s, gap.end_s)]
    return sorted(round(1000 * time) for time in times)


def lines() -> dict[str, tuple[list[float], list[float]]]:
    """The RTT over time of each pair, for a figure."""
    found = {}
    for name, pair in PAIRS.items():
        values = [(at, rtt) for at, rtt in enumerate(rtts_ms(name)) if rtt is not None]
        found[pair.label] = ([at * STEP_MS / 1000 for at, _ in values], [rtt for _, rtt in values])
    return found
