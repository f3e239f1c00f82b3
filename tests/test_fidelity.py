"""`bentpipe fidelity`: the same scenario on both backends."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bentpipe import BentpipeError, Scenario, run
from bentpipe.fidelity.curves import Curve, distance
from bentpipe.fidelity.experiment import runs_of
from bentpipe.fidelity.variants import combinations
from conftest import ROOT, SMALL

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

TRIES = 5
"""A kernel run is invalid, and has no values, if the machine was busy at the wrong moment."""
SHORT = ("--set", "link.0.delay=50ms", "--set", "link.0.channel.per=0")


def test_both_backends_are_compared_for_each_variant_and_model(
    bentpipe: Bentpipe, for_kernel: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = bentpipe(
        "fidelity", for_kernel, *SHORT, "--vary", "flow.0.controller=reno,cubic", "--seeds", "2",
        "--also", "flow.0.transport.recovery=linux", "--parallel", "2", "--out", out, "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == json.loads((out / "fidelity.json").read_text())
    assert {path.name for path in out.iterdir()} == {
        "fidelity.json", "fidelity.md", "fidelity.png", "fidelity.svg",
    }  # fmt: skip
    assert [cell["parameters"] for cell in found["cells"]] == [
        {"flow.0.controller": "reno"},
        {"flow.0.controller": "cubic"},
    ]
    assert list(found["models"]) == ["as written", "recovery linux"]
    for cell in found["cells"]:
        assert cell["kernel"]["completion_s"]["mean"] > 0.1
        for model in cell["models"]:
            simulator, real = model["simulator"]["goodput_bps"], cell["kernel"]["goodput_bps"]
            difference = (simulator["mean"] / real["mean"] - 1) * 100
            assert model["goodput_difference"]["mean"] == pytest.approx(difference, abs=2)
            # Nothing is lost here: both are bound by the same link.
            assert abs(difference) < 20
            assert model["cwnd_distance"] < 60
    assert (out / "fidelity.md").read_text().count("\n") == 2 + 4


@pytest.mark.parametrize("protocol", ["tcp", "scps-tp", "quic"])
def test_retransmissions_are_counted_over_every_transport_of_both_backends(protocol: str) -> None:
    changes = {"flow.0.transport": {"protocol": protocol}, "link.0.channel": {"per": 0.05}}
    recording = run(Scenario.parse(SMALL).with_(changes)).recording
    assert runs_of({1: recording}, None).resent[1] > 0.02


def test_what_the_kernel_refuses_is_told_with_its_variant(
    bentpipe: Bentpipe, for_kernel: Path
) -> None:
    done = bentpipe(
        "fidelity", for_kernel, "--vary", "flow.0.controller=cubic,peach", "--seeds", "1"
    )
    assert done.returncode == 2
    assert "flow.0.controller=peach: the kernel backend cannot run this scenario" in done.stderr
    assert "expected one that this kernel has" in done.stderr


def test_values_are_combined_the_last_path_fastest() -> None:
    found = combinations(["a=1,2", 'b=["x", { name = "y", z = 0.5 }]'])
    assert found == [
        {"a": a, "b": b} for a in ("1", "2") for b in ('"x"', '{ name = "y", z = 0.5 }')
    ]
    assert combinations([]) == [{}]


@pytest.mark.parametrize(
    ("varied", "told"),
    [
        ("flow.0.controller", "expected PATH=VALUE,VALUE..."),
        ("a=1,1", "expected different values"),
        ("a=[1,", "Invalid"),
        ("a=[]", "expected different values"),
    ],
)
def test_values_that_are_none_are_answered(varied: str, told: str) -> None:
    with pytest.raises(BentpipeError, match=told):
        combinations([varied])


def test_a_path_that_no_scenario_has_is_bad_input(bentpipe: Bentpipe, small: Path) -> None:
    done = bentpipe("fidelity", small, "--vary", "flow.0.controler=reno")
    assert done.returncode == 2
    assert "controller" in done.stderr


def test_the_distance_of_curves_is_their_mean_difference_in_percent_of_the_reference() -> None:
    times = np.linspace(0.0, 10.0, 11)
    flat = Curve(times, np.full(11, 100.0))
    assert distance(flat, flat) == 0
    assert distance(Curve(times, np.full(11, 150.0)), flat) == pytest.approx(50)
    assert distance(Curve(times + 5, np.linspace(100.0, 200.0, 11)), flat) == pytest.approx(25)
    assert distance(Curve(times + 20, flat.cwnd_bytes), flat) is None
    assert distance(Curve(np.empty(0), np.empty(0)), flat) is None


def test_one_of_two_flows_is_compared_alone_and_one_that_is_not_there_is_refused(
    bentpipe: Bentpipe, for_kernel: Path
) -> None:
    second = for_kernel.with_name("two.toml")
    second.write_text(
        for_kernel.read_text()
        + """
[[flow]]
from = "server"
to = "client"
controller = "reno"
traffic = { download = "20kB" }
"""
    )
    common = ("fidelity", second, *SHORT, "--seeds", "1", "--json")
    goodput = {}
    for flow in ("0", "1"):
        for _ in range(TRIES):
            done = bentpipe(*common, "--flow", flow)
            assert done.returncode == 0, done.stderr
            (cell,) = json.loads(done.stdout)["cells"]
            if not cell["invalid"]:
                break
        goodput[flow] = cell["kernel"]["goodput_bps"]["mean"]
    assert goodput["0"] != pytest.approx(goodput["1"], rel=0.05)
    done = bentpipe(*common, "--flow", "2")
    assert done.returncode == 2
    assert "--flow 2: expected a number below 2" in done.stderr


def test_kernel_runs_that_are_kept_are_not_repeated(
    bentpipe: Bentpipe, for_kernel: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    command = ("fidelity", for_kernel, *SHORT, "--seeds", "2", "--json", "--kernel-runs", kept)

    def kernel(*more: str) -> object:
        done = bentpipe(*command, *more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["cells"][0]["kernel"]

    # A run that the machine disturbed is not valid and not kept: it is made again.
    def until_all_are_kept(number: int, *more: str) -> object:
        for _ in range(10):
            measured = kernel(*more)
            if len(list(kept.iterdir())) == number:
                return measured
        pytest.fail(f"after ten attempts not {number} valid kernel runs are kept")

    # Two runs in real time never agree to the last digit.
    first = until_all_are_kept(2)
    first_run = next(kept.iterdir())
    assert kernel() == first
    assert until_all_are_kept(4, "--set", "flow.0.transport.delayed_ack=off") != first
    recording = first_run / "recording.json"
    recording.write_text(recording.read_text().replace("1", "2", 1))
    done = bentpipe(*command)
    assert done.returncode == 2
    assert "recording.json" in done.stderr


def test_the_page_has_a_table_for_each_suite_and_they_are_those_of_its_numbers() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benches" / "fidelity.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
