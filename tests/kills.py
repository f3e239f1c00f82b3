"""Kills by chance: runs, studies, papers, reports and the kernel backend end by SIGKILL.

    python tests/kills.py [--seed N] [--minutes M] [KIND...]

After each kill, what is there is whole: the result before the command, or the one after it. The
same command then gives what a command gives that was never killed, and leaves no unfinished file.
The first difference ends the program with the seed of its round. The tests run a few rounds of each
kind with a fixed seed (test_kills.py), `make kills` an hour of them.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

import bentpipe as bp
from conftest import SMALL

if TYPE_CHECKING:
    from collections.abc import Callable

BENTPIPE = (sys.executable, "-m", "bentpipe")

FEW_SEEDS = """\
from dataclasses import replace

from bentpipe.cli import main
from bentpipe.reproductions.reproduction import Reproduction

usual = Reproduction.plan


def plan(paper, full=False):
    return {name: replace(job, seeds=job.seeds[:2]) for name, job in usual(paper).items()}


Reproduction.plan = plan
main()
"""
"""Papers with two seeds instead of many."""

CHANGES = {
    "duration": "1000s",
    "link.0.delay": "50ms",
    "flow.0.controller": "cubic",
    "flow.0.traffic.download": "3MB",
    "record.interval": "10ms",
}
"""What makes a run of a millisecond one that can be killed."""

STUDY = """\
scenario = "killed.toml"
replications = { count = 150 }
quantity = [{ name = "flow.completion_s" }, { name = "flow.goodput_bps" }]

[parameters]
controller = { path = "flow.0.controller", values = ["newreno", "hybla"] }
"""


class Kind:
    """A command that is killed in a folder of its own, and its result."""

    program: tuple[str, ...] = BENTPIPE
    command: tuple[str, ...]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "out"
        killed = bp.Scenario.parse(SMALL).with_(CHANGES).to_toml()
        (folder / "killed.toml").write_text(killed)
        (folder / "study.toml").write_text(STUDY)
        self.prepare()
        start = time.monotonic()
        self.complete()
        self.seconds = time.monotonic() - start
        self.expected = self.result()
        assert self.expected is not None, "the command has no result"

    def prepare(self) -> None:
        """Make what the command needs."""

    def result(self) -> object:
        """The whole result in the folder; None if there is none."""
        raise NotImplementedError

    def remove(self) -> None:
        """Remove the result."""
        shutil.rmtree(self.out, ignore_errors=True)

    def before(self, chance: random.Random) -> object:
        """Make what may be there before the command, and return it."""
        self.remove()
        return None

    def complete(self, *more: str) -> None:
        """Run the command to its end."""
        done = subprocess.run(
            [*self.program, *self.command, *more], cwd=self.folder, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def kill(self, seconds: float) -> None:
        """Run the command and kill it after this time, unless it has ended."""
        with subprocess.Popen(
            [*self.program, *self.command],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                _, stderr = process.communicate(timeout=seconds)
                assert process.returncode == 0, stderr
            except subprocess.TimeoutExpired:
                process.kill()

    def round(self, seed: int) -> None:
        """One kill and what follows."""
        chance = random.Random(seed)
        before = self.before(chance)
        for _ in range(chance.choice((1, 1, 2))):
            self.kill(chance.uniform(0, 1.1 * self.seconds))
        found = self.result()
        assert found in (None, before, self.expected), "what is there is not whole"
        assert found is not None or before is None, "the earlier result is lost"
        self.complete()
        assert self.result() == self.expected, "the resumed result is another"
        remains = [path for path in self.out.rglob(".*") if path.name != ".keep"]
        assert not remains, f"{remains} was left"


class Run(Kind):
    """`run --out --pcap`, into a new folder or over an earlier recording."""

    command = ("run", "killed.toml", "--out", "out", "--pcap")

    def result(self) -> object:
        """The digest, and the packets."""
        try:
            run = bp.load(self.out)
        except bp.RecordingError as error:
            assert "found nothing of that name" in str(error) or (  # noqa: PT017
                "found a folder without recording.json" in str(error)
            ), error
            return None
        return run.digest(), (self.out / "capture.pcapng").read_bytes()

    def before(self, chance: random.Random) -> object:
        """Nothing, or a recording of another seed."""
        self.remove()
        if chance.random() < 0.5:
            return None
        self.complete("--seed", "2")
        return self.result()


class KernelRun(Kind):
    """`run --backend kernel --out`, whose results are never the same."""

    command = (
        "run", "killed.toml", "--out", "out", "--backend", "kernel", "--pcap",
        "--set", "flow.0.traffic.download=100kB",
    )  # fmt: skip

    def result(self) -> object:
        """The bytes that arrived."""
        if not (self.out / "recording.json").exists():
            return None
        return bp.load(self.out).flows["bytes"].to_list()


class Study(Kind):
    """`study --out`."""

    command = ("study", "study.toml", "--out", "out", "--workers", "1")

    def result(self) -> object:
        """The summary and the rows; while there is no summary, the rows must be readable."""
        parts = [*self.out.glob("rows/part-*.parquet")]
        if not (self.out / "summary.json").exists():
            return pl.read_parquet(parts).height and None if parts else None
        rows = pl.read_parquet(parts).unique("run").sort("run").drop("wall_s")
        return (self.out / "summary.json").read_text(), rows.write_csv()


class Papers(Kind):
    """`papers run --out`."""

    program = (sys.executable, "-c", FEW_SEEDS)
    command = ("papers", "run", "adalr", "--out", "out")

    def result(self) -> object:
        """All files of the paper."""
        folder = self.out / "adalr"
        if not (folder / "rows.json").exists():
            return None
        return {path.name: path.read_bytes() for path in folder.iterdir()
                if path.suffix in (".json", ".txt", ".svg")}  # fmt: skip

    def before(self, chance: random.Random) -> object:
        """Nothing, or the same result."""
        if chance.random() < 0.5 and self.result() is not None:
            return self.expected
        return super().before(chance)


class Report(Kind):
    """`report` of a run."""

    command = ("report", "out")

    def prepare(self) -> None:
        """Make the run."""
        bp.run(bp.Scenario.load(self.folder / "killed.toml")).save(self.out)

    def result(self) -> object:
        """The page."""
        page = self.out / "report.html"
        return page.read_bytes() if page.exists() else None

    def remove(self) -> None:
        """Remove the page."""
        (self.out / "report.html").unlink(missing_ok=True)


KINDS: dict[str, Callable[[Path], Kind]] = {
    "run": Run,
    "study": Study,
    "papers": Papers,
    "report": Report,
    "kernel": KernelRun,
}


def main() -> None:
    """Kill until the time is over."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=list(KINDS), metavar="KIND")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first round")
    parser.add_argument("--minutes", type=float, default=60)
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * arguments.minutes
    seed = arguments.seed
    with tempfile.TemporaryDirectory(prefix="bentpipe-kills-") as folder:
        kinds = []
        for name in arguments.kinds:
            (Path(folder) / name).mkdir()
            kinds.append((name, KINDS[name](Path(folder) / name)))
        while time.monotonic() < end:
            for name, kind in kinds:
                try:
                    kind.round(seed)
                except AssertionError as error:
                    sys.exit(f"seed {seed}, {name}: {error}")
            seed += 1
    print(json.dumps({"kinds": arguments.kinds, "rounds": seed - arguments.seed, "findings": 0}))


if __name__ == "__main__":
    main()
