"""Correlated rain over the weather cells of a beam."""

from __future__ import annotations

import json
from math import exp, log
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtri
from scipy.stats import multivariate_normal

from bentpipe.errors import RainError
from bentpipe.rain import SPINO_DADDA, DiracLognormal, Grid, cells
from bentpipe.rain.cells import COMMON, DECAYS, GAINS, SPREAD, correlation, process
from bentpipe.rain.gaussian import generator

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

METHOD = DiracLognormal.fit(SPINO_DADDA)


def joint(threshold: float, rho: float) -> float:
    """Probability that two normal numbers with the correlation `rho` both exceed a threshold."""
    covariance = [[1.0, rho], [rho, 1.0]]
    return float(multivariate_normal.cdf([-threshold, -threshold], cov=covariance))


def diversity(attenuation_db: float, distance_km: float) -> float:
    """Joint exceedance of two sites by P.618-13 (ITU-Rpy, itu618.py), the same rain at both."""
    rain = 0.7 * exp(-distance_km / 60) + 0.3 * exp(-((distance_km / 700) ** 2))
    deep = 0.94 * exp(-distance_km / 30) + 0.06 * exp(-((distance_km / 500) ** 2))
    level = (log(attenuation_db) - METHOD.m) / METHOD.sigma
    return joint(-float(ndtri(METHOD.rain)), rain) * joint(level, deep)


def test_the_process_has_its_correlations() -> None:
    """Spatial correlation at three distances, variance, and the decay over time, for long steps."""
    factor = Grid(rows=1, columns=5, spacing_km=20.0).factor()
    step = 2000.0
    found = process(generator(1), factor, step, 200_000)
    assert np.std(found) == pytest.approx(1.0, abs=0.01)
    between: Any = np.corrcoef(found.T)
    for apart in (1, 2, 4):
        expected = 0.59 * exp(-20 * apart / 31) + 0.41 * exp(-20 * apart / 800)
        assert between[0, apart] == pytest.approx(expected, abs=0.02)
    for lag in (1, 5):
        fast, slow = (exp(-decay * step * lag) for decay in DECAYS)
        crossed = COMMON * GAINS[0] * GAINS[1] * (fast + slow)
        expected = (GAINS[0] ** 2 * fast + GAINS[1] ** 2 * slow + crossed) / SPREAD**2
        assert np.mean(found[lag:] * found[:-lag]) == pytest.approx(expected, abs=0.01)


def test_the_series_is_stationary_from_its_first_sample() -> None:
    factor = Grid(rows=20, columns=20).factor()
    draws = [process(generator(seed), factor, 1.0, 2) for seed in range(60)]
    assert np.std([one[0] for one in draws]) == pytest.approx(1.0, abs=0.1)
    assert np.std([one[1] for one in draws]) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("distance_km", [10.0, 20.0, 50.0])
def test_joint_light_rain_is_that_of_p618(distance_km: float) -> None:
    rho = float(correlation(np.array(distance_km)))
    assert joint(METHOD.level(0.5), rho) == pytest.approx(diversity(0.5, distance_km), rel=0.03)


def test_joint_deep_fades_are_more_frequent_than_by_p618() -> None:
    """The figures of docs/rain.md, which says so."""
    for attenuation, factor in ((3.0, 1.96), (6.0, 2.97)):
        rho = float(correlation(np.array(50.0)))
        ratio = joint(METHOD.level(attenuation), rho) / diversity(attenuation, 50.0)
        assert ratio == pytest.approx(factor, abs=0.02)


def test_a_cell_alone_has_the_distribution_of_its_method() -> None:
    found = cells(METHOD, Grid(rows=1, columns=1), 3e8, 2000.0, seed=2)
    assert found.rain_share == pytest.approx(METHOD.rain, rel=0.05)
    above = float((found.attenuation_db > 3.0).mean())
    assert above == pytest.approx(METHOD.exceeded(3.0), rel=0.1)


def test_a_window_with_rain_is_drawn(bentpipe: Bentpipe, tmp_path: Path) -> None:
    grid = ["--rows", "2", "--columns", "3", "--spacing-km", "30"]
    window = ["--duration", "1h", "--step", "1min", "--seed", "4", "--least-rain", "0.5"]
    out = tmp_path / "cells.parquet"
    done = bentpipe("rain", "cells", *grid, *window, "--out", str(out), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    frame = pl.read_parquet(out)
    names = [f"cell_{row}_{column}" for row in (1, 2) for column in (1, 2, 3)]
    assert frame.columns == ["time_s", *names]
    assert frame.height == summary["samples"] == 61
    wet = frame.select((pl.col(name) > 0).mean() for name in names)
    assert sum(wet.row(0)) / 6 == pytest.approx(summary["rain_share"])
    assert summary["rain_share"] >= 0.5
    assert summary["draws"] > 1
    again = cells(
        METHOD, Grid(rows=2, columns=3, spacing_km=30.0), 3600, 60, seed=4, least_rain=0.5
    )
    assert again.attenuation_db.T.tolist() == [frame[name].to_list() for name in names]


def test_the_summary_says_how_rare_the_window_is(bentpipe: Bentpipe, tmp_path: Path) -> None:
    window = ["--duration", "1h", "--step", "1min", "--least-rain", "0.1"]
    done = bentpipe("rain", "cells", *window, "--out", str(tmp_path / "cells.csv"))
    assert "64 cells, 61 samples" in done.stdout
    assert "of 3600 s drawn until one had this rain" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rows", "0"], "--rows: expected 1 to 400 rows and columns"),
        (["--rows", "30", "--columns", "30"], "at most 400 cells, found 30"),
        (["--spacing-km", "0.5"], "--spacing-km: expected a number from 1 to 1000"),
        (["--least-rain", "1.5"], "--least-rain: expected a number from 0 to 1"),
        (["--duration", "61s"], "--duration: expected a whole number of steps"),
    ],
)
def test_bad_input(bentpipe: Bentpipe, tmp_path: Path, options: list[str], words: str) -> None:
    out = tmp_path / "cells.csv"
    done = bentpipe("rain", "cells", "--duration", "1h", "--out", str(out), *options)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert not out.exists()


def test_rain_that_no_window_has_is_an_error() -> None:
    grid = Grid(rows=1, columns=2, spacing_km=1000.0)
    dry = DiracLognormal(METHOD.m, METHOD.sigma, 1e-9)
    with pytest.raises(RainError, match="that one of 10000 windows of 20 s has"):
        cells(dry, grid, 20.0, seed=1, least_rain=1.0)
