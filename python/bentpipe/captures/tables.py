"""Tables of captured connections for the terminal, and the columns that pages have too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.captures.figures import ends
from bentpipe.captures.traces import main_direction
from bentpipe.console import show, table
from bentpipe.numbers import NONE, decimals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe._native import CapturedConnection, CapturedData


@dataclass(frozen=True)
class Row:
    """A direction with data, or the main direction of a connection without data."""

    name: str
    data: CapturedData


@dataclass(frozen=True)
class Measure:
    """A column of numbers: heading, unit, and the text of a direction."""

    heading: str
    unit: str
    text: Callable[[CapturedData], str]


def whole(value: float | None) -> str:
    """A count, or a dash."""
    return decimals(value, 0)


def ms(value: float | None) -> str:
    """A time in ms."""
    return decimals(value, 2)


def kilo(value: float | None) -> str:
    """Bytes in kB."""
    return NONE if value is None else decimals(value / 1e3, 1)


def mega(value: float | None, places: int = 3) -> str:
    """Bytes in MB, or bit/s in Mbit/s."""
    return NONE if value is None else decimals(value / 1e6, places)


DATA = (
    Measure("data", "MB", lambda one: mega(one.bytes)),
    Measure("goodput", "Mbit/s", lambda one: mega(one.goodput_bps, 4)),
    Measure("segments", "", lambda one: whole(one.data_segments)),
    Measure("retransmitted", "", lambda one: whole(one.retransmissions)),
    Measure("fast", "", lambda one: whole(one.fast_retransmissions)),
    Measure("spurious", "", lambda one: whole(one.spurious_retransmissions)),
)
RTT = (
    Measure("RTT samples", "", lambda one: whole(one.rtt_samples)),
    Measure("min", "ms", lambda one: ms(one.min_rtt_ms)),
    Measure("median", "ms", lambda one: ms(one.median_rtt_ms)),
    Measure("p95", "ms", lambda one: ms(one.p95_rtt_ms)),
    Measure("max", "ms", lambda one: ms(one.max_rtt_ms)),
    Measure("missed part", "ms", lambda one: ms(one.missed_rtt_ms)),
)
ORDER = (
    Measure("sent twice", "", lambda one: whole(one.repeated_segments)),
    Measure("out of order", "", lambda one: whole(one.out_of_order)),
    Measure("duplicate ACKs", "", lambda one: whole(one.duplicate_acks)),
    Measure("stalls", "", lambda one: whole(one.stalls)),
    Measure("stalled", "s", lambda one: decimals(one.stalled_s, 3)),
    Measure("longest", "s", lambda one: decimals(one.longest_stall_s, 3)),
)
WINDOW = (
    Measure("max flight", "kB", lambda one: kilo(one.max_flight_bytes)),
    Measure("max window", "kB", lambda one: kilo(one.max_window_bytes)),
    Measure("window limited", "s", lambda one: decimals(one.window_limited_s, 3)),
    Measure("window full", "", lambda one: whole(one.window_full)),
    Measure("zero windows", "", lambda one: whole(one.zero_windows)),
    Measure("zero window", "s", lambda one: decimals(one.zero_window_s, 3)),
)
GROUPS = (
    ("Data and retransmissions", DATA),
    ("RTT from data to its ACK", RTT),
    ("Order and stalls", ORDER),
    ("Flight and window", WINDOW),
)
"""Tables of directions; each fits in 80 columns."""


def captured_at(connection: CapturedConnection) -> str:
    """Place of the capture, or a dash if it is unknown or the ends are."""
    place = connection.captured_at if connection.client_known else None
    return place or NONE


def end(connection: CapturedConnection) -> str:
    """End of a connection. Client and server are the first and the second end if unknown."""
    if connection.client_known:
        return connection.end
    return connection.end.replace("client", "the first end").replace("server", "the second end")


def notes(connection: CapturedConnection) -> list[str]:
    """Sentences on what limits the results."""
    if connection.client_known:
        return connection.notes
    unknown = (
        "Without a SYN, client and server are unknown. The first end is "
        f"{connection.client}, which sent the first captured packet."
    )
    return [*connection.notes, unknown]


def rows(connections: Sequence[CapturedConnection]) -> list[Row]:
    """The directions with data."""
    found = []
    for one in connections:
        client, server = ("client", "server") if one.client_known else ("first", "second")
        both = [(f"to {server}", one.to_server), (f"to {client}", one.to_client)]
        with_data = [pair for pair in both if pair[1].data_segments]
        for words, data in with_data or both[:1]:
            found.append(Row(f"{one.number} {words}", data))
    return found


def row_of(connection: CapturedConnection, label: str) -> Row:
    """The main direction of a connection of another source, under the label of that."""
    return Row(label, main_direction(connection))


def print_connections(named: Mapping[str, CapturedConnection]) -> None:
    """Print the ends and times of connections by their names."""
    known = all(one.client_known for one in named.values())
    both = "<client and server" if known else "<ends"
    listed = table("connection", both, "duration s", "handshake ms", "<captured at", "<end")
    for name, one in named.items():
        listed.add_row(
            name,
            ends(one, to_server=True),
            decimals(one.duration_s, 2),
            ms(one.handshake_rtt_ms),
            captured_at(one),
            end(one),
        )
    show(listed)


def print_measures(found: Sequence[Row]) -> None:
    """Print the tables of directions."""
    for _, measures in GROUPS:
        headings = [f"{one.heading} {one.unit}".strip() for one in measures]
        listed = table("connection", *headings)
        for row in found:
            listed.add_row(row.name, *(measure.text(row.data) for measure in measures))
        show(listed)


def print_notes(named: Mapping[str, CapturedConnection]) -> None:
    """Print the sentences on what limits results, equal ones once."""
    said: dict[str, list[str]] = {}
    for name, one in named.items():
        for note in notes(one):
            said.setdefault(note, []).append(name)
    for note, names in said.items():
        show(f"{', '.join(names)}: {note}")
