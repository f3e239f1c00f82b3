"""Ranges, rises and sets of random satellites over a day, compared with Skyfield.

    pip install skyfield
    python benches/orbits.py

Skyfield is an independent program: it has nutation, and its own rotation of the Earth. It is not
among the packages of this project. The elements are random: low circular and eccentric orbits.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNT, SEED = 20, 44
LATITUDE, LONGITUDE, LEAST_DEG = 48.0, 11.0, 10.0
EPOCH = datetime(2026, 11, 27, tzinfo=UTC)


def checked(line: str) -> str:
    """A line of elements with its checksum."""
    total = sum(int(c) if c.isdigit() else c == "-" for c in line)
    return f"{line}{total % 10}"


def elements(number: int, draw: random.Random) -> list[str]:
    """The two lines of a random satellite at the epoch."""
    day = EPOCH.timetuple().tm_yday
    eccentricity, motion = draw.choice([(0.0001, 15.1), (0.001, 14.2), (0.02, 13.0), (0.2, 10.0)])
    first = (
        f"1 {number:05d}U 26001A   {EPOCH:%y}{day:03d}.00000000  .00000000  00000-0  10000-4 0  999"
    )
    second = (
        f"2 {number:05d} {draw.uniform(20, 110):8.4f} {draw.uniform(0, 360):8.4f}"
        f" {round(eccentricity * 1e7):07d} {draw.uniform(0, 360):8.4f} {draw.uniform(0, 360):8.4f}"
        f" {motion + draw.uniform(0, 0.5):11.8f}{1:5d}"
    )
    return [checked(first), checked(second)]


def ours(file: Path) -> list[list[str]]:
    """The rows of the example `looks`."""
    command = [
        "cargo",
        "run",
        "-q",
        "--offline",
        "-p",
        "bentpipe-orbit",
        "--example",
        "looks",
        "--",
    ]
    command += [str(file), str(LATITUDE), str(LONGITUDE), f"{EPOCH:%Y-%m-%dT%H:%M:%SZ}"]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [line.split(",") for line in printed.splitlines()]


def main() -> int:
    """Compare, and print the largest differences."""
    from skyfield.api import EarthSatellite, load, wgs84

    draw = random.Random(SEED)
    lines = [elements(number + 1, draw) for number in range(COUNT)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "random.tle"
        file.write_text("\n".join(line for pair in lines for line in pair) + "\n", encoding="ascii")
        rows = ours(file)
    scale = load.timescale(builtin=True)
    place = wgs84.latlon(LATITUDE, LONGITUDE)
    start, end = scale.from_datetime(EPOCH), scale.from_datetime(EPOCH + timedelta(days=1))
    worst_m = worst_s = 0.0
    samples = events = missed = own_events = 0
    for number, pair in enumerate(lines, start=1):
        satellite = EarthSatellite(*pair, ts=scale)
        mine = [row for row in rows if row[1] == str(number)]
        ranges = {int(row[2]): float(row[3]) for row in mine if row[0] == "range"}
        times = scale.from_datetimes([EPOCH + timedelta(seconds=second) for second in ranges])
        distances = (satellite - place).at(times).distance().km
        for found, expected in zip(ranges.values(), distances, strict=True):
            worst_m = max(worst_m, abs(found - expected) * 1e3)
            samples += 1
        crossings = [(float(row[2]), row[3] == "1") for row in mine if row[0] == "event"]
        own_events += len(crossings)
        at, kinds = satellite.find_events(place, start, end, altitude_degrees=LEAST_DEG)
        for time, kind in zip(at.utc_datetime(), kinds, strict=True):
            if kind == 1:
                continue
            second = (time - EPOCH).total_seconds()
            near = [abs(second - own) for own, up in crossings if up == (kind == 0)]
            if near and min(near) < 30:
                worst_s, events = max(worst_s, min(near)), events + 1
            else:
                missed += 1
    print(f"{COUNT} satellites, {samples:,} ranges: at most {worst_m:.1f} m apart")
    print(f"{events} rises and sets at {LEAST_DEG:g} degrees: at most {worst_s:.2f} s apart")
    print(f"{missed} rises and sets only in Skyfield, {own_events - events} only here")
    return 0


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    sys.exit(main())
