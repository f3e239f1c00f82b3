"""Options of netem that impair packets at random, as keys of a direction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe.tc_words import (
    NUMBER,
    SIZES,
    TIMES,
    Words,
    is_share,
    milliseconds,
    quantity,
    share,
    whole,
)

if TYPE_CHECKING:
    from bentpipe.netem import Direction

TABLES = tuple(
    Path(folder, "tc") for folder in ("/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu")
)
"""Where iproute2 has its tables of distributions."""
LARGEST_CORRELATION = 0.999999
"""What a scenario takes where tc has 100 %."""


def chance(words: Words) -> tuple[float, float]:
    """`P [CORRELATION]`."""
    found = share(words.next())
    correlation = words.optional(is_share)
    # The largest correlation that a scenario takes.
    return found, 0.0 if correlation is None else min(share(correlation), LARGEST_CORRELATION)


def reorder(words: Words, to: Direction) -> None:
    """`reorder P [CORRELATION]`."""
    to.reorder = chance(words)


def gap(words: Words, to: Direction) -> None:
    """`gap N`: without `reorder`, each N-th packet."""
    to.gap = whole(words.next())


def slot(words: Words, to: Direction) -> None:
    """`slot MIN [MAX] [packets N] [bytes N]`, or `slot distribution NAME DELAY JITTER ...`."""
    keys: dict[str, str] = {}
    times = []
    if words.left and words.left[0] == "distribution":
        for _ in range(4):
            words.next()
        to.remark(
            f"slot {' '.join(words.taken[1:])}",
            "delays of slots are uniform between two times here",
        )
        keys["min_delay"] = f'"{milliseconds(quantity(words.taken[-2], TIMES))}"'
    else:
        times.append(quantity(words.next(), TIMES))
        if (longest := words.optional(lambda word: NUMBER.fullmatch(word) is not None)) is not None:
            times.append(quantity(longest, TIMES))
        names = ("min_delay", "max_delay")
        keys |= {name: f'"{milliseconds(time)}"' for name, time in zip(names, times, strict=False)}
    while (limit := words.optional(lambda word: word in ("packets", "bytes"))) is not None:
        word = words.next()
        most = whole(word) if limit == "packets" else round(quantity(word, SIZES))
        if most > 0:
            keys[limit] = str(most) if limit == "packets" else f'"{most}B"'
    to.slot = f"{{ {', '.join(f'{key} = {value}' for key, value in keys.items())} }}"


def duplicate(words: Words, to: Direction) -> None:
    """`duplicate P [CORRELATION]`."""
    found = chance(words)
    to.duplicate = found if found[0] > 0 else None


def distribution(words: Words, to: Direction) -> None:
    """`distribution NAME`: a table of netem, or a file of iproute2 with that name."""
    name = words.next()
    if name in ("uniform", "normal", "pareto", "paretonormal"):
        to.distribution = f'"{name}"'
        return
    file = next((file for file in TABLES if (file / f"{name}.dist").is_file()), None)
    if file is None:
        folders = " or ".join(str(folder) for folder in TABLES)
        to.remark(f"distribution {name}", f"uniform here: no {name}.dist is in {folders}")
        return
    to.distribution = f'{{ file = "{file / f"{name}.dist"}" }}'


def settle_reordering(to: Direction) -> None:
    """Reordering as the kernel has it: a gap alone is certain, and a delay is needed."""
    if to.gap and to.reorder is None:
        to.reorder = (1.0, 0.0)
    if to.reorder is not None and to.reorder[0] == 0:
        to.reorder = None
    if to.reorder is not None and not to.delay and not to.jitter:
        to.remark(
            "reorder",
            "a packet that is sent at once overtakes none without a delay, and tc refuses it",
        )
        to.reorder = None
    if to.reorder is not None and to.has_own_rate:
        instead = "a packet that is sent at once takes its time of the rate here"
        to.remark("reorder with a rate", instead)


def settle_slots(to: Direction) -> None:
    """Slots keep the order of packets, and come after the delay."""
    if to.slot is None:
        return
    if to.reorder is not None or (to.jitter and to.overtakes):
        to.remark("slot with packets that overtake", "packets keep their order here")
        to.reorder = None
        to.keeps_order = True
    if to.delay:
        instead = "a slot is drawn after the delay here; netem may draw it before"
        to.remark("slot with a delay", instead)


def probability(values: tuple[float, float], **more: int) -> str:
    """A probability and a correlation as a table, with further keys."""
    keys = {"probability": f"{values[0]:.10g}"}
    if values[1]:
        keys["correlation"] = f"{values[1]:.10g}"
    keys |= {key: str(value) for key, value in more.items()}
    return f"{{ {', '.join(f'{key} = {value}' for key, value in keys.items())} }}"
