"""The forms of files that `bentpipe trace` reads.

A form is one entry of `FORMATS`. Its name is a value of `--format`, and `docs/traces.md` lists it.
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.console import nearest
from bentpipe.traces import logs, native, programs
from bentpipe.traces.measurement import fault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bentpipe.traces.measurement import Measurement

LAST_START_S = 253_402_300_800
"""Unix time of the beginning of the year 10000."""
HEAD = 4096
"""Characters of a file by which its form is recognised."""
GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Format:
    """A form of files."""

    name: str
    about: str
    """Its origin and content in a sentence."""
    fits: Callable[[str], bool]
    """Returns true if a file that begins with this text has the form."""
    read: Callable[[Path, str], Sequence[Measurement]]
    """Reads a file with this name and content."""


FORMATS = (
    Format("ping", "output of `ping -D` (iputils), also that of LEOViz and LENS",
           logs.is_ping, logs.ping),
    Format("ping-table", "lines with Unix time, sequence number and RTT in ms, -1 for a lost probe",
           logs.is_ping_table, logs.ping_table),
    Format("iperf3", "JSON of iperf3 (`--json`), one stream or the sum of several",
           programs.is_iperf3, programs.iperf3),
    Format("irtt", "JSON of IRTT, as LENS has it",
           programs.is_irtt, programs.irtt),
    Format("lens-csv", "CSV of LENS: `timestamp,rtt`, or with `uplink,downlink`",
           logs.is_lens, logs.lens),
    Format("leoviz-status", "CSV of LEOViz with the status of the terminal",
           logs.is_leoviz, logs.leoviz),
    Format("leoem", "frames of LeoEM, one per second: path, hop delays and their sum",
           logs.is_leoem, logs.leoem),
    Format("achieved-csv", "rows of Starlink-5G-emulator (lagos.csv): rate up and down in Mbit/s,"
           " delay up and down in ms, time in ms",
           logs.is_achieved, logs.achieved),
    Format("columns", "columns of a trace: `t_s` with rates, delays, losses, outages",
           native.is_columns, native.columns),
    Format("deliveries", "delivery trace of Mahimahi", native.is_deliveries, native.deliveries),
    Format("delays", "delays of LeoReplayer, one for each 10 ms", native.is_delays, native.delays),
)  # fmt: skip
"""All forms. The first one that fits is taken."""


def read(file: Path, name: str | None, columns: Mapping[str, str]) -> Sequence[Measurement]:
    """Read a file in the form `name`, or in the one that its content has.

    `columns` are the names of columns of a log of another program. `TraceError` with the place if
    the file cannot be read.
    """
    if columns:
        if name not in (None, "columns"):
            raise fault(file, "the format columns with --column", name)
        return native.named(file, columns)
    known = {one.name: one for one in FORMATS}
    if name is not None and name not in known:
        raise fault(file, "a format", f"{name!r}{nearest(name, known)}")
    text = content(file)
    found = (
        known.get(name) if name else next((one for one in FORMATS if one.fits(text[:HEAD])), None)
    )
    if found is not None and found.read in native.READERS and is_packed(file):
        raise fault(file, f"{found.name} without gzip, as scenarios read them", "gzip")
    if found is None:
        first = text.lstrip().split("\n", 1)[0][:60]
        listed = ", ".join(known)
        raise fault(
            file, f"a file in one of the formats {listed}", f"{first!r}; --column names columns"
        )
    measurements = found.read(file, text)
    for one in measurements:
        check(file, one)
    return measurements


def check(file: Path, measurement: Measurement) -> None:
    """Raise `TraceError` for values and times that no measurement has."""
    for name in ("rtt_ms", "rate_mbps", "achieved_mbps"):
        values = measurement.columns.get(name, np.empty(0))
        wrong = np.flatnonzero((values < 0) | np.isinf(values))
        if len(wrong):
            at, value = measurement.t_s[wrong[0]], values[wrong[0]]
            what = f"{name} of at least 0, and finite"
            raise fault(file, what, f"{value:g}, {at:g} s after the first value")
    if measurement.start is not None and not 0 <= measurement.start < LAST_START_S:
        raise fault(file, "Unix times in s, before the year 10000", f"{measurement.start:g}")


def is_packed(file: Path) -> bool:
    """Return true for a file that is compressed with gzip."""
    return file.read_bytes()[: len(GZIP)] == GZIP


def content(file: Path) -> str:
    """The text of a file, which may be compressed with gzip. Parquet files have none."""
    try:
        data = file.read_bytes() if file.is_file() else None
        if data is None:
            what = "a folder" if file.is_dir() else "no such file"
            raise fault(file, "a file with a measurement", what)
        if data.startswith(GZIP):
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise fault(file, "a file that can be read", str(error)) from error
    if data.startswith(native.PARQUET):
        return native.PARQUET.decode()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise fault(file, "a text file", "bytes that are no UTF-8") from error
