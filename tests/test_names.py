"""Names of terminals, and the roles of columns, are those that the engine has."""

from __future__ import annotations

import pytest

import bentpipe as bp
from bentpipe.beams.groups import entries
from bentpipe.compare.counters import aggregate
from bentpipe.names import flow_names, group_of
from bentpipe.study.quantities import Quantity, parse

BEAM = """
duration = "1s"
[[link]]
between = ["home-server", "gateway"]
rate = "1Gbit/s"
delay = "1ms"
[[beam]]
name = "spot"
gateway = "gateway"
[[beam.group]]
name = "home"
terminals = 2
es_n0 = 13.0
return_es_n0 = 9.0
[[beam.group]]
name = "office"
terminals = 2
es_n0 = 13.0
return_es_n0 = 9.0
[[flow]]
name = "up"
from = "office-1"
to = "home-server"
controller = "cubic"
traffic = { download = "1kB" }
[[flow]]
from = "home-server"
to = "home"
controller = "cubic"
traffic = { download = "1kB" }
"""


def test_a_server_with_the_name_of_a_group_is_no_terminal_of_it() -> None:
    scenario = bp.Scenario.parse(BEAM)
    found = entries(scenario)
    assert {name: one.group for name, one in found.items()} == {"up": "office", "flow-1": "home"}
    assert flow_names(scenario.values()["flow"]) == ["up", "flow-1"]
    names = ("home", "home-7", "home-server", "home-", "other-1")
    assert [group_of(name, ["home", "office"]) for name in names] == [
        "home",
        "home",
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("column", "expected", "unit"),
    [
        ("legs.segments_sent", "sum", "segments"),
        ("legs.limited_by_recovery", "mean", "1"),
        ("legs.cwnd_bytes", "mean", "B"),
        ("beams.airtime", "mean", "1"),
        ("beam_groups.jain", "mean", "1"),
        ("ack_control.ratio", "mean", "1"),
        ("flow.black_holes", "sum", "count"),
        ("tunnel_end.max_queue_bytes", "max", "B"),
        ("middlebox.filtered", "sum", "count"),
    ],
)
def test_only_counts_are_added(column: str, expected: str, unit: str) -> None:
    assert aggregate(parse(column)) == expected
    assert Quantity(column).unit == unit
    is_count = expected == "sum"
    assert Quantity(f"sum({column})").is_count == is_count
