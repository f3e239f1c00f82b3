"""Entries of HTTP archives (HAR 1.2): each field that an import reads, with a checked value.

A field that is null counts as one that is missing. Any other value of the wrong type, or beyond
what a page of a scenario can have, is an `InputError` with its place, such as
`log.entries[3].timings.wait`.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bentpipe.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_MS = 3_600_000
"""The longest time of an object in a scenario, 1h."""
LARGEST_BYTES = 10_000_000_000
"""The largest object in a scenario, 10GB."""
TIMINGS = ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")
MOST_SHOWN = 40
"""Characters of a value in an error."""


@dataclass(frozen=True)
class Entry:
    """A request and its answer. Times are in milliseconds, and 0 without a value."""

    start_ms: float
    url: str
    scheme: str
    host: str
    path: str
    status: int
    version: str
    """Version of HTTP in lower case."""
    header: float
    """Bytes, as those below; 0 or less without a value."""
    body: float
    transferred: float | None
    content: float
    has_size: bool
    """True if the archive has a size of the answer."""
    media: str
    """Media type in lower case."""
    timings: dict[str, float]
    has_timings: bool
    """True if the archive has a time of the request."""
    has_blocked: bool
    """True if the archive has the time that the request waited for a connection."""
    resource: str
    """Type of resource of the browser in lower case."""
    connection: str
    from_cache: bool
    initiators: tuple[str, ...]
    """URLs of the scripts and documents that requested it, the direct initiator first."""


class Table:
    """A table of an archive and its place. What is missing or null is empty."""

    def __init__(self, file: Path, place: str, values: Any) -> None:
        self.file = file
        self.place = place
        if values is not None and not isinstance(values, dict):
            raise refused_at(file, place, "a table", values)
        self.values: dict[str, Any] = values or {}

    def refused(self, key: str, expected: str) -> InputError:
        """The error of the value of a key."""
        return refused_at(self.file, f"{self.place}.{key}", expected, self.values.get(key))

    def table(self, key: str) -> Table:
        """The table of a key."""
        return Table(self.file, f"{self.place}.{key}", self.values.get(key))

    def tables(self, key: str) -> list[Table]:
        """The tables in the list of a key."""
        found = self.values.get(key)
        if found is not None and not isinstance(found, list):
            raise self.refused(key, "a list")
        place = f"{self.place}.{key}"
        return [Table(self.file, f"{place}[{n}]", one) for n, one in enumerate(found or ())]

    def text(self, key: str) -> str:
        """The text of a key."""
        found = self.values.get(key)
        if found is not None and not (isinstance(found, str) and is_whole(found)):
            raise self.refused(key, "a text")
        return found or ""

    def number(self, key: str, most: int, unit: str) -> float | None:
        """The number of a key; negative numbers stand for none in archives, and are valid."""
        found = self.values.get(key)
        if found is None:
            return None
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        if not (is_number and abs(found) <= most):  # not true for NaN either
            raise self.refused(key, f"a number of at most {most:,} {unit}".rstrip())
        return float(found)


def refused(file: Path, expected: str, found: str) -> InputError:
    """The error of a file as a whole."""
    return InputError(f"{file}: expected {expected}, found {found}", str(file))


def refused_at(file: Path, place: str, expected: str, found: Any) -> InputError:
    """The error of one value."""
    return InputError(f"{file}: {place}: expected {expected}, found {shown(found)}", str(file))


def shown(value: Any) -> str:
    """A value of JSON, cut if it is long."""
    text = json.dumps(value)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."


def is_whole(text: str) -> bool:
    """Returns true for a text that UTF-8 can encode: without a half of a surrogate pair."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def log_of(file: Path) -> Table:
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
    except RecursionError as error:
        raise refused(file, "an HTTP archive", "lists in lists without an end") from error
    except ValueError as error:
        raise refused(file, "an HTTP archive", "a number with thousands of digits") from error
    log = content.get("log") if isinstance(content, dict) else None
    if not isinstance(log, dict):
        raise refused(file, "an HTTP archive with a `log`", "JSON without one")
    return Table(file, "log", log)


def load_ms(log: Table) -> float | None:
    """The time until the load event of the first page, if the archive has it."""
    first = [page.table("pageTimings") for page in log.tables("pages")[:1]]
    found = [times.number("onLoad", LONGEST_MS, "ms") for times in first]
    return found[0] if found and found[0] and found[0] > 0 else None


def entry_of(table: Table) -> Entry:
    """One entry with its checked fields."""
    request, response = table.table("request"), table.table("response")
    content, timings = response.table("content"), table.table("timings")
    scheme, host, path = parts_of(request)
    header, body, transferred = (
        response.number(key, LARGEST_BYTES, "bytes")
        for key in ("headersSize", "bodySize", "_transferSize")
    )
    size = content.number("size", LARGEST_BYTES, "bytes")
    times = {name: timings.number(name, LONGEST_MS, "ms") for name in TIMINGS}
    return Entry(
        start_ms=start_of(table),
        url=request.text("url"),
        scheme=scheme,
        host=host,
        path=path,
        status=int(response.number("status", 999, "") or 0),
        version=response.text("httpVersion").lower(),
        header=header or 0,
        body=body or 0,
        transferred=transferred,
        content=size or 0,
        has_size=any(one is not None and one >= 0 for one in (body, transferred, size)),
        media=content.text("mimeType").lower(),
        timings={name: max(time or 0.0, 0.0) for name, time in times.items()},
        has_timings=any(time is not None and time >= 0 for time in times.values()),
        has_blocked="blocked" in timings.values,
        resource=table.text("_resourceType").lower(),
        connection=connection_of(table),
        from_cache=is_from_cache(table),
        initiators=tuple(initiators_of(table)),
    )


def start_of(table: Table) -> float:
    """The start of an entry in milliseconds; without a time zone it is UTC."""
    text = table.text("startedDateTime")
    try:
        began = dt.datetime.fromisoformat(text)
    except ValueError:
        raise table.refused("startedDateTime", "a time of ISO 8601") from None
    zoned = began if began.tzinfo else began.replace(tzinfo=dt.UTC)
    return zoned.timestamp() * 1e3


def parts_of(request: Table) -> tuple[str, str, str]:
    """The scheme, the host with its port, and the path of the URL of a request."""
    try:
        parts = urlsplit(request.text("url"))
    except ValueError:
        raise request.refused("url", "a URL") from None
    if parts.scheme in ("http", "https") and not parts.netloc:
        raise request.refused("url", "a URL with a host")
    return parts.scheme, parts.netloc, parts.path


def connection_of(table: Table) -> str:
    """The name of a connection, which some archives have as a number."""
    found = table.values.get("connection")
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return table.text("connection")


def is_from_cache(table: Table) -> bool:
    """True for an answer from a cache, which archives mark with its name or as true."""
    found = table.values.get("_fromCache")
    return found if isinstance(found, bool) else bool(table.text("_fromCache"))


def initiators_of(table: Table) -> list[str]:
    """URLs of the initiators of an entry, the direct one first (`_initiator` of Chromium).

    Other programs than Chromium write a text there, which is not read.
    """
    if isinstance(table.values.get("_initiator"), str):
        return []
    noted = table.table("_initiator")
    urls = [noted.text("url")]
    stack = noted.table("stack")
    while stack.values:
        urls += [frame.text("url") for frame in stack.tables("callFrames")]
        stack = stack.table("parent")
    return [url for url in urls if url]
