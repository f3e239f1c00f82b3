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

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bentpipe.pages.entries import entry_of, load_ms, log_of, refused

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.pages.entries import Entry

POLL_MS = 30_000
"""Requests that begin later than this after the one before belong to no load."""
SWITCHED = 101
"""The status of a connection that becomes one of another protocol, such as a WebSocket."""
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
    has_size: bool = True
    """True if the archive has its size."""
    has_timings: bool = True
    """True if the archive has a time of its request."""
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

    Raises `InputError` if it cannot be read, is cut, is no archive, has a value that no page can
    have, or has no request that was answered.
    """
    log = log_of(file)
    entries = [entry_of(table) for table in log.tables("entries")]
    if not entries:
        raise refused(file, "an archive with entries", "none")
    left_out: Counter[str] = Counter()
    objects: list[Object] = []
    for number, entry in enumerate(sorted(entries, key=lambda one: one.start_ms)):
        reason = why_not(entry, objects)
        if reason:
            left_out[reason] += 1
        else:
            objects.append(object_of(entry, number, objects))
    if not objects:
        raise refused(file, "a request with an answer", "none")
    times_of_servers(objects, entries)
    name_origins(objects)
    guessed = depend(objects, initiators(entries))
    load = load_ms(log)
    return Archive(
        title=f"{objects[0].url} of {file.name}",
        objects=objects,
        guessed=guessed,
        load_s=None if load is None else load / 1e3,
        left_out=dict(left_out),
        preconnect=1 + opened_ahead(objects),
    )


def why_not(entry: Entry, objects: list[Object]) -> str:
    """Why an entry is no object of the load; empty if it is one."""
    if entry.scheme not in ("http", "https"):
        return "without HTTP"
    if entry.status <= 0 or entry.status == SWITCHED:
        return "without an answer"
    if entry.from_cache or entry.transferred == 0:
        return "from the cache"
    if objects and entry.start_ms > objects[-1].end_ms + POLL_MS:
        return "long after the load"
    return ""


def object_of(entry: Entry, number: int, known: list[Object]) -> Object:
    """The object of an entry."""
    timings, start = entry.timings, entry.start_ms
    # The time of TLS is a part of that of the connection.
    sent = start + sum(timings[part] for part in ("blocked", "dns", "connect", "send"))
    kind = kind_of(entry, not known)
    is_multiplexed = entry.version in MULTIPLEXED
    opens = timings["connect"] > 0
    origin = group_of(entry, kind, is_multiplexed, known)
    if not entry.has_blocked and is_multiplexed and not opens:
        # Playwright does not write the wait for a connection.
        stands = (one.sent_ms for one in known if one.origin == origin and one.opens)
        sent = max(sent, next(stands, sent))
    first = sent + timings["wait"]
    return Object(
        name=name_of(entry, number, known),
        url=entry.url,
        origin=origin,
        host=entry.host,
        kind=kind,
        bytes=size_of(entry),
        start_ms=start,
        sent_ms=sent,
        first_ms=first,
        end_ms=first + timings["receive"],
        is_multiplexed=is_multiplexed,
        opens=opens,
        connection=entry.connection,
        has_size=entry.has_size,
        has_timings=entry.has_timings,
    )


def name_of(entry: Entry, number: int, known: list[Object]) -> str:
    """The last part of the path of an entry, with a number if another object has it."""
    last = entry.path.rstrip("/").rpartition("/")[2][-40:] or "index"
    taken = {one.name for one in known}
    name = last
    while name in taken:
        name, number = f"{last}-{number}", number + 1
    return name


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


def size_of(entry: Entry) -> int:
    """Bytes of the content of an answer on the wire, at least one."""
    sizes = (entry.body, (entry.transferred or 0) - max(entry.header, 0), entry.content)
    return max(int(next((size for size in sizes if size > 0), 1)), 1)


def group_of(entry: Entry, kind: str, is_multiplexed: bool, known: list[Object]) -> str:
    """The host of an entry, or a name for its group of connections if the host has several."""
    if is_multiplexed and entry.connection:
        return f"{entry.host} {entry.connection}"
    is_apart = kind == "font" and bool(known) and known[0].host != entry.host
    return f"{entry.host} without credentials" if is_apart else entry.host


def kind_of(entry: Entry, is_first: bool) -> str:
    """The kind of an object, by the browser's type or by the media type."""
    if is_first:
        return "document"
    found = (one for part, one in TYPES.items() if part in entry.media)
    return KINDS.get(entry.resource) or next(found, "data")


def times_of_servers(objects: list[Object], entries: list[Entry]) -> None:
    """Set the times of servers: waits for first bytes less a round trip of the host."""
    trips: dict[str, float] = {}
    for entry in entries:
        timings = entry.timings
        connect = timings["connect"] - timings["ssl"]
        if is_quic(entry):
            # The set-up of QUIC has TLS in it, and takes one round trip.
            connect = timings["connect"]
        if connect > 0:
            trips[entry.host] = min(connect, trips.get(entry.host, connect))
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


def is_quic(entry: Entry) -> bool:
    """True if the answer came over HTTP/3."""
    return entry.version in MULTIPLEXED and "3" in entry.version


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


def initiators(entries: list[Entry]) -> dict[str, list[str]]:
    """The URLs that asked for each URL, the nearest first, as far as the browser has noted them."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        found.setdefault(entry.url, []).extend(entry.initiators)
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
            # Only earlier objects: with zero times, a later one can seem to have ended before.
            holders = [other for other in before if other.kind in HOLDERS and other is not known]
            later = last_ended(holders, known.end_ms, one.start_ms)
            one.after = [After(known.name, "done", 0)] if later else []
            one.after.append(done(later or known, one.start_ms))
        held = held_by(objects, number)
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


def held_by(objects: list[Object], number: int) -> Object | None:
    """The object that ended last before a request left that the browser held back, if it did."""
    one = objects[number]
    if not one.is_multiplexed or one.opens:
        return None
    stands = [other.sent_ms for other in objects if other.origin == one.origin and other.opens]
    from_then = max([one.start_ms, *stands[:1]])
    # Objects with zero times wait for earlier ones only, so that none waits for itself.
    others = [
        other for place, other in enumerate(objects) if place < number or other.end_ms < one.sent_ms
    ]
    return last_ended(others, from_then, one.sent_ms)
