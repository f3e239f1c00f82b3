"""The live page: the scenario, the study and the notebook that it saves."""

from __future__ import annotations

import ast
import io
import json
import re
import tomllib
import zipfile
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

import bentpipe as bp
import notebook
from bentpipe.lab import saving
from bentpipe.lab.saving import literal
from bentpipe.lab.server import Server
from bentpipe.lab.state import initial
from bentpipe.study import Study
from conftest import EXAMPLES, SMALL
from lab_client import PRESET, Client, of_kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Bentpipe

BAD = SMALL.replace("rate", "rat")
WITH_SETTINGS = PRESET | {
    "controllers": ["cubic", "ck-stp"],
    "values": {"duration": "20s", "rate": "5Mbit/s"},
}
"""A page whose CK-STP gets the rate and the RTT of the link."""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    server = Server(initial(None, (), None, None))
    yield Client(server)
    server.close()


def files(content: bytes) -> dict[str, str]:
    """The texts of an archive by their names."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def goodputs(client: Client, state: Any) -> dict[str, float]:
    """The goodputs in Mbit/s that a page shows."""
    found = of_kind(client.run(state), "result")
    return {one["controller"]: one["totals"]["goodput"] for one in found}


def test_a_saved_scenario_gives_the_same_run(client: Client, tmp_path: Path) -> None:
    state = PRESET | {"values": {"duration": "5s", "loss": "0.01"}, "seed": 5}
    answer = client.ask("POST", "save/scenario", {"state": state})
    assert answer.headers["Content-Disposition"] == 'attachment; filename="geo-ku.toml"'
    (tmp_path / "geo-ku.toml").write_bytes(answer.content)
    run = bp.run(bp.Scenario.load(tmp_path / "geo-ku.toml"))
    (shown,) = of_kind(client.run(state | {"controllers": ["cubic"]}), "result")
    assert shown["totals"]["goodput"] == run.flows["goodput_bps"][0] / 1e6


def test_a_saved_study_compares_the_controllers(
    client: Client, bentpipe: Bentpipe, tmp_path: Path
) -> None:
    named = ["cubic", "hybla:rtt0=0.05"]
    answer = client.ask("POST", "save/study", {"state": PRESET | {"controllers": named}})
    content = answer.content
    again = client.ask("POST", "save/study", {"state": PRESET | {"controllers": named}}).content
    assert content == again
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(tmp_path)
    done = bentpipe("study", "geo-ku-study.toml", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["runs"] == 40


def test_what_cannot_be_saved_says_why(client: Client) -> None:
    answer = client.ask("POST", "save/study", {"state": {"toml": BAD, "controllers": ["cubic"]}})
    assert answer.status == 422
    assert "did you mean `rate`?" in json.loads(answer.content)["problems"][0]["message"]


@pytest.mark.parametrize(
    "controllers",
    [["cubic", "hybla:rtt0=0.05", "ck-stp"], pytest.param(["bbr"], marks=pytest.mark.nightly)],
)
def test_a_saved_notebook_runs_to_the_numbers_of_the_page(
    client: Client, controllers: list[str], tmp_path: Path
) -> None:
    state = PRESET | {"controllers": controllers, "seed": 5}
    content = client.ask("POST", "save/notebook", {"state": state}).content
    assert content == client.ask("POST", "save/notebook", {"state": state}).content
    (tmp_path / "geo-ku.ipynb").write_bytes(content)
    done = notebook.executed(tmp_path / "geo-ku.ipynb")
    nbformat.validate(done)
    shown = [output for cell in notebook.outputs(done) for output in cell]
    text = "".join(output.get("text", "") for output in shown)
    for result in of_kind(client.run(state), "result"):
        name, goodput = result["controller"], result["totals"]["goodput"]
        assert re.search(
            rf"^.*{name.partition(':')[0]}.*: {goodput:.2f} Mbit/s$", text, re.MULTILINE
        )
    pictures = [one for one in shown if "image/svg+xml" in one.get("data", {})]
    assert len(pictures) == 1
    study = shown[-1]["data"]["text/html"]
    assert "goodput" in study


def test_a_scenario_with_marks_of_texts_is_python_source(client: Client) -> None:
    for text in ('name = "a"\n', 'a = "x\\ny"\n', 'a = """x"""\n'):
        assert ast.literal_eval(literal(text)) == text


def test_a_saved_study_runs_the_controllers_of_the_page(client: Client, tmp_path: Path) -> None:
    found = files(client.ask("POST", "save/study", {"state": WITH_SETTINGS}).content)
    for name, text in found.items():
        (tmp_path / name).write_text(text.replace("count = 20", "count = 2"))
    rows = Study.load(tmp_path / "geo-ku-study.toml").run().rows.filter(replication=0)
    shown = goodputs(client, WITH_SETTINGS)
    column = "flow.flow-0.goodput_bps"
    assert [one / 1e6 for one in rows[column]] == [shown[name] for name in ("cubic", "ck-stp")]


def test_a_note_has_the_settings_for_the_command_line(
    client: Client, bentpipe: Bentpipe, tmp_path: Path
) -> None:
    (setup,) = of_kind(client.run(WITH_SETTINGS), "setup")
    (note,) = setup["notes"].values()
    told = re.fullmatch(
        r"ck-stp needs the rate and the RTT of the link as settings, which it gets here: (.*)\.",
        note,
    )
    assert told
    answer = client.ask("POST", "save/scenario", {"state": WITH_SETTINGS})
    (tmp_path / "geo-ku.toml").write_bytes(answer.content)
    shown = goodputs(client, WITH_SETTINGS)
    for name, value in (("ck-stp", told[1]), ("cubic", "cubic")):
        done = bentpipe("run", "geo-ku.toml", "--set", f"flow.0.controller={value}", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["flows"][0]["goodput_bps"] / 1e6 == shown[name]


def test_controllers_with_special_needs_have_notes(client: Client) -> None:
    state = PRESET | {"controllers": ["xcp", "reno", "ck-stp:rate=2:rtt=600"]}
    (setup,) = of_kind(client.run(state), "setup")
    assert setup["notes"]["xcp"] == "xcp needs routers with XCP on all links."
    assert setup["notes"].keys() == {"xcp", "ck-stp:rate=2:rtt=600"}
    assert setup["notes"]["ck-stp:rate=2:rtt=600"] == (
        "ck-stp:rate=2:rtt=600 needs the rate and the RTT of the link as settings, and has those of"
        " its name: rate=2, rtt=600."
    )


def test_what_does_not_run_on_the_page_is_not_saved(client: Client) -> None:
    text = (EXAMPLES / "quic-and-tcp.toml").read_text(encoding="utf-8")
    names = ["none", "cubic", "hybla:rtt0=0.05", '{ name = "hybla", rtt0 = 0.05 }']
    state = {"toml": text, "controllers": names}
    (setup,) = of_kind(client.run(state), "setup")
    assert setup["failed"].keys() == {"none"}
    found = files(client.ask("POST", "save/study", {"state": state}).content)
    values = tomllib.loads(found["quic-and-tcp-study.toml"])["parameters"]["controller"]["values"]
    assert values == ["cubic", '{ name = "hybla", rtt0 = 0.05 }']
    content = client.ask("POST", "save/notebook", {"state": state}).content
    assert '"none"' not in cell_with(content, "controllers = ")
    alone = client.ask("POST", "save/notebook", {"state": state | {"controllers": ["none"]}})
    assert alone.status == 422
    assert "expected a congestion controller" in json.loads(alone.content)["problems"][0]["message"]


def cell_with(content: bytes, text: str) -> str:
    """The source of the cell of a notebook with a text."""
    sources = ["".join(one["source"]) for one in json.loads(content)["cells"]]
    return next(one for one in sources if text in one)


@pytest.mark.parametrize("file", ["beam-rain", "geo-household"])
def test_the_figure_of_a_notebook_has_the_first_flow(client: Client, file: str) -> None:
    text = (EXAMPLES / f"{file}.toml").read_text(encoding="utf-8")
    state = {"toml": text, "controllers": ["cubic", "bbr"], "values": {"duration": "10s"}}
    content = client.ask("POST", "save/notebook", {"state": state}).content
    names: dict[str, Any] = {}
    for part in ("TOML = ", "controllers = "):
        exec(cell_with(content, part), names)
    (call,) = cell_with(content, "bp.plot").splitlines()
    figure = eval(call, names)
    assert len(figure.series) == 2
    assert names["runs"][0].flows.height > 1


def test_errors_of_a_study_name_the_file_of_the_download(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "REPLICATIONS", "no")
    answer = client.ask("POST", "save/study", {"state": PRESET})
    assert answer.status == 422
    (problem,) = json.loads(answer.content)["problems"]
    assert problem["message"].startswith("geo-ku-study.toml:")
