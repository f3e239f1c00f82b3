"""Intervals of means cover the true mean as often as they claim, and stay within its bounds."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bentpipe import Scenario, _native
from bentpipe.limits import LIMITS
from bentpipe.numbers import ends, missing_interval
from bentpipe.study import statistics as of
from bentpipe.study.domains import COUNTS, RANGES, Domain
from bentpipe.study.estimates import Estimate
from bentpipe.study.intervals import around, method
from bentpipe.study.quantities import TABLES, Quantity, domain_of
from bentpipe.study.significance import decided, paired_test
from bentpipe.study.tables import latex_cell

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Bentpipe

DRAWS = 4000
VARIATION = 0.5
"""Standard deviation as a share of the mean."""
SIGMA = math.sqrt(math.log(1 + VARIATION**2))
DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "lognormal": lambda random, n: random.lognormal(-(SIGMA**2) / 2, SIGMA, n),
    "gamma": lambda random, n: random.gamma(VARIATION**-2, VARIATION**2, n),
    "exponential above a bound": lambda random, n: 0.5 + random.exponential(0.5, n),
    "uniform": lambda random, n: random.uniform(1 - 0.866, 1 + 0.866, n),
}
"""Distributions with a mean of one."""
TOO_SKEWED = ("exponential above a bound", 5)
"""Coverage is 91 %: five values of a skewness of 2 say little about its tail. docs/studies.md."""


@pytest.mark.parametrize(
    ("name", "n"),
    [(name, n) for name in DISTRIBUTIONS for n in (5, 20) if (name, n) != TOO_SKEWED],
)
def test_an_interval_covers_the_mean_as_often_as_it_claims(name: str, n: int) -> None:
    random = np.random.default_rng(15)
    covered = 0
    for _ in range(DRAWS):
        low, high = of.log_interval(DISTRIBUTIONS[name](random, n).tolist())
        assert low > 0
        covered += low <= 1 <= high
    # 0.93, less two standard errors of the simulation: sqrt(0.93 * 0.07 / 4000) = 0.004
    assert 0.922 <= covered / DRAWS <= 0.965


def test_an_interval_of_positive_values_is_above_zero_however_wide() -> None:
    low, high = of.log_interval([1.0, 1.0, 1e9])
    assert 0 < low < 1e9 / 3 < high < math.inf
    assert of.log_interval([2.0, 2.0, 2.0]) == (2.0, 2.0)
    assert of.log_interval([0.0, 0.0, 0.0]) == (0.0, 0.0)
    # A narrow interval is that of Student.
    values = [10.0, 10.01, 9.99, 10.02]
    assert of.log_interval(values) == pytest.approx(of.student_interval(values), rel=1e-5)


def test_two_values_are_too_few() -> None:
    assert around([1.0, 2.0]) is None
    assert around([1.0, 2.0, 3.0]) is not None
    (row,) = decided([paired_test([(1.0, 2.0), (1.0, 2.0)])])
    assert (row["ci95"], row["distinct"]) == (None, False)


def test_the_output_says_too_few(file: Path, bentpipe: Bentpipe) -> None:
    file.write_text(file.read_text().replace("count = 20", "count = 2"))
    answer = bentpipe("study", file).stdout
    # Two quantities of four variants, the differences of two of them, and the answer.
    assert answer.count("too few") == 13
    assert "fewer than three runs show no significance" in answer
    assert "significant " not in answer.partition("A difference is significant")[0]
    lines = bentpipe("study", file, "--verbose").stdout.splitlines()
    rows = [line for line in lines if "flow.completion_s" in line]
    assert len(rows) == 6
    assert all("too few" in row for row in rows)
    found = json.loads(bentpipe("study", file, "--json").stdout)
    assert {cell["ci95"] for cell in found["cells"]} == {None}
    link = ("--link", "leo", "--set", "duration=3s", "--controllers", "cubic")
    compared = bentpipe("compare", *link, "--replications", "2").stdout
    assert "fewer than three runs show no significance" in compared
    assert "n.s." not in compared.partition("= and (n.s.)")[0]


BETAS = {"high": (45.0, 5.0), "middle": (2.0, 2.0), "low": (3.0, 27.0)}
"""Parameters of beta distributions: means of 0.9, 0.5 and 0.1."""


@pytest.mark.parametrize("name", BETAS)
@pytest.mark.parametrize(("n", "least"), [(5, 0.92), (20, 0.93)])
def test_an_interval_between_bounds_covers_the_mean_and_stays_between(
    name: str, n: int, least: float
) -> None:
    random = np.random.default_rng(4)
    a, b = BETAS[name]
    covered = 0
    for _ in range(DRAWS):
        low, high = of.logit_interval(random.beta(a, b, n).tolist(), 0.0, 1.0)
        assert 0 <= low < high <= 1
        covered += low <= a / (a + b) <= high
    # Two standard errors of the simulation, as above.
    assert least - 0.008 <= covered / DRAWS <= 0.965, covered / DRAWS


def test_a_wide_interval_stays_within_its_bounds_and_a_narrow_one_is_that_of_student() -> None:
    values = [1.0] * 19 + [0.98]
    low, high = of.logit_interval(values, 0.25, 1.0)
    assert 0.25 < low < 0.999 < high < 1
    assert of.student_interval(values)[1] > 1, "as it was"
    low, high = of.logit_interval([0.25, 0.25, 0.26], 0.25, 1.0)
    assert 0.25 < low < high < 1, "an index of four flows is at least 1/4"
    narrow = [0.5, 0.501, 0.499, 0.5]
    assert of.logit_interval(narrow, 0, 1) == pytest.approx(of.student_interval(narrow), rel=1e-5)
    # A rounding above the bound.
    low, high = of.logit_interval([1.0, 1 + 1e-15, 0.9, 1.0], 0.0, 1.0)
    assert low < 0.975 < high <= 1 + 1e-15


def test_shares_of_successes_have_an_interval_with_a_width() -> None:
    # Wilson: z^2 = 3.8415, and 20 / (20 + z^2) for twenty successes in twenty runs.
    assert of.wilson_interval([1.0] * 20) == pytest.approx((0.8389, 1.0), abs=1e-4)
    assert of.wilson_interval([0.0] * 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    # 0.699 to 0.972: the published example of 18 of 20 (Newcombe's method 3).
    assert of.wilson_interval([1.0] * 18 + [0.0] * 2) == pytest.approx((0.699, 0.972), abs=1e-3)
    done = domain_of("flow.completed")
    assert around([1.0] * 20, done) == of.wilson_interval([1.0] * 20)
    assert around([1.0] * 20, done, seed=(0, 0)) == of.wilson_interval([1.0] * 20)
    assert around([0.0] * 20, COUNTS, seed=(0, 0)) == of.count_interval([0.0] * 20)
    assert around([1.0] * 20, done, deterministic=True) is None
    assert around([0.5] * 20, done) is None, "one of two flows completes in each run"
    assert method([0.5, 1.0], done) == "logit"
    assert around([0.7] * 20, domain_of("link.utilisation")) is None


FLOWS = """
duration = "5s"
[[link]]
between = ["a", "b"]
rate = "2Mbit/s"
delay = "10ms"
[[flow]]
name = "web"
from = "a"
to = "b"
count = 4
controller = "cubic"
traffic = { download = "1kB" }
[[flow]]
from = "a"
to = "b"
controller = "cubic"
traffic = { download = "1kB" }
"""


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("flow.completed", 0, 1),
        ("sessions.completed", 0, 1),
        ("flow.aborted", 0, 1),
        ("sum(flow.completed)", 0, 5),
        ("sum(flow.web*.completed)", 0, 4),
        ("link.utilisation", 0, 1),
        ("p95(link.utilisation)", 0, 1),
        ("jain_index", 1 / 5, 1),
        ("jain(flow.goodput_bps)", 1 / 5, 1),
        ("jain(flow.web*.goodput_bps)", 1 / 4, 1),
        ("beam_groups.jain", 0, 1),
        ("beams.airtime", 0, 1),
        ("beams.padding", 0, 1),
        ("call.loss", 0, 1),
        ("call.mos", 1, 4.5),
        ("call.rating_without_echo", 0, 100),
        ("video.stall_ratio", 0, 1),
        ("messages.above_100ms", 0, 1),
        ("responses.above_deadline", 0, 1),
        *((f"flow.{column}", 0, 1) for column in LIMITS),
        *((f"legs.{column}", 0, 1) for column in LIMITS),
    ],
)
def test_bounds_are_those_of_the_quantity(name: str, low: float, high: float) -> None:
    found = domain_of(name, Scenario.parse(FLOWS))
    assert (found.low, found.high) == (low, high)


@pytest.mark.parametrize(
    "name",
    ["call.burst_ratio", "video.reward", "ack_control.ratio", "flow.goodput_bps", "flow.timeouts",
     "simulated_s", "flow.limited_s"],
)  # fmt: skip
def test_other_quantities_have_no_bounds(name: str) -> None:
    assert not domain_of(name, Scenario.parse(FLOWS)).is_bounded


def test_each_column_without_a_unit_is_bounded_or_known_not_to_be() -> None:
    """A new share in a recording needs a line in `domains.RANGES`."""
    names = {table: name for name, table in TABLES.items()}
    plain = {
        column
        for table, columns in _native.number_columns().items()
        for column in columns
        if Quantity(column if table == "run" else f"{names.get(table, table)}.{column}").unit == "1"
    }
    assert plain - set(RANGES) == {"burst_ratio", "reward", "ratio", "ratio_max", "symbols"}
    assert set(RANGES) <= plain


def test_differences_of_shares_end_at_the_largest_difference() -> None:
    pairs = [(1.0, 0.0)] * 18 + [(0.0, 0.0), (1.0, 1.0)]
    assert paired_test(pairs).ci95[1] > 1, "as it was"  # type: ignore[index]
    test = paired_test(pairs, domain=Domain(0.0, 1.0))
    assert test.ci95 is not None
    assert test.ci95[1] == 1
    assert test.p == paired_test(pairs).p


def test_no_interval_is_constant_only_without_randomness() -> None:
    assert missing_interval(20, deterministic=True) == "constant"
    assert missing_interval(20) == ends(None, n=20) == "same in all runs"
    assert missing_interval(2) == "too few"


SUCCESSES = """
scenario = "lossy.toml"
replications = { count = 20 }
[[quantity]]
name = "flow.completed"
[[quantity]]
name = "flow.goodput_bps"
[[quantity]]
name = "link.utilisation"
[parameters.controller]
path = "flow.0.controller"
values = ["cubic", "newreno"]
[parameters.per]
path = "link.0.channel.per"
values = [0.0, 0.02, 0.03, 0.9]
"""
LOSSY = """
duration = "75s"
[[link]]
between = ["a", "b"]
rate = "2Mbit/s"
delay = "250ms"
channel = { per = 0.02 }
[[flow]]
from = "a"
to = "b"
controller = "cubic"
traffic = { download = "2MB" }
"""


def test_a_study_has_no_interval_above_one_or_without_width(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    (tmp_path / "lossy.toml").write_text(LOSSY)
    (tmp_path / "study.toml").write_text(SUCCESSES)
    found = json.loads(bentpipe("study", "study.toml", "--out", "out", "--json").stdout)
    cells = {(*cell["parameters"].values(), cell["quantity"]): cell for cell in found["cells"]}
    for (controller, per, quantity), cell in cells.items():
        assert (cell["ci95"] is None) == (per == 0 or (per == 0.9 and "goodput" in quantity))
        if cell["ci95"] and "goodput" not in quantity:
            low, high = cell["ci95"]
            assert 0 <= low < high <= 1, (controller, per, quantity)
    some = cells["cubic", 0.02, "flow.completed"]
    assert 0.5 < some["mean"] < 1
    assert some["interval"] == "wilson"
    never = cells["newreno", 0.9, "flow.completed"]
    assert never["ci95"] == pytest.approx([0, 0.1611], abs=1e-4)
    assert cells["cubic", 0.02, "link.utilisation"]["interval"] == "logit"
    printed = bentpipe("study", "study.toml", "--out", "out", "--verbose").stdout
    assert printed.count("same in all runs") == 2, "two goodputs at 0.9"
    assert printed.count("constant") == 6, "three quantities of two deterministic variants"
    assert "0 (same in all runs)" in bentpipe("study", "study.toml", "--out", "out").stdout
    assert bentpipe("report", "out").returncode == 0
    page = (tmp_path / "out/report.html").read_text()
    assert "intervals by Wilson" in page
    methods = bentpipe("cite", "out", "--methods").stdout
    assert "Wilson's score for shares of successes~\\cite{wilson1927}" in methods
    assert "on the logit scale" in methods


def test_a_table_in_latex_has_no_half_width_beyond_a_bound() -> None:
    def cell(mean: float, *ci95: float) -> str:
        low, high = ci95
        made = Estimate(0, {}, "flow.completed", "1", 20, 0, mean, (low, high), "wilson", None, {})
        return latex_cell(made, 1.0, 2, 1.0, bold=False)

    assert cell(0.9, 0.70, 0.97) == "0.90 (0.70--0.97)", "0.9 and 0.2 are more than 1"
    assert cell(0.1, 0.03, 0.30) == "0.10 (0.03--0.30)", "0.1 less 0.2 is below 0"
    assert cell(0.5, 0.40, 0.61) == r"0.50 $\pm$ 0.11"
