"""Tunnels from the command line: what `run` and `explain` print, bad input, and real WireGuard."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bentpipe import Scenario, run

if TYPE_CHECKING:
    from conftest import Bentpipe

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/geo-vpn.toml"


def test_a_run_prints_the_tunnel_and_its_table_has_the_bytes(bentpipe: Bentpipe) -> None:
    done = bentpipe("run", EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert "outside kB" in done.stdout
    [row] = run(Scenario.load(EXAMPLE)).table("tunnel").to_dicts()
    assert (row["from"], row["to"], row["protocol"]) == ("client", "office", "wireguard")
    assert 60 <= (row["outer_bytes"] - row["inner_bytes"]) / row["packets"] <= 76


def test_explain_names_who_sees_nothing(bentpipe: Bentpipe) -> None:
    done = bentpipe("explain", EXAMPLE)
    assert "the split proxy at hub, the split proxy at terminal" in done.stdout
    assert "splits nothing, not page (a tunnel hides it)" in done.stdout
    found = json.loads(bentpipe("explain", EXAMPLE, "--json").stdout)
    [flow] = found["flows"]
    assert flow["tunnel"]["from"] == "office"
    assert flow["tunnel"]["outer_bytes"] == 1480
    assert [one["kind"] for one in found["warnings"]] == ["tunnel_hides_flow"]


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ("flow.0.tunnel=wiregard", '"wireguard"'),
        ("flow.0.tunnel={ name = 'wireguard', between = ['client', 'ofice'] }", '"office"'),
        ("flow.0.tunnel={ name = 'wireguard', mtu = 50 }", "88"),
        ("flow.0.transport.mss=1400", "at most 1380"),
        ("flow.0.tunnel={ name = 'masque', method = 'connect-udp' }", "connect-ip"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(
    bentpipe: Bentpipe, sets: str, expected: str
) -> None:
    done = bentpipe("run", EXAMPLE, "--set", sets)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr


def test_an_mss_that_does_not_fit_has_its_line(bentpipe: Bentpipe, tmp_path: Path) -> None:
    text = bentpipe("path", "wireguard").stdout
    assert "established" in text
    (tmp_path / "own.toml").write_text(
        'duration = "9s"\n[[link]]\nbetween = ["a", "b"]\nrate = "1Mbit/s"\ndelay = "1ms"\n'
        '[[flow]]\nfrom = "a"\nto = "b"\ncontroller = "reno"\ntraffic = { bulk = "1MB" }\n'
        'tunnel = "esp"\n[flow.transport]\nmss = 1420\n'
    )
    done = bentpipe("run", "own.toml")
    assert done.returncode == 2
    assert "own.toml:13" in done.stderr
    assert "at most 1406" in done.stderr


CITED = {"wireguard": "Donenfeld", "esp": "Kent", "openvpn": "OpenVPN", "masque": "Schinazi"}


@pytest.mark.parametrize("protocol", CITED)
def test_a_tunnel_is_cited(bentpipe: Bentpipe, tmp_path: Path, protocol: str) -> None:
    text = EXAMPLE.read_text().replace('name = "wireguard"', f'name = "{protocol}"')
    (tmp_path / "own.toml").write_text(text)
    done = bentpipe("cite", "own.toml")
    assert done.returncode == 0, done.stderr
    assert CITED[protocol] in done.stdout


def test_a_proxy_helps_where_the_tunnel_ends() -> None:
    def load_s(tunnel: str) -> float:
        done = run(Scenario.load(EXAMPLE, [f"flow.0.tunnel={tunnel}"]))
        [row] = done.table("page_loads").to_dicts()
        return float(row["load_s"])

    end = "{ name = 'wireguard', between = ['client', 'terminal'], established = true }"
    whole = "{ name = 'wireguard', between = ['client', 'office'], established = true }"
    assert load_s(end) < 1.02 * load_s("none") < load_s(whole)


TUNNELS = {
    "none": "none",
    "WireGuard from the client to the office": "['client', 'office']",
    "WireGuard between the proxies": "['hub', 'terminal']",
}
ROW = re.compile(r"^\| (yes|no) \| ([^|]+) \| ([23]) \| ([0-9.]+) \| ([0-9.]+) \|$", re.MULTILINE)


def test_the_table_of_the_page_is_what_the_example_gives() -> None:
    rows = ROW.findall((EXAMPLE.parents[1] / "docs/tunnels.md").read_text())
    assert len(rows) == 6
    for proxies, tunnel, http, page, download in rows:
        ends = TUNNELS[tunnel]
        settings = f"{{ name = 'wireguard', between = {ends}, established = true }}"
        sets = [f"flow.0.tunnel={ends if ends == 'none' else settings}"]
        if proxies == "no":
            sets += ["node.0.proxy=none", "node.1.proxy=none"]
        if http == "3":
            sets.append("flow.0.transport={ protocol = 'quic' }")
        loads = run(Scenario.load(EXAMPLE, sets)).table("page_loads")
        assert f"{loads['load_s'][0]:.2f}" == page
        sets.append("flow.0.traffic={ download = '5MB' }")
        [flow] = run(Scenario.load(EXAMPLE, sets)).recording.flows
        assert f"{flow.completion_s:.2f}" == download


OUTER = re.compile(
    r"^\| (none|`[a-z0-9]+`)(, capsules)? \| ([0-9.]+) \| ([0-9]+) \| ([0-9.]+) \| ([0-9]+) \|$",
    re.MULTILINE,
)
LOSSES = "link.2.forward.channel={ per = 1e-3 }"


def test_the_table_of_outer_controllers_is_what_the_example_gives() -> None:
    rows = OUTER.findall((EXAMPLE.parents[1] / "docs/tunnels.md").read_text())
    assert len(rows) == 6
    for name, capsules, *cells in rows:
        keys = "" if name == "none" else f", controller = '{name.strip('`')}'"
        keys += ", capsules = true" if capsules else ""
        sets = [
            "duration=300s",
            "node.0.proxy=none",
            "node.1.proxy=none",
            f"flow.0.tunnel={{ name = 'masque', established = true{keys} }}",
            "flow.0.traffic={ download = '20MB' }",
        ]
        assert [
            cell for losses in ([], [LOSSES]) for cell in outer_cells([*sets, *losses])
        ] == cells


def outer_cells(sets: list[str]) -> list[str]:
    """Completion time, and the longest queue at the end that sends, in kilobytes."""
    recording = run(Scenario.load(EXAMPLE, sets)).recording
    queue = 0
    if "tunnel_end" in recording.names:
        queue = max(recording.table("tunnel_end")["max_queue_bytes"])
    return [f"{recording.flows[0].completion_s:.2f}", f"{queue / 1e3:.0f}"]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("controller = 'cubik'", '"cubic"'),
        ("max_window = '90kB'", "a `controller` too"),
        ("controller = 'cubic', max_window = '2500B'", "at least 2944B"),
    ],
)
def test_an_outer_connection_that_is_not_possible_is_refused(
    bentpipe: Bentpipe, keys: str, expected: str
) -> None:
    done = bentpipe("run", EXAMPLE, "--set", f"flow.0.tunnel={{ name = 'masque', {keys} }}")
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
