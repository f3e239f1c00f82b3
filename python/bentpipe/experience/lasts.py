"""The duration that applications need, by their settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.console import few
from bentpipe.durations import seconds
from bentpipe.errors import InputError
from bentpipe.numbers import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe import Scenario
    from bentpipe.experience.plan import Application
    from bentpipe.explanation import Flow

    Settings = Callable[[str], Any]

PAGE_EVERY_S = 30.0
"""The default time between two loads of a page, in seconds."""


def check(
    scenario: Scenario, applications: Sequence[Application], written: Mapping[str, Any]
) -> None:
    """Check that the run is as long as its applications; `InputError` if it is not.

    `written` has the flows of the file by their names.
    A stall or a slow page can still outlast the run.
    """
    explained = {flow.name: flow for flow in scenario.explain().flows}
    needed = {
        one.flow: needed_s(one.kind.key, explained[one.flow], written[one.flow])
        for one in applications
    }
    late = {flow: end_s for flow, end_s in needed.items() if end_s > scenario.duration_s}
    if late:
        ends = [f"{flow} until {plain(end_s)} s" for flow, end_s in late.items()]
        raise InputError.of_value(
            "duration",
            f"{plain(max(late.values()))}s or more, the end of its applications"
            f" ({few(ends, separator=', ')})",
            f"{plain(scenario.duration_s)}s",
        )


def needed_s(key: str, flow: Flow, written: Mapping[str, Any]) -> float:
    """The time in seconds from the start of the run at which an application can end.

    It is the last request for pages and messages. `stop` ends an application earlier.
    Sessions need no time: a run counts the sessions that have begun.
    """
    settings = {one.name: one.value for one in flow.settings}
    if "sessions" in written:
        return 0.0
    spread_s = seconds(written["spread"]) if "spread" in written else 0.0
    spread_s *= (flow.count - 1) / flow.count
    length_s = LENGTHS[key](lambda name: settings.get(f"traffic.{key}.{name}"))
    end_s: float = (settings.get("start") or 0.0) + spread_s + length_s
    stop_s = settings.get("stop")
    return end_s if stop_s is None else min(end_s, stop_s)


def of_pages(of: Settings) -> float:
    """The time of the last request for a page; 0 for pages that are drawn, which have none."""
    if of("model"):
        return 0.0
    return ((of("pages") or 1) - 1) * float(of("interval") or PAGE_EVERY_S)


def of_messages(of: Settings) -> float:
    """The time of the last request; 0 for messages until the run ends."""
    return ((of("count") or 1) - 1) * float(of("interval"))


def of_test(of: Settings) -> float:
    """The time of all phases of a speed test."""
    return float(of("idle") + of("duration") + of("pause") + of("duration"))


LENGTHS: Mapping[str, Callable[[Settings], float]] = {
    "page": of_pages,
    "web": of_pages,
    "video": lambda of: of("length") or 0.0,
    "call": lambda of: of("duration") or 0.0,
    "messages": of_messages,
    "speedtest": of_test,
}
"""The least time in seconds of each kind of application, from its start."""
