"""Makes the figures of `docs/images`: `images.py [NAME...]`, by default all that are drawn by runs.

Each is drawn by a command or a snippet of the manual. A test draws them again, and fails for a
figure that is stale. `SCREENS` are made in Chromium, when they are named. `ELSEWHERE` names others.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import website
from bentpipe.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "images"
SNIPPET = re.compile(r"```python\n(.*?)```", re.DOTALL)
FADE = ("compare", "--link", "geo-ka", "--workload", "fade")
PAPER = ("papers", "run", "adalr")
ELSEWHERE = {
    "fidelity.png": "`make fidelity`, on a kernel",
    "performance.svg": "`make profile`, with callgrind",
    "report.png": "`bentpipe report`, and a screenshot of the page",
}
SCREEN = (1400, 860)
DRAWN = "() => document.querySelectorAll('#differences tbody tr').length > 3"


def bentpipe(folder: Path, *words: str) -> None:
    """Run a command in a folder."""
    command = [sys.executable, "-m", "bentpipe", *words]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def window(_: Path) -> str:
    """The figure of the first page."""
    return website.first_figure().svg


def rain_event(folder: Path) -> str:
    """The figure that a snippet of docs/rain.md saves."""
    text = (ROOT / "docs" / "rain.md").read_text(encoding="utf-8")
    (snippet,) = (one for one in SNIPPET.findall(text) if "rain-event" in one)
    command = [sys.executable, "-c", snippet]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return (folder / "rain-event.svg").read_text(encoding="utf-8")


def compare_fade(folder: Path) -> str:
    """Goodput of all controllers under a rain fade, of the page of a comparison."""
    bentpipe(folder, *FADE, "--out", "compared")
    bentpipe(folder, "report", "compared", "--figures", "figures")
    return (folder / "figures" / "fade-ranking.svg").read_text(encoding="utf-8")


def adalr_goodput(folder: Path) -> str:
    """The goodput of the first experiment of a paper."""
    bentpipe(folder, *PAPER, "--out", "papers")
    return (folder / "papers/adalr/ftp-no-loss-goodput.svg").read_text(encoding="utf-8")


MAKERS: dict[str, Callable[[Path], str]] = {
    "adalr-goodput.svg": adalr_goodput,
    "compare-fade.svg": compare_fade,
    "rain-event.svg": rain_event,
    "window.svg": window,
}


def live_page(target: Path) -> None:
    """A screenshot of `bentpipe lab` with a link that loses packets."""
    from playwright.sync_api import sync_playwright

    with Lab("geo-lossy", controllers=["cubic", "bbr3", "hybla"]) as lab, sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        width, height = SCREEN
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
        page.goto(lab.address)
        page.wait_for_function(DRAWN)
        page.wait_for_timeout(1000)
        page.screenshot(path=target)
        browser.close()


SCREENS: dict[str, Callable[[Path], None]] = {"lab.png": live_page}
QUICK = ("rain-event.svg", "window.svg")
"""Those that take seconds."""


def drawn(name: str) -> str:
    """The figure as it is drawn today. A process numbers the parts of its drawings otherwise."""
    with tempfile.TemporaryDirectory(prefix="bentpipe-") as folder:
        return plain(MAKERS[name](Path(folder)))


def plain(svg: str) -> str:
    """The drawing with parts that are numbered in their order."""
    numbers: dict[str, str] = {}
    return re.sub(
        r"(clip|gradient)_?\d+", lambda one: numbers.setdefault(one[0], f"part{len(numbers)}"), svg
    )


if __name__ == "__main__":
    for name in sys.argv[1:] or MAKERS:
        if name in SCREENS:
            SCREENS[name](FOLDER / name)
        else:
            (FOLDER / name).write_text(drawn(name), encoding="utf-8")
