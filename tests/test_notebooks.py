"""Results as objects in Python and in notebooks: `compare`, `evaluate`, `papers`, HTML, pandas."""

from __future__ import annotations

import inspect
import sys
import types
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.study import Comparison, Parameter, Replications, Study
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

QUANTITY = "flow.goodput_bps"
VOID = {"br", "meta"}


class Checked(HTMLParser):
    """Fails for tags that are not closed in order; keeps the texts of the cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name == "src" for name, _ in attrs), "nothing is loaded from elsewhere"
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def html(value: Any) -> list[str]:
    """The cells of the HTML of a value."""
    return Checked(value._repr_html_()).cells


@pytest.fixture(scope="module")
def scenario() -> bp.Scenario:
    return bp.Scenario.load(EXAMPLES / "lossy-geo.toml").with_(duration="20s")


@pytest.fixture(scope="module")
def study(scenario: bp.Scenario) -> Study:
    return Study.make(
        name="two",
        title="Two <controllers>",
        scenario=scenario,
        quantities=[QUANTITY, "flow.timeouts"],
        parameters=[Parameter("controller", "flow.0.controller", ("cubic", "hybla"))],
        replications=Replications(count=3),
        comparisons=[Comparison("controller", "cubic")],
    )


@pytest.fixture(scope="module")
def results(study: Study) -> Any:
    return study.run()


@pytest.fixture(scope="module")
def comparison() -> Any:
    return bp.compare("leo", rate="1Mbit/s", controllers=["cubic", "veno"], replications=3,
                      sets=["duration=20s"])  # fmt: skip


@pytest.fixture(scope="module")
def evaluation() -> Any:
    return bp.evaluate("veno", against=["cubic"], items=["wired"], quick=True)


def test_a_scenario_is_shown_with_its_flows_links_and_warnings(scenario: bp.Scenario) -> None:
    cells = html(scenario.with_({"flow.0.transport.receive_buffer": "65535B"}))
    flow = scenario.explain().flows[0]
    assert flow.name in cells
    assert flow.summary in cells
    assert any("receive_buffer" in cell or "window" in cell for cell in cells)


def test_a_run_is_shown_with_its_totals(scenario: bp.Scenario) -> None:
    run = bp.run(scenario, seed=3)
    cells = html(run)
    assert {run.name, "3"} & set(cells)
    assert f"{run.flows['goodput_bps'][0] / 1e6:,.4f}" in cells
    for link in run.links["link"]:
        assert link in cells


def test_a_study_and_its_results_are_shown(study: Study, results: Any) -> None:
    assert "cubic, hybla" in html(study)
    text = results._repr_html_()
    assert "Two &lt;controllers&gt;" in text
    cells = html(results)
    assert "Choose" in cells
    assert any("goodput Mbit/s" in cell for cell in cells)
    # Print has the same within 100 columns.
    lines = str(results).splitlines()
    assert lines[0].startswith("Choose  ")
    assert max(map(len, lines)) <= 100


def test_results_are_data_frames(results: Any) -> None:
    means = results.means
    assert means.columns[:3] == ["controller", "quantity", "unit"]
    assert means.height == 4
    own = results.rows.filter(pl.col("variant") == 0)[QUANTITY].mean()
    assert means["mean"][0] == pytest.approx(own)
    assert means["low"][0] < means["mean"][0] < means["high"][0]


def test_a_comparison_is_an_object(comparison: Any, tmp_path: Path) -> None:
    assert comparison.complete
    ranking = comparison.ranking
    bulk = ranking.filter(pl.col("workload") == "bulk")
    assert set(bulk["controller"]) == {"newreno", "cubic", "veno"}
    assert bulk["rank"].to_list() == [1, 2, 3]
    assert bulk["mean"].to_list() == sorted(bulk["mean"], reverse=True)
    own = comparison.to_dict()["workloads"][0]["ranking"][0]
    assert bulk["mean"][0] == pytest.approx(own["mean"] / 1e6)
    assert comparison.answer.choose
    assert str(comparison).startswith("Choose  ")
    assert max(map(len, str(comparison).splitlines())) <= 100
    assert "Sure" in html(comparison)
    assert comparison.table().startswith("# Controllers on leo")
    assert comparison.studies["bulk"].rows.height == 9


def test_a_comparison_is_that_of_the_command(comparison: Any, bentpipe: Any) -> None:
    import json

    done = bentpipe("compare", "--link", "leo", "--rate", "1Mbit/s", "--controllers", "cubic,veno",
                    "--replications", "3", "--set", "duration=20s", "--json")  # fmt: skip
    command = json.loads(done.stdout)
    for key in ("workloads", "verdicts", "controllers", "link"):
        assert json.loads(json.dumps(comparison.to_dict()[key])) == command[key], key


def test_a_comparison_of_a_scenario_and_queues(scenario: bp.Scenario) -> None:
    done: list[int] = []
    found = bp.compare(scenario=scenario, controllers=["cubic"], replications=2,
                       queue=["0.5bdp", "1bdp"], progress=done.append)  # fmt: skip
    assert found.choice is not None
    assert done[-1] == 2 * 2 * 2
    assert any("0.5bdp" in cell for cell in html(found))


def test_an_evaluation_is_an_object(evaluation: Any) -> None:
    findings = evaluation.findings
    assert set(findings["baseline"]) == {"cubic"}
    assert set(findings["item"]) == {"wired"}
    assert findings["n"].to_list() == [3] * findings.height
    assert max(map(len, str(evaluation).splitlines())) <= 100
    assert "goodput" in html(evaluation)
    assert "veno" in evaluation.table()


def test_papers_are_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    from bentpipe.reproductions.reproduction import Outcome, Reproduction

    def run(self: Reproduction, *_: Any) -> Outcome:
        return Outcome(self, self.rows({}, complete=False), {}, complete=False)

    monkeypatch.setattr(Reproduction, "run", run)
    found = bp.papers("davoli", "luglio")
    # What was interrupted is the last.
    assert [one.reproduction.name for one in found.outcomes] == ["davoli"]
    assert not found.complete
    assert set(found.values["paper"]) == {"davoli"}
    assert found.statements.height == len(found.outcomes[0].statements)
    assert "davoli" in html(found)
    with pytest.raises(bp.BentpipeError, match="no paper 'davolli'; did you mean 'davoli'"):
        bp.papers("davolli")


def test_wrong_arguments_are_answered() -> None:
    with pytest.raises(bp.InputError, match="no link 'geo-kaa'; did you mean 'geo-ka'"):
        bp.compare("geo-kaa")
    with pytest.raises(bp.InputError, match="expected --link NAME or --scenario"):
        bp.compare()
    with pytest.raises(bp.InputError, match="no item 'wire'"):
        bp.evaluate("cubic", items=["wire"])
    with pytest.raises(bp.InputError, match="phase: expected 'random' or 'fixed'"):
        bp.evaluate("cubic", phase="late")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["compare", "evaluate"])
def test_a_package_can_be_called_after_its_modules_were_imported(name: str) -> None:
    __import__(f"bentpipe.{name}.command")
    found = getattr(bp, name)
    assert callable(found)
    assert "progress" in inspect.signature(found).parameters
    assert name in bp.__all__
    assert (inspect.getdoc(found.function) or "").strip()


class Frame:
    """As a data frame of pandas that is made of columns."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.columns = {name: list(values) for name, values in columns.items()}


def test_to_pandas_needs_pandas_only(
    scenario: bp.Scenario, results: Any, comparison: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = bp.run(scenario)
    monkeypatch.setitem(sys.modules, "pandas", None)
    for value in (run, results, comparison):
        with pytest.raises(bp.BentpipeError, match=r"needs the package pandas.*pip install"):
            value.to_pandas()
    pandas = types.ModuleType("pandas")
    pandas.DataFrame = Frame  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    flows = run.to_pandas().columns
    assert flows["goodput_bps"] == run.flows["goodput_bps"].to_list()
    assert flows["flow"] == run.flows["flow"].to_list()
    assert list(results.to_pandas().columns) == results.rows.columns
    assert run.to_pandas("links").columns["link"] == run.links["link"].to_list()


def test_an_explanation_is_within_100_columns() -> None:
    for path in sorted(EXAMPLES.glob("*.toml")):
        if 'scenario = "' not in path.read_text():
            explanation = bp.Scenario.load(path).explain()
            assert max(map(len, str(explanation).splitlines())) <= 100, path.name
            assert len(str(explanation)) > 1000
