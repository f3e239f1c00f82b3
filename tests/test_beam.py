"""`bentpipe beam`: what groups get, and the search for the number of terminals."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from bentpipe import beams
from bentpipe.beams.groups import chosen_group
from bentpipe.beams.ranking import needs

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

BEAM = """
duration = "60s"

[[link]]
between = ["server", "gateway"]
rate = "100Mbit/s"
delay = "10ms"

[[beam]]
name = "spot"
gateway = "gateway"
forward = { modem = { name = "dvb-s2", bandwidth = 1e6 } }
return = { carriers = 1 }

[[beam.group]]
name = "home"
terminals = 3
es_n0 = 11.0
return_es_n0 = 9.0
fca = true

[[flow]]
name = "page"
from = "server"
to = "home"
controller = "cubic"
traffic = { web = { pages = 1 } }

[[flow]]
name = "file"
from = "home"
to = "server"
controller = "cubic"
traffic = { bulk = "20kB" }
"""
"""Three terminals that load a page of 127 kB together over 2.4 Mbit/s, and upload a file."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The scenario in a file."""
    path = tmp_path / "beam.toml"
    path.write_text(BEAM)
    return path


def test_pages_and_transfers_are_those_of_the_group(file: Path) -> None:
    scenario = bp.Scenario.load(file)
    found = beams.answer(scenario, bp.run(scenario).recording)
    (home,) = found.users.values()
    assert len(home.pages_s) == len(home.transfers_s) == 3
    # At least the set-up and two round trips, and at most some seconds for 380 kB.
    assert all(1.5 < one < 10 for one in home.pages_s)
    forward, back = found.groups
    assert (forward["direction"], back["direction"]) == ("forward", "return")
    assert forward["rate_bps"] > 3 * 127_000 * 8 / 60
    assert found.beams[0]["terminals"] == 3


def test_the_search_finds_more_terminals_for_a_wider_bound(file: Path) -> None:
    scenario = bp.Scenario.load(file)
    sizes = [
        beams.find_terminals(scenario, "home", [beams.Bound("page_p95", most)], (1, 40), [1])
        for most in (8.0, 16.0)
    ]
    narrow, wide = (found.by_seed[1] for found in sizes)
    assert 1 <= narrow < wide < 40
    assert not sizes[0].at_most
    # The next number does not meet the bound.
    more = scenario.with_({"beam.0.group.0.terminals": wide + 1})
    users = beams.answer(more, bp.run(more, seed=1).recording).users["home"]
    assert max(users.pages_s) > 16.0


def test_a_bound_that_is_never_met_ends_with_status_1(file: Path) -> None:
    scenario = bp.Scenario.load(file)
    bound = beams.Bound("page_p95", 0.1)
    with pytest.raises(beams.NeverMetError, match=r"page_p95=0\.1s"):
        beams.find_terminals(scenario, "home", [bound], (1, 4), [1])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--group", "home"], "expected --find terminals"),
        (["--find", "terminals"], "--within: expected a bound"),
        (["--find", "terminals", "--within", "page_p9=1s"], "page_p95"),
        (["--find", "terminals", "--within", "page_p95=1"], "expected a time"),
        (["--find", "terminals", "--within", "mos_p5=4s"], "expected a number"),
        (["--find", "terminals", "--within", "mos_p5=4"], "expected mos of group home"),
        (
            ["--find", "terminals", "--within", "page_p95=1s", "--backend", "kernel"],
            "expected no --find",
        ),
        (["--find", "terminals", "--group", "hom", "--within", "page_p95=1s"], "home"),
        (
            ["--find", "terminals", "--within", "page_p95=1s", "--range", "9:3"],
            "two rising numbers",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(file: Path, options: list[str], expected: str) -> None:
    status, _, problem = ran([str(file), *options])
    assert (status, expected in problem) == (2, True), problem


@pytest.mark.usefixtures("for_kernel")
def test_pages_cross_a_beam_on_the_kernel(file: Path) -> None:
    status, printed, problem = ran([str(file), "--backend", "kernel", "--json"])
    assert status == 0, problem
    found = json.loads(printed)
    assert found["kernel"]["stray_packets"] == 0
    home = found["users"]["home"]
    assert (home["pages"], home["transfers"]) == (3, 3)
    scenario = bp.Scenario.load(file)
    simulated = beams.answer(scenario, bp.run(scenario).recording).to_dict()["users"]["home"]
    if found["kernel"]["valid"]:
        assert home["page_p50_s"] == pytest.approx(simulated["page_p50_s"], rel=0.2)
    status, printed, _ = ran([str(file), "--backend", "kernel", "--set", "duration=1s"])
    assert status == 0
    assert "Linux" in printed
    assert "delay error" in printed


def test_the_command_prints_groups_and_one_json_object(file: Path) -> None:
    status, printed, _ = ran([str(file)])
    assert status == 0
    assert "home" in printed
    assert "16APSK 3/4" in printed
    status, printed, _ = ran([str(file), "--json"])
    found = json.loads(printed)
    assert found["users"]["home"]["pages"] == 3
    options = ["--find", "terminals", "--within", "page_p95=16s", "--range", "1:8", "--seeds", "1"]
    status, printed, _ = ran([str(file), *options, "--json"])
    assert (status, json.loads(printed)["by_seed"]) == (0, {"1": json.loads(printed)["mean"]})
    never = ["--find", "terminals", "--within", "page_p95=100ms", "--range", "1:8"]
    status, _, problem = ran([str(file), *never])
    assert status == 1
    assert "never met" in problem


def ran(arguments: list[str]) -> tuple[int, str, str]:
    """Exit status, output and errors of the command."""
    done = subprocess.run(
        [sys.executable, "-m", "bentpipe", "beam", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


MANY = (
    BEAM.replace("terminals = 3", "terminals = 2")
    + """
[[flow]]
name = "bulk"
from = "server"
to = "home"
controller = "cubic"
traffic = { bulk = "unlimited" }
"""
)


def test_controllers_of_a_group_are_ranked_over_a_beam(bentpipe: Bentpipe, tmp_path: Path) -> None:
    file = tmp_path / "beam.toml"
    file.write_text(MANY)
    options = ("--controllers", "hybla", "--replications", "3", "--set", "duration=20s")
    done = bentpipe("compare", "--scenario", file, *options, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["group"], found["flows"], found["others"]) == (
        "home",
        ["page", "file", "bulk"],
        [],
    )
    by_name = {one["quantity"]: one for one in found["rankings"]}
    assert set(by_name) == {"page_p95", "page_p50", "transfer_p95", "goodput_p5", "goodput_p50"}
    for ranking in by_name.values():
        assert {one["name"] for one in ranking["places"]} == {"newreno", "cubic", "hybla"}
        means = [one["mean"] for one in ranking["places"] if one["undefined"] == 0]
        assert means == sorted(means, reverse=ranking["higher_is_better"])
    # The mean of a controller is that of runs of its own.
    scenario = bp.Scenario.load(file, ["duration=20s", "flow.*.controller=hybla"])
    rates = []
    for seed in (1, 2, 3):
        flows = bp.run(scenario, seed=seed).recording.flows
        rates.append(min(one.goodput_bps for one in flows if one.flow.startswith("bulk")) / 1e6)
    own = next(one for one in by_name["goodput_p5"]["places"] if one["name"] == "hybla")
    assert own["mean"] == pytest.approx(sum(rates) / 3)


def test_a_ranking_over_a_beam_names_what_controllers_need(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    file = tmp_path / "beam.toml"
    file.write_text(MANY)
    options = ("--controllers", "xcp,ck-stp", "--replications", "1", "--set", "duration=5s")
    done = bentpipe("compare", "--scenario", file, *options, "--json")
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)["notes"]
    assert first.startswith("xcp needs routers with XCP on all links")
    assert "has its defaults, 2.048 Mbit/s and 500 ms" in second
    assert [*needs(["hybla", "ck-stp:rate=8,rtt=600"])] == []


def test_a_ranking_over_a_beam_prints_one_table_for_each_quantity(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    file = tmp_path / "beam.toml"
    file.write_text(BEAM)
    options = ("--replications", "2", "--controllers", "hybla", "--set", "duration=15s")
    done = bentpipe("compare", "--scenario", file, *options)
    assert done.returncode == 0, done.stderr
    assert "page_p95: 95th percentile of page load times in seconds" in done.stdout
    assert "Controllers of page, file at home. 2 seeds." in done.stdout


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (("--group", "hom"), "did you mean"),
        (("--rate", "1Mbit/s"), "--rate: no effect over a beam"),
        (("--on-path", "codel"), "--on-path: codel: expected fq-codel at the forward carrier"),
        (("--on-path", "pepsal@hom"), 'did you mean "home"'),
        (("--on-path", "satpep"), "the preset has the rate"),
        (("--on-path", "pepsal:x=1"), "a split proxy takes no parameters"),
        (("--on-path", "pepsla"), "--on-path: pepsla"),
        (("--controllers", "cubc"), "did you mean"),
    ],
)
def test_a_ranking_over_a_beam_refuses_what_has_no_effect(
    options: tuple[str, ...], answer: str, bentpipe: Bentpipe, tmp_path: Path
) -> None:
    file = tmp_path / "beam.toml"
    file.write_text(BEAM)
    done = bentpipe("compare", "--scenario", file, *options)
    assert done.returncode == 2
    assert answer in done.stderr


def test_a_group_is_refused_without_a_beam(bentpipe: Bentpipe, tmp_path: Path) -> None:
    file = tmp_path / "link.toml"
    link = BEAM.partition("[[beam]]")[0].replace("gateway", "home")
    file.write_text(link + BEAM[BEAM.index("[[flow]]") :])
    done = bentpipe("compare", "--scenario", file, "--group", "home")
    assert done.returncode == 2
    assert "--group: expected a --scenario with a [[beam]]" in done.stderr


def test_a_proxy_has_one_row_for_a_leg_of_all_terminals(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    # The proxy is before the gateway, where legs have the same rows.
    link = '[[link]]\nbetween = ["hub", "gateway"]\nrate = "1Gbit/s"\ndelay = "1ms"\n'
    side = '{ satellite = { towards = ["gateway"], controller = "hybla" } }'
    proxy = f'\n[[node]]\nname = "hub"\nproxy = {side}\n'
    file.write_text(BEAM.replace('["server", "gateway"]', '["server", "hub"]') + link + proxy)
    folder, page = tmp_path / "out", tmp_path / "page.html"
    done = bentpipe("run", file, "--out", folder)
    assert done.returncode == 0, done.stderr
    assert "home-" not in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if "->" in line]
    legs = {(*row[:4], row[4]): row[5:] for row in rows if row[0] in ("page", "file")}
    # The end that sends the data has the controller.
    assert {leg[:5] for leg in legs} == {
        ("page", "server", "->", "hub", "cubic"),
        ("page", "hub", "->", "home", "hybla"),
        ("file", "home", "->", "hub", "cubic"),
        ("file", "hub", "->", "server", "cubic"),
    }
    for leg, cells in legs.items():
        assert cells[:2] == ["3", "0.06" if leg[0] == "file" else cells[1]], (leg, cells)
    recording = bp.load(folder).recording
    assert recording.table("legs").height == 12
    assert bentpipe("report", folder, "--out", page).returncode == 0
    html = page.read_text(encoding="utf-8")
    assert "Totals of the legs of each flow, all terminals together" in html
    assert "home-2" not in html


PROXIES = """
[[node]]
name = "gateway"
proxy = { satellite = { controller = "hybla" } }

[[node]]
name = "home"
proxy = { satellite = { controller = "vegas" } }
"""


def test_proxies_in_terminals_have_one_row_for_their_group(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    file.write_text(BEAM + PROXIES)
    folder, page = tmp_path / "out", tmp_path / "page.html"
    done = bentpipe("run", file, "--out", folder)
    assert done.returncode == 0, done.stderr
    assert "home-" not in done.stdout
    words = [line.split() for line in done.stdout.splitlines() if line.strip()]
    rows = [line.strip() for line in done.stdout.splitlines() if "->" in line]
    legs = {tuple(re.split(r"\s{2,}", row)[:3]) for row in rows}
    assert {leg for leg in legs if leg[0] in ("page", "file")} == {
        ("page", "server -> gateway", "cubic"),
        ("page", "gateway -> home", "hybla"),
        ("page", "home -> host of home", "cubic"),
        ("file", "host of home -> home", "cubic"),
        ("file", "home -> gateway", "vegas"),
        ("file", "gateway -> server", "cubic"),
    }
    # Two connections of each page, and one of each file.
    proxies = [row for row in words if row[0] in ("gateway", "home") and len(row) == 7]
    assert [row[:2] for row in proxies] == [["gateway", "9"], ["home", "9"]]
    assert bentpipe("report", folder, "--out", page).returncode == 0
    assert "home-2" not in page.read_text(encoding="utf-8")
    explained = bentpipe("explain", file).stdout
    assert "terrestrial side its host; satellite side spot" in explained
    assert "leg gateway -> home-1" in explained
    done = bentpipe("run", file, "--backend", "kernel")
    assert (done.returncode, "node" in done.stderr, "proxy" in done.stderr) == (2, True, True)


def test_controllers_that_are_compared_are_those_of_proxies_too(
    bentpipe: Bentpipe, file: Path
) -> None:
    file.write_text(BEAM + PROXIES)
    options = ("--controllers", "bbr", "--replications", "1", "--set", "duration=20s", "--json")
    done = bentpipe("compare", "--scenario", file, *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["proxies"]) == {"gateway", "home"}
    places = {one["quantity"]: one["places"] for one in found["rankings"]}["transfer_p95"]
    own = next(one for one in places if one["name"] == "bbr")
    changes = [
        "flow.page.controller=bbr",
        "flow.file.controller=bbr",
        "node.gateway.proxy.satellite.controller=bbr",
        "node.home.proxy.satellite.controller=bbr",
        "duration=20s",
    ]
    scenario = bp.Scenario.load(file, changes)
    times = beams.answer(scenario, bp.run(scenario).recording).users["home"].transfers_s
    assert own["mean"] == pytest.approx(max(times))


def test_mechanisms_at_a_beam_are_ranked_with_controllers(bentpipe: Bentpipe, file: Path) -> None:
    file.write_text(BEAM + PROXIES.partition('[[node]]\nname = "home"')[0])
    options = ("--controllers", "cubic", "--replications", "1", "--set", "duration=30s", "--json")
    on_path = ("--on-path", "pepsal,pepsal@gateway+home,fq-codel")
    done = bentpipe("compare", "--scenario", file, *on_path, *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["notes"] == [
        "pepsal replaces the proxy of gateway.",
        "pepsal@gateway+home replaces the proxy of gateway.",
    ]
    places = {one["quantity"]: one["places"] for one in found["rankings"]}["page_p95"]
    assert {one["name"] for one in places} == {
        f"{controller}{mechanism}"
        for controller in ("newreno", "cubic")
        for mechanism in ("", " + pepsal", " + pepsal@gateway+home", " + fq-codel")
    }
    by_name = {one["name"]: one["mean"] for one in places}
    # A run of its own for each; the controller of the proxy is that of the preset.
    for name, changes in {
        "cubic": ["node.gateway.proxy.satellite.controller=cubic"],
        "cubic + pepsal": ["node.gateway.proxy=pepsal"],
        "cubic + fq-codel": [
            "node.gateway.proxy.satellite.controller=cubic",
            "beam.spot.forward.aqm=fq-codel",
        ],
    }.items():
        scenario = bp.Scenario.load(file, [*changes, "duration=30s"])
        pages = beams.answer(scenario, bp.run(scenario).recording).users["home"].pages_s
        assert by_name[name] == pytest.approx(max(pages)), name


BACKGROUND = """
[[beam.group]]
name = "others"
terminals = 20
es_n0 = 13.0
return_es_n0 = 9.0
background = true

[[flow]]
name = "files"
from = "server"
to = "others"
controller = "cubic"
traffic = { download = "20kB" }
sessions = { pause = "5min", length = "1min" }
"""


def test_the_kernel_backend_refuses_a_background_with_its_place(
    file: Path, bentpipe: Bentpipe
) -> None:
    first, rest = BEAM.split("\n[[flow]]", 1)
    file.write_text(f"{first}\n{BACKGROUND}\n[[flow]]{rest}".replace("1e6", "36e6"))
    line = file.read_text(encoding="utf-8").split("\n").index("background = true") + 1
    done = bentpipe("run", file, "--backend", "kernel")
    assert done.returncode == 2
    assert f"{file.name}:{line}" in done.stderr
    assert "expected terminals with packets, or the simulator" in done.stderr


def test_users_in_the_background_are_not_searched_or_ranked(file: Path, bentpipe: Bentpipe) -> None:
    first, rest = BEAM.split("\n[[flow]]", 1)
    file.write_text(f"{first}\n{BACKGROUND}\n[[flow]]{rest}".replace("1e6", "36e6"))
    said = "--group: expected one of home, found others, whose terminals are in the background"
    search = ("--find", "terminals", "--within", "page_p95=60s", "--group", "others")
    for done in (
        bentpipe("beam", file, *search),
        bentpipe("compare", "--scenario", file, "--group", "others"),
    ):
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    # The only group with users need not be named.
    with_users = bp.Scenario.load(file, ["duration=5s"])
    assert chosen_group(with_users, None) == "home"


TUNNELS = """
[[node]]
name = "gateway"
middlebox = "ack-reconstruction"

[[node]]
name = "home"
middlebox = "ack-filter"
"""


def test_tunnels_and_middleboxes_of_terminals_have_one_row_for_their_group(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    tunnel = '"wireguard"\ntraffic = { bulk'
    file.write_text(BEAM.replace("traffic = { bulk", f"tunnel = {tunnel}") + TUNNELS)
    folder, page = tmp_path / "out", tmp_path / "page.html"
    done = bentpipe("run", file, "--out", folder)
    assert done.returncode == 0, done.stderr
    assert "home-" not in done.stdout
    words = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert [row[:4] for row in words if "wireguard" in row] == [
        ["home", "server", "wireguard", "1,420"]
    ]
    counters = [row[:3] for row in words if row[0] in ("gateway", "home") and len(row) == 4]
    assert [row for row in counters if row[2] in ("filtered", "received")] == [
        ["gateway", "ack-reconstruction", "received"],
        ["home", "ack-filter", "filtered"],
    ]
    recording = bp.Recording.load(folder)
    assert recording.table("tunnel").height == 3
    assert bentpipe("report", folder, "--out", page).returncode == 0
    explained = bentpipe("explain", file).stdout
    assert "wireguard from home-1 to server" in explained
    assert "ack-filter" in explained
    done = bentpipe("run", file, "--backend", "kernel")
    assert (done.returncode, "tunnel" in done.stderr) == (2, True)
