"""Bentpipe agrees with ns-2 2.35 at every error rate, with and without SACK."""

from __future__ import annotations

import random

import pytest

from peers import ERROR_RATES, NS2, RECOVERIES, Entry, mean_goodput, our_flows


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_download_without_loss_takes_as_long(recovery: str) -> None:
    ours = our_flows(recovery, 0.0, NS2.framing)[0].completion_s
    theirs = NS2.series(recovery, 0.0)["completion_s"][0]
    assert ours == pytest.approx(theirs, rel=0.03)


@pytest.mark.parametrize("per", ERROR_RATES[1:])
@pytest.mark.parametrize("recovery", RECOVERIES)
def test_mean_goodput_with_packet_errors(recovery: str, per: float) -> None:
    ours = mean_goodput(recovery, per, NS2.framing)
    assert ours == pytest.approx(NS2.goodput(recovery, per), rel=0.15)


@pytest.mark.nightly
@pytest.mark.skipif(not NS2.installed, reason="ns-2 is not installed; scripts/peers.sh brings it")
def test_the_reference_is_what_ns2_gives() -> None:
    assert NS2.has_same_settings
    drawn = random.Random(2)
    entries = [
        Entry(drawn.choice(RECOVERIES), drawn.choice(ERROR_RATES[1:]), drawn.randint(1, 20))
        for _ in range(2)
    ]
    for entry, result in zip(entries, NS2.downloads(entries), strict=True):
        stored = NS2.series(entry.variant, entry.per)
        expected = stored["goodput_bps"][stored["runs"].index(entry.run)]
        assert result["goodput_bps"] == pytest.approx(expected, rel=1e-9), entry
