"""The manual as a site: its pages, their links, and what they load."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import behaviour
import bentpipe
import images
import website
from test_looks import contrast

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)]*)?\)")
LOADED = re.compile(r"<(?:script|img|iframe|link)[^>]*?(?:src|href)=\"?(https?://[^\s\">]+)", re.I)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> website.Website:
    """The sources of the site, with a few figures."""
    made = website.Website(tmp_path_factory.mktemp("site"))
    made.write(["hybla", "xcp", "red", "linux-2.4"])
    return made


def test_every_link_of_every_page_leads_to_a_page(site: website.Website) -> None:
    missing: list[tuple[str, str]] = []
    for page in site.folder.rglob("*.md"):
        text = website.FENCE.sub("", page.read_text(encoding="utf-8"))
        links = LINK.findall(re.sub(r"`[^`\n]*`", "", text))
        name = page.relative_to(site.folder).as_posix()
        missing += [(name, link) for link in links if not (page.parent / link).exists()]
    assert not missing


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


def test_every_figure_of_the_manual_has_a_command_that_makes_it() -> None:
    assert {one.name for one in images.FOLDER.iterdir() if one != images.SHOWN} == {
        *images.MAKERS,
        *images.SCREENS,
        *images.ELSEWHERE,
    }
    manual = "".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/*.md"))
    manual += (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"images/{name}" in manual for name in (*images.MAKERS, *images.SCREENS))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=[] if one in images.QUICK else [pytest.mark.nightly])
        for one in images.MAKERS
    ],
)
def test_a_figure_is_what_its_command_draws_today(name: str) -> None:
    kept = (images.FOLDER / name).read_text(encoding="utf-8")
    assert images.drawn(name) == kept, f"run scripts/images.py {name}"


@pytest.mark.nightly
@pytest.mark.parametrize("name", images.SCREENS)
def test_a_screenshot_shows_the_results_of_today(name: str) -> None:
    kept = json.loads(images.SHOWN.read_text(encoding="utf-8"))
    assert images.taken(name)[1] == kept[name], f"run scripts/images.py {name}"


def test_anchors_of_tables_lead_to_their_pages() -> None:
    text = "# Title\n\n## The file\n\nfirst\n\n### `[[link]]`\n\na\n\n#### `link.aqm`: red\n\nb\n"
    pages, anchors = website.tables_of_scenarios(text)
    assert anchors["linkaqm-red"] == "scenario/link.aqm.md#red"
    assert "A table of [`link`](link.md)." in pages["scenario/link.aqm.md"]
    assert "Tables inside: [`link.aqm`](link.aqm.md)." in pages["scenario/link.md"]
    assert "Tables inside: [`link`](link.md)." in pages["scenario/index.md"]


def test_pages_of_mechanisms_and_hosts_have_figures(site: website.Website) -> None:
    for page, figure in (
        ("mechanisms/red.md", "../images/mechanisms/red.svg"),
        ("mechanisms/xcp.md", "../images/mechanisms/xcp.svg"),
        ("hosts/linux-2.4.md", "../images/hosts/linux-2.4.svg"),
    ):
        text = (site.folder / page).read_text(encoding="utf-8")
        assert f"]({figure})" in text, page
        assert (site.folder / page).parent.joinpath(figure).stat().st_size > 1000
    text = (site.folder / "hosts/linux-2.4.md").read_text(encoding="utf-8")
    (profile,) = (one for one in bentpipe.hosts() if one.name == "linux-2.4")
    assert all(f"| `{one.name}` |" in text for one in profile.values)
    hosts = {f"hosts/{one.name}.md" for one in bentpipe.hosts()}
    assert hosts <= set(site.sources)


def test_every_mechanism_has_a_figure_in_which_it_changes_the_run() -> None:
    same = []
    for one in bentpipe.mechanisms():
        _, (before, after) = behaviour.without_and_with(one.name, one.kind, one.key)
        if before.flow_series.equals(after.flow_series):
            same.append(one.name)
    assert same == []


def test_the_reference_of_python_has_a_page_for_each_name(site: website.Website) -> None:
    reference = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    names = re.findall(r"^### `(\w+)`", reference, re.MULTILINE)
    titles = {
        page.read_text(encoding="utf-8").partition("\n")[0]
        for page in (site.folder / "api").iterdir()
    }
    assert {f"# `{name}`" for name in names} <= titles
    first = (site.folder / "api/index.md").read_text(encoding="utf-8")
    assert all(f"[`{name}`](../api/" in first for name in names)
    # No member is lost.
    members = sorted(re.findall(r"^- `.*`$", reference, re.MULTILINE))
    pages = [page.read_text(encoding="utf-8") for page in (site.folder / "api").iterdir()]
    assert sorted(re.findall(r"^- `.*`$", "".join(pages), re.MULTILINE)) == members


# Source: WCAG 2.2, success criterion 1.4.3.
TEXT = re.compile(r"<text[^>]* fill=\"(#[0-9a-fA-F]{3,6}|\w+)\"")
NAMED = {"black": "#000000", "white": "#ffffff"}


def test_texts_of_figures_have_a_contrast_of_four_and_a_half(site: website.Website) -> None:
    figures = [*(site.folder / "images").rglob("*.svg")]
    assert len(figures) >= 7
    for figure in figures:
        svg = figure.read_text(encoding="utf-8")
        if 'class="rich-terminal"' in svg:
            assert contrast("#c5c8c6", "#292929") >= 4.5  # its text on its own background
            assert "fill: #c5c8c6" in svg
            assert 'fill="#292929"' in svg
            continue
        assert '<rect width="' in svg
        colours = {NAMED.get(one, one).lower() for one in TEXT.findall(svg)}
        assert colours, figure.name
        assert all(contrast(one, "#ffffff") >= 4.5 for one in colours), (figure.name, colours)


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
