"""Accessibility: axe-core finds nothing serious on the live page, reports and the site."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import website
from axe import findings
from bentpipe.lab.server import Server
from bentpipe.lab.state import initial
from conftest import EXAMPLES, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="missing: chromium")
SCHEMES = ("light", "dark")
KINDS = (
    "index.md", "lab.md", "transport.md", "controllers/index.md", "controllers/hybla.md",
    "mechanisms/red.md", "hosts/index.md", "hosts/linux-6.18.md", "api/run.md", "papers/adalr.md",
    "scenario/link.aqm.md", "notebooks/quickstart.md",
    "files/examples/lossy-geo.toml.md",
)  # fmt: skip
"""One page of each kind."""
SIZES = ((1400, 900), (400, 800))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def found(browser: Browser, pages: list[Path], scheme: str, size: tuple[int, int]) -> list[str]:
    """The findings of all pages, and those that are wider than the screen."""
    width, height = size
    context = browser.new_context(
        color_scheme="dark" if scheme == "dark" else "light",
        viewport={"width": width, "height": height},
    )
    opened = context.new_page()
    lines = []
    for page in pages:
        opened.goto(page.as_uri())
        lines += [f"{page.name}: {one}" for one in findings(opened)]
        shown = opened.evaluate("document.documentElement.scrollWidth")
        if shown > width:
            lines.append(f"{page.name}: {shown} pixels wide on a screen of {width}")
    context.close()
    return lines


@pytest.fixture(scope="module")
def one_of_each(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """HTML of one page of each kind."""
    folder = tmp_path_factory.mktemp("kinds")
    whole = website.Website(folder / "whole")
    whole.write(["hybla", "red", "linux-6.18"])
    for name in KINDS:
        target = folder / "docs" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(whole.folder / name, target)
    for name in ("assets", "images"):
        shutil.copytree(whole.folder / name, folder / "docs" / name)
    assert website.render(folder, folder / "site", [], [*KINDS]) == 0
    pages = [folder / "site" / name.replace(".md", ".html") for name in KINDS]
    assert all(page.is_file() for page in pages)
    return pages


@pytest.mark.parametrize(
    ("scheme", "size"),
    [
        (SCHEMES[0], SIZES[0]),
        pytest.param(SCHEMES[1], SIZES[1], marks=pytest.mark.nightly),
    ],
)
def test_a_page_of_each_kind_of_the_manual(
    browser: Browser, one_of_each: list[Path], scheme: str, size: tuple[int, int]
) -> None:
    assert found(browser, one_of_each, scheme, size) == []


@pytest.mark.nightly
def test_every_page_of_the_manual(browser: Browser, tmp_path: Path) -> None:
    assert website.build(tmp_path) == 0
    # The scripts of the page for wrong addresses have absolute addresses, which need a server.
    pages = sorted(one for one in tmp_path.rglob("*.html") if one.name != "404.html")
    assert len(pages) > 150
    lines = [line for scheme in SCHEMES for line in found(browser, pages, scheme, SIZES[0])]
    lines += found(browser, pages, "light", SIZES[1])
    assert lines == []


def test_a_finding_is_found(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    text = "<h1>A</h1><img src='x.png'><p style='color:#999'>some text</p>"
    page.write_text(f"<!doctype html><html lang=en><title>x</title><body><main>{text}</main>")
    lines = found(browser, [page], "light", SIZES[0])
    assert any("image-alt" in line for line in lines)
    assert any("color-contrast" in line for line in lines)


def test_the_page_of_a_report(browser: Browser, tmp_path: Path) -> None:
    for command in (
        ["run", str(EXAMPLES / "lossy-geo.toml"), "--set", "record.interval=100ms", "--out", "run"],
        ["report", "run"],
    ):
        subprocess.run([sys.executable, "-m", "bentpipe", *command], cwd=tmp_path, check=True)
    (page,) = (tmp_path / "run").glob("*.html")
    for scheme, size in zip(SCHEMES, SIZES, strict=True):
        assert found(browser, [page], scheme, size) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_live_page(browser: Browser, scheme: str) -> None:
    server = Server(initial(None, ["duration=10s"], ["cubic", "hybla"], None))
    context = browser.new_context(color_scheme="dark" if scheme == "dark" else "light")
    try:
        opened = context.new_page()
        opened.goto(server.address)
        opened.wait_for_selector("#differences tbody tr")
        opened.click("#packets-draw")
        opened.wait_for_selector("#packets-shown:not([hidden])")
        opened.click("#lessons summary")
        opened.select_option("#lesson", index=1)
        idle = "() => document.documentElement.dataset.ready === String(lab.counts.requests)"
        opened.wait_for_timeout(100)
        opened.wait_for_function(idle)
        opened.fill("#toml", "[")
        opened.focus("#toml")
        opened.keyboard.press("Control+End")
        opened.keyboard.press("Control+Space")
        opened.wait_for_selector("#completions:not([hidden])")
        opened.wait_for_selector("#errors:not([hidden])")
        for width, height in SIZES:
            opened.set_viewport_size({"width": width, "height": height})
            opened.wait_for_timeout(200)
            assert findings(opened) == []
    finally:
        context.close()
        server.close()


def test_the_assets_of_the_site_are_used() -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for file in website.ASSETS.iterdir():
        assert f"assets/{file.name}" in config
