"""HTTP archives (HAR 1.2) as pages.

An entry becomes an object. Its dependency is the initiator that the browser has noted (`_initiator`
of Chromium): the object whose URL the archive names. Without one it is a guess: the document,
script or style that had arrived last before the request. If the request came before the dependency
had arrived, it waits for the first byte. The time between is a delay, because an archive does not
say what the browser computed. Two more dependencies are found by times:

- If a text (document, style, script, data) ended after the initiator and before the request, the
  request waits for that one, too: browsers request fonts once all styles are there, for example.
- With HTTP/2 and HTTP/3 a request needs no free connection. If it left the browser later than its
  connection stood, the browser has held it back, until the object that had ended last by then.

Objects share connections by the connection that the archive names with HTTP/2 and HTTP/3. Otherwise
by the host, and fonts of other hosts apart: their requests have no credentials, and get connections
of their own (Fetch standard, section 2.6). Server times are waits for the first byte less a round
trip, which is the smallest time of a connection's set-up to the same host. With HTTP/2 and HTTP/3
a time in which the connection was busy with other answers is no server time.

Browsers open connections before a request needs them (preconnect). With HTTP/1.1, a connection to
the host of the document whose first request took no time to connect is one of those.
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
HOLDERS = (*TEXTS, "data")
MULTIPLEXED = ("h2", "h3", "http/2", "http/2.0", "http/3", "http/3.0")
"""Versions of HTTP with many requests on a connection, as browsers write them."""
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


@dataclass(frozen=True)
class After:
    """A dependency of an object."""

    object: str
    at: str
    delay_ms: int


@dataclass
class Object:
    """An object of a page."""

    name: str
    url: str
    origin: str
    """Host, or a name for one of several groups of connections to a host."""
    host: str
    kind: str
    bytes: int
    start_ms: float
    """Time of the request, before it waited for a connection."""
    sent_ms: float
    """Time at which its request left the browser."""
    first_ms: float
    end_ms: float
    is_multiplexed: bool
    opens: bool
    """True if the connection was set up for it."""
    connection: str
    """Number of its connection, if the archive has it."""
    server_ms: int = 0
    after: list[After] = field(default_factory=list)


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
    preconnect: int = 1
    """Connections to the host of the document that were opened before requests waited for them."""


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
    name_origins(objects)
    guessed = depend(objects, initiators(entries))
    page = (log.get("pages") or [{}])[0]
    load = (page.get("pageTimings") or {}).get("onLoad")
    return Archive(
        title=f"{objects[0].url} of {file.name}",
        objects=objects,
        guessed=guessed,
        load_s=load / 1e3 if isinstance(load, int | float) and load > 0 else None,
        left_out=dict(left_out),
        preconnect=1 + opened_ahead(objects),
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
    sent = start + sum(timings[part] for part in ("blocked", "dns", "connect", "send"))
    url = entry["request"]["url"]
    parts_of_url = urlsplit(url)
    last = parts_of_url.path.rstrip("/").rpartition("/")[2][-40:] or "index"
    name = last if all(one.name != last for one in known) else f"{last}-{number}"
    kind = kind_of(entry, not known)
    is_multiplexed = str(response.get("httpVersion", "")).lower() in MULTIPLEXED
    opens = timings["connect"] > 0
    origin = group_of(entry, kind, is_multiplexed, known)
    if "blocked" not in entry.get("timings", {}) and is_multiplexed and not opens:
        # Playwright does not write the wait for a connection.
        stands = (one.sent_ms for one in known if one.origin == origin and one.opens)
        sent = max(sent, next(stands, sent))
    first = sent + timings["wait"]
    return Object(
        name=name,
        url=url,
        origin=origin,
        host=parts_of_url.netloc,
        kind=kind,
        bytes=size_of(response),
        start_ms=start,
        sent_ms=sent,
        first_ms=first,
        end_ms=first + timings["receive"],
        is_multiplexed=is_multiplexed,
        opens=opens,
        connection=str(entry.get("connection") or ""),
    )


def opened_ahead(objects: list[Object]) -> int:
    """Connections to the document's host with HTTP/1.1 that no request has opened.

    Those after the first object only: an archive can begin with a connection that was open.
    """
    opened = {one.connection for one in objects if one.opens}
    host = objects[0].host
    return len(
        {
            one.connection for one in objects[1:]
            if one.host == host and one.connection and not one.is_multiplexed
        }
        - opened
        - {objects[0].connection}
    )  # fmt: skip


def size_of(response: dict[str, Any]) -> int:
    """Bytes of the content of an answer on the wire, at least one."""
    header = max(response.get("headersSize") or 0, 0)
    sizes = (
        response.get("bodySize") or 0,
        (response.get("_transferSize") or 0) - header,
        response.get("content", {}).get("size") or 0,
    )
    return int(next((size for size in sizes if size > 0), 1))


def group_of(entry: dict[str, Any], kind: str, is_multiplexed: bool, known: list[Object]) -> str:
    """The host of an entry, or a name for its group of connections if the host has several."""
    host = urlsplit(entry["request"]["url"]).netloc
    if is_multiplexed and entry.get("connection"):
        return f"{host} {entry['connection']}"
    is_apart = kind == "font" and bool(known) and known[0].host != host
    return f"{host} without credentials" if is_apart else host


def kind_of(entry: dict[str, Any], is_first: bool) -> str:
    """The kind of an object, by the browser's type or by the media type."""
    if is_first:
        return "document"
    kind = KINDS.get(str(entry.get("_resourceType", "")).lower())
    media = str(entry["response"].get("content", {}).get("mimeType", "")).lower()
    found = (one for part, one in TYPES.items() if part in media)
    return kind or next(found, "data")


def times_of_servers(objects: list[Object], entries: list[dict[str, Any]]) -> None:
    """Set the times of servers: waits for first bytes less a round trip of the host."""
    trips: dict[str, float] = {}
    for entry in entries:
        timings = times(entry)
        connect = timings["connect"] - timings["ssl"]
        if is_quic(entry):
            # The set-up of QUIC has TLS in it, and takes one round trip.
            connect = timings["connect"]
        host = urlsplit(entry.get("request", {}).get("url", "")).netloc
        if connect > 0:
            trips[host] = min(connect, trips.get(host, connect))
    usual = min(trips.values(), default=0.0)
    for one in objects:
        trip = trips.get(one.host, usual)
        idle = max(one.first_ms - one.sent_ms - trip, 0.0)
        if one.is_multiplexed and idle:
            idle -= busy_ms(objects, one, trip)
        one.server_ms = round(idle)


def name_origins(objects: list[Object]) -> None:
    """Name groups of connections by their hosts, and number those of hosts with several."""
    groups: dict[str, list[str]] = {}
    for one in objects:
        known = groups.setdefault(one.host, [])
        if one.origin not in known:
            known.append(one.origin)
        place = known.index(one.origin)
        one.origin = f"{one.host} {place + 1}" if place else one.host


def is_quic(entry: dict[str, Any]) -> bool:
    """True if the answer came over HTTP/3."""
    version = str(entry.get("response", {}).get("httpVersion", "")).lower()
    return version in MULTIPLEXED and "3" in version


def busy_ms(objects: list[Object], one: Object, trip: float) -> float:
    """Time of a wait for a first byte in which the connection was busy with other answers.

    It is busy for a round trip after each of them, too: a sender whose window is full pauses.
    """
    busy, until = 0.0, one.sent_ms + trip
    others = [other for other in objects if other.origin == one.origin and other is not one]
    for other in sorted(others, key=lambda other: other.first_ms):
        start, end = max(other.first_ms, until), min(other.end_ms + trip, one.first_ms)
        if end > start:
            busy, until = busy + end - start, end
    return busy


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
    """Set the dependencies of each object but the first. Returns the number of guesses."""
    guessed = 0
    for number, one in enumerate(objects[1:], 1):
        before = objects[:number]
        # What came after a request is not its reason, even if the archive names it.
        by_url = {other.url: other for other in before if other.first_ms <= one.start_ms}
        known = next((by_url[url] for url in noted.get(one.url, []) if url in by_url), None)
        if known is None:
            guessed += 1
            texts = [other for other in before if other.kind in TEXTS]
            known = last_ended(texts, 0.0, one.start_ms) or before[0]
        if known.end_ms > one.start_ms:
            delay = round(max(one.start_ms - known.first_ms, 0.0))
            one.after = [After(known.name, "first-byte", delay)]
        else:
            holders = [other for other in objects if other.kind in HOLDERS and other is not known]
            later = last_ended(holders, known.end_ms, one.start_ms)
            one.after = [After(known.name, "done", 0)] if later else []
            one.after.append(done(later or known, one.start_ms))
        held = held_by(objects, one)
        if held and all(after.object != held.name for after in one.after):
            one.after.append(done(held, one.sent_ms))
    return guessed


def last_ended(objects: list[Object], after: float, until: float) -> Object | None:
    """The object that ended last in a time, if there is one."""
    ended = [other for other in objects if after < other.end_ms <= until]
    return max(ended, key=lambda other: other.end_ms, default=None)


def done(one: Object, until: float) -> After:
    """The dependency on the end of an object, and the time from then."""
    return After(one.name, "done", round(until - one.end_ms))


def held_by(objects: list[Object], one: Object) -> Object | None:
    """The object that ended last before a request left that the browser held back, if it did."""
    if not one.is_multiplexed or one.opens:
        return None
    stands = [other.sent_ms for other in objects if other.origin == one.origin and other.opens]
    from_then = max([one.start_ms, *stands[:1]])
    return last_ended(objects, from_then, one.sent_ms)
