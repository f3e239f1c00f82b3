"""HTTP archives (HAR 1.2) from events of the DevTools protocol, as Chromium's own tools make them.

`blocked` is the time from the request of the page until the browser starts to look up a name, to
connect or to send. It contains the waits for a connection. Chromium's tools add `_initiator`,
`_resourceType` and the number of the connection.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

ENDED = "Network.loadingFinished"
EVENTS = ("Network.requestWillBeSent", "Network.responseReceived", ENDED)

Event = dict[str, Any]


class Recorder:
    """The events of requests of a page."""

    def __init__(self, session: CDPSession) -> None:
        self.requests: dict[str, dict[str, Event]] = {}
        for name in EVENTS:
            session.on(name, lambda event, name=name: self._note(name, event))
        session.send("Network.enable")

    def _note(self, name: str, event: Event) -> None:
        self.requests.setdefault(event["requestId"], {})[name] = event

    def wait_for(self, requests: int, page: Page) -> None:
        """Wait until as many requests have ended."""
        while sum(ENDED in events for events in self.requests.values()) < requests:
            page.wait_for_timeout(20)

    def load_s(self) -> float:
        """Time from the first request to the last byte in seconds."""
        starts = [events[EVENTS[0]]["timestamp"] for events in self.requests.values()]
        ends = [events[ENDED]["timestamp"] for events in self.requests.values()]
        return float(max(ends) - min(starts))

    def archive(self, version: str) -> dict[str, Any]:
        """The archive of all requests that have ended, over HTTP."""
        complete = [list(map(events.get, EVENTS)) for events in self.requests.values()]
        entries = [
            entry(asked, answered, ended)
            for asked, answered, ended in complete
            if asked and answered and ended and asked["request"]["url"].startswith("http")
        ]
        log = {
            "version": "1.2",
            "creator": {"name": "Bentpipe's benches", "version": "1"},
            "browser": {"name": "Chromium", "version": version},
            "pages": [],
            "entries": sorted(entries, key=lambda one: str(one["startedDateTime"])),
        }
        return {"log": log}


def entry(asked: Event, answered: Event, ended: Event) -> dict[str, Any]:
    """The entry of a request."""
    response = answered["response"]
    found = timings(asked["timestamp"], response["timing"], ended["timestamp"])
    began = dt.datetime.fromtimestamp(asked["wallTime"], dt.UTC)
    received = int(ended["encodedDataLength"])
    return {
        "startedDateTime": began.isoformat(timespec="microseconds"),
        "time": sum(found[part] for part in found if part != "ssl" and found[part] > 0),
        "request": {"method": asked["request"]["method"], "url": asked["request"]["url"]},
        "response": {
            "status": response["status"],
            "httpVersion": response["protocol"],
            "headersSize": -1,
            "bodySize": -1,
            "content": {"size": received, "mimeType": response["mimeType"]},
            "_transferSize": received,
        },
        "timings": found,
        "connection": str(response["connectionId"]),
        "_initiator": asked["initiator"],
        "_resourceType": asked["type"].lower(),
    }


def timings(asked_s: float, timing: Event, ended_s: float) -> dict[str, float]:
    """The parts of a request in milliseconds; -1 is for a part that it does not have."""
    base = 1e3 * (timing["requestTime"] - asked_s)

    def part(name: str) -> tuple[float, float]:
        return timing[f"{name}Start"], timing[f"{name}End"]

    def length(name: str) -> float:
        start, end = part(name)
        return float(end - start) if start >= 0 else -1

    starts = [start for start, _ in map(part, ("dns", "connect", "send")) if start >= 0]
    first = timing["receiveHeadersStart"]
    return {
        "blocked": base + min(starts),
        "dns": length("dns"),
        "connect": length("connect"),
        "ssl": length("ssl"),
        "send": length("send"),
        "wait": first - timing["sendEnd"],
        "receive": max(1e3 * (ended_s - timing["requestTime"]) - first, 0.0),
    }
