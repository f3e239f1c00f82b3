"""Split proxies and tunnels of a scenario in a comparison, and which controller crosses them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from bentpipe.compare import candidates, legs, links, mechanisms, parts, transports
from bentpipe.compare.comparison import the_link
from bentpipe.compare.workloads import named
from bentpipe.errors import InputError
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

BULK = named("bulk")
SPLIT = EXAMPLES / "split-proxy.toml"
VPN = EXAMPLES / "geo-vpn.toml"


def of_file(file: Path, *sets: str) -> links.Link:
    """The link of a scenario file, as `bentpipe compare` takes it."""
    return the_link(None, file, None, None, None, None, None, sets, None)


def over_legs(scenario: bp.Scenario, flow: int = 0) -> list[tuple[str, str, str]]:
    """Sender, receiver and controller of each leg of a flow."""
    explained = scenario.explain().flows[flow]
    return [(leg.from_, leg.to, leg.controller) for leg in explained.legs]


@pytest.mark.parametrize(
    ("proxy", "own"),
    [
        (None, "cubic"),
        ("pepsal", "hybla"),
        ("{ preset = 'pepsal', satellite = { towards = ['terminal'] } }", "hybla"),
        ("{ terrestrial = { towards = ['terminal'], controller = 'vegas' } }", "vegas"),
    ],
)
def test_the_ranked_controller_sends_over_the_satellite(proxy: str | None, own: str) -> None:
    link = of_file(SPLIT, *([] if proxy is None else [f"node.gateway.proxy={proxy}"]))
    for controller in ("newreno", "hybla", "bbr"):
        scenario = BULK.scenario(link, controller)
        assert over_legs(scenario) == [
            ("server", "gateway", controller),
            ("gateway", "terminal", controller),
        ]
    # NewReno stays NewReno, in the background and in the competition.
    sharing = named("beside-newreno").scenario(link, "hybla")
    for flow in (1, 2):
        assert {one for _, _, one in over_legs(sharing, flow)} == {"newreno"}
    assert f"in place of that of the proxy at gateway ({own})" in " ".join(legs.about(link))


def test_both_ends_of_a_satellite_send_with_the_ranked_controller() -> None:
    link = of_file(VPN, "flow.0.tunnel=none")
    assert [(one.at, one.to, one.controller) for one in link.senders] == [
        ("hub", "terminal", "hybla"),
        ("terminal", "hub", "hybla"),
    ]
    assert not any("controller" in str(node) for node in link.document["node"])
    # The rest of a side stays.
    assert link.document["node"][0]["proxy"]["satellite"]["initial_window"] == 64


def test_a_preset_for_the_satellite_keeps_its_controller_and_the_answer_says_so(
    bentpipe: Bentpipe,
) -> None:
    proxy = "node.gateway.proxy={ preset = 'ck-stp', satellite = { towards = ['terminal'] } }"
    options = ("--controllers", "hybla", "--workload", "bulk", "--replications", "1")
    sets = ("--set", proxy, "--set", "duration=20s")
    done = bentpipe("compare", "--scenario", SPLIT, *options, *sets, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    said = "TCP is split at gateway, where ck-stp keeps ck-stp over the satellite: the"
    assert f"{said} ranked controller is that of the other legs only" in found["answer"]["on"]
    assert any(
        "The ranking is one of the controllers of the other" in one for one in found["notes"]
    )


def test_an_answer_over_several_transports_says_which_is_split(bentpipe: Bentpipe) -> None:
    options = ("--transports", "quic", "--controllers", "hybla", "--workload", "bulk")
    small = ("--replications", "1", "--set", "duration=20s")
    done = bentpipe("compare", "--scenario", SPLIT, *options, *small)
    assert (done.returncode, done.stderr) == (0, "")
    on = " ".join(done.stdout.partition("bulk: goodput")[0].split())
    assert "TCP is split at gateway, with the ranked controller over the satellite" in on
    assert on.endswith("quic is not split")


def test_a_first_flow_over_quic_is_split_when_it_is_compared_over_tcp() -> None:
    scenario = bp.Scenario.load(SPLIT)
    (first,) = scenario.values()["flow"]
    flows = [first | {"transport": {"protocol": "quic"}}, first | {"name": "other"}]
    quic = scenario.with_({"flow": flows})
    link = the_link(None, quic, None, None, None, None, None, (), None)
    assert not link.senders
    tcp, over_quic = transports.chosen("quic", link)
    assert {one for _, _, one in over_legs(BULK.scenario(tcp.link, "hybla"))} == {"hybla"}
    assert not over_legs(BULK.scenario(over_quic.link, "hybla"))


def test_a_proxy_of_the_path_keeps_its_controller_and_is_named() -> None:
    link = links.of_preset("geo-ka")
    found = mechanisms.chosen("pepsal,codel", link)
    plan = parts.planned(link, candidates.chosen(["cubic"], link), [BULK], (), found)
    (note,) = plan.notes
    assert note.startswith("+ pepsal: hybla from gateway to client, as the preset has it.")
    part = next(one for one in plan.parts["bulk"] if one.candidates[0].on_path == "pepsal")
    assert over_legs(BULK.scenario(part.link, "cubic"))[-1] == ("gateway", "client", "hybla")


def test_controllers_that_a_leg_does_not_carry_are_left_out() -> None:
    side = '{ towards = ["%s"], protocol = "quic", controller = "bbr" }'
    sets = [
        f"node.{at}.proxy.satellite={side % to}"
        for at, to in (("hub", "terminal"), ("terminal", "hub"))
    ]
    # QUIC carries fewer controllers than TCP.
    link = of_file(VPN, "flow.0.tunnel=none", *sets)
    controllers = candidates.chosen(["ledbat", "bbr", "peach"], link)
    plan = parts.planned(link, controllers, [BULK])
    assert "bbr" in [one.name for one in plan.candidates]
    assert ["peach"] in [one.controllers for one in plan.left_out]


def test_an_override_of_a_controller_that_is_taken_away_is_refused() -> None:
    for node in ("gateway", "0"):
        with pytest.raises(InputError, match="no effect, because the controller that is compared"):
            of_file(SPLIT, f"node.{node}.proxy.satellite.controller=hybla")
    assert of_file(SPLIT, "node.gateway.proxy.satellite.initial_window=64").senders


def test_flows_of_a_comparison_are_in_the_tunnel_of_the_scenario() -> None:
    link = of_file(VPN)
    assert "the ends, transport and tunnel of page" in link.left_out
    scenario = BULK.scenario(link, "hybla")
    assert not over_legs(scenario)
    assert {flow["tunnel"]["name"] for flow in scenario.values()["flow"]} == {"wireguard"}
    plan = parts.planned(link, candidates.chosen(["cubic"], link), [BULK])
    assert plan.split == "in a tunnel (wireguard), which no proxy splits"
    assert "the tunnel hides the flows" in plan.notes[0]
    # A call of the same computer is in it too.
    call = named("call").scenario(link, "hybla").values()["flow"]
    assert all("tunnel" in flow for flow in call)


def test_a_mechanism_that_splits_nothing_is_not_called_a_proxy() -> None:
    link = of_file(VPN)
    overs = transports.chosen("quic", link)
    found = mechanisms.chosen("codel", link)
    plan = parts.planned(link, candidates.chosen(["cubic"], link), [BULK], overs, found)
    said = [note for note in plan.notes if "does nothing" in note]
    assert [note.partition(":")[0] for note in said] == [
        "The split proxy of the scenario does nothing"
    ]


def test_a_preset_at_both_ends_is_named_once() -> None:
    sets = [
        f"node.{at}.proxy={{ preset = 'scps-gateway', satellite = {{ towards = ['{to}'] }} }}"
        for at, to in (("hub", "terminal"), ("terminal", "hub"))
    ]
    link = of_file(VPN, "flow.0.tunnel=none", *sets)
    said = "at hub and terminal, where scps-gateway keeps no congestion control over the satellite"
    assert legs.on(link).count(said) == 1
