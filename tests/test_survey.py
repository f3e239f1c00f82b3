"""The survey of helpers on the way: what it contains, its rankings, and the larger set."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe import _native
from bentpipe.plots import Tile, grid_figure
from bentpipe.reproductions.helpers import claims, survey
from bentpipe.reproductions.helpers.survey import CONDITIONS, HELPERS, LEFT_OUT
from bentpipe.reproductions.judgement import Measured, judge
from bentpipe.reproductions.plots import Grid, as_data, figure
from bentpipe.reproductions.rankings import Quantity, of_dict, ranking
from bentpipe.reproductions.reproduction import Job, find
from bentpipe.study.statistics import Mean

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

FOUND = find("helpers")


def test_every_mechanism_is_in_the_survey_or_left_out_with_a_reason() -> None:
    known = {entry.name for entry in _native.mechanisms()}
    helping = {name for helper in HELPERS.values() for name in helper.mechanisms}
    assert helping | LEFT_OUT.keys() == known
    assert not helping & LEFT_OUT.keys()


MTU = "link.1.mtu={{ bytes = 1400, icmp = '{}' }}"


def probing(mode: str) -> tuple[str, ...]:
    """Packetization-layer discovery of all flows."""
    return tuple(f"flow.{flow}.transport.mtu_probing={mode}" for flow in range(survey.FLOWS))


@pytest.mark.parametrize("condition", ["geo/1e-4", "leo/1e-4"])
def test_a_small_mtu_costs_little_if_a_discovery_finds_it(condition: str) -> None:
    """The table of docs/path.md: classical discovery (RFC 1191), and that by probes (RFC 4821)."""
    plain = survey.Candidate("cubic", HELPERS["none"])
    cases = {
        "none": (),
        "messages": (MTU.format("sent"),),
        "filtered": (MTU.format("filtered"),),
        "black-hole": (MTU.format("filtered"), *probing("black-hole")),
        "always": (MTU.format("filtered"), *probing("always")),
    }
    seeds = range(1, 4)
    jobs = {name: plain.job(CONDITIONS[condition], seeds, *sets) for name, sets in cases.items()}
    names, all_jobs = FOUND.jobs(jobs)
    runs = [run.recording for run in bp.run_many(all_jobs)]
    goodput = {
        name: sum(survey.goodput(run) for own, run in zip(names, runs, strict=True) if own == name)
        for name in cases
    }
    assert goodput["filtered"] == 0.0, "a black hole"
    for found in ("messages", "always"):
        assert goodput[found] > 0.93 * goodput["none"], found
    assert 0.4 * goodput["none"] < goodput["black-hole"] < goodput["always"]


def test_every_controller_is_in_the_survey_alone_or_with_the_routers_that_it_needs() -> None:
    known = {entry.name for entry in bp.controllers()}
    assert {candidate.controller for candidate in survey.candidates()} == known
    names = [candidate.name for candidate in survey.candidates(full=True)]
    assert len(names) == len(set(names))
    combined = {f"{fit} + snoop" for fit in survey.fit()}
    assert combined <= set(names)


def test_the_larger_set_contains_the_default_one_and_its_scenarios_are_right() -> None:
    plan, default = FOUND.plan(full=True), FOUND.plan()
    assert default.keys() <= plan.keys()
    assert len(plan) > 5 * len(default)
    some = ("geo/1e-3/", "geo/fade/", "leo/1e-2/")
    FOUND.jobs(
        {
            name: Job(job.scenario, job.sets, (1,))
            for name, job in plan.items()
            if name.startswith(some) and name not in default
        }
    )


def test_candidates_of_a_condition_have_the_same_seeds_and_differ_from_none_on_the_way() -> None:
    for condition in CONDITIONS.values():
        plain = survey.Candidate("cubic", HELPERS["none"]).job(condition, survey.SEEDS)
        for helper in HELPERS.values():
            if helper.fits(condition) and helper.name != "none":
                job = survey.Candidate("cubic", helper).job(condition, survey.SEEDS)
                assert job.seeds == plain.seeds
                assert job != plain


def test_links_of_both_orbits_have_the_round_trip_and_the_queue_of_their_condition() -> None:
    for condition in CONDITIONS.values():
        job = survey.Candidate("cubic", HELPERS["none"]).job(condition, (1,))
        (_, (scenario, _)), *_ = [(0, one) for one in FOUND.jobs({"x": job})[1]]
        there, back = scenario.route(), scenario.route(back=True)
        assert sum(hop.delay_s for hop in (*there, *back)) * 1e3 == pytest.approx(condition.rtt_ms)
        slowest = min(there, key=lambda hop: hop.rate_bps)
        assert slowest.rate_bps == survey.RATE_BPS


def test_no_statement_agrees_with_a_helper_that_changes_nothing() -> None:
    neutral = {"headers/saved": 0.0, "headers/undecodable": 1.0, "split/semantics": 0.0}
    neutral |= {"split/filled": 0.2, "acks/lost": 0.0, "acks/misread": 0.0}
    for value in FOUND.publication.values.values():
        if value.low is None or value.below:
            continue
        table = value.id.rpartition("/")[0].rpartition("/")[0]
        at = next((n for name, n in neutral.items() if value.id.startswith(name)), 1.0)
        row = judge(value, Measured(value.id, Mean(at, 0.0, 5)), FOUND.publication.repetitions)
        assert row.judgement == "disagrees", (table, row)


def test_a_run_without_a_value_ranks_behind_all_others() -> None:
    speed = Quantity("goodput", "goodput", "Mbit/s", higher_is_better=True)
    time = Quantity("short", "short flows", "s", higher_is_better=False)
    made = ranking(
        "x",
        "X",
        {
            speed: {"a": {0: 1.0, 1: 1.2, 2: 1.1}, "b": {0: 2.0, 1: 2.3, 2: 2.1}},
            time: {"a": {0: 3.0, 1: 3.0, 2: 3.1}, "b": {0: 1.0, 1: None, 2: 1.0}},
        },
    )
    assert made.best("goodput") == ["b", "a"]
    assert made.best("short") == ["a", "b"]
    assert made.standings["b"]["short"].missing == 1
    assert not made.standings["a"]["goodput"].tied
    assert of_dict(json.loads(json.dumps(made.to_dict()))).best("goodput") == ["b", "a"]


def ranked(reproductions: Path) -> dict[str, Any]:
    papers = json.loads((reproductions / "printed.json").read_text())["papers"]
    return next(paper for paper in papers if paper["paper"] == "helpers")


def test_rankings_have_every_condition_candidate_and_quantity(reproductions: Path) -> None:
    found = [of_dict(one) for one in ranked(reproductions)["rankings"]]
    assert [one.name for one in found] == [*CONDITIONS]
    for one in found:
        condition = CONDITIONS[one.name]
        fitting = [c.name for c in survey.candidates() if c.helper.fits(condition)]
        assert sorted(one.standings) == sorted(fitting)
        for standing in one.standings.values():
            assert standing.keys() == {"goodput", "short", "latency", "jain"}
            assert standing["jain"].mean == pytest.approx(0.75, abs=0.2501)
            latency = standing["latency"].mean
            assert latency is None or latency > condition.rtt_ms / 2
        adapting = {name for name in one.standings if "dvb-s2" in name and "rcs" not in name}
        rates = {n: s["goodput"].mean or 0.0 for n, s in one.standings.items()}
        assert all(rate * 1e6 < survey.RATE_BPS for n, rate in rates.items() if n not in adapting)


def test_helpers_do_what_they_are_for(reproductions: Path) -> None:
    found = {one["name"]: of_dict(one).standings for one in ranked(reproductions)["rankings"]}
    lossy, clear = found["geo/1e-2"], found["geo/1e-5"]
    for helper in ("selective-repeat", "reed-solomon", "spoofing-proxy", "snoop"):
        helped, plain = lossy[f"cubic + {helper}"], lossy["cubic"]
        assert (helped["goodput"].mean or 0) > 2 * (plain["goodput"].mean or 0)
    for helper in ("codel", "fq-codel", "pie", "red", "dualpi2"):
        helped, plain = clear[f"cubic + {helper}"], clear["cubic"]
        assert (helped["latency"].mean or 0) < 0.8 * (plain["latency"].mean or 0)
    thin = found["geo/thin"]
    assert thin["cubic"]["short"].missing > 0, "no short transfer completes in some run"
    for helper in ("ack-filter", "rohc"):
        short = thin[f"cubic + {helper}"]["short"]
        assert (short.missing, (short.mean or 0) < 5) == (0, True)


def test_only_a_survey_has_a_larger_set(bentpipe: Bentpipe) -> None:
    done = bentpipe("papers", "run", "adalr", "luglio", "--full")
    assert done.returncode == 2
    assert "--full: none of these has a larger set of runs; helpers has" in done.stderr
    assert [name for name in ("adalr", "helpers") if find(name).has_full] == ["helpers"]


def test_a_grid_shows_its_texts_and_its_order(tmp_path: Path) -> None:
    cells = {"arq": {"GEO, PER 1": (1.5, "7.2"), "LEO, PER 1": (0.0, "1.0")}, "fec": {}}
    grid = Grid("helpers", "", "", cells, ["a note"])
    drawn = figure("helpers", json.loads(json.dumps(as_data(grid))))
    assert drawn.notes == ("a note",)
    assert drawn.data["score"].to_list() == [1.0, 0.0]
    drawn.save(tmp_path / "grid.svg")
    svg = (tmp_path / "grid.svg").read_text()
    assert all(f">{text}<" in svg for text in ("7.2", "1.0", "arq", "GEO", "PER 1"))
    assert svg.index(">GEO<") < svg.index(">LEO<")
    assert grid_figure("x", "X", "", "", [Tile("a", "b", -3, "0.1")]).data["score"].item() == -1


def test_the_runs_of_claims_are_named_apart_from_the_survey() -> None:
    assert all(name.startswith("claim/") for name in claims.plan())
    assert not survey.plan().keys() & claims.plan().keys()
