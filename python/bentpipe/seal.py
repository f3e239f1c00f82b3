"""Checksums in the JSON files of results, which show damage and files of other results."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY = "checksum"
"""The key of the SHA-256 of the rest."""


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The same with its checksum as the last key."""
    return {**content, KEY: checksum(content)}


def is_whole(content: Mapping[str, Any]) -> bool:
    """True if the content has the checksum that it was sealed with, or none."""
    return KEY not in content or content[KEY] == checksum(content)


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of all values but the checksum itself, however the file is indented and ordered."""
    rest = {key: value for key, value in content.items() if key != KEY}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
