"""Bentpipe's controllers agree with those of ns-3 3.44, and where not, by how much and why.

docs/agreement.md has the table and what was tried to find the reasons.
"""

from __future__ import annotations

import itertools
import random
from math import sqrt
from statistics import fmean, stdev

import pytest

from controllers import NS3_CONTROLLERS, VARIANTS, our_goodputs
from peers import ERROR_RATES, Entry

OURS = list(VARIANTS)
# Under the same rules: not the defaults of BIC, not the Westwood+ that counts twice, and not the
# Vegas that hardly reduces, see below.
RANKED = [name for name in OURS if name not in {"bic-defaults", "westwood-plus", "vegas"}]
# Student's t for 95 % of the mean of 20 runs.
T = 2.093


def ratio(name: str, per: float) -> float:
    """Our mean goodput in parts of that of ns-3."""
    return fmean(our_goodputs(name, per)) / NS3_CONTROLLERS.goodput(name, per)


def interval(goodputs: list[float]) -> tuple[float, float]:
    """95 % confidence interval of the mean; a point where nothing is random."""
    half = T * stdev(goodputs) / sqrt(len(goodputs)) if len(goodputs) > 1 else 0.0
    return fmean(goodputs) - half, fmean(goodputs) + half


def order(a: list[float], b: list[float]) -> int:
    """1 when `a` is certainly more than `b`, -1 when it is less, 0 when the intervals overlap."""
    (low_a, high_a), (low_b, high_b) = interval(a), interval(b)
    return (low_a > high_b) - (low_b > high_a)


def separate(name: str, other: str, per: float) -> tuple[int, int]:
    """The order of two controllers here and in ns-3."""
    theirs = [NS3_CONTROLLERS.series(each, per)["goodput_bps"] for each in (name, other)]
    return order(our_goodputs(name, per), our_goodputs(other, per)), order(*theirs)


@pytest.mark.parametrize("name", OURS)
def test_a_download_without_errors_takes_as_long(name: str) -> None:
    # The table of HighSpeed is felt here, and that slow start of Vegas ends with an eighth less.
    allowed = {"highspeed": 0.12, "vegas": 0.05}.get(name, 0.03)
    assert ratio(name, 0.0) == pytest.approx(1.0, rel=allowed)


@pytest.mark.parametrize(
    ("name", "per"),
    [
        *(("newreno", per) for per in ERROR_RATES[1:]),
        *(("cubic", per) for per in ERROR_RATES[1:]),
        *(("veno", per) for per in ERROR_RATES[1:]),
        ("bic", 1e-4),
        ("bic", 1e-3),
        ("bic-defaults", 1e-4),
        ("highspeed", 1e-4),
        ("highspeed", 1e-2),
        ("hybla", 1e-4),
        ("hybla", 1e-3),
        ("westwood-plus", 1e-4),
        ("vegas", 1e-4),
    ],
)
def test_mean_goodput_under_the_same_rules(name: str, per: float) -> None:
    assert ratio(name, per) == pytest.approx(1.0, rel=0.20)


def test_bic_at_one_percent_differs_by_whole_segments() -> None:
    # With windows of 20 segments ns-3 grows by a whole segment after cnt + 1 ACKs, and cnt is cut
    # to a whole number: a third of the gap. Below 14 segments a loss leaves half of the pipe and
    # not of cwnd, which was not told apart from what remains.
    assert 1.14 < ratio("bic", 1e-2) < 1.27


@pytest.mark.parametrize(("per", "measured"), [(1e-3, 1.26), (1e-2, 1.70)])
def test_the_defaults_of_bic_in_ns3_differ_by_smooth_part_and_fast_convergence(
    per: float, measured: float
) -> None:
    # From seven segments below W_max to four above it ns-3 adds 4/5 of a segment per RTT, else a
    # quarter of the distance, where we add half of it. With fast convergence its W_max is what is
    # left of the window, 0.8 W, so that the search begins at its end; here it is 0.9 W.
    assert ratio("bic-defaults", per) == pytest.approx(measured, rel=0.05)


def test_highspeed_at_one_in_a_thousand_differs_by_the_table() -> None:
    # Most windows are between 38 and 118 segments. There ns-3 rounds a(w) of RFC 3649 Appendix B
    # up to 2 and b(w) to 0.44; the equations give 1.0 to 2.0 and 0.5 to 0.44.
    assert 0.70 < ratio("highspeed", 1e-3) < 0.78


def test_hybla_at_one_percent_differs_by_the_ack_that_ends_recovery() -> None:
    # In ns-3 it grows the window by rho^2 / cwnd for each segment that it covers, all that was
    # sent in an RTT: 17 segments at once after each loss.
    assert 0.66 < ratio("hybla", 1e-2) < 0.74


@pytest.mark.parametrize(("per", "low", "high"), [(1e-3, 0.73, 0.85), (1e-2, 0.28, 0.40)])
def test_westwood_plus_in_ns3_differs_by_counting_twice(
    per: float, low: float, high: float
) -> None:
    # In recovery ns-3 counts each duplicate ACK as a segment acknowledged, and then the ACK that
    # ends recovery as all that it covers: the bandwidth, and with it the window that a loss leaves,
    # becomes too large. To count each segment once in recovery, too, moves neither ratio out of
    # these bounds; to count twice as ns-3 does lifts both to 0.97 and 1.21.
    assert low < ratio("westwood-plus", per) < high


@pytest.mark.parametrize("name", OURS)
def test_goodput_falls_with_the_error_rate_in_both(name: str) -> None:
    ours = [fmean(our_goodputs(name, per)) for per in ERROR_RATES]
    theirs = [NS3_CONTROLLERS.goodput(name, per) for per in ERROR_RATES]
    assert ours == sorted(ours, reverse=True)
    assert theirs == sorted(theirs, reverse=True)


def test_vegas_with_errors_differs_by_what_a_loss_leaves() -> None:
    # In ns-3 a loss leaves cwnd less one segment, or the ssthresh of before; in ns-2 and here three
    # quarters of cwnd, and half when the segment had been sent again before.
    assert 0.68 < ratio("vegas", 1e-3) < 0.79
    assert 0.56 < ratio("vegas", 1e-2) < 0.67


@pytest.mark.parametrize("per", ERROR_RATES)
def test_controllers_rank_alike_where_their_intervals_are_apart(per: float) -> None:
    pairs = list(itertools.combinations(RANKED, 2))
    orders = {pair: separate(*pair, per) for pair in pairs}
    apart = {pair: found for pair, found in orders.items() if all(found)}
    assert len(apart) > len(pairs) / 2
    assert [pair for pair, (ours, theirs) in apart.items() if ours != theirs] == []


@pytest.mark.nightly
@pytest.mark.skipif(
    not NS3_CONTROLLERS.installed, reason="ns-3 is not installed; scripts/peers.sh brings it"
)
def test_the_reference_is_what_ns3_gives() -> None:
    assert NS3_CONTROLLERS.has_same_settings
    drawn = random.Random(5)
    entries = [
        Entry(drawn.choice(list(VARIANTS)), drawn.choice([1e-3, 1e-2]), drawn.randint(1, 20))
        for _ in range(2)
    ]
    for entry, result in zip(entries, NS3_CONTROLLERS.downloads(entries), strict=True):
        stored = NS3_CONTROLLERS.series(entry.variant, entry.per)
        expected = stored["goodput_bps"][stored["runs"].index(entry.run)]
        assert result["goodput_bps"] == pytest.approx(expected, rel=1e-9), entry
