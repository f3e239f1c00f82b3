"""Mechanisms on the path: `bentpipe path`, and what recordings have of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import bentpipe as bp

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

ALGORITHMS = ["codel", "dualpi2", "fq-codel", "pie", "red"]


def test_all_mechanisms_are_listed_with_source_and_status(bentpipe: Bentpipe) -> None:
    listed = json.loads(bentpipe("path", "--json").stdout)["mechanisms"]
    assert [one["name"] for one in listed] == ALGORITHMS
    assert all(one["source"] and one["status"] and one["hurts"] for one in listed)
    printed = bentpipe("path").stdout
    assert all(name in printed for name in ALGORITHMS)


def test_one_mechanism_is_described_with_its_parameters(bentpipe: Bentpipe) -> None:
    printed = bentpipe("path", "codel").stdout
    assert "RFC 8289" in printed
    assert "interval" in printed
    assert "100ms" in printed


def test_a_wrong_name_is_answered_with_the_nearest(bentpipe: Bentpipe) -> None:
    done = bentpipe("path", "fq-codle")
    assert (done.returncode, done.stdout) == (2, "")
    assert "fq-codel" in done.stderr


@pytest.mark.parametrize("aqm", ALGORITHMS)
def test_a_recording_has_drops_marks_and_delay_of_each_algorithm(
    bentpipe: Bentpipe, small: Path, tmp_path: Path, aqm: str
) -> None:
    sets = [f"link.0.aqm={aqm}", "link.0.queue=unlimited", "record.interval=100ms"]
    options = [word for one in sets for word in ("--set", one)]
    done = bentpipe("run", small, "--out", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    run = bp.load(tmp_path / "out")
    totals = run.table("aqm")
    assert totals["aqm"].to_list() == [aqm, aqm]
    assert totals["direction"].to_list() == ["forward", "backward"]
    assert (totals["mean_queue_delay_ms"] <= totals["max_queue_delay_ms"]).all()
    assert aqm in done.stdout
    assert "queue delay" in done.stdout
    # The queue is unlimited, so that all drops are those of the algorithm.
    dropped = run.links["dropped_packets"].to_list()[:2]
    assert totals["dropped_packets"].to_list() == dropped
    assert run.table("aqm_series")["link"].unique().sort().to_list() == [0, 1]
