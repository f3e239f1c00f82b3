"""The columns of a path over satellites as a table, and its file for a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from bentpipe._native import orbit_columns
from bentpipe.errors import BentpipeError
from bentpipe.tables import SUFFIXES, save_table

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe import OrbitSeries

DIGITS = 4
"""Decimals of angles in degrees, distances in km and levels in dB."""
TEXTS = ("satellite", "to", "to_satellite", "modcod")
"""Columns of names."""


def frame(series: OrbitSeries) -> pl.DataFrame:
    """The rows of a series, with angles of four decimals. Columns without values are left out."""
    kinds = dict.fromkeys(TEXTS, pl.String) | {"lasers": pl.UInt64}
    columns = {
        name: pl.Series(name, getattr(series, name), dtype=kinds.get(name))
        for name in orbit_columns()
        if getattr(series, name)
    }
    table = pl.DataFrame(columns)
    rounded = [pl.col("^.*_(deg|km|db)$").cast(pl.Float64).round(DIGITS)]
    return table.with_columns(rounded)


def check_suffix(path: Path) -> None:
    """Check that the suffix is that of CSV or Parquet; `BentpipeError` otherwise."""
    if path.suffix not in SUFFIXES:
        raise BentpipeError(
            f"--out: expected a file that ends in {' or '.join(SUFFIXES)}, found {path}"
        )


def save(series: OrbitSeries, path: Path) -> None:
    """Write the columns as CSV or Parquet, which `trace` of a link reads unchanged."""
    save_table(frame(series), path)
