"""A comparison over several paths: it describes and changes all of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from bentpipe.compare import fade, links, mechanisms, parts, tables, traffic
from bentpipe.compare.candidates import chosen
from bentpipe.compare.comparison import the_link
from bentpipe.compare.workloads import named, workloads
from bentpipe.errors import InputError
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe._native import Mechanism
    from conftest import Bentpipe

SWITCH = EXAMPLES / "geo-and-leo.toml"
GEO = 'switch.0.event=[{at="1s",via="geo"}]'


def of_switch(*sets: str, queue: str | None = None, phase: str | None = None) -> links.Link:
    """The link of the example with a switch."""
    return the_link(None, SWITCH, None, None, None, queue, None, sets, phase)


def test_the_line_on_has_all_paths_of_a_switch(bentpipe: Bentpipe, tmp_path: Path) -> None:
    done = bentpipe("compare", "--scenario", SWITCH, "--set", GEO, "--set", "duration=10s",
                    "--controllers", "cubic", "--workload", "bulk", "--replications", "1",
                    "--out", tmp_path / "c")  # fmt: skip
    paths = (
        "2 paths: at the start over leo 20 Mbit/s, RTT 62 ms, bandwidth-delay product 155 kB; over"
        " geo 5 Mbit/s, RTT 512 ms, bandwidth-delay product 320 kB; loss recovery"
    )
    assert paths in " ".join(done.stdout.split())
    found = json.loads((tmp_path / "c" / "compare.json").read_text())
    assert paths in found["link"]["described"]
    assert paths in found["answer"]["on"]
    assert [(one["name"], one["rate_bps"]) for one in found["link"]["paths"]] == [
        ("leo", 20_000_000),
        ("geo", 5_000_000),
    ]
    assert paths in (tmp_path / "c" / "compare.md").read_text()
    bentpipe("report", tmp_path / "c", "--out", tmp_path / "page.html")
    assert "over geo 5 Mbit/s, RTT 512 ms" in (tmp_path / "page.html").read_text()
    moves = "The switch between ship and hub has paths over leo and geo. Packets move at known"
    assert any(line.startswith(moves) for line in found["link"]["about"])


def test_figures_of_a_path_are_those_of_a_scenario_with_this_path_only() -> None:
    # The same link: events of it change both in the same way.
    event = 'link.3.event=[{at="40s",rate="2Mbit/s"},{at="50s",delay="200ms"}]'
    both = of_switch(event, phase="fixed")
    text = SWITCH.read_text()
    start, end = text.index("[[switch]]"), text.index("[[link]]")
    leo = (
        text.index('[[link]]\nbetween = ["hub", "leo"]'),
        text.index('[[link]]\nbetween = ["hub", "g'),
    )
    only = text[:start] + text[end : leo[0]] + text[leo[1] :]
    scenario = bp.Scenario.parse(only).with_({"link.1.event": [
        {"at": "40s", "rate": "2Mbit/s"}, {"at": "50s", "delay": "200ms"}]})  # fmt: skip
    geo = links.Link("geo", scenario)
    assert len(geo.ways) == 1
    assert f"; over geo {tables.of_path(geo)}; " in tables.described(both)
    assert "2 to 5 Mbit/s in the run" in tables.of_path(geo)


def test_a_queue_is_set_at_the_bottleneck_of_every_path() -> None:
    link = of_switch(queue="2bdp")
    queues = [entry.get("forward", {}).get("queue") for entry in link.document["link"]]
    assert queues == [None, {"bytes": "310000B"}, None, {"bytes": "640000B"}, None, None]
    assert "hub -> leo (310 kB, 2 times the bandwidth-delay product), hub -> geo (640 kB, 2" in (
        link.queues
    )
    assert link.queues in tables.about_link(link, [named("bulk")])
    assert of_switch(queue="50").queues.count("50 packets") == 2


def test_a_bottleneck_of_several_paths_has_the_longest_of_their_queues() -> None:
    link = of_switch("link.0.rate=2Mbit/s", queue="1bdp")
    assert [one.link for one in link.bottlenecks] == [0]
    assert link.document["link"][0]["forward"]["queue"] == {"bytes": "128000B"}
    # One queue on all paths: several lengths can be compared.
    assert [one.setting for one in link.buffers("1bdp,2bdp")] == [
        "{ bytes = '128000B' }",
        "{ bytes = '256000B' }",
    ]


def test_several_lengths_need_one_bottleneck() -> None:
    with pytest.raises(InputError, match="found the bottlenecks hub -> leo, hub -> geo"):
        of_switch().buffers("1bdp,2bdp")


def test_the_background_has_a_tenth_of_the_slowest_path() -> None:
    flow = traffic.background(of_switch(), None)
    assert flow["traffic"]["on_off"]["rate"] == "500000bit/s"


def test_seeds_meet_the_moves_of_a_switch_at_other_times(bentpipe: Bentpipe) -> None:
    link = of_switch()
    runs = link.scenario
    assert runs.longest_event_delay_s == 9.0
    assert len({runs.event_delay_s(seed) for seed in range(5)}) == 5
    line = "Events of switches: up to 9 s later than written, depending on the seed"
    assert any(one.startswith(line) for one in tables.about_link(link, [named("bulk")]))
    done = bentpipe("compare", "--scenario", SWITCH, "--controllers", "cubic", "--workload", "bulk",
                    "--replications", "1", "--json")  # fmt: skip
    found = json.loads(done.stdout)["link"]
    assert found["events"] == {
        "phase": "random",
        "longest_event_delay_s": 9.0,
        "of": "switches",
    }
    assert any(one.startswith(line) for one in found["about"])


def test_a_fixed_phase_keeps_the_moves_of_a_switch_and_says_so() -> None:
    link = of_switch(phase="fixed")
    assert link.scenario.longest_event_delay_s == 0
    line = "Events of switches: at the same time in all seeds."
    assert line in tables.about_link(link, [named("bulk")])
    own = of_switch("phase=fixed")
    assert line in tables.about_link(own, [named("bulk")])


def test_events_of_links_and_switches_are_named_together() -> None:
    link = of_switch('link.1.event=[{at="20s",outage="1s"}]', phase="fixed")
    line = "Events of links and switches: at the same time in all seeds."
    assert line in tables.about_link(link, [named("bulk")])


def test_moves_next_to_an_orbit_stay_as_written(tmp_path: Path) -> None:
    # Its times may be those of the orbit, which all seeds enter at its start.
    (tmp_path / "leo.toml").write_text(ORBIT)
    text = SWITCH.read_text().replace('delay = "1ms"', 'orbit = "leo.toml"')
    (tmp_path / "own.toml").write_text(text)
    link = the_link(None, tmp_path / "own.toml", None, None, None, None, None, (), None)
    said = tables.about_link(link, [named("bulk")])
    assert "Events of switches: at the same time in all seeds." in said
    assert any("a switch of the scenario moves at times of its own" in one for one in said)


def test_the_reason_without_a_fade_is_true_of_all_paths() -> None:
    reason = fade.obstacle(of_switch())
    assert reason
    assert "no link on the route at the start has a delay of 40 ms or more" in reason
    assert "hub-geo forward (130 ms) on the path over geo, to which it is not added" in reason
    with pytest.raises(InputError, match="no link on the route at the start has"):
        workloads(of_switch(), ["fade"])
    # Without a longer link elsewhere, none is named.
    low = fade.obstacle(of_switch("link.3.delay=30ms", "link.4.delay=30ms"))
    assert low
    assert "There is" not in low


MEO = "link.1.delay=45ms"
"""The path at the start has a satellite for which the event is made."""


@pytest.mark.parametrize(("at", "phase"), [("45s", "fixed"), ("36s", "random")])
def test_no_fade_is_added_to_a_path_that_packets_have_left(at: str, phase: str) -> None:
    link = of_switch(MEO, f'switch.0.event=[{{at="{at}",via="geo"}}]', phase=phase)
    assert fade.obstacle(link) == (
        "by 45 s the switch has moved all packets from hub-leo forward to another path, before the"
        " built-in event, which lets no packet pass between 45 and 80 s"
    )


@pytest.mark.parametrize(
    "rule",
    [
        'switch.0.event=[{at="46s",via="geo"}]',
        'switch.0.event=[{at="30s",via="geo"},{at="60s",via="leo"}]',
        "switch.0={between=['ship','hub'],via=['leo','geo'],bfd={}}",
    ],
)
def test_a_fade_on_one_path_says_that_others_have_none(rule: str) -> None:
    name, _, value = rule.partition("=")
    link = of_switch(MEO, f"{name}={value}", phase=None if "bfd" in value else "fixed")
    found = fade.planned(link)
    assert found.applied
    assert found.sentence.endswith(" It does not affect packets on another path of the switch.")
    # A link that all paths share.
    shared = fade.planned(of_switch("link.0.delay=300ms"))
    assert shared.applied
    assert "another path" not in shared.sentence


@pytest.mark.parametrize(
    ("mechanism", "place"),
    [
        ("codel", "on hub -> leo and hub -> geo"),
        ("rohc", "on ship -> leo and ship -> geo"),
        ("ack-filter", "at ship"),
        ("ack-reconstruction", "at leo and geo"),
        ("snoop", "at hub"),
        ("pepsal", "at hub"),
        ("satpep", "at hub and ship"),
    ],
)
def test_a_mechanism_stands_at_every_path_of_a_switch(mechanism: str, place: str) -> None:
    link = of_switch()
    _, found = mechanisms.chosen(mechanism, link)
    assert found.place == place
    document = found.on(link).document
    if mechanism == "codel":
        assert [one.get("forward", {}).get("aqm") for one in document["link"]] == [
            None, "codel", None, "codel", None, None,
        ]  # fmt: skip
    if found.is_proxy:
        sides = {one["name"]: one["proxy"]["satellite"]["towards"] for one in document["node"]}
        assert list(sides.values()) == [["leo", "geo"]] * len(sides)


ACKS = """
name = "acks"
duration = "20s"
[[link]]
between = ["server", "r1"]
rate = "20Mbit/s"
delay = "5ms"
[[link]]
between = ["r1", "r2"]
delay = "250ms"
forward = { rate = "6Mbit/s", queue = { bytes = "375kB" } }
backward = { rate = "64kbit/s", queue = { bytes = "40kB" } }
[[link]]
between = ["r2", "client"]
rate = "4Mbit/s"
delay = "5ms"
queue = { bytes = "250kB" }
[[flow]]
from = "server"
to = "client"
controller = "cubic"
traffic = { bulk = "unlimited" }
"""
"""The slowest link of the ACKs is another one than that of the data."""


@pytest.fixture
def acks(tmp_path: Path) -> Path:
    """A file with `ACKS`."""
    (tmp_path / "acks.toml").write_text(ACKS)
    return tmp_path / "acks.toml"


SETTINGS = {
    "trace": "trace:file=lossy.csv,loop=true",
    "shaper": "shaper:rate=3Mbit/s,burst=32kB",
    "policer": "policer:rate=3Mbit/s,burst=32kB",
    "mtu": "mtu:bytes=1400",
}
"""Mechanisms without defaults."""
MODEM = "link.channel.modem"
"""It needs a channel with a signal, which gives the link another rate."""


@pytest.mark.parametrize(
    "mechanism",
    [one for one in bp.mechanisms() if one.key.startswith(("link.", "node.")) and one.key != MODEM],
    ids=lambda one: one.name,
)
def test_a_mechanism_stands_at_the_slowest_link_of_its_packets(
    mechanism: Mechanism, acks: Path
) -> None:
    (acks.parent / "lossy.csv").write_text("t_s,loss_percent\n0,1\n60,2\n")
    link = links.of_scenario(acks, ())
    if mechanism.name in mechanisms.AT_BOTH_ENDS:
        with pytest.raises(InputError, match="'client' is a host"):
            mechanisms.chosen(mechanism.name, link)
        return
    named = SETTINGS.get(mechanism.name, mechanism.name).replace("lossy", f"{acks.parent}/lossy")
    _, found = mechanisms.chosen(named, link)
    of_acks = mechanism.kind == "header compression" or mechanism.name.startswith("ack-")
    of_acks = of_acks or mechanism.key == "link.demand"
    if mechanism.key.startswith("link."):
        assert found.place == ("on r2 -> r1" if of_acks else "on r2 -> client")
        (path,) = found.changes
        assert path.startswith("link.1.backward." if of_acks else "link.2.forward.")
        return
    node = "r1" if mechanism.name == "ack-reconstruction" else "r2"
    assert found.place == f"at {node}"
    assert [one["name"] for one in found.changes["node"]] == [node]


def test_mechanisms_for_acks_help_and_the_header_has_their_place(
    bentpipe: Bentpipe, acks: Path, tmp_path: Path
) -> None:
    done = bentpipe("compare", "--scenario", acks, "--on-path", "ack-filter,rohc", "--controllers",
                    "cubic", "--workload", "bulk", "--replications", "1", "--out",
                    tmp_path / "c")  # fmt: skip
    places = "echanisms of --on-path: ack-filter at r2, rohc on r2 -> r1"
    assert places in " ".join(done.stdout.split())
    found = json.loads((tmp_path / "c/compare.json").read_text())
    assert found["on_path"] == [
        {"name": "ack-filter", "place": "at r2"},
        {"name": "rohc", "place": "on r2 -> r1"},
    ]
    assert places in (tmp_path / "c/compare.md").read_text()
    bentpipe("report", tmp_path / "c", "--out", tmp_path / "page.html")
    assert "ack-filter at r2, rohc on r2 -&gt; r1" in (tmp_path / "page.html").read_text()
    means = {one["controller"]: one["mean"] for one in found["workloads"][0]["ranking"]}
    assert means["cubic + ack-filter"] > 1.05 * means["cubic"]
    assert means["cubic + rohc"] > 1.05 * means["cubic"]


def test_a_proxy_is_said_to_keep_a_controller_only_where_it_has_one(acks: Path) -> None:
    link = links.of_scenario(acks, ())
    found = mechanisms.chosen("pepsal", link)
    plan = parts.planned(link, chosen(["cubic"], link), [named("bulk")], mechanisms=found)
    assert not any("no congestion control" in one for one in plan.notes)


ORBIT = """
constellation = "starlink-550"
epoch = "2026-11-27T12:00:00Z"
duration = "3min"
from = "Paris"
to = "Frankfurt"
[[place]]
name = "Frankfurt"
latitude_deg = 50.11
longitude_deg = 8.68
"""
