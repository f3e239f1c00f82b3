"""Switches on the command line: what `run` and `explain` print, bad input, the kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bentpipe import Scenario, run

if TYPE_CHECKING:
    from conftest import Bentpipe

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/geo-and-leo.toml"
SHORT = ("duration=12s", "switch.0.event.0.at=4s", "switch.0.event.1.at=8s")


def test_a_run_prints_the_paths_and_when_packets_moved(bentpipe: Bentpipe) -> None:
    done = bentpipe("run", EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert "moved at s" in done.stdout
    rows = run(Scenario.load(EXAMPLE)).table("switch").to_dicts()
    assert [(row["router"], row["via"], row["moved_s"]) for row in rows] == [
        ("ship", "leo", 60.0),
        ("ship", "geo", 30.0),
        ("hub", "leo", 60.0),
        ("hub", "geo", 30.0),
    ]


def test_explain_shows_the_paths_as_text_and_as_json(bentpipe: Bentpipe) -> None:
    assert "round trip 500ms, at most 5Mbit/s" in bentpipe("explain", EXAMPLE).stdout
    found = json.loads(bentpipe("explain", EXAMPLE, "--json").stdout)
    [switch] = found["switches"]
    assert [path["via"] for path in switch["paths"]] == ["leo", "geo"]
    assert switch["moves"][0] == [{"at_s": 30.0, "via": "geo"}, {"at_s": 60.0, "via": "leo"}]


def test_a_path_without_a_name_is_refused_with_its_line_and_the_nearest_one(
    bentpipe: Bentpipe,
) -> None:
    done = bentpipe("run", EXAMPLE, "--set", "switch.0.event.0.via=gee")
    assert done.returncode == 2
    assert "switch[0].event[0].via" in done.stderr
    assert '"geo"' in done.stderr


@pytest.mark.usefixtures("for_kernel")
def test_packets_of_the_kernel_move_too() -> None:
    recording = run(Scenario.load(EXAMPLE, SHORT), backend="kernel")
    rows = {(row["router"], row["via"]): row for row in recording.table("switch").to_dicts()}
    for router in ("ship", "hub"):
        assert rows[router, "geo"]["moved_s"] == pytest.approx(4.0, abs=0.01)
        assert rows[router, "leo"]["moved_s"] == pytest.approx(8.0, abs=0.01)
        assert rows[router, "geo"]["packets"] > 100
    sent = rows["hub", "geo"]["packets"]
    links = {(link["link"], link["direction"]): link for link in recording.links.to_dicts()}
    there = links["hub-geo", "forward"]
    assert there["delivered_packets"] + there["dropped_packets"] == sent
