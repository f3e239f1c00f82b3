"""The answer of an evaluation in three lines: the finding, what it costs, and how sure it is.

RFC 9743 sets no thresholds, so the first line counts: in how many findings the candidate is better
and in how many worse than each baseline. The second names the findings that are worse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.console import few
from bentpipe.numbers import count, signed
from bentpipe.study.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_COSTS = 3
"""Worse quantities that the second line names, at most: those with the largest difference."""

Pair = tuple["Mapping[str, Any]", "Mapping[str, Any]", "Mapping[str, Any]"]
"""An item, a finding of it, and its difference from one baseline."""


def answer(found: Mapping[str, Any]) -> Answer:
    """The three lines of the object that `evaluate.json` has."""
    candidate: str = found["evaluate"]
    pairs: list[Pair] = [
        (item, one, row)
        for item in found["items"]
        for one in item["findings"]
        for row in one["against"]
    ]
    if not pairs:
        return Answer("Nothing yet: no item is complete.", "Unknown.", "No complete runs.")
    said = [against(name, [p for p in pairs if p[2]["baseline"] == name])
            for name in found["against"]]  # fmt: skip
    return Answer(f"{candidate}: {'; '.join(said)}.", costs(candidate, pairs), certainty(pairs))


def against(baseline: str, pairs: Sequence[Pair]) -> str:
    """How often the candidate is better and worse than a baseline."""
    words = [row["finding"] for _, _, row in pairs]
    better, worse = words.count("better"), words.count("worse")
    if not better and not worse:
        return f"no significant difference from {baseline} in {len(words)} findings"
    return f"better than {baseline} in {better} of {len(words)} findings, worse in {worse}"


def costs(candidate: str, pairs: Sequence[Pair]) -> str:
    """The worse findings, those with the largest relative difference first."""
    worse = [pair for pair in pairs if pair[2]["finding"] == "worse"]
    if not worse:
        return f"No finding of {candidate} is significantly worse."

    def size(pair: Pair) -> float:
        return abs(float(pair[2]["relative"] or 0.0))

    worse.sort(key=size, reverse=True)
    # The case with the largest difference stands for all cases of a quantity of an item.
    largest: dict[tuple[str, str], Pair] = {}
    for pair in worse:
        largest.setdefault((pair[0]["item"], pair[1]["quantity"]), pair)
    named = few((cost(*pair) for pair in largest.values()), MOST_COSTS, "; ")
    return f"{count(len(worse))} are worse: {named}."


def cost(item: Mapping[str, Any], one: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """One worse finding: `goodput at 1 BDP (5.1.2), -4.8 % from cubic`."""
    at = f" at {one['case']}" if one["case"] else ""
    by = "" if row["relative"] is None else f", {signed(100 * row['relative'], 3)} %"
    return f"{one['label']}{at} ({item['item']}){by} compared with {row['baseline']}"


def certainty(pairs: Sequence[Pair]) -> str:
    """The runs, and how many differences are significant."""
    runs = max(one["n"] for _, one, _ in pairs)
    words = [row["finding"] for _, _, row in pairs]
    clear = words.count("better") + words.count("worse")
    exact, undefined = words.count("deterministic"), words.count("undefined")
    tested = len(words) - exact - undefined
    said = [
        f"{runs} run{'' if runs == 1 else 's'} of each, simulated",
        f"{clear} of {tested} differences are significant (paired by seed, Holm within an item)",
        f"{exact} are deterministic: exact, no significance" if exact else "",
        f"{undefined} are undefined" if undefined else "",
    ]
    return f"{few(filter(None, said), separator='; ')}."
