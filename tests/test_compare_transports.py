"""Comparing transports on a link: which candidates take part, and with what settings."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from bentpipe.compare import candidates, links, parts, transports
from bentpipe.compare import mechanisms as on_path
from bentpipe.compare.workloads import WORKLOADS, named
from bentpipe.errors import InputError
from bentpipe.report.compare import compare_page
from bentpipe.report.page import Text
from conftest import EXAMPLES
from test_compare import SMALL

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

PAGES = """
duration = "60s"
[[link]]
between = ["server", "client"]
rate = "2Mbit/s"
delay = "260ms"
[[flow]]
from = "server"
to = "client"
controller = "{}"
transport = {{ protocol = "{}" }}
traffic = {{ web = {{ pages = 1 }} }}
"""
TRANSPORTS = [entry.name for entry in bp.transports() if entry.carries == "stream"]


def test_controllers_and_transports_are_ranked_together(bentpipe: Bentpipe, tmp_path: Path) -> None:
    options = ("--set", "duration=30s", "--controllers", "cubic", "--out", "out", "--json")
    done = bentpipe("compare", *SMALL, *options, "--transports", "quic:ack_threshold=3,stp")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    rows = {row["name"]: row["transport"] for row in found["controllers"]}
    quic = "quic:ack_threshold=3"
    assert rows == {
        "newreno": "tcp",
        "cubic": "tcp",
        f"newreno over {quic}": quic,
        f"cubic over {quic}": quic,
        "newreno over stp": "stp",
    }
    (left_out,) = found["not_carried"]
    assert left_out["controllers"] == ["cubic over stp"]
    assert left_out["reason"] == "cubic needs an event for each ACK, which STP does not have"
    bulk = found["workloads"][0]
    assert bulk["studies"] == ["geo-ka-bulk", "geo-ka-bulk-quic-ack-threshold-3", "geo-ka-bulk-stp"]
    assert {row["controller"] for row in bulk["ranking"]} == set(rows)
    # Each place has the mean of its own study, and is compared with CUBIC over TCP.
    by_name = {row["controller"]: row for row in bulk["ranking"]}
    baseline = by_name["cubic"]["mean"]
    for folder, name in (("bulk-quic-ack-threshold-3", f"newreno over {quic}"),
                         ("bulk-stp", "newreno over stp")):  # fmt: skip
        summary = json.loads((tmp_path / "out" / folder / "summary.json").read_text())
        cells = [c["mean"] for c in summary["cells"] if c["quantity"] == bulk["quantity"]]
        assert by_name[name]["mean"] in cells
        against = by_name[name]["against_baseline"]["difference"]
        assert against == pytest.approx(by_name[name]["mean"] - baseline)
    written = tomllib.loads((tmp_path / "out/beside-newreno-stp/scenario.toml").read_text())
    protocols = [one["transport"].get("protocol", "tcp") for one in written["flow"]]
    assert protocols == ["stp", "tcp", "tcp"]
    # The run ends before the built-in event.
    assert "fade" not in {row["workload"] for row in found["workloads"]}
    assert {row["controller"]: row["aborted"] for row in bulk["ranking"]}["newreno"] == 0
    page = compare_page(tmp_path / "out")
    (places,) = (section for section in page.sections if section.name == "places")
    texts = [text for block in places.blocks if isinstance(block, Text) for text in block.lines]
    assert left_out["sentence"] in texts
    assert "combinations of controller and transport" in page.subtitle
    assert left_out["sentence"] in (tmp_path / "out/compare.md").read_text()


@pytest.mark.parametrize("name", TRANSPORTS)
def test_a_page_has_the_connections_that_are_usual_with_its_transport(name: str) -> None:
    link = links.of_preset("geo-ka")
    overs = {one.name: one for one in transports.chosen(",".join(TRANSPORTS), link)}
    (web,) = (workload for workload in WORKLOADS if workload.name == "web")
    taking_part = candidates.chosen(["newreno"], link)
    plan = parts.planned(link, taking_part, [web], list(overs.values()))
    controller = next(one.value for one in plan.candidates if one.transport == name)
    for one in on_path.chosen("codel", overs[name].link):
        page, background = web.scenario(one.on(overs[name].link), controller).explain().flows
        (protocol,) = (one for one in page.settings if one.name == "transport.protocol")
        assert protocol.value == name
        # One with streams shares a connection. The others have as many as a browser has.
        plain = bp.Scenario.parse(PAGES.format(controller, name))
        by_default = plain.explain().flows[0].figures.connections
        assert page.figures.connections == (1 if by_default == 1 else 6)
        assert (name, page.figures.connections) not in {("tcp", 1), ("quic", 6)}
        assert background.figures.connections == 1


@pytest.mark.parametrize("name", [name for name in TRANSPORTS if name != "tcp"])
def test_each_transport_takes_what_it_knows_of_the_settings_of_the_link(name: str) -> None:
    link = links.of_preset("leo")
    tcp, over = transports.chosen(name, link)
    assert tcp.link is link
    known = {
        one.name for entry in bp.transports() for one in entry.parameters if entry.name == name
    }
    kept = {key: value for key, value in link.transport.items() if key in known}
    assert over.link.candidate_transport == {"protocol": name, **kept}
    assert {*over.dropped} == link.transport.keys() - known
    # The other flows keep theirs.
    assert over.link.transport == link.transport


def test_a_scenario_with_another_transport_is_compared_with_tcp() -> None:
    scenario = bp.Scenario.load(EXAMPLES / "geo-download.toml").with_(
        {"flow.0.transport": {"protocol": "quic", "quic": {"initial_rtt": "700ms"}}}
    )
    tcp, quic = transports.chosen("quic:send_window=2MB", links.Link("mine", scenario))
    assert (tcp.link.protocol, quic.link.protocol) == ("tcp", "quic")
    assert tcp.dropped == ("quic",)
    assert quic.link.candidate_transport["quic"] == {"initial_rtt": "700ms", "send_window": "2MB"}
    (bulk,) = (workload for workload in WORKLOADS if workload.name == "bulk")
    flows = bulk.scenario(quic.link).explain().flows
    values = [{one.name: one.value for one in flow.settings} for flow in flows]
    assert values[0]["transport.quic.initial_rtt"] == 0.7
    assert values[0]["transport.quic.send_window"] == 2e6
    assert values[1]["transport.protocol"] == "tcp"


def test_a_proxy_that_does_not_split_a_transport_is_named_before_the_runs() -> None:
    link = links.of_preset("geo-ka")
    overs = transports.chosen("quic,scps-tp,stp", link)
    taking_part = candidates.chosen(["newreno"], link)
    plan = parts.planned(link, taking_part, WORKLOADS, overs, on_path.chosen("pepsal,snoop", link))
    unsplit = [note for note in plan.notes if "unsplit" in note]
    assert [note.partition(":")[0] for note in unsplit] == [
        "pepsal does nothing for flows over quic",
        "pepsal does nothing for flows over stp",
    ]
    reasons = {one.reason: one.controllers for one in plan.left_out}
    assert (
        "newreno over quic + snoop"
        in reasons['the middlebox of node "gateway" knows packets of TCP only']
    )
    (gateway,) = (one for reason, one in reasons.items() if "a leg has one protocol" in reason)
    assert "newreno over scps-tp + pepsal" in gateway
    # A window below the product of the link is a warning about QUIC's flow.
    (warning,) = (note for note in plan.notes if note.startswith("quic: "))
    assert "stream_receive_window" in warning
    names = [one.name for one in plan.candidates]
    assert "newreno over quic + pepsal" in names
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("quik", "there is no transport 'quik'; did you mean 'quic'?"),
        ("udp", "udp carries no stream of bytes, which the workloads need; expected one of tcp"),
        ("tcp", "expected a transport to compare with tcp"),
        ("quic:inital_rtt=1s", "has no parameter 'inital_rtt'; did you mean 'initial_rtt'?"),
        ("quic:initial_rtt=x", 'quic.initial_rtt: expected a time such as "250ms"'),
        ("stp:mss=-1", "stp:mss=-1: mss: expected a whole number from 64"),
        ("stp:recovery=linux", "stp has no parameter 'recovery'"),
    ],
)
def test_wrong_transports_are_answered(text: str, answer: str) -> None:
    with pytest.raises(InputError, match=re.escape(answer)):
        transports.chosen(text, links.of_preset("leo"))


def test_a_transport_that_carries_no_controller_runs_without_congestion_control() -> None:
    link = links.of_preset("leo")
    overs = transports.chosen("xtp:rate=2Mbit/s", link)
    (bbr,) = (one for one in candidates.chosen(["bbr"], link) if one.name == "bbr")
    plan = parts.planned(link, [bbr], WORKLOADS, overs)
    assert [one.name for one in plan.candidates] == ["bbr", "none over xtp:rate=2Mbit/s"]
    assert plan.candidates[1].status == "reconstructed"
    assert [one.controllers for one in plan.left_out] == [["bbr over xtp:rate=2Mbit/s"]]
    # It can be named, and TCP has nothing that bounds it.
    named = candidates.chosen(["none"], link)
    assert [one.name for one in named] == ["newreno", "cubic", "none"]
    overs = transports.chosen("scps-tp:rate=2Mbit/s", link)
    plan = parts.planned(link, named, WORKLOADS, overs)
    (left_out,) = plan.left_out
    assert left_out.controllers == ["none"]
    assert left_out.sentence.startswith("Left out: none (no congestion control). Reason: it is")


def test_a_transport_without_controllers_is_refused(tmp_path: Path) -> None:
    link = links.of_preset("leo")
    overs = transports.chosen("stp", link)
    (cubic, *_) = (one for one in candidates.chosen(["cubic"], link) if one.name == "cubic")
    with pytest.raises(InputError, match="found none: cubic over stp: cubic needs an event"):
        parts.planned(link, [cubic], WORKLOADS, overs)
    # The engine takes controllers in Python over TCP only.
    (tmp_path / "mine.py").write_text(MINE)
    (mine,) = [
        one for one in candidates.chosen([f"{tmp_path}/mine.py:Mine"], link) if one.in_python
    ]
    plan = parts.planned(link, [cubic, mine], WORKLOADS, transports.chosen("quic,scps-tp", link))
    (left_out,) = plan.left_out
    assert left_out.controllers == [f"{mine.name} over quic"]
    assert left_out.reason == "no controllers in Python over quic"


TUNNEL = """
name = "vpn"
duration = "20s"
[[link]]
between = ["server", "client"]
rate = "4Mbit/s"
delay = "250ms"
queue = { bytes = "250kB" }
[[flow]]
from = "server"
to = "client"
controller = "cubic"
tunnel = "wireguard"
traffic = { bulk = "unlimited" }
"""
"""SCTP has larger packets than the tunnel takes."""
TOO_LARGE = (
    "flow[0].tunnel: expected a tunnel for packets of 1500 bytes, found an MTU of 1420: the flow"
    ' has them with "sctp"'
)


def test_a_transport_that_no_path_takes_is_refused_with_the_whole_reason() -> None:
    link = links.Link("vpn", bp.Scenario.parse(TUNNEL))
    cubic = candidates.chosen(["cubic"], link)
    overs = transports.chosen("sctp", link)
    with pytest.raises(InputError) as error:
        parts.planned(link, cubic, [named("bulk")], overs)
    assert str(error.value).endswith(f"none over sctp: {TOO_LARGE}")
    # A transport that carries them stays.
    overs = transports.chosen("quic,sctp", link)
    plan = parts.planned(link, cubic, [named("bulk")], overs)
    assert "sctp is left out: no controller runs over it here." in plan.notes
    assert {one.transport for one in plan.candidates} == {"tcp", "quic"}
    assert (
        f"Left out: none (no congestion control) over sctp. Reason: {TOO_LARGE}." in plan.sentences
    )
    assert not any(one.startswith("sctp does not take") for one in plan.notes)


def test_only_reasons_of_the_missing_transports_are_in_the_error() -> None:
    link = links.Link("vpn", bp.Scenario.parse(TUNNEL))
    overs = transports.chosen("sctp,stp", link)
    cubic = [one for one in candidates.chosen(["cubic"], link) if one.name == "cubic"]
    with pytest.raises(InputError, match=r"run over sctp or stp on this link, found none") as error:
        parts.planned(link, cubic, [named("bulk")], overs)
    assert TOO_LARGE in str(error.value)
    assert "cubic over stp" in str(error.value)


MINE = """
from bentpipe import Controller

class Mine(Controller):
    def on_ack(self, ack):
        pass
"""
