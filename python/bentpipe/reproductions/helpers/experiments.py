"""The survey of helpers on the way: its runs, the runs of single claims, rankings and figures."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bentpipe.reproductions.helpers import claims, survey
from bentpipe.reproductions.helpers.survey import (
    CONDITIONS,
    HELPERS,
    NONE,
    QUANTITIES,
    THIN,
    Candidate,
    name_of,
)
from bentpipe.reproductions.plots import Bars, Grid
from bentpipe.study.significance import decided, finding_of, is_deterministic, paired_test
from bentpipe.study.statistics import Mean, mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import bentpipe
    from bentpipe.reproductions.rankings import Quantity
    from bentpipe.reproductions.reproduction import Plan, Results
    from bentpipe.study.significance import PairedTest

measure = claims.measure
rankings = survey.rankings


def plan(full: bool = False) -> Plan:
    """All runs; with `full` every fit controller with every helper."""
    return {**survey.plan(full), **claims.plan()}


# -------------------------------------------------------------------------------------- trials


def trials() -> Mapping[str, Plan]:
    """Other readings, with the jobs that they change."""
    lan = "link.2.forward.queue={ packets = 100 }"
    sack = tuple(f"flow.{flow}.transport.recovery=sack" for flow in range(survey.FLOWS))
    helpers = {NONE, *claims.GAINS.values()}
    hosts = {
        name: job
        for name, job in plan().items()
        if (parts := name.split("/"))[0] == "geo"
        and (parts[2], parts[3]) in {("newreno", helper) for helper in helpers}
    }
    own = {
        name: job
        for name, job in claims.plan().items()
        if name.startswith(("claim/hide/", "claim/last-hop/", "claim/acks/", "claim/spikes/"))
    }
    links = {name: job for name, job in own.items() if name.startswith("claim/hide/")}
    return {
        "100 packets behind the terminal": {
            name: job.with_sets(lan) for name, job in links.items()
        },
        "recovery by RFC 6675": {name: job.with_sets(*sack) for name, job in (hosts | own).items()},
    }


# ---------------------------------------------------------------------------------------- plots

TITLES = {"goodput": "Goodput", "short": "Time of short flows", "latency": "Latency under load"}
FOUR_TIMES = math.log(4)
"""The logarithm of a quotient whose colour is full."""
FULL_JAIN = 0.2
"""The difference of Jain indices whose colour is full."""
CHOICE = (
    ("cubic", NONE),
    ("bbr", NONE),
    ("hybla", NONE),
    ("cubic", "reed-solomon"),
    ("cubic", "selective-repeat"),
    ("cubic", "spoofing-proxy"),
    ("cubic", "split, hybla"),
    ("p-xcp", "p-xcp routers"),
)
"""Controllers, and helpers for CUBIC, of the figure that compares both."""


def plots(results: Results) -> Mapping[str, Bars | Grid]:
    """What each helper changes in every condition, and controllers compared with helpers."""
    drawn: dict[str, Bars | Grid] = {}
    for host in survey.HOSTS:
        for quantity, measured in QUANTITIES.items():
            grid = _grid(results, host, quantity, measured)
            drawn[f"{quantity.name}-{host}"] = grid
    drawn["controllers-and-helpers"] = _choice(results)
    return drawn


def _values(runs: Sequence[bentpipe.Recording], measured: survey.Measure) -> list[float] | None:
    """The quantity in every run; None if it is undefined in one."""
    values = [measured(run) for run in runs]
    return None if None in values else [value for value in values if value is not None]


def _grid(results: Results, host: str, quantity: Quantity, measured: survey.Measure) -> Grid:
    """A row for each helper: the quantity to that without a helper, by condition."""
    pairs: dict[tuple[str, str], tuple[list[float] | None, list[float] | None]] = {}
    for helper in HELPERS.values():
        if helper.hosts or helper.name == NONE:
            continue
        for condition in CONDITIONS.values():
            if helper.fits(condition):
                plain, helped = (
                    _values(results[name_of(condition, Candidate(host, one))], measured)
                    for one in (HELPERS[NONE], helper)
                )
                pairs[helper.name, condition.title] = plain, helped
    # The differences of a figure are one family.
    known = {key: (a, b) for key, (a, b) in pairs.items() if a is not None and b is not None}
    tests = dict(zip(known, decided(_test(*pair) for pair in known.values()), strict=True))
    cells: dict[str, dict[str, tuple[float, str]]] = {}
    for (helper_name, title), (plain, helped) in pairs.items():
        cell = _cell(plain, helped, quantity, tests.get((helper_name, title)))
        cells.setdefault(helper_name, {})[title] = cell
    hosts = {"newreno": "New Reno", "cubic": "CUBIC"}[host]
    notes = [
        "Colours are blue where the helper is significantly better (5 %, paired by seed, all"
        " differences of the figure corrected together by Holm's method), and orange where it is"
        " significantly worse. They are full at a factor of four, and at a"
        f" difference of {FULL_JAIN:g} for the Jain index. - is where a run has no value."
    ]
    if quantity.name == "jain":
        title = f"Fairness: Jain index with a helper, less that without, {hosts}"
    else:
        title = f"{TITLES[quantity.name]} with a helper, to that without, {hosts}"
    return Grid(title, "", "", cells, notes)


def _test(plain: list[float], helped: list[float]) -> PairedTest:
    """The paired test of runs with a helper and without it."""
    fixed = all(is_deterministic([dict(enumerate(runs))]) for runs in (plain, helped))
    return paired_test(list(zip(helped, plain, strict=True)), deterministic=fixed)


def _cell(
    plain: list[float] | None,
    helped: list[float] | None,
    quantity: Quantity,
    row: Mapping[str, Any] | None,
) -> tuple[float, str]:
    """Score and text of a cell. `row` is the decided test."""
    if plain is None or helped is None or row is None:
        return 0.0, "-"
    if quantity.name == "jain":
        change = fmean(helped) - fmean(plain)
        score, text = change / FULL_JAIN, f"{change:+.2f}"
    else:
        ratio = fmean(helped) / fmean(plain)
        score, text = math.log(ratio) / FOUR_TIMES, f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
    if finding_of(row) not in ("significant", "deterministic"):
        return 0.0, text
    return (score if quantity.higher_is_better else -score), text


def _choice(results: Results) -> Bars:
    """Goodput of some controllers, and of CUBIC with some helpers."""
    bars: dict[str, dict[str, Mean]] = {}
    for controller, helper in CHOICE:
        candidate = Candidate(controller, HELPERS[helper])
        for condition in CONDITIONS.values():
            if condition.scenario != "leo.toml" and condition.name != THIN:
                runs = results[name_of(condition, candidate)]
                found = mean([survey.goodput(run) for run in runs])
                bars.setdefault(candidate.name, {})[condition.title] = found
    return Bars("Controller, or something on the way? Two bulk flows", "", "goodput (Mbit/s)", bars)
