"""What a comparison takes from a link, adds to it and leaves out, and that it says so."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe.compare import fade, links, mechanisms, parts, tables, transports
from bentpipe.compare.candidates import chosen
from bentpipe.compare.outcome import explained
from bentpipe.compare.traffic import HTTP_1_1, HTTP_3, PAGE_HTTP_2, PAGE_HTTP_3, of_page, of_web
from bentpipe.compare.workloads import REPLACED, WORKLOADS, workloads
from bentpipe.errors import InputError
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

LOSSY = """
name = "lossy"
duration = "90s"
[[link]]
between = ["server", "client"]
delay = "300ms"
forward = { rate = "20Mbit/s", queue = { bytes = "1500kB" }, channel = { per = 0.01 } }
backward = { rate = "2Mbit/s", queue = { bytes = "150kB" } }
[[flow]]
from = "server"
to = "client"
controller = "cubic"
transport = { recovery = "linux" }
traffic = { bulk = "unlimited" }
"""
TRACE = "t_s,rate_mbps,delay_ms\n0,2,20\n20,0,30\n30,4,250\n"


def of_text(text: str, folder: Path) -> links.Link:
    """The link of a scenario in this folder."""
    file = folder / "own.toml"
    file.write_text(text)
    return links.of_scenario(file, ())


def with_link(keys: str) -> str:
    """The lossy scenario with other keys of the link and its forward direction."""
    start, _, rest = LOSSY.partition("delay = ")
    return start + keys + rest[rest.index("\n[[flow]]") :]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("beam-rain", "expected a scenario without a beam"),
        ("sctp-two-paths", "found the transport sctp, which takes none"),
        ("geo-experience", "found the transport udp, which takes none"),
    ],
)
def test_a_scenario_whose_flows_cannot_be_replaced_is_refused(name: str, answer: str) -> None:
    file = EXAMPLES / f"{name}.toml"
    with pytest.raises(InputError, match=answer):
        links.of_scenario(file, ())
    with pytest.raises(InputError, match=answer):
        links.of_object(bp.Scenario.load(file), ())


SETTINGS = """
delay = "300ms"
jitter = "1ms"
reorder = false
overhead = "8B"
forward = { rate = "20Mbit/s", queue = { bytes = "900kB", low_priority = "push-out" } }
backward = { rate = "2Mbit/s", channel = { ber = 1e-7 }, mtu = 1500 }
"""
KINDS = {
    "losses": LOSSY,
    "bursts": with_link("""
delay = "300ms"
forward = { rate = "9Mbit/s", aqm = "codel", channel = { mean_loss = 0.02, mean_burst = 5 } }
backward = { rate = "2Mbit/s", demand = "dvb-rcs2" }
event = [{ at = "10s", every = "9s", delay = "290ms" }]
"""),
    "bit errors and FEC": with_link("""
delay = "300ms"
channel = { ber = 1e-6 }
forward = { rate = "9Mbit/s", fec = "reed-solomon" }
backward = { rate = "2Mbit/s", ecn_marking = { packets = 20 } }
"""),
    "fixed modem": with_link("""
delay = "300ms"
forward = { rate = "9Mbit/s", channel = { eb_n0 = 14, code = "viterbi-3/4" } }
backward = { rate = "2Mbit/s", arq = "none" }
"""),
    "adaptive modem": with_link("""
delay = "300ms"
forward = { channel = { es_n0 = 17, modem = "dvb-s2" } }
backward = { rate = "2Mbit/s" }
"""),
    "all else": with_link(SETTINGS.replace('jitter = "1ms"\n', "").replace("push-out", "refuse")),
}
"""Scenarios whose links, hosts and flows have settings that a workload must leave alone."""


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """The leaves of a document by their paths."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    found: dict[str, Any] = {}
    for key, one in entries:
        here = f"{path}.{key}".lstrip(".")
        found |= flat(one, here) if isinstance(one, (dict, list)) and one else {here: one}
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_a_workload_changes_only_what_it_declares(kind: str, workload: Any, tmp_path: Path) -> None:
    """Nothing of the user's links, hosts and nodes is replaced or taken away."""
    link = of_text(KINDS[kind], tmp_path)
    if workload.fades:
        assert fade.planned(link).applied
    if workload.has_datagrams and "mtu" in KINDS[kind]:
        with pytest.raises(bp.ScenarioError, match="mtu"):
            workload.scenario(link)
        return
    before = flat(link.document)
    after = flat(tomllib.loads(workload.scenario(link).to_toml()))
    declared = workload.sets(link)

    def is_declared(path: str) -> bool:
        return any(path == one or path.startswith(f"{one}.") for one in declared)

    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert not {path for path in changed if not is_declared(path)}
    # What it sets itself beside flows is new, and nothing of the user's goes.
    beside = {path for path in declared if path not in REPLACED}
    lost = {
        path
        for path in before
        if path not in after and not any(path.split(".")[0] == key for key in REPLACED)
    }
    assert not lost
    assert not [p for p in before for one in beside if p.startswith(one) and after[p] != before[p]]
    # The hosts of the flow that is compared are those of the user, and so is its transport.
    flow = next(f for f in workload.flows(link, "cubic") if f["name"] == workload.compared)
    assert {key: flow[key] for key in ("from", "to")} == link.ends
    assert flow["transport"] == link.transport


@pytest.mark.parametrize("name", links.presets())
def test_a_workload_changes_only_what_it_declares_on_a_preset(name: str) -> None:
    link = links.of_preset(name)
    before = flat(link.document)
    for workload in WORKLOADS:
        if workload.fades and workload not in workloads(link):
            continue
        after = flat(tomllib.loads(workload.scenario(link).to_toml()))
        roots = (*REPLACED, *workload.sets(link))
        same = {path for path in before if not path.startswith(roots)}
        assert {path: after.get(path) for path in same} == {path: before[path] for path in same}


def test_a_fade_adds_to_the_losses_of_the_channel(tmp_path: Path) -> None:
    """A lossy link is not better in rain than in clear sky."""
    link = of_text(LOSSY.replace('"90s"', '"120s"'), tmp_path)
    by_name = {workload.name: workload for workload in workloads(link)}
    clear, rain = (
        bp.run(by_name[name].scenario(link, "newreno")).flows.row(0, named=True)
        for name in ("bulk", "fade")
    )
    assert rain["goodput_bps"] < 0.85 * clear["goodput_bps"]
    assert rain["timeouts"] > clear["timeouts"]
    # Bursts and bit errors stay, too.
    for kind in ("bursts", "bit errors and FEC"):
        other = of_text(KINDS[kind], tmp_path)
        scenario = next(w for w in workloads(other) if w.fades).scenario(other)
        written = tomllib.loads(scenario.to_toml())["link"][0]
        channel = written["forward"].get("channel", written.get("channel"))
        assert channel == other.channel(other.hops[0])
        assert "trace" in written["forward"]


@pytest.mark.parametrize("kind", ["fixed modem", "adaptive modem"])
def test_a_fade_is_an_attenuation_of_the_modem_that_is_there(kind: str, tmp_path: Path) -> None:
    link = of_text(KINDS[kind], tmp_path)
    scenario = next(workload for workload in workloads(link) if workload.fades).scenario(link)
    channel = tomllib.loads(scenario.to_toml())["link"][0]["forward"]["channel"]
    own = link.channel(link.hops[0])
    assert {key: channel[key] for key in own} == own
    assert set(channel) - set(own) == {"attenuation"}
    assert "is added to the modem" in fade.planned(link).sentence


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ('trace = "own.csv"\nrate = "2Mbit/s"\ndelay = "300ms"', "replays a trace"),
        ('rate = "9Mbit/s"\ndelay = "20ms"', "no link has a delay of 40 ms or more"),
        (
            'delay = "300ms"\nrate = "2Mbit/s"\n'
            'forward.channel = { eb_n0 = 14, code = "viterbi-3/4", attenuation = 2.0 }',
            "has a constant attenuation",
        ),
        (
            'rate = "9Mbit/s"\ndelay = "300ms"\n'
            'queue = { bytes = "90kB", low_priority = "push-out" }',
            "cannot be added",
        ),
    ],
)
def test_a_link_without_a_fade_says_why(keys: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("t_s,rate_mbps\n0,2\n100,2\n")
    link = of_text(with_link(keys), tmp_path)
    assert not [workload for workload in workloads(link) if workload.fades]
    plan = fade.planned(link)
    assert plan.sentence.startswith("No fade workload: ")
    assert reason in plan.sentence
    assert plan.sentence in tables.about_link(link, workloads(link))


def test_a_run_that_ends_before_the_event_has_no_fade(tmp_path: Path) -> None:
    plans = {
        seconds: fade.planned(of_text(LOSSY.replace('"90s"', f'"{seconds}s"'), tmp_path))
        for seconds in (40, 60, 90)
    }
    assert [plan.applied for plan in plans.values()] == [False, True, True]
    assert "ends before the built-in event" in plans[40].sentence
    assert "ends within the event" in plans[60].sentence
    assert "ends" not in plans[90].sentence


def test_low_orbits_have_no_fade_of_a_geostationary_satellite() -> None:
    has = {name: fade.planned(links.of_preset(name)).applied for name in links.presets()}
    moving = {"leo-starlink", "leo-starlink-laser", "leo-oneweb", "meo-o3b"}
    assert {name for name, is_there in has.items() if not is_there} == moving | {"leo"}


def test_the_output_says_that_seeds_meet_other_hand_overs() -> None:
    sentence = "Traces and orbits: each seed begins at another time of the series."
    for name in ("leo-starlink", "leo"):
        link = links.of_preset(name)
        assert (sentence in tables.about_link(link, workloads(link))) == (name != "leo")


def test_seeds_of_a_moving_preset_meet_other_delays() -> None:
    scenario = links.of_preset("leo-starlink-laser", sets=("duration=5s",)).scenario
    found = {bp.run(scenario, seed=seed).flows["min_rtt_ms"][0] for seed in (1, 2, 3)}
    assert len(found) == 3
    assert all(177 < one < 192 for one in found), found


def test_the_output_says_what_the_fade_does_everywhere(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(LOSSY)
    options = ("--controllers", "cubic", "--replications", "2", "--out", "out")
    done = bentpipe("compare", "--scenario", "own.toml", *options)
    assert (done.returncode, done.stderr) == (0, "")
    said = "come in addition to those of the channel (per = 0.01), which stays as it is"
    left = "Left out: controller, traffic of the first flow."
    for sentence in (said, left):
        assert sentence in " ".join(done.stdout.split())
        assert sentence in (tmp_path / "out/compare.md").read_text()
        assert sentence in json.dumps(json.loads((tmp_path / "out/compare.json").read_text()))
    found = json.loads((tmp_path / "out/compare.json").read_text())["link"]
    assert found["fade"]["applied"]
    assert found["fade"]["link"] == "server-client forward"
    assert bentpipe("report", "out").returncode == 0
    page = (tmp_path / "out/report.html").read_text()
    assert said in page
    assert left in page


def test_the_flows_that_are_left_out_are_named(tmp_path: Path) -> None:
    others = "".join(
        f'[[flow]]\nname = "{name}"\nfrom = "client"\nto = "server"\ncontroller = "bbr"\n'
        'traffic = { bulk = "unlimited" }\n'
        for name in ("voice", "backup")
    )
    link = of_text(LOSSY + others + '[record]\ninterval = "1s"\n', tmp_path)
    assert "2 other flows (voice, backup)" in link.left_out
    assert link.left_out.endswith("; record.")
    assert not links.of_preset("geo-ka").left_out


def test_the_header_has_the_means_and_ranges_of_a_trace(tmp_path: Path) -> None:
    """The rate and the delay that were written are never those of the link."""
    (tmp_path / "own.csv").write_text(TRACE)
    keys = 'rate = "80Mbit/s"\ndelay = "5ms"\nforward.trace = { file = "own.csv", loop = true }'
    link = of_text(with_link(keys), tmp_path)
    # 2 Mbit/s for 20 of 40 s, an outage of 10 s, and 4 Mbit/s for 10 s.
    assert link.rate_bps == 2_000_000
    assert link.rtt_s == pytest.approx((20 * 20 + 30 * 10 + 250 * 10) / 40e3 + 0.005)
    said = tables.described(link)
    assert "2 Mbit/s (mean of its trace, 2 to 4 Mbit/s, 10 s of outages)" in said
    assert "(means of traces; one way 20 to 250 ms)" in said
    assert "80" not in said


def test_a_rate_is_not_required_beside_a_trace_of_deliveries(tmp_path: Path) -> None:
    (tmp_path / "own.trace").write_text("".join(f"{ms}\n" for ms in range(6)))
    keys = 'delay = "20ms"\ntrace = { deliveries = "own.trace", loop = true }'
    link = of_text(with_link(keys), tmp_path)
    # A packet of 1500 bytes in each millisecond.
    assert link.rate_bps == pytest.approx(12e6, rel=0.25)
    assert link.bdp_bytes == pytest.approx(link.rate_bps * 0.04 / 8)
    (flow,) = link.scenario.explain().flows
    assert flow.figures.mean_rate
    assert not flow.figures.mean_delay


def test_another_length_of_the_queue_keeps_its_rule(tmp_path: Path) -> None:
    link = of_text(KINDS["all else"], tmp_path)
    for length in ("100", "650kB", "0.5bdp"):
        changed = link.with_queue(length)
        queue = changed.document["link"][0]["forward"]["queue"]
        assert queue["low_priority"] == "refuse"
        assert queue != link.document["link"][0]["forward"]["queue"]


def test_a_mechanism_that_replaces_one_of_the_link_says_so(tmp_path: Path) -> None:
    link = of_text(KINDS["bursts"], tmp_path)
    asked = workloads(link)[:1]
    found = mechanisms.chosen("red", link)
    plan = parts.planned(link, chosen(["cubic"], link), asked, (), found)
    assert "red replaces the aqm of server-client forward (codel)." in plan.notes
    plain = of_text(LOSSY, tmp_path)
    plan = parts.planned(plain, chosen(["cubic"], plain), asked, (), found)
    assert not plan.notes


def test_pages_over_other_applications_are_ranked_apart(bentpipe: Bentpipe, tmp_path: Path) -> None:
    """A recommendation between HTTP/1.1 and HTTP/3 would compare workloads, and not transports."""
    options = ("--link", "meo", "--rate", "2Mbit/s", "--replications", "3", "--out", "out")
    done = bentpipe("compare", *options, "--controllers", "newreno", "--transports", "quic")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads((tmp_path / "out/compare.json").read_text())
    rankings = {row["workload"]: row for row in found["workloads"]}
    assert {"page", "page-http3"} < set(rankings)
    over_tcp = "HTTP/2, a connection to each origin, TLS 1.3"
    over_quic = "HTTP/3, a connection to each origin, TLS 1.3 of QUIC"
    assert rankings["page"]["application"] == over_tcp
    assert rankings["page-http3"]["application"] == over_quic
    assert rankings["page-http3"]["baseline"] == "cubic over quic"
    for name, row in rankings.items():
        over = {"over quic" in place["controller"] for place in row["ranking"]}
        assert over == ({True} if name == "page-http3" else {False} if name == "page" else over)
    pages = [v for v in found["verdicts"] if v["workload"].startswith("page")]
    assert [v["question"] for v in pages] == [
        f"Best for web pages over {over_tcp}",
        f"Best for web pages over {over_quic}",
    ]
    for text in (done.stdout, (tmp_path / "out/compare.md").read_text()):
        text = " ".join(text.lower().split())
        assert f"web pages over {over_tcp}".lower() in text
        assert f"web pages over {over_quic}".lower() in text
    assert bentpipe("report", "out").returncode == 0
    assert over_quic in (tmp_path / "out/report.html").read_text()


def test_the_application_of_pages_is_that_of_the_transport() -> None:
    link = links.of_preset("geo-ka")
    over = {one.name: one.link for one in transports.chosen("quic,stp,scps-tp", link)}
    assert {name: (of_page(one, ""), of_web(one, "newreno")) for name, one in over.items()} == {
        "tcp": (PAGE_HTTP_2, HTTP_1_1),
        "quic": (PAGE_HTTP_3, HTTP_3),
        "stp": (PAGE_HTTP_2, HTTP_1_1),
        "scps-tp": (PAGE_HTTP_2, HTTP_1_1),
    }


def test_a_recommended_buffer_with_a_warning_says_so(bentpipe: Bentpipe) -> None:
    options = ("--link", "geo-ku", "--queue", "2,1bdp", "--set", "duration=10s")
    done = bentpipe("compare", *options, "--controllers", "cubic", "--replications", "3", "--json")
    found = json.loads(done.stdout)["buffers"]
    warned = {(c["controller"], c["queue"]) for c in found["combinations"] if c["warnings"]}
    assert warned, "a queue of two packets is one that explain warns about"
    best = found["recommended"]["controller"], found["recommended"]["queue"]
    assert ("`bentpipe explain` warns about it" in found["sentence"]) == (best in warned)


def test_a_warning_of_explain_about_the_link_is_in_the_header(tmp_path: Path) -> None:
    link = of_text(LOSSY.replace('"1500kB"', '"3kB"'), tmp_path)
    warnings = explained(WORKLOADS[0].scenario(link), "bulk")
    assert any("queue" in one for one in warnings), warnings


def test_options_of_a_link_name_themselves_in_errors() -> None:
    with pytest.raises(InputError, match="--host: expected `fixed` alone, which is for both"):
        links.of_hosts("fixed,linux-6.18")
    slow = links.of_preset("geo-ka", rate="100bit/s")
    assert slow.document["link"][1]["queue"] == {"bytes": "1500B"}


def test_a_link_over_which_nothing_arrives_recommends_nobody(bentpipe: Bentpipe) -> None:
    options = ("--set", "duration=0.5s", "--controllers", "cubic", "--replications", "3", "--json")
    done = bentpipe("compare", "--link", "geo-ku", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["answer"]
    assert found["choose"] == "None: nothing arrived in any run for one bulk flow and web pages."
