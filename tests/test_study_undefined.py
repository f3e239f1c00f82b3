"""The answer of a study agrees with its tables, also where quantities are undefined."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bentpipe.compare.verdict import verdicts
from bentpipe.numbers import NONE
from bentpipe.report.study import study_page
from bentpipe.study import Base, Comparison, Parameter, Replications, Study
from bentpipe.study.answer import answer, to_dict
from bentpipe.study.overview import overviews
from bentpipe.study.results import Results
from bentpipe.study.summary import summarise
from conftest import SMALL
from test_compare import outcome

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

TIME = "flow.completion_s"
RATE = "flow.goodput_bps"
FLAG = "flow.completed"
Values = dict[str, list[float | None]]
"""Values of a quantity by controller, or by controller and delay, in the order of the seeds."""


def results(found: dict[str, Values], baseline: str = "", events: int | None = None) -> Results:
    """The results of a study of controllers whose runs have these values, by quantity.

    A name such as `bbr 20` has a delay. Runs differ in their events, or all have as many.
    """
    cells = [one.split() for one in next(iter(found.values()))]
    names = list(dict.fromkeys(name for name, *_ in cells))
    delays = list(dict.fromkeys(f"{delay[0]}ms" for _, *delay in cells if delay))
    parameters = [Parameter("controller", "flow.0.controller", tuple(names))]
    parameters += [Parameter("delay", "link.0.delay", tuple(delays))] if delays else []
    study = Study.make(
        name="made",
        scenario=Base.of(SMALL, "small.toml"),
        parameters=parameters,
        quantities=list(found),
        replications=Replications(count=len(next(iter(next(iter(found.values())).values())))),
        comparisons=[Comparison("controller", baseline)] if baseline else [],
    )
    rows: list[dict[str, Any]] = []
    for number, variant in enumerate(study.variants):
        key = " ".join(map(str, variant.parameters.values()))
        rows += [
            {"variant": number, "replication": seed, "events": events or seed}
            | {quantity: values[key][seed] for quantity, values in found.items()}
            for seed in range(study.replications.count or 0)
        ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return Results(study, frame, summarise(study, frame, True))


UNDEFINED: dict[str, Values] = {
    TIME: {
        "cubic": [8.1, 8.6, None, 7.9, None, None, None, None],
        "bbr": [8.0, 8.4, 8.2, 8.1, 8.3, 7.9, 7.8, 8.2],
        "newreno": [None] * 7 + [7.5],
    }
}


def test_a_value_with_undefined_runs_is_not_tied_with_one_that_has_all() -> None:
    made = results(UNDEFINED, "cubic")
    found = to_dict(made)
    assert found["choose"] == (
        "bbr: lowest flow completion time among the values that completed in every run, 8.113 s."
        " Did not complete: cubic in 5 of 8 runs, newreno in 7 of 8 runs."
    )
    assert "2 rank below the best because of runs without a value" in found["sure"]
    assert (found["recommended"], found["conditions"]) == (
        [1],
        [{"variants": [1, 0, 2], "tied": 1}],
    )


def test_a_difference_that_leaves_out_runs_is_marked() -> None:
    made = results(UNDEFINED, "cubic")
    assert "n.s. [3 pairs]" in str(made)
    assert "+" not in str(made)
    rows = made.comparisons
    assert [(row.undefined, row.undefined_against) for row in rows] == [(0, 5), (7, 5)]
    one: dict[str, Values] = {TIME: UNDEFINED[TIME] | {"newreno": [9.5] + [None] * 7}}
    assert "+17.3 % too few [1 pair]" in str(results(one, "cubic"))


def test_the_page_ranks_no_variant_without_a_value(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    text = file.read_text().replace("count = 20", "count = 4")
    head, tail = text.partition("delay =")[0], text[text.index("[replications]") :]
    axis = 'per = { path = "link.0.channel.per", values = [0.01, 0.95] }\n\n'
    file.write_text(f"{head}{axis}{tail}")
    assert bentpipe("study", file, "--out", tmp_path / "out").returncode == 0
    first = study_page(tmp_path / "out").first
    assert first is not None
    assert first.table is not None
    ranks = [(row[0].text, row[1].text) for row in first.table.rows]
    assert ranks[:2] == [("per 0.01", "1=")] * 2
    assert ranks[2:] == [("per 0.95", NONE)] * 2


def test_values_with_as_many_undefined_runs_can_be_tied() -> None:
    two = dict.fromkeys(("cubic", "newreno"), UNDEFINED[TIME]["cubic"])
    found = answer(results({TIME: {**two, "vegas": UNDEFINED[TIME]["newreno"]}}))
    assert found.choose.startswith("Tied: cubic, newreno. ")
    assert "among the values with the fewest undefined runs" in found.choose


def test_a_study_in_which_nothing_completes_says_so() -> None:
    never: Values = {"cubic": [None] * 3, "bbr": [None] * 3}
    made = results({TIME: never}, "cubic")
    found = to_dict(made)
    assert found["choose"].startswith("Nothing: flow completion time is undefined in every run.")
    assert "cubic in 3 of 3 runs" in found["choose"]
    assert (found["recommended"], found["conditions"][0]["tied"]) == ([], 0)
    assert (made.summary["deterministic"], made.summary["seeds_matter"]) == ([], True)


@pytest.mark.parametrize(("events", "fixed"), [(None, []), (7, [0, 1])])
def test_runs_with_the_same_values_but_other_events_are_not_deterministic(
    events: int | None, fixed: list[int]
) -> None:
    never: Values = {"cubic": [0.0] * 3, "bbr": [0.0] * 3}
    made = results({FLAG: never}, events=events)
    assert made.summary["deterministic"] == fixed
    assert ("deterministic" in answer(made).sure) == bool(fixed)
    undefined = results({TIME: {"cubic": [None] * 3, "bbr": [None] * 3}}, events=events)
    assert undefined.summary["deterministic"] == []


def test_one_value_for_all_is_not_one_that_does_not_complete() -> None:
    some: Values = {
        "cubic 20": [5.0, 5.1, 5.2], "cubic 250": [7.0, None, None],
        "bbr 20": [5.4, 5.5, 5.9], "bbr 250": [9.0, 9.1, None],
        "vegas 20": [9.0, 9.4, 9.2], "vegas 250": [9.0, 9.2, 9.4],
    }  # fmt: skip
    found = answer(results({TIME: some}))
    assert found.choose.startswith("No one controller for all: ")
    assert "vegas at delay 250 ms" in found.choose
    assert found.costs.startswith("One controller for all would be vegas: ")


# Significant with one other difference (p = 0.022), and not together with three others.
CLOSE: Values = {
    "cubic 20": [5e6, 7e6, 6e6], "cubic 250": [5e6, 7e6, 6e6],
    "bbr 20": [6.0e6, 8.1e6, 7.6e6], "bbr 250": [5.1e6, 6.9e6, 6.0e6],
}  # fmt: skip
SLOWER: Values = {
    "cubic 20": [5.0, 7.0, 6.0], "cubic 250": [5.0, 7.0, 6.0],
    "bbr 20": [6.0, 8.1, 7.6], "bbr 250": [7.0, 9.001, 8.0],
}  # fmt: skip


def test_the_answer_and_the_tables_are_one_family() -> None:
    made = results({RATE: CLOSE, TIME: SLOWER}, "cubic")
    significant = [row.distinct for row in made.comparisons]
    assert significant == [False, False, False, True]
    assert made.comparisons[0].p is not None
    assert made.comparisons[0].p < 0.025
    assert {row.family for row in made.comparisons} == {4}
    found = answer(made)
    assert found.choose.startswith("bbr: highest goodput or tied with it in both conditions, ")
    assert (
        "0 of 2 differences from the best are significant (paired by seed, Holm over all 4"
        " differences of the study)" in found.sure
    )
    assert found.costs.endswith("worse than cubic (6.000 s) in 1 of 2 conditions.")


def test_the_family_has_the_differences_from_the_best_too() -> None:
    close = CLOSE | {"vegas 20": [1e6, 3e6, 2e6], "vegas 250": [1e6, 3e6, 2e6]}
    made = results({RATE: close}, "cubic")
    # Two values in two conditions from cubic, and vegas from bbr where bbr is the best.
    best = [condition["variants"][0] for condition in to_dict(made)["conditions"]]
    number = 4 + sum(made.study.variants[n].parameters["flow.0.controller"] == "bbr" for n in best)
    assert {row.family for row in made.comparisons} == {number}
    assert f"Holm over all {number} differences of the study" in answer(made).sure


def test_tied_variants_come_first() -> None:
    """The second is near and significantly different, the third is not and varies much."""
    made = results({
        RATE: {
            "bbr": [6.0, 7.0, 8.0, 9.0], "cubic": [5.9, 6.901, 7.9, 8.9],
            "vegas": [1.0, 9.9, 2.0, 9.5],
        }
    })  # fmt: skip
    assert to_dict(made)["conditions"] == [{"variants": [0, 2, 1], "tied": 2}]


def test_a_verdict_names_those_with_runs_without_a_value() -> None:
    runs: dict[str, dict[int, float | None]] = {
        "cubic": {0: 5.0, 1: 7.0, 2: 6.0},
        "newreno": {0: 5.0, 1: None, 2: 6.2},
    }
    (said,) = verdicts([outcome("web", runs)])
    assert said.not_distinguishable == []
    assert said.sentence.endswith(" No value in more of the runs: newreno.")


LOSSY = """\
[[quantity]]
name = "flow.completion_s"
"""


def test_the_page_marks_undefined_runs(bentpipe: Bentpipe, file: Path, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL.replace('"60s"', '"4s"'))
    head, _, tail = file.read_text().partition("[[quantity]]")
    comparison = tail[tail.index("[[comparison]]") :]
    file.write_text(head + LOSSY + comparison)
    out = tmp_path / "out"
    printed = bentpipe("study", file, "--out", out).stdout
    found = json.loads((out / "summary.json").read_text())
    cut = [row for row in found["comparisons"] if row["undefined"] or row["undefined_against"]]
    assert cut
    assert bentpipe("report", out).returncode == 0
    page = (out / "report.html").read_text()
    for text in (f"[{cut[0]['n']} pairs]", "[n pairs]: the difference leaves out the seeds"):
        assert text in page
        assert text in " ".join(printed.split())
    assert found["answer"]["choose"] in page


def test_values_that_are_tied_in_all_conditions_are_tied() -> None:
    """No difference is significant, although each is far from the other in one condition."""
    made = results({
        RATE: {
            "bbr 20": [6e6, 9e6, 3e6, 9e6], "cubic 20": [7e6, 5e6, 6e6, 6e6],
            "bbr 250": [1e6, 9.9e6, 2e6, 9.5e6], "cubic 250": [8e6, 2e6, 9e6, 8e6],
        }
    })  # fmt: skip
    found = to_dict(made)
    assert "0 of 2 differences from the best are significant" in found["sure"]
    # 6.0 of 6.75 Mbit/s at 20 ms, and 5.6 of 6.75 Mbit/s at 250 ms.
    assert found["choose"] == (
        "Tied: cubic, bbr. Not significantly different from the highest goodput in both conditions,"
        " 6.000 to 6.750 Mbit/s. Means differ from the best of a condition: cubic by up to 11.1 %,"
        " bbr by up to 17 %."
    )
    assert (found["recommended"], found["for_all"]) == ([2, 3], True)


def test_parameters_that_change_together_are_named_together(tmp_path: Path) -> None:
    study = Study.make(
        name="zipped",
        scenario=Base.of(SMALL, "small.toml"),
        parameters=[
            Parameter("rate", "link.0.rate", ("1Mbit/s", "2Mbit/s")),
            Parameter("q", "link.0.queue.packets", (20, 80)),
            Parameter("rtt", "link.0.delay", ("10ms", "20ms")),
        ],
        zips=[("rate", "q")],
        quantities=[RATE],
        replications=Replications(count=3),
        comparisons=[Comparison("rate", "1Mbit/s")],
    )
    made = study.run(out=tmp_path / "out")
    found = to_dict(made)
    assert found["choose"].startswith("2 Mbit/s with q 80: highest goodput")
    assert found["parameters"] == ["link.0.rate", "link.0.queue.packets"]
    first = study_page(tmp_path / "out").first
    assert first is not None
    assert first.table is not None
    assert [one.label for one in first.table.columns][:3] == ["condition", "rank", "rate with q"]
    row = [cell.text for cell in first.table.rows[0]]
    assert row[0] in ("rtt 10 ms", "rtt 20 ms")
    assert row[2] == "2 Mbit/s with q 80"
    (shown,) = overviews(made)
    heads = [str(column.header) for column in shown.table.columns]
    assert "from 1 Mbit/s with q 20" in heads
