"""The scenario that `bentpipe experience` runs: its duration, and flows over beams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe.errors import InputError
from bentpipe.experience.plan import planned
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

VIDEO = {"video": {"length": "8s", "ladder": ["1Mbit/s"], "segment": "2s"}}
UDP = {"protocol": "udp"}


def link(a: str, b: str, **more: Any) -> dict[str, Any]:
    """A link of 10 Mbit/s and 20 ms."""
    return {"between": [a, b], "rate": "10Mbit/s", "delay": "20ms"} | more


def flow(name: str, traffic: dict[str, Any], to: str = "client", **more: Any) -> dict[str, Any]:
    """A flow from the server, over TCP if nothing else is given."""
    made = {"name": name, "from": "server", "to": to, "traffic": traffic} | more
    is_udp = made.get("transport") == UDP
    return made if is_udp else made | {"controller": "cubic"}


def scenario(
    duration: str, flows: list[dict[str, Any]], *links: dict[str, Any], **more: Any
) -> Any:
    """A scenario over these links, by default over one."""
    found = list(links) or [link("server", "client")]
    return bp.Scenario.build(duration=duration, link=found, flow=flows, **more)


def beam(*groups: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Keys of a scenario with a beam behind a link of 1 Gbit/s."""
    made = {
        "name": "spot",
        "gateway": "gateway",
        "forward": {"modem": {"name": "dvb-s2", "bandwidth": 36e6}},
        "return": {"carriers": 2},
        "group": list(groups),
    }
    return {
        "link": [link("server", "gateway", rate="1Gbit/s", delay="10ms", queue="unlimited")],
        "beam": [made | more],
    }


def group(name: str, terminals: int = 1, **more: Any) -> dict[str, Any]:
    """A group of terminals with requests of a rate."""
    made = {"name": name, "terminals": terminals, "es_n0": 13.0, "return_es_n0": 9.0}
    return made | {"requests": "rbdc"} | more


@pytest.mark.parametrize(
    ("more", "load_s"),
    [({}, 41), ({"plan": {"down": {"rate": "1Mbit/s"}}}, 96)],
)
def test_the_time_of_a_load_is_that_of_the_carrier_or_of_the_plan(
    more: dict[str, Any], load_s: int
) -> None:
    flows = [flow("file", {"download": "1MB"}, "home")]
    slow = bp.Scenario.build(duration="9s", flow=flows, **beam(group("home", **more)))
    assert f"video at {2 * load_s} s" in planned(slow).notes[0]


@pytest.mark.parametrize(
    ("one", "needed"),
    [
        (flow("a", VIDEO, start="3s"), 11),
        (flow("a", VIDEO, start="3s", stop="6s"), 6),
        (flow("a", {"speedtest": {}}), 28),
        (flow("a", {"call": {"duration": "20s"}}, transport=UDP), 20),
        (flow("a", {"call": {}}, transport=UDP), 0),
        (flow("a", {"messages": {"count": 101, "interval": "100ms"}}, transport=UDP), 10),
        (flow("a", {"page": {"site": "news", "pages": 3, "interval": "12s"}}), 24),
        (flow("a", {"web": {"pages": 2}}), 30),
        (flow("a", VIDEO, count=5, spread="10s"), 16),
        (flow("a", VIDEO, sessions={"pause": "5s", "length": "2min"}), 0),
    ],
)
def test_a_run_shorter_than_its_application_is_rejected(one: dict[str, Any], needed: int) -> None:
    assert planned(scenario(f"{needed or 1}s", [one])).applications
    if needed:
        with pytest.raises(InputError, match=f"duration: expected {needed}s or more.*found"):
            planned(scenario(f"{needed - 0.5}s", [one]))


def test_the_command_names_the_duration_that_is_needed(bentpipe: Bentpipe, tmp_path: Path) -> None:
    file = EXAMPLES / "geo-experience.toml"
    done = bentpipe("experience", file, "--set", "duration=100s", "--out", "out")
    assert done.returncode == 2
    assert done.stderr == (
        "bentpipe: duration: expected 148s or more, the end of its applications (video until"
        " 110 s, speedtest until 148 s), found 100s\n"
    )
    assert not (tmp_path / "out").exists()


def test_a_beam_keeps_its_silent_groups_and_classes_with_alone(tmp_path: Path) -> None:
    flows = [flow("da", {"bulk": "unlimited"}, "a"), flow("db", {"bulk": "unlimited"}, "b")]
    keys = beam(group("a"), group("b", 2, fca=True),
                **{"class": [{"name": "first", "flows": ["db"]}]})  # fmt: skip
    alone = planned(bp.Scenario.build(duration="100s", flow=flows, **keys), alone=True)
    assert [one.flow for one in alone.applications] == ["page", "video", "call", "speedtest"]
    starts = {one["name"]: one["start"] for one in alone.scenario.values()["flow"]}
    assert {float(starts[name][:-1]) > alone.scenario.duration_s for name in ("da", "db")} == {True}
    assert "own flows are left out (--alone)" in alone.notes[1]
    short = alone.scenario.with_({"duration": "10s"})
    sent = {row["flow"]: row["bytes"] for row in bp.run(short).flows.iter_rows(named=True)}
    assert sum(sent[name] for name in sent if name.startswith("d")) == 0
    assert sent["page"] > 0


def test_a_reason_is_given_once_for_all_applications() -> None:
    # Terminals in the background take downloads only.
    sessions = {"pause": "30min", "length": "2min"}
    flows = [flow("files", {"download": "2MB"}, "others", sessions=sessions)]
    behind = group("others", 9, background="unchecked")
    only = bp.Scenario.build(duration="9s", flow=flows, **beam(behind))
    with pytest.raises(InputError, match="found terminals in the background only"):
        planned(only)
    flows.append(flow("file", {"download": "2MB"}, "home"))
    with pytest.raises(InputError, match="the path takes no application") as caught:
        planned(bp.Scenario.build(duration="9s", flow=flows, **beam(behind, group("home"))))
    assert str(caught.value).count("Without") == 1
    assert "Without a page and a video and a call and a speedtest: " in str(caught.value)
