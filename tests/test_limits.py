"""What held a flow back, where totals are printed: terminal, page, studies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import bentpipe as package
from bentpipe.limits import LIMITS, held_back_by, shares, shares_of
from bentpipe.report.limits import limit_blocks, limit_sentence
from bentpipe.report.page import Table
from bentpipe.study.quantities import heading, shown

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

GEO = """
duration = "60s"
[[link]]
between = ["server", "client"]
rate = "20Mbit/s"
delay = "250ms"
queue = { packets = 5000 }
[[flow]]
name = "download"
from = "server"
to = "client"
controller = "CONTROLLER"
transport = { TRANSPORT }
traffic = { TRAFFIC }
"""


def geo(folder: Path, transport: str, controller: str = "cubic", traffic: str = "") -> Path:
    """A file with a download over GEO."""
    file = folder / "geo.toml"
    text = GEO.replace("TRANSPORT", transport).replace("CONTROLLER", controller)
    file.write_text(text.replace("TRAFFIC", traffic or 'download = "5MB"'))
    return file


def test_the_terminal_names_the_largest_limit_first(bentpipe: Bentpipe, tmp_path: Path) -> None:
    for transport, limit in (
        ('receive_buffer = "65535B"', "receive window 9"),
        ('send_buffer = "30kB"', "send buffer 9"),
    ):
        done = bentpipe("run", geo(tmp_path, transport))
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        start = next(number for number, line in enumerate(lines) if "held back by" in line)
        assert limit in lines[start + 2].partition("download")[2].split(",")[0], done.stdout


def split(folder: Path) -> Path:
    """A flow that a gateway splits."""
    file = folder / "split.toml"
    node = '[[node]]\nname = "gateway"\nproxy = {}\n'
    first = '[[link]]\nbetween = ["server", "gateway"]\nrate = "100Mbit/s"\ndelay = "5ms"\n'
    text = GEO.replace('["server", "client"]', '["gateway", "client"]').replace("TRANSPORT", "")
    text = text.replace("CONTROLLER", "cubic").replace("TRAFFIC", 'bulk = "20MB"')
    file.write_text(text.replace("[[link]]", node + first + "[[link]]", 1))
    return file


def test_a_quic_flow_names_its_limits(bentpipe: Bentpipe, tmp_path: Path) -> None:
    file = geo(tmp_path, 'protocol = "quic", quic = { stream_receive_window = "60kB" }')
    done = bentpipe("run", file)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    start = next(n for n, line in enumerate(lines) if "held back by" in line)
    assert "receive window" in lines[start + 2].partition("download")[2].split(",")[0], done.stdout
    (flow,) = json.loads(bentpipe("run", file, "--json").stdout)["flows"]
    assert flow["limited_by_receive_window"] > 0.8


def test_a_split_flow_has_its_limits_in_its_legs(bentpipe: Bentpipe, tmp_path: Path) -> None:
    file = split(tmp_path)
    (flow,) = json.loads(bentpipe("run", file, "--json").stdout)["flows"]
    assert not [name for name in flow if name.startswith("limited")]


def test_legs_name_their_limits(bentpipe: Bentpipe, tmp_path: Path) -> None:
    file = split(tmp_path)
    done = bentpipe("run", file)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line for line in done.stdout.splitlines() if "->" in line]
    assert len(rows) == 2, done.stdout
    assert "receive window" in rows[0], done.stdout
    assert "congestion window" in rows[1], done.stdout


def test_the_page_has_all_shares_and_a_sentence(tmp_path: Path) -> None:
    run = package.run(package.Scenario.load(geo(tmp_path, 'receive_buffer = "65535B"')))
    (flow,) = run.recording.flows
    assert abs(sum(shares_of(flow).values()) - 1) < 1e-9
    _, table = limit_blocks([flow], on_kernel=False)
    assert isinstance(table, Table)
    labels = [getattr(column, "label", None) for column in table.columns[2:]]
    assert labels == list(LIMITS.values())
    assert [cell.value for cell in table.rows[0][2:]] == [getattr(flow, name) for name in LIMITS]
    assert "held back by the receive window" in limit_sentence(flow)


def test_shares_are_quantities_of_studies_in_percent() -> None:
    for column, words in LIMITS.items():
        assert shown(f"flow.{column}") == (100.0, "%")
        assert heading(f"flow.download.{column}") == f"limited by {words} of download"
    assert shown("flow.limited_s") == (1.0, "s")


def test_a_kernel_that_gives_two_shares_claims_no_largest_one() -> None:
    row = {"limited_by_receive_window": 0.0, "limited_by_send_buffer": 0.0}
    assert held_back_by(shares(row.get)) == "receive window or send buffer 0 %"
    row["limited_by_send_buffer"] = 0.517
    assert held_back_by(shares(row.get)) == "send buffer 52 %"
    assert held_back_by({}) == "\N{EN DASH}"
