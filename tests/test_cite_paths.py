"""Citations of beams, orbits, routers with several paths, and hints of path changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from bentpipe.cite.library import library
from bentpipe.cite.used import of_scenario
from conftest import EXAMPLES
from test_cite import LINKS, of_schema, values_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_beam_and_an_orbit_are_cited() -> None:
    beam = bp.Scenario.load(EXAMPLES / "beam-random-access.toml")
    found = {(thing.kind, thing.name) for thing in of_scenario(beam)}
    assert {("beams", "forward"), ("beams", "return"), ("beams", "crdsa")} <= found
    plans = bp.Scenario.load(EXAMPLES / "beam-plans.toml", ["beam.spot.forward.aqm=fq-codel"])
    assert "fq-codel" in {thing.name for thing in of_scenario(plans)}
    assert ("mechanisms.link.channel.modem", "dvb-s2") in found
    preset = bp.Scenario.load(LINKS / "leo-starlink.toml")
    assert {("traces", "orbit"), ("constellations", "starlink-550")} <= used(preset)


def used(scenario: bp.Scenario) -> set[tuple[str, str]]:
    return {(thing.kind, thing.name) for thing in of_scenario(scenario)}


@pytest.mark.parametrize("rule", library()["switches"])
def test_a_switch_cites_its_rule(rule: str, tmp_path: Path) -> None:
    moves = tmp_path / "moves.csv"
    moves.write_text("t_s,via\n30,geo\n")
    values = {"event": [{"at": "30s", "via": "geo"}], "file": str(moves), "outages": {}, "bfd": {}}
    switch = {"between": ["ship", "hub"], "via": ["leo", "geo"], rule: values[rule]}
    found = used(bp.Scenario.load(EXAMPLES / "geo-and-leo.toml").with_({"switch": [switch]}))
    assert {one for one in found if one[0] == "switches"} == {("switches", rule)}


@pytest.mark.parametrize("name", ["none", *library()["hints"]])
def test_hints_cite_their_source(name: str) -> None:
    is_rule = name in of_schema("flow", "path_hints", "rule")
    source = {"source": "detector", "rule": name} if is_rule else {"source": name}
    found = used(
        bp.Scenario.load(EXAMPLES / "path-hints.toml").with_({"flow.0.path_hints": source})
    )
    expected = set() if name == "none" else {("hints", name)}
    assert {one for one in found if one[0] == "hints"} == expected


def test_every_source_of_hints_and_rule_of_a_switch_is_in_the_bibliography() -> None:
    sources = of_schema("path_hints", "source") - {"none", "detector"}
    assert set(library()["hints"]) == sources | of_schema("path_hints", "rule")
    (switch,) = values_of([json.loads(bp.schema())], "switch")
    rules = set(switch["items"]["properties"]) - {"between", "via", "lag"}
    assert set(library()["switches"]) == rules
