"""Reproductions: what is published, and how a measured value is judged."""

from __future__ import annotations

import fnmatch
import json
import math
import re
import tomllib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from rich.measure import Measurement

from bentpipe.numbers import NONE, significant
from bentpipe.reproductions.explaining import by_likeness, gather, shortened, values_table
from bentpipe.reproductions.judgement import (
    RULE,
    UNDECIDED,
    Measured,
    judge,
    statements,
    summarise,
    verdict_of,
)
from bentpipe.reproductions.plots import Bars, Plot, save_plot
from bentpipe.reproductions.published import Removal, Tolerance, Value, read
from bentpipe.reproductions.readings import (
    NO_REASON,
    PLACEHOLDER,
    PRESENT,
    explain,
    numbers_of,
    read_trials,
)
from bentpipe.reproductions.readme import OVERVIEW, readmes
from bentpipe.reproductions.reproduction import find, names
from bentpipe.study.statistics import Mean, gains, mean, savings
from reproduced import DATA

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.reproductions.published import Kind, Publication
    from conftest import Bentpipe


def published(
    low: float | None,
    high: float | None = None,
    tolerance: Tolerance | None = None,
    kind: Kind = "number",
    **more: Any,
) -> Value:
    return Value(
        id="a/b",
        quantity="a",
        unit="s",
        low=low,
        high=low if high is None else high,
        tolerance=tolerance or Tolerance(),
        source="",
        kind=kind,
        statement="a/b",
        **more,
    )


UNKNOWN = Removal("not comparable", "unknown")


@pytest.mark.parametrize(
    ("value", "measured", "judgement", "deviation"),
    [
        (published(100, tolerance=Tolerance(relative=0.1)), Mean(109), "reproduced", 0.09),
        (published(100, tolerance=Tolerance(relative=0.1)), Mean(111), "not reproduced", 0.11),
        (published(100, tolerance=Tolerance(relative=0.1)), Mean(89), "not reproduced", -0.11),
        (published(0.9, tolerance=Tolerance(absolute=0.03)), Mean(0.92), "reproduced", 1 / 45),
        (published(10, 20, kind="range"), Mean(15), "within", 0.0),
        (published(10, 20, kind="range"), Mean(21), "outside", 0.05),
        (published(10, 20, Tolerance(absolute=1), "range"), Mean(9.5), "within", -0.05),
        (published(0, 1, kind="words"), Mean(0.8), "agrees", 0.0),
        (published(0, 1, kind="words"), Mean(1.1), "disagrees", 0.1),
        (published(100, removal=UNKNOWN), Mean(100), "not judged", 0.0),
        (published(100, removal=Removal("contradicted", "x")), Mean(9), "contradicted", -0.91),
        (published(100, removal=Removal("repeats", "x")), Mean(100), "reproduced", 0.0),
        (published(100), None, "not judged", None),
        (published(None), Mean(1), "not judged", None),
    ],
)
def test_judgements(
    value: Value, measured: Mean | None, judgement: str, deviation: float | None
) -> None:
    row = judge(value, Measured("a/b", measured, note="why"))
    assert row.judgement == judgement
    assert row.verdict == verdict_of(row.judgement)
    assert row.deviation == (None if deviation is None else pytest.approx(deviation))
    assert row.note.endswith("why")


@pytest.mark.parametrize(
    ("mean", "ci95", "judgement"),
    [
        # Ten runs of ours; a single run of the paper spreads sqrt(11) = 3.3 times as far.
        (104, 0.9, "reproduced"),
        (104, 1.1, "undecided"),
        (106, 0.9, "undecided"),
        (106, 0.2, "not reproduced"),
        (120, 3.0, "not reproduced"),
    ],
)
def test_a_value_is_reproduced_by_the_mean_and_refuted_by_the_spread_of_the_papers_runs(
    mean: float, ci95: float, judgement: str
) -> None:
    value = published(100, tolerance=Tolerance(absolute=5))
    row = judge(value, Measured("a/b", Mean(mean, ci95, 10)))
    assert row.judgement == judgement
    assert row.spread == pytest.approx(ci95 * math.sqrt(11))
    # A paper that shows means of ten runs has seen less of the spread.
    assert judge(value, Measured("a/b", Mean(106, 0.6, 10)), 10).judgement == "not reproduced"


def test_a_mean_inside_agrees_however_wide_its_spread_is() -> None:
    """The rule is not symmetric, and its text says so."""
    row = judge(published(0, 100, kind="words"), Measured("a/b", Mean(47.9, 15.1, 10)))
    assert row.judgement == "agrees"
    assert row.spread == pytest.approx(50.1, abs=0.1), "below 0, outside the bound"
    other = judge(published(40, 50), Measured("a/b", Mean(39.34, 0.28, 10)))
    assert (other.judgement, other.note) == ("undecided", UNDECIDED)
    assert "also if single runs are outside" in RULE
    assert "a contradiction takes more than an agreement" in RULE


def test_the_explanation_of_measured_values_has_the_spread_and_the_rule(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    statement = "fig12/newreno-loses/scalable/25-ms"
    value = find("aliad").publication.values[statement]
    row = judge(value, Measured(statement, Mean(39.34, 0.28, 10)))
    judged = {"id": statement, "judgement": row.judgement, "verdict": row.verdict, "note": row.note}
    paper = {"paper": "aliad", "statements": [judged], "rows": [asdict(row)]}
    (tmp_path / "aliad").mkdir()
    (tmp_path / "aliad/rows.json").write_text(json.dumps({"papers": [paper]}))
    done = bentpipe("papers", "explain", statement, "--results", ".")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\N{PLUS-MINUS SIGN}0.93" in done.stdout
    assert RULE in " ".join(done.stdout.split())


def test_an_interval_ends_where_values_are_impossible() -> None:
    value = published(0.95, 1, kind="words", possible=(0, 1))
    assert judge(value, Measured("a/b", Mean(0.99, 0.03, 10))).judgement == "agrees"


def test_the_case_of_a_measurement_is_part_of_its_id() -> None:
    row = judge(published(10, 20), Measured("a/b", Mean(11), case="BER 1e-6"))
    assert (row.id, row.published) == ("a/b@BER 1e-6", [10, 20])


def publication(table: str, path: Path) -> Publication:
    head = "title = 't'\nauthors = 'a'\n"
    path.write_text(head + table)
    return read(path)


SWEEP = """
[[table]]
id = "saving"
kind = "range"
quantity = "q"
unit = "%"
source = "s"
tolerance = { absolute = 1 }
ends = ["low", "high"]
columns = ["c"]
[table.rows]
r = [[10, 30]]
[table.cases]
"BER 1" = { as = "not comparable", proof = "p" }
"""


@pytest.mark.parametrize(
    ("values", "judgement"),
    [
        ((10, 20, 30), "within"),
        ((12, 20, 30), "outside"),
        ((10, 20, 28), "outside"),
        ((10, 20, 40), "outside"),
    ],
)
def test_a_range_is_judged_by_its_ends_and_by_all_inside(
    tmp_path: Path, values: tuple[float, ...], judgement: str
) -> None:
    paper = publication(SWEEP, tmp_path / "published.toml")
    cases = {f"BER {n}": value for n, value in enumerate(values, start=2)} | {"BER 1": 99.0}
    rows = [
        judge(paper.values["saving/r/c"], Measured("saving/r/c", Mean(at), case))
        for case, at in cases.items()
    ]
    (judged,) = statements(paper, rows)
    assert judged.judgement == judgement
    assert judged.below == ["saving/r/c@BER 1"]
    counted = summarise([judged], rows)
    assert counted.statements["range"].judged == 1
    assert counted.removed == {"not comparable": 1}


PAIRS = """
[[table]]
id = "best"
kind = "words"
quantity = "q"
unit = "1"
source = "s"
tolerance = { absolute = 0 }
statement = "best"
columns = ["x", "y"]
[table.rows]
r = [[0, 1], [0, 1]]
[[table]]
id = "again"
kind = "words"
quantity = "q"
unit = "1"
source = "s"
tolerance = { absolute = 0 }
below = "best"
removed = { as = "repeats", proof = "p" }
columns = ["x"]
[table.rows]
r = [[0, 1]]
"""


@pytest.mark.parametrize(
    ("pairs", "judgement"),
    [
        ((Mean(0.5), Mean(0.9)), "agrees"),
        ((Mean(0.5), Mean(0.95, 0.1, 5)), "undecided"),
        ((Mean(1.5), Mean(0.95, 0.1, 5)), "disagrees"),
    ],
)
def test_an_order_is_judged_in_pairs_and_what_repeats_it_is_not_counted(
    tmp_path: Path, pairs: tuple[Mean, ...], judgement: str
) -> None:
    paper = publication(PAIRS, tmp_path / "published.toml")
    measured = [*zip(("best/r/x", "best/r/y"), pairs, strict=True), ("again/r/x", Mean(2.0))]
    rows = [judge(paper.values[name], Measured(name, mean)) for name, mean in measured]
    (judged,) = statements(paper, rows)
    assert judged.judgement == judgement
    assert (judged.rows, judged.below) == (["best/r/x", "best/r/y"], ["again/r/x"])
    counted = summarise([judged], rows)
    assert counted.statements["words"].total == 1
    assert counted.rows["words"].total == 3
    assert rows[2].verdict == "deviates"


def test_the_interval_is_students() -> None:
    # n = 10, s = 3.02765, t = 2.26216 (any table of Student's distribution).
    result = mean([float(n) for n in range(1, 11)])
    assert result.value == 5.5
    assert result.ci95 == pytest.approx(2.262157 * 3.0276504 / math.sqrt(10), rel=1e-6)


def test_a_single_value_has_no_interval_and_equal_values_have_none_to_speak_of() -> None:
    assert mean([4.0]) == Mean(4.0, None)
    assert mean([4.0, 4.0]) == Mean(4.0, 0.0)
    with pytest.raises(ValueError, match="no values"):
        mean([])


def test_gains_and_savings_pair_the_seeds() -> None:
    assert gains([12.0, 10.0], [10.0, 20.0]) == pytest.approx([20.0, -50.0])
    assert savings([8.0], [10.0]) == pytest.approx([20.0])
    with pytest.raises(ValueError, match="longer"):
        gains([1.0], [1.0, 2.0])


def test_every_pack_can_be_read_and_every_scenario_of_its_plan_is_right() -> None:
    for name in names():
        found = find(name)
        assert found.publication.values
        found.jobs(found.plan())


@pytest.mark.parametrize("name", names())
def test_every_statement_has_a_reading_and_every_pattern_of_a_reading_finds_something(
    name: str,
) -> None:
    found = find(name)
    plan, readings = found.plan(), found.readings()
    for statement in found.publication.statements:
        assert explain(readings, statement).readings or explain(readings, statement).runs
    for reading in readings:
        for pattern in reading.of:
            assert fnmatch.filter(found.publication.statements, pattern), pattern
        for pattern in reading.runs:
            assert fnmatch.filter(plan, pattern), pattern


def test_a_table_of_conditions_has_a_column_for_each_row_that_is_measured() -> None:
    found = [find(name).publication for name in names()]
    tables = [one for one in found if one.conditions]
    assert tables
    for publication in tables:
        columns = {name.replace(" ", "-") for name in publication.conditions} | {"not-decided"}
        assert {name.rpartition("/")[2] for name in publication.values} == columns


BAD = ("not reproduced", "outside", "disagrees", "undecided")


@pytest.mark.parametrize("name", names())
def test_what_is_not_reproduced_has_a_tested_reason_or_says_that_none_was_found(name: str) -> None:
    found = find(name)
    judgements = read_trials(found.folder)[PRESENT]["judgements"]
    assert judgements.keys() == found.publication.statements.keys()
    for statement in found.publication.statements.values():
        if statement.removal is None and judgements[statement.id] in BAD:
            reasons = explain(found.readings(), statement.id).reasons
            assert reasons, statement.id
            for reason in reasons:
                assert " Tested: " in reason or NO_REASON[1:] in reason, statement.id


@pytest.mark.parametrize("name", names())
def test_the_numbers_of_trials_are_measured_and_not_written_by_hand(name: str) -> None:
    found = find(name)
    trials = read_trials(found.folder)
    numbers = numbers_of(trials)
    plan = found.plan()
    assert trials.keys() == {PRESENT, *found.trials()}
    for trial, changed in found.trials().items():
        assert changed.keys() <= plan.keys()
        assert all(changed[job] != plan[job] for job in changed), trial
    readings = tomllib.loads((found.folder / "readings.toml").read_text())["reading"]
    texts = [text for one in readings for key, text in one.items() if key in ("reason", "tested")]
    measured = [one["tested"] for one in readings if "tested" in one]
    measured += [trial["result"] for one in readings for trial in one.get("tried", [])]
    for text in {*texts, *measured}:
        for placeholder in PLACEHOLDER.finditer(text):
            assert placeholder[1] is None or placeholder[1] in trials, text
            assert numbers.fill(placeholder[0]) != NONE, placeholder[0]
    for text in measured:
        # In parentheses are published numbers.
        rest = re.sub(r"\([^()]*\)", "", PLACEHOLDER.sub("", text))
        by_hand = re.search(r"\d\.\d|\d ?(%|kbit/s|Mbit/s|points|of \d)", rest)
        assert not by_hand, (by_hand, text)


@pytest.mark.parametrize("name", names())
def test_what_a_readme_says_by_hand_quotes_no_result(name: str) -> None:
    found = find(name)
    trials = numbers_of(read_trials(found.folder)).rows.values()
    printed = (value.printed for value in found.publication.values.values())
    published = {
        f"{end:,}" for one in printed for end in (one if isinstance(one, list) else [one or 0])
    }
    measured = {value for rows in trials for value, *_ in rows.values()}
    results = {significant(value, digits) for value in measured for digits in (3, 4)}
    text = (found.folder / "README.md").read_text(encoding="utf-8")
    by_hand = re.sub(r"<!-- results .*?<!-- end of results -->", "", text, flags=re.DOTALL)
    numbers = set(re.findall(r"\d[\d,]*\.\d+|\d+,\d{3}|\d{3,}", by_hand))
    assert not {one for one in numbers & (results - published) if len(one) > 3}


def test_placeholders_are_filled() -> None:
    numbers = numbers_of(
        {
            PRESENT: {
                "counts": {"words": "1 of 2, 3 undecided", "number": "4 of 5"},
                "rows": {"a/x": [1.5], "a/y": [2.25, 0.1], "b": [7.0]},
            },
            "other": {"counts": {"number": "0 of 5"}, "rows": {"a/x": [3.0]}},
        }
    )
    for text, filled in [
        ("{a/x} s, {a/y}", "1.500 s, 2.25 ± 0.10"),
        ("{other|a/x} and {other|a/y}", "3.000 and 2.25 ± 0.10"),
        ("{a/*}, {other|a/*}, {b*}", "1.50 to 2.25, 2.25 to 3.00, 7.000"),
        ("{#words}; {#number}; {other|#number}", "1 of 2 (and 3 undecided); 4 of 5; 0 of 5"),
        ("{c}, {c*}, {none|b}", f"{NONE}, {NONE}, {NONE}"),
    ]:
        assert numbers.fill(text) == filled


def test_a_statement_that_does_not_exist_is_refused_with_the_nearest(bentpipe: Bentpipe) -> None:
    for identity, hint in [
        ("ftp/rtt/baseline/250ms", "did you mean 'ftp/rtt/baseline/250-ms'?"),
        ("adlar:ftp", "did you mean 'adalr'?"),
    ]:
        done = bentpipe("papers", "explain", identity)
        assert done.returncode == 2
        assert hint in done.stderr


def test_a_statement_is_explained(bentpipe: Bentpipe) -> None:
    text = bentpipe("papers", "explain", "ftp/no-loss/ratio/sack/delayed").stdout
    assert "ftp/no-loss/adalr-sack/delayed (adalr, number)" in text
    assert all(part in text for part in ("Source:", "Reading:", "Tried:", "Runs:", "Figure:"))
    found = json.loads(bentpipe("papers", "explain", "fig8/jain/aliad/1-%", "--json").stdout)
    assert found["paper"] == "aliad"
    assert len(found["runs"]) == 30
    assert found["figures"] == ["fig8-fairness"]


def test_tables_of_statements_name_their_rows_by_what_differs() -> None:
    for ids, expected in [
        (["a/b/c"], ["a/b/c"]),
        (["a/b@x 1", "a/b@x 2"], ["x 1", "x 2"]),
        (["a/b/d@x", "a/c/d@x"], ["b", "c"]),
        (["a/b/d", "a/c/d@x"], ["b/d", "c/d@x"]),
        (["a/b/n", "a/b/c/n"], ["a/b/n", "c"]),
    ]:
        assert shortened(ids) == expected


def test_runs_that_are_most_like_the_statement_come_first() -> None:
    runs = [{"name": f"http/congestion/{one}"} for one in ("adalr-sack/delayed", "sack/delayed")]
    ordered = by_likeness(runs, "http/congestion/sack/delayed")
    assert [run["name"] for run in ordered] == [runs[1]["name"], runs[0]["name"]]


@pytest.mark.parametrize("name", names())
def test_every_statement_is_explained_in_80_columns(name: str) -> None:
    for statement in find(name).publication.statements:
        values = gather(f"{name}:{statement}", None)["values"]
        deciding = [one for one in values if one["removed"] is None] or values
        if len(deciding) == 1:
            continue  # One row that is too wide is shown as lines.
        wide = Console(width=500)
        measured = Measurement.get(wide, wide.options, values_table(deciding))
        assert measured.maximum <= 80, statement


REMOVED = "removed = { as = 'not comparable', proof = 'x' }"


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (f"tolerance = {{ relative = 0.1 }}\n{REMOVED}", "either"),
        ("", "either"),
        ("tolerance = {}\nbelow = 'x'", "needs the reason"),
        ("tolerance = {}\nbelow = 'x'\nremoved = { as = 'repeats', proof = 'p' }", "no statement"),
        ("tolerance = {}\nremoved = { as = 'boring', proof = 'p' }", "expected one of"),
        ("tolerance = {}\n[[table]]\nid = 'a'\nkind = 'number'\nquantity = 'q'\nunit = 's'\n"
         "source = 's'\ncolumns = ['c']\ntolerance = {}\n[table.rows]\nr = [1]", "twice"),
    ],
)  # fmt: skip
def test_published_values_are_checked(tmp_path: Path, table: str, problem: str) -> None:
    head = "[[table]]\nid = 'a'\nkind = 'number'\nquantity = 'q'\nunit = 's'\n"
    rows = "rows = { r = [1] }\nsource = 's'\ncolumns = ['c']\n"
    with pytest.raises(ValueError, match=problem):
        publication(head + rows + table, tmp_path / "published.toml")


def test_plots_need_neither_network_nor_browser(tmp_path: Path) -> None:
    times = [float(t) for t in range(5000)]
    plot = Plot("cwnd", "time (s)", "segments", {"newreno": (times, times)}, y_range=(0, 5000))
    save_plot(plot, tmp_path / "cwnd")
    assert (tmp_path / "cwnd.svg").read_text().startswith("<svg")
    assert (tmp_path / "cwnd.png").read_bytes().startswith(b"\x89PNG")


def test_bars_are_drawn_in_groups_with_their_intervals(tmp_path: Path) -> None:
    bars = {"newreno": {"64 kB": Mean(10, 1), "128 kB": Mean(12)}, "limit": {"64 kB": Mean(20)}}
    save_plot(Bars("throughput", "buffer", "kbit/s", bars), tmp_path / "bars")
    drawn = (tmp_path / "bars.svg").read_text()
    assert all(text in drawn for text in ("64 kB", "128 kB", "newreno", "limit"))
    assert "series: newreno; 95 % interval from: 9; to: 11" in drawn
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "bars.pdf").read_bytes().startswith(b"%PDF")


def test_papers_are_listed(bentpipe: Bentpipe) -> None:
    papers = json.loads(bentpipe("papers", "list", "--json").stdout)["papers"]
    values = {paper["paper"]: paper["values"] for paper in papers}
    assert values["adalr"] > 100
    assert values["luglio"] > 20
    assert values["davoli"] > 30
    assert values["aliad"] > 60
    assert values["leo"] > 80
    listed = bentpipe("papers", "list").stdout
    assert all(name in listed for name in values)


def test_the_readmes_have_the_verdict_of_every_statement_and_the_summaries(
    reproductions: Path,
) -> None:
    printed = json.loads((reproductions / "printed.json").read_text())
    written = readmes(printed["papers"])
    if not DATA.is_dir():
        print(f"not compared: leo, because {DATA} is missing (BENTPIPE_DATA names the folder)")
        written = {
            path: text
            for path, text in written.items()
            if path != OVERVIEW and path.parent.name != "leo"
        }
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: see reproductions/readme.py"
