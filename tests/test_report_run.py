"""The page of a run: traces, modems, page load times, windows, legs and limits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bentpipe import Scenario, run
from bentpipe.numbers import NONE
from bentpipe.plots import Figure, sequence
from bentpipe.plots.sequence import Trace as Connection
from bentpipe.report.kernel import kernel_summary, quality_table
from bentpipe.report.page import Page, Table
from bentpipe.report.run import run_page
from conftest import EXAMPLES, SMALL

if TYPE_CHECKING:
    from pathlib import Path

DISH = """\
name = "dish"
duration = "60s"

[[link]]
between = ["server", "dish"]
trace = {trace}

[[flow]]
from = "server"
to = "dish"
controller = "cubic"
traffic = {{ bulk = "unlimited" }}

[record]
interval = "500ms"
"""
LOG = (
    '{ file = "dish.csv", columns = { t_s = "Timestamp", rate_mbps = "Down [Mbps]",'
    ' rtt_ms = "RTT [ms]", loss_percent = "Loss [%]" } }'
)
ACM = """\
name = "acm"
duration = "200s"

[[link]]
between = ["gateway", "client"]
delay = "250ms"
backward = { rate = "2Mbit/s" }
forward = { channel = { es_n0 = 14.0, modem = { name = "dvb-s2", bandwidth = 2e6 }, \
attenuation = "rain.csv" } }

[[flow]]
from = "gateway"
to = "client"
controller = "cubic"
traffic = { bulk = "unlimited" }

[record]
interval = "1s"
"""


def page_of(tmp_path: Path, text: str, **sets: Any) -> Page:
    """The page of a run of a scenario in this folder."""
    (tmp_path / "scenario.toml").write_text(text)
    scenario = Scenario.load(tmp_path / "scenario.toml")
    run(scenario.with_(sets) if sets else scenario).save(tmp_path / "run")
    return run_page(tmp_path / "run")


def figure(page: Page, name: str) -> Figure:
    """A figure of a page."""
    (found,) = (one for one in page.figures if one.name == name)
    return found


def table(page: Page, name: str) -> Table:
    """A table of a page."""
    (found,) = (
        block
        for section in page.sections
        for block in section.blocks
        if isinstance(block, Table) and block.name == name
    )
    return found


def shaded(drawn: Figure) -> list[tuple[float, float]]:
    """The shaded times of a figure over time."""
    held = drawn.specification["datasets"].values()
    return [(value["x"], value["x2"]) for values in held for value in values if "x2" in value]


@pytest.fixture
def log(tmp_path: Path) -> None:
    """A log: ISO times, a rate that rises, an outage from 40 to 43 s, a gap of the RTT."""
    rows = ["Timestamp,Down [Mbps],RTT [ms],Loss [%]"]
    for t in range(61):
        rate = 0 if 40 <= t < 43 else 20 + t
        rtt = "" if t == 10 else f"{40 + t % 10}"
        rows.append(f"2024-03-05T10:{t // 60:02d}:{t % 60:02d}Z,{rate},{rtt},0.01")
    (tmp_path / "dish.csv").write_text("\n".join(rows) + "\n")


@pytest.mark.usefixtures("log")
def test_a_trace_has_curves_of_its_rate_and_delay(tmp_path: Path) -> None:
    page = page_of(tmp_path, DISH.format(trace=LOG))
    rate, delay = figure(page, "trace-rate"), figure(page, "trace-delay")
    assert list(rate.series) == ["server-dish (both directions)"]
    at = dict(rate.data.select("x", "y").iter_rows())
    assert (at[0.0], at[39.0], at[40.0], at[43.0]) == (20, 59, 0, 63)
    assert "rate (Mbit/s)" in str(rate.specification)
    # Half of the RTT, and a missing value is that of the row before.
    delays = dict(delay.data.select("x", "y").iter_rows())
    assert (delays[9.0], delays[10.0], delays[11.0]) == (24.5, 24.5, 20.5)
    assert "delay (ms)" in str(delay.specification)


@pytest.mark.usefixtures("log")
def test_outages_of_a_trace_are_shaded_in_all_figures(tmp_path: Path) -> None:
    page = page_of(tmp_path, DISH.format(trace=LOG))
    for name in ("cwnd", "goodput", "trace-rate"):
        assert shaded(figure(page, name)) == [(40, 43)], name


def test_a_trace_that_loops_is_repeated(tmp_path: Path) -> None:
    rows = ["t_s,rate_bps,delay_ms", "0,1000000,20", "5,2000000,30", "10,3000000,20"]
    (tmp_path / "dish.csv").write_text("\n".join(rows) + "\n")
    page = page_of(tmp_path, DISH.format(trace='{ file = "dish.csv", loop = true }'))
    drawn = figure(page, "trace-rate").data
    steps = drawn.filter(drawn["y"] == 2)["x"].to_list()
    assert steps[:3] == [5, 20, 35]


def test_a_trace_of_deliveries_and_delays_is_drawn(tmp_path: Path) -> None:
    # One packet of 1500 bytes each 10 ms are 1.2 Mbit/s, for 100 s.
    (tmp_path / "up.trace").write_text("\n".join(str(10 * n) for n in range(1, 10_001)) + "\n")
    (tmp_path / "delays.txt").write_text("\n".join(["20"] * 500 + ["40"] * 9500) + "\n")
    trace = '{ deliveries = "up.trace", delays = "delays.txt" }'
    page = page_of(tmp_path, DISH.format(trace=trace))
    rate = figure(page, "trace-rate").data
    assert rate.filter(rate["x"].is_between(1, 55))["y"].to_list() == pytest.approx(
        [1.2] * rate.filter(rate["x"].is_between(1, 55)).height, rel=0.03
    )
    delay = dict(figure(page, "trace-delay").data.select("x", "y").iter_rows())
    assert delay[0.0] == 20
    assert delay[60.0] == 40


def test_a_modem_has_its_rate_in_megabits_and_its_outages_shaded(tmp_path: Path) -> None:
    rain = ["t_s,attenuation_db"]
    rain += [f"{t},{25 if 80 <= t <= 110 else 0}" for t in range(0, 202, 2)]
    (tmp_path / "rain.csv").write_text("\n".join(rain) + "\n")
    page = page_of(tmp_path, ACM)
    rate = figure(page, "acm-rate_bps")
    assert "rate (Mbit/s)" in str(rate.specification)
    highest = rate.data["y"].max()
    assert isinstance(highest, float)
    assert 1 < highest < 10
    totals = table(page, "acm-table")
    assert ("mean rate", "Mbit/s") in [(one.label, one.unit) for one in totals.columns]
    ((start, end),) = shaded(rate)
    lost = totals.rows[0][-1].value
    assert lost is not None
    # The samples are each second.
    assert end - start == pytest.approx(lost, abs=2)
    assert 78 <= start <= 82


def test_goodput_above_the_rate_is_explained_in_place(tmp_path: Path) -> None:
    lossy = {"link.0.channel": {"per": 0.02}, "record.interval": "50ms"}
    scenario = Scenario.parse(SMALL)
    recorded = run(scenario.with_(lossy))
    recorded.save(tmp_path / "lossy")
    rate = scenario.explain().flows[0].figures.bottleneck_bps
    above = int((recorded.series["goodput_bps"] > 1.02 * rate).sum())
    assert above > 0
    notes = " ".join(figure(run_page(tmp_path / "lossy"), "goodput").notes)
    assert f"{above} sample" in notes
    assert "out of order" in notes
    run(scenario.with_({"record.interval": "1s", "link.0.channel": {"per": 0}})).save(
        tmp_path / "calm"
    )
    assert "out of order" not in str(figure(run_page(tmp_path / "calm"), "goodput").notes)


def test_page_load_times_are_in_the_summary_and_a_table(tmp_path: Path) -> None:
    scenario = Scenario.load(EXAMPLES / "geo-web.toml").with_({"duration": "120s"})
    recorded = run(scenario)
    recorded.save(tmp_path / "web")
    page = run_page(tmp_path / "web")
    times = recorded.pages["response_s"].drop_nulls()
    median = times.quantile(0.5, "linear")
    (said,) = [line for line in page.summary if "page load time" in line]
    assert f"{median:.3f} s at the median" in said
    found = table(page, "pages-table")
    values = [cell.value for cell in found.rows[0]][1:]
    assert values[0] == len(times)
    assert values[3] == pytest.approx(median)
    assert [one.label for one in found.columns][-3:] == ["median", "p95", "maximum"]
    plain = run(Scenario.parse(SMALL))
    plain.save(tmp_path / "plain")
    assert not any("page load" in line for line in run_page(tmp_path / "plain").summary)


class Graph:
    """A graph of a short connection with an advertised window of 6 MB."""

    sent = ((0.0, 0, 1000), (1.0, 1000, 30_000))
    again = ((1.5, 1000, 2000),)
    sacks = ()
    acked = ((0.5, 1000), (2.0, 30_000))
    edge = ((0.0, 6_000_000), (2.0, 6_030_000))
    reduced = False


def test_the_window_does_not_squeeze_the_time_sequence_graph() -> None:
    drawn = sequence.whole("s", "Sequence", [Connection(Graph())], None)  # type: ignore[arg-type, unused-ignore]
    domains = [
        layer["encoding"]["y"]["scale"]["domain"]
        for layer in drawn.specification["layer"]
        if "domain" in layer["encoding"]["y"].get("scale", {})
    ]
    assert domains
    assert all(low >= 0 and high < 40 for low, high in domains)
    assert sequence.FAR in drawn.notes
    near = Graph()
    near.edge = ((0.0, 20_000), (2.0, 31_000))
    assert sequence.FAR not in sequence.whole("s", "", [Connection(near)], None).notes  # type: ignore[arg-type, unused-ignore]


def test_legs_stand_below_their_flow_with_what_held_each_back(tmp_path: Path) -> None:
    scenario = Scenario.load(EXAMPLES / "split-proxy.toml")
    recorded = run(scenario)
    recorded.save(tmp_path / "split")
    page = run_page(tmp_path / "split")
    names = [section.name for section in page.sections]
    assert names.index("legs") == names.index("flows") + 1
    whole, first, last = table(page, "legs-table").rows[:3]
    assert whole[1].text.startswith("end to end, ")
    assert whole[1].text.split()[-3::2] == [first[1].text.split()[0], last[1].text.split()[-1]]
    limits = table(page, "limits-table")
    held = {row[0].text: [cell.value for cell in row[2:]] for row in limits.rows}
    legs = recorded.recording.table("legs")
    for row in legs.iter_rows(named=True):
        shares = held[f"{row['flow']}: {row['from']} to {row['to']}"]
        assert shares[1] == row["limited_by_congestion_window"]
        assert sum(share or 0 for share in shares) == pytest.approx(1, abs=0.01)


def test_a_flow_has_one_colour_in_all_figures_of_its_run(tmp_path: Path) -> None:
    several = {"flow.0.count": 3, "record.interval": "100ms"}
    run(Scenario.parse(SMALL).with_(several)).save(tmp_path / "run")
    page = run_page(tmp_path / "run")
    seen: dict[str, set[int]] = {}
    for drawn in page.figures:
        for series, look in zip(drawn.series, drawn.looks, strict=False):
            for thing in page.things:
                if thing in series:
                    seen.setdefault(thing, set()).add(look.colour)
    assert len(seen) >= 4
    assert all(len(colours) == 1 for colours in seen.values()), seen
    assert len(set.union(*seen.values())) == len(seen)


def test_moves_of_a_switch_are_events_of_the_page(tmp_path: Path) -> None:
    text = (EXAMPLES / "geo-and-leo.toml").read_text(encoding="utf-8")
    page = page_of(tmp_path, text)
    events = [[cell.text for cell in row] for row in table(page, "events").rows]
    assert events == [["30", "ship and hub: move to geo"], ["60", "ship and hub: move to leo"]]
    names = figure(page, "switch-counts").data["series"].unique().to_list()
    assert "packets, ship, hub, leo" in names


def test_moves_by_loss_are_those_that_the_series_shows(tmp_path: Path) -> None:
    text = (EXAMPLES / "geo-and-leo.toml").read_text(encoding="utf-8")
    outage = [{"at": "30s", "outage": "5s"}]
    switch = {"between": ["ship", "hub"], "via": ["leo", "geo"], "bfd": {"hold": "5s"}}
    page = page_of(tmp_path, text, **{"switch": [switch], "link.2.event": outage})
    events = [[cell.text for cell in row] for row in table(page, "events").rows]
    moved = [float(at) for at, words in events if words.endswith("to geo")]
    # A session is down after three intervals of at most 300 ms, and is sampled each second.
    assert moved == [31.0]
    back = [float(at) for at, words in events if words.endswith("to leo")]
    assert back
    assert 40.0 <= back[0] <= 43.0


def test_counters_of_a_middlebox_have_a_line_each(tmp_path: Path) -> None:
    text = (EXAMPLES / "geo-download.toml").read_text(encoding="utf-8")
    snoop = [{"name": "gateway", "middlebox": "snoop"}]
    page = page_of(tmp_path, text, **{"node": snoop, "record.interval": "1s"})
    names = figure(page, "middlebox-counts").data["series"].unique().to_list()
    counters = {name.removeprefix("packets, gateway, ") for name in names}
    assert {"received", "sent"} <= counters
    assert not any(one.name == "middlebox-t_s" for one in page.figures)


def test_a_kernel_run_without_packets_has_no_delay_error() -> None:
    quality: Any = SimpleNamespace(
        release="6.1", valid=True, timed_packets=0, lost_packets=0, stray_packets=0,
        delay_error_p50_ms=0.0, delay_error_p99_ms=0.0, delay_error_max_ms=0.0, tolerance_ms=1.0,
    )  # fmt: skip
    assert "No packet crossed a link, so its accuracy is unknown" in kernel_summary(quality)
    errors = [row[1].text for row in quality_table(quality).rows[:3]]
    assert errors == [NONE] * 3
    quality.timed_packets = 5
    assert "The run is valid" in kernel_summary(quality)
    assert quality_table(quality).rows[0][1].text == "0.000"
