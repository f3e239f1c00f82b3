"""Rain attenuation against published values, exact distributions and another implementation."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from statistics import NormalDist
from types import ModuleType, SimpleNamespace
from typing import IO, TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from bentpipe.errors import BentpipeError, RainError
from bentpipe.rain import (
    METHODS,
    SPINO_DADDA,
    DiracLognormal,
    MasengBakken,
    Site,
    Synthesis,
    attenuation_exceeded,
    coefficients,
    event,
    rain_height_km,
)
from bentpipe.rain.bridge import bridge
from bentpipe.rain.gaussian import generator, stationary

if TYPE_CHECKING:
    from pathlib import Path

FITS = {name: method.fit(SPINO_DADDA) for name, method in METHODS.items()}
BETA = 2e-4  # 1/s, P.1853-1
SIGMAS = 5
"""Distance in standard errors that a right program exceeds once in a million draws."""

both_methods = pytest.mark.parametrize("fit", FITS.values(), ids=FITS)


def upper_tail(x: float) -> float:
    return NormalDist().cdf(-x)


def test_the_specific_attenuation_of_p838() -> None:
    assert coefficients(19.77, 31.0, 45.0) == pytest.approx((0.0914675, 1.0221118), rel=1e-6)


@pytest.mark.parametrize(
    ("percent", "attenuation"), [(0.01, 17.3059), (0.1, 6.1302), (1.0, 1.5303), (3.0, 0.6977)]
)
def test_the_statistics_of_p618(percent: float, attenuation: float) -> None:
    assert attenuation_exceeded(SPINO_DADDA, percent) == pytest.approx(attenuation, abs=5e-5)


@pytest.mark.parametrize(
    ("latitude", "elevation", "frequency", "altitude", "rate", "tilt", "height", "expected"),
    [
        (1.3, 12.0, 12.0, 0.02, 100.1, 0.0, 4.97,
         {0.001: 45.65379493, 0.01: 42.40651897, 0.3: 15.92170078, 2.0: 2.85524908}),
        (-22.9, 55.0, 30.0, 0.7, 60.0, 90.0, 4.4,
         {0.001: 70.78067121, 0.01: 44.37539560, 0.3: 11.11462681, 2.0: 3.02031934}),
        (64.0, 6.0, 45.0, 0.1, 20.0, 20.0, 1.9,
         {0.001: 118.96739931, 0.01: 69.01233619, 0.3: 16.27626824, 5.0: 2.76709816}),
    ],
    ids=["tropical and low", "southern and steep", "northern and grazing"],
)  # fmt: skip
def test_every_branch_of_p618_gives_what_itur_0_4_0_gives(
    latitude: float, elevation: float, frequency: float, altitude: float, rate: float,
    tilt: float, height: float, expected: dict[float, float],
) -> None:  # fmt: skip
    site = Site(
        latitude_deg=latitude,
        altitude_km=altitude,
        elevation_deg=elevation,
        frequency_ghz=frequency,
        tilt_deg=tilt,
        rain_rate_mmh=rate,
        rain_height_km=height,
        rain_percent=5.0,
    )
    exceeded = {percent: attenuation_exceeded(site, percent) for percent in expected}
    assert exceeded == pytest.approx(expected, rel=1e-8)


def test_a_satellite_overhead_is_no_special_case() -> None:
    # The path's length over ground goes in by its root, so only the very neighbourhood is near.
    near, overhead = (
        attenuation_exceeded(replace(SPINO_DADDA, elevation_deg=elevation), 0.1)
        for elevation in (90 - 1e-8, 90.0)
    )
    assert near == pytest.approx(overhead, rel=1e-4)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("elevation_deg", 4.0),
        ("frequency_ghz", 60.0),
        ("latitude_deg", math.nan),
        ("rain_percent", 0.0),
        ("altitude_km", 4.0),
        ("rain_height_km", math.inf),
    ],
)
def test_a_site_names_the_field_that_cannot_be(field: str, value: float) -> None:
    with pytest.raises(RainError) as caught:
        replace(SPINO_DADDA, **{field: value})
    assert caught.value.parameter == field


@pytest.mark.parametrize("percent", [0.0001, 6.0, math.nan])
def test_p618_ends_at_its_range(percent: float) -> None:
    with pytest.raises(RainError, match=r"0\.001 to 5"):
        attenuation_exceeded(SPINO_DADDA, percent)


def test_the_fits_of_both_methods() -> None:
    p1853, dirac = MasengBakken.fit(SPINO_DADDA), DiracLognormal.fit(SPINO_DADDA)
    assert (p1853.m, p1853.sigma) == pytest.approx((-3.665, 1.764), abs=5e-4)
    assert p1853.offset_db == pytest.approx(0.349, abs=5e-4)
    assert (dirac.m, dirac.sigma) == pytest.approx((-0.505, 1.069), abs=5e-4)


@pytest.mark.parametrize(
    ("percent", "p1853", "dirac"),
    [
        (0.01, 17.77, 14.61), (0.05, 8.16, 8.26), (0.1, 5.63, 6.25), (0.5, 2.06, 2.88),
        (1.0, 1.20, 1.88), (3.0, 0.36, 0.7248), (5.0, 0.12, 0.32),
    ],
)  # fmt: skip
def test_what_the_series_of_both_methods_exceed(percent: float, p1853: float, dirac: float) -> None:
    assert FITS["p1853"].attenuation_exceeded(percent) == pytest.approx(p1853, abs=6e-3)
    assert FITS["dirac"].attenuation_exceeded(percent) == pytest.approx(dirac, abs=6e-3)


@pytest.mark.parametrize("attenuation", [0.01, 0.3, 1.0, 5.0, 20.0])
def test_the_distribution_is_that_of_the_published_formulas(attenuation: float) -> None:
    p1853, dirac = MasengBakken.fit(SPINO_DADDA), DiracLognormal.fit(SPINO_DADDA)
    above = upper_tail((math.log(attenuation + p1853.offset_db) - p1853.m) / p1853.sigma)
    assert p1853.exceeded(attenuation) == pytest.approx(above, rel=1e-9)
    above = 0.06946 * upper_tail((math.log(attenuation) - dirac.m) / dirac.sigma)
    assert dirac.exceeded(attenuation) == pytest.approx(above, rel=1e-9)


@both_methods
def test_it_rains_for_the_share_of_rain(fit: Synthesis) -> None:
    assert fit.exceeded(0.0) == 0.06946
    assert fit.exceeded(1e-9) == pytest.approx(0.06946, rel=1e-6)


@both_methods
def test_level_attenuation_and_percentage_are_inverses(fit: Synthesis) -> None:
    for attenuation in (0.05, 1.0, 12.0, 40.0):
        assert float(fit.attenuation(fit.level(attenuation))) == pytest.approx(attenuation)
        percent = 100 * fit.exceeded(attenuation)
        assert fit.attenuation_exceeded(percent) == pytest.approx(attenuation)


@both_methods
def test_independent_draws_have_the_exact_distribution(fit: Synthesis) -> None:
    draws = 1_000_000
    (x,) = stationary(generator(7), 1e3, draws)  # so long a step leaves no correlation
    attenuation = fit.attenuation(x)
    for level in (0.0, 0.1, 0.5, 1.0, 3.0, 6.0, 10.0, 15.0):
        share = fit.exceeded(level)
        error = math.sqrt(share * (1 - share) / draws)
        assert abs(float((attenuation > level).mean()) - share) < SIGMAS * error


def standard_error_of_share(level: float, correlations: np.ndarray) -> float:
    """Of the share of samples of X above a level, for a stationary Gaussian series.

    Cov(X_0 > c, X_k > c) is the integral over u from 0 to the correlation of
    exp(-c^2 / (1 + u)) / (2 pi sqrt(1 - u^2)); with u = sin t the root falls out.
    """
    samples = len(correlations)
    angles = np.linspace(0.0, math.pi / 2, 20_001)
    density = np.exp(-(level**2) / (1 + np.sin(angles))) / (2 * math.pi)
    steps = (density[1:] + density[:-1]) / 2 * np.diff(angles)
    integral = np.concatenate(([0.0], np.cumsum(steps)))
    covariance = np.interp(np.arcsin(correlations), angles, integral)
    weights = 1 - np.arange(samples) / samples
    return math.sqrt((2 * np.sum(weights * covariance) - covariance[0]) / samples)


@both_methods
def test_a_long_series_has_the_exact_distribution(fit: Synthesis) -> None:
    # Six years at 50 s. Its samples are far from independent, so the error comes from their exact
    # covariance: at 3 dB 0.025 % of the time, where independent ones would have 0.0035 %.
    step = 50.0
    series = fit.series(6 * 365 * 86400.0, step, seed=11)
    samples = len(series.attenuation_db)
    correlations = np.exp(-BETA * step * np.arange(samples))
    for level in (0.1, 0.5, 1.0, 3.0, 6.0):
        error = standard_error_of_share(fit.level(level), correlations)
        share = float((series.attenuation_db > level).mean())
        assert abs(share - fit.exceeded(level)) < 4 * error
        assert error < 0.15 * fit.exceeded(level)


def test_the_process_is_stationary_from_its_first_sample() -> None:
    # Lags of 0, 500, ..., 2000 s at beta = 2e-4: correlation exp(-beta t), whatever the start.
    count = 200_000
    x = stationary(generator(3), BETA * 500.0, 5, count)
    for first in range(5):
        for second in range(first, 5):
            expected = math.exp(-BETA * 500.0 * (second - first))
            error = math.sqrt((1 + expected**2) / count)
            assert abs(float((x[:, first] * x[:, second]).mean()) - expected) < SIGMAS * error
        assert abs(float(x[:, first].mean())) < SIGMAS / math.sqrt(count)


@both_methods
def test_a_series_is_that_of_its_seed(fit: Synthesis) -> None:
    one, same, other = (fit.series(36_000.0, 1.0, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(one.attenuation_db, same.attenuation_db)
    assert not np.array_equal(one.attenuation_db, other.attenuation_db)


def test_methods_under_one_seed_meet_the_same_rain() -> None:
    dirac, p1853 = (fit.series(864_000.0, 10.0, seed=2).attenuation_db for fit in FITS.values())
    assert np.array_equal(dirac > 0, p1853 > 0)
    assert 0 < (dirac > 0).mean() < 1


def test_instants_are_the_decimal_numbers() -> None:
    series = FITS["dirac"].series(1.0, 0.1, seed=1)
    assert series.time_s.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("peak", "duration", "step", "peak_at"),
    [
        (12.0, 1200.0, 1.0, None),
        (25.3, 600.0, 0.1, 90.0),
        (0.5, 14_400.0, 10.0, 14_390.0),
        (40.0, 2.0, 1.0, None),
        (3.0, 864_000.0, 3600.0, 7200.0),
    ],
)
@both_methods
def test_an_event_has_the_peak_and_the_duration_that_were_asked(
    fit: Synthesis, peak: float, duration: float, step: float, peak_at: float | None, seed: int
) -> None:
    fade = event(fit, peak, duration, step, peak_at_s=peak_at, seed=seed)
    attenuation = fade.attenuation_db
    assert (fade.time_s[0], fade.time_s[-1]) == (0.0, duration)
    assert (attenuation[0], attenuation[-1]) == (0.0, 0.0)
    assert (attenuation[1:-1] > 0).all()
    assert attenuation.max() == peak
    highest = np.flatnonzero(attenuation == peak)
    at = duration / 2 if peak_at is None else peak_at
    assert fade.time_s[highest].tolist() == [pytest.approx(at)]


def test_an_event_is_that_of_its_seed() -> None:
    fades = [event(FITS["dirac"], 12.0, 1200.0, seed=seed).attenuation_db for seed in (1, 1, 2)]
    assert np.array_equal(fades[0], fades[1])
    assert not np.array_equal(fades[0], fades[2])


@both_methods
def test_series_and_events_change_from_second_to_second_as_p1853_says(fit: Synthesis) -> None:
    # One step of X has the standard deviation sqrt(1 - rho^2). The limits of an event narrow it a
    # little, and so does its choice of rain the steps of a series: 2 % are granted.
    expected = math.sqrt(-math.expm1(-2 * BETA))
    fade = event(fit, 12.0, 36_000.0, seed=4).attenuation_db[1:-1]
    week = fit.series(604_800.0, seed=2).attenuation_db
    for attenuation in (fade, week):
        x = np.array([fit.level(a) if a > 0 else math.nan for a in attenuation])
        steps = np.diff(x)
        steps = steps[~np.isnan(steps)]
        assert len(steps) > 5000
        error = 1 / math.sqrt(2 * len(steps))
        assert abs(float(steps.std()) / expected - 1) < 0.02 + SIGMAS * error


def test_a_bridge_without_limits_is_the_conditioned_process() -> None:
    # Half-way, h steps of decay d from both ends a and b: mean (a + b) / (2 cosh(h d)), variance
    # tanh(h d), from the normal distribution of three values of X.
    random, ends, nowhere = generator(9), (-1.0, 2.0), (-math.inf, math.inf)
    count, half, decay = 40_000, 4, 0.15
    paths = [bridge(random, decay, 2 * half, ends, nowhere) for _ in range(count)]
    middle = np.array(paths)[:, half]
    variance = math.tanh(half * decay)
    mean = sum(ends) / (2 * math.cosh(half * decay))
    assert abs(float(middle.mean()) - mean) < SIGMAS * math.sqrt(variance / count)
    assert abs(float(middle.var()) / variance - 1) < SIGMAS * math.sqrt(2 / count)


def test_a_bridge_between_limits_is_near_the_process_that_never_leaves_them() -> None:
    # The rise of an event of 20 minutes at 10 s, against those of many bridges without limits that
    # stay between them by chance. The weights of the steps are approximations: a tenth of a
    # standard deviation is granted to them. Without weights the mean is off by 0.4.
    fit, steps, decay = FITS["dirac"], 60, 10 * BETA
    levels = fit.threshold, fit.level(12.0)
    random, wanted = generator(1), 1500
    free = stationary(random, decay, steps + 1, 100_000)
    left = decay * np.arange(steps, -1, -1)
    # A free path less the mean way of its errors at both ends is a bridge between the levels.
    first, last = free[:, :1] - levels[0], free[:, -1:] - levels[1]
    scale = math.sinh(steps * decay)
    free -= (first * np.sinh(left) + last * np.sinh(left[::-1])) / scale
    inner = free[:, 1:-1]
    exact = inner[((inner > levels[0]) & (inner < levels[1])).all(axis=1)]
    ours = np.array([bridge(random, decay, steps, levels, levels)[1:-1] for _ in range(wanted)])
    assert len(exact) > wanted
    deviation = exact.std(axis=0)
    error = math.sqrt(1 / wanted + 1 / len(exact))
    assert (abs(ours.mean(axis=0) - exact.mean(axis=0)) / deviation).max() < 0.1 + 4 * error
    assert (abs(ours.std(axis=0) / deviation - 1)).max() < 0.1 + 4 * error / math.sqrt(2)


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"peak_db": 0.0}, "peak_db"),
        ({"peak_db": math.nan}, "peak_db"),
        ({"duration_s": 1.0}, "duration_s"),
        ({"duration_s": 10.5}, "duration_s"),
        ({"duration_s": math.inf}, "duration_s"),
        ({"duration_s": 2e6}, "duration_s"),
        ({"step_s": 0.0}, "step_s"),
        ({"peak_at_s": 1200.0}, "peak_at_s"),
        ({"peak_at_s": 0.4}, "peak_at_s"),
    ],
)
def test_an_event_that_cannot_be_is_refused(arguments: dict[str, float], parameter: str) -> None:
    right = {"peak_db": 12.0, "duration_s": 1200.0}
    with pytest.raises(RainError) as caught:
        event(FITS["dirac"], **(right | arguments), seed=1)
    assert caught.value.parameter == parameter


def test_a_peak_that_hardly_differs_from_no_rain_is_refused() -> None:
    drenched = DiracLognormal(m=4.0, sigma=0.5, rain=0.05)
    with pytest.raises(RainError, match="peak_db"):
        event(drenched, 0.01, 1200.0, seed=1)


def test_a_series_that_would_not_fit_the_memory_is_refused() -> None:
    with pytest.raises(RainError, match="duration_s"):
        FITS["dirac"].series(3e9, 1e-9, seed=1)


def test_a_series_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: pl.DataFrame, file: IO[bytes]) -> None:
        file.write(b"time_s,")
        raise OSError(28, "No space left on device")

    target = tmp_path / "fade.csv"
    target.write_text("mine")
    monkeypatch.setattr(pl.DataFrame, "write_csv", fails)
    with pytest.raises(BentpipeError, match=r"fade\.csv: No space left"):
        FITS["dirac"].series(10.0, seed=1).save(target)
    assert [path.name for path in target.parent.iterdir()] == ["fade.csv"]
    assert target.read_text() == "mine"


def test_maps_that_are_not_installed_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "itur", None)
    with pytest.raises(BentpipeError, match=r"pip install 'bentpipe\[itur\]'"):
        Site.from_maps(45.4, 9.5, altitude_km=0.084, elevation_deg=31.0, frequency_ghz=19.77)


def test_a_site_takes_its_rain_from_the_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    # The package itself is too large for the tests; these stand for its two modules.
    def quantity(value: float) -> SimpleNamespace:
        return SimpleNamespace(value=np.array(value))

    def at(value: float, *where: float) -> SimpleNamespace:
        assert where[:2] == (45.4, 9.5)
        assert where[2:] in ((), (0.01,))
        return quantity(value)

    models = ModuleType("itur.models")
    models.itu837 = SimpleNamespace(  # type: ignore[attr-defined]
        rainfall_rate=lambda *where: at(34.231, *where),
        rainfall_probability=lambda *where: at(6.946, *where),
    )
    models.itu839 = SimpleNamespace(  # type: ignore[attr-defined]
        rain_height=lambda *where: at(3.34067, *where)
    )
    monkeypatch.setitem(sys.modules, "itur", ModuleType("itur"))
    monkeypatch.setitem(sys.modules, "itur.models", models)
    site = Site.from_maps(45.4, 9.5, altitude_km=0.084, elevation_deg=31.0, frequency_ghz=19.77)
    assert site == SPINO_DADDA


@pytest.mark.parametrize(
    ("latitude", "height"),
    [(0, 5.0), (23, 5.0), (43, 3.5), (45.4, 3.32), (-21, 5.0), (-41, 3.0), (-69, 0.2)],
)
def test_the_rain_height_from_the_latitude(latitude: float, height: float) -> None:
    # ITU-R P.839-2: level in the tropics, then 75 m lower per degree north and 100 m south.
    assert rain_height_km(latitude) == pytest.approx(height)


@pytest.mark.parametrize("latitude", [-71.0, 89.0, -91.0, math.nan])
def test_no_rain_height_near_the_poles(latitude: float) -> None:
    with pytest.raises(RainError):
        rain_height_km(latitude)
