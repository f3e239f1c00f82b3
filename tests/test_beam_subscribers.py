"""Beams from scenario to result: plans, classes, FQ-CoDel, weather cells, series and pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe import beams

ROOT = Path(__file__).resolve().parent.parent
BEAM = """
duration = "60s"

[[link]]
between = ["server", "gateway"]
rate = "1Gbit/s"
delay = "10ms"
queue = { packets = 20000 }

[[beam]]
name = "spot"
gateway = "gateway"
forward = { modem = { name = "dvb-s2", bandwidth = 12e6 }, buffer = "500kB" }
return = { carriers = 6 }

[[beam.group]]
name = "home"
terminals = 10
es_n0 = 13.0
return_es_n0 = 9.0
fca = true

[[flow]]
name = "bulk"
from = "server"
to = "home"
controller = "cubic"
transport = { receive_buffer = "4MB" }
traffic = { bulk = "unlimited" }

[[flow]]
name = "call"
from = "server"
to = "home"
start = "10s"
transport = { protocol = "udp" }
traffic = { call = { duration = "20s" } }
"""
"""Ten terminals that download over 33 Mbit/s, and have a call each."""
CLASS = 'class = [{ name = "calls", flows = ["call"] }]\n'
CELLS = "time_s,north,south\n0,0,0\n20,0,0\n30,0,11\n70,0,11\n"
"""Rain in the south from second 30 on."""


def with_beam(keys: str, group: str = "", forward: str = "") -> str:
    """The beam with more keys of the beam, of its group and of its forward carrier."""
    text = BEAM.replace('gateway = "gateway"\n', f'gateway = "gateway"\n{keys}', 1)
    more = f", {forward}" if forward else ""
    text = text.replace('buffer = "500kB" }', f'buffer = "500kB"{more} }}')
    return text.replace("fca = true\n", f"fca = true\n{group}\n")


def ran(text: str, *sets: str) -> beams.Answer:
    """What the groups of a scenario got."""
    scenario = bp.Scenario.parse(text)
    return beams.answer(
        scenario, bp.run(scenario.with_(dict(one.split("=") for one in sets))).recording
    )


def test_plans_hold_for_real_tcp() -> None:
    plan = 'plan = { down = { rate = "2Mbit/s", burst = "50kB" } }'
    text = with_beam("", plan).replace('duration = "60s"', 'duration = "200s"')
    (forward, _) = ran(text).groups
    # TCP starts slowly, and recovers from the losses of the queue before the plan.
    assert forward["p50_rate_bps"] == pytest.approx(2e6, rel=0.015)
    assert forward["p5_rate_bps"] > 1.7e6
    assert forward["p95_rate_bps"] <= 2e6 + 50e3 * 8 / 200


def test_an_allowance_that_is_used_up_leaves_the_reduced_rate() -> None:
    allowance = '{ volume = "10MB", window = "1h", reduced_rate = "500kbit/s", used = "10MB" }'
    plan = f'plan = {{ down = {{ rate = "5Mbit/s", allowance = {allowance} }} }}'
    (forward, _) = ran(with_beam("", plan)).groups
    # The bucket of the reduced rate is full at the start: that is at most 625 kB.
    assert forward["p50_rate_bps"] < 500e3 + 625e3 * 8 / 60
    assert forward["p50_rate_bps"] > 400e3


def test_plans_limit_uploads() -> None:
    text = with_beam("", 'plan = { up = { rate = "100kbit/s", burst = "20kB" } }')
    text = text.replace(
        'from = "server"\nto = "home"\ncontroller', 'from = "home"\nto = "server"\ncontroller'
    )
    (_, back) = ran(text).groups
    assert back["p95_rate_bps"] <= 100e3 + 20e3 * 8 / 60
    assert back["p50_rate_bps"] > 80e3


def test_a_class_keeps_calls_good_while_all_download() -> None:
    alike, strict = (ran(with_beam(keys)) for keys in ("", CLASS))
    before, after = (sorted(one.users["home"].mos) for one in (alike, strict))
    assert len(before) == len(after) == 10
    assert before[5] < 2.5 < 3.0 < after[0]
    delays = {(row["class"], row["direction"]): row["p95_delay_ms"] for row in strict.classes}
    # Half of a megabit waits before the others; the frame in the air before calls.
    assert delays["calls", "forward"] < 30 < 200 < delays["other", "forward"]


def test_fq_codel_keeps_calls_good_too() -> None:
    tail, managed = (ran(with_beam("", forward=aqm)) for aqm in ("", 'aqm = "fq-codel"'))
    assert sorted(tail.users["home"].mos)[5] < 2.5 < 3.0 < sorted(managed.users["home"].mos)[5]
    assert managed.groups[0]["dropped_packets"] > 0


def test_weights_divide_the_carrier() -> None:
    other = BEAM[BEAM.index("[[flow]]") : BEAM.index('[[flow]]\nname = "call"')].replace(
        'bulk"\nfrom', 'second"\nfrom'
    )
    pairs = (("one", "bulk", 3), ("two", "second", 1))
    listed = [f'{{ name = "{name}", flows = ["{flow}"], weight = {w} }}' for name, flow, w in pairs]
    classes = f"class = [{', '.join(listed)}]\n"
    scenario = bp.Scenario.parse(with_beam(classes) + other)
    recording = bp.run(scenario).recording
    sent = dict.fromkeys(("bulk", "second"), 0)
    for flow in recording.flows:
        name = flow.flow.rpartition(".")[0]
        if name in sent:
            sent[name] += flow.bytes
    assert sent["bulk"] / sent["second"] == pytest.approx(3, rel=0.15)


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    """A scenario over two weather cells."""
    (tmp_path / "cells.csv").write_text(CELLS)
    path = tmp_path / "weather.toml"
    text = with_beam('rain = "cells.csv"\n')
    path.write_text(
        text.replace('duration = "60s"', 'duration = "60s"\nrecord = { interval = "1s" }')
    )
    return path


def test_terminals_in_a_wet_cell_send_more_robust_frames(weather: Path) -> None:
    scenario = bp.Scenario.load(weather)
    recording = bp.run(scenario).recording
    cells = recording.table("beam_cell_series")
    assert cells.filter(cells["t_s"] == 50)["terminals"].to_list() == [5, 5]
    wet = cells.filter((cells["cell"] == "south") & (cells["t_s"] == 50)).row(0, named=True)
    assert (wet["attenuation_db"], wet["modcod"]) == (11.0, "QPSK 1/2")
    airtime = recording.table("beam_modcod_series")
    of_wet = airtime.filter(airtime["modcod"] == wet["modcod"])
    assert of_wet.filter(of_wet["t_s"] < 25).is_empty()
    # Equal rates: the wet half takes most of the carrier.
    assert of_wet.filter(of_wet["t_s"] > 40)["airtime"].to_numpy().mean() > 0.6
    series = recording.table("beam_series")
    totals = recording.table("beams").row(0, named=True)
    # The frame that starts at the end of the run is in the totals only: 6 carriers with 49 slots.
    for column in ("cra_used_slots", "rate_slots", "volume_slots", "fca_used_slots"):
        assert 0 <= totals[column] - series[column].sum() <= 6 * 49, column
    assert totals["rate_slots"] > 10_000


def test_a_group_can_be_in_one_cell(weather: Path) -> None:
    scenario = bp.Scenario.load(weather, ["beam.spot.group.home.cell=south"])
    assert "1 weather cells" in str(scenario.explain())
    recording = bp.run(scenario).recording
    assert set(recording.table("beam_cell_series")["cell"]) == {"south"}


REFUSED = [
    ('class = [{ name = "calls", flows = ["cal"] }]\n', "", "", 'did you mean "call"'),
    ('class = [{ name = "other", flows = ["call"] }]\n', "", "", "beam[0].class[0].name"),
    (CLASS.replace('"call"', '"call", "call"'), "", "", "a flow of one class"),
    (
        CLASS.replace("] }", '], weight = 2 }, { name = "b", flows = ["bulk"] }'),
        "", "", "a weight for each class",
    ),
    ("", 'plan = { down = { rate = "2Mbit/s", burst = "1kB" } }', "", "room for a packet of"),
    (
        "",
        'plan = { down = { rate = "2Mbit/s", allowance = { volume = "1GB", window = "1min",'
        ' reduced_rate = "1Mbit/s" } } }',
        "", "the plan could never use it up",
    ),
    (
        "",
        'plan = { down = { rate = "2Mbit/s", allowance = { volume = "1MB", window = "1h",'
        ' reduced_rate = "2Mbit/s" } } }',
        "", "a rate below",
    ),
    (
        "",
        'plan = { down = { rate = "2Mbit/s", allowance = { volume = "1MB", window = "10h",'
        ' reduced_rate = "1Mbit/s" } } }',
        "", "at least",
    ),
    (
        "",
        'plan = { up = { rate = "2Mbit/s", allowance = { volume = "1MB", window = "1h",'
        ' reduced_rate = "1Mbit/s", used = "2MB" } } }',
        "", "at most the volume",
    ),
    ("", 'plan = { down = { rate = "2Mbit/s" } }', 'scheduler = "fifo"', "equal-rate"),
    ("", "", 'scheduler = "fifo", aqm = "fq-codel"', "equal-rate"),
    ("", "", 'aqm = "codel"', "fq-codel"),
    ("", 'cell = "north"', "", "`rain` of the beam with it"),
    ('rain = "cells.csv"\n', "attenuation = 3.0", "", "no `attenuation` with `rain`"),
    ('rain = "cells.csv"\n', 'cell = "nort"', "", 'did you mean "north"'),
    ('rain = "cell.csv"\n', "", "", "cells.csv"),
    ('rain = "wrong.csv"\n', "", "", "the column `time_s`"),
    ('rain = "short.csv"\n', "", "", "`duration`"),
    ('rain = "text.csv"\n', "", "", "an attenuation in dB"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "group", "forward", "expected"), REFUSED)
def test_bad_input_has_place_and_expectation(
    tmp_path: Path, keys: str, group: str, forward: str, expected: str
) -> None:
    (tmp_path / "cells.csv").write_text(CELLS)
    (tmp_path / "wrong.csv").write_text(CELLS.replace("time_s", "t"))
    (tmp_path / "short.csv").write_text("time_s,a\n0,1\n10,1\n")
    (tmp_path / "text.csv").write_text("time_s,a\n0,1\n10,wet\n")
    path = tmp_path / "beam.toml"
    path.write_text(with_beam(keys, group, forward))
    with pytest.raises(bp.ScenarioError) as refused:
        bp.Scenario.load(path)
    assert expected in str(refused.value)
    assert re.search(r"(beam\.toml|\.csv):\d+", str(refused.value))


def test_explain_names_plans_and_classes() -> None:
    plan = (
        'plan = { down = { rate = "5Mbit/s", allowance = { volume = "10MB", window = "1h",'
        ' reduced_rate = "1Mbit/s", used = "5MB" } }, up = { rate = "1Mbit/s" } }'
    )
    explanation = bp.Scenario.parse(with_beam(CLASS, plan)).explain()
    text = " ".join(str(explanation).split())
    assert "classes: strict, calls, other" in text
    # 5 MB at 5 Mbit/s less the leak of 22 kbit/s.
    assert "plan down 5Mbit/s for 8s, then 1Mbit/s; plan up 1Mbit/s" in text
    (beam,) = explanation.to_dict()["beams"]
    assert beam["oversubscription"] == pytest.approx(50e6 / beam["equal_rate_bps"])


def test_run_prints_entries_and_not_each_flow(tmp_path: Path) -> None:
    path = tmp_path / "beam.toml"
    path.write_text(BEAM)
    status, printed = command("run", str(path))
    assert status == 0
    lines = printed.splitlines()
    assert sum(line.lstrip().startswith("bulk") for line in lines) == 1
    assert not any("bulk.3" in line or "home-3" in line for line in lines)
    _, printed = command("run", str(path), "--json")
    assert len(json.loads(printed)["flows"]) == 20


def test_the_page_of_a_beam_has_its_figures(weather: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert command("run", str(weather), "--out", str(folder))[0] == 0
    page = tmp_path / "page.html"
    status, printed = command("report", str(folder), "--out", str(page))
    assert status == 0, printed
    html = page.read_text(encoding="utf-8")
    for title in (
        "Airtime of spot by modulation and code",
        "Slots of spot by category since the previous sample",
        "Terminals by their mean delay in the queue",
        "Attenuation of the weather cells in dB",
    ):
        assert title in html, title


def test_the_search_takes_bounds_of_calls_and_videos(tmp_path: Path) -> None:
    scenario = bp.Scenario.parse(with_beam(CLASS).replace('"60s"', '"35s"'))
    bound = [beams.Bound("mos_p5", 2.0)]
    found = beams.find_terminals(scenario, "home", bound, (1, 3), [1])
    assert found.at_most
    with pytest.raises(beams.NeverMetError, match=r"mos_p5=4\.4"):
        beams.find_terminals(scenario, "home", [beams.Bound("mos_p5", 4.4)], (1, 3), [1])


def command(*arguments: str) -> tuple[int, str]:
    """Exit status and output of a command."""
    done = subprocess.run(
        [sys.executable, "-m", "bentpipe", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
