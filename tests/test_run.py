"""`bentpipe run`: what it prints and saves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.prototypes import flows, pool

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

# Scripts depend on these names (docs/architecture.md).
RUN = {
    "scenario", "backend", "seed", "version", "wall_s", "simulated_s", "events",
    "packet_hops", "partial", "flows", "links", "jain_index",
}  # fmt: skip
FLOW = {
    "flow", "controller", "controller_status", "protocol", "recovery", "completed", "aborted",
    "abort_cause",
    "bytes", "start_s", "completion_s", "goodput_bps", "throughput_bps", "segments_sent",
    "segments_retransmitted", "probes_sent", "timeouts", "fast_recoveries", "srtt_ms", "min_rtt_ms",
    "mean_rtt_ms", "median_rtt_ms", "p95_rtt_ms", "p99_rtt_ms", "max_rtt_ms", "cwnd_bytes",
    "page_response_s", "limited_s", "limited_by_set_up", "limited_by_congestion_window",
    "limited_by_receive_window", "limited_by_send_buffer", "limited_by_application",
    "limited_by_recovery", "limited_by_pacing",
}  # fmt: skip
LINK = {
    "link", "direction", "utilisation", "delivered_packets", "delivered_bytes", "dropped_packets",
    "corrupted_packets", "max_queue_bytes", "mean_queue_bytes", "median_queue_bytes",
    "p95_queue_bytes", "p99_queue_bytes", "mean_queueing_delay_ms", "median_queueing_delay_ms",
    "p95_queueing_delay_ms", "p99_queueing_delay_ms", "max_queueing_delay_ms",
}  # fmt: skip


def test_json_is_one_object_with_stable_names(bentpipe: Bentpipe, small: Path) -> None:
    done = bentpipe("run", small, "--json", "--seed", "7")
    assert (done.returncode, done.stderr) == (0, "")
    recording = json.loads(done.stdout)
    assert recording.keys() >= RUN
    assert recording["flows"][0].keys() >= FLOW
    assert recording["links"][0].keys() >= LINK
    assert (recording["backend"], recording["seed"]) == ("simulator", 7)
    assert recording["partial"] is False
    assert recording["flows"][0]["bytes"] == 300_000


def test_people_get_tables(bentpipe: Bentpipe, small: Path) -> None:
    done = bentpipe("run", small)
    assert (done.returncode, done.stderr) == (0, "")
    assert "newreno" in done.stdout
    assert "server-client" in done.stdout
    # Of one flow it is 1 whatever happens.
    assert "Jain index" not in done.stdout
    several = bentpipe("run", small, "--set", "flow.0.count=2")
    assert "Jain index 0." in several.stdout or "Jain index 1." in several.stdout


def test_the_same_seed_gives_the_same_recording(bentpipe: Bentpipe, small: Path) -> None:
    first, again, other = (
        json.loads(bentpipe("run", small, "--json", "--seed", seed).stdout) for seed in "112"
    )
    for recording in (first, again, other):
        del recording["wall_s"]
    assert first == again
    assert first != other


def test_overrides_change_the_scenario(bentpipe: Bentpipe, small: Path) -> None:
    done = bentpipe("run", small, "--json", "--set", "flow.0.controller=adalr")
    assert json.loads(done.stdout)["flows"][0]["controller"] == "adalr"


def test_a_saved_recording_is_whole(bentpipe: Bentpipe, small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = bentpipe("run", small, "--json", "--out", folder, "--set", "seed=3")
    assert done.returncode == 0
    assert json.loads((folder / "recording.json").read_text()) == json.loads(done.stdout)
    assert "--set 'seed=3' --seed 3" in (folder / "scenario.toml").read_text()
    series = pl.read_parquet(folder / "flow_series.parquet")
    assert {"t_s", "cwnd_bytes", "ssthresh_bytes", "srtt_ms", "rto_ms"} <= set(series.columns)
    assert series.height > 0


def test_a_saved_scenario_runs_again(bentpipe: Bentpipe, small: Path, tmp_path: Path) -> None:
    bentpipe("run", small, "--out", tmp_path / "out")
    assert bentpipe("run", tmp_path / "out" / "scenario.toml").returncode == 0


def test_explain_shows_defaults(bentpipe: Bentpipe, small: Path) -> None:
    done = bentpipe("explain", small)
    assert done.returncode == 0
    assert "(default)" in done.stdout


def test_controllers_can_be_listed_and_looked_up(bentpipe: Bentpipe) -> None:
    listed = json.loads(bentpipe("controllers", "--json").stdout)["controllers"]
    assert {"reno", "newreno", "adalr"} <= {entry["name"] for entry in listed}
    assert "newreno" in bentpipe("controllers").stdout
    assert "retransmissions" in bentpipe("controllers", "adalr").stdout


MINE = """\
from bentpipe.controller import Controller


class Mine(Controller):
    def __init__(self, settings, kept=0.5):
        self.kept = kept

    def threshold_after_loss(self, loss):
        return max(int(loss.flight * self.kept), 2 * self.window.mss)


class Fails(Mine):
    def on_loss(self, loss):
        raise LookupError("planted")


class Loops(Mine):
    def on_loss(self, loss):
        while True:
            pass
"""


@pytest.mark.parametrize(
    "given",
    [
        ("--controller", "mine.py:Mine"),
        ("--controller", "mine:Mine:kept=0.5"),
        ("--set", "flow.0.controller=mine.py:Mine"),
        ("--set", "flow.*.controller=mine.py:Mine"),
    ],
)
def test_a_class_runs(
    bentpipe: Bentpipe, small: Path, tmp_path: Path, given: tuple[str, str]
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    done = bentpipe("run", small, "--json", *given, "--out", tmp_path / "out", "--pcap")
    assert (done.returncode, done.stderr) == (0, "")
    (flow,) = json.loads(done.stdout)["flows"]
    assert flow["controller"] == "python:Mine"
    (usual,) = json.loads(bentpipe("run", small, "--json").stdout)["flows"]
    assert flow["completion_s"] == usual["completion_s"]
    assert (tmp_path / "out" / "capture.pcapng").stat().st_size > 0


def test_a_controller_with_parameters_runs(bentpipe: Bentpipe, small: Path) -> None:
    table = '{ name = "hybla", rtt0 = 0.5 }'
    forms = [("--controller", "hybla:rtt0=0.5"), ("--set", "flow.0.controller=hybla:rtt0=0.5"),
             ("--set", f"flow.0.controller={table}"), ("--controller", table)]  # fmt: skip
    runs = [json.loads(bentpipe("run", small, "--json", *form).stdout) for form in forms]
    plain = json.loads(bentpipe("run", small, "--json", "--controller", "hybla").stdout)
    assert len({run["flows"][0]["completion_s"] for run in runs}) == 1
    assert runs[0]["flows"][0]["completion_s"] != plain["flows"][0]["completion_s"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("--controller", "mine.py:Fails"), "seed 3 failed: LookupError: planted"),
        (("--controller", "mine.py:Mina"), "did you mean Mine"),
        (("--controller", "cubik"), "did you mean"),
        (("--set", "flow.7.controller=mine.py:Mine"), "expected a flow from 0 to 0, found 7"),
        (("--controller", "mine.py:Mine", "--backend", "kernel"), "simulator only"),
    ],
)
def test_a_class_that_cannot_run_is_answered(
    bentpipe: Bentpipe, small: Path, tmp_path: Path, given: tuple[str, ...], expected: str
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    done = bentpipe("run", small, "--seed", "3", *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
    if "planted" in expected:
        assert 'raise LookupError("planted")' in done.stderr
        assert "flows.py" not in done.stderr


def test_a_class_that_blocks_is_ended(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.setattr(pool, "BLOCKED_S", 0.5)
    scenario, classes = flows.load(small, [], f"{tmp_path}/mine.py:Loops")
    with pytest.raises(bp.ControllerError, match=r"(?s)seed 3 failed: a method blocks.*on_loss"):
        flows.run(bp._native.run, 3, scenario, controllers=classes)
