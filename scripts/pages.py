"""Lists in pages of `docs`: path, controllers, hosts, mixes, orbits and traces.

Each mechanism and each controller has a page beside its code, which says how it works. Its source,
its status and when it hurts are declared in the code, and its parameters in the schema. The lists
link the pages, and show what the code declares.
"""

from __future__ import annotations

import re
from pathlib import Path

import bentpipe
from bentpipe import _native
from bentpipe.traces.formats import FORMATS

ROOT = Path(__file__).resolve().parent.parent
PATH = ROOT / "docs" / "path.md"
CONTROLLERS = ROOT / "docs" / "controllers.md"
HOSTS = ROOT / "docs" / "hosts.md"
MIXES = ROOT / "docs" / "applications.md"
ORBIT = ROOT / "docs" / "orbit.md"
TRACES = ROOT / "docs" / "traces.md"
LIST = re.compile(r"<!-- list of (\S+) -->\n.*?<!-- end of list -->", re.DOTALL)
TITLE = re.compile(r"`([^`]+)`")


def pages(*folders: str) -> dict[str, Path]:
    """The pages below these folders by the names in their titles."""
    found = {}
    for folder in folders:
        for page in sorted((ROOT / "crates" / folder).rglob("*.md")):
            title = page.read_text(encoding="utf-8").partition("\n")[0]
            found.update(dict.fromkeys(TITLE.findall(title), page))
    return found


def link(name: str, page: Path) -> str:
    """A link from `docs` to a page."""
    return f"[`{name}`](../{page.relative_to(ROOT)})"


def mechanisms(key: str) -> str:
    """The list of the mechanisms that a key of scenarios takes."""
    own = pages("link/src", "middlebox/src")
    head = ["| name | source | status | hurts |", "|---|---|---|---|"]
    of_key = (one for one in bentpipe.mechanisms() if one.key == key)
    rows = [
        f"| {link(one.name, own[one.name])} | {one.source} | {one.status} | {one.hurts} |"
        for one in of_key
    ]
    return "\n".join(head + rows)


def controllers(_: str) -> str:
    """The list of all controllers."""
    own = pages("congestion/src")
    head = ["| name | summary | status |", "|---|---|---|"]
    rows = [
        f"| {link(one.name, own[one.name])} | {one.summary} | {one.status} |"
        for one in bentpipe.controllers()
    ]
    return "\n".join(head + rows)


def hosts(name: str) -> str:
    """The list of all profiles of hosts, or the values of the profile with this name."""
    known = {one.name: one for one in bentpipe.hosts()}
    if name in known:
        head = ["| key of a flow | value | certainty | source |", "|---|---|---|---|"]
        rows = [
            f"| `{one.name}` | {one.value} | {one.certainty} | {one.source} |"
            for one in known[name].values
        ]
    else:
        head = ["| name | system | status | summary |", "|---|---|---|---|"]
        rows = [
            f"| `{one.name}` | {one.system} | {one.status} | {one.summary} |"
            for one in known.values()
        ]
    return "\n".join(head + rows)


def orbit(name: str) -> str:
    """The list of constellations, or the keys of a file of `bentpipe orbit`."""
    if name == "keys":
        return _native.orbit_reference().strip()
    head = ["| name | satellites | certainty | source | notes |", "|---|---|---|---|---|"]
    rows = [
        f"| `{one.name}` | {one.satellites:,} | {one.certainty} | {one.source} |"
        f" {'; '.join(one.notes)} |"
        for one in bentpipe.constellations()
    ]
    return "\n".join(head + rows)


def traces(_name: str) -> str:
    """The list of forms of files that `bentpipe trace` reads."""
    head = ["| name | content |", "|---|---|"]
    return "\n".join(head + [f"| `{one.name}` | {one.about} |" for one in FORMATS])


def mixes(_name: str) -> str:
    """The list of mixes."""
    head = ["| preset | parts | certainty | source |", "|---|---|---|---|"]
    rows = [
        f"| `{one.name}` | {', '.join(one.parts)} | {one.certainty} | {one.source} |"
        for one in bentpipe.mixes()
    ]
    return "\n".join(head + rows)


MAKERS = {
    PATH: mechanisms,
    CONTROLLERS: controllers,
    HOSTS: hosts,
    MIXES: mixes,
    ORBIT: orbit,
    TRACES: traces,
}


def written(page: Path) -> str:
    """A page of `docs` with its lists as the code has them now."""

    def of(found: re.Match[str]) -> str:
        return f"<!-- list of {found[1]} -->\n{MAKERS[page](found[1])}\n<!-- end of list -->"

    return LIST.sub(of, page.read_text(encoding="utf-8"))
