"""Scenarios from lines of `tc`: what `bentpipe import netem` writes.

Every option of netem, tbf and the common disciplines has a translation, or a sentence that says
what comes nearest. Nothing is left out in silence. Units are those of tc(8): a time without a unit
is in microseconds, `kbps` is kilobytes per second, and sizes count in powers of two.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bentpipe.errors import InputError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TIMES = {"": 1e-6, "us": 1e-6, "usec": 1e-6, "usecs": 1e-6, "ms": 1e-3, "msec": 1e-3}
TIMES |= {"msecs": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0}
RATES = {
    prefix + unit: factor * bits
    for prefix, factor in {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}.items()
    for unit, bits in {"bit": 1, "bps": 8}.items()
} | {"": 8.0}
SIZES = {
    prefix + unit: factor / share
    for prefix, factor in {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}.items()
    for unit, share in {"": 1, "b": 1, "bit": 8}.items()
}
NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([a-z]*)", re.IGNORECASE)
WHOLE = re.compile(r"-?\d+")
QUEUE = 1000
"""`limit` of netem without one, in packets."""
UNLIMITED = "10Gbit/s"
"""Rate of a direction without one: netem delays packets and has no rate then."""


class UntranslatableError(ValueError):
    """A word that is no value of tc."""


def quantity(text: str, units: dict[str, float]) -> float:
    """A number with one of `units`."""
    found = NUMBER.fullmatch(text)
    if found is None or found[2].lower() not in units:
        raise UntranslatableError(text)
    return float(found[1]) * units[found[2].lower()]


def share(text: str) -> float:
    """A probability: `25%` or `0.25`."""
    if not is_share(text):
        raise UntranslatableError(text)
    value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= value <= 1:
        raise UntranslatableError(text)
    return value


def whole(text: str) -> int:
    """A number of packets, or a seed."""
    if re.fullmatch(r"\d+", text) is None:
        raise UntranslatableError(text)
    return int(text)


def is_share(text: str) -> bool:
    """Return true if a word is a probability, which is optional in many places."""
    return re.fullmatch(r"(\d+\.?\d*|\.\d+)%?", text) is not None


@dataclass
class Direction:
    """What the lines of one device say of a direction."""

    device: str
    rate: float | None = None
    delay: float = 0.0
    jitter: float = 0.0
    overhead: int = 0
    queue: str = f"{{ packets = {QUEUE} }}"
    per: float = 0.0
    bursts: tuple[float, float, float, float] | None = None
    """Mean loss, mean burst in packets, loss in a burst, loss between two."""
    aqm: str | None = None
    seed: int | None = None
    kinds: list[str] = field(default_factory=list)
    """Disciplines that were read."""
    remarks: list[str] = field(default_factory=list)

    def limit_rate(self, rate: float) -> None:
        """Lowers the rate: the slowest discipline of a device determines it."""
        if rate <= 0:
            raise UntranslatableError("a rate of zero")
        self.rate = rate if self.rate is None else min(self.rate, rate)

    def remark(self, words: str, instead: str) -> None:
        """Words that have no translation, and what comes nearest."""
        self.remarks.append(f"{words}: {instead}")

    def toml(self) -> Iterator[str]:
        """Its keys."""
        yield f'rate = "{UNLIMITED if self.rate is None else bits(self.rate)}"'
        least = max(self.delay - self.jitter, 0.0)
        yield f'delay = "{milliseconds(least)}"'
        if self.jitter:
            yield f'jitter = "{milliseconds(self.delay + self.jitter - least)}"'
        yield f"queue = {self.queue}"
        if self.overhead:
            yield f'overhead = "{self.overhead}B"'
        if self.aqm:
            yield f"aqm = {self.aqm}"
        if self.bursts is not None:
            loss, burst, in_burst, in_gap = self.bursts
            yield (
                f"channel = {{ mean_loss = {loss!r}, mean_burst = {burst!r}, "
                f"loss_in_burst = {in_burst!r}, loss_in_gap = {in_gap!r} }}"
            )
        elif self.per:
            yield f"channel = {{ per = {self.per:.10g} }}"


def bits(rate: float) -> str:
    """A rate in the notation of scenarios."""
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if rate >= factor:
            return f"{rate / factor:.10g}{unit}"
    return f"{max(rate, 1):.10g}bit/s"


def milliseconds(seconds: float) -> str:
    """A time in the notation of scenarios."""
    return f"{seconds * 1e3:.10g}ms"


class Words:
    """The words of a line, one after the other."""

    def __init__(self, words: list[str]) -> None:
        self.left = words
        self.taken: list[str] = []

    def next(self) -> str:
        """The next word."""
        if not self.left:
            raise UntranslatableError("the end of the line")
        self.taken.append(self.left[0])
        return self.left.pop(0)

    def optional(self, fits: Callable[[str], bool]) -> str | None:
        """The next word if it fits."""
        return self.next() if self.left and fits(self.left[0]) else None

    def shares(self) -> list[float]:
        """All probabilities that follow."""
        found = []
        while (word := self.optional(is_share)) is not None:
            found.append(share(word))
        return found


def netem(words: Words, to: Direction) -> None:
    """The options of netem."""
    while words.left:
        words.taken = []
        option = words.next()
        if option in READERS:
            READERS[option](words, to)
        elif option in NEAREST:
            while words.left and words.left[0] not in OPTIONS:
                words.next()
            to.remark(" ".join(words.taken), NEAREST[option])
        else:
            to.remark(option, f"unknown; netem has {', '.join(OPTIONS)}")
    if to.jitter and to.rate is None:
        to.remark("jitter without a rate", "packets keep their order here; netem's overtake")
    if to.jitter > to.delay:
        instead = "uniform from 0 here; netem has no delay where its own would be negative"
        to.remark("jitter above the delay", instead)
    if to.bursts is not None and to.per:
        to.remark(f"independent losses of {to.per:.3g} with gemodel", "only the bursts are kept")


def limit(words: Words, to: Direction) -> None:
    """`limit PACKETS`."""
    packets = whole(words.next())
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
NEAREST = {
    "duplicate": "no key duplicates packets",
    "reorder": "no key lets packets overtake at random; `reorder = true` does so where a trace"
    " shortens the delay",
    "gap": "no key counts packets until one overtakes",
    "slot": "a trace with `loop = true` whose rows have a rate of 0 between the slots",
    "distribution": "jitter is uniform and independent here; a trace has any delays",
}


def delay(words: Words, to: Direction) -> None:
    """`delay TIME [JITTER [CORRELATION]]`: uniform between TIME - JITTER and TIME + JITTER."""
    to.delay = quantity(words.next(), TIMES)
    jitter = words.optional(lambda word: NUMBER.fullmatch(word) is not None)
    if jitter is None:
        return
    to.jitter = quantity(jitter, TIMES)
    correlation = words.optional(is_share)
    if correlation is not None and share(correlation) > 0:
        to.remark(f"correlation {correlation} of the delay", NEAREST["distribution"])


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
        to.per = 1 - (1 - to.per) * (1 - values[0])
        if len(values) > 1 and values[1] > 0:
            to.remark(f"correlation {values[1]:.3g} of the loss", INDEPENDENT)


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
    """`rate RATE [OVERHEAD [CELL [CELL_OVERHEAD]]]`."""
    to.limit_rate(quantity(words.next(), RATES))
    numbers = []
    while (
        word := words.optional(lambda word: re.fullmatch(r"-?\d+", word) is not None)
    ) is not None:
        numbers.append(int(word))
    to.overhead = max(numbers[0], 0) if numbers else 0
    if any(numbers[1:]):
        to.remark(
            f"cells of {numbers[1]} bytes", "`overhead` has bytes for each packet, and no cells"
        )


READERS: dict[str, Callable[[Words, Direction], None]] = {
    "limit": limit,
    "delay": delay,
    "latency": delay,
    "loss": loss,
    "drop": loss,
    "corrupt": corrupt,
    "rate": rate,
    "seed": seed,
    "ecn": ecn,
}
OPTIONS = (*READERS, *NEAREST)


def tbf(words: Words, to: Direction) -> None:
    """The options of tbf. The queue is LATENCY times the rate, and the bucket (tc-tbf(8))."""
    own, burst, latency = 0.0, 0.0, None
    while words.left:
        option = words.next()
        if option == "rate":
            own = quantity(words.next(), RATES)
            to.limit_rate(own)
        elif option in ("burst", "buffer", "maxburst"):
            word = words.next().partition("/")[0]
            burst = quantity(word, SIZES)
            to.remark(f"{option} {word}", "the link sends at its rate, and has no bucket")
        elif option == "latency":
            latency = quantity(words.next(), TIMES)
        elif option == "limit":
            to.queue = f'{{ bytes = "{max(round(quantity(words.next(), SIZES)), 1)}B" }}'
        else:
            to.remark(f"{option} {words.next()}", "no key")
    if latency is not None:
        to.queue = f'{{ bytes = "{max(round(latency * own / 8 + burst), 1)}B" }}'


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


def imported(text: str, name: str) -> Imported:
    """The scenario of a script of `tc` lines. `InputError` if it has none, or none that can run."""
    import bentpipe

    directions: dict[str, Direction] = {}
    remarks = []
    for number, line in enumerate(text.replace("\\\n", " ").splitlines(), 1):
        words = shlex.split(line, comments=True)
        kind = next((word for word in words if word in DISCIPLINES), None)
        if kind is None or "del" in words:
            if words:
                remarks.append(f"{name}:{number}: {line.strip()}: no discipline that shapes a link")
            continue
        at = words.index(kind)
        device = words[words.index("dev") + 1] if "dev" in words[: at - 1] else "the link"
        to = directions.setdefault(device, Direction(device))
        if "change" in words[:at] or kind in to.kinds:
            instead = "a link changes during a run by `[[link.event]]`; the first line counts"
            remarks.append(f"{name}:{number}: {line.strip()}: {instead}")
            continue
        to.kinds.append(kind)
        before = len(to.remarks)
        try:
            DISCIPLINES[kind](Words(words[at + 1 :]), to)
        except UntranslatableError as error:
            raise InputError(
                f"{name}:{number}: {line.strip()}: expected a value as in tc(8), found {error}"
            ) from None
        remarks += [f"{name}:{number}: {remark}" for remark in to.remarks[before:]]
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
        lines += [f"# {directions[0].device}: forward, as netem at one end", ""]
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
