"""Sessions of applications: when they begin and end, and what remains of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import bentpipe as bp
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

LINK = """
name = "sessions"
duration = "59s"
[[link]]
between = ["server", "client"]
rate = "10Mbit/s"
delay = "50ms"
queue = { bdp = 2 }
"""
FLOW = """
[[flow]]
name = "NAME"
from = "server"
to = "client"
KEYS
"""
DOWNLOADS = """controller = "cubic"
sessions = { pause = "8s", length = "2s", distribution = "constant" }
traffic = { download = "1MB" }"""
CALLS = """transport = { protocol = "udp" }
sessions = { pause = "8s", length = "2s", distribution = "constant" }
traffic = { call = {} }"""
DRAWN = """controller = "cubic"
sessions = { pause = "6s", length = "3s" }
traffic.page = { site = "search", pages = "unlimited", interval = "1s" }"""


def scenario(**flows: str) -> bp.Scenario:
    """The link with flows by their names."""
    made = (FLOW.replace("NAME", name).replace("KEYS", keys) for name, keys in flows.items())
    return bp.Scenario.parse(LINK + "".join(made))


def sessions(run: bp.Run, flow: str | None = None) -> pl.DataFrame:
    """The table of sessions, of one flow or of all."""
    table = pl.DataFrame(run.recording.table("sessions"))
    return table if flow is None else table.filter(table["flow"] == flow)


def test_constant_sessions_begin_at_the_start_and_after_each_pause() -> None:
    run = bp.run(scenario(files=DOWNLOADS))
    found = sessions(run)
    assert found["start_s"].to_list() == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    assert found["completed"].to_list() == [1] * 6
    assert found["application"].unique().to_list() == ["download"]
    # Each is a new transfer over a connection of its own, with the slow start of one.
    durations = found["duration_s"].to_list()
    assert max(durations) - min(durations) < 1e-9
    assert durations[0] > 1.2
    assert run.flows["bytes"][0] == 6_000_000


def test_a_session_whose_time_ends_is_not_complete_and_begins_nothing_new() -> None:
    run = bp.run(scenario(files=DOWNLOADS.replace('"1MB"', '"9MB"')))
    found = sessions(run)
    assert found["completed"].sum() == 0
    # What is in flight still arrives: a round trip and the queue.
    assert found["duration_s"].min() >= 2.0
    assert found["duration_s"].max() < 2.6
    assert found["start_s"].to_list() == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]


def test_a_session_that_lasts_longer_delays_the_next_one_which_keeps_its_length() -> None:
    keys = """controller = "cubic"
sessions = { pause = "10ms", length = "300ms", distribution = "constant" }
traffic.page = { site = "search" }"""
    found = sessions(bp.run(scenario(pages=keys))).drop_nulls()
    ends = (found["start_s"] + found["duration_s"]).to_list()
    starts = found["start_s"].to_list()
    assert found.height > 5
    # The page takes longer than 0.3 s, and each session loads it.
    assert min(found["duration_s"].to_list()) > 0.4
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    assert min(starts[n + 1] - starts[n] for n in range(len(starts) - 1)) > 0.4


def test_each_session_has_its_rows_in_the_tables_of_its_application() -> None:
    run = bp.run(scenario(calls=CALLS, pages=DRAWN))
    calls = pl.DataFrame(run.recording.table("call"))
    assert calls.height == 2 * sessions(run, "calls").height == 12
    # A packet each 20 ms for 2 s.
    assert set(calls["sent_packets"].to_list()) <= {100, 101}
    assert calls["loss"].max() < 0.5
    loads = pl.DataFrame(run.recording.table("page_loads"))
    begun = sessions(run, "pages")
    assert 0 < begun.height <= loads.height
    # Each session counts its loads from 0.
    assert (loads["page"] == 0).sum() == begun.height
    assert run.pages.height == loads.filter(loads["load_s"].is_not_nan()).height


def test_all_controllers_meet_the_same_sessions_and_each_seed_other_ones() -> None:
    def begins(controller: str, seed: int) -> list[float]:
        keys = DRAWN.replace('"cubic"', f'"{controller}"').replace('"6s"', '"20s"')
        return sessions(bp.run(scenario(pages=keys), seed=seed))["start_s"].to_list()

    assert begins("cubic", 1) == begins("bbr", 1)
    assert begins("cubic", 1) != begins("cubic", 2)


def test_copies_have_sessions_of_their_own_which_a_further_copy_does_not_move() -> None:
    two, three = (
        bp.run(scenario(pages=f"count = {count}\n{DRAWN}").with_({"duration": "30s"}))
        for count in (2, 3)
    )
    firsts = [sessions(run).group_by("flow").agg(pl.col("start_s").min()) for run in (two, three)]
    of_two, of_three = (dict(frame.iter_rows()) for frame in firsts)
    assert of_two.keys() < of_three.keys()
    assert of_two == {name: of_three[name] for name in of_two}
    assert len(set(of_three.values())) == 3


def test_a_stop_ends_the_session_and_those_after_it() -> None:
    run = bp.run(scenario(calls=f'stop = "21s"\n{CALLS}'))
    found = sessions(run)
    assert found["start_s"].to_list() == [0.0, 10.0, 20.0]
    assert found["duration_s"].to_list()[-1] == pytest.approx(1.0, abs=0.3)
    assert run.simulated_s < 30


def test_a_flow_without_sessions_has_no_table() -> None:
    run = bp.run(scenario(files='controller = "cubic"\ntraffic = { download = "1MB" }'))
    assert "sessions" not in run.recording.names


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (
            'controller = "cubic"\nsessions = { pause = "1s", length = "1s" }\n'
            'traffic = { bulk = "unlimited" }',
            "expected no `sessions`, found them with traffic.bulk",
        ),
        (DOWNLOADS.replace('"8s"', '"1ms"'), "from 10ms to 87600h"),
        (DOWNLOADS.replace("constant", "constent"), "constant"),
        (DOWNLOADS.replace('length = "2s", ', ""), "length"),
    ],
)
def test_wrong_sessions_are_answered_with_their_place(keys: str, answer: str) -> None:
    with pytest.raises(bp.ScenarioError) as error:
        scenario(flow=keys)
    assert "flow[0].sessions" in str(error.value)
    assert answer in str(error.value)


def test_the_example_of_a_household_prints_its_sessions(bentpipe: Bentpipe) -> None:
    done = bentpipe("run", EXAMPLES / "geo-household.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "sessions = " not in done.stdout
    for name in ("pages.0", "pages.1", "videos", "calls", "game", "downloads"):
        assert name in done.stdout


def test_explain_shows_the_sessions(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(scenario(files=DOWNLOADS).to_toml())
    done = bentpipe("explain", "one.toml")
    assert done.returncode == 0
    assert "sessions.pause" in done.stdout


@pytest.mark.parametrize("keys", [DOWNLOADS, CALLS], ids=["downloads", "calls"])
@pytest.mark.usefixtures("for_kernel")
def test_sessions_run_on_the_kernel_at_the_same_times(keys: str) -> None:
    made = scenario(one=keys).with_({"duration": "14s"})
    simulated, kernel = (sessions(bp.run(made, backend=one)) for one in ("simulator", "kernel"))
    assert simulated.height == kernel.height == 2
    for column in ("start_s", "duration_s"):
        pairs = zip(simulated[column].to_list(), kernel[column].to_list(), strict=True)
        assert all(one == pytest.approx(other, abs=0.2) for one, other in pairs), column
