"""The libraries of figures on pages: all of Vega as one JavaScript text.

vl-convert bundles it from its parts, which takes longer than everything else in a page. So the
text of each of its versions is kept in the cache of the user. A text that is damaged is made again,
and where nothing can be kept it is made each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

EVERYTHING: Any = None
"""The snippet for which vl-convert bundles all of Vega, though its stub has no such."""


def vega() -> str:
    """All of Vega in JavaScript. Equal versions of vl-convert give equal text."""
    place = kept_at()
    kept = read(place)
    if kept is not None:
        return kept
    import vl_convert

    made: str = vl_convert.javascript_bundle(EVERYTHING)
    # Without a place that can be written, the next page makes it again.
    with contextlib.suppress(OSError):
        keep(place, made)
    return made


def kept_at() -> Path:
    """The file of this version in the cache of the user."""
    import platformdirs

    name = f"vega-{version('vl-convert-python')}.js"
    return platformdirs.user_cache_path("bentpipe", appauthor=False) / name


def keep(place: Path, text: str) -> None:
    """Write the text after its checksum, in one step: several reports may be made at once."""
    place.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=place.parent, prefix=place.name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(f"{checksum(text)}\n{text}".encode())
        Path(name).replace(place)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def read(place: Path) -> str | None:
    """The text that was kept; None if there is none, or not all of it."""
    try:
        kept, _, text = place.read_bytes().decode().partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if kept == checksum(text) else None


def checksum(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
