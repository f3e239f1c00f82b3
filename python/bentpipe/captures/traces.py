"""Captures with their connections, and the points of their figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe import _native
from bentpipe.console import late_progress
from bentpipe.plots.sequence import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bentpipe._native import Capture, CapturedConnection, CapturedData, CaptureGraph

AROUND = 0.3
"""Time before the first loss and after its repair, as a share of the time between them."""

Request = tuple[int, bool, float, float]
"""Connection, direction (True to the server), and the times of the points in s."""


@dataclass(frozen=True)
class Taken:
    """A capture that was read, with the word for it in tables and figures."""

    path: Path
    capture: Capture
    label: str

    def graphs(self, requests: Sequence[Request]) -> list[CaptureGraph]:
        """The points of figures, from a second reading."""
        with late_progress(f"figures of {self.label}", 1.0) as progress:
            return _native.capture_graphs(self.path, list(requests), progress=progress)


@dataclass(frozen=True)
class Shown:
    """The main direction of a connection, with its points and those around its first loss."""

    taken: Taken
    connection: CapturedConnection
    whole: CaptureGraph
    around: CaptureGraph | None

    def trace(self, *, labelled: bool) -> Trace:
        """The points of the whole connection, in times since its first packet."""
        return Trace(self.whole, self.connection.start_s, self.taken.label if labelled else "")


def read(path: Path, label: str) -> Taken:
    """Read a capture, with progress on stderr. `CaptureError` if there is nothing to read."""
    with late_progress(f"reading {path.name}", 1.0) as progress:
        return Taken(path, _native.read_capture(path, progress=progress), label)


def main_direction(connection: CapturedConnection) -> CapturedData:
    """The direction with more data."""
    to_server, to_client = connection.to_server, connection.to_client
    return to_client if to_client.bytes > to_server.bytes else to_server


def is_to_server(connection: CapturedConnection) -> bool:
    """True if the client sends more data."""
    return main_direction(connection) == connection.to_server


def largest(connections: Sequence[CapturedConnection], most: int) -> list[CapturedConnection]:
    """The connections with most data, in the order of the capture."""

    def data(connection: CapturedConnection) -> tuple[int, int]:
        return -(connection.to_server.bytes + connection.to_client.bytes), connection.number

    return sorted(sorted(connections, key=data)[:most], key=lambda one: one.number)


def with_points(taken: Taken, connections: Sequence[CapturedConnection]) -> list[Shown]:
    """The connections with the points of their figures."""
    requests: list[Request] = []
    for one in connections:
        to_server = is_to_server(one)
        end_s = one.start_s + one.duration_s
        requests.append((one.number, to_server, one.start_s, end_s))
        requests += [(one.number, to_server, *around) for around in first_loss(one)]
    graphs = iter(taken.graphs(requests) if requests else [])
    return [
        Shown(taken, one, next(graphs), next(graphs) if first_loss(one) else None)
        for one in connections
    ]


def first_loss(connection: CapturedConnection) -> list[tuple[float, float]]:
    """The time around the first retransmission and its ACK, in s; empty without one."""
    data = main_direction(connection)
    sent, again, acked = (
        data.first_loss_sent_s,
        data.first_loss_repeated_s,
        data.first_loss_acked_s,
    )
    if sent is None or again is None:
        return []
    repaired = max(again, acked or again)
    margin = AROUND * (repaired - sent)
    return [(max(sent - margin, 0.0), repaired + margin)]
