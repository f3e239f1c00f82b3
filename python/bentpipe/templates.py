"""The templates of `bentpipe new`: what each writes, and into which file."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

KINDS = {
    "geo": "a scenario: one geostationary satellite link, a download, and rain if you like",
    "leo": "a scenario: one link over a low orbit, with its hand-overs",
    "vpn": "a scenario: a download through a VPN over a geostationary satellite",
    "study": "a study: controllers over seeds, with statistics",
    "controller": "a congestion controller in Python, or with --rust a crate",
}
LINKS = sorted(
    Path(entry.name).stem
    for entry in (resources.files("bentpipe.compare") / "links").iterdir()
    if entry.name.endswith(".toml") and Path(entry.name).stem not in KINDS
)
"""The built-in links of `bentpipe compare` that have no template of their own."""
FILES = {
    "geo": "geo.toml",
    "leo": "leo.toml",
    "vpn": "vpn.toml",
    "study": "study.toml",
    "controller": "mine.py",
}
FILES |= {name: f"{name}.toml" for name in LINKS}
KINDS |= dict.fromkeys(LINKS, "a scenario: this link of `compare`, with its sources")
