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
"""Decimals of angles in degrees."""
TEXTS = ("satellite", "to", "to_satellite")
"""Columns of names."""


def frame(series: OrbitSeries) -> pl.DataFrame:
    """The rows of a series, with angles of four decimals."""
    kinds = dict.fromkeys(TEXTS, pl.String) | {"lasers": pl.UInt64}
    columns = {
        name: pl.Series(name, getattr(series, name), dtype=kinds.get(name))
        for name in orbit_columns()
    }
    table = pl.DataFrame(columns)
    return table.with_columns(pl.col("^.*_deg$").cast(pl.Float64).round(DIGITS))


def check_suffix(path: Path) -> None:
    """Check that the suffix is that of CSV or Parquet; `BentpipeError` otherwise."""
    if path.suffix not in SUFFIXES:
        raise BentpipeError(
            f"--out: expected a file that ends in {' or '.join(SUFFIXES)}, found {path}"
        )


def save(series: OrbitSeries, path: Path) -> None:
    """Write the columns as CSV or Parquet, which `trace` of a link reads unchanged."""
    save_table(frame(series), path)
