"""Comparing controllers on a link: who is best, who is as good, and what it says in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.compare import candidates, links
from bentpipe.compare.outcome import Outcome
from bentpipe.compare.ranking import Runs, ranked
from bentpipe.compare.verdict import verdicts
from bentpipe.compare.workloads import WORKLOADS
from bentpipe.study import Results
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

SMALL = ("--link", "geo-ka", "--rate", "1Mbit/s", "--rtt", "100ms", "--replications", "3")

# Run by run "b" is 1 below "a", though both swing by more; "c" is far below in one run only.
FOUND: dict[str, Runs] = {
    "c": {0: 9.0, 1: 29.0, 2: 10.0},
    "a": {0: 10.0, 1: 30.0, 2: 20.0},
    "b": {0: 9.1, 1: 28.9, 2: 19.0},
}


def test_the_best_mean_is_first_and_ties_are_those_of_pairs() -> None:
    places = ranked(FOUND, higher_is_better=True, baseline="b")
    assert [(place.rank, place.name) for place in places] == [(1, "a"), (2, "b"), (3, "c")]
    first, second, third = places
    assert (first.mean, first.against_best, first.tied) == (20.0, None, False)
    # Differences of -0.9, -1.1 and -1: 1 away with a half width of 4.303 * 0.1 / sqrt(3).
    assert second.against_best is not None
    assert second.against_best["ci95"] == pytest.approx((-1.24841, -0.75159), abs=1e-4)
    assert not second.tied
    # Differences of -1, -1 and -10: their interval holds zero.
    assert third.tied
    assert second.against_baseline is None
    assert first.against_baseline is not None
    assert first.against_baseline["difference"] == pytest.approx(1.0)


def test_a_lower_time_is_better_where_it_is_a_time() -> None:
    places = ranked(FOUND, higher_is_better=False, baseline=None)
    assert [place.name for place in places] == ["c", "b", "a"]


def test_who_leaves_pages_out_comes_after_who_fetched_them_all() -> None:
    found: dict[str, Runs] = {
        "slow": {0: 9.0, 1: 9.0},
        "fast": {0: 1.0, 1: None},
        "none": {0: None, 1: None},
    }
    places = ranked(found, higher_is_better=False, baseline=None)
    assert [place.name for place in places] == ["slow", "fast", "none"]
    assert [place.undefined for place in places] == [0, 1, 2]
    assert places[2].mean is None
    assert places[2].tied


def test_equal_means_have_one_rank() -> None:
    found: dict[str, Runs] = {name: {0: 1.0, 1: 2.0} for name in ("b", "a")}
    found |= {"last": {0: 0.0, 1: 0.5}, "first": {0: 3.0, 1: 3.0}}
    places = ranked(found, higher_is_better=True, baseline=None)
    assert [(place.rank, place.name) for place in places] == [
        (1, "first"), (2, "b"), (2, "a"), (4, "last"),
    ]  # fmt: skip


def test_one_run_tells_no_difference() -> None:
    places = ranked({"a": {0: 2.0}, "b": {0: 1.0}}, higher_is_better=True, baseline=None)
    assert places[1].tied


def test_a_comparison_ranks_and_judges(bentpipe: Bentpipe, tmp_path: Path) -> None:
    done = bentpipe("compare", *SMALL, "--controllers", "vegas,ck-stp", "--out", "out", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found == json.loads((tmp_path / "out/compare.json").read_text())
    assert found["complete"]
    assert found["link"]["rtt_s"] == pytest.approx(0.1)
    by_name = {row["name"]: row for row in found["controllers"]}
    assert by_name.keys() == {"newreno", "cubic", "vegas", "ck-stp"}
    assert by_name["ck-stp"]["setting"] == '{ name = "ck-stp", rate = 1, rtt = 100 }'
    for workload in found["workloads"]:
        means = [row["mean"] for row in workload["ranking"]]
        assert means == sorted(means, reverse=workload["higher_is_better"])
        summary = json.loads((tmp_path / "out" / workload["workload"] / "summary.json").read_text())
        cells = [c for c in summary["cells"] if c["quantity"] == workload["quantity"]]
        assert sorted(means) == pytest.approx(sorted(cell["mean"] for cell in cells))
    # Vegas gives way to NewReno, by far.
    safest = next(row for row in found["verdicts"] if row["workload"] == "beside-newreno")
    assert safest["controller"] == "vegas"
    assert safest["sentence"].startswith("Least harm to NewReno: vegas, which leaves NewReno ")
    questions = [row["question"] for row in found["verdicts"]]
    assert len(questions) == len(set(questions)) == 5
    assert "## Web pages" in (tmp_path / "out/compare.md").read_text()


def test_the_worst_under_fade_is_the_last_of_its_ranking(bentpipe: Bentpipe) -> None:
    done = bentpipe("compare", *SMALL, "--controllers", "vegas", "--json")
    found = json.loads(done.stdout)
    (fade,) = (row for row in found["workloads"] if row["workload"] == "fade")
    worst = next(row for row in found["verdicts"] if row["question"] == "Worst under fade")
    assert worst["controller"] == fade["ranking"][-1]["controller"] == "newreno"


def test_a_scenario_gives_its_links_and_ends(bentpipe: Bentpipe, tmp_path: Path) -> None:
    options = ("--controllers", "cubic", "--replications", "2", "--out", "out")
    done = bentpipe("compare", "--scenario", EXAMPLES / "fade.toml", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2.048 Mbit/s, RTT 510 ms" in done.stdout
    # The event of the user's scenario is kept beside its studies.
    kept = bp.Scenario.load(tmp_path / "out/bulk/scenario.toml")
    assert str(tmp_path) in kept.to_toml()


def test_by_default_all_take_part_that_need_no_other_routers() -> None:
    link = links.of_preset("leo")
    names = {candidate.name for candidate in candidates.chosen(None, link)}
    known = {entry.name for entry in bp.controllers()}
    assert known - names == candidates.ASKS.keys() == candidates.left_out(None).keys()
    (cherry,) = (c for c in candidates.chosen(["cherry"], link) if c.name == "cherry")
    assert cherry.title == "cherry*"


@pytest.mark.parametrize("name", links.presets())
def test_every_preset_is_a_link_with_a_queue_of_its_product(name: str) -> None:
    link = links.of_preset(name)
    queue = links.bytes_of(link.document["link"][links.SATELLITE]["queue"]["bytes"])
    assert queue == pytest.approx(link.bdp_bytes, rel=0.01)
    assert link.bottleneck.link == links.SATELLITE
    for workload in WORKLOADS:
        workload.base(link).load()


def test_a_changed_link_keeps_its_queue_in_products() -> None:
    link = links.of_preset("geo-ka", rate="5Mbit/s", rtt="300ms", per=0.02)
    assert link.rate_bps == 5e6
    assert link.rtt_s == pytest.approx(0.3)
    satellite = link.document["link"][links.SATELLITE]
    assert satellite["queue"] == {"bytes": "187500B"}
    assert satellite["forward"]["channel"] == {"per": 0.02}
    for queue, written in [("0.5bdp", {"bytes": "93750B"}), ("25", {"packets": 25})]:
        changed = links.of_preset("geo-ka", rate="5Mbit/s", rtt="300ms", queue=queue)
        assert changed.document["link"][links.SATELLITE]["queue"] == written


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (("--link", "geo-kk"), "there is no link 'geo-kk'; did you mean 'geo-k"),
        (("--link", "leo", "--controllers", "cubik"), "no controller 'cubik'; did you mean 'cubic"),
        (("--link", "leo", "--rtt", "1ms"), "--rtt: expected more than 10ms"),
        (("--link", "leo", "--queue", "much"), "--queue: expected packets such as 100, a size"),
        (("--link", "leo", "--rate", "3mbps"), '--rate: expected a data rate such as "2Mbit/s"'),
        (("--scenario", EXAMPLES / "fade.toml", "--per", "0.1"), "change a scenario with --set"),
        ((), "expected --link NAME or --scenario FILE; links are geo-irtf, geo-ka"),
    ],
)
def test_wrong_input_is_told_before_anything_runs(
    bentpipe: Bentpipe, tmp_path: Path, options: tuple[str, ...], answer: str
) -> None:
    done = bentpipe("compare", *options, "--out", "out")
    assert done.returncode == 2
    assert answer in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_left_alone(bentpipe: Bentpipe, tmp_path: Path) -> None:
    two = (*SMALL, "--controllers", "cubic", "--out", "out")
    assert bentpipe("compare", *two).returncode == 0
    before = (tmp_path / "out/compare.json").read_bytes()
    again = bentpipe("compare", *two)
    assert (again.returncode, again.stderr) == (0, "")
    other = bentpipe("compare", *SMALL, "--controllers", "hybla", "--out", "out")
    assert other.returncode == 2
    assert "has results of another command: expected controllers = " in other.stderr
    faster = bentpipe("compare", *two[:3], "2Mbit/s", *two[4:])
    assert faster.returncode == 2
    assert "holds another study" in faster.stderr
    assert (tmp_path / "out/compare.json").read_bytes() == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    foreign = bentpipe("compare", *SMALL, "--out", "mine")
    assert foreign.returncode == 2
    assert "mine has another file, notes.txt" in foreign.stderr
    assert [entry.name for entry in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def outcome(name: str, found: dict[str, Runs]) -> Outcome:
    """The outcome of a workload with these runs, as a study would have left it."""
    workload = next(workload for workload in WORKLOADS if workload.name == name)
    link = links.of_preset("geo-ka", rate="1Mbit/s", rtt="100ms")
    taking_part = candidates.chosen(list(found), link)
    study = workload.study(link, taking_part, 1, 1)
    rows = [
        {"variant": number, "replication": replication, workload.quantity: value}
        | dict.fromkeys(workload.also, 0.0)
        for number, candidate in enumerate(taking_part)
        for replication, value in found[candidate.name].items()
    ]
    return Outcome(workload, taking_part, Results(study, pl.DataFrame(rows), {"complete": True}))


def test_a_verdict_names_the_best_and_who_is_as_good() -> None:
    found: dict[str, Runs] = {
        "cubic": {0: 5e6, 1: 7e6},
        "newreno": {0: 5.5e6, 1: 6.3e6},
        "vegas": {0: 1e6, 1: 3.1e6},
    }
    (said,) = verdicts([outcome("bulk", found)])
    assert (said.controller, said.mean, said.not_distinguishable) == ("cubic", 6e6, ["newreno"])
    # A half width of 12.7062 * 1 around 6.
    assert said.sentence == (
        "Best for one bulk flow: cubic, 6.000 (\N{MINUS SIGN}6.706 to 18.71) Mbit/s."
        " Not significantly different: newreno."
    )


def test_harm_is_what_newreno_has_less_than_beside_newreno() -> None:
    found: dict[str, Runs] = {
        "cubic": {0: 1e6, 1: 1.1e6, 2: 0.9e6},
        "newreno": {0: 2e6, 1: 2e6, 2: 2e6},
        "vegas": {0: 3e6, 1: 3.1e6, 2: 2.9e6},
    }
    (said,) = verdicts([outcome("beside-newreno", found)])
    assert said.sentence == (
        "Least harm to NewReno: vegas, which leaves NewReno 3.000 (2.752 to 3.248) Mbit/s, 150 %"
        " (138 to 162 %) of its goodput when competing with another NewReno. All others are"
        " significantly different. Significantly less than with another NewReno: cubic."
    )


def test_the_worst_is_found_from_the_other_end() -> None:
    found: dict[str, Runs] = {
        "cubic": {0: 9e6, 1: 9e6},
        "newreno": {0: 3e6, 1: 3.1e6},
        "vegas": {0: 2.9e6, 1: 3.1e6},
    }
    best, worst = verdicts([outcome("fade", found)])
    assert best.controller == "cubic"
    assert not best.not_distinguishable
    assert (worst.controller, worst.not_distinguishable) == ("vegas", ["newreno"])
