"""The runs of the TCP-ADaLR pack and how its published quantities come out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bentpipe.papers.pack import Measured, Plan, Results
    from bentpipe.papers.plots import Plot


def plan() -> Plan:
    """All runs."""
    return {}


def measure(results: Results) -> Iterator[Measured]:
    """A measured value for each published one whose runs are in `results`."""
    del results
    yield from ()


def plots(results: Results) -> Mapping[str, Plot]:
    """Goodput, utilisation and cwnd against time, as in the slides."""
    del results
    return {}
