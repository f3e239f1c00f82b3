"""XCP and Snoop agree with ns-2 2.35."""

from __future__ import annotations

import json
from typing import Any

import pytest

from path_ns2 import (
    DOWNLOADS,
    DUMBBELLS,
    REFERENCE,
    Dumbbell,
    Lossy,
    download,
    download_of_ns2,
    installed,
    xcp,
    xcp_of_ns2,
)

STORED: dict[str, Any] = json.loads(REFERENCE.read_text())


@pytest.mark.parametrize("case", DUMBBELLS, ids=lambda case: case.name)
def test_xcp_fills_a_link_as_in_ns2(case: Dumbbell) -> None:
    theirs = STORED["xcp"][DUMBBELLS.index(case)]
    ours = xcp(case)
    assert ours["utilisation"] == pytest.approx(theirs["utilisation"], abs=0.02)
    assert min(ours["utilisation"], theirs["utilisation"]) > 0.95
    assert min(ours["jain"], theirs["jain"]) > 0.99
    # Two packets, of a product of rate and delay of 150 to 800.
    assert (ours["dropped"], theirs["dropped"]) == (0, 0)
    assert ours["waiting_bytes"] == pytest.approx(theirs["waiting_bytes"], abs=3000)


@pytest.mark.parametrize("case", DOWNLOADS, ids=str)
def test_snoop_is_worth_as_much_as_in_ns2(case: Lossy) -> None:
    theirs = STORED["snoop"][DOWNLOADS.index(case)]["goodput_kbps"]
    assert download(case) == pytest.approx(theirs, rel=tolerance(case))


def tolerance(case: Lossy) -> float:
    """The local timers differ, which repair retransmissions that are lost again."""
    return 0.15 if case.snoop and case.per >= 0.05 else 0.05


@pytest.mark.nightly
@pytest.mark.skipif(not installed(), reason="ns-2 is not installed; scripts/peers.sh brings it")
def test_the_stored_results_are_what_ns2_gives() -> None:
    stored = STORED["xcp"][0]
    for name, value in xcp_of_ns2(DUMBBELLS[0]).items():
        assert stored[name] == pytest.approx(value, rel=1e-9), name
    for number, case in enumerate(DOWNLOADS):
        if case.per == 0:
            expected = STORED["snoop"][number]["goodput_kbps"]
            assert download_of_ns2(case) == pytest.approx(expected, rel=1e-9)
