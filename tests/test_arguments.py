"""Arguments of programs that the package rejects, with the name of the argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe.study import Parameter, Replications, Study
from conftest import SMALL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bentpipe.compare.comparison import Comparison
    from conftest import Bentpipe

SCENARIO = bp.Scenario.parse(SMALL)
CLASS: Any = bp.Controller
LIST: Any = ["luglio"]


def study_of(quantities: Any) -> Study:
    parameter = Parameter("loss", "link.0.channel.per", (0.1,))
    return Study.make(
        name="x", scenario=SCENARIO, quantities=quantities, parameters=[parameter],
        replications=Replications(count=1),
    )  # fmt: skip


def compared(*arguments: Any, **named: Any) -> Comparison:
    return bp.compare(*arguments, **({"replications": 1} | named))


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: bp.papers("luglio", full=True), "--full: none of these has a larger set of runs"),
    (lambda: bp.papers(LIST), r"papers: expected names such as 'luglio', found \['luglio'\]"),
    (lambda: bp.run(SCENARIO, controllers=CLASS), "controllers: expected names of flows with"),
    (lambda: bp.run_many([(SCENARIO, 1)], controllers=CLASS), "controllers: expected names of"),
    (
        lambda: bp.run(SCENARIO, seed=True),
        "seed: expected a whole number from 0 to 18446744073709551615, found True",
    ),
    (lambda: bp.run_many([(SCENARIO,)]), r"jobs\[0\]: expected a scenario and a seed"),  # type: ignore[list-item]
    (lambda: bp.run_many([SCENARIO]), r"jobs\[0\]: expected a scenario and a seed"),  # type: ignore[list-item]
    (lambda: compared("leo", rtt=0.1), "rtt: expected a text such as '600ms', found 0.1"),
    (lambda: compared("leo", host=3), "host: expected a text such as 'linux-6.18', found 3"),
    (lambda: compared("leo", replications=None), "replications: expected a whole number of at"),
    (
        lambda: bp.experience(SCENARIO, replications="3"),  # type: ignore[arg-type]
        "replications: expected a whole number of at least 1, found '3'",
    ),
    (lambda: bp.evaluate(CLASS), "controller: expected a name such as 'hybla'.*found <class"),
    (lambda: bp.evaluate("hybla", against="cubic"), "against: expected at least one text in a"),
    (lambda: bp.evaluate("hybla", against=[CLASS]), r"against\[0\]: expected a text such as"),
    (lambda: bp.evaluate("hybla", items=[]), "items: expected at least one text.*an empty list"),
    (lambda: bp.evaluate("hybla", items="onset"), "items: expected at least one text in a list"),
    (lambda: bp.evaluate("hybla", workload="page"), "workload: expected at least one text in a"),
    (
        lambda: bp.evaluate("hybla", items=["onset"], quick=True, progress=5),  # type: ignore[arg-type]
        "progress: expected something that can be called, found 5",
    ),
    (lambda: compared("leo", controllers="cubic"), "controllers: expected at least one text in"),
    (lambda: compared("leo", controllers=[]), "controllers: expected at least.*an empty list"),
    (lambda: compared("leo", sets="seed=5"), "sets: expected a list of texts, such as"),
    (lambda: bp.experience("geo.toml", sets="seed=5"), "sets: expected a list of texts, such as"),
    (lambda: compared("leo", on_path="codel"), "on_path: expected a list of texts"),
    (lambda: compared("leo", transports="quic"), "transports: expected a list of texts"),
    (lambda: compared("leo", queue=[5]), r"queue\[0\]: expected a text such as '0.5bdp', found 5"),
    (
        lambda: compared(5),
        "link: expected the name of a link such as 'leo', or a Scenario, found 5",
    ),
    (lambda: compared(SCENARIO, scenario=SCENARIO), "scenario: expected none, because link is a"),
    (
        lambda: bp.lockstep(SCENARIO, 5, "mine.py:Mine"),  # type: ignore[arg-type]
        "registered: expected a name such as 'reno'",
    ),
    (
        lambda: bp.lockstep("geo.toml", "reno", "mine.py:Mine"),  # type: ignore[arg-type]
        "scenario: expected a Scenario, found 'geo.toml'",
    ),
    (lambda: study_of("flow.goodput_bps"), "quantities: expected a list, found 'flow.goodput_bps'"),
]


@pytest.mark.parametrize(("call", "expected"), WRONG)
def test_an_argument_is_rejected_by_its_name(call: Callable[[], object], expected: str) -> None:
    with pytest.raises(bp.BentpipeError, match=expected):
        call()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("flow.goodput", r'quantities\[1\]: .*found "goodput".*did you mean "goodput_bps"\?'),
        ("nope", r'quantities\[1\]: expected a quantity with one of "jain_index"'),
    ],
)
def test_a_quantity_of_a_study_has_its_place(name: str, expected: str) -> None:
    with pytest.raises(bp.StudyError, match=expected):
        study_of(["flow.goodput_bps", name])


def test_a_link_can_be_a_scenario() -> None:
    one = compared(SCENARIO, controllers=["cubic"], workload=["bulk"])
    other = compared(scenario=SCENARIO, controllers=["cubic"], workload=["bulk"])
    assert one.ranking.equals(other.ranking)
    assert one.ranking.height > 0


@pytest.mark.parametrize("window", [0, -1, float("nan"), float("inf"), 1e9, "1"])
def test_a_window_of_a_goodput_is_within_the_series(window: Any) -> None:
    found = bp.run(SCENARIO.with_({"record.interval": "100ms"}))
    with pytest.raises(bp.InputError, match="window_s: expected a number above 0, and at most the"):
        found.plot.goodput(window_s=window)
    longest = found.series["t_s"].max()
    assert isinstance(longest, float)
    assert "no values" not in found.plot.goodput(window_s=longest).description


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("x.foo", {}, "fp: expected a figure as svg, pdf, png, html, json, found 'foo'"),
        ("x", {"format": "bmp"}, "format: expected a figure as svg, pdf, png, html, json"),
        *(
            ("x.png", {option: value}, rf"{option}: expected a number above 0 and at most \d+")
            for option in ("scale_factor", "ppi")
            for value in (-1, 0, float("nan"), float("inf"), 1e9, "2")
        ),
    ],
)
def test_a_figure_is_saved_in_formats_and_sizes_that_there_are(
    tmp_path: Path, name: str, options: dict[str, Any], expected: str
) -> None:
    figure = bp.run(SCENARIO.with_({"record.interval": "100ms"})).plot.cwnd()
    with pytest.raises(bp.InputError, match=expected):
        figure.save(tmp_path / name, **options)
    figure.save(tmp_path / "small.png", scale_factor=0.5)
    assert [file.name for file in tmp_path.iterdir()] == ["small.png"]


@pytest.mark.parametrize("value", ["nan", "inf", "2020-01-01", "[1, nan]"])
def test_a_wrong_parameter_of_a_controller_is_named(
    bentpipe: Bentpipe, small: Path, value: str
) -> None:
    done = bentpipe("run", small, "--controller", f"hybla:rtt0={value}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "controller.rtt0: expected a number from 0.001 to 10, found" in done.stderr
