"""HTTP archives (HAR 1.2) as pages.

An entry becomes an object. Its dependency is the initiator that the browser has noted (`_initiator`
of Chromium): what has the URL that asked for it. Without one it is a guess: the document, script or
style that had arrived last before the request. If the request came before the dependency had
arrived, it waits for the first byte. The time between is a delay, because an archive does not say
what the browser computed. Server times are waits for the first byte less a round trip, which is the
smallest time of a TCP set-up to the same origin.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bentpipe.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

POLL_MS = 30_000
"""Requests that begin later than this after the one before belong to no load."""
TEXTS = ("document", "style", "script")
KINDS = {
    "document": "document",
    "stylesheet": "style",
    "script": "script",
    "font": "font",
    "image": "image",
    "media": "image",
    "xhr": "data",
    "fetch": "data",
}
"""Kinds of objects by the types of resources of Chromium."""
TYPES = {
    "text/html": "document",
    "text/css": "style",
    "javascript": "script",
    "font": "font",
    "image/": "image",
    "video/": "image",
    "audio/": "image",
}
"""Kinds of objects by a part of the media type."""


@dataclass
class Object:
    """An object of a page."""

    name: str
    url: str
    origin: str
    kind: str
    bytes: int
    start_ms: float
    first_ms: float
    end_ms: float
    wait_ms: float
    server_ms: int = 0
    after: str | None = None
    at: str = "done"
    delay_ms: int = 0


@dataclass
class Archive:
    """A page that was read from an archive."""

    title: str
    objects: list[Object]
    guessed: int
    load_s: float | None
    """Time until the load event of the page, if the archive has it."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Entries that are no object of the load, by the reason."""


def read(file: Path) -> Archive:
    """Read an archive.

    Raises `InputError` if it cannot be read, is cut, is no archive, or has no request that was
    answered.
    """
    log = log_of(file)
    entries = log.get("entries")
    if not isinstance(entries, list) or not entries:
        raise refused(file, "an archive with entries", "none")
    left_out: Counter[str] = Counter()
    objects: list[Object] = []
    for number, entry in enumerate(sorted(entries, key=lambda one: began(file, one))):
        reason = why_not(entry, objects, file)
        if reason:
            left_out[reason] += 1
        else:
            objects.append(object_of(entry, number, objects, file))
    if not objects:
        raise refused(file, "a request with an answer", "none")
    times_of_servers(objects, [one for one in entries if isinstance(one, dict)])
    guessed = depend(objects, initiators(entries))
    page = (log.get("pages") or [{}])[0]
    load = (page.get("pageTimings") or {}).get("onLoad")
    return Archive(
        title=f"{objects[0].url} of {file.name}",
        objects=objects,
        guessed=guessed,
        load_s=load / 1e3 if isinstance(load, int | float) and load > 0 else None,
        left_out=dict(left_out),
    )


def refused(file: Path, expected: str, found: str) -> InputError:
    """The error of a file as a whole."""
    return InputError(f"{file}: expected {expected}, found {found}", str(file))


def log_of(file: Path) -> dict[str, Any]:
    """The `log` of an archive."""
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise refused(file, "an HTTP archive", error.strerror or "an error") from error
    except UnicodeDecodeError as error:
        raise refused(file, "text in UTF-8", f"another byte at {error.start}") from error
    except json.JSONDecodeError as error:
        message = f"{file}:{error.lineno}:{error.colno}: expected JSON, found: {error.msg}"
        raise InputError(message, str(file), error.lineno) from error
    log = content.get("log") if isinstance(content, dict) else None
    if not isinstance(log, dict):
        raise refused(file, "an HTTP archive with a `log`", "JSON without one")
    return log


def began(file: Path, entry: Any) -> float:
    """Start of an entry in milliseconds."""
    text = entry.get("startedDateTime") if isinstance(entry, dict) else None
    try:
        return dt.datetime.fromisoformat(str(text)).timestamp() * 1e3
    except ValueError as error:
        expected = "`startedDateTime` of each entry as an ISO 8601 time"
        raise refused(file, expected, repr(text)) from error


def why_not(entry: dict[str, Any], objects: list[Object], file: Path) -> str:
    """Why an entry is no object of the load; empty if it is one."""
    url = entry.get("request", {}).get("url", "")
    if urlsplit(url).scheme not in ("http", "https"):
        return "without HTTP"
    if entry.get("response", {}).get("status", 0) in (0, 101):
        return "without an answer"
    if not was_sent(entry):
        return "from the cache"
    if objects and began(file, entry) > objects[-1].end_ms + POLL_MS:
        return "long after the load"
    return ""


def was_sent(entry: dict[str, Any]) -> bool:
    """True if the answer came over the network."""
    return not entry.get("_fromCache") and entry["response"].get("_transferSize") != 0


def times(entry: dict[str, Any]) -> dict[str, float]:
    """The timings of an entry in milliseconds; -1 stands for none."""
    found = entry.get("timings", {})
    names = ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")
    return {name: max(float(found.get(name) or 0), 0.0) for name in names}


def object_of(entry: dict[str, Any], number: int, known: list[Object], file: Path) -> Object:
    """The object of an entry."""
    response, timings = entry["response"], times(entry)
    start = began(file, entry)
    # The time of TLS is a part of that of the connection.
    parts = ("blocked", "dns", "connect", "send", "wait")
    first = start + sum(timings[part] for part in parts)
    header = max(response.get("headersSize") or 0, 0)
    sizes = (
        response.get("bodySize") or 0,
        (response.get("_transferSize") or 0) - header,
        response.get("content", {}).get("size") or 0,
    )
    size = next((size for size in sizes if size > 0), 1)
    url = entry["request"]["url"]
    parts_of_url = urlsplit(url)
    last = parts_of_url.path.rstrip("/").rpartition("/")[2][-40:] or "index"
    name = last if all(one.name != last for one in known) else f"{last}-{number}"
    return Object(
        name=name,
        url=url,
        origin=parts_of_url.netloc,
        kind=kind_of(entry, not known),
        bytes=int(size),
        start_ms=start,
        first_ms=first,
        end_ms=first + timings["receive"],
        wait_ms=timings["wait"],
    )


def kind_of(entry: dict[str, Any], is_first: bool) -> str:
    """The kind of an object, by the browser's type or by the media type."""
    if is_first:
        return "document"
    kind = KINDS.get(str(entry.get("_resourceType", "")).lower())
    media = str(entry["response"].get("content", {}).get("mimeType", "")).lower()
    found = (one for part, one in TYPES.items() if part in media)
    return kind or next(found, "data")


def times_of_servers(objects: list[Object], entries: list[dict[str, Any]]) -> None:
    """Set the times of servers: waits for first bytes less a round trip of the origin."""
    trips: dict[str, float] = {}
    for entry in entries:
        timings = times(entry)
        connect = timings["connect"] - timings["ssl"]
        origin = urlsplit(entry.get("request", {}).get("url", "")).netloc
        if connect > 0:
            trips[origin] = min(connect, trips.get(origin, connect))
    usual = min(trips.values(), default=0.0)
    for one in objects:
        one.server_ms = round(max(one.wait_ms - trips.get(one.origin, usual), 0.0))


def initiators(entries: list[Any]) -> dict[str, list[str]]:
    """The URLs that asked for each URL, the nearest first, as far as the browser has noted them."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        noted = entry.get("_initiator")
        if not isinstance(noted, dict):
            continue
        urls = [noted.get("url")]
        stack = noted.get("stack")
        while isinstance(stack, dict):
            urls += [frame.get("url") for frame in stack.get("callFrames", [])]
            stack = stack.get("parent")
        found.setdefault(entry["request"]["url"], []).extend(str(url) for url in urls if url)
    return found


def depend(objects: list[Object], noted: dict[str, list[str]]) -> int:
    """Set the dependency of each object but the first. Returns the number of guesses."""
    guessed = 0
    for number, one in enumerate(objects[1:], 1):
        before = objects[:number]
        by_url = {other.url: other for other in before}
        known = next((by_url[url] for url in noted.get(one.url, []) if url in by_url), None)
        if known is None:
            guessed += 1
            texts = [other for other in before if other.kind in TEXTS]
            ended = [other for other in texts if other.end_ms <= one.start_ms]
            known = max(ended, key=lambda other: other.end_ms, default=before[0])
        one.after = known.name
        gap = one.start_ms - known.end_ms
        if gap >= 0:
            one.at, one.delay_ms = "done", round(gap)
        else:
            one.at = "first-byte"
            one.delay_ms = round(max(one.start_ms - known.first_ms, 0.0))
    return guessed
