"""An unmodified iperf3 across the links of `bentpipe shell`, and the same on the simulator."""

from __future__ import annotations

import shutil

import pytest

from suites import iperf

TIME_S = 8
TRIES = 3
"""A machine that is busy at the wrong moment slows iperf3 down."""


@pytest.mark.usefixtures("for_kernel")
def test_iperf3_has_the_goodput_and_the_limit_of_the_simulator() -> None:
    if shutil.which("iperf3") is None:
        pytest.skip("iperf3 is missing")
    on = iperf.PATHS["10 Mbit/s, 100 ms"]
    expected = iperf.simulated(on, TIME_S)
    assert expected.limit == "congestion window"
    found = [iperf.measured(on, TIME_S)]
    while not _agrees(found[-1], expected) and len(found) < TRIES:
        found.append(iperf.measured(on, TIME_S))
    assert _agrees(found[-1], expected), (found, expected)


def _agrees(found: iperf.Found, expected: iperf.Found) -> bool:
    is_near = found.goodput_bps == pytest.approx(expected.goodput_bps, rel=0.1)
    return is_near and found.limit == expected.limit


def test_the_limit_is_that_of_the_connection_with_most_data() -> None:
    control = "0 0 10.0.0.1:5201 10.0.0.2:1 cubic mss:1448 cwnd:10 bytes_sent:4 busy:9ms"
    data = "0 0 10.0.0.1:5201 10.0.0.2:2 cubic mss:1448 cwnd:{} bytes_sent:{}000 busy:100ms {}"
    for cwnd, more, limit in (
        (20, "rwnd_limited:90ms(90%) unacked:20", "receive window"),
        (20, "sndbuf_limited:60ms(60%) unacked:20", "send buffer"),
        # Nothing waits, and the window has room.
        (20, "unacked:9 notsent:280", "send buffer"),
        (20, "unacked:9 notsent:14480", "congestion window"),
        (20, "unacked:20 notsent:280", "congestion window"),
    ):
        lines = [control, data.format(cwnd, 1, more), data.format(cwnd, 2, more)]
        assert iperf.named(1e6, lines).limit == limit, more
