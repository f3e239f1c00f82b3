"""Mixes of applications: their list, their flows on links and beams, and wrong ones."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe import beams
from bentpipe.compare.links import of_object
from bentpipe.experience.plan import planned

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

LINK = """
duration = "120s"

[[link]]
between = ["server", "home"]
rate = "20Mbit/s"
delay = "260ms"
"""

BEAM = """
duration = "120s"

[[link]]
between = ["server", "gateway"]
rate = "1Gbit/s"
delay = "10ms"

[[beam]]
name = "spot"
gateway = "gateway"
forward = { modem = { name = "dvb-s2", bandwidth = 5e6, }, }
return = { carriers = 2 }

[[beam.class]]
name = "calls"
flows = ["evening-calls"]

[[beam.group]]
name = "home"
terminals = 4
es_n0 = 13.0
return_es_n0 = 9.0
fca = true
"""
"""A beam whose tables have commas that TOML 1.0 does not allow."""

MIX = """
[[mix]]
name = "evening"
preset = "household"
from = "server"
to = "home"
controller = "cubic"
activity = 20
"""


def rows(run: bp.Run, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run.recording.table(name).to_dicts()
    return found


def test_every_mix_is_listed_with_its_source(bentpipe: Bentpipe) -> None:
    listed = json.loads(bentpipe("mixes", "--json").stdout)["mixes"]
    assert [one["name"] for one in listed] == [one.name for one in bp.mixes()]
    assert all(one["source"] and one["parts"] for one in listed)
    printed = bentpipe("mixes").stdout
    assert all(one["name"] in printed for one in listed)


def test_a_mix_prints_flows_that_a_scenario_can_have(bentpipe: Bentpipe) -> None:
    for mix in bp.mixes():
        printed = bentpipe("mixes", mix.name).stdout
        flows = tomllib.loads(printed[printed.index("[[flow]]") :])["flow"]
        assert [flow["name"] for flow in flows] == mix.parts
        own = {"from": "server", "to": "home"}
        written = [
            flow | own | ({} if "transport" in flow else {"controller": "cubic"}) for flow in flows
        ]
        assert len(bp.Scenario.parse(LINK + MIX).with_({"flow": written}).values()["flow"]) > 6
    done = bentpipe("mixes", "ofice")
    assert (done.returncode, "did you mean" in done.stderr) == (2, True)


def test_all_controllers_meet_the_same_sessions() -> None:
    both = [bp.run(bp.Scenario.parse(LINK + MIX).with_({"mix.evening.controller": one}))
            for one in ("cubic", "bbr3")]  # fmt: skip
    calls = [[row["start_s"] for row in rows(run, "sessions") if row["flow"] == "evening-calls"]
             for run in both]  # fmt: skip
    assert calls[0] == calls[1] != []
    assert {row["controller"] for row in rows(both[1], "flows")} >= {"bbr3"}
    applications = {row["application"] for row in rows(both[0], "sessions")}
    assert applications == {"page", "video", "call", "messages", "download"}


def test_a_mix_is_the_traffic_of_a_group_of_a_beam(bentpipe: Bentpipe, tmp_path: Path) -> None:
    file = tmp_path / "beam.toml"
    file.write_text(BEAM + MIX)
    done = bentpipe("beam", file, "--json")
    assert done.returncode == 0, done.stderr
    users = json.loads(done.stdout)["users"]["home"]
    assert users["pages"] > 4
    assert users["calls"] > 2
    assert users["transfers"] > 4
    assert users["transfer_p50_s"] is not None
    explained = bentpipe("explain", file)
    assert "Mix evening: household" in explained.stdout
    assert "evening-downloads" in explained.stdout


def test_beams_are_read_as_the_engine_reads_them() -> None:
    scenario = bp.Scenario.parse(BEAM + MIX)
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(scenario.to_toml())
    assert [one["name"] for one in beams.groups.written_groups(scenario)] == ["home"]
    found = beams.groups.entries(scenario)
    assert found["evening-calls"].group == "home"
    assert found["evening-downloads"].has_end


def test_a_scenario_without_mixes_runs_alike() -> None:
    scenario = bp.Scenario.parse(LINK + MIX)
    plain = scenario.without_mixes()
    assert "[[mix]]" in scenario.to_toml()
    assert "[[mix]]" not in plain.to_toml()
    assert bp.run(plain).flows.equals(bp.run(scenario).flows)


def test_a_comparison_leaves_the_flows_of_mixes_out_and_says_so() -> None:
    link = of_object(bp.Scenario.parse(LINK + MIX), ())
    assert "4 other flows (evening-videos" in link.left_out
    flow = {"from": "server", "to": "home", "controller": "reno", "traffic": {"bulk": "1MB"}}
    assert len(link.scenario.with_({"flow": [flow]}).explain().flows) == 1


def test_experience_measures_the_applications_of_a_mix() -> None:
    found = planned(bp.Scenario.parse(LINK + MIX))
    assert not found.added
    assert {one.flow for one in found.applications} >= {"evening-pages", "evening-videos"}


def test_mixes_are_cited(bentpipe: Bentpipe, tmp_path: Path) -> None:
    file = tmp_path / "mix.toml"
    file.write_text(LINK + MIX.replace("household", "openbach").replace("activity = 20", ""))
    assert "openbach-extra" in bentpipe("cite", file).stdout


@pytest.mark.parametrize(
    ("wrong", "answer"),
    [
        (MIX.replace("household", "houshold"), 'did you mean "household"'),
        (MIX.replace('"home"', '"hoem"'), "mix[0].to: expected one of the nodes"),
        (MIX + 'parts = ["page"]\n', 'did you mean "pages"'),
        (MIX.replace("activity = 20", "activity = 0"), "mix[0].activity"),
        ("", "at least one [[flow]] or [[mix]]"),
    ],
)
def test_wrong_mixes_are_answered(
    wrong: str, answer: str, bentpipe: Bentpipe, tmp_path: Path
) -> None:
    file = tmp_path / "home.toml"
    file.write_text(LINK + wrong)
    done = bentpipe("run", file)
    assert done.returncode == 2
    assert answer in done.stderr
