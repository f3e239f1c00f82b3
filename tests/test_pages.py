"""Pages: import of HTTP archives, what the terminal and the page of a run show of loads."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe import InputError
from bentpipe.loads import PARTS, critical_path
from bentpipe.pages.har import read
from bentpipe.pages.waterfall import PHASES, waterfalls
from bentpipe.runs import load

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

SCENARIO = """
duration = "60s"

[[link]]
between = ["server", "browser"]
rate = "50Mbit/s"
delay = "300ms"
queue = "unlimited"

[[flow]]
name = "page"
from = "server"
to = "browser"
controller = "cubic"
traffic = {{ page = {{ {page} }} }}
"""


def entry(url: str, start: float, **changes: Any) -> dict[str, Any]:
    """An entry of an archive: 60 ms until the first byte, 40 ms for the rest."""
    timings = {"blocked": 0, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 60}
    return {
        "startedDateTime": f"2026-11-27T12:00:{start:06.3f}Z",
        "request": {"url": url},
        "response": {
            "status": 200,
            "headersSize": 300,
            "bodySize": 5000,
            "content": {"mimeType": "image/png", "size": 9000},
        },
        "timings": timings | {"receive": 40} | changes.pop("timings", {}),
        **changes,
    }


def archive(path: Path, *entries: dict[str, Any]) -> Path:
    """An archive in a file."""
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    return path


PAGE = "https://shop.example/"
STYLE = "https://shop.example/main.css"


def shop(path: Path) -> Path:
    """A document, a style that it starts at its first byte, and pictures."""
    return archive(
        path,
        entry(PAGE, 0, timings={"connect": 50, "ssl": 20, "wait": 90}),
        entry(STYLE, 0.160, _initiator={"type": "parser", "url": PAGE}, _resourceType="stylesheet"),
        entry("https://cdn.example/a.png", 0.300, _initiator={"type": "parser", "url": STYLE}),
        entry("https://cdn.example/b.png", 0.310),
        entry("data:image/png;base64,AA", 0.310),
        entry("https://cdn.example/late.png", 59.0),
    )


def test_an_archive_becomes_a_page_that_runs(bentpipe: Bentpipe, tmp_path: Path) -> None:
    out = tmp_path / "page.toml"
    done = bentpipe("page", "import", shop(tmp_path / "shop.har"), "--out", out)
    assert "4 objects of 2 origins" in done.stdout
    assert "Guessed dependencies: 1 of 3." in done.stdout
    assert "1 without HTTP, 1 long after the load" in done.stdout
    first, style, one, other = tomllib.loads(out.read_text())["objects"]
    assert (first["kind"], first["bytes"], first["server_time"]) == ("document", "5000B", "60ms")
    # The first byte came after 50 ms of connection and 90 ms of waiting.
    assert style["after"] == [{"object": "index", "at": "first-byte", "delay": "20ms"}]
    assert one["after"] == [{"object": "main.css", "at": "done", "delay": "40ms"}]
    assert other["after"] == [{"object": "main.css", "at": "done", "delay": "50ms"}]
    scenario = tmp_path / "page-run.toml"
    scenario.write_text(SCENARIO.format(page='file = "page.toml"'))
    recording = bp.run(bp.Scenario.load(scenario))
    assert recording.table("page_objects")["object"].to_list() == [
        "index", "main.css", "a.png", "b.png",
    ]  # fmt: skip
    printed = bentpipe("run", scenario).stdout
    assert "critical path" in printed
    assert "byte index s" in printed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected JSON"),
        ('{"log": {"entries": [', "expected JSON"),
        ("[]", "expected an HTTP archive with a `log`"),
        ('{"log": {"entries": []}}', "expected an archive with entries, found none"),
        ('{"log": {"entries": [{"request": {}}]}}', "`startedDateTime`"),
    ],
)
def test_an_archive_that_is_cut_or_empty_is_refused(
    bentpipe: Bentpipe, tmp_path: Path, text: str, expected: str
) -> None:
    file = tmp_path / "bad.har"
    file.write_text(text)
    out = tmp_path / "page.toml"
    done = bentpipe("page", "import", file, "--out", out)
    assert done.returncode == 2
    assert expected in done.stderr
    assert "bad.har" in done.stderr
    assert not out.exists()


def test_an_archive_without_an_answer_is_refused(tmp_path: Path) -> None:
    silent = entry(PAGE, 0)
    silent["response"]["status"] = 0
    with pytest.raises(InputError, match="a request with an answer"):
        read(archive(tmp_path / "silent.har", silent))


def test_the_shares_of_the_critical_path_are_those_of_all_loads() -> None:
    page = 'site = "search", pages = 3, interval = "15s"'
    recording = bp.run(bp.Scenario.parse(SCENARIO.format(page=page)))
    loads = recording.table("page_loads")
    assert loads.height == 3
    whole = sum(loads[part].sum() for part in PARTS)
    assert whole == pytest.approx(loads["load_s"].sum(), abs=1e-9)
    words = critical_path(loads)
    parts = {part: loads[part].sum() for part in PARTS}
    assert words.startswith(PARTS[max(parts, key=parts.__getitem__)])


def test_the_waterfall_has_a_bar_for_each_object(bentpipe: Bentpipe, tmp_path: Path) -> None:
    scenario = tmp_path / "shop.toml"
    scenario.write_text(SCENARIO.format(page='site = "shop", dns = "20ms"'))
    folder = tmp_path / "run"
    bentpipe("run", scenario, "--out", folder)
    run = load(folder)
    (figure,) = waterfalls(run)
    assert figure.data["object"].n_unique() == 43
    assert set(figure.data["series"].unique()) == set(PHASES)
    assert (figure.data["end"] > figure.data["begin"]).all()
    bentpipe("report", folder)
    html = (folder / "report.html").read_text()
    assert "Waterfall of page" in html
    assert "Critical path: medians of its parts" in html


OBJECTS = """objects = [
    { name = "index", bytes = "20kB", server_time = "30ms", compute = "20ms" },
    { name = "style", bytes = "10kB", kind = "style", after = "index" },
    { name = "script", bytes = "40kB", kind = "script", origin = "scripts", compute = "30ms" },
    { name = "data", bytes = "2kB", kind = "data", after = "script" },
    { name = "picture", bytes = "15kB", origin = "images", count = 8 },
]"""


@pytest.mark.parametrize("http", ["1.1", "2", "3"])
@pytest.mark.usefixtures("for_kernel")
def test_a_page_loads_in_the_kernel_in_the_time_of_the_simulator(http: str) -> None:
    page = OBJECTS.replace("\n", " ").replace(", ]", " ]")
    text = SCENARIO.format(page=f'http = "{http}", dns = "20ms", {page}').replace("300ms", "100ms")
    transport = 'protocol = "quic"' if http == "3" else 'recovery = "linux"'
    scenario = bp.Scenario.parse(f"{text}transport = {{ {transport} }}\n")
    simulated, kernel = bp.run(scenario), bp.run(scenario, backend="kernel")
    tables = [one.table("page_loads") for one in (simulated, kernel)]
    times = [table["load_s"][0] for table in tables]
    assert times[1] == pytest.approx(times[0], rel=0.05)
    # The time of a set-up is known on both.
    set_ups = [table["connect_s"][0] for table in tables]
    assert set_ups[1] == pytest.approx(set_ups[0], rel=0.05)
    assert set_ups[0] > 0.15
