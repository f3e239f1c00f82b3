#!/usr/bin/env python3
"""Builds the manual as a site: `website.py [FOLDER]`, by default `out/site`.

The pages are those of `docs`, those beside the code (one for each controller and mechanism), those
of the papers, one for each table of the scenario language, and one for each file that a page links.
Figures of controllers are made here, by runs of an example. A page that links what does not exist
is an error. Nothing on a page is loaded from another host.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import behaviour
import bentpipe
import pages

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from bentpipe.plots import Figure

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "out" / "site"
BUILD = ROOT / ".cache" / "site"
"""Sources of the site, made from those of the repository."""

ASSETS = ROOT / "docs" / "assets"
"""Files that `mkdocs.yml` names: search without a server, and what the theme lacks for access."""
EXAMPLE = ROOT / "examples" / "lossy-geo.toml"
"""Scenario of the first figure, and of those of controllers."""

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#{2,7}) (.*)$", re.MULTILINE)
NAME = re.compile(r"`\[*([\w.]+)\]*`(?:: (.*))?")
TITLE = re.compile(r"\A# (.*)$", re.MULTILINE)
NOT_IN_SLUGS = re.compile(r"[^\w\- ]")
LANGUAGES = {".py": "python", ".toml": "toml", ".service": "ini", ".rs": "rust"}
"""Languages of files by their ends. Data has none, because marks would make a page of it huge."""

USE: list[tuple[str, list[str]]] = [
    ("Tutorials", ["getting-started.md", "leo.md", "notebooks"]),
    (
        "How to",
        [
            "lab.md", "compare.md", "evaluate.md", "experience.md", "studies.md", "reports.md",
            "captures.md", "pages.md", "beam.md", "orbit.md", "traces.md", "rain.md", "kernel.md",
            "deploy.md", "proxy.md", "packages.md", "python.md", "python-controllers.md",
            "from-other-tools.md", "troubleshooting.md",
        ],
    ),
    (
        "Explanation",
        [
            "traps.md", "channels.md", "applications.md", "tunnels.md", "switches.md",
            "transport.md", "quic.md", "sctp.md", "stp.md", "xtp.md", "path-hints.md",
            "glossary.md", "limits.md",
        ],
    ),
    ("Reference", ["scenario", "controllers", "mechanisms", "hosts", "recording.md", "api"]),
    (
        "Evidence",
        [
            "reproductions.md", "papers", "fidelity.md", "agreement.md", "emulators.md",
            "kernel-replay.md",
        ],
    ),
    (
        "Development",
        [
            "contributing.md", "architecture.md", "decisions.md", "adding-a-controller.md",
            "performance.md", "mutants.md", "nightly.md", "changelog.md", "all.md", "readme.md",
            "files",
        ],
    ),
]  # fmt: skip
"""The navigation: a page, or a folder with all of its pages."""

FIRST = {
    "api": "api.md",
    "controllers": "controllers.md",
    "hosts": "hosts.md",
    "mechanisms": "path.md",
    "scenario": "scenario.md",
}
"""Pages of `docs` that are the first ones of a folder."""


@dataclass(frozen=True)
class Source:
    """A page of the site."""

    file: Path
    """Where its text stands, to which its links are relative."""
    text: str


def slug(heading: str) -> str:
    """The anchor of a heading, as forges and the site make it."""
    return NOT_IN_SLUGS.sub("", heading.strip().lower()).replace(" ", "-")


def addresses() -> dict[Path, str]:
    """The pages of the repository, and where they are on the site."""
    found = {file: file.name for file in sorted((ROOT / "docs").glob("*.md"))}
    found |= {ROOT / "docs" / name: f"{folder}/index.md" for folder, name in FIRST.items()}
    found |= {
        ROOT / "docs" / "README.md": "all.md",
        ROOT / "README.md": "readme.md",
        ROOT / "CONTRIBUTING.md": "contributing.md",
        ROOT / "CHANGELOG.md": "changelog.md",
    }
    for folder, *crates in (("controllers", "congestion"), ("mechanisms", "link", "middlebox")):
        for crate in crates:
            for file in sorted((ROOT / "crates" / crate / "src").rglob("*.md")):
                found[file] = f"{folder}/{file.name}"
    for file in sorted((ROOT / "python/bentpipe/reproductions").glob("*/README.md")):
        found[file] = f"papers/{file.parent.name}.md"
    if len(set(found.values())) < len(found):
        raise ValueError("two pages have one address")
    return found


def tables_of_scenarios(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """The reference of scenarios as one page for each table, and where its anchors are now."""
    parts = HEADING.split(text)
    texts = {"scenario/index.md": parts[0]}
    anchors = {}
    seen: dict[str, int] = {}
    for _, heading, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        anchor = slug(heading)
        number = seen[anchor] = seen.get(anchor, -1) + 1
        anchor += f"-{number}" if number else ""
        named = NAME.fullmatch(heading)
        if named is None:
            texts["scenario/index.md"] += f"## {heading}{body}"
            anchors[anchor] = f"scenario/index.md#{slug(heading)}"
            continue
        address = f"scenario/{named[1]}.md"
        anchors[anchor] = address
        if address not in texts:
            texts[address] = f"# `{named[1]}`\n\n{parent_of(named[1])}"
        if named[2]:
            texts[address] += f"## {named[2]}\n"
            anchors[anchor] = f"{address}#{slug(named[2])}"
        texts[address] += body
    for address in texts:
        inner = [one for one in texts if is_inside(one, address)]
        if inner:
            links = ", ".join(f"[`{Path(one).stem}`]({Path(one).name})" for one in inner)
            texts[address] = f"{texts[address].rstrip()}\n\nTables inside: {links}.\n"
    return texts, anchors


def names_of_api(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """The reference of Python as one page for each name, and where its anchors are now."""
    parts = HEADING.split(text)
    texts = {"api/index.md": parts[0]}
    anchors = {}
    for marks, heading, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        name = heading.strip("`")
        if marks == "##":
            texts["api/index.md"] += f"## {heading}{body.rstrip()}\n\n"
            anchors[slug(heading)] = f"api/index.md#{slug(heading)}"
            continue
        address = f"api/{name.lower()}.md"
        if address in texts:
            address = f"api/{name.lower()}-{sum(one.startswith(address[:-3]) for one in texts)}.md"
        first = body.partition("```\n\n")[2].partition(".\n")[0].partition("\n\n")[0]
        about = " ".join(first.split()).partition(". ")[0].rstrip(".")
        texts["api/index.md"] += f"- [`{name}`](../{address}){f': {about}' * bool(about)}\n"
        texts[address] = f"# `{name}`\n\nPart of the [API reference](../api/index.md).\n{body}"
        anchors[slug(heading)] = address
    return texts, anchors


def parent_of(table: str) -> str:
    """A line with a link to the table around a table."""
    around = table.rpartition(".")[0]
    link = f"[`{around}`]({around}.md)" if around else "[the scenario](index.md)"
    return f"A table of {link}.\n"


def is_inside(page: str, around: str) -> bool:
    """Whether a table stands directly inside of another one."""
    table, outer = Path(page).stem, Path(around).stem
    if table == "index":
        return False
    return table.rpartition(".")[0] == ("" if outer == "index" else outer)


def declared() -> dict[str, str]:
    """What the code declares of controllers and mechanisms, by the address of the page."""
    found: dict[str, str] = {}
    own = pages.pages("congestion/src")
    for one in bentpipe.controllers():
        address = f"controllers/{own[one.name].name}"
        rows = [
            ("source", one.source),
            ("status", one.status),
            ("recovery", f"`{one.recovery}`"),
            ("keys", f"[`flow.controller`](../scenario/flow.controller.md#{slug(one.name)})"),
        ]
        found[address] = found.get(address, "") + section(one.name, rows)
    own = pages.pages("link/src", "middlebox/src")
    for each in bentpipe.mechanisms():
        address = f"mechanisms/{own[each.name].name}"
        rows = [
            ("kind", each.kind),
            ("key", f"`{each.key}`"),
            ("source", each.source),
            ("status", each.status),
            ("hurts", each.hurts),
        ]
        found[address] = found.get(address, "") + section(each.name, rows)
    return found


def section(name: str, rows: Iterable[tuple[str, str]]) -> str:
    """A section with a table of two columns."""
    lines = [f"| {key} | {value} |" for key, value in rows if value]
    return "\n".join(
        [f"\n## What the code declares of `{name}`\n", "| | |", "|---|---|", *lines, ""]
    )


def first_figure() -> Figure:
    """The figure of the first page."""
    scenario = bentpipe.Scenario.load(EXAMPLE)
    jobs = [(scenario.with_({"flow.0.controller": name}), 1) for name in ("newreno", "hybla")]
    return bentpipe.plot(bentpipe.run_many(jobs), "cwnd")


def windows(folder: Path, wanted: Callable[[str], bool]) -> dict[str, str]:
    """Makes figures of controllers in `folder`; the paragraph for each, by its name."""
    scenario = bentpipe.Scenario.load(EXAMPLE)
    known = (one.name for one in bentpipe.controllers())
    names = ["newreno", *(name for name in known if name != "newreno" and wanted(name))]
    jobs = [(scenario.with_({"flow.0.controller": name}), 1) for name in names]
    runs = dict(zip(names, bentpipe.run_many(jobs), strict=True))
    folder.mkdir(parents=True, exist_ok=True)
    texts = {}
    with_routers = {one.name for one in bentpipe.mechanisms() if one.key == "link.feedback"}
    for name, run in runs.items():
        both = [run] if name == "newreno" else [runs["newreno"], run]
        bentpipe.plot(both, "cwnd").save(folder / f"{name}.svg")
        goodput = run.flows["goodput_bps"][0] / 1e6
        beside = "" if name == "newreno" else " beside `newreno`, with the same losses"
        texts[name] = (
            f"\n![Congestion window of {name} over time](../images/controllers/{name}.svg)\n\n"
            f"`{name}`{beside}: [an example](../../examples/lossy-geo.toml) over a geostationary "
            f"link of 10 Mbit/s that loses one packet in a thousand. Its goodput in this run is "
            f"{goodput:.2f} Mbit/s.\n"
        )
        if name in with_routers:
            texts[name] += (
                f"\nNo router of this example has `{name}`, so this is what the controller does "
                "without one.\n"
            )
    return texts


def notebook(file: Path) -> str:
    """The text and the code of a notebook."""
    parts = []
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(f"```python\n{source}\n```" if cell["cell_type"] == "code" else source)
    return "\n\n".join(parts) + "\n"


def shown(file: Path) -> str:
    """A page that shows a file."""
    language = LANGUAGES.get(file.suffix, "text")
    text = file.read_text(encoding="utf-8").rstrip()
    return f"# {file.relative_to(ROOT)}\n\n````{language}\n{text}\n````\n"


class Website:
    """The pages of the site while they are made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.addresses = addresses()
        self.anchors: dict[Path, dict[str, str]] = {}
        self.sources = {
            address: Source(file, file.read_text(encoding="utf-8"))
            for file, address in self.addresses.items()
        }
        # The links of a part are those of the site already.
        for name, split in (("scenario", tables_of_scenarios), ("api", names_of_api)):
            reference = ROOT / "docs" / f"{name}.md"
            parts, self.anchors[reference] = split(reference.read_text(encoding="utf-8"))
            self.sources |= {address: Source(reference, text) for address, text in parts.items()}

    def write(self, figures_of: Collection[str] | None = None) -> None:
        """Writes all pages, and those that they link, with figures: all, or those of these names.

        Names are those of controllers, mechanisms and profiles of hosts.
        """

        def wanted(name: str) -> bool:
            return figures_of is None or name in figures_of

        images = self.folder / "images"
        extras = declared()
        for folder, crates, figures in (
            ("controllers", ("congestion/src",), windows(images / "controllers", wanted)),
            (
                "mechanisms",
                ("link/src", "middlebox/src"),
                behaviour.of_mechanisms(images / "mechanisms", wanted),
            ),
        ):
            own = pages.pages(*crates)
            for name, text in figures.items():
                address = f"{folder}/{own[name].name}"
                extras[address] = text + extras.get(address, "")
        for name, text in behaviour.of_hosts(images / "hosts", wanted).items():
            self.sources[f"hosts/{name}.md"] = Source(ROOT / "docs/x/x.md", text)
        shutil.copytree(ASSETS, self.folder / "assets", dirs_exist_ok=True)
        done: set[str] = set()
        while todo := [address for address in self.sources if address not in done]:
            for address in todo:
                done.add(address)
                source = self.sources[address]
                text = self.linked(source, address)
                if address in extras:
                    text += self.linked(Source(ROOT / "docs/x/x.md", extras[address]), address)
                target = self.folder / address
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")

    def linked(self, source: Source, address: str) -> str:
        """The text of a page with the links of the site. Code stays as it is."""
        text, begin = "", 0
        for fence in [*FENCE.finditer(source.text), None]:
            end = fence.start() if fence else len(source.text)
            text += LINK.sub(lambda one: self.link(one, source, address), source.text[begin:end])
            if fence:
                text += fence[0]
                begin = fence.end()
        return text

    def link(self, found: re.Match[str], source: Source, address: str) -> str:
        """A link or an image of a page of the repository as it is on the site."""
        image, text, link = found.groups()
        if "://" in link or link.startswith(("#", "mailto:")):
            return found[0]
        path, _, anchor = link.partition("#")
        target = Path(os.path.normpath(source.file.parent / path))
        if not target.exists():
            on_site = Path(os.path.normpath(Path(address).parent / path)).as_posix()
            made = on_site in self.sources or (self.folder / on_site).exists()
            return found[0] if made else f"{image}[{text}]({link})"
        if target.is_dir():
            return text
        to = self.address_of(target, bool(image))
        if target in self.anchors and anchor:
            to, _, anchor = self.anchors[target][anchor].partition("#")
        relative = os.path.relpath(to, Path(address).parent)
        return f"{image}[{text}]({relative}{'#' if anchor else ''}{anchor})"

    def address_of(self, file: Path, is_image: bool) -> str:
        """Where a file is on the site, which gets a page for it if it has none."""
        if file in self.addresses:
            return self.addresses[file]
        inside = file.relative_to(ROOT)
        if is_image:
            address = Path("images", *inside.parts[-2:]).as_posix()
            target = self.folder / address
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            return address
        if file.suffix == ".ipynb":
            address, text = f"notebooks/{file.stem}.md", notebook(file)
        else:
            address, text = f"files/{'/'.join(inside.parts)}.md", shown(file)
        self.addresses[file] = address
        self.sources[address] = Source(file, text)
        return address

    def navigation(self) -> list[Any]:
        """All pages, in the order of `USE`."""
        entries: list[Any] = [{"Bentpipe": "index.md"}]
        for title, names in USE:
            section = []
            for name in names:
                if name.endswith(".md"):
                    section.append(self.entry(name))
                    continue
                inside = sorted(one for one in self.sources if one.startswith(f"{name}/"))
                inside.sort(key=lambda one: one != f"{name}/index.md")
                section.append({name.capitalize(): [self.entry(one) for one in inside]})
            entries.append({title: section})
        return entries

    def entry(self, address: str) -> Any:
        """A page with its title, without marks of code."""
        title = TITLE.search(self.sources[address].text)
        if address.endswith("/index.md"):
            return address
        name = title[1].replace("`", "") if title else Path(address).stem
        return {name: address}


def build(site: Path) -> int:
    """Builds the site; a link that leads nowhere is an error. Returns the exit status."""
    shutil.rmtree(BUILD, ignore_errors=True)
    website = Website(BUILD / "docs")
    website.write()
    return render(BUILD, site, ["--strict"], website.navigation())


def render(folder: Path, site: Path, options: list[str], navigation: list[Any]) -> int:
    """Makes HTML of the pages in `docs` of a folder. Returns the exit status of MkDocs."""
    config = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "docs_dir": str(folder / "docs"),
        "site_dir": str(site),
        "nav": navigation,
        "strict": "--strict" in options,
    }
    file = folder / "mkdocs.yml"
    # JSON is YAML.
    file.write_text(json.dumps(config), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "--quiet", "build", *options, "--config-file"]
    # A notice of its theme about another program, and not about the site.
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run([*command, str(file)], env=quiet, check=False).returncode


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", metavar="FOLDER", type=Path, default=SITE)
    sys.exit(build(parser.parse_args().folder.absolute()))
