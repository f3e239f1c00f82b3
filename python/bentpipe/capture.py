"""Reads the TCP connections of a capture of Bentpipe, for time-sequence graphs.

Captures are pcapng with raw IP packets, as `bentpipe run --pcap` writes them; others are rejected.
Sources: draft-ietf-opsawg-pcapng section 4; RFC 9293 section 3.1, RFC 2018 section 3 and RFC 7323
section 2.
"""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_PACKETS = 500_000
"""Later packets are not read."""

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
LINK_TYPE_RAW = 101
TCP = 6
SYN, ACK = 0x02, 0x10
NO_OPERATION, WINDOW_SCALE, SACK = 1, 3, 5

Ends = tuple[bytes, int, bytes, int]
"""Address and port of the sender, then of the receiver."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A TCP segment with the numbers of its header."""

    at_s: float
    flags: int
    sequence: int
    length: int
    acknowledged: int
    window: int
    sacks: tuple[tuple[int, int], ...]


@dataclass
class Direction:
    """The segments of one end of a connection. `shift` is that of its window (RFC 7323)."""

    shift: int = 0
    start: int | None = None
    """Number of its SYN."""
    data: int = 0
    """Bytes of data in all segments."""
    segments: list[Segment] = field(default_factory=list)


@dataclass(frozen=True)
class Connection:
    """A connection, seen from the end that sends more data. Bytes count from 0, times are in s."""

    name: str
    sent: list[tuple[float, int, int]]
    """Time, first byte and end of each segment with data."""
    acks: list[tuple[float, int, int]]
    """Time, acknowledged bytes and end of the advertised window."""
    sacks: list[tuple[float, int, int]]
    """Time, first byte and end of each SACK block."""

    def repeated(self) -> list[bool]:
        """For each of `sent`, true if its first byte was sent before."""
        highest, found = 0, []
        for _, first, end in self.sent:
            found.append(first < highest)
            highest = max(highest, end)
        return found


def connections(path: Path) -> tuple[list[Connection], bool]:
    """The connections of a capture in their order, and true if all packets were read.

    `BentpipeError` if the file cannot be read or is no capture of Bentpipe.
    """
    directions: dict[Ends, Direction] = {}
    complete = True
    try:
        content = path.read_bytes()
        for number, (at_s, packet) in enumerate(packets(content)):
            if number == MOST_PACKETS:
                complete = False
                break
            keep(directions, at_s, packet)
    except OSError as error:
        raise BentpipeError(f"cannot read {path}: {error.strerror}") from error
    except (struct.error, IndexError, ValueError) as error:
        expected = "expected a pcapng capture of `bentpipe run --pcap`"
        raise BentpipeError(f"{path}: {expected}, found {error}") from error
    found = []
    seen: set[Ends] = set()
    for ends, direction in directions.items():
        reverse = (*ends[2:], *ends[:2])
        if ends in seen or reverse not in directions:
            continue
        seen |= {ends, reverse}
        back = directions[reverse]
        if back.data > direction.data:
            ends, direction, back = reverse, back, direction
        if direction.data:
            found.append(connection(ends, direction, back))
    return found, complete


def connection(ends: Ends, data: Direction, back: Direction) -> Connection:
    """The data of one direction with the acknowledgments of the other."""
    start = data.segments[0].sequence if data.start is None else data.start + 1
    sent, acks, sacks = [], [], []
    highest = 0
    for one in data.segments:
        if one.length:
            first = nearest(one.sequence - start, highest)
            sent.append((one.at_s, first, first + one.length))
            highest = max(highest, first + one.length)
    acked = 0
    for one in back.segments:
        if one.flags & ACK:
            acked = max(acked, nearest(one.acknowledged - start, acked))
            acks.append((one.at_s, acked, acked + one.window))
            for block in one.sacks:
                first, end = (nearest(number - start, acked) for number in block)
                sacks.append((one.at_s, first, end))
    source, source_port, target, target_port = ends
    name = f"{address(source)} port {source_port} to {address(target)} port {target_port}"
    return Connection(name, sent, acks, sacks)


def nearest(number: int, to: int) -> int:
    """The number nearest to `to` that is equal to `number` in 32 bits."""
    return to + (number - to + 2**31) % 2**32 - 2**31


def address(packed: bytes) -> str:
    """An address in words."""
    return str(ipaddress.ip_address(packed))


def packets(content: bytes) -> Iterator[tuple[float, bytes]]:
    """Time in s and bytes of each packet."""
    at = 0
    if not content:
        raise ValueError("an empty file")
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if at == 0 and kind != SECTION:
            raise ValueError("another format")
        if length < 12:
            raise ValueError(f"a block of {length} bytes at {at}")
        if kind == INTERFACE and struct.unpack_from("<H", content, at + 8)[0] != LINK_TYPE_RAW:
            raise ValueError("packets of another link type")
        if kind == PACKET:
            _, high, low, captured = struct.unpack_from("<IIII", content, at + 8)
            yield ((high << 32) + low) * 1e-9, content[at + 28 : at + 28 + captured]
        at += length


def keep(directions: dict[Ends, Direction], at_s: float, packet: bytes) -> None:
    """Add a packet to its direction; packets that are not TCP are left out."""
    if packet[0] >> 4 == 4:
        header, protocol = (packet[0] & 15) * 4, packet[9]
        size = struct.unpack_from(">H", packet, 2)[0] - header
        source, target = packet[12:16], packet[16:20]
    else:
        header, protocol = 40, packet[6]
        size = struct.unpack_from(">H", packet, 4)[0]
        source, target = packet[8:24], packet[24:40]
    if protocol != TCP:
        return
    fields = struct.unpack_from(">HHIIBBH", packet, header)
    source_port, target_port, sequence, acknowledged, offset, flags, window = fields
    length = size - (offset >> 4) * 4
    shift, sacks = options(packet[header + 20 : header + (offset >> 4) * 4])
    ends = (source, source_port, target, target_port)
    direction = directions.setdefault(ends, Direction())
    if flags & SYN:
        direction.start, direction.shift = sequence, shift
    else:
        window <<= direction.shift
    direction.data += length
    direction.segments.append(Segment(at_s, flags, sequence, length, acknowledged, window, sacks))


def options(text: bytes) -> tuple[int, tuple[tuple[int, int], ...]]:
    """The shift of the window and the SACK blocks among the options of a header."""
    shift = 0
    blocks: tuple[tuple[int, int], ...] = ()
    at = 0
    while at < len(text) and text[at]:
        if text[at] == NO_OPERATION:
            at += 1
            continue
        kind, length = text[at], max(text[at + 1], 2)
        if kind == WINDOW_SCALE:
            shift = text[at + 2]
        elif kind == SACK:
            numbers = struct.unpack_from(f">{(length - 2) // 4}I", text, at + 2)
            blocks = tuple(zip(numbers[::2], numbers[1::2], strict=True))
        at += length
    return shift, blocks
