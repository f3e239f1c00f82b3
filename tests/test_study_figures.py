"""Figures and tables of studies and of several runs."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.study import Comparison, Parameter, Replications, Results, Study
from bentpipe.study.tables import latex_value
from conftest import SMALL
from svg_text import collisions, drawn_texts

if TYPE_CHECKING:
    from pathlib import Path

QUANTITY = "flow.goodput_bps"
CONTROLLERS = ("newreno", "cubic", "hybla:rtt0=0.05")


@pytest.fixture(scope="module")
def results() -> Results:
    study = Study.make(
        name="figures",
        scenario=bp.Scenario.parse(SMALL),
        quantities=[QUANTITY],
        parameters=[
            Parameter("PER", "link.0.channel.per", (0.001, 0.01, 0.03)),
            Parameter("controller", "flow.0.controller", CONTROLLERS),
        ],
        replications=Replications(count=4),
        comparisons=[Comparison("controller", "newreno")],
    )
    return study.run()


def test_a_figure_has_the_means_and_intervals_of_the_study(results: Results) -> None:
    figure = results.plot("PER", QUANTITY, hue="controller")
    assert list(figure.series) == list(CONTROLLERS)
    drawn = {(row["series"], row["x"]): row for row in figure.data.iter_rows(named=True)}
    assert len(drawn) == 9
    for cell in results.cells:
        row = drawn[cell.parameters["flow.0.controller"], cell.parameters["link.0.channel.per"]]
        assert cell.mean is not None
        # Without a loss in any run of a variant, all of them are the same.
        assert (cell.ci95 is None) == cell.deterministic
        low, high = cell.ci95 or (cell.mean, cell.mean)
        assert [row["mean"], row["low"], row["high"], row["n"]] == pytest.approx(
            [cell.mean / 1e6, low / 1e6, high / 1e6, 4]
        )
    assert any(not cell.deterministic for cell in results.cells)
    encoded = str(figure.to_dict())
    assert "goodput (Mbit/s)" in encoded
    assert "'shape'" in encoded
    # Without a hue the other parameter makes the series.
    assert list(results.plot("PER", QUANTITY).series) == list(CONTROLLERS)


@pytest.mark.parametrize("kind", ["box", "strip"])
def test_single_runs_are_all_drawn(results: Results, kind: Any) -> None:
    figure = results.plot("controller", QUANTITY, hue="PER", kind=kind)
    assert list(figure.series) == ["PER 0.001", "PER 0.01", "PER 0.03"]
    assert sorted(figure.data["y"]) == pytest.approx(sorted(results.rows[QUANTITY] / 1e6))


def test_a_distribution_rises_to_one(results: Results) -> None:
    figure = results.plot("controller", QUANTITY, hue="PER", kind="ecdf")
    line = figure.data.filter(figure.data["series"].cast(str) == "cubic, PER 0.01")
    assert line["y"].to_list() == [0, 0.25, 0.5, 0.75, 1]
    rows = results.rows
    chosen = rows.filter(
        (rows["flow.0.controller"] == "cubic") & (rows["link.0.channel.per"] == 0.01)
    )
    assert line["x"].to_list()[1:] == pytest.approx(sorted(chosen[QUANTITY] / 1e6))


@pytest.mark.parametrize(("columns", "width"), [(1, 333), (2, 680)])
def test_a_figure_is_as_wide_as_the_column_of_a_paper(
    results: Results, tmp_path: Path, columns: int, width: int
) -> None:
    results.plot("PER", QUANTITY, "controller").for_paper(columns).save(tmp_path / "figure.svg")
    head = (tmp_path / "figure.svg").read_text().partition(">")[0]
    assert f'width="{width}"' in head


@pytest.mark.parametrize("kind", ["interval", "box", "strip", "ecdf"])
@pytest.mark.parametrize(("columns", "width", "beside"), [(1, 333, 2), (2, 680, 3)])
def test_panels_are_as_wide_as_the_columns_of_a_paper(
    results: Results, tmp_path: Path, kind: Any, columns: int, width: int, beside: int
) -> None:
    x, panel = ("controller", "PER") if kind == "ecdf" else ("PER", "controller")
    figure = results.plot(x, QUANTITY, kind=kind, panel=panel).for_paper(columns)
    figure.save(tmp_path / "figure.svg")
    drawn = (tmp_path / "figure.svg").read_text()
    head = drawn.partition(">")[0]
    # At most as wide, and at most a pixel narrower for each panel.
    assert width - beside <= float(re.findall(r'width="([\d.]+)"', head)[0]) <= width
    assert figure.to_dict()["columns"] == beside
    assert collisions(drawn_texts(drawn)) == []


@pytest.mark.parametrize("kind", ["interval", "box", "strip", "ecdf"])
def test_panels_hold_one_value_of_a_parameter(results: Results, tmp_path: Path, kind: Any) -> None:
    x = "controller" if kind == "ecdf" else "PER"
    panel = "PER" if kind == "ecdf" else "controller"
    figure = results.plot(x, QUANTITY, kind=kind, panel=panel)
    whole = results.plot(x, QUANTITY, hue=panel, kind=kind)
    assert figure.data.height == whole.data.height
    names = figure.data["panel"].unique(maintain_order=True).to_list()
    values = (0.001, 0.01, 0.03) if kind == "ecdf" else CONTROLLERS
    assert names == [f"{panel} {value}" for value in values]
    figure.save(tmp_path / "figure.svg")
    texts = drawn_texts((tmp_path / "figure.svg").read_text())
    assert set(names) <= {text.text for text in texts}
    assert collisions(texts) == []
    with pytest.raises(bp.InputError, match="panel: expected another parameter"):
        results.plot(x, QUANTITY, kind=kind, panel=x)


@pytest.mark.parametrize("kind", ["interval", "box", "strip", "ecdf"])
@pytest.mark.parametrize("columns", [1, 2])
def test_labels_do_not_collide_in_a_paper(
    results: Results, tmp_path: Path, kind: Any, columns: int
) -> None:
    for x, hue in (("controller", "PER"), ("PER", "controller")):
        figure = results.plot(x, QUANTITY, hue=hue, kind=kind).for_paper(columns)
        figure.save(tmp_path / "figure.svg")
        assert collisions(drawn_texts((tmp_path / "figure.svg").read_text())) == []


def test_lines_of_a_paper_differ_without_colours(results: Results) -> None:
    figure = results.plot("PER", QUANTITY, kind="ecdf")
    assert "strokeDash" not in str(figure.to_dict())
    dashes = figure.for_paper(1).to_dict()["encoding"]["strokeDash"]["scale"]["range"]
    assert len({tuple(dash) for dash in dashes}) == 3


def test_tables_have_the_same_numbers(results: Results) -> None:
    rows = list(csv.DictReader(io.StringIO(results.table("csv"))))
    assert [float(row["mean"]) for row in rows] == pytest.approx(
        [(cell.mean or 0) / 1e6 for cell in results.cells]
    )
    assert rows[0]["controller"] == "newreno"
    markdown = results.table("markdown").splitlines()
    assert len(markdown) == 2 + 9
    latex = results.table("latex", long=True)
    assert latex.count(r"\\") == 1 + 9
    assert "& goodput & Mbit/s &" in latex
    assert r"95 \% interval" in latex
    for line, row in zip(markdown[2:], rows, strict=True):
        mean, interval = line.strip("| ").split(" | ")[-2:]
        assert float(mean) == pytest.approx(float(row["mean"]), rel=0.05)
        assert f" & {mean} & {interval} " in latex


def test_small_numbers_of_a_latex_table_have_powers_of_ten() -> None:
    values = [1e-5, 2.5e-4, 0.01, "a_b", 20]
    found = [r"$10^{-5}$", r"$2.5 \times 10^{-4}$", "0.01", r"a\_b", "20"]
    assert [latex_value(value) for value in values] == found


def test_a_latex_table_has_controllers_in_its_columns(results: Results) -> None:
    lines = results.table("latex").splitlines()
    assert lines[0].startswith("% Bold: the best mean of a row")
    body = [line for line in lines if line.endswith(r"\\")]
    heads, title, *rows = body
    assert heads == r"PER & newreno & cubic & hybla:rtt0=0.05 \\"
    assert title == r"\multicolumn{4}{l}{goodput (Mbit/s)} \\"
    assert r"\begin{tabular}{lrrr}" in lines
    means = {(str(c.parameters["link.0.channel.per"]), str(c.parameters["flow.0.controller"])):
             (c.mean or 0) / 1e6 for c in results.cells}  # fmt: skip
    names = heads.removesuffix(r" \\").split(" & ")[1:]
    places = set()
    for row in rows:
        per, *cells = row.removesuffix(r" \\").split(" & ")
        found = {}
        for name, cell in zip(names, cells, strict=True):
            # An interval of four runs can be so wide that its half width exceeds the mean.
            spread = r" \$\\pm\$ ([0-9.]+)| \(([0-9.]+)--([0-9.]+)\)"
            number = re.fullmatch(rf"(\\textbf\{{)?([0-9.]+)\}}?(?:{spread})?", cell)
            assert number, cell
            places |= {len(one.partition(".")[2]) for one in number.groups()[1:] if one}
            assert float(number[2]) == pytest.approx(
                means[per, name], abs=0.51 * 10 ** -max(places)
            )
            found[name] = (means[per, name], bool(number[1]))
        # The best mean is bold, and a mean that is bold is at least no worse than others that are.
        best = max(found.values())
        assert best[1]
    assert len(places) == 1
    assert len(rows) == 3


def test_a_table_has_the_paired_differences(results: Results) -> None:
    rows = list(csv.DictReader(io.StringIO(results.table("csv", of="differences"))))
    expected = [(row.difference or 0) / 1e6 for row in results.comparisons]
    assert [float(row["difference"]) for row in rows] == pytest.approx(expected)
    assert {row["controller"] for row in rows} == {
        "cubic \N{MINUS SIGN} newreno", "hybla:rtt0=0.05 \N{MINUS SIGN} newreno"
    }  # fmt: skip
    assert [row["PER"] for row in rows[:2]] == ["0.001", "0.001"]
    latex = results.table("latex", of="differences")
    assert "cubic $-$ newreno & goodput & Mbit/s & 4 &" in latex
    words = ("significant", "not significant", "deterministic")
    found = [latex.count(f"& {each} ") for each in words]
    assert sum(found) == len(rows)
    with pytest.raises(bp.InputError, match="of: expected one of means, differences"):
        results.table(of="sums")  # type: ignore[arg-type]


def test_wrong_names_are_answered_with_the_nearest(results: Results) -> None:
    for arguments, expected in (
        (("PERR", QUANTITY), "x: .* did you mean 'PER'"),
        (("PER", "flow.goodput_bsp"), "y: .* did you mean 'flow.goodput_bps'"),
        (("PER", QUANTITY, "control"), "hue: .* did you mean 'controller'"),
    ):
        with pytest.raises(bp.InputError, match=expected):
            results.plot(*arguments)
    with pytest.raises(bp.InputError, match="kind: expected one of"):
        results.plot("PER", QUANTITY, kind="violin")  # type: ignore[arg-type]
    with pytest.raises(bp.InputError, match="form: expected one of"):
        results.table("html")  # type: ignore[arg-type]
    with pytest.raises(bp.InputError, match="columns: expected 1 or 2"):
        results.plot("PER", QUANTITY).for_paper(3)


def test_runs_are_drawn_together() -> None:
    scenario = bp.Scenario.parse(SMALL)
    runs = [bp.run(scenario), bp.run(scenario.with_({"flow.0.controller": "hybla"}))]
    figure = bp.plot(runs, "cwnd")
    assert list(figure.series) == ["newreno", "hybla"]
    for run, name in zip(runs, figure.series, strict=True):
        own = figure.data.filter(figure.data["series"].cast(str) == name)
        assert own["y"].to_list() == run.plot.cwnd().data["y"].to_list()
    assert list(bp.plot([runs[0], bp.run(scenario, seed=2)], "rtt").series) == ["seed 1", "seed 2"]
    assert list(bp.plot(runs, "goodput", labels=["a", "b"]).series) == ["a", "b"]
    assert list(bp.plot([runs[0], runs[0]], "queue").series) == ["(1)", "(2)"]
    panels = bp.plot(runs, "cwnd", panels=True)
    assert panels.to_dict()["facet"]["sort"] == ["newreno", "hybla"]
    with pytest.raises(bp.InputError, match="series: expected one of"):
        bp.plot(runs, "window")  # type: ignore[arg-type]
    with pytest.raises(bp.InputError, match="labels: expected a different label"):
        bp.plot(runs, labels=["a", "a"])
    with pytest.raises(bp.InputError, match="at least one run"):
        bp.plot([])


def test_a_band_holds_all_seeds() -> None:
    scenario = bp.Scenario.parse(SMALL)
    hybla = scenario.with_({"flow.0.controller": "hybla"})
    runs = [bp.run(one, seed=seed) for one in (scenario, hybla) for seed in (1, 2, 3)]
    figure = bp.plot(runs, "cwnd", band=True)
    assert list(figure.series) == ["newreno", "hybla"]
    data = figure.data
    assert data.filter(
        (data["low"] > data["y"] + 1e-9) | (data["high"] < data["y"] - 1e-9)
    ).is_empty()
    # Half of the way through, each run is between the edges.
    for run in runs[3:]:
        own = run.plot.cwnd().data
        at = float(np.interp(2.0, own["x"], own["y"]))
        line = data.filter(data["series"].cast(str) == "hybla")
        row = line[int(np.argmin(np.abs(line["x"].to_numpy() - 2)))]
        assert row["low"][0] - 5 <= at <= row["high"][0] + 5
    assert any("3 runs" in note for note in figure.notes)
    assert list(bp.plot(runs[:3], "cwnd", band=True).series) == ["newreno"]
    with pytest.raises(bp.InputError, match="one of band and panels"):
        bp.plot(runs, band=True, panels=True)
