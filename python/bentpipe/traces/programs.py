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


def intervals(file: Path, report: dict[str, Any]) -> list[dict[str, Any]]:
    """The intervals of a report, without those that iperf3 omits."""
    try:
        found = [one["sum"] for one in report["intervals"]]
        kept = [one for one in found if not one.get("omitted", False)]
    except (KeyError, TypeError):
        raise lacks(file, "intervals with a sum") from None
    if len(kept) < 2:
        raise fault(file, "at least 2 intervals", str(len(kept)))
    return kept


def iperf3(file: Path, text: str) -> Sequence[Measurement]:
    """Read the achieved rate of each interval, and the RTT of a TCP sender."""
    report = loaded(file, text, "iperf3")
    found = intervals(file, report)
    try:
        begins = np.array([one["start"] for one in found], dtype=float)
        columns = {"achieved_mbps": np.array([one["bits_per_second"] for one in found]) / 1e6}
        start = report["start"]
        options = start["test_start"]
        start_s = float(start["timestamp"]["timesecs"])
        reverse = bool(options.get("reverse", 0))
        udp = options.get("protocol") == "UDP"
    except (KeyError, TypeError, ValueError) as error:
        raise lacks(file, f"a report of iperf3 with {error}") from error
    lasts = float(found[-1]["end"]) - begins[0]
    notes = [f"the start is known to within {START_ERROR_S:g} s"]
    if not udp:
        notes.append("rates are those that a flow over TCP has achieved")
    sent, lost = totals(report, udp)
    sender = None if udp or reverse else streams(report)
    if sender is not None and len(sender) == len(begins):
        columns["rtt_ms"] = sender / 1e3
    times, columns, left_out = ordered(begins, columns)
    return [
        Measurement(
            format="iperf3",
            t_s=times - times[0],
            columns=columns,
            direction="down" if reverse else "up",
            start=start_s,
            start_error_s=START_ERROR_S,
            nominal_s=nominal(begins),
            probes=sent,
            lost=lost,
            lasts_s=lasts,
            notes=(*notes, *left_out_note(left_out)),
        )
    ]


def nominal(begins: Floats) -> float:
    """The interval of a report: the median in steps of 0.1 s, the resolution of its option."""
    return max(round(float(np.median(np.diff(begins))), 1), 0.1)


def totals(report: dict[str, Any], udp: bool) -> tuple[int | None, int | None]:
    """Packets sent, and those lost (UDP) or retransmitted (TCP)."""
    end = report.get("end", {})
    if udp:
        whole = end.get("sum", {})
        return whole.get("packets"), whole.get("lost_packets")
    whole = end.get("sum_sent", {})
    mss = report["start"].get("tcp_mss_default") or 0
    lost = whole.get("retransmits")
    sent = int(whole["bytes"] // mss) if mss and "bytes" in whole and lost is not None else None
    return sent, lost if sent is not None else None


def streams(report: dict[str, Any]) -> Floats | None:
    """RTT in us of a single TCP sender in each interval."""
    found = [one["streams"] for one in report["intervals"]]
    if any(len(one) != 1 or "rtt" not in one[0] for one in found):
        return None
    rtts = [one[0]["rtt"] for one in found if not one[0].get("omitted", False)]
    return np.array(rtts, dtype=float)


def sender(file: Path, text: str) -> Sender:
    """Read the windows of a single TCP sender; `TraceError` if the report has none."""
    if not is_iperf3(text[:4096]):
        raise fault(file, "a JSON report of iperf3", repr(text.lstrip()[:40]))
    report = loaded(file, text, "iperf3")
    intervals(file, report)
    found = [one.get("streams", []) for one in report["intervals"]]
    if any(len(one) != 1 for one in found):
        raise fault(file, "one stream", f"{max(map(len, found))} streams")
    rows = [one[0] for one in found if not one[0].get("omitted", False)]
    missing = [key for key in ("snd_cwnd", "rtt", "retransmits") if key not in rows[0]]
    if missing:
        what = f"intervals of a TCP sender on Linux with {', '.join(missing)}"
        raise fault(file, what, "a receiver or another system")
    try:
        return Sender(
            end_s=np.array([row["end"] for row in rows], dtype=float),
            cwnd=[int(row["snd_cwnd"]) for row in rows],
            rtt_s=np.array([row["rtt"] for row in rows], dtype=float) / 1e6,
            retransmits=[int(row["retransmits"]) for row in rows],
            mss=int(report["start"]["tcp_mss_default"]),
            controller=report.get("end", {}).get("sender_tcp_congestion"),
            system=str(report["start"].get("system_info", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise lacks(file, f"a report of iperf3 with {error}") from error


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
    except (KeyError, TypeError) as error:
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
