"""Windows of Linux's CUBIC over Starlink, and slots of Starlink in pings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bentpipe.replays.cwnd import replay
from bentpipe.reproductions.judgement import Measured, compare
from bentpipe.study.statistics import Mean
from bentpipe.traces import formats, slots
from bentpipe.traces.inspection import find_slots

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bentpipe.reproductions.files import Files
    from bentpipe.reproductions.published import Value

PLACES = ("victoria", "seychelles")
ERRORS = ("growth", "peak")
OTHER_RULES = {
    "reno": "reno",
    "c-08": "cubic:c=0.8",
    "c-02": "cubic:c=0.2",
    "not-reno-friendly": "cubic:reno_friendly=off",
}
"""Rules that the sender did not have, by their rows."""
PINGS = ("lagos", "seattle")
SPACING_S = 0.2
SYNTHETIC_S = 3600
SEED = 101


def measure(published: Mapping[str, Value], files: Files) -> Iterator[Measured]:
    """Errors of replayed windows, and slots in pings and in a synthetic series."""
    yield from of_windows(published, files)
    yield from of_slots(files)


def of_windows(published: Mapping[str, Value], files: Files) -> Iterator[Measured]:
    """Growth and peaks of CUBIC against both files, and the bounds that other rules miss."""
    names = {place: f"starlink-uplink/{place}.json" for place in PLACES}
    ids = [f"window/{place}/{column}" for place in PLACES for column in ERRORS]
    if not files.has(names.values()):
        for identity in (*ids, *(f"other-rules/{row}/missed" for row in OTHER_RULES)):
            yield Measured(identity, None, note=files.note(names.values()))
        return
    paths = [files.path(name) for name in names.values()]
    found = errors(paths, "cubic")
    for identity, error in zip(ids, found, strict=True):
        yield Measured(identity, Mean(error))
    for row, controller in OTHER_RULES.items():
        pairs = zip(ids, errors(paths, controller), strict=True)
        missed = sum(compare(published[one], error, (0, 0)) != "within" for one, error in pairs)
        yield Measured(f"other-rules/{row}/missed", Mean(missed))


def errors(paths: Sequence[Path], controller: str) -> list[float]:
    """Error of the window's growth and median error of its peaks for each file, in per cent."""
    found = [replay(path, controller)[2] for path in paths]
    both = [(one.growth_error_percent, one.peak_error_percent["p50"]) for one in found]
    return [error for pair in both for error in pair]


def of_slots(files: Files) -> Iterator[Measured]:
    """Best second and p value of both files of pings, and the p value without slots."""
    for place in PINGS:
        name = f"starlink-ping/{place}.txt"
        ids = f"slots/{place}/offset", f"slots/{place}/p"
        if not files.has([name]):
            for identity in ids:
                yield Measured(identity, None, note=files.note([name]))
            continue
        [measurement] = formats.read(files.path(name), None, {})
        found = tested(find_slots(measurement, measurement.columns["rtt_ms"]))
        yield Measured(ids[0], Mean(found.offset_s))
        yield Measured(ids[1], Mean(found.p))
    yield Measured("slots/synthetic/p", Mean(tested(slots.find(*synthetic())).p))


def tested(found: slots.Slots | str) -> slots.Slots:
    """The slots; `ValueError` with the reason if the series has no test."""
    if isinstance(found, str):
        raise ValueError(found)
    return found


def synthetic() -> tuple[slots.Floats, slots.Floats]:
    """An RTT in ms without slots: a random walk with noise, 5 values in a second."""
    t_s = np.arange(SYNTHETIC_S / SPACING_S) * SPACING_S
    random = np.random.default_rng(SEED)
    walk = np.cumsum(random.normal(0, 0.05, len(t_s)))
    return t_s, 60 + walk + random.normal(0, 3, len(t_s))
