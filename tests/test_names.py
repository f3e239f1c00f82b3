"""Names of terminals, and the roles of columns, are those that the engine has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from bentpipe.beams.groups import entries
from bentpipe.compare.counters import aggregate
from bentpipe.names import flow_names, group_of
from bentpipe.report.shown import Shown
from bentpipe.study import Study
from bentpipe.study.quantities import Quantity, heading, parse, shown, unit_beside

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

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


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("flow.timeouts", "5 timeouts"),
        ("flow.d.timeouts", "5 timeouts of d"),
        ("flow.segments_retransmitted", "5 segments retransmitted"),
        ("flow.fast_recoveries", "5 fast recoveries"),
        ("link.dropped_packets", "5 packets queue drops"),
        ("middlebox.filtered", "5 filtered"),
        ("jain_index", "5 Jain's fairness index"),
        ("flow.goodput_bps", "5 Mbit/s goodput"),
        ("flow.s.completion_s", "5 s flow completion time of s"),
    ],
)
def test_a_unit_that_the_words_name_is_not_repeated(name: str, said: str) -> None:
    words = heading(name)
    unit = unit_beside(words, shown(name)[1])
    assert " ".join(filter(None, ("5", unit, words))) == said
    title = Shown(name, words, Quantity(name).unit).title
    assert title == (f"{words} ({unit})" if unit else title)
    assert title.count("timeouts") <= 1


def test_no_output_of_a_study_has_a_unit_twice(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    counts = ["flow.timeouts", "flow.segments_retransmitted"]
    head, rest = file.read_text().replace("count = 20", "count = 3").split("[[quantity]]", 1)
    quantities = "".join(f'[[quantity]]\nname = "{name}"\n' for name in counts)
    file.write_text(f"{head}{quantities}{rest[rest.index('[[comparison]]') :]}")
    printed = bentpipe("study", file, "--out", "out").stdout
    assert bentpipe("report", "out").returncode == 0
    page = (tmp_path / "out/report.html").read_text()
    results = Study.load(file).run()
    tables = (
        f"{results.table('latex')}{results.plot('delay', counts[0], 'controller').specification}"
    )
    for text in (printed, page, tables):
        assert not re.search(r"timeouts( [\d.]+)?( to [\d.]+)? \(?timeouts", text)
        assert not re.search(r"segments retransmitted( [\d.]+)?( to [\d.]+)? \(?segments", text)
