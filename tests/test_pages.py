"""Pages: import of HTTP archives, what the terminal and the page of a run show of loads."""

from __future__ import annotations

import json
import re
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


def multiplexed(
    url: str, start: float, connection: str, version: str = "h2", **changes: Any
) -> dict[str, Any]:
    """An entry over HTTP/2 with the number of its connection."""
    found = entry(url, start, connection=connection, **changes)
    found["response"]["httpVersion"] = version
    return found


SET_UP = {"connect": 200, "ssl": 100, "wait": 100}
"""A round trip of 100 ms: one for TCP, one for TLS 1.3, one for the request."""


def test_a_second_connection_of_a_host_is_another_origin(tmp_path: Path) -> None:
    found = read(
        archive(
            tmp_path / "two.har",
            multiplexed(PAGE, 0, "7", timings=SET_UP),
            multiplexed(PAGE + "a.png", 0.4, "7", timings={"wait": 100}),
            multiplexed(PAGE + "f.woff2", 0.4, "8", timings=SET_UP),
        )
    )
    host = "shop.example"
    assert [one.origin for one in found.objects] == [host, host, f"{host} 2"]


def test_a_connection_that_no_request_opened_was_opened_ahead(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    opened = {"timings": {"connect": 50, "ssl": 20, "wait": 90}}
    user, more = f"{PAGE}user.json", f"{PAGE}more.json"

    def of(second: dict[str, Any], version: str = "http/1.1") -> int:
        requests = [
            multiplexed(PAGE, 0, "68", version, **opened),
            multiplexed(user, 0.3, "68", version),
            multiplexed(more, 0.3, "74", version, **second),
            multiplexed("https://cdn.example/a.png", 0.4, "80", version),
        ]
        return read(archive(tmp_path / "a.har", *requests)).preconnect

    assert of({}) == 2
    assert of(opened) == 1
    assert of({}, "h2") == 1
    assert of({}) == 2
    out = tmp_path / "page.toml"
    done = bentpipe("page", "import", tmp_path / "a.har", "--out", out)
    assert "Connections that were opened ahead: 1." in done.stdout
    (tmp_path / "run.toml").write_text(SCENARIO.format(page='file = "page.toml", http = "1.1"'))
    explained = bentpipe("explain", tmp_path / "run.toml").stdout
    assert re.search(r"traffic.page.preconnect +2 ", explained)


def test_fonts_of_another_host_have_connections_of_their_own(tmp_path: Path) -> None:
    found = read(
        archive(
            tmp_path / "fonts.har",
            entry(PAGE, 0, timings=SET_UP),
            entry("https://cdn.example/main.css", 0.5, timings=SET_UP),
            entry("https://cdn.example/f.woff2", 0.9, timings=SET_UP, _resourceType="font"),
            entry(PAGE + "own.woff2", 0.9, timings={"wait": 100}, _resourceType="font"),
        )
    )
    cdn = "cdn.example"
    origins = [one.origin for one in found.objects]
    assert origins == ["shop.example", cdn, f"{cdn} 2", "shop.example"]


def test_a_request_that_the_browser_held_back_waits_for_what_came_last(tmp_path: Path) -> None:
    # The connection to the pictures stands at 700 ms, and the first picture is there at 840 ms.
    found = read(
        archive(
            tmp_path / "held.har",
            multiplexed(PAGE, 0, "7", timings=SET_UP),
            multiplexed("https://cdn.example/a.png", 0.5, "8", timings=SET_UP),
            multiplexed(
                "https://cdn.example/b.png", 0.5, "8", timings={"blocked": 205, "wait": 130}
            ),
            multiplexed(
                "https://cdn.example/c.png", 0.5, "8", timings={"blocked": 343, "wait": 100}
            ),
        )
    )
    after = {
        one.name: [(each.object, each.delay_ms) for each in one.after] for one in found.objects
    }
    assert after == {
        "index": [],
        "a.png": [("index", 160)],
        "b.png": [("index", 160)],
        "c.png": [("index", 160), ("a.png", 3)],
    }


def test_a_wait_behind_other_answers_is_no_time_of_the_server(tmp_path: Path) -> None:
    busy, idle = (PAGE + name for name in ("busy.png", "idle.png"))
    found = read(
        archive(
            tmp_path / "busy.har",
            multiplexed(PAGE, 0, "7", timings=SET_UP | {"receive": 400}),
            # The document arrives until 700 ms, and its connection is busy until 800 ms.
            multiplexed(busy, 0.5, "7", timings={"wait": 260}),
            # 2000 ms + 100 ms of round trip + 80 ms of the server.
            multiplexed(idle, 2.0, "7", timings={"wait": 180}),
        )
    )
    assert [one.server_ms for one in found.objects] == [0, 0, 80]


def test_the_set_up_of_quic_is_one_round_trip(tmp_path: Path) -> None:
    timings = {"connect": 100, "ssl": 100, "wait": 130}
    found = read(
        archive(tmp_path / "quic.har", multiplexed(PAGE, 0, "7", version="h3", timings=timings))
    )
    assert [one.server_ms for one in found.objects] == [30]


def test_an_archive_without_waits_gets_those_for_the_connection(tmp_path: Path) -> None:
    entries = [
        multiplexed(PAGE, 0, "", timings=SET_UP),
        multiplexed(PAGE + "a.png", 0.05, "", timings={"wait": 100}),
    ]
    for one in entries:
        del one["timings"]["blocked"]
    found = read(archive(tmp_path / "playwright.har", *entries))
    start = found.objects[0].start_ms
    assert [round(one.first_ms - start) for one in found.objects] == [300, 300]


def test_a_request_waits_for_a_style_that_came_after_its_initiator(tmp_path: Path) -> None:
    late = entry(PAGE + "late.css", 0.15, _initiator={"type": "parser", "url": PAGE})
    late["timings"]["receive"] = 200
    font = entry(PAGE + "f.woff2", 0.42, _initiator={"type": "parser", "url": STYLE})
    found = read(
        archive(
            tmp_path / "styles.har",
            entry(PAGE, 0),
            entry(STYLE, 0.15, _initiator={"type": "parser", "url": PAGE}),
            late | {"_resourceType": "stylesheet"},
            font,
        )
    )
    after = [(each.object, each.delay_ms) for each in found.objects[-1].after]
    assert after == [("main.css", 0), ("late.css", 10)]


def test_an_initiator_that_came_after_the_request_is_not_believed(tmp_path: Path) -> None:
    # Each of the two would wait for the other one: the style was sent after the script had ended.
    style = multiplexed(STYLE, 0.5, "7", timings={"blocked": 400, "wait": 100})
    script = multiplexed(PAGE + "main.js", 0.55, "7", timings={"wait": 100})
    script["_initiator"] = {"type": "parser", "url": STYLE}
    found = read(
        archive(tmp_path / "wrong.har", multiplexed(PAGE, 0, "7", timings=SET_UP), style, script)
    )
    after = {one.name: [each.object for each in one.after] for one in found.objects}
    assert after == {"index": [], "main.css": ["index", "main.js"], "main.js": ["index"]}
    assert found.guessed == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected JSON"),
        ('{"log": {"entries": [', "expected JSON"),
        ("[]", "expected an HTTP archive with a `log`"),
        ('{"log": {"entries": []}}', "expected an archive with entries, found none"),
        ('{"log": {"entries": [{"request": {}}]}}', "log.entries[0].startedDateTime: expected a"),
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


@pytest.mark.parametrize("timings", [None, {}, {"wait": -1}])
@pytest.mark.parametrize("version", ["http/1.1", "h2"])
def test_objects_without_times_wait_for_those_before_them_only(
    bentpipe: Bentpipe, tmp_path: Path, timings: dict[str, Any] | None, version: str
) -> None:
    entries = [entry(PAGE, 0), *(entry(f"{PAGE}{name}.css", 0.2) for name in "abcd")]
    for one in entries:
        one["response"]["httpVersion"] = version
        one["response"]["content"]["mimeType"] = "text/css"
    for one in entries[1:]:
        one["timings"] = timings
    file = archive(tmp_path / "shop.har", *entries)
    objects = read(file).objects
    names = [one.name for one in objects]
    for number, waiting in enumerate(objects):
        assert {after.object for after in waiting.after} <= set(names[:number])
    done = bentpipe("page", "import", file, "--out", tmp_path / "page.toml")
    assert done.returncode == 0, done.stderr
    line = "No timings in the archive, 0 ms instead: a.css, b.css, c.css and 1 more."
    assert line in done.stdout
    assert (tmp_path / "page.toml").read_text().count("# no timings in the archive") == 4


def test_an_object_without_a_size_is_named(bentpipe: Bentpipe, tmp_path: Path) -> None:
    unknown, empty = entry(STYLE, 0.2), entry(f"{PAGE}empty", 0.3)
    unknown["response"] |= {"bodySize": -1, "content": {"mimeType": "text/css"}}
    empty["response"] |= {"bodySize": 0, "content": {"size": 0}}
    file = archive(tmp_path / "shop.har", entry(PAGE, 0), unknown, empty)
    done = bentpipe("page", "import", file)
    assert 'bytes = "1B"  # no size in the archive' in done.stdout
    assert done.stdout.count("# no size in the archive") == 1
    done = bentpipe("page", "import", file, "--out", tmp_path / "page.toml")
    assert "No size in the archive, 1 byte instead: main.css." in done.stdout
    done = bentpipe("page", "import", file, "--json")
    found = json.loads(done.stdout)
    assert (found["without_size"], found["without_timings"]) == (["main.css"], [])


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
    # Lookups are packets, except for HTTP/2.
    resolver = "terminal" if http == "2" else "remote"
    keys = f'http = "{http}", dns = "20ms", resolver = "{resolver}"'
    text = SCENARIO.format(page=f"{keys}, {page}").replace("300ms", "100ms")
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
    lookups = [table["dns_s"][0] for table in tables]
    assert lookups[1] == pytest.approx(lookups[0], rel=0.05)
    assert lookups[0] > (0.03 if http == "2" else 0.4)
