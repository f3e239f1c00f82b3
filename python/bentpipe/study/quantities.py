"""Quantities: the results of a run that a study keeps, by readable names.

flow.goodput_bps                 mean over all flows
flow.download.completion_s       of the flow `download`, and its copies if it has a `count`
p95(page.response_s)             95th percentile over all completed pages
link.gateway-client.forward.utilisation
jain(flow.web-*.goodput_bps)     `*` stands for anything
jain_index                       of all flows
sum(arq.repeated_frames)         a counter of a mechanism on the path, over all directions of links
middlebox.terminal.filtered      of the middlebox at the node `terminal`
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

from bentpipe import _native
from bentpipe.limits import LIMITS
from bentpipe.problems import UnfitError, listed, quoted, suggested
from bentpipe.study.domains import SUCCESSES, Domain, domain

if TYPE_CHECKING:
    from collections.abc import Iterable

TABLES = {"flow": "flows", "link": "links", "page": "pages", "object": "objects"}
"""Names of the tables of every recording. Those of mechanisms are called as in a recording."""
RUN = "run"
DIRECTIONS = ("forward", "backward", "forwarding")
AGGREGATES = ("mean", "sum", "min", "max", "median", "jain", "p5", "p95")
CALL = re.compile(r"\s*(\w[\w.]*)\s*\((.*)\)\s*")
PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")

UNITS = {
    "s": "s",
    "ms": "ms",
    "bps": "bit/s",
    "bytes": "B",
    "packets": "packets",
    "frames": "frames",
    "slots": "slots",
}
COUNT = "count"
"""The unit of what is counted, if the name of the column has none."""
WHOLE_NAMES = {
    "bytes": "B",
    "segments_sent": "segments",
    "segments_retransmitted": "segments",
    "probes_sent": "probes",
    "timeouts": "timeouts",
    "fast_recoveries": "recoveries",
    "acks_sent": "frames",
    "ack_frequency_sent": "frames",
    "immediate_acks_sent": "frames",
    "mtu_probes_sent": "probes",
    "mtu_probes_lost": "probes",
    "sent_messages": "messages",
    "arrived_messages": "messages",
    "requests": "requests",
    "answers": "answers",
    "stalls": "stalls",
    "responsiveness_rpm": "1/min",
}
COUNTED = frozenset({*UNITS.values(), *WHOLE_NAMES.values()}) - {"s", "ms", "bit/s", "B", "1/min"}
"""Units that are the names of things or events."""

SHOWN = {
    "utilisation": (100.0, "%"),
    "bytes": (1e-6, "MB"),
    **dict.fromkeys(LIMITS, (100.0, "%")),
}
"""For columns, factor and unit of all tables in the terminal."""
SHOWN_SUFFIX = {"_bytes": (1e-3, "kB"), "_bps": (1e-6, "Mbit/s")}

SUMS = frozenset({"mean", "sum", "min", "max", "median"})
"""Aggregates of counts that are counts, or means of them."""

Better = Literal["higher", "lower"]
HIGHER = frozenset({
    "goodput_bps", "throughput_bps", "utilisation", "jain_index", "completed", "mos", "rating",
    "mos_without_echo", "rating_without_echo", "mean_bitrate_bps", "download_bps", "upload_bps",
    "responsiveness_rpm", "reward",
})  # fmt: skip
"""Columns of which more is better for the users of a link."""
LOWER = (
    "completion_s", "response_s", "rtt_ms", "queueing_delay_ms", "queue_bytes", "dropped_packets",
    "corrupted_packets", "retransmitted", "timeouts", "aborted", "delay_ms", "latency_ms",
    "response_ms", "mouth_to_ear_ms", "jitter_ms", "loss", "stalls", "stalled_s", "stall_ratio",
    "start_up_s", "byte_index_s", "object_index_s", "load_s", "above_100ms", "above_150ms",
    "above_300ms", "above_deadline",
)  # fmt: skip
"""Ends of columns of which less is better."""
Interval = Literal["student", "bootstrap"]


@dataclass(frozen=True)
class Taken:
    """The parts of a quantity's name: where to find its value."""

    table: str
    column: str
    name: str | None = None
    direction: str | None = None
    aggregate: str = "mean"

    @property
    def of_mechanism(self) -> bool:
        """True if the table is that of a mechanism on the path."""
        return self.table not in (RUN, *TABLES.values())

    @property
    def is_counted(self) -> bool:
        """True if the column counts things or events, so that a sum of it is a total."""
        return self.native().is_counted()

    def names_in(self, scenario: _native.Scenario) -> list[str]:
        """Names of the flows, links or nodes of a scenario that it is taken from."""
        names = self.native().names_in(scenario)
        if self.name is None:
            return names
        # A flow with a `count` has copies, such as `web.0`.
        form = re.compile(re.escape(self.name).replace(r"\*", ".*") + r"(\.\d+)?")
        return [name for name in names if form.fullmatch(name)]

    def native(self) -> _native.Quantity:
        """The same for the engine."""
        return _native.Quantity(
            self.table,
            self.column,
            name=self.name,
            direction=self.direction,
            aggregate=self.aggregate,
        )


WORDS = {
    "bytes": "delivered data",
    "burst_completion_s": "burst completion time",
    "completion_s": "flow completion time",
    "cwnd_bytes": "congestion window",
    "delivered_bytes": "delivered data",
    "dropped_packets": "queue drops",
    "jain_index": "Jain's fairness index",
    **{column: f"limited by {words}" for column, words in LIMITS.items()},
    "limited_s": "time that limits share",
    "max_queue_bytes": "maximum queue",
    "min_rtt_ms": "minimum RTT",
    "page_response_s": "page load time",
    "srtt_ms": "smoothed RTT",
}
"""Columns that the field calls otherwise."""

AGGREGATE_WORDS = {
    "mean": "", "min": "minimum", "max": "maximum", "sum": "total", "jain": "Jain's index of",
}  # fmt: skip


@dataclass(frozen=True)
class Quantity:
    """A quantity with its label, percentiles and kind of interval.

    `ValueError` if there is no quantity of that name.
    """

    name: str
    label: str = ""
    percentiles: tuple[float, ...] = ()
    interval: Interval = "student"

    def __post_init__(self) -> None:
        parse(self.name)
        if self.interval not in get_args(Interval):
            expected = f"one of {listed(get_args(Interval))}"
            raise UnfitError(expected, quoted(self.interval), at=("interval",))
        asked: tuple[object, ...] = self.percentiles
        for percent in asked:
            if not isinstance(percent, int | float) or not 0 <= percent <= 100:
                expected = "percentiles: numbers from 0 to 100"
                raise UnfitError(expected, quoted(percent), at=("percentiles",))

    @property
    def taken(self) -> Taken:
        """The parts of the name."""
        return parse(self.name)

    @property
    def unit(self) -> str:
        """The unit that its name ends with; "1" for shares and indices."""
        taken = self.taken
        if taken.aggregate == "jain":
            return "1"
        other = COUNT if taken.is_counted and not self.is_of_successes else "1"
        return WHOLE_NAMES.get(taken.column, UNITS.get(taken.column.rpartition("_")[2], other))

    @property
    def is_of_events(self) -> bool:
        """True if it is taken from numbers of events, such as timeouts."""
        return self.taken.is_counted and self.unit != "B" and not self.is_of_successes

    @property
    def is_of_successes(self) -> bool:
        """True if it is a share of flows or sessions, and not their number."""
        return self.taken.column in SUCCESSES and self.taken.aggregate != "sum"

    @property
    def is_count(self) -> bool:
        """True for a number of events: small ones are not nearly normal."""
        return self.is_of_events and self.taken.aggregate in SUMS

    def domain(self, scenario: _native.Scenario | None = None) -> Domain:
        """The values that it can have, with the bounds that depend on the flows of a scenario."""
        taken = self.taken
        # The index of a run is of the goodputs of all flows.
        of_run = Taken("flows", "goodput_bps") if taken.table == RUN else taken
        has_flows = of_run.table == TABLES["flow"]
        number = len(of_run.names_in(scenario)) if scenario and has_flows else 0
        return domain(taken.column, taken.aggregate, counts=self.is_count, number=number)

    def seed(self, variant: int, number: int) -> tuple[int, int] | None:
        """The seed of the bootstrap of a variant, by the number of the quantity in its study.

        It is fixed, so that the interval is reproducible. None for other intervals.
        """
        return (variant, number) if self.interval == "bootstrap" else None

    @property
    def kind_of_interval(self) -> str:
        """The method of its interval, as `intervals.method` has it before any run."""
        domain = self.domain()
        if self.interval == "bootstrap":
            return "bootstrap"
        if domain.counts:
            return "count"
        if domain.successes:
            return "wilson"
        return "logit" if domain.is_bounded else "student"


def domain_of(name: str, scenario: _native.Scenario | None = None) -> Domain:
    """The values that the quantity of a name can have; see `Quantity.domain`."""
    return Quantity(name).domain(scenario)


def is_count(name: str) -> bool:
    """True for a quantity that is a number of events, such as timeouts."""
    return Quantity(name).is_count


def better(name: str) -> Better | None:
    """Which values of a quantity are better; None if that depends on the question."""
    taken = parse(name)
    if taken.aggregate == "jain" or taken.column in HIGHER:
        return "higher"
    return "lower" if taken.column.endswith(LOWER) else None


def heading(name: str) -> str:
    """The name of a quantity in words, without its unit: `p95 smoothed RTT of transfer`."""
    taken = parse(name)
    column, _, suffix = taken.column.rpartition("_")
    bare = column if column and suffix in UNITS else taken.column
    words = WORDS.get(taken.column, bare.replace("_", " "))
    aggregate = AGGREGATE_WORDS.get(taken.aggregate, taken.aggregate)
    place = ", ".join(filter(None, (taken.name, taken.direction)))
    return f"{aggregate} {words}{f' of {place}' if place else ''}".strip()


def shown(name: str) -> tuple[float, str]:
    """The factor to the unit in which all tables show a quantity, and the name of the unit."""
    taken = parse(name)
    if taken.aggregate == "jain":
        return 1.0, "1"
    if taken.column in SHOWN:
        return SHOWN[taken.column]
    for suffix, unit in SHOWN_SUFFIX.items():
        if taken.column.endswith(suffix):
            return unit
    return 1.0, Quantity(name).unit


def unit_beside(words: str, unit: str) -> str:
    """The unit of a quantity next to its words; empty for plain numbers, and if they name it.

    `5 timeouts` are timeouts, and `5 segments` are segments retransmitted.
    """
    is_named = unit in COUNTED and unit in re.findall(r"[^\W\d_]+", words.casefold())
    return "" if unit in ("1", COUNT) or is_named else unit


@cache
def parse(text: str) -> Taken:
    """The parts of a quantity's name; `ValueError` with the nearest valid name."""
    call = CALL.fullmatch(text)
    aggregate, inner = (call[1], call[2].strip()) if call else ("mean", text.strip())
    percentile = PERCENTILE.fullmatch(aggregate)
    known = aggregate in AGGREGATES or (percentile and float(percentile[1]) <= 100)
    if not known:
        raise unknown(text, aggregate, AGGREGATES)
    columns = _native.number_columns()
    table, *rest = inner.split(".")
    if not rest:
        if table in columns[RUN] and not call:
            return Taken(RUN, table)
        names = columns[RUN] + [f"flow.{column}" for column in columns["flows"]]
        raise unknown(text, table, names)
    others = (name for name in columns if name not in (RUN, *TABLES.values()))
    tables = TABLES | {name: name for name in others}
    if table not in tables:
        raise unknown(text, table, tables)
    found = tables[table]
    *middle, column = rest
    if column not in columns[found]:
        raise unknown(text, column, columns[found])
    has_directions = found in _native.tables_of_directions()
    direction = middle.pop() if has_directions and middle and middle[-1] in DIRECTIONS else None
    return Taken(found, column, ".".join(middle) or None, direction, aggregate)


def unknown(text: str, part: str, known: Iterable[str]) -> UnfitError:
    """The error that nothing is called as one part of the name `text` is."""
    names = list(known)
    near = suggested(part, names)
    expected = "a quantity" if near else f"a quantity with one of {listed(names)}"
    return UnfitError(expected, f"{quoted(part)} in {quoted(text)}", suggestion=near, at=("name",))
