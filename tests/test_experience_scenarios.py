"""Figures of people on scenarios: base delays, outages, queues, rates and legs."""

from __future__ import annotations

from typing import Any

import pytest

import bentpipe as bp
from bentpipe.experience.first_run import beams_of, first_run
from bentpipe.experience.plan import planned
from bentpipe.experience.rates import most_of, rates_of
from bentpipe.experience.routes import routes_of
from bentpipe.study.significance import ALL_THE_SAME
from conftest import EXAMPLES
from test_experience_plan import UDP, VIDEO, beam, flow, group, link, scenario


def test_a_standing_queue_of_another_flow_is_measured() -> None:
    # The call and the messages start when the queue of 1 MB is full, and see no empty one.
    flows = [
        flow("file", {"bulk": "unlimited"}, transport={"receive_buffer": "1MB"}),
        flow("call", {"call": {"duration": "5s"}}, transport=UDP, start="15s"),
        flow("msg", {"messages": {"count": 100}}, transport=UDP, start="15s"),
    ]
    full = scenario("22s", flows, link("server", "client", queue={"bytes": "2MB"}))
    found = bp.experience(full, replications=1)
    assert {one.application.flow: one.limit.by for one in found.reports} == {
        "call": "queue", "msg": "queue",
    }  # fmt: skip
    assert "20.16 ms are the path" in found.reports[0].limit.sentence
    assert "40.68 ms are the path" in found.reports[1].limit.sentence


def test_a_step_of_the_delay_is_a_range_of_propagation() -> None:
    steps = [
        {"at": "2s", "delay": "280ms"},
        {"at": "5s", "outage": "1s", "every": "10s"},
        {"at": "90s", "delay": "1s"},
    ]
    flows = [flow("msg", {"messages": {"count": 20, "interval": "200ms"}}, transport=UDP)]
    stepped = scenario("30s", flows, link("server", "client", event=steps))
    (route,) = routes_of(stepped).values()
    assert (route.low_ms, route.high_ms) == (40.0, 560.0), "the run ends before 90 s"
    assert route.outage_s(lambda _: None, 0.0, 30.0) == 3.0
    assert not route.is_known(lambda _: None, (route.forward,))
    del steps[1]
    stepped = scenario("30s", flows, link("server", "client", event=steps))
    found = bp.experience(stepped, replications=1)
    assert found.reports[0].limit.by == "path"
    assert "Propagation is 40.00 to 560.0 ms" in found.reports[0].limit.sentence


def test_an_outage_is_the_path_of_all_that_it_stops() -> None:
    flows = [
        flow("video", {"video": {"length": "15s", "buffer": "5s", "segment": "2s"}}),
        flow("msg", {"messages": {"interval": "100ms"}}, transport=UDP),
        flow("page", {"page": {"site": "news"}}, start="3s"),
    ]
    out = link("server", "client", event=[{"at": "2s", "outage": "500s"}])
    found = bp.experience(scenario("20s", flows, out), replications=1)
    assert {one.limit.by for one in found.reports} == {"path"}
    said = {one.application.flow: one.limit.sentence for one in found.reports}
    assert "Its path was out for 18.0 s of its 20.0 s." in said["video"]
    assert "of 15 s were played" in said["video"]
    assert "% of the requests have no answer" in said["msg"]
    assert "out for 17.0 s of its 17.0 s" in said["page"]


def test_the_wait_for_slots_is_none_of_the_queue() -> None:
    made = link(
        "server", "client", delay="250ms", backward={"rate": "1Mbit/s", "demand": "dvb-rcs2"}
    )
    narrow = scenario("40s", [flow("video", VIDEO)], made)
    route = routes_of(narrow)["video"]
    assert route.low_ms == 500.0
    assert route.slots_ms == pytest.approx(541.25)
    run = bp.run(narrow)
    delays = run.links.filter(run.links["direction"] == "backward")["median_queueing_delay_ms"]
    assert delays[0] > 500
    queue = route.back.queue_ms({f"link.server-client.backward.{q}": delays[0] for q in
                                 ("median_queueing_delay_ms",)}.get)  # fmt: skip
    assert queue < 30
    (report,) = bp.experience(narrow, replications=1).reports
    assert report.limit.by != "queue"
    assert "541 ms of a round trip without queues of 1,041 ms" in report.limit.sentence


def test_the_wait_for_slots_of_a_beam_is_none_of_the_queue() -> None:
    quiet = bp.Scenario.build(duration="40s", flow=[flow("video", VIDEO, "home")],
                              **beam(group("home")))  # fmt: skip
    (before,) = routes_of(quiet).values()
    assert before.slots_ms == quiet.explain().beams[0]["groups"][0]["ack_delay_ms"] > 400
    assert before.low_ms == pytest.approx(520, abs=2)
    _, beams = first_run(quiet)
    (route,) = routes_of(quiet, beams).values()
    row = beams["home", "return", None]
    assert row["median_delay_ms"] > 400
    assert route.back.beam is not None
    assert route.back.beam.queue_ms == max(0.0, row["median_delay_ms"] - route.slots_ms)
    (report,) = bp.experience(quiet, replications=1).reports
    assert report.limit.by != "queue"
    assert "wait for slots" in report.limit.sentence


def test_a_class_of_a_beam_has_its_own_queue() -> None:
    rows = [{"group": "home", "direction": "forward", "median_delay_ms": 70.0,
             "dropped_packets": 3, "jain": float("nan")}]  # fmt: skip
    classes = [{"group": "home", "direction": "forward", "class": "calls", "median_delay_ms": 2.0}]
    flows = [flow("call", {"call": {"duration": "5s"}}, "home", transport=UDP),
             flow("file", {"bulk": "unlimited"}, "home")]  # fmt: skip
    keys = beam(group("home"), **{"class": [{"name": "calls", "flows": ["call"]}]})
    routes = routes_of(bp.Scenario.build(duration="9s", flow=flows, **keys),
                       beams_of(rows, classes))  # fmt: skip
    queues = {}
    for name, route in routes.items():
        assert route.forward.beam is not None
        queues[name] = (route.forward.beam.queue_ms, route.forward.beam.dropped_packets)
    assert queues == {"call": (2.0, 3), "file": (70.0, 3)}


def test_a_switch_has_the_range_of_its_paths() -> None:
    both = planned(bp.Scenario.load(EXAMPLES / "geo-and-leo.toml")).scenario
    route = routes_of(both)["page"]
    assert route.low_ms == pytest.approx(62.0)
    assert route.high_ms == pytest.approx(512.0)
    queues = {"link.hub-leo.forward": 5.0, "link.hub-geo.forward": 90.0}
    of = {f"{name}.median_queueing_delay_ms": queue for name, queue in queues.items()}.get
    assert route.queue_ms(of) == 5.0, "that of the path that the switch prefers"
    assert {"link.hub-leo.forward.dropped_packets", "link.hub-geo.forward.dropped_packets"} <= set(
        route.evidence
    )


def test_the_rate_of_a_speed_test_is_that_of_its_own_bottleneck() -> None:
    links = [link("server", "sensor", rate="2Mbit/s"), link("server", "client", rate="100Mbit/s")]
    flows = [flow("log", {"bulk": "unlimited"}, "sensor"), flow("test", {"speedtest": {}})]
    found = rates_of(scenario("30s", flows, *links))
    assert {name: rate.bps for name, rate in found.items()} == {"log": 2e6, "test": 100e6}
    up = link("server", "client", backward={"rate": "3Mbit/s"})
    flows = [flow("up", {"speedtest": {}}) | {"from": "client", "to": "server"}]
    assert rates_of(scenario("30s", flows, up))["up"].bps == 3e6
    changed = link("server", "client", event=[{"at": "5s", "rate": "1Mbit/s"}])
    assert rates_of(scenario("30s", [flow("t", {"speedtest": {}})], changed)) == {}


def test_a_rate_above_the_link_reaches_no_target() -> None:
    """It counts data that had arrived during the warm-up."""
    keys = {
        "forward": {"rate": "100Mbit/s", "queue": {"bdp": 1}},
        "backward": {"rate": "20Mbit/s", "queue": {"bdp": 1}},
    }
    path = link("server", "client", delay="60ms", **keys)
    del path["rate"]
    flows = [flow("test", {"speedtest": {"connections": 8}})]
    made = scenario("60s", flows, path)
    bound = most_of(made)["test"]
    assert bound["download_bps"] == pytest.approx(96.5e6, rel=0.01)
    assert bound["upload_bps"] == pytest.approx(19.3e6, rel=0.01)
    found = bp.experience(made, replications=1).reports[0].measured[:2]
    assert all(one.mean > one.target.value for one in found if one.mean and one.target)
    assert [one.verdict for one in found] == ["not clear", "not clear"]


@pytest.mark.parametrize(
    ("terminals", "more", "rate"),
    [
        (1, {}, (96e6, "the rate of the bottleneck")),
        (5, {}, None),
        (5, {"plan": {"down": {"rate": "20Mbit/s"}}}, (20e6, "the rate of the plan")),
    ],
)
def test_a_terminal_has_the_rate_of_its_plan_or_no_share(
    terminals: int, more: dict[str, Any], rate: tuple[float, str] | None
) -> None:
    flows = [flow("test", {"speedtest": {}}, "home")]
    keys = beam(group("home", terminals, **more))
    found = rates_of(bp.Scenario.build(duration="30s", flow=flows, **keys)).get("test")
    if rate is None:
        assert found is None
    else:
        assert found is not None
        assert found.bps == pytest.approx(rate[0], rel=0.01)
        assert found.words == rate[1]


PROXY = {"name": "gateway", "proxy": {"satellite": {"towards": ["client"], "controller": "hybla"}}}
BEHIND = (link("server", "gateway", rate="1Gbit/s"), link("gateway", "client", delay="250ms"))


@pytest.mark.parametrize("copies", [1, 2])
def test_copies_of_a_flow_have_the_legs_of_a_proxy(copies: int) -> None:
    flows = [flow("file", VIDEO, count=copies)]
    found = bp.experience(scenario("30s", flows, *BEHIND, node=[PROXY]), replications=1)
    limit = found.reports[0].limit
    assert limit.by == "proxy"
    assert "Its leg from gateway to client" in limit.sentence


def test_terminals_of_a_group_have_the_legs_of_a_proxy() -> None:
    proxy = {"name": "gateway", "proxy": {"satellite": {"controller": "hybla"}}}
    split = bp.Scenario.build(duration="20s", flow=[flow("file", VIDEO, "home")], node=[proxy],
                              **beam(group("home", 2)))  # fmt: skip
    legs, _ = first_run(split)
    assert [(leg["from"], leg["to"]) for leg in legs("file")] == [
        ("server", "gateway"), ("gateway", "home"),
    ]  # fmt: skip


def test_runs_without_a_loss_are_not_said_to_have_nothing_random() -> None:
    rare = link("server", "client", channel={"per": 1e-6})
    flows = [flow("call", {"call": {"duration": "2s"}}, transport=UDP)]
    found = bp.experience(scenario("3s", flows, rare), replications=2)
    assert ALL_THE_SAME in found.labelled["Sure"]
    assert "nothing random happened" in ALL_THE_SAME
