"""`bentpipe lab`: the server of the live page, and its state and controls, over real sockets."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe.compare.links import Link
from bentpipe.lab import Lab
from bentpipe.lab.picture import picture
from bentpipe.lab.series import MOST_POINTS
from bentpipe.lab.server import Server
from bentpipe.lab.state import CONTROLLERS, State, initial
from bentpipe.study.statistics import student_interval
from conftest import EXAMPLES, ROOT, SMALL
from lab_client import PRESET, Client, of_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Bentpipe

LONG = re.sub("channel.*\n", "", SMALL.replace("60s", "3600s").replace("2Mbit/s", "300Mbit/s"))
LONG = LONG.replace('download = "300kB"', 'bulk = "unlimited"')
"""A scenario that runs for many seconds."""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    server = Server(initial(None, (), None, None))
    yield Client(server)
    server.close()


# ---------------------------------------------------------------------------------- who may ask


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("GET", "start"), ("POST", "run"), ("POST", "save/study"), ("GET", "x/y")],
)
def test_without_the_token_nothing_is_answered(client: Client, method: str, path: str) -> None:
    for token in ("", "wrong", client.server.token[:-1], client.server.token + "x"):
        answer = client.ask(method, f"/{token}/{path}", {} if method == "POST" else None)
        assert answer.status == 403, (token, path)
        assert b"token" in answer.content
    assert client.ask("GET", "").status == 200


@pytest.mark.parametrize("host", ["example.org", "example.org:{port}", "127.0.0.1", "127.0.0.1:1"])
def test_another_host_is_refused(client: Client, host: str) -> None:
    answer = client.ask("GET", "", Host=host.format(port=client.server.port))
    assert (answer.status, answer.content) == (403, b"This is not the host of this page\n")
    assert client.ask("GET", "", Host=f"localhost:{client.server.port}").status == 200


@pytest.mark.parametrize("origin", ["http://example.org", "null", "http://127.0.0.1:1"])
def test_another_origin_is_refused(client: Client, origin: str) -> None:
    content = {"page": "x", "state": PRESET}
    assert client.ask("POST", "run", content, Origin=origin).status == 403
    own = f"http://127.0.0.1:{client.server.port}"
    assert client.ask("POST", "run", content, Origin=own).status == 200


def test_a_form_of_another_page_is_no_request(client: Client) -> None:
    """A form needs no permission of the server, but cannot send JSON."""
    answer = client.ask("POST", "stop", {"page": "x"}, Content_Type="text/plain")
    assert answer.status == 400


def test_the_server_is_on_the_loopback_address_only(client: Client) -> None:
    assert client.server.socket.getsockname()[0] == "127.0.0.1"
    policy = client.ask("GET", "").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_only_files_of_the_page_are_served(client: Client) -> None:
    for name in ("main.js", "style.css", "uPlot.iife.min.js", "lab.css"):
        assert client.ask("GET", name).status == 200, name
    for name in ("__init__.py", "..", "%2e%2e%2fserver.py", "server.py", "../server.py"):
        assert client.ask("GET", name).status in (403, 404), name


def test_a_port_in_use_names_the_next_free_one(bentpipe: Bentpipe, client: Client) -> None:
    done = bentpipe("lab", "--port", str(client.server.port))
    assert done.returncode == 2
    found = re.search(r"address already in use; the next free one is (\d+): --port \1", done.stderr)
    assert found
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", int(found[1])))


def test_without_a_port_a_free_one_is_found(client: Client) -> None:
    other = Server(client.server.state)
    try:
        assert other.port != client.server.port
        assert other.token != client.server.token
    finally:
        other.close()


def test_bad_input_on_the_command_line_ends_it_at_once(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(SMALL.replace("rate", "rat"))
    for arguments, expected in (
        (("bad.toml",), "bad.toml:6:1: link[0].rat: expected a key of `link[0]`"),
        (("--controllers", "cubik"), "there is no controller 'cubik'; did you mean 'cubic'?"),
        (("--controllers", "mine.py:Mine"), "the page has no controllers in Python"),
        (("--set", "link.0.rat=1Mbit/s"), "did you mean `rate`?"),
        (("missing.toml",), "missing.toml"),
    ):
        done = bentpipe("lab", *arguments)
        assert done.returncode == 2, arguments
        assert expected in done.stderr
        assert done.stdout == ""


def documented() -> list[str]:
    """The commands of the page about the live page."""
    block = (ROOT / "docs/lab.md").read_text().split("```sh\n")[1].split("```")[0]
    return [line.partition("#")[0].strip() for line in block.splitlines()]


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a folder with the examples, and the address that it has printed."""
    (folder / "examples").symlink_to(EXAMPLES)
    command = [sys.executable, "-m", "bentpipe", *arguments]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=folder, **pipes) as process:
        assert process.stdout
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def of_address(address: str, path: str) -> Any:
    """The object at a path below an address."""
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[\w-]{20,}/)", address)
    assert found, address
    with closing(http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)) as asked:
        asked.request("GET", f"{found[2]}{path}")
        return json.loads(asked.getresponse().read())


@pytest.mark.parametrize("command", documented())
def test_the_command_serves_the_page_until_ctrl_c(command: str, tmp_path: Path) -> None:
    program, *arguments = command.split()
    assert program == "bentpipe"
    with serving(tmp_path, *arguments) as (process, address):
        start = of_address(address, "start")
        names = [one for one in arguments if one.endswith(".toml")]
        assert start["file"] == (Path(names[0]).name if names else "geo-ku.toml")
        assert start["state"].get("preset") == (None if names else "geo-ku")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == ("ended\n", "")
        assert process.returncode == 0


def test_options_of_the_command_are_in_the_page(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    options = ("--controllers", "hybla", "--seed", "9", "--set", "link.0.rate=1Mbit/s")
    with serving(tmp_path, "lab", "small.toml", *options) as (process, address):
        state = of_address(address, "start")["state"]
        assert (state["controllers"], state["seed"]) == (["hybla"], "9")
        assert "1Mbit/s" in state["toml"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


def test_the_page_is_an_object_for_programs(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    scenario = bp.Scenario.load(tmp_path / "small.toml")
    for given in (scenario, tmp_path / "small.toml", str(tmp_path / "small.toml")):
        with Lab(given, controllers=["cubic"]) as lab:
            assert of_address(lab.address, "start")["state"]["controllers"] == ["cubic"]
            assert lab.address in lab._repr_html_()
            assert "<Lab of 'small' at" in repr(lab)
        with pytest.raises(OSError, match="refused"):
            of_address(lab.address, "start")
    with Lab("meo") as lab:
        assert of_address(lab.address, "start")["state"]["preset"] == "meo"
    with pytest.raises(bp.InputError, match="did you mean 'cubic'"):
        Lab("meo", controllers=["cubik"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"seed": -1}, "seed: expected a whole number from 0 to 9223372036854775807, found -1"),
        ({"seed": 1.5}, "seed: expected a whole number"),
        ({"seed": "1"}, "seed: expected a whole number"),
        ({"seed": True}, "seed: expected a whole number"),
        ({"seed": 2**63}, "seed: expected a whole number"),
        ({"port": "80"}, "port: expected a whole number from 1 to 65535, found '80'"),
        ({"port": 70_000}, "port: expected a whole number"),
        ({"port": 0}, "port: expected a whole number"),
        ({"controllers": "cubic"}, "controllers: expected a list of names, found 'cubic'"),
        ({"controllers": 5}, "controllers: expected a list of names"),
        ({"controllers": []}, "controllers: expected from 1 to 8 controllers"),
        ({"scenario": 5}, "scenario: expected a Scenario, a file or the name"),
        ({"scenario": "missing.toml"}, "missing.toml"),
    ],
)
@pytest.mark.parametrize("scenario", [None, "meo"])
def test_wrong_arguments_of_the_object_are_input_errors(
    scenario: str | None, arguments: dict[str, Any], expected: str
) -> None:
    with pytest.raises(bp.InputError, match=re.escape(expected)):
        Lab(**({"scenario": scenario} | arguments))


def test_the_charts_are_those_of_their_package() -> None:
    folder = ROOT / "python/bentpipe/lab/page/uplot"
    sums = dict(re.findall(r"\| `([^`]+)` \| `(\w{64})` \|", (folder / "SOURCE.md").read_text()))
    files = {one.name for one in folder.iterdir()} - {"SOURCE.md"}
    assert set(sums) == files
    for name in files:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sums[name]


# ------------------------------------------------------------------------------------ pictures


def test_a_picture_has_the_scenario_and_a_run_of_each_controller(client: Client) -> None:
    lines = client.run(PRESET)
    assert lines[0]["kind"] == "setup"
    assert lines[-1]["kind"] == "end"
    (setup,) = of_kind(lines, "setup")
    assert [one["name"] for one in setup["path"]["nodes"]] == ["server", "gateway", "client"]
    results = {one["controller"]: one for one in of_kind(lines, "result")}
    assert set(results) == {"cubic", "bbr"}
    # The same numbers as those of a run by any other way.
    scenario = bp.Scenario.parse(setup["toml"]).with_({"flow.0.controller": "bbr"})
    run = bp.run(scenario)
    assert results["bbr"]["totals"]["goodput"] == run.flows["goodput_bps"][0] / 1e6
    assert results["bbr"]["totals"]["lost"] == sum(
        one.dropped_packets + one.corrupted_packets
        for one in run.recording.links
        if one.direction == "forward"
    )
    (tables,) = of_kind(lines, "tables")
    assert tables["differences"]["columns"] == ["cubic", "bbr"]


def test_series_are_those_of_the_run_with_few_points(client: Client) -> None:
    (found,) = of_kind(client.run(PRESET | {"controllers": ["cubic"]}), "result")
    series = found["series"]
    scenario = State.of_json(PRESET, Path("x.toml")).scenario
    interval = round(scenario.duration_s / 2400 * 1e9)
    changes = {"record.interval": f"{interval}ns", "flow.0.controller": "cubic"}
    run = bp.run(scenario.with_(changes))
    flow = {round(t, 6): row for t, *row in run.flow_series.select(
        "t_s", "cwnd_bytes", "srtt_ms").iter_rows()}  # fmt: skip
    assert 100 < len(series["t"]) <= MOST_POINTS
    for t, cwnd, rtt in zip(series["t"], series["cwnd"], series["rtt"], strict=True):
        near = min(flow, key=lambda one: abs(one - t))
        assert cwnd == pytest.approx(flow[near][0] / 1e3, rel=1e-3)
        assert rtt == (None if flow[near][1] is None else pytest.approx(flow[near][1], rel=1e-3))
    assert series["lost"][-1] == found["totals"]["lost"]
    assert sum(series["goodput"]) > 0


def test_limits_are_those_of_the_flow_or_of_its_legs(client: Client) -> None:
    def rows(values: dict[str, Any]) -> dict[str, dict[str, float]]:
        lines = client.run(PRESET | {"controllers": ["cubic"], "values": values})
        (tables,) = of_kind(lines, "tables")
        found = tables["limits"]
        return {
            row["label"]: dict(zip(found["columns"], (one["share"] for one in row["cells"]),
                                   strict=True))
            for row in found["rows"]
        }  # fmt: skip

    state = State.of_json(PRESET | {"controllers": ["cubic"]}, Path("x.toml"))
    flow = bp.run(state.of_controller("cubic")).recording.flows[0]
    (shares,) = rows({"duration": "5s"}).values()
    assert shares["congestion window"] == flow.limited_by_congestion_window
    assert sum(shares.values()) == pytest.approx(1)
    legs = rows({"duration": "5s", "proxy": "pepsal"})
    assert list(legs) == ["cubic, server to gateway", "cubic, gateway to client"]
    assert all(sum(one.values()) == pytest.approx(1) for one in legs.values())


def test_the_picture_names_a_proxy_that_keeps_its_own_controller() -> None:
    for name, leg in (
        ("split-proxy", "gateway sends to terminal with cubic"),
        ("beam-proxy", "gateway sends to home-1 with hybla"),
    ):
        scenario = bp.Scenario.load(EXAMPLES / f"{name}.toml")
        for controller in ("cubic", "bbr3"):
            changed = scenario.with_({"flow.0.controller": controller})
            note = picture(Link(name, changed), changed.explain())["note"]
            assert f"The split proxy at {leg}, whatever controller is chosen." in note
    same = scenario.with_({"node.gateway.proxy": {"satellite": {"mss": 1300}}})
    assert "split proxy" not in picture(Link("same", same), same.explain())["note"]


def test_window_and_rtt_of_a_split_flow_are_those_of_the_leg_over_the_bottleneck(
    client: Client,
) -> None:
    state = PRESET | {"controllers": ["cubic"], "values": {"duration": "5s", "proxy": "pepsal"}}
    (found,) = of_kind(client.run(state), "result")
    assert found["series"]["leg"] == "gateway to client"
    # The other leg has 20 ms.
    assert min(one for one in found["series"]["rtt"] if one is not None) > 500
    (plain,) = of_kind(client.run(PRESET | {"controllers": ["cubic"]}), "result")
    assert plain["series"]["leg"] == ""


def test_an_equal_request_runs_nothing_again_and_another_does(client: Client) -> None:
    state = PRESET | {"seed": 12345}
    before = client.server.runner.counts.started
    first = of_kind(client.run(state), "result")
    assert client.server.runner.counts.started == before + 2
    again = of_kind(client.run(state), "result")
    assert client.server.runner.counts.started == before + 2
    key = lambda one: one["controller"]  # noqa: E731
    assert sorted(again, key=key) == sorted(first, key=key)
    client.run(state | {"seed": 12346})
    assert client.server.runner.counts.started == before + 4


def test_a_picture_is_small(client: Client) -> None:
    lines = client.run(PRESET | {"controllers": list(CONTROLLERS)})
    sizes = [len(json.dumps(one)) for one in of_kind(lines, "result")]
    assert max(sizes) < 20_000
    assert len(json.dumps(lines)) < 150_000


BAD = SMALL.replace("rate", "rat")


def test_errors_are_those_of_the_command_line(
    client: Client, bentpipe: Bentpipe, tmp_path: Path
) -> None:
    name = client.server.state.source.file.name
    (tmp_path / name).write_text(BAD)
    lines = client.run({"toml": BAD, "controllers": ["cubic"]})
    (error,) = lines
    assert error["kind"] == "error"
    messages = [one["message"] for one in error["problems"]]
    done = bentpipe("run", name)
    assert done.stderr == f"bentpipe: {chr(10).join(messages)}\n"
    assert error["problems"][0]["line"] == 6


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"preset": "geo-k", "controllers": ["cubic"]}, "did you mean 'geo-ka'"),
        ({"preset": "geo-ku", "controllers": ["cubik"]}, "did you mean 'cubic'?"),
        ({"preset": "geo-ku", "controllers": ["m.py:M"]}, "no controllers in Python"),
        ({"preset": "geo-ku", "controllers": []}, "expected from 1 to 8 controllers, found 0"),
        ({"preset": "geo-ku"}, "expected from 1 to 8 controllers, found 0"),
        ({"controllers": ["cubic"]}, "expected `preset` or `toml`"),
        (PRESET | {"values": {"rat": 1}}, "no control 'rat'; did you mean 'rate'?"),
        (PRESET | {"values": {"rate": "1"}}, "the unit is missing"),
        (PRESET | {"values": {"queue": []}}, "queue: expected a value of the slider, found []"),
        (PRESET | {"values": {"mechanism": "codell"}}, "did you mean 'codel'?"),
        (PRESET | {"values": 3}, "state.values: expected an object, found 3"),
        (PRESET | {"seed": -1}, "seed: expected a whole number"),
        ({"toml": SMALL, "file": "../x.toml"}, "state.file: expected the name of a file without"),
        ({"toml": SMALL, "file": ""}, "state.file: expected the name of a file without"),
        ({"toml": SMALL, "file": 5}, "state.file: expected the name of a file without"),
        (PRESET | {"seed": "-1"}, "seed: expected a whole number"),
        (PRESET | {"seed": "²"}, "seed: expected a whole number"),
        (PRESET | {"seed": 1.5}, "seed: expected a whole number"),
        (PRESET | {"seed": str(2**63)}, "seed: expected a whole number"),
        (PRESET | {"sed": 1}, "there is no key 'sed'; did you mean 'seed'?"),
        ([], "state: expected an object, found list"),
    ],
)
def test_a_state_that_is_wrong_says_what_was_expected(
    client: Client, state: Any, expected: str
) -> None:
    (line,) = client.run(state)
    assert line["kind"] == "error"
    assert expected in line["problems"][0]["message"]


def test_what_is_no_json_is_refused(client: Client) -> None:
    assert client.ask("POST", "run", []).status == 400
    assert client.ask("POST", "run", {"state": PRESET}).status == 400
    assert client.ask("POST", "run", {"state": PRESET, "page": "../x"}).status == 400


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("packets", {"state": PRESET, "controller": "cubic", "to_s": 10**400}, 422),
        ("packets", {"state": PRESET, "controller": "cubic", "from_s": float("nan")}, 422),
        ("lessons", {"lesson": ["fades"]}, 404),
        ("lessons", {"lesson": "\ud800"}, 400),
        ("save/scenario", {"state": PRESET | {"seed": "9" * 5000}}, 422),
    ],
)
def test_numbers_and_texts_that_no_run_has_are_refused(
    client: Client, path: str, content: dict[str, Any], status: int
) -> None:
    assert client.ask("POST", path, {"page": client.page} | content).status == status


def test_every_controller_of_the_list_runs(client: Client) -> None:
    (setup,) = of_kind(client.run(PRESET), "setup")
    names = [one["name"] for one in setup["choices"]]
    assert len(names) > 40
    for first in range(0, len(names), 8):
        some = names[first : first + 8]
        state = PRESET | {"controllers": some, "values": {"duration": "5s", "rate": "1Mbit/s"}}
        lines = client.run(state)
        assert {one["controller"] for one in of_kind(lines, "result")} == set(some)
    (xcp,) = (one for one in setup["choices"] if one["name"] == "xcp")
    assert xcp["needs"] == "routers with XCP on all links"


def test_a_controller_that_does_not_fit_leaves_the_others(client: Client) -> None:
    state = {"toml": (EXAMPLES / "sctp-two-paths.toml").read_text(), "values": {"duration": "5s"},
             "controllers": ["none", "cubic"]}  # fmt: skip
    lines = client.run(state)
    (setup,) = of_kind(lines, "setup")
    assert list(setup["failed"]) == ["cubic"]
    assert [one["controller"] for one in of_kind(lines, "result")] == ["none"]


def test_a_band_has_the_range_of_all_seeds_and_paired_differences(client: Client) -> None:
    state = {"preset": "geo-lossy", "controllers": ["cubic", "bbr"],
             "values": {"duration": "20s"}, "seed": 3}  # fmt: skip
    asked = {"page": "tests", "state": state, "seeds": 4}
    answer = client.ask("POST", "run", asked)
    found = [json.loads(line) for line in answer.content.splitlines()]
    assert [one["share"] for one in of_kind(found, "part")][-1] == 1
    (bands,) = of_kind(found, "bands")
    singles = [of_kind(client.run(state | {"seed": seed}), "result") for seed in (3, 4, 5, 6)]
    for name in ("cubic", "bbr"):
        totals = [one["totals"] for runs in singles for one in runs if one["controller"] == name]
        lost = bands["lines"][name]["lost"]
        assert lost["low"][-1] == min(one["lost"] for one in totals)
        assert lost["high"][-1] == max(one["lost"] for one in totals)
        sides = zip(lost["low"], lost["mid"], lost["high"], strict=True)
        known = [one for one in sides if None not in one]
        assert len(known) > 100
        assert all(low <= mid <= high for low, mid, high in known)
        column = bands["differences"]["columns"].index(name)
        goodput = bands["differences"]["rows"][0]["cells"][column]
        mean = sum(one["goodput"] for one in totals) / 4
        assert float(goodput["text"]) == pytest.approx(mean, rel=1e-3)
    (low, high) = map(float, goodput["difference"].replace(",", "").split(" to "))
    by_seed = [
        [next(one["totals"]["goodput"] for one in runs if one["controller"] == name)
         for name in ("bbr", "cubic")]
        for runs in singles
    ]  # fmt: skip
    differences = [bbr - cubic for bbr, cubic in by_seed]
    expected = student_interval(differences)
    assert (low, high) == pytest.approx(expected, rel=1e-3)
    assert goodput["is_better"]
    cubic = sum(own for _, own in by_seed) / 4
    assert bands["summary"].startswith(f"Means over 4 seeds. Goodput: cubic {cubic:.3g} Mbit/s")
    assert bands["note"].startswith("Means over 4 seeds. Below them")
    assert "(det.)" not in bands["note"]
    rows = {one["label"]: one["cells"] for one in bands["limits"]["rows"]}
    shares = [one["limits"][""]["recovery"] for runs in singles for one in runs
              if one["controller"] == "bbr"]  # fmt: skip
    place = bands["limits"]["columns"].index("recovery")
    assert rows["bbr"][place]["share"] == pytest.approx(sum(shares) / 4)


LARGE = 2**63 - 1


def test_large_seeds_stay_exact(client: Client) -> None:
    for seed in (2**53 + 1, LARGE):
        plain = initial(None, (), ["cubic"], seed)
        assert json.loads(json.dumps(plain.to_json()))["seed"] == str(seed)
        for written in (seed, str(seed)):
            (setup,) = of_kind(client.run(PRESET | {"seed": written}), "setup")
            assert setup["seed"] == str(seed)
            assert f"seed = {seed}" in setup["toml"].splitlines()


def test_a_band_has_the_seeds_of_a_study(client: Client) -> None:
    scenario = bp.Scenario.parse(SMALL).with_({"seed": 2**64 - 2})
    state = {"toml": scenario.to_toml(), "controllers": ["cubic"]}
    answer = client.ask("POST", "run", {"page": "tests", "state": state, "seeds": 3})
    (bands,) = of_kind([json.loads(line) for line in answer.content.splitlines()], "bands")
    seeds = (2**64 - 2, 2**64 - 1, 0)
    runs = [bp.run(scenario.with_({"flow.0.controller": "cubic"}), seed=seed) for seed in seeds]
    mean = sum(run.flows["goodput_bps"][0] for run in runs) / 3e6
    goodput = bands["differences"]["rows"][0]["cells"][0]["text"]
    assert float(goodput) == pytest.approx(mean, rel=1e-3)


def test_marks_of_a_band_are_explained(client: Client) -> None:
    for names, mark in ((["cubic", "hybla"], "(det.)"), (["cubic"], "")):
        asked = {"page": "tests", "state": PRESET | {"controllers": names}, "seeds": 2}
        answer = client.ask("POST", "run", asked)
        found = [json.loads(line) for line in answer.content.splitlines()]
        (bands,) = of_kind(found, "bands")
        assert mark in json.dumps(bands["differences"])
        assert mark in bands["note"]
        assert ("differences" in bands["note"]) == bool(mark)


@pytest.mark.parametrize("seeds", [0, 51, "3", True, 1.5])
def test_a_number_of_seeds_that_is_none_is_refused(client: Client, seeds: Any) -> None:
    answer = client.ask("POST", "run", {"page": "tests", "state": PRESET, "seeds": seeds})
    (line,) = [json.loads(line) for line in answer.content.splitlines()]
    assert "seeds: expected a whole number from 1 to 50" in line["problems"][0]["message"]


# --------------------------------------------------------------------------- stopping, and newer


@contextmanager
def started(client: Client, state: dict[str, Any], page: str) -> Iterator[http.client.HTTPResponse]:
    """An answer whose first run has begun."""
    with client.opened("POST", "run", {"page": page, "state": state}) as answer:
        while b'"progress"' not in (line := answer.readline()):
            assert line, "the run has ended"
        yield answer


def wait_until_idle(client: Client) -> float:
    """The seconds until no run is under way."""
    began = time.monotonic()
    while client.server.runner.counts.under_way:
        assert time.monotonic() - began < 60
        time.sleep(0.01)
    return time.monotonic() - began


STATE = {"toml": LONG, "controllers": ["cubic"]}


def test_a_long_run_shows_progress_and_can_be_stopped(client: Client) -> None:
    with started(client, STATE, "one") as answer:
        assert client.ask("POST", "stop", {"page": "another"}).status == 200
        assert b'"progress"' in answer.readline()
        assert client.ask("POST", "stop", {"page": "one"}).status == 200
        rest = [json.loads(line) for line in answer.read().splitlines()]
    assert [one["kind"] for one in rest if one["kind"] != "progress"] == ["stopped", "end"]
    assert client.server.runner.counts.under_way == 0


def test_a_page_that_is_gone_stops_its_runs(client: Client) -> None:
    with started(client, STATE, "gone"):
        assert client.server.runner.counts.under_way == 1
    wait_until_idle(client)


def test_the_newest_request_of_a_page_wins(client: Client) -> None:
    counts = client.server.runner.counts
    with started(client, STATE, "tests") as answer:
        stopped = counts.stopped
        lines = client.run(PRESET | {"seed": 77, "controllers": ["cubic"]})
        assert of_kind(lines, "result")
        assert counts.stopped == stopped + 1
        assert b'"stopped"' in answer.read()


def test_the_end_of_the_server_ends_long_runs() -> None:
    server = Server(initial(None, (), None, None))
    with started(Client(server), STATE, "one"):
        began = time.monotonic()
        server.close()
        assert time.monotonic() - began < 30
    assert not server.thread.is_alive()
    server.close()
