"""The answer of an evaluation in three lines: the finding, what it costs, and how sure it is.

RFC 9743 sets no thresholds, so the first line counts: in how many findings the candidate is better
and in how many worse than each baseline. The second names the findings that are worse. All lines
count the same: a finding is one quantity in one case of an item, compared with one baseline. The
fixed baselines of an item count too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.numbers import count, signed
from bentpipe.study.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_COSTS = 3
"""Quantities of items that the second line names, at most: those with the largest difference."""

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
    said = [
        against(name, [pair for pair in pairs if pair[2]["baseline"] == name])
        for name in baselines(found)
    ]
    return Answer(f"{candidate}: {'; '.join(said)}.", costs(candidate, pairs), certainty(pairs))


def labelled(found: Mapping[str, Any]) -> dict[str, str]:
    """The answer with its labels, and what controllers need that the items do not provide."""
    lines = answer(found)
    # Evaluations of earlier releases have no needs.
    needed = " ".join(one["sentence"] for one in found.get("needs", ()))
    return {
        "Found": lines.choose,
        "Costs": lines.costs,
        "Sure": lines.sure,
        **({"Needs": needed} if needed else {}),
    }


def baselines(found: Mapping[str, Any]) -> list[str]:
    """The baselines of all items, then the fixed baselines of some."""
    rows = (row for item in found["items"] for one in item["findings"] for row in one["against"])
    return list(dict.fromkeys([*found["against"], *(row["baseline"] for row in rows)]))


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
    of_quantity: dict[tuple[str, str], list[Pair]] = {}
    for pair in worse:
        of_quantity.setdefault((pair[0]["item"], pair[1]["quantity"]), []).append(pair)
    named = list(of_quantity.values())[:MOST_COSTS]
    said = [cost(*alike[0], len(alike)) for alike in named]
    more = len(worse) - sum(map(len, named))
    if more:
        said.append(f"and {count(more)} of other quantities")
    are = "finding is" if len(worse) == 1 else "findings are"
    return f"{count(len(worse))} {are} worse: {'; '.join(said)}."


def cost(
    item: Mapping[str, Any], one: Mapping[str, Any], row: Mapping[str, Any], alike: int
) -> str:
    """The largest of `alike` worse findings of a quantity of an item.

    `goodput (bufferbloat, 1 BDP), -4.8 % compared with cubic, the largest of 2`.
    """
    where = ", ".join(filter(None, (item["item"], one["case"])))
    by = "" if row["relative"] is None else f", {signed(100 * row['relative'], 3)} %"
    largest = f", the largest of {alike}" if alike > 1 else ""
    return f"{one['label']} ({where}){by} compared with {row['baseline']}{largest}"


def certainty(pairs: Sequence[Pair]) -> str:
    """The runs, and how many findings are significant."""
    runs = max(one["n"] for _, one, _ in pairs)
    words = [row["finding"] for _, _, row in pairs]
    clear = words.count("better") + words.count("worse")
    exact, undefined = words.count("deterministic"), words.count("undefined")
    tested = len(words) - exact - undefined
    said = [
        f"{runs} run{'' if runs == 1 else 's'} of each, simulated",
        f"{clear} of {tested} tested findings {'is' if clear == 1 else 'are'} significant"
        " (paired by seed, Holm within an item)",
        f"{exact} {'is' if exact == 1 else 'are'} deterministic: exact, not tested"
        if exact
        else "",
        f"{undefined} {'is' if undefined == 1 else 'are'} undefined" if undefined else "",
    ]
    return f"{'; '.join(filter(None, said))}."
