"""The time-sequence graph of the live page: packets of one run, and any range of them."""

from __future__ import annotations

import json
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe.counts import packets
from bentpipe.lab.packets import MOST_KEPT, Packets, Range, node_of
from bentpipe.lab.server import Server
from bentpipe.lab.state import State, initial
from conftest import EXAMPLES, SMALL
from lab_client import PRESET, Client

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    server = Server(initial(None, (), None, None))
    yield Client(server)
    server.close()


def asked(client: Client, state: Any, **range_: Any) -> tuple[int, dict[str, Any]]:
    content = {"page": "packets", "state": state, "controller": "cubic"} | range_
    answer = client.ask("POST", "packets", content)
    return answer.status, json.loads(answer.content)


LOSSY = PRESET | {"values": {"duration": "10s", "loss": "0.01"}}


def graph(client: Client, state: Any, **range_: Any) -> dict[str, Any]:
    status, found = asked(client, state, **range_)
    assert status == 200, found
    return found


def test_short_ranges_have_every_segment_of_the_run(client: Client) -> None:
    whole = graph(client, LOSSY)
    runs = client.server.packets.runs
    begin, end = whole["whole"]
    sent, again = set(), set()
    for number in range(20):
        ends = (begin + (end - begin) * step / 20 for step in (number, number + 1))
        found = graph(client, LOSSY, **dict(zip(("from_s", "to_s"), ends, strict=True)))
        assert not found["reduced"]
        sent |= {tuple(one) for one in found["sent"]}
        again |= {tuple(one) for one in found["again"]}
    # Ranges are read from the capture: nothing runs again.
    assert client.server.packets.runs == runs
    state = State.of_json(LOSSY, Path("x.toml"))
    counted = packets(bp.run(state.of_controller("cubic")).recording.flows[0])
    assert counted is not None
    assert len(again) == counted.segments_retransmitted > 0
    assert len(sent) == counted.segments_sent - counted.segments_retransmitted
    # New data is sent once, in order and without gaps.
    bytes_of = [(low, high) for _, low, high in sorted(sent)]
    assert all(high == low for (_, high), (low, _) in pairwise(bytes_of))


def test_times_are_those_of_the_run(client: Client) -> None:
    late = SMALL.replace('controller = "newreno"', 'controller = "newreno"\nstart = "7s"')
    found = graph(client, {"toml": late, "controllers": ["cubic"]})
    assert 7 <= found["from_s"] < 7.5
    assert found["sent"][0][0] >= found["from_s"]
    part = graph(client, {"toml": late, "controllers": ["cubic"]}, from_s=7.0, to_s=8.0)
    assert (part["from_s"], part["to_s"]) == (7.0, 8.0)
    assert all(7 <= one[0] <= 8 for one in part["sent"])


def test_the_first_graph_is_that_of_the_first_flow_over_the_bottleneck() -> None:
    found_by = Packets()
    try:
        for file, text in (
            ("fairness-six-rtts.toml", "server-25 to client"),
            ("split-proxy.toml", "gateway to terminal"),
            ("lossy-geo.toml", "server to client"),
        ):
            scenario = bp.Scenario.load(EXAMPLES / file).with_(duration="10s")
            found = found_by.graph(scenario, Range(), lambda _: None)
            shown = {one["number"]: one["text"] for one in found["connections"]}
            assert text in shown[found["connection"]], file
            if len(shown) > 1:
                other = max(set(shown) - {found["connection"]})
                chosen = found_by.graph(scenario, Range(connection=other), lambda _: None)
                assert chosen["sent"] != found["sent"]
    finally:
        found_by.close()


def test_addresses_are_those_of_nodes() -> None:
    names = ["server", "gateway", "client"]
    assert node_of("10.0.0.3:5001", names) == "client"
    assert node_of("[fd00::2]:5001", names) == "gateway"
    assert node_of("10.0.1.0:5001", names) == "10.0.1.0"


@pytest.mark.parametrize(
    ("state", "range_", "expected"),
    [
        (PRESET, {"from_s": 3, "to_s": 2}, "range: expected a start before the end"),
        (PRESET, {"from_s": "3"}, "range: expected a number of seconds, found '3'"),
        (PRESET, {"connection": 9}, "connection: expected a number of the list, found 9"),
        (PRESET, {"connection": True}, "connection: expected a number"),
        (PRESET, {"controller": "cubik"}, "did you mean 'cubic'?"),
        (PRESET | {"values": {"rate": "200Mbit/s", "duration": "600s"}}, {}, "at most 300,000"),
    ],
)
def test_what_has_no_graph_says_why(
    client: Client, state: Any, range_: dict[str, Any], expected: str
) -> None:
    status, found = asked(client, state, **range_)
    assert status == 422
    assert expected in found["problems"][0]["message"]


def test_a_flow_without_tcp_has_no_graph(client: Client) -> None:
    state = {"toml": (EXAMPLES / "sctp-two-paths.toml").read_text(), "controllers": ["none"]}
    status, found = asked(client, state | {"values": {"duration": "5s"}}, controller="none")
    assert status == 422
    assert "needs a flow over TCP" in found["problems"][0]["message"]


def test_captures_are_few_and_go_with_the_server() -> None:
    server = Server(initial(None, (), None, None))
    client = Client(server)
    folder = Path(server.packets.folder.name)
    assert folder.parent == Path(tempfile.gettempdir())
    for seed in range(MOST_KEPT + 2):
        graph(client, PRESET | {"seed": seed})
    assert len(list(folder.rglob("*.pcapng"))) == MOST_KEPT
    server.close()
    assert not folder.exists()
