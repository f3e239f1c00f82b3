"""Logs of lines: pings, and tables of other projects.

Sources: iputils (`ping -D`); clarkzjw/LEOViz @6c14d4d; clarkzjw/LENS @75d9bef, README;
XuyangCaoUCSD/LeoEM @4488b00, precomputed_paths; Peter-LiDP/Starlink-5G-emulator @70b235c,
lagos.csv; clarkzjw/mmsys24-starlink-livestreaming-data @bcf33b9, src/latency.
"""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.traces.measurement import Measurement, fault, left_out_note, ordered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from bentpipe.traces.measurement import Floats

    Integers = NDArray[np.int64]

REPLY = re.compile(r"^(?:\[(\d+\.\d+)\] )?\d+ bytes from .*icmp_seq=(\d+).* time=([\d.]+) ms(.*)$")
STAMP = re.compile(r"^\[\d+\.\d+\] \d+ bytes from ", re.MULTILINE)
PING = re.compile(r"^PING |^(\[\d+\.\d+\] )?\d+ bytes from .*icmp_seq=", re.MULTILINE)
UNANSWERED = re.compile(r"^(?:\[\d+\.\d+\] )?(?:no answer yet for |From .*)icmp_seq=(\d+)")
"""Lines about probes without a reply: those of `ping -O`, and errors of routers."""
STATISTICS = re.compile(r"^(\d+) packets transmitted, (\d+) (?:packets )?received")
SEQUENCES = 65536
"""Sequence numbers of ICMP, after which they begin again."""
TABLE = re.compile(r"^\d{9,}(\.\d+)?\t\d+\t-?\d+(\.\d+)?$")
FRAME = re.compile(r"^\d+\$(NULL$|\[)")
LENS = ("timestamp,rtt", "timestamp,rtt,uplink,downlink")
LEOVIZ = ("timestamp", "popPingLatencyMs", "downlinkThroughputBps", "uplinkThroughputBps")
ACHIEVED_COLUMNS = 5
LEAST_ROWS = 2
ROUNDED_S = 1e-9
"""Difference of sums of delays by the order of their terms, at most."""
NANOSECONDS = 1e16
"""Unix times above this are in ns, and otherwise in s."""


def first_line(head: str) -> str:
    """The first line of a text."""
    return head.split("\n", 1)[0].strip()


def is_ping(head: str) -> bool:
    """Return true for the output of ping."""
    return bool(PING.search(head))


@dataclass
class Section:
    """The lines of one run of ping."""

    sequences: list[int] = field(default_factory=list)
    is_reply: list[bool] = field(default_factory=list)
    totals: tuple[int, int] | None = None
    """Probes sent and replies by the statistics, which end a run."""

    def add(self, sequence: str, *, is_reply: bool) -> None:
        """Add a numbered line."""
        self.sequences.append(int(sequence))
        self.is_reply.append(is_reply)

    def numbered(self) -> tuple[int, int]:
        """Probes between the first and the last numbered line, and replies."""
        if not self.sequences:
            return 0, 0
        numbers = unwrapped(np.array(self.sequences))
        replies = len(set(numbers[np.array(self.is_reply)].tolist()))
        return int(numbers.max() - numbers.min() + 1), replies


def ping(file: Path, text: str) -> Sequence[Measurement]:
    """Read the output of `ping -D`. The time of a reply is the one before its line."""
    if not STAMP.search(text):
        raise fault(file, "times before replies, which `ping -D` writes", "none")
    times, rtts, copies = [], [], 0
    sections = [Section()]
    for line in text.splitlines():
        if totals := STATISTICS.match(line):
            sections[-1].totals = (int(totals[1]), int(totals[2]))
        if totals or line.startswith("PING "):
            sections.append(Section())
        if silent := UNANSWERED.match(line):
            sections[-1].add(silent[1], is_reply=False)
        if not (reply := REPLY.match(line)) or reply[1] is None:
            continue
        if "DUP!" in reply[4]:
            copies += 1
            continue
        times.append(float(reply[1]))
        sections[-1].add(reply[2], is_reply=True)
        rtts.append(float(reply[3]))
    if len(times) < LEAST_ROWS:
        raise few(file, len(times))
    sent, received, note = counts([one for one in sections if one.sequences or one.totals])
    notes = [f"leaves out {copies:,} duplicate replies"] if copies else []
    notes += [note] if note else []
    return [
        of_times(
            "ping", np.array(times), {"rtt_ms": np.array(rtts)},
            probes=sent, lost=sent - received, notes=tuple(notes),
        )
    ]  # fmt: skip


def counts(sections: Sequence[Section]) -> tuple[int, int, str]:
    """Probes sent, replies, and a note if a run has no statistics of all its replies."""
    sent = received = 0
    others: list[Section] = []
    for one in sections:
        probes, replies = one.numbered()
        if one.totals is None or one.totals[1] != replies:
            others.append(one)
        else:
            probes = one.totals[0]
        sent, received = sent + probes, received + replies
    if not others:
        return sent, received, ""
    why = "are missing"
    if all(one.totals for one in others):
        counted = sum(one.totals[1] for one in others if one.totals)
        replies = sum(one.numbered()[1] for one in others)
        why = f"count {counted:,} replies and the file has {replies:,}"
    end = "reply" if all(all(one.is_reply) for one in others) else "numbered line"
    of = " of each run" if len(sections) > 1 else ""
    note = f"losses are counted between the first and the last {end}{of}: statistics of ping {why}"
    return sent, received, note


def unwrapped(sequences: Integers) -> Integers:
    """Sequence numbers that do not begin again after 65535. Late replies keep theirs."""
    steps = np.diff(sequences, prepend=sequences[:1])
    turns = np.cumsum((steps < -SEQUENCES // 2).astype(int) - (steps > SEQUENCES // 2).astype(int))
    numbered: Integers = sequences + turns * SEQUENCES
    return numbered


def is_ping_table(head: str) -> bool:
    """Return true for lines with a Unix time, a sequence number and an RTT."""
    return bool(TABLE.match(first_line(head)))


def ping_table(file: Path, text: str) -> Sequence[Measurement]:
    """Read lines with Unix time in s, sequence number and RTT in ms, -1 for a lost probe."""
    table = number_table(file, text.splitlines(), "\t", 3)
    rtt: Floats = np.where(table[:, 2] >= 0, table[:, 2], np.nan)
    return [counted("ping-table", table[:, 0], {"rtt_ms": rtt})]


def number_table(
    file: Path, lines: Iterable[str], separator: str, columns: int, first: int = 1
) -> Floats:
    """The numbers of lines; `TraceError` if there are fewer than two rows."""
    table = np.array(list(number_rows(file, lines, separator, columns, first)), dtype=np.float64)
    if len(table) < LEAST_ROWS:
        raise few(file, len(table))
    return table


def few(file: Path, rows: int) -> Exception:
    """The error of a file with fewer than two values."""
    return fault(file, f"at least {LEAST_ROWS} values", str(rows))


def number_rows(
    file: Path, lines: Iterable[str], separator: str, columns: int, first: int = 1
) -> Iterator[list[float]]:
    """The numbers of lines; `TraceError` with the number of a line that has others."""
    what = f"{columns} numbers"
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        cells = line.split(separator)
        try:
            row = [float(cell) for cell in cells]
        except ValueError:
            raise fault(file, what, repr(line[:60]), number) from None
        if len(row) != columns or not np.isfinite(row).all():
            raise fault(file, what, repr(line[:60]), number)
        yield row


def is_lens(head: str) -> bool:
    """Return true for the header of processed files of LENS."""
    return first_line(head) in LENS


def lens(file: Path, text: str) -> Sequence[Measurement]:
    """Read a processed file of LENS. A value of -1 or, in a row with a -1, of 0 is a loss."""
    header, *lines = text.splitlines()
    names = header.strip().split(",")
    table = number_table(file, lines, ",", len(names), 2)
    times = table[:, 0] / 1e9 if table[0, 0] > NANOSECONDS else table[:, 0]
    lost = np.min(table[:, 1:], axis=1) < 0
    values = np.where(lost[:, None], np.nan, table[:, 1:])
    found = [counted("lens-csv", times, {"rtt_ms": values[:, 0]})]
    for column, direction in enumerate(names[2:], 1):
        word = {"uplink": "up", "downlink": "down"}[direction]
        note = "one-way delays depend on the clocks of both ends"
        one_way = {"delay_ms": values[:, column]}
        found.append(counted("lens-csv", times, one_way, direction=word, notes=(note,)))
    return found


def is_leoviz(head: str) -> bool:
    """Return true for the status of a terminal as LEOViz saves it."""
    return set(LEOVIZ) <= set(first_line(head).split(","))


def leoviz(file: Path, text: str) -> Sequence[Measurement]:
    """Read the status of a terminal: RTT to the point of presence, and rates of the user.

    A negative RTT is a ping without a reply.
    """
    rows = list(csv.DictReader(io.StringIO(text)))
    if len(rows) < LEAST_ROWS:
        raise few(file, len(rows))
    columns: dict[str, list[float]] = {name: [] for name in LEOVIZ}
    for number, row in enumerate(rows, 2):
        for name in LEOVIZ:
            try:
                columns[name].append(float(row[name]))
            except (TypeError, ValueError):
                raise fault(file, f"a number in {name}", repr(row[name]), number) from None
    times, rtt, down, up = (np.array(columns[name]) for name in LEOVIZ)
    note = ("rates are those that the user has used",)
    return [
        of_times("leoviz-status", times, {"rtt_ms": np.where(rtt < 0, np.nan, rtt)}),
        of_times(
            "leoviz-status", times, {"achieved_mbps": down / 1e6}, direction="down", notes=note
        ),
        of_times("leoviz-status", times, {"achieved_mbps": up / 1e6}, direction="up", notes=note),
    ]


def is_leoem(head: str) -> bool:
    """Return true for frames of LeoEM."""
    return bool(FRAME.match(first_line(head)))


def leoem(file: Path, text: str) -> Sequence[Measurement]:
    """Read frames of LeoEM: one-way delays, one frame per second, NULL without a path."""
    seconds, delays, ends = [], [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        frame, *rest = line.strip().split("$")
        try:
            seconds.append(float(int(frame)))
            if rest == ["NULL"]:
                delays.append(np.nan)
                continue
            path, _nodes, hops, total = rest
            nodes, computed = json.loads(path), sum(json.loads(hops))
            delays.append(float(total) * 1e3)
            ends.append((nodes[1], nodes[-2]))
        except (ValueError, IndexError, TypeError):
            what = "a frame as `1$[path]$nodes$[hop delays in s]$sum in s`"
            raise fault(file, what, repr(line[:60]), number) from None
        if abs(computed - delays[-1] / 1e3) > ROUNDED_S:
            raise fault(file, f"a sum of {computed:g} s", total, number)
    handovers = sum(one != other for one, other in pairwise(ends))
    without = int(np.isnan(delays).sum())
    notes = (
        f"the first or the last satellite changes {handovers:,} times",
        f"{without:,} frames have no path: outages with the delay of the frame before",
    )
    if not ends:
        raise fault(file, "frames with a path", "none")
    if len(seconds) < LEAST_ROWS:
        raise few(file, len(seconds))
    times, found, left_out = ordered(np.array(seconds), {"delay_ms": np.array(delays)})
    found["outage"] = np.isnan(found["delay_ms"]).astype(float)
    found["delay_ms"] = held(found["delay_ms"])
    return [
        Measurement(
            "leoem", times - times[0], found, nominal_s=1.0,
            notes=(*notes, *left_out_note(left_out)),
        )
    ]  # fmt: skip


def held(values: Floats) -> Floats:
    """Values where NaN is the value before, or that of the first one."""
    places = np.where(np.isfinite(values), np.arange(len(values)), -1)
    before = np.maximum.accumulate(places)
    first = int(np.argmax(places >= 0))
    kept: Floats = values[np.where(before >= 0, before, first)]
    return kept


def is_achieved(head: str) -> bool:
    """Return true for five numbers in a line, without a header."""
    cells = first_line(head).split(",")
    try:
        return len([float(cell) for cell in cells]) == ACHIEVED_COLUMNS
    except ValueError:
        return False


def achieved(file: Path, text: str) -> Sequence[Measurement]:
    """Read rates that flows have achieved and one-way delays of both directions.

    Times in ms count from a start that the file does not have.
    """
    table = number_table(file, text.splitlines(), ",", ACHIEVED_COLUMNS)
    notes = ("rates are those of flows over TCP, and delays were measured beside them",)
    found = []
    for direction, rate, delay in (("up", 0, 2), ("down", 1, 3)):
        columns = {"achieved_mbps": table[:, rate], "delay_ms": table[:, delay]}
        times, columns, left_out = ordered(table[:, 4] / 1e3, columns)
        more = (*notes, *left_out_note(left_out))
        found.append(
            Measurement(
                "achieved-csv", times - times[0], columns, direction=direction, nominal_s=0.1,
                notes=more,
            )
        )  # fmt: skip
    return found


def of_times(
    name: str,
    times: Floats,
    columns: dict[str, Floats],
    *,
    direction: str = "",
    probes: int | None = None,
    lost: int | None = None,
    notes: tuple[str, ...] = (),
) -> Measurement:
    """A measurement with Unix times."""
    times, columns, left_out = ordered(times, columns)
    return Measurement(
        format=name,
        t_s=times - times[0],
        columns=columns,
        direction=direction,
        start=float(times[0]),
        probes=probes,
        lost=lost,
        notes=(*notes, *left_out_note(left_out)),
    )


def counted(
    name: str,
    times: Floats,
    columns: dict[str, Floats],
    *,
    direction: str = "",
    notes: tuple[str, ...] = (),
) -> Measurement:
    """A measurement with Unix times in which each row is a probe, lost if it has no value."""
    lost = int(np.isnan(next(iter(columns.values()))).sum())
    return of_times(
        name, times, columns, direction=direction, probes=len(times), lost=lost, notes=notes
    )
