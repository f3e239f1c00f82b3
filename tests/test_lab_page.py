"""The live page in a real browser: sliders, controllers, the file, links, keyboard and widths."""

from __future__ import annotations

import json
import random
import shutil
import time
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from bentpipe.lab.server import Server
from bentpipe.lab.state import State, initial, source
from conftest import SMALL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="missing: chromium")
PATIENCE_MS = 30_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A page with two controllers and short runs."""
    made = Server(initial(None, ["duration=10s", "link.1.forward.rate=5Mbit/s"],
                          ["cubic", "hybla"], None))  # fmt: skip
    yield made
    made.close()


@contextmanager
def tab(browser: Browser, server: Server, link: str = "", **options: Any) -> Iterator[Tab]:
    """The page in a tab, drawn. Nothing may be complained about or asked of others."""
    context = browser.new_context(**options)
    opened = context.new_page()
    heard: list[str] = []
    opened.on("console", lambda said: heard.append(said.text) if said.type == "error" else None)
    opened.on("pageerror", lambda error: heard.append(str(error)))
    opened.on("request", lambda asked: heard.extend(outside(asked.url, server.address)))
    opened.goto(f"{server.address}{link}")
    settled(opened)
    yield opened
    assert heard == []
    context.close()


def outside(url: str, address: str) -> list[str]:
    """The address that was asked for, if it is not of the page."""
    return [] if url.startswith(("data:", "blob:", address)) else [url]


def settled(opened: Tab) -> None:
    """Wait until no request is under way or due."""
    idle = """() => globalThis.lab &&
      document.documentElement.dataset.ready === String(lab.counts.requests)"""
    opened.wait_for_timeout(50)
    opened.wait_for_function(idle, timeout=PATIENCE_MS)


def counts(opened: Tab) -> dict[str, int]:
    """Numbers of requests, bytes and redraws of the page."""
    found: dict[str, int] = opened.evaluate("({...lab.counts, redraws: lab.charts.redraws})")
    return found


def picture(opened: Tab) -> list[str]:
    """The pixels of all figures."""
    drawn: list[str] = opened.evaluate(
        "[...document.querySelectorAll('#charts canvas')].map(one => one.toDataURL())"
    )
    return drawn


def move(opened: Tab, name: str, by: int) -> None:
    """Move a slider by some steps, with the keyboard."""
    opened.focus(f"#control-{name}")
    for _ in range(abs(by)):
        opened.keyboard.press("ArrowRight" if by > 0 else "ArrowLeft")
    settled(opened)


def test_a_slider_moves_and_the_picture_changes(browser: Browser, server: Server) -> None:
    with tab(browser, server) as opened:
        before, text = picture(opened), opened.input_value("#toml")
        assert len(before) == 5
        cell = "#differences tbody tr:first-child td:nth-child(2)"
        goodput = opened.inner_text(cell)
        move(opened, "rate", -5)
        after = picture(opened)
        assert all(one != other for one, other in zip(before, after, strict=True))
        assert float(opened.inner_text(cell)) < float(goodput)
        assert opened.input_value("#toml") != text
        assert "1.5Mbit/s" in opened.input_value("#toml")
        assert "1.5 Mbit/s" in opened.inner_text("#path")
        slider = opened.locator("#control-rate")
        assert slider.get_attribute("aria-valuetext") == "1.5 Mbit/s"
        # Back to the scenario's own value, and to the same picture.
        opened.click(".changed .undo")
        settled(opened)
        assert picture(opened) == before
        assert opened.input_value("#toml") == text


def test_runs_bytes_and_redraws_of_a_move_are_bounded(browser: Browser, server: Server) -> None:
    with tab(browser, server) as opened:
        before, runs = counts(opened), server.runner.counts.started
        opened.evaluate(
            """async () => {
              const slider = document.getElementById('control-delay');
              for (let step = 0; step < 40; step += 1) {
                slider.value = 8 + (step % 12);
                slider.dispatchEvent(new Event('input'));
                await new Promise((done) => setTimeout(done, 10));
              }
            }"""
        )
        settled(opened)
        after, runs = counts(opened), server.runner.counts.started - runs
        requests = after["requests"] - before["requests"]
        # Of 40 moves some are shown while the slider moves, and the last one always.
        assert 2 <= requests < 40
        assert runs <= 2 * requests
        assert server.runner.counts.most_under_way <= 2
        assert after["redraws"] - before["redraws"] <= 3 * requests
        assert after["bytes"] - before["bytes"] < 60_000 * requests
        shown = opened.locator("#control-delay").get_attribute("aria-valuetext")
        assert shown
        assert shown in opened.inner_text("#path")


def test_controllers_come_and_go_and_keep_their_colours(browser: Browser, server: Server) -> None:
    with tab(browser, server) as opened:
        colours = (
            "[...document.querySelectorAll('#chips line')].map(one => one.getAttribute('stroke'))"
        )
        first = opened.evaluate(colours)
        opened.select_option("#add", "bbr")
        settled(opened)
        added = opened.evaluate(colours)
        assert added[:2] == first
        assert len(set(added)) == 3
        heads = "#differences thead th"
        assert "bbr" in " ".join(opened.locator(heads).all_inner_texts())
        opened.get_by_role("button", name="Remove cubic").click()
        settled(opened)
        assert opened.evaluate(colours) == added[1:]
        assert "cubic" not in " ".join(opened.locator(heads).all_inner_texts())


def test_controllers_with_special_needs_have_notes(browser: Browser, server: Server) -> None:
    with tab(browser, server) as opened:
        assert opened.is_hidden("#needs")
        for name in ("xcp", "ck-stp"):
            opened.select_option("#add", name)
            settled(opened)
        assert opened.inner_text("#needs").split("\n") == [
            "* xcp needs routers with XCP on all links.",
            "* ck-stp needs the rate and the RTT of the link as settings, which it gets here:"
            ' { name = "ck-stp", rate = 5, rtt = 600 }.',
        ]
        assert "xcp*" in opened.inner_text("#chips")


def test_a_band_is_drawn_on_demand_and_goes_with_the_next_change(
    browser: Browser, server: Server
) -> None:
    with tab(browser, server) as opened:
        before = picture(opened)
        goodput = "#chart-goodput"
        label = opened.get_attribute(goodput, "aria-label")
        assert opened.inner_text("#limits-note") == "Of the runs with seed 1."
        opened.click("#band")
        settled(opened)
        for place in ("#differences-note", "#limits-note"):
            assert opened.inner_text(place).startswith("Means over 10 seeds.")
        assert "(det.): nothing in the runs" in opened.inner_text("#differences-note")
        told = opened.get_attribute(goodput, "aria-label")
        assert told
        assert "Medians and ranges of 10 seeds. cubic ends at" in told
        assert opened.inner_text("#status").startswith("Means over 10 seeds. Goodput: cubic ")
        assert all(one != other for one, other in zip(before, picture(opened), strict=True))
        move(opened, "loss", 1)
        assert "One seed proves little" in opened.inner_text("#differences-note")
        assert opened.inner_text("#limits-note") == "Of the runs with seed 1."
        move(opened, "loss", -1)
        assert picture(opened) == before
        assert opened.get_attribute(goodput, "aria-label") == label
        opened.wait_for_timeout(600)
        assert opened.inner_text("#status").startswith("Goodput: cubic ")


def test_a_lesson_asks_and_its_runs_answer(browser: Browser, server: Server) -> None:
    with tab(browser, server) as opened:
        opened.click("#lessons summary")
        opened.select_option("#lesson", label="1. Window and bandwidth-delay product")
        settled(opened)
        assert opened.input_value("#toml").count("64KiB") == 1
        assert opened.is_disabled("#lesson-answer")
        opened.get_by_label("It stays within 5 %.").check()
        opened.click("#lesson-answer")
        told = opened.locator("#lesson-body [role=status]")
        told.get_by_text("Not quite. It grows to double or more.").wait_for(timeout=PATIENCE_MS)
        assert "Goodput: 64 KiB: 0.8" in told.inner_text()
        opened.get_by_role("button", name="Show: 4 MiB").click()
        settled(opened)
        assert "4MiB" in opened.input_value("#toml")
        assert opened.locator(".control.pointed #control-window").count() == 1


def test_errors_of_the_file_stand_beside_the_last_good_picture(
    browser: Browser, server: Server
) -> None:
    with tab(browser, server) as opened:
        before, text = picture(opened), opened.input_value("#toml")
        opened.fill("#toml", text.replace("controller", "controler", 1))
        opened.wait_for_selector("#errors:not([hidden])")
        told = opened.inner_text("#errors")
        assert "flow[0].controler: expected a key of `flow[0]`" in told
        assert "did you mean `controller`?" in told
        assert picture(opened) == before
        assert opened.get_attribute("#toml", "aria-invalid") == "true"
        opened.click("#errors button")
        selected = "(box => box.value.slice(box.selectionStart, box.selectionEnd))"
        line = opened.evaluate(f"{selected}(document.getElementById('toml'))")
        assert line.startswith("controler = ")
        opened.fill("#toml", text.replace('"5Mbit/s"', '"1Mbit/s"', 1))
        opened.wait_for_selector("#errors", state="hidden")
        settled(opened)
        assert picture(opened) != before
        assert "1 Mbit/s" in opened.inner_text("#path")


def test_keys_and_values_are_completed_in_the_file(browser: Browser, server: Server) -> None:
    with tab(browser, server) as opened:
        text = opened.input_value("#toml")
        opened.fill("#toml", text.rstrip() + "\n\n")
        opened.wait_for_timeout(400)
        settled(opened)
        opened.focus("#toml")
        opened.keyboard.press("Control+End")
        opened.keyboard.type("[rec")
        opened.wait_for_selector("#completions:not([hidden])")
        assert opened.locator("#completions li").all_inner_texts()[0].startswith("[record]")
        assert opened.get_attribute("#toml", "aria-activedescendant") is None
        opened.keyboard.press("ArrowDown")
        assert opened.get_attribute("#toml", "aria-activedescendant") == "completion-0"
        opened.keyboard.press("Enter")
        opened.keyboard.type("\n")
        opened.keyboard.press("Control+Space")
        opened.wait_for_selector("#completions:not([hidden])")
        names = [one.split("\n")[0] for one in opened.locator("#completions li").all_inner_texts()]
        assert {"interval = ", "events = "} <= {f"{one.rstrip()} " for one in names}
        opened.keyboard.press("Escape")
        assert opened.is_hidden("#completions")
        opened.keyboard.type("events = t")
        opened.wait_for_selector("#completions:not([hidden])")
        opened.locator("#completions li").first.click()
        settled(opened)
        assert opened.input_value("#toml").endswith("[record]\nevents = true")
        opened.wait_for_selector("#errors", state="hidden")
        # Enter without a choice is a new line, and Tab leaves the box.
        opened.keyboard.type("\ninterv")
        opened.wait_for_selector("#completions:not([hidden])")
        opened.keyboard.press("Enter")
        assert opened.input_value("#toml").endswith("interv\n")
        opened.keyboard.press("Tab")
        assert opened.evaluate("document.activeElement.id") != "toml"


def test_a_link_holds_the_whole_state(browser: Browser, server: Server) -> None:
    with tab(browser, server) as opened:
        move(opened, "loss", 9)
        opened.select_option("#add", "newreno")
        settled(opened)
        opened.fill("#control-seed", "7")
        opened.keyboard.press("Enter")
        settled(opened)
        opened.wait_for_timeout(400)
        link, drawn, text = opened.url, picture(opened), opened.input_value("#toml")
    assert len(link) < 2000
    other = Server(server.state)
    try:
        with tab(browser, other, link[link.index("#") :]) as again:
            assert again.input_value("#toml") == text
            assert picture(again) == drawn
            assert again.input_value("#control-seed") == "7"
    finally:
        other.close()


def test_seeds_stay_exact_and_wrong_ones_say_so(browser: Browser, server: Server) -> None:
    seed = "9223372036854775807"
    large = Server(State(server.state.source, {}, ("cubic", "hybla"), int(seed)))
    try:
        with tab(browser, large) as opened:
            assert opened.input_value("#control-seed") == seed
            assert f"seed = {seed}" in opened.input_value("#toml")
            for typed in ("-1", "1.5", "1e3", "", "9223372036854775808"):
                opened.fill("#control-seed", typed)
                opened.press("#control-seed", "Tab")
                told = opened.inner_text("#control-seed-help")
                assert told == f"Expected a whole number from 0 to {seed}. Seed {seed} stays."
                assert opened.evaluate("document.querySelector('#control-seed:invalid') !== null")
            opened.fill("#control-seed", "9007199254740993")
            opened.press("#control-seed", "Tab")
            settled(opened)
            assert "seed = 9007199254740993" in opened.input_value("#toml").splitlines()
            assert opened.input_value("#control-seed") == "9007199254740993"
            assert opened.inner_text("#control-seed-help") == "of all random numbers"
            # An answer to another change shows the seed in force.
            opened.fill("#control-seed", "-1")
            opened.press("#control-seed", "Tab")
            move(opened, "rate", -1)
            assert opened.input_value("#control-seed") == "9007199254740993"
            assert opened.inner_text("#control-seed-help") == "of all random numbers"
    finally:
        large.close()


def test_a_damaged_link_says_so(browser: Browser, server: Server) -> None:
    with tab(browser, server, "#damaged") as opened:
        assert "damaged" in opened.inner_text("#said")
        assert picture(opened)


def test_files_are_saved(browser: Browser, server: Server, tmp_path: Path) -> None:
    with tab(browser, server) as opened:
        with opened.expect_download() as download:
            opened.click("#save-scenario")
        assert download.value.suggested_filename == "geo-ku.toml"
        assert download.value.path().read_text() == opened.input_value("#toml")
        with opened.expect_download() as download:
            opened.click("#save-study")
        with zipfile.ZipFile(download.value.path()) as archive:
            assert archive.namelist() == ["geo-ku.toml", "geo-ku-study.toml"]
        with opened.expect_download() as download:
            opened.click("#save-notebook")
        assert download.value.suggested_filename == "geo-ku.ipynb"
        assert json.loads(download.value.path().read_text())["nbformat"] == 4


LONG = SMALL.replace('download = "300kB"', 'bulk = "unlimited"').replace("2Mbit/s", "300Mbit/s")
LONG = LONG.replace("60s", "3600s").replace("channel = { per = 0.01 }\n", "")


def test_a_long_run_shows_progress_and_stops(browser: Browser, tmp_path: Path) -> None:
    state = State(source(None, LONG, tmp_path / "long.toml"), {}, ("cubic",))
    slow = Server(state)
    try:
        context = browser.new_context()
        opened = context.new_page()
        opened.goto(slow.address)
        opened.wait_for_selector("#busy:not([hidden])", timeout=PATIENCE_MS)
        opened.wait_for_function("() => document.getElementById('progress').value > 0")
        opened.click("#stop")
        opened.wait_for_selector("#busy", state="hidden", timeout=PATIENCE_MS)
        assert "Stopped" in opened.inner_text("#said")
        assert slow.runner.counts.under_way == 0
        context.close()
    finally:
        slow.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_narrow_screens(browser: Browser, server: Server, scheme: str) -> None:
    narrow = {"width": 400, "height": 800}
    with tab(browser, server, viewport=narrow, color_scheme=scheme) as opened:
        for name in ("bbr", "newreno"):  # so that the tables are wider than the screen
            opened.select_option("#add", name)
            settled(opened)
        assert opened.evaluate("document.documentElement.scrollWidth") <= 400
        # Controls and figures are seen together.
        opened.locator("#charts figure").first.scroll_into_view_if_needed()
        inside = """id => {
          const box = document.querySelector(id).getBoundingClientRect();
          return box.top < innerHeight && box.bottom > 0;
        }"""
        assert opened.evaluate(inside, "#control-rate")
        assert opened.evaluate(inside, "#charts figure")
        light = "rgb(255, 255, 255)"
        background = opened.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == light) is (scheme == "light")
        drawn = picture(opened)
        opened.click("#theme")
        assert picture(opened) != drawn


def test_everything_has_a_name_and_is_reached_by_keyboard(browser: Browser, server: Server) -> None:
    with tab(browser, server) as opened:
        unnamed = opened.evaluate(
            """[...document.querySelectorAll('input, select, textarea, button')].filter(one =>
              !(one.labels?.length || one.ariaLabel || one.textContent.trim()))
              .map(one => one.id)"""
        )
        assert unnamed == []
        figures = opened.locator("#charts [role=img]")
        labels = [one.get_attribute("aria-label") for one in figures.all()]
        assert len(labels) == 5
        assert all(label and "cubic" in label and "hybla" in label for label in labels)
        reached = set()
        for _ in range(60):
            opened.keyboard.press("Tab")
            reached.add(opened.evaluate("document.activeElement.id"))
        assert {
            "theme",
            "preset",
            "file",
            "control-rate",
            "control-queue",
            "add",
            "toml",
        } <= reached
        opened.wait_for_timeout(600)
        assert opened.inner_text("#status").startswith("Goodput: cubic ")


def test_motion_is_reduced_on_request(browser: Browser, server: Server) -> None:
    duration = "getComputedStyle(document.querySelector('#charts .plot')).transitionDuration"
    for wanted, seconds in (("reduce", "0s"), ("no-preference", "0.2s")):
        with tab(browser, server, reduced_motion=wanted) as opened:
            assert opened.evaluate(duration) == seconds


def test_figures_zoom_together(browser: Browser, server: Server) -> None:
    with tab(browser, server) as opened:
        ranges = "lab.charts.charts.map(one => [one.scales.x.min, one.scales.x.max])"
        whole = opened.evaluate(ranges)
        assert {tuple(one) for one in whole} == {(0, 10)}
        opened.click("[data-zoom=in]")
        assert {tuple(one) for one in opened.evaluate(ranges)} == {(2.5, 7.5)}
        # The range stays while a slider moves.
        move(opened, "rate", -1)
        assert {tuple(one) for one in opened.evaluate(ranges)} == {(2.5, 7.5)}
        opened.click("[data-zoom=left]")
        assert {tuple(one) for one in opened.evaluate(ranges)} == {(1.25, 6.25)}
        opened.click("[data-zoom=reset]")
        assert opened.evaluate(ranges) == whole


def test_single_packets_are_shown_on_request(browser: Browser, server: Server) -> None:
    with tab(browser, server) as opened:
        asked: list[str] = []
        opened.on("request", lambda one: asked.append(one.url.rpartition("/")[2]))
        runs = server.packets.runs
        move(opened, "loss", 10)
        assert "packets" not in asked
        assert opened.is_hidden("#packets-shown")
        opened.focus("#packets-draw")
        opened.keyboard.press("Enter")
        note = opened.locator("#packets-note")
        note.get_by_text("Zoom in to see each of them").wait_for(timeout=PATIENCE_MS)
        drawn = "document.querySelector('#packets canvas').toDataURL()"
        whole = opened.evaluate(drawn)
        for step in ("loss", "in", "in", "in"):
            opened.click(f"[data-packets={step}]")
            opened.wait_for_timeout(300)
        note.get_by_text("each drawn.").wait_for(timeout=PATIENCE_MS)
        assert opened.evaluate(drawn) != whole
        found = opened.evaluate("lab.packets.found")
        rows = len(found["sent"]) + len(found["again"])
        assert 0 < rows <= 100
        opened.click("#packets-list summary")
        assert opened.locator("#packets-list tbody tr").count() == rows
        assert "retransmission" in opened.inner_text("#packets-list tbody")
        assert f"{len(found['sent'])} segments" in str(
            opened.get_attribute("#packets-plot", "aria-label")
        )
        # One run for all ranges; a change of the scenario draws nothing by itself.
        assert server.packets.runs == runs + 1
        move(opened, "loss", -1)
        assert "has changed since" in note.inner_text()
        assert asked.count("packets") == 5


def chosen_link(opened: Tab) -> str:
    """The text of the list of links."""
    found: str = opened.evaluate("document.getElementById('preset').selectedOptions[0].textContent")
    return found


def test_a_preset_and_a_file_are_opened(browser: Browser, server: Server, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(SMALL.replace('"small"', '"own"'))
    with tab(browser, server) as opened:
        assert chosen_link(opened) == "geo-ku.toml"
        opened.select_option("#preset", "leo")
        settled(opened)
        assert opened.inner_text("#name") == "leo"
        opened.set_input_files("#file", tmp_path / "own.toml")
        opened.wait_for_function("() => document.getElementById('name').textContent === 'own'")
        settled(opened)
        text = (tmp_path / "own.toml").read_text()
        assert opened.input_value("#toml") == text
        assert chosen_link(opened) == "own.toml"
        # Errors name the file that was opened, and that of a preset after a change.
        opened.fill("#toml", text.replace("delay", "dely", 1))
        opened.wait_for_selector("#errors:not([hidden])")
        assert "own.toml:" in opened.inner_text("#errors")
        opened.select_option("#preset", "leo")
        settled(opened)
        opened.fill("#toml", opened.input_value("#toml").replace("rate =", "rat =", 1))
        opened.wait_for_selector("#errors:not([hidden])")
        assert "leo.toml:" in opened.inner_text("#errors")
        assert chosen_link(opened) == "leo.toml"


def test_an_invalid_file_survives_a_reload(browser: Browser, server: Server) -> None:
    with tab(browser, server) as opened:
        text = opened.input_value("#toml").replace("controller", "controler", 1)
        opened.fill("#toml", text)
        opened.wait_for_selector("#errors:not([hidden])")
        opened.wait_for_timeout(400)
        link = opened.url[opened.url.index("#") :]
        opened.reload()
        settled(opened)
        assert opened.input_value("#toml") == text
        assert opened.get_attribute("#toml", "aria-invalid") == "true"
    with tab(browser, server, link) as opened:
        assert opened.input_value("#toml") == text
        opened.click("#errors button")
        opened.keyboard.type('controller = "cubic"')
        opened.wait_for_selector("#errors", state="hidden")
        settled(opened)
        assert picture(opened)
    # A link of a page that is open.
    with tab(browser, server) as opened:
        opened.evaluate("link => { location.hash = link }", link)
        opened.wait_for_selector("#errors:not([hidden])")
        assert opened.input_value("#toml") == text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f"# Gr\xfc\xdfe\n{SMALL}".encode("latin-1"), "one that cannot be read (stream did not"),
        (f"{SMALL}# {'x' * 1_000_000}".encode(), "more than 1000000 bytes"),
    ],
    ids=["latin-1", "long"],
)
def test_a_file_that_the_page_cannot_have_is_not_opened(
    browser: Browser, server: Server, tmp_path: Path, content: bytes, expected: str
) -> None:
    (tmp_path / "bad.toml").write_bytes(content)
    with tab(browser, server) as opened:
        text = opened.input_value("#toml")
        opened.set_input_files("#file", tmp_path / "bad.toml")
        opened.wait_for_selector("#errors:not([hidden])")
        told = opened.inner_text("#errors")
        assert told.startswith(f"bad.toml: expected a scenario file, found {expected}")
        assert opened.input_value("#toml") == text


def test_the_link_of_a_long_file_has_all_of_it(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    comment = random.Random(1).randbytes(200_000).hex()
    (tmp_path / "long.toml").write_text(f"{SMALL}# {comment}\n")
    with tab(browser, server) as opened:
        opened.set_input_files("#file", tmp_path / "long.toml")
        opened.wait_for_function("() => location.hash.length > 200000")
        settled(opened)
        opened.reload()
        settled(opened)
        assert opened.input_value("#toml").endswith(f"# {comment}\n")


def test_the_picture_comes_soon_after_the_slider(browser: Browser, server: Server) -> None:
    """A bound that only a defect exceeds; `make bench` measures."""
    with tab(browser, server) as opened:
        began = time.monotonic()
        move(opened, "loss", 1)
        assert time.monotonic() - began < 20
        assert json.loads(opened.evaluate("JSON.stringify(lab.counts)"))["bytes"] > 0
