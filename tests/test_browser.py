"""A real browser across the links of `bentpipe shell`, and the table of those loads."""

from __future__ import annotations

import json
import re
import shutil
import statistics
from typing import TYPE_CHECKING

import pytest

from browser import PAGE, PROGRAMS, RESULTS, page_with
from browsing.site import ORIGINS, site
from browsing.variants import Row, Variant, compare, difference, make, same_order

if TYPE_CHECKING:
    from pathlib import Path

TRIES = 3
"""A machine that is busy at the wrong moment slows the browser down."""
BOUND = 10
"""Percent."""


@pytest.mark.usefixtures("for_kernel")
def test_chromium_takes_as_long_as_the_simulator_over_http_2(tmp_path: Path) -> None:
    needed = [name for name in PROGRAMS if name != "caddy"]
    if missing := [name for name in needed if shutil.which(name) is None]:
        pytest.skip(f"missing: {', '.join(missing)}")
    found: list[float] = []
    while not (found and abs(found[-1]) <= BOUND) and len(found) < TRIES:
        folder = tmp_path / str(len(found))
        folder.mkdir()
        # The server reads it as another user.
        for above in (folder, *folder.parents[:3]):
            above.chmod(above.stat().st_mode | 0o055)
        make(folder)
        row = compare(Variant("2", 600, False), 1, folder, {})
        found.append(difference(row.simulator_s, row.browser_s))
        assert row.guessed == 0
    assert abs(found[-1]) <= BOUND, found


def test_the_site_has_forty_objects_whose_bytes_are_always_the_same() -> None:
    found = site()
    assert sum(map(len, found.values())) == 40
    assert tuple(found) == ORIGINS
    assert found == site()


def test_the_table_is_that_of_the_results() -> None:
    found = json.loads(RESULTS.read_text())
    text = PAGE.read_text()
    assert page_with(found) == text
    # By another way: medians and differences of each row as the table prints them.
    rows = [Row(**row) for row in found["rows"]]
    for row in rows:
        name = re.escape(Variant(row.http, row.rtt_ms, row.proxy).name)
        line = re.search(rf"\| {name} \| (.*) \|\n", text)
        assert line is not None, name
        browser, same, by, _, _ = (
            float(cell.replace("\N{MINUS SIGN}", "-")) for cell in line[1].split(" | ")
        )
        assert browser == pytest.approx(statistics.median(row.browser_s), abs=0.0051)
        assert same == pytest.approx(statistics.median(row.simulator_s), abs=0.0051)
        assert by == pytest.approx(100 * (same / browser - 1), abs=1.5)


def test_pairs_that_change_places_are_counted() -> None:
    def row(browser_s: float, simulator_s: float) -> Row:
        return Row("2", 40, False, [browser_s], [simulator_s], [1.0], 0)

    assert same_order([row(1, 1), row(2, 3), row(3, 2)], "simulator_s") == (2, 3)
