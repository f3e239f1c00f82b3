"""Runs of a reproduction that are kept in a folder, so that an interrupted command goes on there.

A file has the runs of one job: all totals and tables of their recordings, without series. Its name
is a digest of the scenario, the seeds and the version of Bentpipe. A changed job has another file.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import time
import zlib
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe.errors import OutputError
from bentpipe.numbers import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from bentpipe._native import Scenario

BATCH = 400
"""Runs between two writes: seconds on two cores, which a crash loses at most."""
SAMPLE = 60
"""Runs from which the time of all is estimated."""

Runs = dict[str, list[Any]]


class Row:
    """A flow, a link, or something of it: its values as attributes, as those of a recording."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update({name: row(value) for name, value in values.items()})


def row(value: Any) -> Any:
    """A value; dictionaries become rows."""
    if isinstance(value, dict):
        return Row(value)
    return [row(one) for one in value] if isinstance(value, list) else value


class Kept:
    """A recording from a file: its totals and its tables.

    It stays compressed. A survey has tens of thousands of them in memory.
    """

    def __init__(self, line: bytes) -> None:
        self._compressed = zlib.compress(line, 1)

    def _data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(zlib.decompress(self._compressed))
        return found

    @property
    def flows(self) -> list[Any]:
        """The flows, with the attributes of those of a recording."""
        return [Row(one) for one in self._data()["flows"]]

    @property
    def links(self) -> list[Any]:
        """The directions of links, with the attributes of those of a recording."""
        return [Row(one) for one in self._data()["links"]]

    def table(self, name: str) -> pl.DataFrame:
        """A table of a mechanism on the path; `KeyError` if the recording has none."""
        import polars as pl

        return pl.DataFrame(self._data()["tables"][name])


def as_data(recording: Any) -> dict[str, Any]:
    """What is kept of a recording."""
    fixed = ("flows", "links", "pages", "objects")
    tables = [one for one in recording.names if one not in fixed and not one.endswith("_series")]
    return {
        "flows": [one.to_dict() for one in recording.flows],
        "links": [one.to_dict() for one in recording.links],
        "tables": {one: recording.table(one).to_dict(as_series=False) for one in tables},
    }


class Folder:
    """The folder of the kept runs of one reproduction."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def place(self, scenario: Scenario, seeds: Sequence[int]) -> Path:
        """The file of a job."""
        text = f"{bentpipe.__version__}\n{list(seeds)}\n{scenario.to_toml(seed=0)}"
        return self.path / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json.gz"

    def read(self, place: Path, runs: int) -> list[Kept] | None:
        """The runs of a job; None without a whole file."""
        try:
            lines = gzip.decompress(place.read_bytes()).splitlines()
        except (OSError, EOFError, zlib.error):
            return None
        return [Kept(line) for line in lines] if len(lines) == runs else None

    def write(self, place: Path, recordings: Sequence[Any]) -> None:
        """Keep the runs of a job; `OutputError` if that fails.

        A file is whole or not there. It is not flushed to the disk, which would take longer than
        the runs. One that a crash has cut is run again.
        """
        lines = (json.dumps(as_data(one), separators=(",", ":")) for one in recordings)
        text = "\n".join(lines)
        temporary = place.with_name(f".{place.name}.{os.getpid()}")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(gzip.compress(text.encode(), compresslevel=1, mtime=0))
            temporary.replace(place)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise OutputError(f"cannot write {place}: {error.strerror}") from error


def batches(jobs: Mapping[str, tuple[Scenario, Sequence[int]]]) -> Iterator[list[str]]:
    """The names of the jobs in groups of about `BATCH` runs."""
    group: list[str] = []
    runs = 0
    for name, (_, seeds) in jobs.items():
        group.append(name)
        runs += len(seeds)
        if runs >= BATCH:
            yield group
            group, runs = [], 0
    if group:
        yield group


def run_all(
    jobs: Mapping[str, tuple[Scenario, Sequence[int]]],
    folder: Folder,
    workers: int | None,
    progress: Callable[[int], object] | None,
    announce: Callable[[str], object],
) -> Runs:
    """The runs of all jobs by name; after Ctrl-C those of the jobs that are complete.

    Those that the folder has are read, the others are run and kept. `announce` gets a sentence with
    the number of runs and the time that they will take, before they run.
    """
    places = {name: folder.place(*job) for name, job in jobs.items()}
    found: Runs = {}
    for name, (_, seeds) in jobs.items():
        kept = folder.read(places[name], len(seeds))
        if kept is not None:
            found[name] = list(kept)
    missing = {name: job for name, job in jobs.items() if name not in found}
    done = sum(len(jobs[name][1]) for name in found)
    try:
        announce(expected(missing, done, workers))
    except bentpipe.Interrupted:
        return found
    for names in batches(missing):
        batch = {name: missing[name] for name in names}
        runs = run_batch(batch, workers, after(done, progress))
        for name, recordings in runs.items():
            folder.write(places[name], recordings)
            found[name] = recordings
        if len(runs) < len(batch):
            break
        done += sum(len(seeds) for _, seeds in batch.values())
    return {name: found[name] for name in jobs if name in found}


def run_batch(
    jobs: Mapping[str, tuple[Scenario, Sequence[int]]],
    workers: int | None,
    progress: Callable[[int], object] | None,
) -> Runs:
    """The recordings of jobs by name; after Ctrl-C of those that are complete."""
    each = [(name, scenario, seed) for name, (scenario, seeds) in jobs.items() for seed in seeds]
    runs: Sequence[bentpipe.Run | None]
    try:
        runs = bentpipe.run_many(
            [(scenario, seed) for _, scenario, seed in each], workers=workers, progress=progress
        )
    except bentpipe.Interrupted as interrupted:
        runs = interrupted.runs
    found: Runs = {}
    for (name, _, _), run in zip(each, runs, strict=True):
        if run is not None:
            found.setdefault(name, []).append(run.recording)
    return {name: runs for name, runs in found.items() if len(runs) == len(jobs[name][1])}


def after(before: int, progress: Callable[[int], object] | None) -> Callable[[int], object] | None:
    """A progress callback for a batch that adds the runs before it."""
    return None if progress is None else lambda done: progress(before + done)


def expected(
    missing: Mapping[str, tuple[Scenario, Sequence[int]]], done: int, workers: int | None
) -> str:
    """A sentence on the time that the missing jobs will take, measured with some of them."""
    total = sum(len(seeds) for _, seeds in missing.values())
    kept = f"{count(done)} are kept from before, " if done else ""
    if not total:
        return f"{count(done)} runs are kept from before; none is missing."
    listed = list(missing.values())
    sample = [(job, seeds[0]) for job, seeds in listed[:: max(1, len(listed) // SAMPLE)]]
    start = time.monotonic()
    bentpipe.run_many(sample, workers=workers)
    took = (time.monotonic() - start) * total / len(sample)
    return (
        f"{count(done + total)} runs: {kept}{count(total)} are missing. They will take about"
        f" {in_words(took)}, by {len(sample)} of them on this machine now. After an interruption,"
        " the same command goes on."
    )


def in_words(seconds: float) -> str:
    """A time to plan with: seconds below two minutes, otherwise minutes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
