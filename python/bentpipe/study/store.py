"""The folder of a study: its plan, a Parquet dataset with one row for each run, the summary.

Every file is first written under a temporary name and then renamed, so that a killed study leaves
only complete files. Rows are written in parts. Many parts are merged into one, also at the end. If
that is interrupted, some rows exist twice and are read once. Each part has a digest of its rows and
of the study, so that damaged parts and those of other studies are not read.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any, Self

# Polars imports NumPy at its first conversion. A signal in the middle of that would be a panic.
import numpy as np  # noqa: F401

from bentpipe import _native, systems
from bentpipe.errors import OutputError
from bentpipe.folders import unwritable
from bentpipe.seal import sealed
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
DIGEST = "bentpipe.digest"
"""Key of a part's metadata: the digest of its rows."""

Outcome = tuple[int, int, "Sequence[float | None]", float, int]
"""The result of one run: variant, replication, quantities, wall time, events."""


class Store:
    """The rows of a study in its folder, locked against other processes.

    Raises `OutputError` if the folder cannot be written, or has anything but this study.
    """

    def __init__(self, folder: Path, study: Study, *, temporary: bool = False) -> None:
        self.folder = folder
        self.is_temporary = temporary
        self.study = study
        self.parts = folder / "rows"
        try:
            # The lock comes first: whoever meets a folder that is being made finds it locked.
            folder.mkdir(parents=True, exist_ok=True)
            self.lock = self.locked()
        except OSError as error:
            raise unwritable(folder, error) from error
        try:
            self.take()
            for unfinished in [*folder.glob(".*.tmp"), *self.parts.glob(".*.tmp")]:
                unfinished.unlink()
        except BaseException as error:
            os.close(self.lock)
            if isinstance(error, OSError):
                raise unwritable(folder, error) from error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.lock)

    def take(self) -> None:
        """Create the folder, or check that it belongs to this study."""
        found = self.folder / DESCRIPTION
        description = as_json(sealed(self.study.description))
        if found.exists():
            differing = differences(self.folder, self.study)
            if differing:
                described = "\n".join(f"  {line}" for line in differing)
                raise OutputError(
                    f"{self.folder} holds another study; choose another folder. It differs in\n"
                    f"{described}"
                )
        else:
            # A study that was killed at once leaves an unfinished description.
            left = {f".{DESCRIPTION}.tmp", systems.LOCK}
            if any(path.name not in left for path in self.folder.iterdir()):
                raise OutputError(
                    f"{self.folder} holds files and is no study's folder; nothing was written"
                )
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
        try:
            return systems.lock(self.folder)
        except BlockingIOError:
            raise OutputError(f"another process is running the study in {self.folder}") from None

    def files(self) -> list[Path]:
        """The parts, oldest first."""
        return sorted(self.parts.glob(f"part-{'[0-9]' * 8}.parquet"))

    def rows(self) -> pl.DataFrame:
        """All rows by the number of their run, each once."""
        import polars as pl

        frames = [pl.DataFrame(schema=schema(self.study)), *map(self.read, self.files())]
        return pl.concat(frames).unique("run", keep="first").sort("run")

    def read(self, part: Path) -> pl.DataFrame:
        """The rows of a part, or `OutputError` with what to do about it."""
        import polars as pl

        try:
            frame = pl.read_parquet(part)
            digest = pl.read_parquet_metadata(part).get(DIGEST)
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = str(error).partition("\n")[0]
            raise self.damaged(part, f"cannot be read ({reason})") from None
        if frame.schema != schema(self.study):
            raise self.damaged(part, "has other columns than this study")
        values = frame.select(pl.selectors.float().is_finite().all()).row(0)
        if not all(value is not False for value in values):
            raise self.damaged(part, "has values that are no numbers")
        if digest != digest_of(frame, self.study):
            raise self.damaged(part, "does not have the rows that this study wrote: it is damaged,"
                               " or of another study")  # fmt: skip
        return frame

    def damaged(self, part: Path, reason: str) -> OutputError:
        """The error for a part that cannot be used."""
        others = len(self.files()) - 1
        kept = f"; the rows of the {others} other parts are kept" if others else ""
        return OutputError(
            f"{part} {reason}. It is safe to delete this file: the same command then runs its runs"
            f" again{kept}."
        )

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
        metadata = {DIGEST: digest_of(rows, self.study)}
        rows.write_parquet(buffer, compression="snappy", metadata=metadata)
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


def digest_of(rows: pl.DataFrame, study: Study) -> str:
    """SHA-256 of the columns of rows, with the digest of their study."""
    import polars as pl

    digest = hashlib.sha256(study.description["digest"].encode())
    for column in rows:
        digest.update(f"{column.name}\0{column.dtype}\0{len(column)}\0".encode())
        if column.dtype == pl.String:
            digest.update(json.dumps(column.to_list()).encode())
        elif not column.null_count():
            digest.update(bytes(len(column)))
            digest.update(column.to_numpy().tobytes())
        else:
            nothing = False if column.dtype == pl.Boolean else 0
            digest.update(column.is_null().to_numpy().tobytes())
            digest.update(column.fill_null(nothing).to_numpy().tobytes())
    return digest.hexdigest()


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

    parameters = {p.path: type_of(p.plain) for p in study.parameters if p.path != "scenario"}
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


def type_of(values: Sequence[object]) -> type[pl.DataType]:
    """The type of the column of a parameter with these values, without their common unit."""
    import polars as pl

    if all(isinstance(value, bool) for value in values):
        return pl.Boolean
    if any(isinstance(value, bool | str) for value in values):
        return pl.String
    return pl.Int64 if all(isinstance(value, int) for value in values) else pl.Float64


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
    temporary = place.with_name(f".{place.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(place)
        systems.sync(place.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OutputError(f"cannot write {place}: {error.strerror}") from error
