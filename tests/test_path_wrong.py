"""Mechanisms on the path that cannot be: refused with file and line, or explained in a warning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import bentpipe as bp

if TYPE_CHECKING:
    from pathlib import Path

ONE_ROUTE = """\
duration = "20s"
[[node]]
name = "hub"
{node}
[[link]]
between = ["server", "hub"]
rate = "10Mbit/s"
delay = "10ms"
{link}
[[link]]
between = ["hub", "client"]
rate = "2Mbit/s"
delay = "10ms"
[[flow]]
from = "server"
to = "client"
controller = "newreno"
traffic = {{ download = "300kB" }}
"""
LINK_LINE = 9
SPUR = """\
[[node]]
name = "spur"
middlebox = "{middlebox}"
[[link]]
between = ["hub", "spur"]
rate = "1Mbit/s"
delay = "1ms"
"""
BYPASS = """\
[[link]]
between = ["server", "bypass"]
rate = "10Mbit/s"
delay = "10ms"
[[link]]
between = ["bypass", "client"]
rate = "2Mbit/s"
delay = "10ms"
"""


def refusal(text: str, folder: Path) -> tuple[int | None, str, str]:
    """Line, path and expectation of the only error of a file."""
    file = folder / "wrong.toml"
    file.write_text(text)
    with pytest.raises(bp.ScenarioError) as caught:
        bp.Scenario.load(file)
    (error,) = caught.value.errors
    assert error.file is not None
    assert error.file.endswith("wrong.toml")
    return error.line, error.path, str(error.expected)


@pytest.mark.parametrize(
    ("setting", "path", "expected"),
    [
        ('fec = { name = "reed-solomon", data = 0, parity = 2 }', "data", "from 1 to 254"),
        ('fec = { name = "reed-solomon", data = 10, parity = 0 }', "parity", "from 1 to 254"),
        ('fec = { name = "reed-solomon", data = 1.5, parity = 2 }', "data", "whole number"),
        ('fec = { name = "reed-solomon", data = 254, parity = 2 }', "parity", "at most 1"),
        ('arq = { name = "go-back-n", window = 128, sequence_bits = 7 }', "window", "at most 127"),
        ('arq = { name = "selective-repeat", window = 65, sequence_bits = 7 }', "window", "64"),
        ('arq = { name = "selective-repeat", sequence_bits = 32 }', "sequence_bits", "1 to 31"),
        ('arq = { name = "go-back-n", window = 0 }', "window", "at least 1"),
        ('channel = { es_n0 = 12, modem = "dvb-s3" }', "modem", '"dvb-s2x"'),
        ('feedback = "xpc"', "feedback", '"xcp"'),
    ],
)
def test_impossible_codes_and_windows_are_refused(
    tmp_path: Path, setting: str, path: str, expected: str
) -> None:
    found = refusal(ONE_ROUTE.format(node="", link=setting), tmp_path)
    assert found[0] == LINK_LINE
    assert found[1].endswith(path)
    assert expected in found[2]


@pytest.mark.parametrize("count", [127, 1])
def test_the_largest_window_that_the_sequence_space_can_number_runs(
    tmp_path: Path, count: int
) -> None:
    arq = f'arq = {{ name = "go-back-n", window = {count}, sequence_bits = 7 }}'
    file = tmp_path / "right.toml"
    file.write_text(ONE_ROUTE.format(node="", link=arq))
    assert bp.run(bp.Scenario.load(file)).flows["completed"].all()


MIDDLEBOXES = sorted(entry.name for entry in bp.mechanisms() if entry.key == "node.middlebox")


@pytest.mark.parametrize("middlebox", MIDDLEBOXES)
def test_a_middlebox_that_no_packet_passes_is_refused(tmp_path: Path, middlebox: str) -> None:
    text = ONE_ROUTE.format(node="", link="") + SPUR.format(middlebox=middlebox)
    line, path, expected = refusal(text, tmp_path)
    assert line == text.splitlines().index(f'middlebox = "{middlebox}"') + 1
    assert path == "node[1].middlebox"
    assert "packets of a flow" in expected


def test_a_spoofing_proxy_on_one_of_two_parallel_routes_is_refused(tmp_path: Path) -> None:
    text = ONE_ROUTE.format(node='middlebox = "spoofing-proxy"', link="")
    # Both routes have the same delay, so packets may take either.
    line, path, expected = refusal(text + BYPASS, tmp_path)
    assert (line, path) == (4, "node[0].middlebox")
    assert "a node on every route of the flows" in expected
    # On the only route it is accepted, as is a middlebox that promises nothing.
    file = tmp_path / "right.toml"
    file.write_text(text)
    assert bp.run(bp.Scenario.load(file)).flows["completed"].all()
    file.write_text(text.replace("spoofing-proxy", "snoop") + BYPASS)
    assert bp.run(bp.Scenario.load(file)).flows["completed"].all()


@pytest.mark.parametrize(
    ("controller", "feedback", "silent_line"),
    [
        ("xcp", "xcp", LINK_LINE + 2),
        ("xcp", "ebn", LINK_LINE),
        ("p-xcp", "p-xcp", LINK_LINE + 2),
        ("ebn", "ebn", LINK_LINE + 2),
        ("ebn", "xcp", LINK_LINE),
    ],
)
def test_routers_that_do_not_answer_are_named_with_their_line(
    tmp_path: Path, controller: str, feedback: str, silent_line: int
) -> None:
    text = ONE_ROUTE.format(node="", link=f'feedback = "{feedback}"')
    file = tmp_path / "silent.toml"
    file.write_text(text.replace("newreno", controller))
    scenario = bp.Scenario.load(file)
    warnings = scenario.explain().warnings
    (found,) = [one for one in warnings if "has no feedback for" in one.message]
    assert found.line == silent_line
    assert str(found).startswith(f"{file}:{silent_line}:{found.column}: flow-0: link ")
    assert found.sentence.startswith("flow-0: link ")
    assert "falls back to standard TCP" in found.message
    # The run still means something.
    assert bp.run(scenario).flows["completed"].all()
