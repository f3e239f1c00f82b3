"""The page of a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bentpipe
from bentpipe.captures.figures import ends, figures
from bentpipe.captures.tables import GROUPS, captured_at, end, ms, notes, row_of, rows, whole
from bentpipe.captures.traces import is_to_server, main_direction
from bentpipe.numbers import amount, count, significant
from bentpipe.report.page import Cell, Column, Page, Section, Table, Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe._native import CapturedConnection, CapturedData
    from bentpipe.captures.tables import Row
    from bentpipe.captures.traces import Shown, Taken

RULE = (
    "Retransmissions, order, duplicate ACKs and windows are judged by the conditions of Wireshark "
    "4.0. An RTT is the time from a segment that was sent once to the ACK of its last byte, "
    "between the capture and the receiver. A stall is a time without packets, with data in flight "
    "or no room in the window, longer than min(2 SRTT, RTO) and 10 ms."
)


def capture_page(
    taken: Taken,
    connections: Sequence[CapturedConnection],
    drawn: Sequence[Sequence[Shown]],
    other: Taken | None,
) -> Page:
    """The page of chosen connections. `drawn` has those of each group of figures."""
    named = {str(one.number): one for one in connections}
    listed = rows(connections)
    if other:
        compared = drawn[0][1].connection
        named[other.label] = compared
        listed.append(row_of(compared, other.label))
    blocks: list[Text | Table] = [Text([RULE]), connections_table(named)]
    said = [f"{name}: {note}" for name, one in named.items() for note in notes(one)]
    sections = [
        Section("connections", "Connections", [*blocks, *([Text(said)] if said else [])]),
        Section("data", "Data", page_tables(listed)),
    ]
    for group in drawn:
        one = group[0].connection
        title = ends(one, to_server=is_to_server(one))
        name = f"connection-{one.number}"
        sections.append(Section(name, f"Connection {one.number}", figures(name, title, group)))
    return Page(
        title=taken.path.name,
        subtitle="A capture" + (f" and a {other.label}" if other else ""),
        version=bentpipe.__version__,
        summary=[summary(taken), *(sentence(group[0].connection) for group in drawn)],
        sections=sections,
        warnings=taken.capture.warnings,
    )


def summary(taken: Taken) -> str:
    """A sentence on the capture."""
    capture = taken.capture
    return (
        f"{count(capture.packets)} packets in {significant(capture.duration_s)} s, "
        f"{count(capture.tcp_packets)} of them of {count(len(capture.connections))} "
        "TCP connections."
    )


def sentence(connection: CapturedConnection) -> str:
    """A sentence on the main direction of a connection."""
    data = main_direction(connection)
    rtt = (
        f", with a median RTT of {significant(data.median_rtt_ms)} ms"
        if data.median_rtt_ms is not None
        else ""
    )
    return (
        f"Connection {connection.number} sent {amount(data.bytes, 'B', 4)} at "
        f"{amount(data.goodput_bps, 'bit/s')}{rtt}. {count(data.retransmissions)} of "
        f"{count(data.data_segments)} segments were retransmissions, and "
        f"{count(data.stalls)} stalls took {significant(data.stalled_s)} s."
    )


def page_tables(found: Sequence[Row]) -> list[Table]:
    """The tables of directions for a page."""
    made = []
    for number, (caption, measures) in enumerate(GROUPS):
        columns = [Column("connection", numeric=False)]
        columns += [Column(one.heading, one.unit) for one in measures]
        cells = [
            [Cell(row.name), *(Cell(measure.text(row.data)) for measure in measures)]
            for row in found
        ]
        made.append(Table(f"data-{number}", caption, columns, cells))
    return made


def connections_table(named: Mapping[str, CapturedConnection]) -> Table:
    """Ends, times, options and end of connections, for a page."""
    columns = [
        Column("connection", numeric=False), Column("client", numeric=False),
        Column("server", numeric=False), Column("start", "s"), Column("duration", "s"),
        Column("packets"), Column("handshake", "ms"), Column("to client", "ms"),
        Column("to server", "ms"), Column("captured at", numeric=False),
        Column("options of SYN and SYN/ACK", numeric=False), Column("end", numeric=False),
    ]  # fmt: skip
    cells = []
    for name, one in named.items():
        texts = [
            name, one.client, one.server, significant(one.start_s),
            significant(one.duration_s), whole(one.packets), ms(one.handshake_rtt_ms),
            ms(one.client_rtt_ms), ms(one.server_rtt_ms), captured_at(one),
            f"{options(one.to_server)}; {options(one.to_client)}", end(one),
        ]  # fmt: skip
        cells.append([Cell(text) for text in texts])
    return Table("connections", "Connections", columns, cells)


def options(data: CapturedData) -> str:
    """The options of a SYN in words."""
    if data.sack_permitted is None:
        return "not captured"
    parts = [
        f"MSS {data.mss}" if data.mss is not None else "",
        f"scale {data.window_scale}" if data.window_scale is not None else "",
        "SACK" if data.sack_permitted else "",
        "timestamps" if data.timestamps else "",
    ]
    return ", ".join(filter(None, parts)) or "none"
