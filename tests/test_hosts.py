"""Profiles of hosts: their list, `explain`, and wrong names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import bentpipe as package
from bentpipe.printing.setting import setting

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

DOWNLOAD = """
duration = "60s"
[[link]]
between = ["server", "client"]
rate = "20Mbit/s"
delay = "300ms"
[[flow]]
from = "server"
to = "client"
host = {host}
traffic = {{ download = "300kB" }}
"""


def test_all_profiles_are_listed_with_system_status_and_values(bentpipe: Bentpipe) -> None:
    listed = json.loads(bentpipe("hosts", "--json").stdout)["hosts"]
    assert {"linux-6.18", "windows-11", "macos", "freebsd-14", "android"} <= {
        one["name"] for one in listed
    }
    assert all(one["system"] and one["status"] and one["values"] for one in listed)
    for value in (value for one in listed for value in one["values"]):
        assert value["value"]
        assert value["source"]
        assert value["certainty"]
    kernel = {one["name"] for one in listed if "kernel" in one["backends"]}
    assert kernel == {one["name"] for one in listed if one["system"] == "Linux"}
    printed = bentpipe("hosts").stdout
    assert all(one["name"] in printed for one in listed)
    assert "reconstructed" in printed


def test_one_profile_is_described_with_the_source_of_each_value(bentpipe: Bentpipe) -> None:
    printed = bentpipe("hosts", "linux-6.18").stdout
    assert "transport.receive_buffer.max" in printed
    assert "measured" in printed
    # What has no source is shown with its default.
    assert "no source" in bentpipe("hosts", "bsd-os").stdout


def test_a_wrong_name_is_answered_with_the_nearest_version(bentpipe: Bentpipe) -> None:
    done = bentpipe("hosts", "linux-6.10")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'linux-6.12'" in done.stderr


def test_a_wrong_name_in_a_scenario_names_place_and_nearest_version(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    (tmp_path / "old.toml").write_text(DOWNLOAD.format(host='"linux-5.4"'))
    done = bentpipe("run", "old.toml")
    assert done.returncode == 2
    assert "old.toml:10:8" in done.stderr
    assert 'did you mean "linux-5.15"?' in done.stderr


def test_explain_shows_each_value_with_its_origin(bentpipe: Bentpipe, tmp_path: Path) -> None:
    host = '{ from = "linux-6.18", to = "windows-11" }'
    (tmp_path / "mixed.toml").write_text(DOWNLOAD.format(host=host))
    override = ("--set", "flow.0.transport.timestamps=true")
    # Lines that are longer than the terminal are continued.
    printed = " ".join(bentpipe("explain", "mixed.toml", *override).stdout.split())
    assert "Host server (from): linux-6.18, from its sources" in printed
    assert "Host client (to): windows-11, reconstructed" in printed
    assert "from host linux-6.18, measured" in printed
    assert "override of host windows-11 (false)" in printed
    flow = json.loads(bentpipe("explain", "mixed.toml", "--json").stdout)["flows"][0]
    origins = {one["name"]: one["origin"] for one in flow["hosts"][1]["settings"]}
    assert origins["transport.receive_buffer"] == "host windows-11"
    # Values of the ends are not shown as if both had them.
    assert not any(one["name"].startswith("transport.receive_buffer") for one in flow["settings"])


def test_a_result_names_its_hosts_and_labels_those_that_are_reconstructed() -> None:
    hosts = '{ from = "linux-6.18", to = "windows-11" }'
    found = [package.Scenario.parse(DOWNLOAD.format(host=one)) for one in (hosts, '"linux-6.12"')]
    assert setting(found[:1]).endswith("hosts linux-6.18 to windows-11 (reconstructed)")
    assert setting(found[1:]).endswith("hosts linux-6.12 to linux-6.12")


def test_host_of_a_ranking_is_checked(bentpipe: Bentpipe) -> None:
    link = ("compare", "--link", "geo-ka", "--controllers", "cubic", "--replications", "1")
    for host, words in [
        ("windows-11", "--host: windows-11 is reconstructed"),
        ("linux-6.17", "--host: there is no profile 'linux-6.17'"),
        ("linux-6.18,linux-6.12,macos", "--host: expected NAME, or SERVER,CLIENT"),
    ]:
        done = bentpipe(*link, "--host", host)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_a_profile_of_another_system_is_refused_on_the_kernel(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    (tmp_path / "windows.toml").write_text(DOWNLOAD.format(host='{ to = "windows-11" }'))
    done = bentpipe("run", "windows.toml", "--backend", "kernel", "--out", "out")
    if "kernel backend" in done.stderr and "windows-11" not in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 2
    assert "windows.toml:10" in done.stderr
    assert "a profile of Linux (linux-2.4" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_flow_has_the_controller_of_its_profile_and_needs_one_otherwise() -> None:
    text = DOWNLOAD.format(host='"linux-6.18"')
    assert package.run(package.Scenario.parse(text)).flows["controller"].to_list() == ["cubic"]
    with pytest.raises(package.ScenarioError, match="controller"):
        package.Scenario.parse(text.replace("host =", "stop = '9s' #"))
