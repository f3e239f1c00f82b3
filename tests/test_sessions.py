"""Sessions of applications: when they begin and end, and what remains of them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe.study import Replications
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
SHORT = """controller = "cubic"
sessions = { pause = "10ms", length = "300ms", distribution = "constant" }
traffic.page = { site = "search" }"""


def scenario(**flows: str) -> bp.Scenario:
    """The link with flows by their names."""
    made = (FLOW.replace("NAME", name).replace("KEYS", keys) for name, keys in flows.items())
    return bp.Scenario.parse(LINK + "".join(made))


def rows(run: bp.Run, table: str) -> list[dict[str, Any]]:
    """The rows of a table."""
    found: list[dict[str, Any]] = run.recording.table(table).to_dicts()
    return found


def column(run: bp.Run, name: str, flow: str | None = None) -> list[Any]:
    """A column of the table of sessions, of one flow or of all."""
    return [row[name] for row in rows(run, "sessions") if flow in (None, row["flow"])]


def test_constant_sessions_begin_at_the_start_and_after_each_pause() -> None:
    run = bp.run(scenario(files=DOWNLOADS))
    assert column(run, "start_s") == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    assert column(run, "completed") == [1] * 6
    assert set(column(run, "application")) == {"download"}
    # Each is a new transfer over a connection of its own, with the slow start of one.
    durations = column(run, "duration_s")
    assert max(durations) - min(durations) < 1e-9
    assert durations[0] > 1.2
    assert run.flows["bytes"][0] == 6_000_000


def test_a_session_whose_time_ends_is_not_complete_and_begins_nothing_new() -> None:
    run = bp.run(scenario(files=DOWNLOADS.replace('"1MB"', '"9MB"')))
    assert column(run, "completed") == [0] * 6
    # What is in flight still arrives: a round trip and the queue.
    assert all(2.0 <= duration < 2.6 for duration in column(run, "duration_s"))
    assert column(run, "start_s") == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]


def test_a_session_that_lasts_longer_delays_the_next_one_which_keeps_its_length() -> None:
    found = [row for row in rows(bp.run(scenario(pages=SHORT)), "sessions") if row["completed"]]
    assert len(found) > 5
    # The page takes longer than 0.3 s, and each session loads it.
    assert all(row["duration_s"] > 0.4 for row in found)
    for row, following in itertools.pairwise(found):
        assert row["start_s"] + row["duration_s"] <= following["start_s"] + 1e-9


def test_each_session_has_its_rows_in_the_tables_of_its_application() -> None:
    run = bp.run(scenario(calls=CALLS, pages=DRAWN))
    calls = rows(run, "call")
    assert len(calls) == 2 * len(column(run, "session", "calls")) == 12
    # A packet each 20 ms for 2 s.
    assert {row["sent_packets"] for row in calls} <= {100, 101}
    loads = rows(run, "page_loads")
    # Each session loads at least once, and counts its loads from 0.
    firsts = [row["start_s"] for row in loads if row["page"] == 0]
    assert firsts == column(run, "start_s", "pages")
    assert len(firsts) < len(loads)
    complete = [row for row in loads if row["load_s"] == row["load_s"]]
    assert run.pages.height == len(complete)


def test_all_controllers_meet_the_same_sessions_and_each_seed_other_ones() -> None:
    def begins(controller: str, seed: int) -> list[float]:
        keys = DRAWN.replace('"cubic"', f'"{controller}"').replace('"6s"', '"20s"')
        return column(bp.run(scenario(pages=keys), seed=seed), "start_s")

    assert begins("cubic", 1) == begins("bbr", 1)
    assert begins("cubic", 1) != begins("cubic", 2)


def test_copies_have_sessions_of_their_own_which_a_further_copy_does_not_move() -> None:
    firsts: list[dict[str, float]] = []
    for count in (2, 3):
        made = scenario(pages=f"count = {count}\n{DRAWN}").with_({"duration": "30s"})
        found = rows(bp.run(made), "sessions")
        firsts.append({row["flow"]: row["start_s"] for row in reversed(found)})
    of_two, of_three = firsts
    assert of_two.keys() < of_three.keys()
    assert of_two == {name: of_three[name] for name in of_two}
    assert len({*of_three.values()}) == 3


def test_a_stop_ends_the_session_and_those_after_it() -> None:
    run = bp.run(scenario(calls=f'stop = "21s"\n{CALLS}'))
    assert column(run, "start_s") == [0.0, 10.0, 20.0]
    assert column(run, "duration_s")[-1] == pytest.approx(1.0, abs=0.3)
    assert run.recording.simulated_s < 30


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
    lines = [line.split() for line in done.stdout.splitlines()]
    listed = [line[:3] for line in lines if len(line) == 6 and line[-1] in ("yes", "no")]
    for name, key in (("pages.0", "page"), ("calls", "call"), ("downloads", "download")):
        assert [f"home-{name}", key, "0"] in listed


def test_many_sessions_are_counted_and_not_listed(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(scenario(pages=SHORT).to_toml())
    done = bentpipe("run", "one.toml")
    begun = len(rows(bp.run(scenario(pages=SHORT)), "sessions"))
    assert begun > 30
    assert f"The first 30 of {begun} sessions. page: {begun} begun, " in done.stdout


def test_explain_shows_the_sessions(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(scenario(files=DOWNLOADS).to_toml())
    done = bentpipe("explain", "one.toml")
    assert done.returncode == 0
    assert "sessions.pause" in done.stdout


@pytest.mark.parametrize("keys", [DOWNLOADS, CALLS], ids=["downloads", "calls"])
@pytest.mark.usefixtures("for_kernel")
def test_sessions_run_on_the_kernel_at_the_same_times(keys: str) -> None:
    made = scenario(one=keys).with_({"duration": "14s"})
    simulated, kernel = bp.run(made), bp.run(made, backend="kernel")
    for name in ("start_s", "duration_s"):
        times = column(simulated, name)
        assert len(times) == 2
        assert column(kernel, name) == pytest.approx(times, abs=0.2)


def test_quantities_of_applications_are_known_before_their_first_session() -> None:
    made = scenario(
        pages=f'start = "1s"\n{DRAWN}', calls=CALLS.replace('"constant"', '"exponential"')
    )
    quantities = ["page_loads.pages.load_s", "min(call.calls.mos)", "sessions.calls.duration_s"]
    study = bp.Study.make(
        name="sessions", scenario=made, quantities=quantities, replications=Replications(count=2)
    )
    means = study.run().means
    assert means["n"].to_list() == [2, 2, 2]
    with pytest.raises(bp.StudyError, match="pages"):
        bp.Study.make(
            name="sessions",
            scenario=made,
            quantities=["page_loads.calls.load_s"],
            replications=Replications(count=1),
        )
