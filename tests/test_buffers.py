"""Choosing a controller and a buffer: the Pareto front, the recommendation, and random phases."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

from bentpipe._native import Scenario
from bentpipe.compare import buffers, links
from bentpipe.compare.buffers import Combination, Measured
from bentpipe.compare.workloads import WORKLOADS
from bentpipe.errors import InputError
from bentpipe.evaluate.checklist import CHECKLIST
from bentpipe.evaluate.items import link_of, planned
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

HANDOVER = EXAMPLES / "handover.toml"
BULK = next(workload for workload in WORKLOADS if workload.name == "bulk")


def test_the_front_has_what_nothing_dominates() -> None:
    points = {
        ("slow", "short"): (5.0, 600.0),
        ("fast", "long"): (10.0, 900.0),
        ("fast", "longer"): (10.0, 950.0),
        ("worse", "long"): (9.0, 900.0),
        ("good", "half"): (9.6, 700.0),
        ("equal", "half"): (9.6, 700.0),
    }
    assert buffers.on_front(points) == {
        ("slow", "short"), ("fast", "long"), ("good", "half"), ("equal", "half"),
    }  # fmt: skip


def combination(
    name: str, queue: str, goodput: float, latency: float, **other: bool
) -> Combination:
    """A combination of 20 runs, in Mbit/s and ms."""
    tied = other.get("tied", False)
    finding = "not significant" if tied else "significant"
    against = {"difference": 1.0, "distinct": not tied, "finding": finding}
    return Combination(
        controller=name,
        queue=queue,
        n=20,
        needs=None,
        goodput_bps=Measured(goodput * 1e6, None),
        p95_rtt_ms=Measured(latency, None, against),
        p95_queueing_delay_ms=latency - 600,
        timeouts=0.0,
        on_front=True,
        nearly_full=other.get("full", True),
    )


def test_the_recommendation_says_what_it_gives_up_and_what_is_as_good() -> None:
    best = combination("bbr3", "0.5bdp", 19.5, 700)
    found = [
        combination("vegas", "0.1bdp", 12.0, 620, full=False),
        best,
        combination("hybla", "0.5bdp", 19.6, 705, tied=True),
        combination("cubic", "1bdp", 20.0, 1200),
    ]
    said = buffers.sentence(found, best)
    assert said == (
        "Recommended for one bulk flow: bbr3 with a queue of 0.5bdp: 19.50 Mbit/s with a p95 RTT of"
        " 700.0 ms. It has the lowest p95 RTT of the 3 combinations with at least 95 % of the"
        " highest goodput, which is 20.00 Mbit/s (cubic, 1bdp) with a p95 RTT of 1,200 ms. Not"
        " significantly different in p95 RTT: hybla, 0.5bdp."
    )


def test_a_buffer_is_chosen_for_a_scenario(bentpipe: Bentpipe, tmp_path: Path) -> None:
    command = ("compare", "--scenario", str(EXAMPLES / "lossy-geo.toml"), "--controllers",
               "hybla,ck-stp", "--queue", "0.2bdp,1bdp", "--replications", "3",
               "--set", "duration=60s")  # fmt: skip
    done = bentpipe(*command, "--out", "out", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)["buffers"]
    rows = found["combinations"]
    assert {row["queue"] for row in rows} == {"0.2bdp", "1bdp"}
    assert len(rows) == 2 * 4
    able = [row for row in rows if not row["needs"]]
    assert {row["controller"] for row in rows if row["needs"]} == {"ck-stp"}
    highest = max(row["goodput_bps"]["mean"] for row in able)
    full = [row for row in able if row["goodput_bps"]["mean"] >= 0.95 * highest]
    best = min(full, key=lambda row: (row["p95_rtt_ms"]["mean"], -row["goodput_bps"]["mean"]))
    assert found["recommended"] == {key: best[key] for key in ("controller", "queue")}
    assert found["sentence"].startswith(
        f"Recommended for one bulk flow: {best['controller']} with a queue of"
    )
    for row in rows:
        is_best = row is best
        assert (row["goodput_bps"]["against_recommended"] is None) == is_best
        dominating = [
            other for other in able
            if other["goodput_bps"]["mean"] >= row["goodput_bps"]["mean"]
            and other["p95_rtt_ms"]["mean"] < row["p95_rtt_ms"]["mean"]
        ]  # fmt: skip
        assert not (row["on_front"] and dominating)
    # The queues are those of the bottleneck: the same study by hand.
    summary = json.loads((tmp_path / "out/buffers/summary.json").read_text())
    assert {cell["n"] for cell in summary["cells"]} == {3}
    assert found["sentence"] in (tmp_path / "out/compare.md").read_text()
    printed = bentpipe(*command, "--out", "out")
    answer = f"Choose {best['controller']} with a queue of {best['queue']}, for one bulk flow:"
    assert answer in " ".join(printed.stdout.split())
    printed = bentpipe(*command, "--out", "out", "--verbose")
    assert found["sentence"] in " ".join(printed.stdout.split())
    assert "Not compared: page load times and sharing with NewReno" in printed.stdout
    assert bentpipe("report", "out").returncode == 0
    page = (tmp_path / "out/report.html").read_text()
    assert "Goodput against latency under load" in page
    assert "Pareto front" in page


def test_one_queue_changes_a_scenario_and_wrong_ones_are_refused() -> None:
    link = links.of_scenario(HANDOVER, ())
    assert link.queue_path == "link.1.forward.queue"
    changed = link.with_queue("64kB")
    assert changed.document["link"][1]["forward"]["queue"] == {"bytes": "64kB"}
    # 50 Mbit/s and 40 ms.
    assert [buffer.setting for buffer in link.buffers("0.5bdp, 20")] == [
        "{ bytes = '125000B' }", "{ packets = 20 }",
    ]  # fmt: skip
    for wrong in ("0.5bdp,", "0.5bdp,fast", "1bdp,250kB,1bdp"):
        with pytest.raises(InputError, match="--queue"):
            link.buffers(wrong)


def test_the_seeds_meet_events_at_different_moments_and_controllers_at_the_same() -> None:
    plain = links.of_scenario(HANDOVER, ())
    assert plain.scenario.longest_event_delay_s == 0
    link = plain.in_phase(None)
    scenario = BULK.scenario(link)
    assert scenario.longest_event_delay_s == 15
    delays = [scenario.event_delay_s(seed) for seed in range(20)]
    assert len(set(delays)) == 20
    other = scenario.with_({"flow.0.controller": "hybla"})
    assert [other.event_delay_s(seed) for seed in range(20)] == delays
    assert plain.in_phase("fixed").scenario.longest_event_delay_s == 0
    # A scenario that says so itself keeps its phase, unless the option is given.
    fixed = links.of_scenario(HANDOVER, ("phase=fixed",))
    assert fixed.in_phase(None).scenario.longest_event_delay_s == 0
    assert fixed.in_phase("random").scenario.longest_event_delay_s == 15
    calm = links.of_preset("leo")
    assert calm.in_phase("random") is calm


def test_the_delay_of_events_moves_what_happens() -> None:
    """Two outages of 2 s and nothing random: only the phase makes seeds differ."""
    import bentpipe as bp

    scenario = Scenario.load(
        EXAMPLES / "handover.toml",
        ['link.1.event=[{ at = "15s", every = "40s", outage = "2s" }]', "duration=60s",
         "record.interval=100ms"],
    )  # fmt: skip
    fixed = [bp.run(scenario, seed=seed) for seed in (1, 2)]
    assert fixed[0].flows["bytes"].to_list() == fixed[1].flows["bytes"].to_list()
    moved = scenario.with_({"phase": "random"})
    for seed in (1, 2):
        run = bp.run(moved, seed=seed)
        expected = 15 + moved.event_delay_s(seed)
        # Rows of the bottleneck, in the direction of the data.
        link = run.link_series.filter(pl.col("link") == 2, pl.col("t_s").is_between(10, 50))
        silent = link.filter(pl.col("utilisation") == 0)["t_s"]
        assert expected <= silent[0] <= expected + 0.5


@pytest.mark.parametrize("name", ["varying-delay", "path-change"])
def test_the_checklist_has_random_phases(name: str) -> None:
    item = next(item for item in CHECKLIST if item.name == name)
    assert link_of(item, "random").scenario.longest_event_delay_s > 0
    for phase, longest in (("random", True), ("fixed", False)):
        study = planned(item, "cubic", ["newreno"], phase, 3)
        found = {variant.scenario.longest_event_delay_s > 0 for variant in study.variants}
        assert found == {longest}


def test_the_header_says_when_events_happen(bentpipe: Bentpipe) -> None:
    command = ("compare", "--scenario", str(HANDOVER), "--controllers", "cubic",
               "--queue", "100kB,200kB", "--replications", "1")  # fmt: skip
    done = bentpipe(*command)
    assert "up to 15 s later than written, depending on the seed" in done.stdout
    done = bentpipe(*command, "--phase", "fixed", "--json")
    assert json.loads(done.stdout)["link"]["events"] == {
        "phase": "fixed", "longest_event_delay_s": 0.0, "of": "links",
    }  # fmt: skip
