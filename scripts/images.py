"""Makes the figures of `docs/images`: `images.py [NAME...]`, by default all that are drawn by runs.

Each is drawn by a command or a snippet of the manual. A test draws them again, and fails for a
figure that is stale. `SCREENS` are made in Chromium, when they are named. They are stale when the
results that they show have changed. `ELSEWHERE` names others.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import termios
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import website
from bentpipe.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "images"
SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)
SNIPPET = re.compile(r"```python\n(.*?)```", re.DOTALL)
FADE = ("compare", "--link", "geo-ka", "--workload", "fade")
PAPER = ("papers", "run", "adalr")
ELSEWHERE = {
    "fidelity.png": "`make fidelity`, on a kernel; its digest is in docs/fidelity.json",
    "performance.svg": "`make profile`, with callgrind",
}
QUEUES = (
    "compare", "--link", "geo-ka", "--controllers", "newreno,cubic,hybla,bbr,westwood",
    "--queue", "25,50,100,200", "--replications", "3",
)  # fmt: skip
LOSSY = (
    "compare", "--link", "geo-lossy", "--controllers", "cubic,bbr3,hybla", "--replications", "5"
)  # fmt: skip
COLUMNS = 96
FONT_FACE = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)
WIDTH = 1400
Screen = tuple[bytes, str]
"""A screenshot, and the results that it shows as text."""
SHOWN = FOLDER / "shown.json"
"""Digests of the results in the screenshots, by which a stale one is found."""
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


def on_terminal(folder: Path, *words: str) -> str:
    """What a command prints on a terminal, progress aside."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (40, COLUMNS))
    command = [sys.executable, "-m", "bentpipe", *words]
    # The size of the terminal, and not that of the one in which this program runs.
    others = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        command, cwd=folder, env=others, stdout=theirs, stderr=subprocess.DEVNULL
    )
    os.close(theirs)
    read = bytearray()
    try:
        while piece := os.read(ours, 1 << 16):
            read += piece
    except OSError:
        pass  # Linux says that the other end is closed in this way.
    os.close(ours)
    if process.wait():
        raise subprocess.CalledProcessError(process.returncode, command)
    return read.decode().replace("\r\n", "\n")


def terminal(folder: Path) -> str:
    """A terminal with the answer of a comparison."""
    from rich.console import Console
    from rich.text import Text

    answer = on_terminal(folder, *LOSSY).partition("\nSimulated time")[0].rstrip()
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text(f"$ bentpipe {' '.join(LOSSY)}", "bold"))
    console.print(Text.from_ansi(answer))
    svg = console.export_svg(title="bentpipe compare", unique_id="terminal")
    # The font of the reader's system: pictures request nothing from other hosts.
    return FONT_FACE.sub("", svg).replace("Fira Code", "ui-monospace")


@cache
def leo() -> tempfile.TemporaryDirectory[str]:
    """A folder with the figures of docs/leo.md, whose commands have run in it."""
    made = tempfile.TemporaryDirectory(prefix="bentpipe-")
    text = (ROOT / "docs" / "leo.md").read_text(encoding="utf-8")
    program = f'bentpipe() {{ "{sys.executable}" -m bentpipe "$@"; }}\n'
    script = program + "set -e\n" + "\n".join(SHELL.findall(text))
    subprocess.run(["bash", "-c", script], cwd=made.name, check=True, stdout=subprocess.DEVNULL)
    bentpipe(Path(made.name), "report", "ranked", "--figures", "figures")
    return made


def of_leo(name: str) -> Callable[[Path], str]:
    """A figure of docs/leo.md."""
    return lambda _: Path(leo().name, "figures", name).read_text(encoding="utf-8")


MAKERS: dict[str, Callable[[Path], str]] = {
    "adalr-goodput.svg": adalr_goodput,
    "compare-fade.svg": compare_fade,
    "leo-delay.svg": of_leo("delay.svg"),
    "leo-map.svg": of_leo("map.svg"),
    "leo-ranking.svg": of_leo("bulk-ranking.svg"),
    "leo-rate.svg": of_leo("rate.svg"),
    "rain-event.svg": rain_event,
    "terminal.svg": terminal,
    "window.svg": window,
}


@contextmanager
def chromium(height: int) -> Iterator[Page]:
    """A page of Chromium, light."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser.new_page(
            viewport={"width": WIDTH, "height": height},
            color_scheme="light",
            reduced_motion="reduce",
        )
        browser.close()


def live_page(_: Path) -> Screen:
    """`bentpipe lab` with a link that loses packets."""
    with Lab("geo-lossy", controllers=["cubic", "bbr3", "hybla"]) as lab, chromium(860) as page:
        page.goto(lab.address)
        page.wait_for_function(DRAWN)
        page.wait_for_timeout(1000)
        return page.screenshot(), page.inner_text("#differences")


MOVE = """loss => {
  const slider = document.getElementById("control-loss");
  slider.value = loss;
  slider.dispatchEvent(new Event("input"));
}"""
IDLE = "() => document.documentElement.dataset.ready === String(lab.counts.requests)"
STEPS = 12


def moving_page(folder: Path) -> Screen:
    """`bentpipe lab` while the slider of the packet error rate moves, as an animated WebP."""
    texts: list[str] = []
    pictures: list[Path] = []
    with Lab("geo-lossy", controllers=["cubic", "bbr3", "hybla"]) as lab, chromium(860) as page:
        page.goto(lab.address)
        page.wait_for_function(DRAWN)
        most = int(page.get_attribute("#control-loss", "max") or 0)
        for step in [*range(STEPS + 1), *reversed(range(STEPS))]:
            page.evaluate(MOVE, round(most * step / STEPS))
            page.wait_for_timeout(100)
            page.wait_for_function(IDLE)
            page.wait_for_timeout(300)
            pictures.append(folder / f"{len(pictures)}.png")
            page.screenshot(path=pictures[-1])
            texts.append(page.inner_text("#differences"))
    made = folder / "moving.webp"
    command = ["img2webp", "-lossy", "-q", "60", "-d", "400", "-loop", "0"]
    command += [*map(str, pictures), "-o", str(made)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return made.read_bytes(), "\n".join(texts)


def report_page(folder: Path) -> Screen:
    """The page of a comparison over several queues."""
    bentpipe(folder, *QUEUES, "--out", "compared")
    bentpipe(folder, "report", "compared")
    with chromium(860) as page:
        page.goto((folder / "compared" / "report.html").as_uri())
        page.wait_for_selector("main svg")
        page.wait_for_timeout(1000)
        return page.screenshot(), page.inner_text("main .first")


SCREENS: dict[str, Callable[[Path], Screen]] = {
    "lab.png": live_page,
    "lab.webp": moving_page,
    "report.png": report_page,
}
QUICK = ("rain-event.svg", "window.svg")
"""Those that take seconds."""


def drawn(name: str) -> str:
    """The figure as it is drawn today. A process numbers the parts of its drawings otherwise."""
    with tempfile.TemporaryDirectory(prefix="bentpipe-") as folder:
        return plain(MAKERS[name](Path(folder)))


def taken(name: str) -> tuple[bytes, str]:
    """The screenshot as it is made today, and the digest of the results in it."""
    with tempfile.TemporaryDirectory(prefix="bentpipe-") as folder:
        picture, text = SCREENS[name](Path(folder))
    return picture, hashlib.sha256(text.encode()).hexdigest()


def plain(svg: str) -> str:
    """The drawing with parts that are numbered in their order."""
    numbers: dict[str, str] = {}
    return re.sub(
        r"(clip|gradient)_?\d+", lambda one: numbers.setdefault(one[0], f"part{len(numbers)}"), svg
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*MAKERS, *SCREENS])
    for name in parser.parse_args().names or MAKERS:
        if name in SCREENS:
            picture, digest = taken(name)
            (FOLDER / name).write_bytes(picture)
            kept = json.loads(SHOWN.read_text(encoding="utf-8")) | {name: digest}
            SHOWN.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        else:
            (FOLDER / name).write_text(drawn(name), encoding="utf-8")
