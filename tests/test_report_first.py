"""First screens of pages: the answer, one figure, one table, and the same as one sheet of A4."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from bentpipe.evaluate.answer import answer, baselines
from bentpipe.plots import Spot, tradeoff_figure, with_front
from bentpipe.report import sheet
from bentpipe.report.command import page_of, write_report
from bentpipe.report.render import prose
from bentpipe.report.sheet import unmarked
from bentpipe.report.source import recognise
from conftest import SMALL
from kills import BENTPIPE
from svg_text import collisions, drawn_texts
from test_report import STUDY, browser, needs_browser, tab

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from bentpipe.report.page import Page
    from conftest import Bentpipe

__all__ = ["browser"]

LINK = ("compare", "--link", "geo-ka", "--rate", "2Mbit/s", "--rtt", "100ms", "--replications", "3",
        "--set", "duration=6s")  # fmt: skip
COMMANDS = {
    "buffers": (*LINK, "--controllers", "newreno,cubic,bbr", "--queue", "10,20,50,100"),
    "rankings": (*LINK, "--controllers", "newreno,cubic,bbr,hybla"),
    "study": ("study", "study.toml"),
    "conditions": ("study", "conditions.toml"),
    "queues": ("study", "queues.toml"),
    "evaluate": ("evaluate", "hybla", "--quick", "--items", "bufferbloat,varying-delay"),
}
ANSWERED = ("Choose", "Found", "Costs", "Sure")
CONDITIONS = STUDY.replace('name = "link.forward.utilisation"', 'name = "flow.p95_rtt_ms"').replace(
    "Two controllers", "Two controllers in three conditions"
)


PER = 'per = { path = "link.0.channel.per", values = [0.001, 0.01, 0.1] }'
QUEUE = """queue = { path = "link.0.queue", values = ["{ packets = 5 }", "{ bytes = '30kB' }"] }"""
QUEUES = CONDITIONS.replace(PER, QUEUE)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """The folder of each command with what it printed."""
    place = tmp_path_factory.mktemp("first")
    (place / "small.toml").write_text(SMALL)
    (place / "study.toml").write_text(STUDY.replace("[0.001, 0.01, 0.1]", "[0.01]"))
    (place / "conditions.toml").write_text(CONDITIONS)
    (place / "queues.toml").write_text(QUEUES)
    found = {}
    for name, command in COMMANDS.items():
        run = [*BENTPIPE, *command, "--out", name]
        done = subprocess.run(
            run,
            cwd=place,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "COLUMNS": "4000"},
        )
        write_report([place / name], None, None)
        found[name] = (place / name, done.stdout)
    return found


def page(folder: Path) -> Page:
    """The page of a folder."""
    return page_of(recognise(folder))


def said(text: str) -> dict[str, str]:
    """The three lines of a command, by their labels, without line breaks."""
    found: dict[str, str] = {}
    label = ""
    for line in text.splitlines():
        if word := re.match(rf"({'|'.join(ANSWERED)}) +(.*)", line):
            label = word[1]
            found[label] = word[2]
        elif label and line.startswith("     "):
            found[label] += f" {line.strip()}"
        else:
            label = ""
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_the_answer_is_that_of_the_command(made: dict[str, tuple[Path, str]], name: str) -> None:
    folder, printed = made[name]
    first = page(folder).first
    assert first is not None
    lines = {key: line for key, line in first.answer.items() if key in ANSWERED}
    assert lines == said(printed)
    assert len(lines) == 3


def test_the_answer_of_an_evaluation_counts_its_findings(
    made: dict[str, tuple[Path, str]],
) -> None:
    found = json.loads((made["evaluate"][0] / "evaluate.json").read_text())
    rows = [
        row for item in found["items"] for one in item["findings"] for row in one["against"]
    ]  # fmt: skip
    lines = answer(found)
    for baseline in baselines(found):
        words = [row["finding"] for row in rows if row["baseline"] == baseline]
        better, worse = words.count("better"), words.count("worse")
        said_of = f"better than {baseline} in {better} of {len(words)} findings, worse in {worse}"
        none = f"no significant difference from {baseline} in {len(words)} findings"
        assert (said_of if better + worse else none) in lines.choose
    words = [row["finding"] for row in rows]
    clear = words.count("better") + words.count("worse")
    tested = clear + words.count("not distinguishable")
    assert f"{clear} of {tested} tested findings are significant" in lines.sure
    # The largest of the worse ones is named first.
    for row in rows:
        row["finding"] = "not distinguishable"
    assert answer(found).costs == "No finding of hybla is significantly worse."
    rows[1] |= {"finding": "worse", "relative": -0.2}
    rows[-1] |= {"finding": "worse", "relative": -0.5}
    costs = answer(found).costs
    assert costs.startswith("2 findings are worse: ")
    assert costs.index("\N{MINUS SIGN}50") < costs.index("\N{MINUS SIGN}20")


@needs_browser
@pytest.mark.parametrize("name", COMMANDS)
def test_the_first_screen_has_the_answer_one_figure_and_one_table(
    browser: Browser, made: dict[str, tuple[Path, str]], name: str
) -> None:
    file = made[name][0] / "report.html"
    with tab(browser, file, viewport={"width": 1400, "height": 900}) as (opened, heard):
        bold = opened.locator(".answer dd").evaluate_all(
            "all => all.slice(0, 3).map(one => Number(getComputedStyle(one).fontWeight))"
        )
        assert bold == [700, 700, 700]
        visible = opened.locator("figure").evaluate_all(
            "all => all.filter(one => one.checkVisibility()).map(one => one.id)"
        )
        assert visible == ["figure-answer"]
        plot = opened.locator("#figure-answer .plot svg").bounding_box()
        table = opened.locator("#rank").bounding_box()
        assert plot is not None
        assert table is not None
        assert plot["width"] > 400
        assert plot["y"] + plot["height"] < 900
        assert table["y"] < 600
        assert opened.locator(".folded[open]").count() == 0
        # All else is folded, and is drawn when it is opened.
        opened.locator(".folded summary").nth(1).click()
        opened.wait_for_timeout(500)
        assert heard.errors == []


@needs_browser
@pytest.mark.parametrize("name", COMMANDS)
def test_the_first_screen_prints_on_one_sheet(
    browser: Browser, made: dict[str, tuple[Path, str]], name: str
) -> None:
    with tab(browser, made[name][0] / "report.html") as (opened, _):
        printed = opened.pdf(format="A4")
    assert len(re.findall(rb"/Type */Page\b", printed)) == 1


@needs_browser
def test_a_link_to_a_folded_part_opens_it(
    browser: Browser, made: dict[str, tuple[Path, str]]
) -> None:
    file = made["rankings"][0] / "report.html"
    with tab(browser, file) as (opened, _):
        opened.evaluate("location.hash = '#bulk'")
        opened.wait_for_selector("#figure-bulk-ranking .plot svg", timeout=20_000)


def test_the_front_has_what_nothing_dominates() -> None:
    spots = [Spot("a", 1, 1), Spot("b", 2, 5), Spot("c", 3, 5), Spot("d", 3, 6), Spot("e", 4, 2)]
    assert [one.name for one in with_front(spots, higher_is_better=True) if one.on_front] == [
        "a", "b", "d",
    ]  # fmt: skip
    assert [one.name for one in with_front(spots, higher_is_better=False) if one.on_front] == ["a"]


@pytest.mark.parametrize("name", ["buffers", "rankings", "study", "conditions", "evaluate"])
def test_the_figure_rings_the_recommended_choice_on_the_front(
    made: dict[str, tuple[Path, str]], name: str
) -> None:
    first = page(made[name][0]).first
    assert first is not None
    assert first.figure is not None
    data = first.figure.data
    column = "best" if "best" in data.columns else "is_best"
    ringed = data.filter(data[column])
    conditions = data["panel"].n_unique() if "panel" in data.columns else 1
    # One front for each link: choices on different links do not compete.
    assert conditions == (3 if name in ("conditions", "evaluate") else 1)
    assert ringed.height == conditions
    if name == "study":
        return
    assert re.search(r"\((Mbit/s|%)\)", str(first.figure.specification))
    assert "(ms)" in str(first.figure.specification)
    front = data.filter(data["front"])
    assert front.height
    # By hand, panel by panel: a point of the front has no other above and left.
    rows = list(data.iter_rows(named=True))
    for row in rows:
        others = [o for o in rows if o.get("panel") == row.get("panel")]
        dominated = any(
            o["x"] <= row["x"] and o["y"] >= row["y"] and (o["x"], o["y"]) != (row["x"], row["y"])
            for o in others
        )
        assert row["front"] == (not dominated), row


@pytest.mark.parametrize("name", COMMANDS)
def test_a_click_on_a_legend_hides_a_series_of_every_figure(
    made: dict[str, tuple[Path, str]], name: str
) -> None:
    """Also in panels: the page sets a parameter that Vega must know, and a filter must use it."""
    figures = page(made[name][0]).figures
    assert figures
    for figure in figures:
        assert {"name": "shown", "value": None} in figure.specification["params"], figure.name
        assert "indexof(shown, datum.series)" in json.dumps(figure.specification), figure.name


def test_a_study_in_several_conditions_has_panels_with_the_same_axes(
    made: dict[str, tuple[Path, str]],
) -> None:
    first = page(made["conditions"][0]).first
    assert first is not None
    assert first.figure is not None
    assert first.figure.data["panel"].unique(maintain_order=True).to_list() == [
        "per 0.001", "per 0.01", "per 0.1",
    ]  # fmt: skip
    assert first.figure.specification["resolve"]["scale"] == {"x": "shared", "y": "shared"}


def test_queues_are_in_kilobytes_and_milliseconds(made: dict[str, tuple[Path, str]]) -> None:
    first = page(made["buffers"][0]).first
    assert first is not None
    assert first.table is not None
    heads = [(column.label, column.unit) for column in first.table.columns]
    size, time = heads.index(("queue", "kB")), heads.index(("queue", "ms"))
    for row in first.table.rows:
        # At 2 Mbit/s, 250 bytes take a millisecond. A packet has 1500 bytes.
        assert row[time].value == pytest.approx(row[size].value * 8 / 2)  # type: ignore[operator]
        assert row[size].value in (15, 30, 75, 150)
    assert first.figure is not None
    names = first.figure.data["label"].to_list()
    best = first.figure.data.filter(first.figure.data["best"])["label"].to_list()
    assert all(name.endswith((" kB", " ms")) for name in names)
    assert re.search(r", \d+ kB, \d+ ms$", best[0])
    study = page(made["queues"][0]).first
    assert study is not None
    assert study.figure is not None
    panels = study.figure.data["panel"].unique(maintain_order=True).to_list()
    assert all(re.fullmatch(r"queue [\d.]+ kB, [\d.]+ ms", panel) for panel in panels), panels
    assert "30 kB" in panels[1]
    single = page(made["rankings"][0]).first
    assert single is not None
    assert single.figure is not None
    assert re.search(r"Queue at .*: [\d,.]+ kB, which is \d+ ms at", " ".join(single.figure.notes))


@pytest.mark.parametrize("name", COMMANDS)
def test_rows_are_in_order_of_rank(made: dict[str, tuple[Path, str]], name: str) -> None:
    first = page(made[name][0]).first
    assert first is not None
    assert first.table is not None
    heads = [column.label for column in first.table.columns]
    values = [row[heads.index("worse" if name == "evaluate" else "rank")].value
              for row in first.table.rows]  # fmt: skip
    if name in ("conditions", "queues"):
        per = [values[n : n + 2] for n in range(0, len(values), 2)]
        assert per == [[1, 2]] * len(per)
    else:
        assert values == sorted(values, key=lambda v: v or 0, reverse=name == "evaluate")


def test_names_of_points_do_not_collide() -> None:
    spots = [Spot(f"controller {n}", (n * 7) % 10, (n * 3) % 7, group=f"{n % 4}", is_best=n == 3)
             for n in range(30)]  # fmt: skip
    figure = tradeoff_figure("many", "", "x (ms)", "y (Mbit/s)", with_front(spots, True))
    texts = [text for text in drawn_texts(figure.svg) if text.text.startswith("controller")]
    assert "controller 3" in {text.text for text in texts}
    assert len(texts) > 5
    assert collisions(texts) == []


# --------------------------------------------------------------------------------------- sheets


@pytest.mark.parametrize("name", COMMANDS)
def test_a_sheet_is_one_page_of_a4_with_all_texts_inside(
    made: dict[str, tuple[Path, str]], tmp_path: Path, name: str
) -> None:
    folder = made[name][0]
    out = tmp_path / "sheet.pdf"
    write_report([folder], None, None, out)
    pdf = out.read_bytes()
    assert pdf.startswith(b"%PDF")
    assert len(re.findall(rb"/Type */Page\b", pdf)) == 1
    (box,) = re.findall(rb"/MediaBox *\[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    # A4 in points.
    assert [float(side) for side in box] == pytest.approx([595.3, 841.9], abs=1)
    text = sheet.svg(page(folder))
    assert sheet.svg(page(folder)) == text
    found = {one.text for one in drawn_texts(text)}
    first = page(folder).first
    assert first is not None
    assert set(first.answer) <= found
    root = ET.fromstring(text)
    for part in root.iter("{http://www.w3.org/2000/svg}text"):
        if (y := part.get("y")) is not None:
            assert 0 < float(y) <= sheet.HEIGHT - sheet.MARGIN + 1
    for one in drawn_texts(text):
        if one.text in {line for whole in first.answer.values() for line in [whole]}:
            assert max(x for x, _ in one.corners) <= sheet.WIDTH


def test_a_command_with_a_sheet_goes_on(
    bentpipe: Bentpipe, made: dict[str, tuple[Path, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made["rankings"][0]
    for order in (("report", str(folder), "--sheet"), ("report", "--sheet", str(folder))):
        done = bentpipe(*order)
        assert (done.returncode, done.stderr) == (0, "")
        assert "sheet.pdf: one sheet of A4" in done.stdout
        assert (folder / "sheet.pdf").exists()
    again = subprocess.run(
        [*BENTPIPE, *COMMANDS["rankings"], "--out", folder.name], cwd=folder.parent, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr


def test_sheets_of_wrong_folders_and_files_are_answered(
    bentpipe: Bentpipe, made: dict[str, tuple[Path, str]], tmp_path: Path
) -> None:
    study = made["study"][0]
    own = tmp_path / "own.pdf"
    own.write_bytes(b"%PDF-1.7 mine")
    (tmp_path / "empty").mkdir()
    (tmp_path / "half").mkdir()
    (tmp_path / "half/study.json").write_bytes((study / "study.json").read_bytes())
    (tmp_path / "none").mkdir()
    compare = json.loads((made["rankings"][0] / "compare.json").read_text())
    nothing = compare | {"workloads": [], "verdicts": [], "complete": False}
    nothing["answer"] = {"choose": "Nothing yet: no workload is complete.", "costs": "Unknown.",
                         "sure": "No complete runs.", "recommended": []}  # fmt: skip
    del nothing["checksum"]
    (tmp_path / "none/compare.json").write_text(json.dumps(nothing))
    for arguments, expected in (
        ((study, "--sheet", own), "own.pdf is not a sheet of Bentpipe; it was not changed"),
        ((study, "--sheet", tmp_path / "sheet.txt"), "expected FILE.pdf for --sheet"),
        ((study, "--sheet", tmp_path / "no/sheet.pdf"), "there is no folder"),
        ((tmp_path / "empty", "--sheet"), "holds none of study.json"),
        ((tmp_path / "half", "--sheet"), "half has no results yet: summary.json is missing"),
        ((tmp_path / "none", "--sheet"), "no results for a sheet yet. Nothing yet: no workload"),
    ):
        done = bentpipe("report", *map(str, arguments))
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert expected in done.stderr
    assert own.read_bytes() == b"%PDF-1.7 mine"


def test_a_pdf_that_cannot_be_made_names_what_is_needed(
    made: dict[str, tuple[Path, str]], tmp_path: Path
) -> None:
    without = "import sys; sys.modules['vl_convert'] = None; from bentpipe.cli import main; main()"
    command = [sys.executable, "-c", without, "report", str(made["study"][0]), "--sheet"]
    done = subprocess.run(
        [*command, str(tmp_path / "x.pdf")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "the PDF needs the package vl-convert-python" in done.stderr
    assert not list(tmp_path.iterdir())


def test_pages_of_earlier_releases_have_no_first_screen(
    made: dict[str, tuple[Path, str]], tmp_path: Path
) -> None:
    found: dict[str, Any] = json.loads((made["buffers"][0] / "compare.json").read_text())
    del found["answer"], found["checksum"]
    shutil.copytree(made["buffers"][0] / "buffers", tmp_path / "buffers")
    (tmp_path / "compare.json").write_text(json.dumps(found))
    old = page(tmp_path)
    assert old.first is None
    assert [figure.name for figure in old.figures] == ["answer"]


def test_commands_in_sentences_are_code_on_pages_and_plain_on_sheets() -> None:
    assert prose("`bentpipe explain` warns: a < 1e-05") == (
        "<code>bentpipe explain</code> warns: a &lt; 10\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT FIVE}"
    )
    assert unmarked("`bentpipe explain` warns") == "bentpipe explain warns"
