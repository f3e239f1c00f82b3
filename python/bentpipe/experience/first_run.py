"""The run with the first seed: legs of split flows, and queues of beams.

A study keeps quantities, and these tables have none by flow or group.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.experience.limits import PLACES, WAITS
from bentpipe.names import group_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from bentpipe import Scenario
    from bentpipe.explanation import Flow

    Rows = list[dict[str, Any]]
    Legs = Callable[[str], Rows]
    Beams = Mapping[tuple[str, str, str | None], Mapping[str, float]]


def first_run(scenario: Scenario) -> tuple[Legs, Beams]:
    """The legs of each flow by its name, and the queues of beams.

    Nothing runs for a scenario without split flows and beams.
    """
    explained = scenario.explain()
    flows = {flow.name: flow for flow in explained.flows}
    if not (explained.beams or any(flow.legs for flow in flows.values())):
        return (lambda _: []), {}
    recording = _native.run(scenario.with_({"record": {}}))

    def table(name: str) -> Rows:
        found = recording.names
        return list(recording.table(name).iter_rows(named=True)) if name in found else []

    legs = table("legs")
    groups = [group["name"] for beam in explained.beams for group in beam["groups"]]
    return (
        lambda name: legs_of(legs, flows[name], groups),
        beams_of(table("beam_groups"), table("beam_classes")),
    )


def beams_of(groups: Rows, classes: Rows) -> Beams:
    """Rows of both tables by group, direction and class; None is all classes of a group."""
    found: dict[tuple[str, str, str | None], Mapping[str, float]] = {}
    for row in [*groups, *classes]:
        numbers = {
            column: value
            for column, value in row.items()
            if isinstance(value, int | float) and math.isfinite(value)
        }
        found[row["group"], row["direction"], row.get("class")] = numbers
    return found


def legs_of(rows: Rows, flow: Flow, groups: Collection[str]) -> Rows:
    """The legs of a flow in the order in which the data passes, each the mean of all copies.

    A share is weighted with the time that it is a share of. Terminals have the name of their group.
    """
    copies = {flow.name} if flow.count == 1 else {f"{flow.name}.{n}" for n in range(flow.count)}
    own = [row for row in rows if row["flow"] in copies]
    return [
        mean_leg([row for row in own if row["leg"] == leg], groups)
        for leg in dict.fromkeys(row["leg"] for row in own)
    ]


def mean_leg(rows: Rows, groups: Collection[str]) -> dict[str, Any]:
    """A leg of all copies of a flow."""
    made: dict[str, Any] = {
        end: place([row[end] for row in rows], groups) for end in ("from", "to")
    }
    for column in (*PLACES, WAITS):
        known = [
            (row[column], row["limited_s"])
            for row in rows
            if row[column] is not None and row["limited_s"]
        ]
        whole = math.fsum(seconds for _, seconds in known)
        if whole:
            made[column] = math.fsum(share * seconds for share, seconds in known) / whole
    return made


def place(nodes: Sequence[str], groups: Collection[str]) -> str:
    """The node at the end of a leg; the group of several terminals."""
    names = list(dict.fromkeys(nodes))
    if len(names) == 1:
        return names[0]
    return ", ".join(dict.fromkeys(group_of(name, groups) or name for name in names))
