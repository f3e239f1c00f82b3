"""The terminal shows what every mechanism of a recording has counted."""

from __future__ import annotations

import re
from types import SimpleNamespace as Made
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe import _native
from bentpipe.console import show, table
from bentpipe.printing.explanation import within
from bentpipe.printing.mechanisms import TABLES, print_on_path
from bentpipe.printing.recording import print_aborted
from bentpipe.report.mechanisms import FIXED, SERIES
from bentpipe.shown import as_text
from bentpipe.study.quantities import RUN
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = """
duration = "20s"

[[node]]
name = "gateway"
proxy = { preset = "pepsal", satellite = { towards = ["satellite"] } }

[[node]]
name = "terminal"
middlebox = { name = "snoop", eln = true }

[[link]]
between = ["server", "gateway"]
rate = "10Mbit/s"
delay = "10ms"
aqm = "codel"
feedback = "quick-start"
mtu = 1500

[[link]]
between = ["gateway", "satellite"]
rate = "4Mbit/s"
delay = "100ms"
arq = "selective-repeat"
header_compression = "rohc"

[[link]]
between = ["satellite", "terminal"]
delay = "20ms"
forward = { channel = { es_n0 = 12, attenuation = "fade.csv", modem = "dvb-s2" } }
rate="1Mbit/s"
backward = { rate = "1Mbit/s", demand = { name = "dvb-rcs2", cra = "512kbit/s" } }

[[link]]
between = ["terminal", "client"]
rate = "10Mbit/s"
delay = "1ms"
forward = { trace = "trace.csv", fec = { name = "reed-solomon", data = 10, parity = 1 } }

[[link]]
between = ["client", "aside"]
rate = "10Mbit/s"
delay = "5ms"
duplicate = 0.1
shaper = { rate = "2Mbit/s", burst = "5kB" }
policer = { rate = "4Mbit/s", burst = "5kB" }

[[flow]]
from = "client"
to = "aside"
controller = "newreno"
traffic = { bulk = "50kB" }

[[flow]]
from = "server"
to = "client"
controller = "newreno"
traffic = { download = "500kB" }
transport = { eln = true, ack_control = true, mtu_probing = "always", ecn = true }

[[flow]]
from = "terminal"
to = "client"
controller = "newreno"
traffic = { download = "50kB" }
transport = { protocol = "scps-tp", scps = { best_effort = { retransmissions = 1 } } }
"""
"""A path with a mechanism of each kind."""


APPLICATIONS = """
duration = "20s"

[[link]]
between = ["server", "client"]
rate = "10Mbit/s"
delay = "250ms"

[[flow]]
from = "server"
to = "client"
transport = { protocol = "udp" }
traffic = { call = { duration = "2s" } }

[[flow]]
from = "server"
to = "client"
transport = { protocol = "udp" }
sessions = { pause = "1s", length = "1s", distribution = "constant" }
traffic = { messages = { count = 20 } }

[[flow]]
from = "server"
to = "client"
controller = "cubic"
traffic = { video = { length = "8s" } }

[[flow]]
from = "server"
to = "client"
controller = "cubic"
traffic = { speedtest = { duration = "2s", warm_up = "1s", idle = "1s", pause = "1s" } }
"""
"""A flow with each application that has a table of its own."""
BEAM = """
duration = "5s"
link = [{ between = ["server", "gateway"], rate = "10Mbit/s", delay = "10ms" }]

[[beam]]
name = "spot"
gateway = "gateway"
group = [{ name = "home", terminals = 2, es_n0 = 10, return_es_n0 = 9, fca = true }]
class = [{ name = "first", flows = ["page"] }]

[[beam]]
name = "other"
gateway = "gateway"

[[beam.group]]
name = "far"
terminals = 2
es_n0 = 10
return_es_n0 = 9
fca = true
background = true

[[flow]]
name = "page"
from = "server"
to = "home"
controller = "cubic"
traffic = { download = "100kB" }

[[flow]]
name = "file"
from = "server"
to = "far"
controller = "cubic"
traffic = { download = "100kB" }
sessions = { pause = "1s", length = "5s" }
"""
"""A beam with two terminals and a class of traffic, and one with a group in the background."""


@pytest.fixture(scope="module")
def applications() -> bp.Recording:
    """A run with each application that has a table of its own."""
    return bp.run(bp.Scenario.parse(APPLICATIONS)).recording


TUNNEL = """
[[link]]
between = ["server", "client"]
rate = "10Mbit/s"
delay = "20ms"

[[flow]]
from = "server"
to = "client"
controller = "cubic"
tunnel = "wireguard"
traffic = { download = "50kB" }

[[flow]]
from = "server"
to = "client"
controller = "cubic"
tunnel = { name = "masque", controller = "bbr" }
traffic = { download = "50kB" }
"""


SWITCH = """
[[switch]]
between = ["ship", "hub"]
via = ["leo", "geo"]
event = [{ at = "100ms", via = "geo" }]

[[link]]
between = ["hub", "leo"]
rate = "10Mbit/s"
delay = "20ms"

[[link]]
between = ["leo", "ship"]
rate = "10Mbit/s"
delay = "1ms"

[[link]]
between = ["hub", "geo"]
rate = "10Mbit/s"
delay = "120ms"

[[link]]
between = ["geo", "ship"]
rate = "10Mbit/s"
delay = "120ms"

[[flow]]
from = "hub"
to = "ship"
controller = "cubic"
traffic = { download = "50kB" }
"""
"""Two paths between two routers."""


DETECTOR = """
duration = "4s"

[[link]]
between = ["terminal", "gateway"]
rate = "10Mbit/s"
delay = "20ms"
event = [{ at = "2s", delay = "50ms" }]

[[flow]]
from = "terminal"
to = "gateway"
controller = "leocc-live"
path_hints = { source = "detector" }
traffic = { bulk = "unlimited" }
"""
"""A sender that looks for changes of its path."""


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> bp.Recording:
    """A run over a path with a mechanism of each kind."""
    folder: Path = tmp_path_factory.mktemp("everything")
    (folder / "fade.csv").write_text("0,0\n20,2\n")
    (folder / "trace.csv").write_text("t_s,loss_percent\n0,0\n10,1\n20,0\n")
    (folder / "everything.toml").write_text(EVERYTHING)
    return bp.run(bp.Scenario.load(folder / "everything.toml")).recording


@pytest.fixture(scope="module")
def tunnel() -> bp.Recording:
    """A run through a tunnel."""
    return bp.run(bp.Scenario.parse(TUNNEL)).recording


@pytest.fixture(scope="module")
def switch() -> bp.Recording:
    """A run over one path and then another."""
    return bp.run(bp.Scenario.parse(SWITCH)).recording


@pytest.fixture(scope="module")
def detector() -> bp.Recording:
    """A run with a detector of path changes."""
    return bp.run(bp.Scenario.parse(DETECTOR)).recording


@pytest.fixture(scope="module")
def beam() -> bp.Recording:
    """A run with a beam."""
    return bp.run(bp.Scenario.parse(BEAM)).recording


def totals(recording: bp.Recording) -> set[str]:
    """The tables of mechanisms that have totals."""
    names = set(recording.names) - set(FIXED)
    return {name for name in names if not name.endswith(SERIES)}


def test_every_table_of_mechanisms_is_printed(
    everything: bp.Recording,
    applications: bp.Recording,
    beam: bp.Recording,
    tunnel: bp.Recording,
    switch: bp.Recording,
    detector: bp.Recording,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # A new table must stand in `TABLES`, and in one of the scenarios above.
    # Loads of pages have a table of medians instead (`page_tables`).
    pages = {"page_loads", "page_objects"}
    # A row for each terminal is too much for a screen; those of groups have the distribution.
    terminals = {"beam_terminals"}
    assert set(TABLES) == _native.number_columns().keys() - {*FIXED, RUN} - pages - terminals
    of_beam = totals(beam) - terminals
    others = totals(applications) | totals(tunnel) | totals(switch) | totals(detector)
    assert totals(everything) | others | of_beam == set(TABLES)
    for recording in (everything, applications, beam, tunnel, switch, detector):
        print_on_path(recording)
        printed = [line.split() for line in capsys.readouterr().out.splitlines()]
        for name in totals(recording) - terminals:
            for row in recording.table(name).iter_rows(named=True):
                cells = " ".join(column.text(row) for column in TABLES[name])
                assert cells.split() in printed, (name, cells)


def test_a_flow_that_was_aborted_has_a_line_with_its_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = Made(flow="done", aborted=False, abort_cause=None, quic=None)
    tcp = Made(flow="tcp", aborted=True, abort_cause="user-timeout", quic=None)
    error = Made(error="too many gaps")
    quic = Made(flow="quic", aborted=True, abort_cause="protocol-error", quic=error)
    recording: Any = Made(flows=[done, tcp, quic], names=[])
    print_aborted(recording)
    assert capsys.readouterr().out.splitlines() == [
        "tcp was aborted: user-timeout",
        "quic was aborted: protocol-error (too many gaps)",
    ]


def test_names_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Rich reads brackets as markup and words between colons as pictures, on each console."""
    name = "[bold]:house:"
    rows = table("name")
    rows.add_row(name)
    show(name, rows)
    assert capsys.readouterr().out.count(name) == 2
    assert as_text({}, [name, rows]).count(name) == 2


ORBIT = """
duration = "60s"

[[link]]
between = ["gateway", "client"]
forward = { rate = "100Mbit/s" }
backward = { rate = "20Mbit/s" }
queue = "unlimited"

[link.orbit]
constellation = "oneweb"
epoch = "2026-11-27T12:00:00Z"
from = "Louvain-la-Neuve"
to = "Lisbon"
place = [
    { name = "Louvain-la-Neuve", latitude_deg = 50.669, longitude_deg = 4.612 },
    { name = "Lisbon", latitude_deg = 38.72, longitude_deg = -9.14 },
]

[[flow]]
from = "gateway"
to = "client"
controller = "cubic"
traffic = { bulk = "unlimited" }
"""


def test_an_orbit_of_a_link_is_explained_once_and_in_80_columns() -> None:
    lines = within(bp.Scenario.parse(ORBIT).explain(), 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert any(re.fullmatch(r"  gateway -> client +.* see below", line) for line in lines)
    (start,) = (n for n, line in enumerate(lines) if line.startswith("  orbit of "))
    assert lines[start] == "  orbit of gateway -> client, client -> gateway"
    assert lines[start + 1].split() == ["constellation", "oneweb"]
    text = "\n".join(lines)
    assert text.count("name Louvain-la-Neuve, latitude_deg 50.669") == 1
    assert "    none: walker, elements, " in text
    assert "{" not in text


def test_a_list_in_a_setting_is_broken_at_its_commas() -> None:
    scenario = bp.Scenario.load(EXAMPLES / "geo-experience.toml")
    lines = within(scenario.explain(), 80).splitlines()
    assert max(map(len, lines)) <= 80
    (n,) = (n for n, line in enumerate(lines) if "traffic.video.ladder" in line)
    assert lines[n].endswith('["300kbit/s", "750kbit/s", "1.2Mbit/s",')
    assert lines[n + 1].strip() == '"2.5Mbit/s", "4.3Mbit/s"]'
