"""Suites of `make fidelity`, by name, and groups of them."""

from __future__ import annotations

from typing import Any, Protocol

from suites import applications, beams, geo, hosts, iperf


class OwnRuns(Protocol):
    """A suite with its own runs and table."""

    def real_time_s(self) -> float:
        """Real time of all runs in seconds."""

    def run(self) -> dict[str, Any]:
        """Run all; the object in the results."""

    def table(self, found: dict[str, Any]) -> str:
        """The results as Markdown."""


SUITES = geo.SUITES | hosts.SUITES

OF_PROGRAMS: dict[str, OwnRuns] = {
    "hosts-iperf3": iperf,
    "applications": applications.COMPARISON,
    "beams": beams.COMPARISON,
}

GROUPS = {"hosts": (*hosts.SUITES, "hosts-iperf3")}
"""Names that stand for several suites."""
