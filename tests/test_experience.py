"""What people experience on a scenario: figures, targets and limits."""

from __future__ import annotations

import itertools
import json
import tomllib
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.errors import InputError
from bentpipe.experience import limits
from bentpipe.experience.figures import KINDS, MOS, MOUTH_TO_EAR
from bentpipe.experience.limits import evidence, limit
from bentpipe.experience.plan import planned
from bentpipe.experience.rates import Rate
from bentpipe.experience.routes import Hop, Outage, Route, Way, traced_s
from bentpipe.report.experience import experience_page
from bentpipe.study.quantities import Quantity
from conftest import EXAMPLES
from test_tables import at_widths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Bentpipe

ADDED = ("page", "video", "call", "speedtest")
"""The applications that are added to a scenario without any, in their order."""
PATH = """
name = "own"
duration = "30s"
[[node]]
name = "gateway"
proxy = "none"
[[link]]
between = ["server", "gateway"]
rate = "1Gbit/s"
delay = "5ms"
[[link]]
between = ["gateway", "terminal"]
rate = "10Mbit/s"
delay = "250ms"
queue = { bdp = 1 }
channel = { per = 1e-4 }
[[flow]]
name = "file"
from = "server"
to = "terminal"
controller = "cubic"
traffic = { download = "1MB" }
"""


@pytest.mark.parametrize(
    ("mean", "ci95", "verdict"),
    [
        (4.2, (4.1, 4.3), "reached"),
        (4.0, (4.0, 4.0), "reached"),
        (4.1, (3.9, 4.3), "not clear"),
        (3.5, (3.4, 3.6), "missed"),
        (4.2, None, "not clear"),
        (None, None, "undefined"),
    ],
)
def test_a_target_is_reached_if_the_whole_interval_is(
    mean: float | None, ci95: tuple[float, float] | None, verdict: str
) -> None:
    assert MOS.judge(mean, ci95, exact=False) == verdict


def test_a_target_from_above_and_runs_that_are_all_the_same() -> None:
    assert MOUTH_TO_EAR.judge(399.0, None, exact=True) == "reached"
    assert MOUTH_TO_EAR.judge(401.0, None, exact=True) == "missed"
    assert MOUTH_TO_EAR.judge(390.0, (380.0, 410.0), exact=False) == "not clear"
    assert MOUTH_TO_EAR.words("ms") == "at most 400 ms"


def test_every_figure_and_every_piece_of_evidence_is_a_quantity() -> None:
    for kind in KINDS:
        for figure in kind.figures:
            assert figure.quantity("one").unit
            assert figure.target is None or figure.target.source
        for name in evidence(kind.key, "one"):
            assert Quantity(name).taken.name == "one"


DOWN, UP = "link.a-b.forward", "link.a-b.backward"


def route(
    low_ms: float, high_ms: float | None = None, *, hop: dict[str, Any] | None = None, **more: Any
) -> Route:
    """A route over one link. Delays are one-way, and `hop` has more about its forward direction."""
    delays: dict[str, Any] = {"low_ms": low_ms, "high_ms": low_ms if high_ms is None else high_ms}
    down = Hop(DOWN, **delays, **(hop or {}))
    return Route(Way(((down,),)), Way(((Hop(UP, **delays),),)), **more)


LINK = route(300.0)
"""A route without anything but propagation."""


def values(**found: float) -> Callable[[str], float | None]:
    """The means of quantities by their columns."""
    return lambda name: found.get(name.rpartition(".")[2].rstrip(")"))


def test_a_call_is_limited_by_the_largest_part_of_its_delay() -> None:
    calls = route(100.0, streams=False)
    path = values(min_delay_ms=260.0, mean_delay_ms=262.0, mouth_to_ear_ms=320.0, loss=0.0)
    assert limit("call", "call", path, route(260.0, streams=False)).by == "path"
    queue = values(min_delay_ms=400.0, mean_delay_ms=410.0, mouth_to_ear_ms=460.0, loss=0.0)
    found = limit("call", "call", queue, calls)
    assert (found.by, "300 ms queues" in found.sentence) == ("queue", True)
    delay = 100.0 + 2.3e-12
    rest = values(min_delay_ms=delay, mean_delay_ms=delay, mouth_to_ear_ms=160.0, loss=0.0)
    sentence = limit("call", "call", rest, calls).sentence
    assert "100.0 ms are the path, 0 ms queues, and 60.0 ms packets" in sentence
    # A jitter buffer that follows the jitter counts from the mean delay.
    follows = route(100.0, streams=False, settings={"traffic.call.jitter_buffer": "twice-jitter"})
    sentence = limit("call", "call", queue, follows).sentence
    assert "310 ms queues, and 50.0 ms packets and jitter buffer" in sentence


def test_the_smallest_delay_of_a_run_is_not_the_propagation_delay() -> None:
    # A queue that never empties: no packet of the call has seen the delay of the path.
    full = values(min_delay_ms=806.6, mean_delay_ms=820.7, mouth_to_ear_ms=866.6, loss=0.0)
    found = limit("call", "call", full, route(20.0, streams=False))
    assert found.by == "queue"
    assert "20.00 ms are the path, 787 ms queues, and 60.0 ms packets" in found.sentence
    full = values(min_response_ms=827.2, p95_response_ms=843.5, requests=500.0, answers=500.0)
    found = limit("messages", "msg", full, route(20.0, streams=False))
    assert found.by == "queue"
    assert "40.00 ms are the path, and 804 ms queues" in found.sentence


def test_late_packets_are_of_the_largest_change_of_the_delay() -> None:
    lost = {"min_delay_ms": 100.0, "mean_delay_ms": 262.0, "mouth_to_ear_ms": 160.0, "loss": 0.1,
            "sent_packets": 1000.0}  # fmt: skip
    late = values(**lost, late_packets=90.0, median_queueing_delay_ms=10.0)
    assert limit("call", "call", late, route(100.0, streams=False)).by == "queue"
    assert limit("call", "call", late, route(20.0, 300.0, streams=False)).by == "path"
    jitter = route(100.0, hop={"delaying": ("jitter",)}, streams=False)
    assert limit("call", "call", late, jitter).by == "path"


def test_what_is_said_of_queues_is_what_was_measured() -> None:
    # The smallest delay leaves room for 180 ms of queues, and the median packet waits for 900 ms.
    of = values(min_delay_ms=200.0, mean_delay_ms=950.0, mouth_to_ear_ms=260.0, loss=0.0,
                median_queueing_delay_ms=900.0)  # fmt: skip
    found = limit("call", "call", of, route(20.0, 40.0, streams=False))
    assert (found.by, "add up to 900 ms" in found.sentence) == ("queue", True)
    slots = route(100.0, hop={"slots_ms": 541.0}, streams=False)
    assert "for slots at most 100 ms" in limit("call", "call", of, slots).sentence


def test_losses_are_of_the_queue_if_queues_dropped_more_packets_than_channels() -> None:
    lost = {"min_delay_ms": 261.0, "mean_delay_ms": 262.0, "mouth_to_ear_ms": 320.0, "loss": 0.1,
            "late_packets": 0.0, "sent_packets": 1000.0}  # fmt: skip
    for dropped, corrupted, by in [(9.0, 1.0, "queue"), (1.0, 9.0, "path"), (0.0, 0.0, "path")]:
        of = values(**lost, dropped_packets=dropped, corrupted_packets=corrupted)
        assert limit("call", "call", of, route(260.0, streams=False)).by == by


SHARES = {"limited_by_congestion_window": 0.5, "limited_by_recovery": 0.1,
          "limited_by_application": 0.3}  # fmt: skip


def test_a_flow_is_limited_by_its_largest_share_or_by_a_standing_queue() -> None:
    # Half of a round trip of 600 ms is a standing queue. Each way has a half of it.
    found = limit("video", "v", values(**SHARES, median_queueing_delay_ms=140.0), LINK)
    assert (found.by, found.sentence[:17]) == ("host", "Congestion window")
    found = limit("video", "v", values(**SHARES, median_queueing_delay_ms=160.0), LINK)
    assert (found.by, found.sentence[:16]) == ("queue", "A standing queue")
    # The RTT of the flow itself shows at most 100 ms of queues.
    corrupted = {"corrupted_packets": 1.0}
    of = values(**SHARES, median_queueing_delay_ms=160.0, median_rtt_ms=700.0, **corrupted)
    assert limit("video", "v", of, LINK).by == "host"
    losses = SHARES | {"limited_by_recovery": 0.6}
    assert limit("video", "v", values(**losses, **corrupted), LINK).by == "path"
    assert limit("video", "v", values(**losses, dropped_packets=2.0), LINK).by == "queue"
    restarts = values(**SHARES, window_restarts=4.0, fetched=15.0)
    assert "started again after a pause 4.00 times" in limit("video", "v", restarts, LINK).sentence


def test_a_changed_delay_and_the_wait_for_slots_are_no_queue() -> None:
    # The RTT is fifteen times the smallest, and the queues hold 21 ms.
    of = values(**SHARES, min_rtt_ms=40.0, p95_rtt_ms=583.0, median_queueing_delay_ms=10.5)
    assert limit("video", "v", of, route(20.0, 280.0)).by == "host"
    of = values(p95_response_ms=560.0, requests=9.0, answers=9.0, median_queueing_delay_ms=10.5)
    found = limit("messages", "m", of, route(20.0, 280.0, streams=False))
    assert (found.by, "Propagation is 40.00 to 560.0 ms" in found.sentence) == ("path", True)
    assert "queues of its path add up to 21.0 ms" in found.sentence
    slots = route(250.0, hop={"slots_ms": 541.0})
    of = values(**SHARES, min_rtt_ms=524.0, p95_rtt_ms=1213.0, median_queueing_delay_ms=542.0)
    found = limit("video", "v", lambda name: 0.0 if name.startswith(UP) else of(name), slots)
    assert (found.by, "541 ms of a round trip" in found.sentence) == ("host", True)


def test_outages_count_for_the_path() -> None:
    out = route(50.0, hop={"outages": (Outage(10.0, 510.0),)}, streams=False)
    ends = {"start_s": 0.0, "simulated_s": 120.0}
    video = values(**SHARES, **ends, limited_s=10.2, played_s=28.0, stalled_s=91.5)
    found = limit("video", "v", video, out)
    assert (found.by, "out for 110 s of its 120 s" in found.sentence) == ("path", True)
    # A video that did not stall had fetched enough before. One that never played had not.
    ahead = values(**SHARES, **ends, limited_s=10.2, played_s=120.0, stalled_s=0.0)
    found = limit("video", "v", ahead, out)
    assert (found.by, "out for 110 s of its 120 s" in found.sentence) == ("host", True)
    never = values(**SHARES, **ends, limited_s=10.2, played_s=0.0)
    assert limit("video", "v", never, out).by == "path"
    # Pages may be loaded before and after an outage. Of 70 busy seconds 60 were in it.
    assert limit("web", "w", values(**SHARES, **ends, limited_s=100.0), out).by == "path"
    assert limit("web", "w", values(**SHARES, **ends, limited_s=50.0), out).by == "host"
    # An outage before the flow starts is none of it.
    later = values(**SHARES, simulated_s=600.0, start_s=550.0, limited_s=50.0)
    assert limit("video", "v", later, out).by == "host"
    of = values(p95_response_ms=199.7, requests=3601.0, answers=296.0, dropped_packets=9.0, **ends)
    found = limit("messages", "m", of, out)
    assert found.by == "path"
    assert "92 % of the requests have no answer" in found.sentence
    assert limit("page", "p", values(**ends), out).by == "path"
    of = values(idle_latency_ms=101.0, p95_download_latency_ms=199.0, download_bps=4e6, **ends)
    assert limit("speedtest", "s", of, out).by == "path"


def test_a_flow_with_several_routes_is_out_if_all_of_them_are() -> None:
    first, second = (
        Hop(f"link.{name}.forward", outages=(Outage(start, start + 10.0),))
        for name, start in (("a", 0.0), ("b", 6.0))
    )
    both = Route(Way(((first,), (second,))), Way(((), ())))
    assert both.outage_s(values(), 0.0, 30.0) == pytest.approx(4.0)
    in_turn = Route(Way(((first, second),)), Way(((),)))
    assert in_turn.outage_s(values(), 0.0, 30.0) == pytest.approx(16.0)


def test_outages_of_traces_and_fades_count_as_far_as_they_must_be_in_the_time_of_a_flow() -> None:
    traced = Route(Way(((Hop("link.c.forward", traced_s=40.0),),)), Way(((),)))
    run = values(simulated_s=70.0)
    assert traced.outage_s(run, 0.0, 70.0) == 40.0
    assert traced.outage_s(run, 10.0, 60.0) == 20.0
    assert traced.outage_s(run, 0.0, 4.0) == 0.0, "a flow may have ended before"
    faded = Route(Way(((Hop("link.c.forward", fades="acm.c.forward.lost_s"),),)), Way(((),)))
    assert faded.outage_s(values(simulated_s=70.0, lost_s=40.0), 0.0, 65.0) == 35.0


def test_outages_of_a_trace_are_those_that_a_run_must_meet() -> None:
    trace = {"length_s": 60.0, "outage_s": 6.0, "loops": False, "start_s": 0.0}
    assert traced_s(None, 60.0) == 0.0
    assert traced_s(trace, 60.0) == traced_s(trace, 90.0) == 6.0
    assert traced_s(trace, 56.0) == 2.0
    assert traced_s(trace, 10.0) == 0.0
    assert traced_s(trace | {"start_s": 5.0}, 90.0) == 1.0
    assert traced_s(trace | {"loops": True, "start_s": 5.0}, 178.0) == 16.0


def test_mechanisms_that_delay_packets_are_named_and_no_queue() -> None:
    of = values(p95_response_ms=164.0, requests=9.0, answers=9.0, median_queueing_delay_ms=1.0)
    jitter = route(50.0, hop={"delaying": ("jitter",)}, streams=False)
    found = limit("messages", "m", of, jitter)
    assert found.by == "path"
    assert "add up to 2.00 ms. Jitter can delay packets too." in found.sentence
    assert "the tunnel" not in found.sentence
    assert "The tunnel can" in limit("messages", "m", of, route(50.0, tunnel=True)).sentence


def test_queues_of_several_routes_are_those_of_the_first() -> None:
    first, second = Hop(DOWN, 20.0, 20.0), Hop("link.c-d.forward", 250.0, 250.0)
    both = Route(Way(((first,), (second,))), Way(((), ())), streams=False)
    of = values(p95_response_ms=100.0, requests=9.0, answers=9.0, median_queueing_delay_ms=7.0)
    sentence = limit("messages", "m", of, both).sentence
    assert "Propagation is 20.00 to 250.0 ms" in sentence
    assert "queues of its first route add up to 7.00 ms" in sentence


def test_a_request_under_way_at_the_end_is_not_lost() -> None:
    settings = {"traffic.messages.interval": 0.05}
    long = route(260.0, streams=False, settings=settings)
    of = values(p95_response_ms=520.0, requests=400.0, answers=389.0)
    assert "no answer" not in limit("messages", "m", of, long).sentence
    of = values(p95_response_ms=520.0, requests=400.0, answers=340.0)
    assert "12 % of the requests have no answer" in limit("messages", "m", of, long).sentence


def test_a_video_that_does_not_end_says_so() -> None:
    long = route(260.0, settings={"traffic.video.length": 40.0})
    sentence = limit("video", "v", values(**SHARES, played_s=28.4), long).sentence
    assert "The video did not end: 28.4 s of 40 s were played" in sentence
    assert "did not end" not in limit("video", "v", values(**SHARES, played_s=40.0), long).sentence


def test_a_page_is_limited_by_the_largest_group_of_its_critical_path() -> None:
    trips = {
        "load_s": 10.0,
        "round_trips": 9.0,
        "round_trip_s": 3.0,
        "tls_s": 2.0,
        "connect_s": 1.0,
    }
    found = limit("page", "p", values(**trips, transfer_s=4.0, **SHARES), LINK)
    assert (found.by, "9 round trips: transfer 40 %" in found.sentence) == ("path", True)
    short = trips | {"round_trip_s": 0.5}
    found = limit("page", "p", values(**short, transfer_s=6.5, **SHARES), LINK)
    assert (found.by, "In transfers: congestion window" in found.sentence) == ("host", True)
    slow = values(load_s=10.0, round_trips=9.0, server_s=8.0, transfer_s=2.0, **SHARES)
    assert limit("page", "p", slow, LINK).by == "server"
    assert limit("page", "p", values(), LINK).by == "none"
    # Round trips of 640 ms over a path of 40 ms are a queue.
    full = values(**trips, transfer_s=4.0, **SHARES, median_rtt_ms=640.0)
    found = limit("page", "p", full, route(20.0))
    assert (found.by, "transfers: a standing queue" in found.sentence) == ("queue", True)


def test_the_leg_that_waits_least_for_data_limits_a_split_flow() -> None:
    of = values(**SHARES)
    first = {"from": "server", "to": "gateway", "limited_by_application": 0.1,
             "limited_by_receive_window": 0.8}  # fmt: skip
    second = {"from": "gateway", "to": "terminal", "limited_by_application": 0.7,
              "limited_by_congestion_window": 0.2}  # fmt: skip
    found = limit("video", "v", of, LINK, legs=[first, second])
    assert (found.by, "server to gateway" in found.sentence) == ("host", True)
    found = limit("video", "v", of, LINK, legs=[first | {"limited_by_application": 0.9}, second])
    assert (found.by, "congestion window for 20 %" in found.sentence) == ("proxy", True)


def test_a_speed_test_on_a_full_queue_is_limited_by_it() -> None:
    rate, geo = Rate(10e6, "the link's rate"), route(250.0)
    full = values(idle_latency_ms=500.0, p95_download_latency_ms=900.0, download_bps=9e6)
    assert limit("speedtest", "s", full, geo, rate=rate).by == "queue"
    short = values(idle_latency_ms=500.0, p95_download_latency_ms=600.0, download_bps=9e6)
    assert limit("speedtest", "s", short, geo, rate=rate).by == "path"
    half = values(
        idle_latency_ms=500.0, p95_download_latency_ms=600.0, download_bps=5e6,
        limited_by_send_buffer=0.7,
    )  # fmt: skip
    assert limit("speedtest", "s", half, geo, rate=rate).by == "host"
    assert limits.STANDING == 1.5
    # A queue of other flows is there without load too, and one that is not measured is none.
    both = values(idle_latency_ms=890.0, p95_download_latency_ms=900.0, download_bps=5e6)
    assert limit("speedtest", "s", both, geo, rate=rate).by == "queue"
    # With losses the p95 is no sum. The queue of the download is its p95, and the median is that of
    # all packets of the run.
    lossy = {"idle_latency_ms": 524.0, "p95_download_latency_ms": 1913.0, "download_bps": 9e6,
             "corrupted_packets": 9.0, "median_queueing_delay_ms": 100.0}  # fmt: skip
    of = values(**lossy, p95_queueing_delay_ms=1300.0)
    assert limit("speedtest", "s", of, geo, rate=rate).by == "queue"
    of = values(**lossy, p95_queueing_delay_ms=200.0)
    assert limit("speedtest", "s", of, geo, rate=rate).by == "path"
    # Losses of queues count for the queue.
    of = values(**lossy, dropped_packets=99.0)
    found = limit("speedtest", "s", of, geo, rate=rate)
    assert (found.by, "are queues and retransmissions" in found.sentence) == ("queue", True)
    stepped = values(idle_latency_ms=40.0, p95_download_latency_ms=560.0, download_bps=9e6)
    assert limit("speedtest", "s", stepped, route(20.0, 280.0), rate=rate).by == "path"


def test_a_scenario_with_applications_runs_as_it_is(bentpipe: Bentpipe, tmp_path: Path) -> None:
    file = EXAMPLES / "geo-experience.toml"
    done = bentpipe("experience", file, "--replications", "2", "--out", "out", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found == json.loads((tmp_path / "out/experience.json").read_text())
    assert not found["added"]
    assert [one["flow"] for one in found["applications"]] == [
        "call", "messages", "video", "speedtest",
    ]  # fmt: skip
    run = bp.run(bp.Scenario.load(file))
    call = found["applications"][0]
    worst = pl.DataFrame(run.recording.table("call"))["mos"].min()
    mos = call["figures"][0]
    assert (mos["label"], mos["mean"], mos["verdict"]) == ("MOS", pytest.approx(worst), "missed")
    assert mos["deterministic"]
    assert call["limited"]["by"] == "path"
    # The sentence is about the delay of the figure.
    mouth_to_ear = next(one["mean"] for one in call["figures"] if one["label"] == "mouth to ear")
    assert f"Of {mouth_to_ear:.1f} ms from mouth to ear" in call["limited"]["sentence"]
    # What has no published target has no verdict.
    video = found["applications"][2]["figures"]
    assert {(one["target"], one["verdict"]) for one in video} == {(None, None)}
    page = experience_page(tmp_path / "out")
    assert page.first is not None
    assert page.first.table is not None
    assert [cell.text for cell in page.first.table.rows[0]] == [
        "call", "MOS", "3.654", "", "at least 4.00", "missed", "path",
    ]  # fmt: skip
    assert bentpipe("report", "out").returncode == 0
    assert "Limited by the path" in (tmp_path / "out/report.html").read_text()
    assert bentpipe("cite", "out").returncode == 0
    text = (tmp_path / "out/experience.md").read_text()
    assert "no published target" in text
    assert "FCC 24-27" in text


def test_a_scenario_without_applications_gets_four_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(PATH)
    scenario = bp.Scenario.load(tmp_path / "own.toml")
    plan = planned(scenario)
    assert plan.added
    assert [one.flow for one in plan.applications] == [*ADDED]
    document = tomllib.loads(plan.scenario.to_toml())
    names = [flow["name"] for flow in document["flow"]]
    assert names == ["file", *ADDED]
    run = bp.run(plan.scenario)
    assert run.flows["completed"].all(), "each has time to end"
    assert "Added between server and terminal" in plan.notes[0]
    assert any("share the path with the scenario's own flows: file" in note for note in plan.notes)
    alone = planned(scenario, alone=True)
    flows = tomllib.loads(alone.scenario.to_toml())["flow"]
    assert [flow["name"] for flow in flows] == [*ADDED]


def test_an_application_has_ended_when_the_next_one_begins(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(PATH.replace('"10Mbit/s"', '"1Mbit/s"'))
    plan = planned(bp.Scenario.load(tmp_path / "own.toml"), alone=True)
    run = bp.run(plan.scenario)
    flows = {row["flow"]: row for row in run.flows.iter_rows(named=True)}
    times = {
        flow["name"]: float(flow.get("start", "0s").removesuffix("s"))
        for flow in tomllib.loads(plan.scenario.to_toml())["flow"]
    }
    order = [times[name] for name in ADDED]
    assert order == sorted(order)
    for name, following in itertools.pairwise(ADDED):
        assert times[name] + flows[name]["completion_s"] <= times[following]


def test_a_flow_without_a_name_is_called_as_in_the_results(tmp_path: Path) -> None:
    file = tmp_path / "unnamed.toml"
    video = "traffic = { video = { length = '20s' } }"
    file.write_text(
        PATH.replace('name = "file"\n', "").replace("traffic = { download", "#") + video
    )
    found = bp.experience(file, replications=1)
    assert [one.application.flow for one in found.reports] == ["flow-0"]
    assert "flow-0" in found.labelled["Limits"]


def test_the_warnings_about_an_application_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "own-queue.toml"
    file.write_text(PATH.replace('delay = "5ms"\n', 'delay = "5ms"\nqueue = { packets = 20 }\n'))
    found = planned(bp.Scenario.load(file))
    (about_video,) = [note for note in found.notes if "before server -> gateway holds" in note]
    assert about_video.startswith("`bentpipe explain` warns about page and video: the queue")
    sized = planned(bp.Scenario.load(file, ["link.0.queue=unlimited"]))
    assert not [note for note in sized.notes if "server -> gateway holds" in note]


def test_names_that_are_taken_get_others(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(PATH.replace('"file"', '"page"'))
    plan = planned(bp.Scenario.load(tmp_path / "own.toml"))
    assert [one.flow for one in plan.applications][:2] == ["experience-page", "video"]


def test_flows_that_a_proxy_splits_say_which_leg_limits(tmp_path: Path) -> None:
    text = PATH.replace(
        'proxy = "none"', 'proxy = { preset = "pepsal", satellite = { towards = ["terminal"] } }'
    )
    (tmp_path / "own.toml").write_text(text)
    found = bp.experience(tmp_path / "own.toml", replications=1, alone=True)
    split = {
        one.application.flow: "A proxy splits the flow." in one.limit.sentence
        for one in found.reports
    }
    assert split == {"page": True, "video": True, "call": False, "speedtest": True}
    # One run has no interval, so no verdict is clear.
    verdicts = {one.verdict for report in found.reports for one in report.measured if one.target}
    assert verdicts == {"not clear"}


def test_a_path_that_takes_no_datagrams_has_no_call(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(PATH.replace('proxy = "none"', 'middlebox = "snoop"'))
    plan = planned(bp.Scenario.load(tmp_path / "own.toml"))
    assert [one.flow for one in plan.applications] == ["page", "video", "speedtest"]
    (note,) = [note for note in plan.notes if note.startswith("Without a call: ")]
    assert "middlebox" in note


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (("--alone",), "--alone: expected a scenario without applications of people, found call"),
        (("--replications", "0"), "Invalid value for '--replications'"),
        (("--set", "flow.9.start=1s"), "flow"),
    ],
)
def test_wrong_input_is_answered_before_anything_runs(
    bentpipe: Bentpipe, tmp_path: Path, options: tuple[str, ...], answer: str
) -> None:
    file = EXAMPLES / "geo-experience.toml"
    done = bentpipe("experience", file, *options, "--out", "out")
    assert done.returncode == 2
    assert answer in done.stderr
    assert not (tmp_path / "out").exists()


def test_arguments_of_the_function_are_checked() -> None:
    with pytest.raises(InputError, match="replications"):
        bp.experience(EXAMPLES / "geo-experience.toml", replications=0)
    scenario = bp.Scenario.load(EXAMPLES / "geo-experience.toml")
    with pytest.raises(InputError, match="sets: expected none with a scenario object"):
        bp.experience(scenario, sets=["duration=1s"])


def test_the_object_shows_its_figures_and_frames() -> None:
    found = bp.experience(EXAMPLES / "geo-experience.toml", replications=1)
    frame = found.figures
    rows: list[dict[str, Any]] = list(frame.filter(pl.col("application") == "speedtest").to_dicts())
    assert (rows[0]["figure"], rows[0]["unit"]) == ("download", "Mbit/s")
    assert rows[0]["mean"] == pytest.approx(18.9, abs=0.1)
    assert "Targets" in str(found)
    assert "<table>" in found._repr_html_()
    assert found.complete
    assert found.results is not None


def test_the_output_fits_terminals(tmp_path: Path) -> None:
    command = ["experience", str(EXAMPLES / "geo-experience.toml"), "--replications", "1"]
    outputs = at_widths(command, tmp_path, (80, 120))
    for width in (80, 120):
        lines = outputs[str(width)].splitlines()
        assert max(map(len, lines)) <= width
        assert [line.split()[0] for line in lines if line[:1].isupper()][:3] == [
            "Targets", "Limits", "Sure",
        ]  # fmt: skip
        assert "no published target" in " ".join(outputs[str(width)].split())


@pytest.mark.parametrize(("rate", "explained"), [(19.3e6, False), (20.4e6, True)])
def test_a_speed_test_above_the_rate_of_its_link_is_explained(rate: float, explained: bool) -> None:
    values = {
        "speedtest.s.idle_latency_ms": 100.0,
        "speedtest.s.p95_download_latency_ms": 120.0,
        "speedtest.s.download_bps": rate,
    }
    found = limits.of_test("s", values.get, route(50.0), Rate(20e6, "the link's rate"))
    assert found.by == "path"
    assert ("waited for a retransmission" in found.sentence) == explained
