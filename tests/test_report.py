"""`bentpipe report`: pages of runs, studies and reproductions, in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from bentpipe import Recording, Scenario, run
from bentpipe.errors import BentpipeError
from bentpipe.plots import Figure
from bentpipe.report.command import page_of, write_report
from bentpipe.report.page import Table
from bentpipe.report.render import GENERATOR
from bentpipe.report.run import run_page
from bentpipe.report.several import flows_table
from bentpipe.report.source import recognise
from conftest import SMALL
from kills import BENTPIPE, FEW_SEEDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, ConsoleMessage
    from playwright.sync_api import Page as Tab

    from conftest import Bentpipe

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="missing: chromium")

KINDS = {"run": 13, "study": 5, "papers": 9, "compare": 5, "evaluate": 5}
"""The kinds of folders, with the number of figures that their pages have here."""

STUDY = """\
title = "Two controllers"
scenario = "small.toml"

[parameters]
controller = { path = "flow.0.controller", values = ["newreno", "cubic"] }
per = { path = "link.0.channel.per", values = [0.001, 0.01, 0.1] }

[replications]
count = 3

[[quantity]]
name = "flow.goodput_bps"
label = "goodput"

[[quantity]]
name = "link.forward.utilisation"

[[comparison]]
parameter = "controller"
baseline = "newreno"
"""


def bentpipe_in(folder: Path, *arguments: str, program: tuple[str, ...] = BENTPIPE) -> None:
    """The command line, which must succeed."""
    command = [*program, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


COMMANDS: dict[str, list[str]] = {
    "run": [
        *("run", "small.toml", "--set", "flow.0.count=3", "--pcap"),
        *("--set", 'link.0.event=[{ at = "4s", every = "4s", outage = "100ms" }]'),
    ],
    "study": ["study", "study.toml"],
    "papers": ["papers", "run", "luglio"],
    "compare": [
        *("compare", "--link", "geo-ka", "--rate", "1Mbit/s", "--rtt", "100ms"),
        *("--replications", "3", "--controllers", "hybla,jersey"),
    ],
    "evaluate": ["evaluate", "hybla", "--quick", "--items", "wireless,varying-delay"],
}
"""The commands that make the kinds of folders."""


@dataclass
class Folders:
    """A folder of each kind with its page, made when a test asks for it."""

    place: Path
    made: set[str] = field(default_factory=set)

    def __truediv__(self, path: str) -> Path:
        """A path in a folder, whose first part is the kind."""
        kind = path.split("/")[0]
        if kind not in self.made:
            program = (sys.executable, "-c", FEW_SEEDS) if kind == "papers" else BENTPIPE
            bentpipe_in(self.place, *COMMANDS[kind], "--out", kind, program=program)
            write_report([self.place / kind], None, None)
            self.made.add(kind)
        return self.place / path


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """A run, a study, a reproduction, a comparison and an evaluation, with their pages."""
    made = tmp_path_factory.mktemp("reports")
    (made / "small.toml").write_text(SMALL)
    (made / "study.toml").write_text(STUDY)
    return Folders(made)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@dataclass
class Heard:
    """What a tab complained about, and what it asked for."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def listen(self, said: ConsoleMessage) -> None:
        """Keep what the console says of errors."""
        if said.type == "error":
            self.errors.append(said.text)


@contextmanager
def tab(browser: Browser, page: Path, **options: Any) -> Iterator[tuple[Tab, Heard]]:
    """The page in a tab, drawn."""
    context = browser.new_context(**options)
    opened, heard = context.new_page(), Heard()
    opened.on("console", heard.listen)
    opened.on("pageerror", lambda error: heard.errors.append(str(error)))
    opened.on("request", lambda request: heard.requests.append(request.url))
    opened.goto(page.as_uri())
    opened.wait_for_selector("html[data-ready]", timeout=20_000)
    yield opened, heard
    context.close()


DRAWN = "[...document.querySelectorAll('figure')].every(one => one.querySelector('.plot svg'))"


def marks(opened: Tab) -> list[int]:
    """How many points, lines, rules or bars each figure has drawn."""
    counted: list[int] = opened.evaluate(
        "[...document.querySelectorAll('figure')].map(figure => "
        "figure.querySelectorAll('.plot svg [aria-roledescription], .plot svg path').length)"
    )
    return counted


@needs_browser
@pytest.mark.parametrize(
    ("kind", "figures"),
    [
        pytest.param(kind, figures, marks=[pytest.mark.nightly] if kind == "papers" else [])
        for kind, figures in KINDS.items()
    ],
)
def test_a_page_can_be_clicked_through_and_asks_nobody(
    browser: Browser, folders: Folders, kind: str, figures: int
) -> None:
    page = folders / kind / "report.html"
    with tab(browser, page, color_scheme="light") as (opened, heard):
        # Figures in folded parts are drawn when these are opened.
        for details in opened.query_selector_all("details.folded"):
            details.query_selector("summary").click()  # type: ignore[union-attr]
        opened.wait_for_function(DRAWN, timeout=20_000)
        assert len(marks(opened)) == figures
        assert all(count > 5 for count in marks(opened))
        background = "getComputedStyle(document.body).backgroundColor"
        light = opened.evaluate(background)
        opened.click("#theme")
        assert opened.evaluate(background) != light
        for details in opened.query_selector_all("details:not(.folded)"):
            before = details.get_property("open").json_value()
            details.query_selector("summary").click()  # type: ignore[union-attr]
            assert details.get_property("open").json_value() != before
        several = opened.locator("figure", has=opened.locator(".legend button:nth-child(2)")).first
        drawn = several.locator(".plot svg .role-mark > *").count()
        several.locator(".legend button").first.click()
        opened.wait_for_timeout(200)
        assert several.locator(".plot svg .role-mark > *").count() < drawn
        zooming = opened.locator(".tools button[data-do=in]:not([hidden])")
        for button in (zooming, opened.locator(".tools button[data-do=reset]:not([hidden])")):
            if button.count():
                button.first.click()
        with opened.expect_download() as download:
            opened.locator(".tools button[data-do=save]").first.click()
        assert download.value.suggested_filename.endswith(".svg")
        # A file has colours of its own instead of variables of the page.
        saved = download.value.path().read_text()
        assert "var(--" not in saved
        assert re.search(r'"#[0-9A-Fa-f]{6}"', saved)
        assert heard.errors == []
        outside = [
            url for url in heard.requests if not url.startswith((page.as_uri(), "data:", "blob:"))
        ]
        assert outside == []


SPLIT = """\
duration = "60s"
record = { interval = "100ms" }

[[node]]
name = "gateway"
proxy = { satellite = { towards = ["terminal"], controller = "hybla" } }

[[link]]
between = ["server", "gateway"]
rate = "100Mbit/s"
delay = "10ms"

[[link]]
between = ["gateway", "terminal"]
rate = "10Mbit/s"
delay = "250ms"

[[flow]]
from = "server"
to = "terminal"
controller = "cubic"
traffic = { download = "2MB" }
"""


def test_a_page_has_the_legs_of_split_flows_and_the_flow_from_end_to_end(tmp_path: Path) -> None:
    (tmp_path / "split.toml").write_text(SPLIT)
    bentpipe_in(tmp_path, "run", "split.toml", "--out", "split")
    page = run_page(tmp_path / "split")
    (section,) = (one for one in page.sections if one.name == "legs")
    (totals,) = (block for block in section.blocks if isinstance(block, Table))
    legs = ["server to gateway", "gateway to terminal"]
    # The flow from end to end is above its legs, and its limits are beside those of the legs.
    assert [row[1].text for row in totals.rows] == ["end to end, server to terminal", *legs]
    figures = {block.name: block for block in section.blocks if isinstance(block, Figure)}
    assert list(figures) == ["legs-bytes", "legs-cwnd", "legs-srtt", "legs-held"]
    name = page_flow(tmp_path / "split")
    labels = [f"{name}: {legs[0]}, cubic", f"{name}: {legs[1]}, hybla"]
    assert list(figures["legs-bytes"].series) == [*labels, f"{name}: end to end"]
    assert list(figures["legs-srtt"].series) == labels
    # The gateway is at the end of the first leg, and the last one holds nothing.
    assert list(figures["legs-held"].series) == labels[:1]
    held = figures["legs-held"].data["y"].max()
    assert isinstance(held, float)
    assert held > 0
    # Without a split there is no such section, and the table is not one of mechanisms.
    blocks = [block for one in page.sections if one.name == "mechanisms" for block in one.blocks]
    assert "legs-table" not in {block.name for block in blocks if isinstance(block, Table)}
    (tmp_path / "plain.toml").write_text(SMALL)
    bentpipe_in(tmp_path, "run", "plain.toml", "--out", "plain")
    assert "legs" not in {one.name for one in run_page(tmp_path / "plain").sections}


def page_flow(folder: Path) -> str:
    """The name of the only flow of a saved run."""
    (flow,) = Recording.load(folder).flows
    return flow.flow


@needs_browser
def test_panels_over_time_zoom_together_and_have_the_same_marks(
    browser: Browser, folders: Folders
) -> None:
    labels = "[...figure.querySelectorAll('.role-axis-label text')].map(text => text.textContent)"
    axis = f"figure => {labels}.sort()"
    with tab(browser, folders / "run/report.html") as (opened, heard):
        panels = ["cwnd", "queue", "losses", "sequence-0"]
        whole = {name: opened.eval_on_selector(f"#figure-{name}", axis) for name in panels}
        opened.locator("#figure-cwnd button[data-do=in]").click()
        opened.wait_for_timeout(300)
        for name in panels:
            figure = opened.locator(f"#figure-{name}")
            assert opened.eval_on_selector(f"#figure-{name}", axis) != whole[name], name
            # An outage each 4 s, and lost packets as ticks.
            assert figure.locator("svg .mark-rule line").count() >= 2
            assert figure.locator("svg .mark-rect path").count() >= 2
        opened.locator("#figure-queue button[data-do=reset]").click()
        opened.wait_for_timeout(300)
        assert {n: opened.eval_on_selector(f"#figure-{n}", axis) for n in panels} == whole
        assert heard.errors == []
    page = (folders / "run/report.html").read_text()
    assert "server to client and client to server: outage of 100" in page
    assert "Time-sequence graph around the first retransmission" in page


@needs_browser
def test_a_row_of_a_paper_leads_to_its_figure(browser: Browser, folders: Folders) -> None:
    with tab(browser, folders / "papers/report.html") as (opened, _):
        links = opened.locator("#luglio-table tbody a.figure")
        assert links.count() > 3
        for link in links.all():
            assert opened.locator(f"figure{link.get_attribute('href')}").count() == 1


@needs_browser
def test_rows_are_filtered(browser: Browser, folders: Folders) -> None:
    with tab(browser, folders / "papers/report.html") as (opened, _):
        table = opened.locator("#luglio-table")
        rows = table.locator("tbody tr:visible")
        everything = rows.count()
        table.locator(".filter select").first.select_option("contradicted")
        contradicted = rows.count()
        assert 0 < contradicted < everything
        table.locator(".filter input").fill("no such row")
        assert rows.count() == 0


@needs_browser
@pytest.mark.parametrize("kind", KINDS)
def test_a_narrow_screen_need_not_be_scrolled_sideways_and_paper_is_light(
    browser: Browser, folders: Folders, kind: str
) -> None:
    narrow = {"width": 400, "height": 800}
    with tab(browser, folders / kind / "report.html", viewport=narrow, color_scheme="dark") as (
        opened,
        heard,
    ):
        assert opened.evaluate("document.documentElement.scrollWidth") == 400
        opened.emulate_media(media="print")
        assert opened.evaluate("getComputedStyle(document.querySelector('main')).color") in {
            "rgb(0, 0, 0)",
            "rgb(27, 31, 36)",
        }
        assert opened.pdf()[:5] == b"%PDF-"
        assert heard.errors == []


def assert_headings(page: str, *expected: str) -> None:
    headings = [re.sub(r"<[^>]+>", " ", one) for one in re.findall(r"<th[ >].*?</th>", page, re.S)]
    for name in expected:
        assert any(name in " ".join(heading.split()) for heading in headings), name


def test_a_page_says_in_sentences_what_it_shows(folders: Folders) -> None:
    run = (folders / "run/report.html").read_text()
    assert "3 flows with newreno delivered" in run
    assert "no single segment" not in run
    assert_headings(run, "p95 RTT", "median RTT", "p95 queueing delay")
    assert "bentpipe run scenario.toml" in run
    study = (folders / "study/report.html").read_text()
    assert "controller over newreno, cubic; per over 0.001, 0.01, 0.1" in study
    assert "differences between variants are significant" in study
    assert not re.search(r"<(h2|h3|figcaption|caption)[^>]*>[^<]*(flow|link)\.", study)
    papers = (folders / "papers/report.html").read_text()
    reproduced = (
        "reproduced are 0 of 0 numbers (1 more undecided); 1 of 1 ranges; 2 of 3 statements"
    )
    assert f"{reproduced} in words (2 more undecided)." in papers
    assert "Contradicted by the paper itself: 1." in papers
    compare = (folders / "compare/report.html").read_text()
    assert "The link: 1 Mbit/s, RTT 100 ms" in compare
    assert "Safest when sharing with NewReno: " in compare
    command = "bentpipe compare --link geo-ka --rate 1Mbit/s --rtt 100ms --controllers hybla,jersey"
    assert f"{command} --replications 3</pre>" in compare
    evaluate = (folders / "evaluate/report.html").read_text()
    assert "Compared with newreno, hybla is better in" in evaluate
    assert "bentpipe evaluate hybla --items wireless,varying-delay --quick</pre>" in evaluate


def test_a_comparison_with_a_page_goes_on(folders: Folders) -> None:
    compare = json.loads((folders / "compare/compare.json").read_text())
    bentpipe_in(folders.place, *compare["command"][1:], "--out", "compare")
    assert json.loads((folders / "compare/compare.json").read_text()) == compare
    assert (folders / "compare/report.html").is_file()


def test_several_runs_are_drawn_together(bentpipe: Bentpipe, small: Path, tmp_path: Path) -> None:
    for controller in ("newreno", "hybla"):
        override = f"flow.0.controller={controller}"
        assert bentpipe("run", small, "--set", override, "--out", controller).returncode == 0
    write_report([tmp_path / "newreno", tmp_path / "hybla"], tmp_path / "both.html", None)
    page = (tmp_path / "both.html").read_text()
    assert page.count("<figure ") == 4
    assert '"series":["newreno","hybla"]' in page
    assert "hybla: one flow delivered 300" in page
    assert_headings(page, "p95 RTT", "median RTT")
    (tmp_path / "study").mkdir()
    (tmp_path / "study/study.json").write_text("{}")
    with pytest.raises(BentpipeError, match="must be runs, of `bentpipe run --out`"):
        write_report([tmp_path / "newreno", tmp_path / "study"], None, None)


def test_events_are_marked_when_the_seed_lets_them_happen(tmp_path: Path) -> None:
    text = f'phase = "random"\n{SMALL}'
    event = [{"at": "2s", "every": "9s", "outage": "100ms"}]
    scenario = Scenario.parse(text).with_({"link.0.event": event})
    run(scenario, seed=5).save(tmp_path / "run")
    delay_s = scenario.event_delay_s(5)
    assert delay_s > 0
    (table,) = [
        block
        for section in run_page(tmp_path / "run").sections
        for block in section.blocks
        if isinstance(block, Table) and block.name == "events"
    ]
    assert table.rows[0][0].value == pytest.approx(2 + delay_s)


def test_equal_folders_give_equal_pages(folders: Folders, tmp_path: Path) -> None:
    # By the command line, and in another process than the first.
    first = (folders / "study/report.html").read_bytes()
    bentpipe_in(folders.place, "report", "study", "--out", str(tmp_path / "again.html"))
    assert (tmp_path / "again.html").read_bytes() == first


def test_figures_are_files_for_papers(folders: Folders, tmp_path: Path) -> None:
    page, out = tmp_path / "page.html", tmp_path / "figures"
    write_report([folders / "study"], page, out)
    heads = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG"}
    for ending, head in heads.items():
        files = sorted(out.glob(f"*{ending}"))
        assert len(files) == 5
        assert all(path.read_bytes().startswith(head) for path in files)
    # As in the tables of the terminal.
    assert "goodput (Mbit/s)" in (out / "quantity-0-means.svg").read_text()


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[pytest.mark.nightly] if kind == "run" else []) for kind in KINDS],
)
def test_figures_of_every_kind_are_as_wide_as_the_column_of_a_paper(
    folders: Folders, kind: str
) -> None:
    for figure in page_of(recognise(folders / kind)).figures:
        head = figure.for_paper(1).svg.partition(">")[0]
        (width, *_) = re.findall(r'width="([\d.]+)"', head)
        assert float(width) == pytest.approx(333, abs=1.5), figure.name


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "holds none of study.json, recording.json, rows.json, compare.json"),
        ({"recording.json": "{"}, "recording.json:1: expected a recording of this version"),
        ({"recording.json": "{}"}, "missing field `scenario`"),
        ({"study.json": json.dumps({"bentpipe": "1"})}, "expected an object with 'title'"),
        ({"compare.json": "[]"}, "compare.json: expected an object with 'bentpipe'"),
        ({"evaluate.json": json.dumps({"bentpipe": "1"})}, "expected an object with 'evaluate'"),
    ],
)
def test_a_folder_of_something_else_is_answered(
    bentpipe: Bentpipe, tmp_path: Path, files: dict[str, str], told: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    done = bentpipe("report", folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == sorted(files)


def test_a_foreign_file_is_left_as_it_is(
    bentpipe: Bentpipe, folders: Folders, tmp_path: Path
) -> None:
    own = tmp_path / "own.html"
    own.write_text("mine")
    done = bentpipe("report", folders / "run", "--out", own)
    assert (done.returncode, own.read_text()) == (2, "mine")
    assert "is not a report of Bentpipe; it was not changed" in done.stderr
    own.write_text(f"<!doctype html>{GENERATOR}")
    write_report([folders / "run"], own, None)
    assert "mine" not in own.read_text()[:100]


def test_runs_over_quic_have_timeouts_and_retransmissions_beside_others() -> None:
    channel = {"link.0.channel": {"per": 0.3}}
    runs = [
        run(Scenario.parse(SMALL).with_(channel | {"flow.0.transport": {"protocol": protocol}}))
        for protocol in ("tcp", "quic")
    ]
    for row in flows_table(runs, ["tcp", "quic"]).rows:
        retransmitted, timeouts = (cell.value for cell in row[6:8])
        assert retransmitted, row[0]
        assert timeouts, row[0]


def test_more_series_than_can_be_told_apart_are_several_figures(
    bentpipe: Bentpipe, small: Path, tmp_path: Path
) -> None:
    more = """\
delay = { path = "link.0.delay", range = { from = "50ms", to = "250ms", step = "100ms" } }
mss = { path = "flow.0.transport.mss", values = [536, 1000] }
rate = { path = "link.0.rate", values = ["1Mbit/s", "2Mbit/s"] }
"""
    text = STUDY.replace('["newreno", "cubic"]', '["newreno", "cubic", "hybla"]')
    text = text.replace("[0.001, 0.01, 0.1]", "[0.001]").replace("count = 3", "count = 2")
    small.with_name("study.toml").write_text(
        text.replace("[replications]", f"{more}\n[replications]")
    )
    assert bentpipe("study", "study.toml", "--out", "many").returncode == 0
    write_report([tmp_path / "many"], None, None)
    page = (tmp_path / "many/report.html").read_text()
    captions = re.findall(r"<figcaption>(goodput.*)</figcaption>", page)
    means = [caption for caption in captions if "means" in caption]
    assert means.pop(0) == "goodput: means with 95 % intervals"
    # Twelve series of the controllers, which are compared, by mss and rate.
    assert means == [f"goodput, mss {mss}: means with 95 % intervals" for mss in (536, 1000)]
    # Figures that are compared have the same axis.
    drawn = page_of(recognise(tmp_path / "many")).figures
    apart = [one for one in drawn if one.name.startswith("quantity-0-") and "means" in one.name]
    assert len(apart) == 2
    domains = [layer["encoding"]["y"]["scale"]["domain"]
               for one in apart for layer in one.specification["layer"]]  # fmt: skip
    assert len({tuple(ends) for ends in domains}) == 1
    means_of_all = [value for one in apart for value in one.data["mean"]]
    assert domains[0][0] <= min(means_of_all) < max(means_of_all) <= domains[0][1]


@pytest.mark.parametrize(
    ("traffic", "is_endless"),
    [("{ web = {} }", True), ('{ bulk = "unlimited" }', True), ('{ download = "900MB" }', False)],
)
def test_only_a_flow_with_an_end_is_reported_as_not_finished(
    tmp_path: Path, traffic: str, is_endless: bool
) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    sets = ("--set", f"flow.0.traffic={traffic}", "--set", "duration=5s")
    bentpipe_in(tmp_path, "run", "small.toml", *sets, "--out", "run")
    page = run_page(tmp_path / "run")
    assert any("no single segment" in str(section.blocks) for section in page.sections)
    assert page.warnings == ([] if is_endless else ["Not finished at the end of the run: flow-0."])


def test_mechanisms_on_the_path_have_their_totals_and_figures(tmp_path: Path) -> None:
    changes = {"link.0.channel": {"per": 0}, "link.0.aqm": "codel", "record.interval": "50ms"}
    found = run(Scenario.parse(SMALL).with_(changes))
    found.save(tmp_path / "run")
    page = run_page(tmp_path / "run")
    (section,) = [one for one in page.sections if one.name == "mechanisms"]
    totals, *drawn = section.blocks
    assert isinstance(totals, Table)
    headings = [(column.label, column.unit) for column in totals.columns]
    assert headings[2:4] == [("aqm", ""), ("dropped", "packets")]
    counted = found.recording.table("aqm")["dropped_packets"].to_list()
    assert [row[3].value for row in totals.rows] == counted
    assert sum(counted) > 0
    assert "aqm-counts" in [block.name for block in drawn if isinstance(block, Figure)]
    plain = run(Scenario.parse(SMALL))
    plain.save(tmp_path / "plain")
    assert "mechanisms" not in [one.name for one in run_page(tmp_path / "plain").sections]


def test_bytes_and_slots_are_not_drawn_as_packets(tmp_path: Path) -> None:
    changes = {
        "link.0.header_compression": "rohc",
        "link.0.backward": {"demand": "dvb-rcs2"},
        "record.interval": "50ms",
    }
    run(Scenario.parse(SMALL).with_(changes)).save(tmp_path / "run")
    names = [figure.name for figure in run_page(tmp_path / "run").figures]
    assert {"header_compression-bytes", "demand-slots"} <= set(names)
    assert "demand-counts" not in names
