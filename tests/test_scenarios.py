"""Scenarios made and changed in Python."""

from __future__ import annotations

import copy
import json
import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest

import bentpipe as bp
from conftest import EXAMPLES, SMALL

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

LINK = {
    "between": ["server", "client"],
    "rate": "2Mbit/s",
    "delay": "250ms",
    "channel": {"per": 0.01},
}
FLOW = {
    "from": "server",
    "to": "client",
    "controller": "newreno",
    "traffic": {"download": "300kB"},
}
KEYS = {
    "name": "small",
    "duration": "60s",
    "link": [LINK],
    "flow": [FLOW],
    "record": {"interval": "1s"},
}
TOO_DEEP = ("link", "values at most 32 deep")
UNICODE = "a text of Unicode"


def test_a_scenario_built_in_code_is_the_one_of_the_file(small: Path) -> None:
    built = bp.Scenario.build(**KEYS)
    assert bp.run(built).digest() == bp.run(bp.Scenario.load(small)).digest()
    assert bp.run(built).digest() == bp.run(bp.Scenario.parse(SMALL)).digest()


def test_scalars_of_numpy_tuples_and_none_are_taken_for_what_they_mean() -> None:
    link = LINK | {"between": ("server", "client"), "channel": {"per": np.float64(0.01)}}
    built = bp.Scenario.build(**KEYS | {"link": (link,), "seed": np.int64(1), "node": None})
    assert bp.run(built).digest() == bp.run(bp.Scenario.build(**KEYS)).digest()


@pytest.mark.parametrize(
    ("keys", "path", "found", "suggestion"),
    [
        ({"flow": [FLOW | {"controller": "cubicc"}]}, "flow[0].controller", '"cubicc"', '"cubic"'),
        ({"links": [LINK]}, "links", None, "`link`"),
        ({"link": [LINK | {"dealy": "1s"}]}, "link[0].dealy", None, "`delay`"),
        ({"link": [LINK | {"delay": 250}]}, "link[0].delay", "250", None),
        ({"link": [LINK | {"delay": 1j}]}, "link[0].delay", "1j", None),
        (
            {"link": [LINK | {"channel": {"per": float("nan")}}]},
            "link[0].channel.per",
            "nan",
            None,
        ),
        ({"seed": 2**64}, "seed", str(2**64), None),
    ],
)
def test_a_wrong_value_is_named_by_its_path(
    keys: dict[str, object], path: str, found: str | None, suggestion: str | None
) -> None:
    with pytest.raises(bp.ScenarioError) as caught:
        bp.Scenario.build(**KEYS | keys)
    (error,) = caught.value.errors
    assert (error.path, error.suggestion) == (path, suggestion)
    assert found in {error.found, None}


def test_a_text_without_a_file_tells_the_line() -> None:
    with pytest.raises(bp.ScenarioError) as caught:
        bp.Scenario.parse(SMALL.replace("newreno", "nevreno"))
    (error,) = caught.value.errors
    assert (error.path, error.file, error.line) == ("flow[0].controller", None, 13)
    assert (caught.value.file, caught.value.line) == (None, 13)
    assert str(caught.value).startswith("line 13: flow[0].controller")


def test_changes_make_a_new_scenario(small: Path) -> None:
    scenario = bp.Scenario.load(small)
    changed = scenario.with_({"flow.0.controller": "cubic", "link.*.delay": "280ms"}, seed=9)
    assert (changed.name, changed.seed, scenario.seed) == ("small", 9, 1)
    assert bp.run(changed).flows["controller"].to_list() == ["cubic"]
    assert bp.run(scenario).flows["controller"].to_list() == ["newreno"]
    sets = ["flow.0.controller=cubic", "link.0.delay=280ms", "seed=9"]
    assert bp.run(changed) == bp.run(bp.Scenario.load(small, sets))


def test_underscores_stand_for_dots_and_later_changes_win(small: Path) -> None:
    scenario = bp.Scenario.load(small)
    changed = scenario.with_(flow__0__traffic={"download": "100kB"}).with_(
        {"flow.0.traffic.download": "200kB"}
    )
    assert bp.run(changed).flows["bytes"].to_list() == [200_000]
    assert bp.run(scenario).flows["bytes"].to_list() == [300_000]


@pytest.mark.parametrize(
    ("changes", "path", "found", "suggestion"),
    [
        ({"flow.0.controler": "cubic"}, "flow[0].controler", None, "`controller`"),
        ({"flow.0.controller": "cubicc"}, "flow[0].controller", '"cubicc"', '"cubic"'),
        ({"flow.3.controller": "cubic"}, "flow[3]", None, None),
        ({"seed": "7"}, "seed", '"7"', None),
        ({"seed": None}, "seed", "None", None),
    ],
)
def test_a_wrong_change_is_answered_as_one_of_a_file(
    small: Path,
    changes: dict[str, object],
    path: str,
    found: str | None,
    suggestion: str | None,
) -> None:
    with pytest.raises(bp.ScenarioError) as caught:
        bp.Scenario.load(small).with_(changes)
    (error,) = caught.value.errors
    assert (error.path, error.suggestion) == (path, suggestion)
    assert found in {error.found, None}
    ((changed, value),) = changes.items()
    assert error.set in {f"with {changed}={json.dumps(value)}", None}


SCENARIOS = sorted(set(EXAMPLES.glob("*.toml")) - set(EXAMPLES.glob("study-*.toml")))


@pytest.mark.parametrize("example", SCENARIOS, ids=lambda path: path.stem)
def test_what_is_written_down_runs_to_the_same_result(example: Path, tmp_path: Path) -> None:
    scenario = bp.Scenario.load(example).with_(duration="20s", seed=2**64 - 1)
    path = tmp_path / "other-name.toml"
    path.write_text(scenario.to_toml())
    assert bp.run(bp.Scenario.load(path)) == bp.run(scenario)


def test_an_unchanged_file_keeps_its_comments() -> None:
    example = EXAMPLES / "geo-download.toml"
    assert bp.Scenario.load(example).to_toml() == example.read_text()


def test_equal_scenarios_are_equal_and_can_be_copied_and_sent(small: Path) -> None:
    scenario = bp.Scenario.load(small)
    assert scenario == bp.Scenario.load(small)
    assert scenario != scenario.with_(seed=scenario.seed + 1)
    assert len({scenario, bp.Scenario.load(small)}) == 1
    for copied in (copy.deepcopy(scenario), pickle.loads(pickle.dumps(scenario))):
        assert copied == scenario
        assert bp.run(copied) == bp.run(scenario)


def test_values_without_end_are_refused(small: Path) -> None:
    link: dict[str, object] = {"between": ["a", "b"], "rate": "1Mbit/s", "delay": "1ms"}
    link["channel"] = link
    with pytest.raises(bp.ScenarioError) as caught:
        bp.Scenario.build(link=[link], flow=[])
    assert [(one.path, one.expected) for one in caught.value.errors] == [TOO_DEEP]
    items: list[object] = []
    items.append(items)
    with pytest.raises(bp.ScenarioError) as caught:
        bp.Scenario.load(small).with_({"link": items})
    assert [(one.path, one.expected) for one in caught.value.errors] == [TOO_DEEP]


def test_a_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(bp.ScenarioError) as caught:
        bp.Scenario.build(name="\udcff")
    assert [(one.path, one.expected) for one in caught.value.errors] == [("name", UNICODE)]


def test_an_unknown_key_is_one_of_the_scenario() -> None:
    with pytest.raises(bp.ScenarioError) as caught:
        bp.Scenario.build(linkz=[])
    unknown = caught.value.errors[0]
    assert (unknown.path, unknown.suggestion) == ("linkz", "`link`")


def test_a_scenario_tells_the_way_of_its_data(small: Path) -> None:
    scenario = bp.Scenario.load(small).with_({"link.0.backward": {"rate": "1Mbit/s"}})
    there = [{"link": 0, "direction": "forward", "rate_bps": 2_000_000, "delay_s": 0.25}]
    back = [{"link": 0, "direction": "backward", "rate_bps": 1_000_000, "delay_s": 0.25}]
    assert [hop.to_dict() for hop in scenario.route()] == there
    assert [hop.to_dict() for hop in scenario.route(back=True)] == back
    with pytest.raises(IndexError, match="there is no flow 7"):
        scenario.route(7)


def test_what_is_wrong_with_a_scenario_is_data(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(SMALL.replace("newreno", "nevreno"))
    with pytest.raises(bp.ScenarioError) as caught:
        bp.Scenario.load(file)
    (problem,) = caught.value.errors
    assert (problem.path, problem.found) == ("flow[0].controller", '"nevreno"')
    assert (problem.file, problem.line, problem.suggestion) == (str(file), 13, '"newreno"')
    assert problem.message == str(caught.value)
    with pytest.raises(bp.ScenarioError) as caught:
        bp.Scenario.parse(SMALL).with_(seed=None)
    assert [(one.path, one.expected) for one in caught.value.errors] == [("seed", "a value")]
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.errors == caught.value.errors


def test_an_explanation_is_text_and_data(small: Path, bentpipe: Bentpipe) -> None:
    explanation = bp.Scenario.load(small).explain()
    printed = bentpipe("explain", str(small)).stdout
    # The command fits the text into the terminal, and names columns of defaults in one line.
    before, after = str(explanation).split("Links\n")
    assert printed.split("Links\n")[0] == before
    flow_of_text = after.split("\n\n", 1)[1]
    assert "".join(printed.split()).endswith("".join(flow_of_text.split()))
    told = json.loads(bentpipe("explain", str(small), "--json").stdout)
    assert told == explanation.to_dict() == json.loads(explanation.to_json())
    (flow,) = explanation.flows
    assert (flow.route, flow.endless) == (["server", "client"], False)
    assert flow.figures.propagation_rtt_ms == 500.0
    rate = next(one for one in explanation.links[0].settings if one.name == "rate")
    assert (rate.value, rate.unit, rate.default) == (2_000_000, "bit/s", False)
    narrow = bp.Scenario.load(small, ["flow.0.transport.receive_buffer=8KiB"]).explain()
    assert [(one.kind, one.subject) for one in narrow.warnings] == [("window_below_bdp", "flow-0")]


def test_errors_of_a_command_are_data_too(small: Path, bentpipe: Bentpipe) -> None:
    done = bentpipe("run", str(small), "--json", "--set", "flow.0.controller=cubicc")
    assert done.returncode == 2
    (error,) = json.loads(done.stdout)["errors"]
    assert (error["path"], error["suggestion"]) == ("flow[0].controller", '"cubic"')
    assert error["set"] == "--set flow.0.controller=cubicc"


@pytest.mark.parametrize(
    ("controller", "kernel_name", "likeness", "loadable", "words"),
    [
        ("newreno", "reno", "same", False, "Linux's own reno"),
        ("cubic", "cubic", "variant", False, "approximated by Linux's cubic"),
        ("hybla", "hybla", "variant", True, "`bentpipe kernel load hybla`"),
        ("westwood", "westwood", "different", False, "rejected"),
        ("adalr", None, None, True, "Linux has none; `bentpipe kernel load adalr`"),
        ("peach", None, None, False, "Linux has none, so that a run is rejected"),
    ],
)
def test_an_explanation_for_the_kernel_compares_controllers_with_those_of_linux(
    small: Path,
    bentpipe: Bentpipe,
    controller: str,
    kernel_name: str | None,
    likeness: str | None,
    loadable: bool,
    words: str,
) -> None:
    sets = ("--set", f"flow.0.controller={controller}")
    done = bentpipe("explain", small, *sets, "--backend", "kernel", "--json")
    (one,) = json.loads(done.stdout)["on_linux"]
    found = (one["controller"], one["kernel_name"], one["likeness"], one["loadable"])
    assert found == (controller, kernel_name, likeness, loadable)
    assert (one["differs"] == "") == (likeness in {"same", None})
    text = bentpipe("explain", small, *sets, "--backend", "kernel").stdout
    without = bentpipe("explain", small, *sets).stdout
    assert text.startswith(without)
    assert words in text.removeprefix(without)


def test_an_explanation_for_the_kernel_compares_the_controllers_of_gateways_too(
    bentpipe: Bentpipe,
) -> None:
    sets = ("--set", "node.0.proxy.satellite.controller=hybla")
    done = bentpipe(
        "explain", EXAMPLES / "split-proxy.toml", *sets, "--backend", "kernel", "--json"
    )
    explained = json.loads(done.stdout)
    found = [one["controller"] for one in explained["on_linux"]]
    assert found == ["cubic", "hybla"]


def test_an_explanation_for_the_kernel_has_the_settings_of_both_sides_of_a_gateway(
    bentpipe: Bentpipe,
) -> None:
    sets = ("--set", "node.0.proxy.satellite.initial_window=33")
    command = ("explain", EXAMPLES / "split-proxy.toml", *sets, "--backend", "kernel")
    explained = json.loads(bentpipe(*command, "--json").stdout)
    asked = {(one["flow"], one["setting"]): one["asked"] for one in explained["kernel_settings"]}
    sides = ["gateway, terrestrial", "gateway, satellite"]
    assert [asked[side, "initial_window"] for side in sides] == ["10", "33"]
    for name in ("receive_buffer", "recovery", "ecn", "mss"):
        assert all((side, name) in asked for side in sides), name
    # What this kernel lacks is in the other list, with its place.
    for sentence in explained["kernel_rejects"]:
        assert "split-proxy.toml:" in sentence
    assert "gateway, satellite" in bentpipe(*command).stdout


def test_an_explanation_names_the_flows_that_cross_a_gateway_unsplit(
    tmp_path: Path, bentpipe: Bentpipe
) -> None:
    other = (
        '[[flow]]\nname = "other"\nfrom = "server"\nto = "terminal"\n'
        'transport = { protocol = "quic" }\n'
        'controller = "cubic"\ntraffic = { download = "1MB" }\n'
    )
    file = tmp_path / "scenario.toml"
    file.write_text((EXAMPLES / "split-proxy.toml").read_text() + other)
    nodes = json.loads(bentpipe("explain", file, "--json").stdout)["nodes"]
    (proxy,) = (node["proxy"] for node in nodes if node.get("proxy"))
    assert (proxy["splits"], proxy["unsplit"]) == (["flow-0"], ["other"])
