"""Token buckets in lines of `tc`: `tbf`, and filters with `police`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.tc_words import RATES, SIZES, TIMES, WHOLE, UntranslatableError, bits, quantity

if TYPE_CHECKING:
    from bentpipe.netem import Direction
    from bentpipe.tc_words import Words


@dataclass(frozen=True)
class Bucket:
    """A token bucket: bits per second and bytes."""

    rate: float
    burst: float
    peak: Bucket | None = None

    def toml(self) -> str:
        """The value of its key."""
        peak = "" if self.peak is None else f", peak = {self.peak.toml()}"
        return f'{{ rate = "{bits(self.rate)}", burst = "{max(round(self.burst), 1)}B"{peak} }}'


ATM = (48, 5)
"""Payload and header of cells with `linklayer atm`."""


@dataclass
class Tokens:
    """What the options of a token bucket have said so far."""

    rate: float = 0.0
    peak: float = 0.0
    burst: float = 0.0
    mtu: float = 0.0

    def reads(self, option: str, words: Words) -> bool:
        """Return true if an option is one of a bucket, whose value is taken then."""
        if option in ("rate", "peakrate"):
            setattr(self, option.removesuffix("rate") or "rate", quantity(words.next(), RATES))
        elif option in SIZE_OPTIONS:
            size = quantity(words.next().partition("/")[0], SIZES)
            setattr(self, SIZE_OPTIONS[option], size)
        else:
            return False
        return True

    def bucket(self) -> Bucket:
        """The token bucket, with that of its peak rate if there is one."""
        for value, name in ((self.rate, "rate"), (self.burst, "burst")):
            if value <= 0:
                raise UntranslatableError(f"a {name} of zero, or none")
        if self.peak and not self.mtu:
            raise UntranslatableError("peakrate without mtu")
        peak = Bucket(self.peak, self.mtu) if self.peak else None
        return Bucket(self.rate, self.burst, peak)

    def queue(self, latency: float) -> float:
        """Bytes that wait for at most `latency` (tc-tbf(8)): the smaller one with a peak rate."""
        held = latency * self.rate / 8 + self.burst
        return min(held, latency * self.peak / 8 + self.mtu) if self.peak else held


def tbf(words: Words, to: Direction) -> None:
    """The options of tbf. Its queue is LATENCY times the rate, and the bucket (tc-tbf(8))."""
    tokens, limit, latency, overhead, cells = Tokens(), None, None, 0, None
    while words.left:
        option = words.next()
        if tokens.reads(option, words):
            continue
        if option == "latency":
            latency = quantity(words.next(), TIMES)
        elif option == "limit":
            limit = quantity(words.next(), SIZES)
        elif option == "overhead":
            overhead = integer(words.next())
        elif option == "mpu":
            to.min_packet = round(quantity(words.next(), SIZES))
        elif option == "linklayer":
            cells = linklayer(words.next(), to)
        else:
            to.remark(f"{option} {words.next()}", "no key")
    to.shaper = tokens.bucket()
    to.frame(overhead, cells)
    limit = limit if latency is None else tokens.queue(latency)
    if limit is not None:
        to.queue = f'{{ bytes = "{max(round(limit), 1)}B" }}'


SIZE_OPTIONS = {"burst": "burst", "buffer": "burst", "maxburst": "burst"}
SIZE_OPTIONS |= {"mtu": "mtu", "minburst": "mtu"}


def integer(text: str) -> int:
    """A number of bytes that may be negative."""
    if WHOLE.fullmatch(text) is None:
        raise UntranslatableError(text)
    return int(text)


def linklayer(kind: str, to: Direction) -> tuple[int, int] | None:
    """Cells of `linklayer`."""
    if kind in ("atm", "adsl"):
        return ATM
    if kind != "ethernet":
        to.remark(f"linklayer {kind}", "unknown; tc has ethernet, atm, adsl")
    return None


POLICE_NUMBERS = ("index", "prio", "flowid", "classid", "avrate")
"""Words of a line with `police` that have a value, and change nothing here."""
ACTIONS = ("drop", "shot", "ok", "pass", "pipe", "continue", "reclassify")


def police(words: Words, to: Direction) -> None:
    """The options of the action `police`. Packets that exceed pass by default (reclassify)."""
    tokens, action = Tokens(), "reclassify"
    while words.left:
        option = words.next()
        if tokens.reads(option, words):
            continue
        if option in ("conform-exceed", "action"):
            action = words.next().partition("/")[0]
        elif option in ACTIONS:
            action = option
        elif option in POLICE_NUMBERS:
            words.next()
        else:
            to.remark(f"police {option}", "no key")
    if action not in ("drop", "shot"):
        to.remark(f"police with the action {action}", "only `drop` has a key; nothing is policed")
        return
    to.policer = tokens.bucket()


def is_police(words: list[str]) -> bool:
    """Return true if a line has a filter or an action that polices."""
    return "police" in words and bool({"filter", "action", "actions"} & set(words))


def is_holder(words: list[str]) -> bool:
    """Return true if a line makes the place for filters of packets that come in."""
    return "qdisc" in words and bool({"ingress", "clsact"} & set(words))


def is_inward(words: list[str]) -> bool:
    """Return true if a filter is for packets that come in: at `ingress`, or `ffff:`."""
    return bool({"ingress", "ffff:", "ffff:fff2"} & set(words))


ALL = ({"match", "u32", "0"}, {"match", "ip", "0.0.0.0/0"}, {"match", "ip6", "::/0"})
"""Words of filters that match all packets."""


def filtered(words: list[str]) -> str:
    """The words of a filter by which only some packets are policed; empty if it matches all."""
    if "match" not in words:
        return ""
    condition = words[words.index("match") :]
    condition = [word for word in condition if word not in ("action", "flowid", ":1", "at")]
    plain = set(condition) - {"src", "dst"}
    return "" if any(plain <= all_packets for all_packets in ALL) else " ".join(condition)


def both_ways(
    directions: dict[str, Direction], inward: dict[str, Direction]
) -> dict[str, Direction]:
    """The directions with those that lead into a device: of two, the other one."""
    for device, into in inward.items():
        others = [other for other in directions if other != device]
        if device in directions and others:
            directions[others[0]].policer = into.policer
        else:
            directions[f"into {device}"] = into
            into.device = f"into {device}"
    return directions
