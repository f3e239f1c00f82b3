"""The folder of a study: its plan, a Parquet dataset with one row for each run, the summary.

Every file is first written under a temporary name and then renamed, so that a killed study leaves
only complete files. Rows are written in parts. Many parts are merged into one, also at the end. If
that is interrupted, some rows exist twice and are read once.
"""

from __future__ import annotations

import fcntl
import json
import os
from typing import TYPE_CHECKING, Any, Self

from bentpipe import _native
from bentpipe.errors import OutputError
from bentpipe.study.scenarios import write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from bentpipe.study.plan import Study, Variant

MOST_PARTS = 64
DESCRIPTION = "study.json"
STUDY = "study.toml"
SUMMARY = "summary.json"

Outcome = tuple[int, int, "Sequence[float | None]", float, int]
"""The result of one run: variant, replication, quantities, wall time, events."""


class Store:
    """The rows of a study in its folder, locked against other processes.

    Raises `OutputError` if the folder cannot be written, or has anything but this study.
    """

    def __init__(self, folder: Path, study: Study) -> None:
        self.folder = folder
        self.study = study
        self.parts = folder / "rows"
        try:
            self.take()
            self.lock = self.locked()
        except OSError as error:
            if isinstance(error, OutputError):
                raise
            raise OutputError(f"cannot write to {folder}: {error.strerror}") from error
        for unfinished in [*folder.glob(".*.tmp"), *self.parts.glob(".*.tmp")]:
            unfinished.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.lock)

    def take(self) -> None:
        """Create the folder, or check that it belongs to this study."""
        found = self.folder / DESCRIPTION
        description = as_json(self.study.description)
        if found.exists():
            differing = differences(self.folder, self.study)
            if differing:
                told = "\n".join(f"  {line}" for line in differing)
                raise OutputError(
                    f"{self.folder} holds another study; choose another folder. It differs in\n"
                    f"{told}"
                )
        else:
            if self.folder.is_dir() and any(self.folder.iterdir()):
                raise OutputError(
                    f"{self.folder} holds files and is no study's folder; nothing was written"
                )
            self.folder.mkdir(parents=True, exist_ok=True)
            # First, because it marks the folder as this study's if the rest is interrupted.
            save(found, description)
        self.parts.mkdir(exist_ok=True)
        text = self.study.text_beside_scenarios().encode()
        place = self.folder / STUDY
        if not place.exists():
            for number, base in enumerate(self.study.bases.values()):
                folder = self.folder / f"scenario-{number}" if number else self.folder
                write(base.files, folder, "scenario.toml")
        elif place.read_bytes() == text and found.read_bytes() == description:
            return
        save(found, description)
        save(place, text)

    def locked(self) -> int:
        """Lock the folder until the store is closed or the process ends."""
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise OutputError(f"another process is running the study in {self.folder}") from None
        return handle

    def files(self) -> list[Path]:
        """The parts, oldest first."""
        return sorted(self.parts.glob(f"part-{'[0-9]' * 8}.parquet"))

    def rows(self) -> pl.DataFrame:
        """All rows by the number of their run, each once."""
        import polars as pl

        frames = [pl.DataFrame(schema=schema(self.study))]
        for part in self.files():
            try:
                frame = pl.read_parquet(part)
            except (OSError, pl.exceptions.PolarsError) as error:
                raise OutputError(
                    f"cannot read {part} ({error}); without it, its runs are run again"
                ) from None
            if frame.schema != frames[0].schema:
                raise OutputError(f"{part} is no part of this study: it has other columns")
            values = frame.select(pl.selectors.float().is_finite().all()).row(0)
            if not all(value is not False for value in values):
                raise OutputError(f"{part} holds values that are no numbers; without it, its runs"
                                  " are run again")  # fmt: skip
            frames.append(frame)
        return pl.concat(frames).unique("run", keep="first").sort("run")

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Save the rows of some runs."""
        rows = frame(self.study, outcomes).sort("run")
        if rows.height:
            self.put(rows)
            if len(self.files()) > MOST_PARTS:
                self.compact()

    def put(self, rows: pl.DataFrame) -> Path:
        """Write another part."""
        import io

        buffer = io.BytesIO()
        rows.write_parquet(buffer, compression="snappy")
        files = self.files()
        number = int(files[-1].stem.removeprefix("part-")) + 1 if files else 0
        place = self.parts / f"part-{number:08}.parquet"
        save(place, buffer.getvalue())
        return place

    def compact(self) -> None:
        """Merge all parts into one."""
        old = self.files()
        if len(old) > 1:
            self.put(self.rows())
            for part in old:
                part.unlink()

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write the summary of the rows."""
        self.compact()
        save(self.folder / SUMMARY, as_json(summary))


def differences(folder: Path, study: Study) -> list[str]:
    """The differences between the study in the folder and `study`, in a few lines."""
    try:
        found = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        old_digest = found["digest"]
    except (OSError, ValueError, KeyError, TypeError):
        return [f"{DESCRIPTION}, which cannot be read"]
    if old_digest == study.description["digest"]:
        return []
    lines = []
    for key, value in json.loads(json.dumps(study.description)).items():
        if key != "digest" and found.get(key) != value:
            before, now = json.dumps(found.get(key)), json.dumps(value)
            lines.append(f"{key}: {shortened(before, now)} there, {shortened(now, before)} here")
    return lines or ["the scenarios of its runs"]


def shortened(text: str, other: str, most: int = 60) -> str:
    """A long text, from the place where it differs."""
    if len(text) <= most:
        return text
    pairs = enumerate(zip(text, other, strict=False))
    start = next((place for place, (one, two) in pairs if one != two), 0)
    start = max(0, start - most // 2)
    return f"{'...' if start else ''}{text[start : start + most]}..."


def schema(study: Study) -> dict[str, Any]:
    """The columns of the rows with their types."""
    import polars as pl

    def kind(values: Sequence[object]) -> Any:
        if all(isinstance(value, bool) for value in values):
            return pl.Boolean
        if any(isinstance(value, bool | str) for value in values):
            return pl.String
        return pl.Int64 if all(isinstance(value, int) for value in values) else pl.Float64

    parameters = {p.path: kind(p.plain) for p in study.parameters if p.path != "scenario"}
    return {
        "run": pl.UInt64,
        "variant": pl.UInt32,
        "seed": pl.UInt64,
        "replication": pl.UInt32,
        "bentpipe": pl.String,
        "scenario": pl.String,
        **parameters,
        **{quantity.name: pl.Float64 for quantity in study.quantities},
        "wall_s": pl.Float64,
        "events": pl.UInt64,
    }


def frame(study: Study, outcomes: Iterable[Outcome]) -> pl.DataFrame:
    """Outcomes as rows, each with version, scenario, parameters and seed."""
    import polars as pl

    columns = schema(study)
    made = {variant.number: fixed(study, variant, columns) for variant in study.variants}
    rows = [
        (
            study.number(variant, replication),
            variant,
            study.seed(replication),
            replication,
            *made[variant],
            *quantities,
            wall_s,
            events,
        )
        for variant, replication, quantities, wall_s, events in outcomes
    ]
    return pl.DataFrame(rows, schema=columns, orient="row")


def fixed(study: Study, variant: Variant, columns: Mapping[str, Any]) -> list[Any]:
    """The columns that all rows of a variant share: version, scenario and parameters."""
    import polars as pl

    several = len(study.bases) > 1
    values: list[Any] = [_native.version(), variant.base if several else variant.scenario.name]
    for parameter in study.parameters:
        if parameter.path == "scenario":
            continue
        value = variant.parameters[parameter.path]
        values.append(str(value) if columns[parameter.path] == pl.String else value)
    return values


def as_json(value: Mapping[str, Any]) -> bytes:
    """JSON for people and programs."""
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()


def save(place: Path, content: bytes) -> None:
    """Write a file completely or not at all, and flush it to the disk."""
    beside = place.with_name(f".{place.name}.tmp")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
        folder = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise OutputError(f"cannot write {place}: {error.strerror}") from error
