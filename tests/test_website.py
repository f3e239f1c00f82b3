"""The manual as a site: its pages, their links, and what they load."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bentpipe
import website

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)]*)?\)")
LOADED = re.compile(r"<(?:script|img|iframe|link)[^>]*?(?:src|href)=\"?(https?://[^\s\">]+)", re.I)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> website.Website:
    """The sources of the site, with the figures of two controllers."""
    made = website.Website(tmp_path_factory.mktemp("site"))
    made.write(["hybla", "xcp"])
    return made


def test_every_link_of_every_page_leads_to_a_page(site: website.Website) -> None:
    missing: list[tuple[str, str]] = []
    for page in site.folder.rglob("*.md"):
        text = website.FENCE.sub("", page.read_text(encoding="utf-8"))
        links = LINK.findall(re.sub(r"`[^`\n]*`", "", text))
        name = page.relative_to(site.folder).as_posix()
        missing += [(name, link) for link in links if not (page.parent / link).exists()]
    # The fixture draws two figures.
    assert not [one for one in missing if "images/controllers" not in one[1]]


def test_every_controller_mechanism_and_table_has_a_page(site: website.Website) -> None:
    known = {page.relative_to(site.folder).as_posix() for page in site.folder.rglob("*.md")}
    declared = website.declared()
    assert set(declared) <= known
    text = "".join(declared.values())
    names = [one.name for one in bentpipe.controllers()]
    names += [one.name for one in bentpipe.mechanisms()]
    assert not [name for name in names if f"declares of `{name}`" not in text]
    reference = (ROOT / "docs/scenario.md").read_text(encoding="utf-8")
    tables = set(re.findall(r"^#+ `\[*([\w.]+)\]*`", reference, re.MULTILINE))
    assert {f"scenario/{table}.md" for table in tables} <= known
    # No key is lost.
    keys = sorted(re.findall(r"^\| `(\w+)` \|", reference, re.MULTILINE))
    pages = [page.read_text(encoding="utf-8") for page in (site.folder / "scenario").iterdir()]
    assert sorted(re.findall(r"^\| `(\w+)` \|", "".join(pages), re.MULTILINE)) == keys


def test_the_page_of_a_controller_has_its_figure(site: website.Website) -> None:
    page = (site.folder / "controllers/hybla.md").read_text(encoding="utf-8")
    assert "![Congestion window of hybla over time](../images/controllers/hybla.svg)" in page
    assert (site.folder / "images/controllers/hybla.svg").stat().st_size > 1000
    # What a controller does without its routers is not what it is for.
    assert "without one" not in page
    assert "without one" in (site.folder / "controllers/xcp.md").read_text(encoding="utf-8")


def test_the_figure_of_the_first_page_is_what_the_example_gives() -> None:
    svgs = website.first_figure().svg, website.FIRST_FIGURE.read_text(encoding="utf-8")
    # A process numbers the parts of its drawings.
    now, kept = (re.sub(r"clip\d+", "clip", svg) for svg in svgs)
    assert now == kept


def test_anchors_of_tables_lead_to_their_pages() -> None:
    text = "# Title\n\n## The file\n\nfirst\n\n### `[[link]]`\n\na\n\n#### `link.aqm`: red\n\nb\n"
    pages, anchors = website.tables_of_scenarios(text)
    assert anchors["linkaqm-red"] == "scenario/link.aqm.md#red"
    assert "A table of [`link`](link.md)." in pages["scenario/link.aqm.md"]
    assert "Tables inside: [`link.aqm`](link.aqm.md)." in pages["scenario/link.md"]
    assert "Tables inside: [`link`](link.md)." in pages["scenario/index.md"]


@pytest.mark.nightly
def test_the_site_is_built_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "scripts/website.py", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    built = list(tmp_path.rglob("*.html"))
    assert len(built) > 150
    loaded = [url for page in built for url in LOADED.findall(page.read_text(encoding="utf-8"))]
    assert not [url for url in loaded if not url.startswith("https://github.com/")]
    if CHROMIUM is not None:
        search_finds_a_key_without_a_server(tmp_path)


def search_finds_a_key_without_a_server(built: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto((built / "index.html").as_uri())
        page.focus("[data-md-component=search-query]")
        page.keyboard.type("hystart")
        page.wait_for_selector(".md-search-result__link", state="attached", timeout=60_000)
        browser.close()
    assert not [url for url in requests if not url.startswith(("file:", "data:"))]
