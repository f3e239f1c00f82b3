"""Scenarios from lines of `tc`: what `bentpipe import netem` writes.

Every option of netem, tbf and the common disciplines has a translation, or a sentence that says
what comes nearest. Nothing is left out in silence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bentpipe.console import nearest
from bentpipe.errors import InputError, ScenarioError
from bentpipe.impairments import (
    LARGEST_CORRELATION,
    distribution,
    duplicate,
    gap,
    probability,
    reorder,
    settle_reordering,
    settle_slots,
    slot,
)
from bentpipe.tc_buckets import both_ways, filtered, is_holder, is_inward, is_police, police, tbf
from bentpipe.tc_script import commands
from bentpipe.tc_words import (
    NUMBER,
    RATES,
    SIZES,
    TIMES,
    UntranslatableError,
    Words,
    bits,
    in_full,
    is_share,
    milliseconds,
    quantity,
    share,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bentpipe.tc_buckets import Bucket
    from bentpipe.tc_script import Command

QUEUE = 1000
"""`limit` of netem without one, in packets."""
UNLIMITED = "10Gbit/s"
"""Rate of a direction without one: netem delays packets and has no rate then."""


@dataclass
class Direction:
    """What the lines of one device say of a direction."""

    device: str
    rate: float | None = None
    keeps_order: bool = False
    """True if packets keep their order because of something else."""
    has_own_rate: bool = False
    """True if netem has the rate, and not another discipline."""
    delay: float = 0.0
    jitter: float = 0.0
    correlation: float = 0.0
    """Of the delays of two packets in a row."""
    distribution: str | None = None
    overhead: int = 0
    min_packet: int = 0
    """Shortest packet on the line."""
    cells: tuple[int, int] | None = None
    """Payload and header."""
    shaper: Bucket | None = None
    policer: Bucket | None = None
    queue: str = f"{{ packets = {QUEUE} }}"
    per: float = 0.0
    """Probability of independent losses."""
    correlated: tuple[float, float] | None = None
    """Probability and correlation of `loss`."""
    bursts: tuple[float, float, float, float] | None = None
    """Mean loss, mean burst in packets, loss in a burst, loss between two."""
    aqm: str | None = None
    reorder: tuple[float, float] | None = None
    """Probability and correlation."""
    gap: int = 0
    duplicate: tuple[float, float] | None = None
    slot: str | None = None
    seed: int | None = None
    kinds: list[str] = field(default_factory=list)
    """Disciplines that were read."""
    remarks: list[str] = field(default_factory=list)

    def limit_rate(self, rate: float) -> None:
        """Lowers the rate: the slowest discipline of a device determines it."""
        if rate <= 0:
            raise UntranslatableError("a rate of zero")
        self.rate = rate if self.rate is None else min(self.rate, rate)

    def frame(self, overhead: int, cells: tuple[int, int] | None) -> None:
        """Set the bytes added to each packet, and cells. Packets have no header of Ethernet."""
        self.overhead, self.cells = max(overhead, 0), cells
        if overhead < 0:
            self.remark(f"overhead of {overhead}", "packets have no header of Ethernet here: 0")
        if cells is not None and cells[1] < 0:
            self.cells = (cells[0], 0)
            self.remark(f"cell overhead of {cells[1]}", "at least 0 here")

    def remark(self, words: str, instead: str) -> None:
        """Words that have no translation, and what comes nearest."""
        self.remarks.append(f"{words}: {instead}")

    def toml(self) -> Iterator[str]:
        """Its keys."""
        yield f'rate = "{UNLIMITED if self.rate is None else bits(self.rate)}"'
        yield f'delay = "{milliseconds(self.delay)}"'
        if self.jitter:
            yield f"jitter = {self.variation()}"
        if self.reorder is not None:
            yield f"reorder = {probability(self.reorder, gap=max(self.gap, 1))}"
        if self.duplicate is not None:
            yield f"duplicate = {probability(self.duplicate)}"
        if self.slot is not None:
            yield f"slot = {self.slot}"
        yield f"queue = {self.queue}"
        yield from self.line()
        if self.aqm:
            yield f"aqm = {self.aqm}"
        yield from self.channel()

    def line(self) -> Iterator[str]:
        """Keys of the bytes on the line, and of token buckets."""
        if self.overhead:
            yield f'overhead = "{self.overhead}B"'
        if self.min_packet:
            yield f'min_packet = "{self.min_packet}B"'
        if self.cells is not None:
            payload, header = self.cells
            yield f'cells = {{ payload = "{payload}B", header = "{header}B" }}'
        if self.shaper is not None:
            yield f"shaper = {self.shaper.toml()}"
        if self.policer is not None:
            yield f"policer = {self.policer.toml()}"

    def channel(self) -> Iterator[str]:
        """Key of losses."""
        if self.bursts is not None:
            loss, burst, in_burst, in_gap = self.bursts
            yield (
                f"channel = {{ mean_loss = {loss!r}, mean_burst = {burst!r}, "
                f"loss_in_burst = {in_burst!r}, loss_in_gap = {in_gap!r} }}"
            )
        elif self.correlated is not None:
            per, correlation = self.correlated
            yield f"channel = {{ per = {per:.10g}, correlation = {correlation:.10g} }}"
        elif self.per:
            yield f"channel = {{ per = {self.per:.10g} }}"

    def variation(self) -> str:
        """The jitter as a table. With a rate, netem keeps the order of packets."""
        keys = [f'variation = "{milliseconds(self.jitter)}"']
        if self.distribution is not None:
            keys.append(f"distribution = {self.distribution}")
        if self.correlation:
            keys.append(f"correlation = {self.correlation:.10g}")
        keys.append(f"reorder = {str(self.overtakes).lower()}")
        return f"{{ {', '.join(keys)} }}"

    @property
    def overtakes(self) -> bool:
        """Return true if packets overtake each other by their jitter; not with netem's `rate`."""
        return not (self.has_own_rate or self.keeps_order)


class UnknownOptionError(Exception):
    """A word that is no option of netem. `tc` refuses it."""


def netem(words: Words, to: Direction) -> None:
    """The options of netem; `UnknownOptionError` for another word."""
    while words.left:
        words.taken = []
        option = words.next()
        if option in READERS:
            READERS[option](words, to)
        else:
            raise UnknownOptionError(option)
    if to.distribution is not None and not to.jitter:
        to.remark(
            f"distribution {to.distribution}", "it has no effect without a jitter, as in netem"
        )
    if to.jitter and to.has_own_rate:
        instead = "the delay comes after the rate here; netem has its rate after the delay"
        to.remark("jitter with a rate", instead)
    settle_reordering(to)
    settle_slots(to)
    if to.duplicate is not None and to.has_own_rate:
        to.remark("duplicate with a rate", "a copy takes no time of the rate here")
    if to.per and (to.bursts is not None or to.correlated is not None):
        to.remark(f"independent losses of {to.per:.3g}", "a channel has one model, and loss has it")
    if to.bursts is not None and to.correlated is not None:
        to.remark(f"loss {to.correlated[0]:.3g} with a correlation", "only the bursts are kept")


def limit(words: Words, to: Direction) -> None:
    """`limit PACKETS`, which tc reads as a size: `1k` is 1024."""
    packets = round(quantity(words.next(), SIZES))
    if to.kinds == ["netem"]:
        to.queue = f"{{ packets = {packets} }}"
    instead = "the queue here is before the link; netem counts packets that are being delayed too"
    to.remark(f"limit {packets}", instead)


def corrupt(words: Words, to: Direction) -> None:
    """`corrupt P`: a packet with a wrong bit is lost, as its checksum fails."""
    to.per = 1 - (1 - to.per) * (1 - share(words.next()))
    if (correlation := words.optional(is_share)) is not None and share(correlation) > 0:
        to.remark(f"correlation {correlation} of corrupt", INDEPENDENT)


def seed(words: Words, to: Direction) -> None:
    """`seed NUMBER`."""
    to.seed = whole(words.next())


def ecn(_: Words, to: Direction) -> None:
    """`ecn`: marks instead of losses."""
    to.remark("ecn", "losses of the channel mark nothing here; use `aqm` for marks")


INDEPENDENT = "losses are independent; `mean_burst` of a channel has bursts of a known length"


def delay(words: Words, to: Direction) -> None:
    """`delay TIME [JITTER [CORRELATION]]`: uniform between TIME - JITTER and TIME + JITTER."""
    to.delay = quantity(words.next(), TIMES)
    jitter = words.optional(lambda word: NUMBER.fullmatch(word) is not None)
    if jitter is None:
        return
    to.jitter = quantity(jitter, TIMES)
    correlation = words.optional(is_share)
    if correlation is not None and share(correlation) > 0:
        to.correlation = min(share(correlation), LARGEST_CORRELATION)
        instead = (
            "as tc-netem(8) has it here; in the kernel it has no effect, because the random number"
        )
        to.remark(
            f"correlation {correlation} of the delay", f"{instead} is taken modulo a small one"
        )


def loss(words: Words, to: Direction) -> None:
    """`loss [random] P [CORRELATION]`, `loss gemodel P [R [1-H [1-K]]]`, `loss state ...`."""
    model = words.optional(lambda word: word in ("random", "gemodel", "state"))
    values = words.shares()
    if not values:
        raise UntranslatableError(words.left[0] if words.left else "the end of the line")
    if model == "state":
        to.remark(" ".join(words.taken), "the chain of two states is `loss gemodel`")
    elif model == "gemodel":
        gemodel(values, to)
    else:
        if len(values) > 1 and values[1] > 0:
            to.correlated = (values[0], min(values[1], LARGEST_CORRELATION))
        else:
            to.per = 1 - (1 - to.per) * (1 - values[0])


def gemodel(values: list[float], to: Direction) -> None:
    """`loss gemodel P [R [1-H [1-K]]]`: ways into and out of the bad state, losses in both."""
    defaults = [values[0], 1 - values[0], 1.0, 0.0]
    p, r, in_burst, in_gap = [*values[:4], *defaults[len(values[:4]) :]]
    if in_burst < in_gap:
        # The state with more losses is the bad one.
        p, r, in_burst, in_gap = r, p, in_gap, in_burst
    if p == 0 or r == 0 or in_burst == in_gap:
        # The chain stays in one state, or both lose alike. Without p it starts in the good one.
        alone = in_gap if p == 0 or in_burst == in_gap else in_burst
        to.per = 1 - (1 - to.per) * (1 - alone)
    else:
        mean = (p * in_burst + r * in_gap) / (p + r)
        to.bursts = (mean, 1 / r, in_burst, in_gap)


def rate(words: Words, to: Direction) -> None:
    """`rate RATE [OVERHEAD [CELL [CELL_OVERHEAD]]]`: cells of CELL bytes, and their headers."""
    to.limit_rate(quantity(words.next(), RATES))
    to.has_own_rate = True
    numbers = []
    while (
        word := words.optional(lambda word: re.fullmatch(r"-?\d+", word) is not None)
    ) is not None:
        numbers.append(int(word))
    overhead, cell, header = [*numbers[:3], 0, 0, 0][:3]
    to.frame(overhead, (cell, header) if cell > 0 else None)


READERS: dict[str, Callable[[Words, Direction], None]] = {
    "limit": limit,
    "delay": delay,
    "latency": delay,
    "distribution": distribution,
    "reorder": reorder,
    "gap": gap,
    "duplicate": duplicate,
    "slot": slot,
    "loss": loss,
    "drop": loss,
    "corrupt": corrupt,
    "rate": rate,
    "seed": seed,
    "ecn": ecn,
}


def managed(kind: str, packets: int, marks: bool) -> Callable[[Words, Direction], None]:
    """The options of an algorithm of queue management, with the defaults that tc has for it."""

    def read(words: Words, to: Direction) -> None:
        keys = {"name": f'"{kind.replace("_", "-")}"'}
        limit, ecn = packets, marks
        while words.left:
            option = words.next()
            if option == "target" or (option == "interval" and kind != "pie"):
                keys[option] = f'"{milliseconds(quantity(words.next(), TIMES))}"'
            elif option == "limit":
                limit = whole(words.next())
            elif option in ("ecn", "noecn"):
                ecn = option == "ecn"
            else:
                to.remark(f"{kind} {option}", f"see `bentpipe path {kind.replace('_', '-')}`")
                words.optional(lambda word: NUMBER.fullmatch(word) is not None)
        to.queue = f"{{ packets = {limit} }}"
        keys["ecn"] = str(ecn).lower()
        to.aqm = f"{{ {', '.join(f'{key} = {value}' for key, value in keys.items())} }}"

    return read


def fifo(in_bytes: bool) -> Callable[[Words, Direction], None]:
    """The limit of pfifo or bfifo."""

    def read(words: Words, to: Direction) -> None:
        while words.left:
            if words.next() == "limit":
                size = round(quantity(words.next(), SIZES))
                to.queue = f'{{ bytes = "{size}B" }}' if in_bytes else f"{{ packets = {size} }}"

    return read


MANAGED = ("codel", "fq_codel", "pie")
"""Disciplines that manage their queue."""
DISCIPLINES: dict[str, Callable[[Words, Direction], None]] = {
    "netem": netem,
    "tbf": tbf,
    "codel": managed("codel", 1000, marks=False),
    "fq_codel": managed("fq_codel", 10240, marks=True),
    "pie": managed("pie", 1000, marks=False),
    "pfifo": fifo(in_bytes=False),
    "bfifo": fifo(in_bytes=True),
}


@dataclass(frozen=True)
class Imported:
    """A scenario from lines of tc."""

    toml: str
    remarks: list[str]
    """What was not translated, with its line."""


SETS = frozenset(("add", "replace", "change", "link"))
"""Actions of tc that set a discipline or a filter."""


def discipline(words: list[str]) -> str | None:
    """Return the discipline that a command sets, or `None` if it sets none."""
    kind = "police" if is_police(words) else next((w for w in words if w in DISCIPLINES), None)
    return kind if kind is not None and SETS & set(words[: words.index(kind)]) else None


def unused(command: Command, words: list[str]) -> Iterator[str]:
    """Yield the reason why a command sets no discipline, unless it makes the place for one."""
    if command.unreadable:
        yield f"left out, as {command.unreadable} is not read"
    elif not is_holder(words):
        yield "no discipline that shapes a link"


def translate(kind: str, words: Words, to: Direction, place: str) -> None:
    """Take in the options of a discipline; `InputError` at `place` for others and wrong values."""
    try:
        (DISCIPLINES | {"police": police})[kind](words, to)
    except UnknownOptionError as error:
        option = str(error)
        raise InputError(
            f"{place}: expected an option of netem, found {option}{nearest(option, READERS)}"
        ) from None
    except UntranslatableError as error:
        raise InputError(f"{place}: expected a value as in tc(8), found {error}") from None


def about_child(to: Direction) -> list[str]:
    """A remark on a managed queue below netem that has a rate; none otherwise."""
    below = next((kind for kind in to.kinds if kind in MANAGED), None)
    if below is None or not to.has_own_rate:
        return []
    return [
        f"{below} with netem's rate: netem holds the packets that wait for its rate in a queue of"
        f" its own, and {below} sees them later; here {below} manages the queue before the rate"
    ]


def imported(text: str, name: str) -> Imported:
    """The scenario of a script of `tc` commands. `InputError` if it has none that can run."""
    import bentpipe

    directions: dict[str, Direction] = {}
    inward: dict[str, Direction] = {}
    remarks = []
    for command in commands(text, name):
        words, place = in_full(command.words), f"{name}:{command.line}"
        kind = discipline(words)
        if kind is None:
            remarks += [f"{place}: {command.text}: {reason}" for reason in unused(command, words)]
            continue
        at = words.index(kind)
        device = words[words.index("dev") + 1] if "dev" in words[: at - 1] else "the link"
        found = inward if kind == "police" and is_inward(words[:at]) else directions
        to = found.setdefault(device, Direction(device))
        if "change" in words[:at] or kind in to.kinds:
            instead = "a link changes during a run by `[[link.event]]`; the first line counts"
            remarks.append(f"{place}: {command.text}: {instead}")
            continue
        to.kinds.append(kind)
        before = len(to.remarks)
        if kind == "police" and (match := filtered(words[:at])):
            to.remark(match, "all packets of the direction are policed here")
        translate(kind, Words(words[at + 1 :]), to, f"{place}: {command.text}")
        remarks += [f"{place}: {remark}" for remark in to.remarks[before:]]
    remarks += [f"{name}: {remark}" for to in directions.values() for remark in about_child(to)]
    directions = both_ways(directions, inward)
    if not directions:
        kinds = ", ".join(DISCIPLINES)
        raise InputError(f"{name}: expected a line of tc with one of {kinds}, found none")
    if len(directions) > 2:
        others = ", ".join(list(directions)[2:])
        remarks.append(f"{name}: a link has two directions: {others} is left out")
    toml = scenario(list(directions.values())[:2], remarks)
    try:
        bentpipe.Scenario.parse(toml)
    except ScenarioError as error:
        message = (
            f"{name}: expected values that a scenario can have, found in its translation:\n{error}"
        )
        raise InputError(message) from None
    return Imported(toml, remarks)


def scenario(directions: list[Direction], remarks: list[str]) -> str:
    """A file with one link, and a download over it."""
    head = ["# Written by `bentpipe import netem`."]
    head += [f"# Not the same: {remark}" for remark in remarks]
    seeds = [direction.seed for direction in directions if direction.seed is not None]
    lines = [*head, "", 'duration = "60s"', *(f"seed = {seed}" for seed in seeds[:1]), ""]
    lines += ["[[link]]", 'between = ["server", "client"]']
    if len(directions) == 1:
        lines += [f"# {directions[0].device}: forward, as tc at one end", ""]
        lines += ["[link.forward]", *directions[0].toml(), ""]
        plain = Direction("the way back")
        lines += ["[link.backward]", *plain.toml(), ""]
    else:
        for side, direction in zip(("forward", "backward"), directions, strict=True):
            lines += ["", f"[link.{side}]  # {direction.device}", *direction.toml()]
        lines.append("")
    lines += ["[[flow]]", 'from = "server"', 'to = "client"', 'controller = "cubic"']
    lines += ['traffic = { bulk = "unlimited" }']
    return "\n".join(lines) + "\n"


def read(file: Path) -> Imported:
    """The scenario of the script in `file`."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read ({error})") from None
    return imported(text, str(file))
