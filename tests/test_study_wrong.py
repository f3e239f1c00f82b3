"""Studies that cannot be right, in files and in programs: what was expected, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from bentpipe.study import Quantity, Replications, Study
from bentpipe.study.quantities import parse
from conftest import STUDY

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("flow.godput_bps", "goodput_bps"),
        ("flows.goodput_bps", "'flow'"),
        ("avg(flow.goodput_bps)", "mean"),
        ("p101(flow.goodput_bps)", "p101"),
        ("jain", "jain_index"),
        ("flow.controller", "no column 'controller'"),
    ],
)
def test_wrong_quantities(name: str, answer: str) -> None:
    with pytest.raises(ValueError, match="expected a quantity") as caught:
        parse(name)
    assert answer in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "answer"),
    [
        ({"quantities": [3]}, "quantities: expected Quantity or its name, found 3"),
        ({"parameters": [("a", "b")]}, "parameters: expected Parameter, found"),
        ({"replications": 3}, "replications: expected Replications, found 3"),
        ({"replications": Replications(count="3")}, "count: expected a whole number"),  # type: ignore[arg-type]
        ({"replications": Replications(count=10**12)}, "from 1 to 1,000,000"),
    ],
)
def test_a_program_is_told_what_is_wrong(
    tmp_path: Path, file: Path, wrong: dict[str, object], answer: str
) -> None:
    right = {
        "name": "made",
        "scenario": tmp_path / "small.toml",
        "quantities": ["flow.completion_s"],
        "replications": Replications(count=2),
    }
    with pytest.raises(bp.StudyError, match=answer):
        Study.make(**(right | wrong))  # type: ignore[arg-type]


def test_quantities_take_what_they_know() -> None:
    with pytest.raises(ValueError, match="student or bootstrap, found 'bca'"):
        Quantity("flow.completion_s", interval="bca")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="numbers from 0 to 100, found 101"):
        Quantity("flow.completion_s", percentiles=(101,))


@pytest.mark.parametrize(
    ("right", "wrong", "line", "answer"),
    [
        ("flow.0.controller", "flow.0.controler", 5, "controller"),
        ("link.0.delay", "link.4.delay", 6, "the index 0"),
        ('"hybla"', '"hybra"', 5, "hybla"),
        ('["newreno", "hybla"]', "[]", 5, "at least one value"),
        ('"hybla"', '"newreno"', 5, "'newreno' again"),
        ('path = "link.0.delay"', 'path = "flow.0.controller"', 6, "a path of its own"),
        ('path = "link.0.delay"', 'path = "seed"', 6, "[replications]"),
        ('step = "100ms"', 'step = "100s"', 6, "a step in ms"),
        ('to = "200ms", ', "", 6, "'to'"),
        ("range =", "rnage =", 6, "'range'"),
        ("count = 20", "cuont = 20", 9, "'count'"),
        ("count = 20", "count = 0", 9, "from 1 to"),
        ("count = 20", "", 8, "a count"),
        ("count = 20", "count = '20'", 9, "a whole number"),
        ("count = 20", "quantity = 'flow.complete'", 9, "completion_s"),
        ('"flow.completion_s"', '"flow.compltion_s"', 12, "completion_s"),
        ('"flow.completion_s"', '"flow.dwnload.completion_s"', 12, "no such flow"),
        ("server-client", "server-cleint", 16, "no such link"),
        ("[5, 95]", "[5, 950]", 13, "0 to 100"),
        ('"bootstrap"', '"jackknife"', 17, "student or bootstrap"),
        ('parameter = "controller"', 'parameter = "controler"', 20, "'controller'"),
        ('baseline = "newreno"', 'baseline = "newrneo"', 21, "'newreno'"),
        ("[[comparison]]", "[[comparisn]]", 19, "'comparison'"),
        ("[[comparison]]", "[[comparison]]\nquantities = [1]", 20, "names of quantities"),
        ('step = "100ms"', 'step = "1e-9999ms"', 6, "numbers from 1e-300 to 1e300"),
        ('to = "200ms"', 'to = "1e99999999ms"', 6, "numbers from 1e-300 to 1e300"),
        ("count = 20", "count = 1000000000000", 9, "1,000,000"),
        ("count = 20", "count = 500000", 9, "at most 1,000,000 runs, found 2,000,000"),
        ('"flow.completion_s"', '"page.response_s"', 12, "no flow with web pages"),
        ('"small.toml"', '"smal.toml"', 2, "small.toml"),
        ("[replications]", "[replications", 8, "TOML"),
        ('title = "Small"', 'zip = [["controller", "dealy"]]', 1, "'delay'"),
    ],
)
def test_wrong_studies(
    bentpipe: Bentpipe, file: Path, tmp_path: Path, right: str, wrong: str, line: int, answer: str
) -> None:
    assert right in STUDY
    file.write_text(STUDY.replace(right, wrong, 1))
    done = bentpipe("study", file, "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"study.toml:{line}: " in done.stderr
    assert answer in done.stderr
    assert not (tmp_path / "out").exists()


def test_everything_that_is_wrong_is_told_at_once(file: Path) -> None:
    file.write_text(STUDY.replace("count", "cuont").replace("completion_s", "completion"))
    with pytest.raises(bp.StudyError) as caught:
        Study.load(file)
    assert "study.toml:9" in str(caught.value)
    assert "study.toml:12" in str(caught.value)
    assert caught.value.line == 12


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


@pytest.mark.parametrize(
    ("path", "values", "answer"),
    [
        ("link.*.rate", '["2Mbit/s", "4Mbit/s"]', "which delay sets too by link.0"),
        ("flow.0.transport.mss", "[1000, 1000.0]", "1000.0 again"),
        ("link.0.rate", '["4Mbit/s", "4.0Mbit/s"]', "'4.0Mbit/s' again"),
    ],
)
def test_parameters_that_say_the_same_twice(
    file: Path, path: str, values: str, answer: str
) -> None:
    third = f'third = {{ path = "{path}", values = {values} }}'
    text = STUDY.replace("[replications]", f"{third}\n[replications]")
    if "link.*" in path:
        text = text.replace('path = "link.0.delay"', 'path = "link.0"')
    file.write_text(text)
    with pytest.raises(bp.StudyError, match=answer.replace("*", r"\*")):
        Study.load(file)


def test_more_variants_than_fit_are_refused_before_they_are_made(file: Path) -> None:
    many = '{ path = "link.0.queue.packets", range = { from = 1, to = 100000, step = 1 } }'
    file.write_text(STUDY.replace("[replications]", f"queue = {many}\n[replications]"))
    with pytest.raises(bp.StudyError, match="at most 100,000 variants, found 400,000"):
        Study.load(file)


def test_wrong_arguments(bentpipe: Bentpipe, file: Path) -> None:
    assert "no such file" in bentpipe("study", "absent.toml").stderr
    both = bentpipe("study", file, "--workers", "2", "--cluster", "tcp://localhost:1")
    assert (both.returncode, "--workers" in both.stderr) == (2, True)
