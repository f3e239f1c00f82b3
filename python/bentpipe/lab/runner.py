"""Runs for pages: each page has one job at a time, and its newest request wins.

The engine runs in threads, with Python's lock released. A job is stopped by an exception in the
progress of its runs, which the engine reports ten times a second. A new job of a page waits until
the runs of the old one have ended, so that at most one run of each controller is under way.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.errors import BentpipeError, EngineError
from bentpipe.lab.results import recorded, result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bentpipe._native import Scenario

MOST_KEPT = 64
"""Results that are kept for requests with an equal scenario."""

Report = tuple[str, str, Any]
"""What a job reports: `progress`, `result` or `failed`, the controller, and the content."""


class StoppedError(Exception):
    """The end of a run whose job was stopped."""


@dataclass
class Job:
    """The runs of one request of a page."""

    stopped: bool = False
    reports: asyncio.Queue[Report] = field(default_factory=asyncio.Queue)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def heard(self, report: Callable[[float], None], share: float) -> None:
        """Report the progress of a run, or end it."""
        if self.stopped:
            raise StoppedError
        report(share)


@dataclass
class Counts:
    """Numbers of runs since the start, for tests and for the page."""

    started: int = 0
    kept: int = 0
    """Results that were there from an equal run."""
    stopped: int = 0
    under_way: int = 0
    most_under_way: int = 0


class Runner:
    """Threads that run scenarios for pages."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="bentpipe-lab")
        # Loads data frames while the browser opens the page.
        self.threads.submit(import_module, "bentpipe.lab.series")
        self.jobs: dict[str, Job] = {}
        self.kept: OrderedDict[tuple[str, str, int], dict[str, Any]] = OrderedDict()
        self.took: dict[str, float] = {}
        """Wall time of the last run of each controller."""
        self.counts = Counts()

    def stop(self, page: str) -> None:
        """Stop the job of a page, if it has one."""
        if page in self.jobs:
            self.jobs[page].stopped = True

    def close(self) -> None:
        """Stop all jobs, and wait until their runs have ended."""
        for job in self.jobs.values():
            job.stopped = True
        self.threads.shutdown(cancel_futures=True)

    async def begin(self, page: str, job: Job) -> None:
        """Make a job that of a page, and wait until the runs of its earlier one have ended."""
        before = self.jobs.get(page)
        self.jobs[page] = job
        if before is not None:
            before.stopped = True
            await before.ended.wait()

    async def run(self, page: str, job: Job, runs: Sequence[tuple[str, Scenario]]) -> None:
        """Run one scenario for each controller, and report to the job.

        Those that took longest start first, so that all threads have work until the end.
        """
        ordered = sorted(runs, key=lambda run: -self.took.get(run[0], 0.0))
        try:
            await asyncio.gather(*(self.one(job, name, scenario) for name, scenario in ordered))
        finally:
            job.ended.set()
            if self.jobs.get(page) is job:
                del self.jobs[page]

    async def alone(
        self, page: str, job: Job, work: Callable[[Callable[[float], object]], Any]
    ) -> Any:
        """Other work of a page in a thread, as a job; `StoppedError` if the job was stopped.

        `work` gets a function to call with its progress, which ends it when the job is stopped.
        """
        await self.begin(page, job)
        loop = asyncio.get_running_loop()
        try:
            heard = partial(job.heard, lambda _: None)
            return await loop.run_in_executor(self.threads, work, heard)
        finally:
            job.ended.set()
            if self.jobs.get(page) is job:
                del self.jobs[page]

    async def one(self, job: Job, name: str, scenario: Scenario) -> None:
        """One run, or its result from before."""
        key = (name, scenario.to_toml(), scenario.seed)
        if key in self.kept:
            self.kept.move_to_end(key)
            self.counts.kept += 1
            job.reports.put_nowait(("result", name, self.kept[key]))
            return
        loop = asyncio.get_running_loop()

        def report(share: float) -> None:
            loop.call_soon_threadsafe(job.reports.put_nowait, ("progress", name, share))

        work = partial(self.work, job, scenario, report)
        try:
            found = await loop.run_in_executor(self.threads, work)
        except StoppedError:
            self.counts.stopped += 1
            job.reports.put_nowait(("stopped", name, None))
        except (BentpipeError, EngineError) as error:
            job.reports.put_nowait(("failed", name, str(error)))
        else:
            self.kept[key] = found
            self.took[name] = found["wall_ms"]
            if len(self.kept) > MOST_KEPT:
                self.kept.popitem(last=False)
            job.reports.put_nowait(("result", name, found))

    def work(self, job: Job, scenario: Scenario, report: Callable[[float], None]) -> dict[str, Any]:
        """The run itself, in a thread."""
        if job.stopped:
            raise StoppedError
        counts = self.counts
        counts.started += 1
        counts.under_way += 1
        counts.most_under_way = max(counts.most_under_way, counts.under_way)
        try:
            progress = partial(job.heard, report)
            recording = _native.run(recorded(scenario), progress=progress)
            return result(scenario, recording)
        finally:
            counts.under_way -= 1
