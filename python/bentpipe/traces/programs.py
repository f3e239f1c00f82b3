"""Reports of programs in JSON: iperf3 and IRTT.

Sources: esnet/iperf, src/iperf_api.c (iperf 3.9); heistp/irtt, doc/irtt-client; clarkzjw/LENS
@75d9bef, scripts/util.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.traces.measurement import Measurement, fault, left_out_note, ordered

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bentpipe.traces.measurement import Floats

START_ERROR_S = 2.0
"""iperf3 states the start in whole seconds, up to 2 s before the first interval."""
LARGEST = 1e15
"""Largest number that a report of iperf3 may have."""


@dataclass(frozen=True)
class Sender:
    """Intervals of a TCP sender of iperf3 on Linux."""

    end_s: Floats
    """Ends of the intervals since the start."""
    cwnd: list[int]
    """Congestion window in bytes at these times."""
    rtt_s: Floats
    """Smoothed round-trip time."""
    retransmits: list[int]
    """Segments retransmitted in each interval."""
    mss: int
    """Segment size in bytes."""
    controller: str | None
    """Congestion controller of the sender, if the report has it."""
    system: str
    """Operating system of the host that wrote the report; empty if the report has none."""


def is_iperf3(head: str) -> bool:
    """Return true for the report of iperf3."""
    return head.lstrip().startswith("{") and '"iperf ' in head


def is_irtt(head: str) -> bool:
    """Return true for the report of IRTT."""
    return head.lstrip().startswith("{") and '"irtt"' in head


def loaded(file: Path, text: str, program: str) -> dict[str, Any]:
    """The JSON of a report."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise fault(file, f"a JSON report of {program}", error.msg, error.lineno) from error
    if not isinstance(found, dict):
        raise fault(file, f"a JSON report of {program}", type(found).__name__)
    if "error" in found:
        raise fault(file, f"a report of {program} without an error", repr(found["error"]))
    return found


def lacks(file: Path, what: str) -> Exception:
    """The error of a report without a value."""
    return fault(file, what, "none")


def at_place(report: dict[str, Any], path: Sequence[str | int]) -> Any:
    """The value at a place of a report; None if it is missing."""
    found: Any = report
    for step in path:
        try:
            found = found[step]
        except (KeyError, IndexError, TypeError):
            return None
    return found


def misfit(file: Path, what: str, path: Sequence[str | int], found: Any) -> Exception:
    """The error of a value, with its place in a report."""
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    shown = "none" if found is None else repr(found)
    return fault(file, f"{what} in {place.lstrip('.')}", shown)


def is_number(found: Any) -> bool:
    """Return true for a number of at most `LARGEST`."""
    fits = isinstance(found, (int, float)) and not isinstance(found, bool)
    return fits and -LARGEST <= found <= LARGEST


def number(file: Path, report: dict[str, Any], *path: str | int) -> float:
    """The number at a place of a report of iperf3.

    `TraceError` with the place if it is missing, negative, above `LARGEST` or no number.
    """
    found = at_place(report, path)
    if not is_number(found) or found < 0:
        raise misfit(file, f"a number from 0 to {LARGEST:g}", path, found)
    return float(found)


def whole_or_none(file: Path, report: dict[str, Any], *path: str | int) -> int | None:
    """The number at a place as an integer; None if the report has none.

    iperf3 counts fewer than 0 lost packets if some arrive twice.
    """
    found = at_place(report, path)
    if found is not None and not is_number(found):
        raise misfit(file, f"a number of at most {LARGEST:g}", path, found)
    return None if found is None else int(found)


def object_at(file: Path, report: dict[str, Any], *path: str) -> dict[str, Any]:
    """The object at a place, empty if the report has none; `TraceError` for another value."""
    found = report
    for depth, step in enumerate(path, 1):
        below = found.get(step, {})
        if not isinstance(below, dict):
            raise misfit(file, "an object", path[:depth], below)
        found = below
    return found


def intervals(file: Path, report: dict[str, Any]) -> list[int]:
    """Places of the measured intervals in `intervals` of an iperf3 report (`omitted` is false)."""
    try:
        found = [one["sum"] for one in report["intervals"]]
        kept = [place for place, one in enumerate(found) if not one.get("omitted", False)]
    except (AttributeError, KeyError, TypeError):
        raise lacks(file, "intervals with a sum") from None
    if len(kept) < 2:
        raise fault(file, "at least 2 intervals", str(len(kept)))
    return kept


def iperf3(file: Path, text: str) -> Sequence[Measurement]:
    """Read the achieved rate of each interval, and the RTT of a TCP sender."""
    report = loaded(file, text, "iperf3")
    kept = intervals(file, report)
    begins, ends, rates = (
        np.array([number(file, report, "intervals", place, "sum", key) for place in kept])
        for key in ("start", "end", "bits_per_second")
    )
    columns = {"achieved_mbps": rates / 1e6}
    start_s = number(file, report, "start", "timestamp", "timesecs")
    try:
        options = report["start"]["test_start"]
        reverse = bool(options.get("reverse", 0))
        udp = options.get("protocol") == "UDP"
    except (AttributeError, KeyError, TypeError):
        raise lacks(file, "start.test_start in a report of iperf3") from None
    notes = [f"the start is known to within {START_ERROR_S:g} s"]
    if not udp:
        notes.append("rates are those that a flow over TCP has achieved")
    sent, lost = totals(file, report, udp)
    rtts = None if udp or reverse else streams(file, report, kept)
    if rtts is not None:
        columns["rtt_ms"] = rtts / 1e3
    times, columns, left_out = ordered(begins, columns)
    return [
        Measurement(
            format="iperf3",
            t_s=times - times[0],
            columns=columns,
            direction="down" if reverse else "up",
            start=start_s,
            start_error_s=START_ERROR_S,
            nominal_s=nominal(times),
            probes=sent,
            lost=lost,
            lasts_s=float(ends.max() - times[0]),
            notes=(*notes, *left_out_note(left_out)),
        )
    ]


def nominal(begins: Floats) -> float:
    """The interval of a report: the median in steps of 0.1 s, the resolution of its option."""
    return max(round(float(np.median(np.diff(begins))), 1), 0.1)


def totals(file: Path, report: dict[str, Any], udp: bool) -> tuple[int | None, int | None]:
    """Packets sent, and those lost (UDP) or retransmitted (TCP)."""
    key = "sum" if udp else "sum_sent"
    object_at(file, report, "end", key)
    names = ("packets", "lost_packets") if udp else ("bytes", "retransmits")
    sent, lost = (whole_or_none(file, report, "end", key, name) for name in names)
    if udp:
        return sent, lost
    mss = whole_or_none(file, report, "start", "tcp_mss_default")
    return (sent // mss, lost) if mss and sent is not None and lost is not None else (None, None)


def streams_of(file: Path, report: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The streams of each interval. `TraceError` with the place of a value that is no object."""
    found = []
    for place, one in enumerate(report["intervals"]):
        listed = one.get("streams") or []
        path = ("intervals", place, "streams")
        if not isinstance(listed, list):
            raise misfit(file, "a list", path, listed)
        for at, stream in enumerate(listed):
            if not isinstance(stream, dict):
                raise misfit(file, "an object", (*path, at), stream)
        found.append(listed)
    return found


def streams(file: Path, report: dict[str, Any], kept: list[int]) -> Floats | None:
    """RTT in us of a single TCP sender in each interval."""
    if any(len(one) != 1 or "rtt" not in one[0] for one in streams_of(file, report)):
        return None
    return np.array([number(file, report, "intervals", at, "streams", 0, "rtt") for at in kept])


def sender(file: Path, text: str) -> Sender:
    """Read the windows of a single TCP sender; `TraceError` if the report has none."""
    if not is_iperf3(text[:4096]):
        raise fault(file, "a JSON report of iperf3", repr(text.lstrip()[:40]))
    report = loaded(file, text, "iperf3")
    kept = intervals(file, report)
    found = streams_of(file, report)
    if any(len(one) != 1 for one in found):
        raise fault(file, "one stream", f"{max(map(len, found))} streams")
    missing = [key for key in ("snd_cwnd", "rtt", "retransmits") if key not in found[kept[0]][0]]
    if missing:
        what = f"intervals of a TCP sender on Linux with {', '.join(missing)}"
        raise fault(file, what, "a receiver or another system")
    end_s, cwnd, rtt_us, retransmits = (
        [number(file, report, "intervals", place, "streams", 0, key) for place in kept]
        for key in ("end", "snd_cwnd", "rtt", "retransmits")
    )
    return Sender(
        end_s=np.array(end_s),
        cwnd=[int(one) for one in cwnd],
        rtt_s=np.array(rtt_us) / 1e6,
        retransmits=[int(one) for one in retransmits],
        mss=int(number(file, report, "start", "tcp_mss_default")),
        controller=object_at(file, report, "end").get("sender_tcp_congestion"),
        system=str(report["start"].get("system_info", "")),
    )


def irtt(file: Path, text: str) -> Sequence[Measurement]:
    """Read the round trips of IRTT, and its one-way delays if both ends stamped packets."""
    report = loaded(file, text, "IRTT")
    sent: list[float] = []
    values: dict[str, list[float]] = {"rtt": [], "send": [], "receive": []}
    try:
        for one in report["round_trips"]:
            sent.append(one["timestamps"]["client"]["send"]["wall"] / 1e9)
            delay = one["delay"] if one["lost"] == "false" else {}
            for name, column in values.items():
                column.append(delay.get(name, np.nan) / 1e6)
        nominal_s = report["config"]["params"]["interval"] / 1e9
    except (AttributeError, KeyError, TypeError) as error:
        raise lacks(file, f"round trips of IRTT with {error}") from error
    if len(sent) < 2:
        raise fault(file, "at least 2 round trips", str(len(sent)))
    found = []
    for name, direction in (("rtt", ""), ("send", "up"), ("receive", "down")):
        one_way = np.array(values[name])
        lost = int(np.isnan(values["rtt"]).sum())
        if direction and np.isnan(one_way).sum() > lost:
            continue
        notes = ("one-way delays depend on the clocks of both ends",) if direction else ()
        key = "delay_ms" if direction else "rtt_ms"
        stamps, columns, left_out = ordered(np.array(sent), {key: one_way})
        found.append(
            Measurement(
                format="irtt",
                t_s=stamps - stamps[0],
                columns=columns,
                direction=direction,
                start=float(stamps[0]),
                nominal_s=nominal_s,
                probes=len(sent),
                lost=lost,
                notes=(*notes, *left_out_note(left_out)),
            )
        )
    return found
