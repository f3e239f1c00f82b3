"""Applications on both backends: a case of the table in docs/fidelity.md."""

from __future__ import annotations

import pytest

from bentpipe import _native
from suites import applications

TRIES = 5
"""A kernel run is invalid if the machine was busy at the wrong moment."""


@pytest.mark.usefixtures("for_kernel")
@pytest.mark.parametrize(
    ("name", "path", "changed", "bound"),
    [
        ("page", "GEO, PER 0", (), 0.05),
        # A process that wakes up late takes a part of 50 ms.
        ("messages", "50 ms, PER 0", ("flow.0.traffic.messages.count=40",), 0.08),
    ],
)
def test_figures_of_an_application_are_those_of_the_kernel(
    name: str, path: str, changed: tuple[str, ...], bound: float
) -> None:
    application = applications.APPLICATIONS[name]
    scenario = application.scenario((*applications.PATHS[path], *changed))
    (simulated,) = _native.run_many([(scenario, 1)])
    for _ in range(TRIES):
        measured = _native.run_on_kernel(scenario, seed=1)
        if measured.kernel is not None and measured.kernel.valid:
            break
    else:
        pytest.skip(f"no valid run of {TRIES}: the machine is busy")
    for metric in application.metrics:
        expected = metric.of(measured)
        assert expected is not None
        assert metric.of(simulated) == pytest.approx(expected, rel=bound), metric.name
