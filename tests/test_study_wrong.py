"""Studies that cannot be right, in files and in programs: what was expected, and where."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe.problems import UnfitError
from bentpipe.study import Parameter, Quantity, Replications, Study, reference, schema
from bentpipe.study.quantities import parse
from conftest import ROOT, STUDY

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe


@pytest.fixture
def made(tmp_path: Path, file: Path) -> dict[str, Any]:
    """The arguments of a valid study of a program."""
    assert file.parent == tmp_path
    return {
        "name": "made",
        "scenario": tmp_path / "small.toml",
        "quantities": ["flow.completion_s"],
        "replications": Replications(count=2),
    }


@pytest.mark.parametrize(
    ("name", "found", "suggestion", "listed"),
    [
        ("flow.godput_bps", "godput_bps", '"goodput_bps"', ""),
        ("flows.goodput_bps", "flows", '"flow"', ""),
        ("avg(flow.goodput_bps)", "avg", None, '"mean"'),
        ("p101(flow.goodput_bps)", "p101", None, '"p95"'),
        ("jain", "jain", '"jain_index"', ""),
        ("flow.controller", "controller", None, '"goodput_bps"'),
        ("arq.repeated_frmes", "repeated_frmes", '"repeated_frames"', ""),
        ("middlebox.hub.supressed", "supressed", '"suppressed"', ""),
        ("heder_compression.refreshes", "heder_compression", '"header_compression"', ""),
        ("path_mtu.leg", "leg", None, '"probes"'),
    ],
)
def test_wrong_quantities(name: str, found: str, suggestion: str | None, listed: str) -> None:
    with pytest.raises(UnfitError) as caught:
        parse(name)
    error = caught.value
    assert (error.found, error.suggestion) == (f'"{found}" in "{name}"', suggestion)
    assert listed in error.expected


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"quantities": [3]}, "Quantity or its name"),
        ({"parameters": [("a", "b")]}, "Parameter"),
        ({"replications": 3}, "Replications"),
    ],
)
def test_values_of_other_types_are_refused(
    made: dict[str, Any], wrong: dict[str, object], expected: str
) -> None:
    with pytest.raises(bp.StudyError) as caught:
        Study.make(**(made | wrong))
    (error,) = caught.value.errors
    assert [error.path] == list(wrong)
    assert error.expected == expected


@pytest.mark.parametrize(
    ("wrong", "path", "expected"),
    [
        ({"replications": Replications(count="3")}, "replications.count", "whole number"),  # type: ignore[arg-type]
        ({"replications": Replications(count=10**12)}, "replications.count", "1 to 1000000"),
        ({"replications": Replications(count=3, budget=9)}, "replications.budget", "`count`"),
        ({"replications": Replications()}, "replications", "`count`"),
        ({"parameters": [Parameter("a", "seed", ())]}, "parameters.a.values", "one value"),
        ({"parameters": [Parameter("a", "seed", (1, 2))]}, "parameters.a.path", "nothing else"),
        ({"quantities": []}, "quantity", "[[quantity]]"),
    ],
)
def test_a_program_has_the_errors_of_a_file(
    made: dict[str, Any], wrong: dict[str, object], path: str, expected: str
) -> None:
    with pytest.raises(bp.StudyError) as caught:
        Study.make(**(made | wrong))
    (error,) = caught.value.errors
    assert (error.path, error.file, error.line) == (path, None, None)
    assert expected in error.expected


def test_quantities_take_what_they_know() -> None:
    with pytest.raises(UnfitError) as caught:
        Quantity("flow.completion_s", interval="bca")  # type: ignore[arg-type]
    assert caught.value.found == '"bca"'
    with pytest.raises(UnfitError) as caught:
        Quantity("flow.completion_s", percentiles=(101,))
    assert caught.value.found == "101"


@pytest.mark.parametrize(
    ("name", "reason", "suggestion"),
    [
        ("arq.server-cliemt.frames", 'the table "arq" of its recordings has', '"server-client"'),
        ("arq.server-client.backward.frames", 'have no table "arq"', None),
        ("fec.repaired_packets", 'have no table "fec"', None),
        ("middlebox.suppressed", 'have no table "middlebox"', None),
    ],
)
def test_a_counter_of_a_mechanism_that_is_not_there_is_refused(
    made: dict[str, Any], name: str, reason: str, suggestion: str | None
) -> None:
    scenario = made["scenario"]
    scenario.write_text(
        scenario.read_text().replace("[[link]]", "[[link]]\nforward.arq = 'go-back-n'")
    )
    with pytest.raises(bp.StudyError) as caught:
        Study.make(**(made | {"quantities": ["flow.completion_s", name]}))
    (error,) = caught.value.errors
    assert (error.path, error.found, error.suggestion) == (
        "quantity[1].name",
        f'"{name}"',
        suggestion,
    )
    assert reason in (error.reason or "")


WRONG = [
    ("flow.0.controller", "flow.0.controler", 5, "parameters.controller.path", "`controller`"),
    ("link.0.delay", "link.4.delay", 6, "parameters.delay.path", None),
    ("link.0.delay", "link.sever-client.delay", 6, "parameters.delay.path", '"server-client"'),
    ("flow.0.controller", "flow.flow-7.controller", 5, "parameters.controller.path", '"flow-0"'),
    ('"hybla"', '"hybra"', 5, "parameters.controller.values[1]", '"hybla"'),
    ('["newreno", "hybla"]', "[]", 5, "parameters.controller.values", None),
    ('"hybla"', '"newreno"', 5, "parameters.controller.values[1]", None),
    ('"hybla"', '["newreno"]', 5, "parameters.controller.values[1]", None),
    ('path = "link.0.delay"', 'path = "flow.0.controller"', 6, "parameters.delay.path", None),
    ('path = "link.0.delay"', 'path = "seed"', 6, "parameters.delay.path", None),
    ('step = "100ms"', 'step = "100s"', 6, "parameters.delay.range.step", None),
    ('step = "100ms"', 'step = "-1ms"', 6, "parameters.delay.range.step", None),
    ('step = "100ms"', "count = 1", 6, "parameters.delay.range.count", None),
    ('step = "100ms"', 'step = "100ms", count = 2', 6, "parameters.delay.range", None),
    ('to = "200ms", ', "", 6, "parameters.delay.range.to", None),
    ('to = "200ms", ', 'to = "200s", ', 6, "parameters.delay.range.to", None),
    ("range =", "rnage =", 6, "parameters.delay", "`range`"),
    ("count = 20", "cuont = 20", 9, "replications", "`count`"),
    ("count = 20", "count = 0", 9, "replications.count", None),
    ("count = 20", "", 8, "replications", None),
    ("count = 20", "count = '20'", 9, "replications.count", None),
    ("count = 20", "count = 1000000000000", 9, "replications.count", None),
    ("count = 20", "count = 500000", 9, "replications.count", None),
    ('"flow.completion_s"', '"flow.compltion_s"', 12, "quantity[0].name", '"completion_s"'),
    ('"flow.completion_s"', '"flow.dwnload.completion_s"', 12, "quantity[0].name", None),
    ('"flow.completion_s"', '"page.response_s"', 12, "quantity[0].name", None),
    ("server-client", "server-cleint", 16, "quantity[1].name", '"server-client"'),
    ("[5, 95]", "[5, 950]", 13, "quantity[0].percentiles[1]", None),
    ('"bootstrap"', '"jackknife"', 17, "quantity[1].interval", None),
    ('"bootstrap"', '"bootstrp"', 17, "quantity[1].interval", '"bootstrap"'),
    ('parameter = "controller"', 'parameter = "controler"', 20, "comparison[0].parameter",
     '"controller"'),
    ('baseline = "newreno"', 'baseline = "newrneo"', 21, "comparison[0].baseline", '"newreno"'),
    ("[[comparison]]", "[[comparisn]]", 19, "comparisn", "`comparison`"),
    ("[[comparison]]", "[[comparison]]\nquantities = [1]", 20, "comparison[0].quantities[0]", None),
    ('step = "100ms"', 'step = "1e-9999ms"', 6, "parameters.delay.range.step", None),
    ('to = "200ms"', 'to = "1e99999999ms"', 6, "parameters.delay.range.to", None),
    ('"small.toml"', '"smal.toml"', 2, "scenario", '"small.toml"'),
    ('"small.toml"', "{}", 2, "scenario", None),
    ("[replications]", "[replications", 8, "", None),
    ('title = "Small"', 'zip = [["controller", "dealy"]]', 1, "zip[0][1]", '"delay"'),
    ('title = "Small"', 'zip = [["controller"]]', 1, "zip[0]", None),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong", "line", "path", "suggestion"), WRONG)
def test_wrong_studies(
    file: Path, right: str, wrong: str, line: int, path: str, suggestion: str | None
) -> None:
    assert right in STUDY
    file.write_text(STUDY.replace(right, wrong, 1))
    with pytest.raises(bp.StudyError) as caught:
        Study.load(file)
    (error,) = caught.value.errors
    assert (error.file, error.line, error.path) == (str(file), line, path)
    assert error.suggestion == suggestion
    assert error.column
    assert "^" in error.message


def test_the_command_refuses_a_wrong_study(bentpipe: Bentpipe, file: Path, tmp_path: Path) -> None:
    file.write_text(STUDY.replace("count", "cuont"))
    done = bentpipe("study", file, "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert "study.toml:9:1: " in done.stderr
    assert not (tmp_path / "out").exists()
    done = bentpipe("study", file, "--json")
    assert done.returncode == 2
    (error,) = json.loads(done.stdout)["errors"]
    assert (error["line"], error["path"], error["suggestion"]) == (9, "replications", "`count`")


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ([("count = 20", "count = 0"), ("percentiles", "percentile")], [9, 13]),
        ([("completion_s", "completion"), ('step = "100ms"', 'step = "100s"')], [6, 12]),
        ([("server-client", "server"), ("flow.comp", "flow.x.comp")], [12, 16]),
    ],
)
def test_all_errors_are_reported_in_the_order_of_the_file(
    file: Path, changes: list[tuple[str, str]], lines: list[int]
) -> None:
    text = STUDY
    for right, wrong in changes:
        text = text.replace(right, wrong)
    file.write_text(text)
    with pytest.raises(bp.StudyError) as caught:
        Study.load(file)
    assert [error.line for error in caught.value.errors] == lines
    assert caught.value.line == lines[0]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("flow.0.controller", "flow.0.controler"), ('["newreno", "hybla"]', "[]")],
)
def test_what_follows_from_a_mistake_is_not_told(file: Path, right: str, wrong: str) -> None:
    file.write_text(STUDY.replace(right, wrong))
    with pytest.raises(bp.StudyError) as caught:
        Study.load(file)
    assert "completion_s" not in str(caught.value)
    assert "comparison" not in str(caught.value)


@pytest.mark.parametrize("path", ["flow.flow-0.controller", "flow.*.controller"])
def test_a_wrong_value_of_a_named_entry_has_its_place(file: Path, path: str) -> None:
    text = STUDY.replace("flow.0.controller", path).replace('"hybla"', '"hybra"')
    file.write_text(text)
    with pytest.raises(bp.StudyError) as caught:
        Study.load(file)
    assert caught.value.errors[0].path == "parameters.controller.values[1]"


def test_names_of_a_path_give_the_variants_of_its_numbers(file: Path) -> None:
    numbered = Study.load(file)
    named = STUDY.replace("flow.0.controller", "flow.flow-0.controller")
    file.write_text(named.replace("link.0.delay", "link.server-client.delay"))
    pairs = zip(numbered.variants, Study.load(file).variants, strict=True)
    for before, after in pairs:
        assert before.scenario.to_toml() == after.scenario.to_toml()


@pytest.mark.parametrize(
    ("path", "values", "place"),
    [
        ("link.client-server.delay", '["20ms", "40ms"]', "path"),
        ("flow.flow-0.controller", '["newreno"]', "path"),
        ("link.*.rate", '["2Mbit/s", "4Mbit/s"]', "path"),
        ("link[0].delay", '["20ms", "40ms"]', "path"),
        ("flow.0.transport.mss", "[1000, 1000.0]", "values[1]"),
        ("link.0.rate", '["4Mbit/s", "4.0Mbit/s"]', "values[1]"),
    ],
)
def test_parameters_that_say_the_same_twice(file: Path, path: str, values: str, place: str) -> None:
    third = f'third = {{ path = "{path}", values = {values} }}'
    text = STUDY.replace("[replications]", f"{third}\n[replications]")
    if "link.*" in path:
        text = text.replace('path = "link.0.delay"', 'path = "link.0"')
    file.write_text(text)
    with pytest.raises(bp.StudyError) as caught:
        Study.load(file)
    assert f"parameters.third.{place}" in [error.path for error in caught.value.errors]


def test_two_spellings_of_a_path_are_one_key(file: Path) -> None:
    both = """\
dots = { path = "link.0.overhead", values = ["10B", "20B"] }
brackets = { path = "link[0].overhead", values = ["30B", "40B"] }
"""
    file.write_text(STUDY.replace("[replications]", f"{both}[replications]"))
    with pytest.raises(bp.StudyError) as caught:
        Study.load(file)
    (error,) = caught.value.errors
    assert error.path == "parameters.brackets.path"
    assert '"dots"' in (error.reason or "")


def test_the_reference_of_studies_is_made_from_the_types() -> None:
    # Run `make generated`.
    text = (ROOT / "docs" / "studies.md").read_text()
    assert f"do not edit. -->\n{reference()}\n<!-- End" in text
    assert set(json.loads(schema())["required"]) == {"scenario", "replications", "quantity"}


def test_defaults_of_sequential_stopping_are_those_of_the_language() -> None:
    options = json.loads(schema())["properties"]["replications"]["anyOf"]
    written = {key: one["default"] for option in options
               for key, one in option["properties"].items() if "default" in one}  # fmt: skip
    defaults = {field.name: field.default for field in fields(Replications)}
    assert written == {key: defaults[key] for key in ("minimum", "maximum", "round")}


def test_more_variants_than_fit_are_refused_before_they_are_made(file: Path) -> None:
    many = '{ path = "link.0.queue.packets", range = { from = 1, to = 100000, step = 1 } }'
    file.write_text(STUDY.replace("[replications]", f"queue = {many}\n[replications]"))
    with pytest.raises(bp.StudyError) as caught:
        Study.load(file)
    (error,) = caught.value.errors
    assert "100,000" in error.expected
    assert "400,000" in error.found


def test_wrong_arguments(bentpipe: Bentpipe, file: Path) -> None:
    assert "no such file" in bentpipe("study", "absent.toml").stderr
    both = bentpipe("study", file, "--workers", "2", "--cluster", "tcp://localhost:1")
    assert (both.returncode, "--workers" in both.stderr) == (2, True)
