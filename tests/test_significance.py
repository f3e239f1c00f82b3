"""Significance: corrected for many comparisons, none without randomness, and one rule for all."""

from __future__ import annotations

import ast
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bentpipe.compare.ranking import ranked
from bentpipe.numbers import plus_minus, without_rounding
from bentpipe.reproductions.rankings import Quantity, ranking
from bentpipe.study import statistics as of
from bentpipe.study.quantities import is_count
from bentpipe.study.significance import (
    decided,
    deterministic_sentence,
    finding_of,
    holm,
    is_deterministic,
    is_tied,
    paired_test,
    text,
)
from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bentpipe.compare.ranking import Runs
    from conftest import Bentpipe


def test_holm_is_that_of_his_paper() -> None:
    # Four tests at 5 %: 0.01 < 0.05 / 4, 0.015 < 0.05 / 3, 0.03 > 0.05 / 2, and so are all larger.
    assert holm([0.03, 0.01, 0.04, 0.015]) == pytest.approx([0.06, 0.04, 0.06, 0.045])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_many_comparisons_of_equals_find_nothing_nineteen_times_of_twenty() -> None:
    random = np.random.default_rng(1)
    families, uncorrected = 0, 0
    for _ in range(400):
        runs = random.normal(10, 1, (20, 8))
        tests = [
            paired_test([(a, b) for a, b in zip(row, runs[0].tolist(), strict=True)])
            for row in runs[1:]
        ]
        rows = decided(tests)
        families += any(row["distinct"] for row in rows)
        uncorrected += any(row["p"] < 0.05 for row in rows)
    # Two standard errors of the simulation: sqrt(0.05 * 0.95 / 400) = 0.011.
    assert families / 400 <= 0.05 + 0.022
    assert uncorrected / 400 > 0.2, "without the correction, chance finds something"


def test_a_difference_of_deterministic_variants_is_no_significance() -> None:
    (row,) = decided([paired_test([(2.0, 1.0)] * 20, deterministic=True)])
    assert (row["finding"], row["distinct"], row["difference"]) == ("deterministic", False, 1.0)
    assert (row["ci95"], row["p"], row["p_holm"]) == (None, None, None)
    assert text(row) == "+1.000 (det.)"
    assert not is_tied(row)
    (same,) = decided([paired_test([(2.0, 2.0)] * 20, deterministic=True)])
    assert is_tied(same)


def test_deterministic_variants_are_found_one_by_one() -> None:
    """One random variant does not hide that others are deterministic."""
    fixed: Runs = {0: 5.0, 1: 5.0, 2: 5.0, 3: 5.0}
    random: Runs = {0: 1.0, 1: 2.0, 2: 4.0, 3: 3.0}
    assert is_deterministic([fixed, fixed])
    assert not is_deterministic([fixed, random])
    assert not is_deterministic([{0: 5.0}]), "one run says nothing"
    found = ranked(
        {"a": fixed, "b": random, "c": dict.fromkeys(range(4), 4.0)},
        higher_is_better=True,
        baseline=None,
        fixed=["a", "c"],
    )
    by_name = {place.name: place for place in found}
    assert by_name["c"].against_best is not None
    assert by_name["b"].against_best is not None
    assert finding_of(by_name["c"].against_best) == "deterministic"
    assert finding_of(by_name["b"].against_best) in ("significant", "not significant")
    assert by_name["a"].ci95 is None
    assert by_name["b"].ci95 is not None
    sentence = deterministic_sentence(["a", "c"], 3)
    assert sentence.startswith("a, c are deterministic: every run is the same")


def test_the_same_difference_in_all_random_runs_needs_enough_of_them() -> None:
    """Its deviation is zero, which is no infinite certainty."""
    for n, finding in ((3, "not significant"), (6, "significant"), (20, "significant")):
        pairs = [(run + 2.5, float(run)) for run in range(n)]
        (row,) = decided([paired_test(pairs)])
        assert (row["finding"], row["p"]) == (finding, 2.0 ** (1 - n))
        assert row["ci95"] is None
    (row,) = decided([paired_test([(1.1 + run, 1.0 + run) for run in range(3)])])
    assert row["p"] == 0.25, "rounding of subtractions is no spread"


def test_the_rounding_of_subtractions_is_printed_as_zero() -> None:
    mark = "\N{PLUS-MINUS SIGN}"
    # Means of values that differ in their last bit, as shares of runs do.
    assert plus_minus(5.251, 9.633e-16) == f"5.251 {mark}0"
    assert plus_minus(5.251, 0.0) == f"5.251 {mark}0"
    assert plus_minus(5.251, 1e-6) == f"5.2510000 {mark}0.0000010"
    assert plus_minus(0.0, 1e-12) == f"0 {mark}1e-12"
    assert without_rounding(2.26e-12, 100.3) == 0
    assert without_rounding(-2.26e-12, -100.3) == 0
    assert without_rounding(1e-6, 100.3) == 1e-6


COUNTS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "Poisson 0.5": lambda random, n: random.poisson(0.5, n),
    "Poisson 2": lambda random, n: random.poisson(2, n),
    "Poisson 100": lambda random, n: random.poisson(100, n),
    "negative binomial 2, variance 4": lambda random, n: random.negative_binomial(2, 0.5, n),
}


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("n", [5, 20])
def test_an_interval_of_counts_covers_their_mean(name: str, n: int) -> None:
    random = np.random.default_rng(3)
    mean = float(name.split()[1].rstrip(",")) if name.startswith("P") else 2.0
    draws = 2000
    covered = 0
    for _ in range(draws):
        low, high = of.count_interval(COUNTS[name](random, n).astype(float).tolist())
        assert 0 <= low < high < math.inf
        covered += low <= mean <= high
    # 0.92, less two standard errors of the simulation: sqrt(0.92 * 0.08 / 2000) = 0.006
    assert 0.908 <= covered / draws <= 0.99, covered / draws


def test_an_interval_of_rare_events_is_not_over_many_decades() -> None:
    low, high = of.count_interval([0.0, 0.0, 0.0, 5.0, 0.0])
    assert 0.05 < low < 1 < high < 12
    wide_low, wide_high = of.log_interval([0.0, 0.0, 0.0, 5.0, 0.0])
    assert wide_high / wide_low > 200, "as it was"
    # Of twenty runs without a timeout the mean may be up to 0.2: one in five runs would be seen.
    assert of.count_interval([0.0] * 20) == pytest.approx((0.0, 0.219), abs=1e-3)
    # A small spread: that of Student.
    values = [10_000.0, 10_010.0, 9_990.0, 10_020.0]
    assert of.count_interval(values) == pytest.approx(of.student_interval(values), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("flow.timeouts", True),
        ("flow.segments_retransmitted", True),
        ("link.dropped_packets", True),
        ("sum(arq.repeated_frames)", True),
        ("flow.goodput_bps", False),
        ("flow.bytes", False),
        ("jain_index", False),
        ("jain(flow.timeouts)", False),
        ("flow.aborted", False),
        ("p95(flow.timeouts)", False),
    ],
)
def test_numbers_of_events_are_counts(name: str, counts: bool) -> None:
    assert is_count(name) == counts


def test_a_ranking_of_a_reproduction_names_no_winner_without_randomness() -> None:
    quantity = Quantity("goodput", "Goodput", "Mbit/s", higher_is_better=True)
    runs: dict[str, Runs] = {
        "a": dict.fromkeys(range(5), 2.0),
        "b": dict.fromkeys(range(5), 1.0),
    }
    found = ranking("one", "One", {quantity: runs})
    assert {name: at["goodput"].tied for name, at in found.standings.items()} == {
        "a": False,
        "b": False,
    }
    assert found.standings["a"]["goodput"].ci95 is None


STUDY = """
scenario = "small.toml"
replications = { count = 3 }
[[quantity]]
name = "flow.goodput_bps"
[[quantity]]
name = "flow.timeouts"
[parameters.per]
path = "link.0.forward.channel"
values = ["perfect", "{ per = 0.02 }"]
[parameters.controller]
path = "flow.0.controller"
values = ["cubic", "newreno", "vegas"]
[[comparison]]
parameter = "controller"
baseline = "cubic"
"""
SCENARIO = """
duration = "20s"
[[link]]
between = ["a", "b"]
rate = "2Mbit/s"
delay = "100ms"
[[flow]]
from = "a"
to = "b"
controller = "cubic"
traffic = { bulk = "unlimited" }
"""


def test_a_study_names_its_deterministic_variants(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SCENARIO)
    (tmp_path / "study.toml").write_text(STUDY)
    found = json.loads(bentpipe("study", "study.toml", "--out", "out", "--json").stdout)
    fixed = {c["variant"] for c in found["cells"] if c["deterministic"]}
    clear = {c["variant"] for c in found["cells"] if "perfect" in c["parameters"].values()}
    assert fixed == clear == set(found["deterministic"])
    assert len(fixed) == 3
    for row in found["comparisons"]:
        is_clear = "perfect" in row["parameters"].values()
        assert (row["finding"] == "deterministic") == is_clear
        assert (row["p_holm"] is None) == is_clear
        assert row["family"] == 4, "two controllers and two quantities with losses"
        assert not (is_clear and row["distinct"])
    assert all(c["ci95"] is None for c in found["cells"] if c["variant"] in fixed)
    said = " ".join(bentpipe("study", "study.toml").stdout.split())
    assert "are deterministic: every run is the same" in said
    assert "corrected for all 4 differences of the study together (Holm)" in said
    assert bentpipe("report", "out").returncode == 0
    page = (tmp_path / "out/report.html").read_text()
    assert "are deterministic: every run is the same" in page
    assert "together (Holm)" in page


SOURCES = ROOT / "python/bentpipe"
WORDS = ("Expect 1 of 20", "does not include zero", "excludes zero: the difference")


def test_significance_is_decided_in_one_place() -> None:
    """No other module tests differences, or says how they are decided."""
    for file in SOURCES.rglob("*.py"):
        if file.name == "significance.py":
            continue
        code = file.read_text()
        assert not any(word in code for word in WORDS), file
        for node in ast.walk(ast.parse(code)):
            # Only `decided` and its readers know what `distinct` of a row is.
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
                allowed = ("compare/verdict.py",)
                is_read = node.slice.value == "distinct"
                assert not is_read or file.relative_to(SOURCES).as_posix() in allowed, file
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    assert not [page.name for page in pages if WORDS[0] in page.read_text()]
