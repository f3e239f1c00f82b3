"""Tables as CSV or Parquet files, written completely or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from bentpipe.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

SUFFIXES = (".csv", ".parquet")
"""Endings of the names of files with a table."""


def save_table(
    frame: pl.DataFrame, target: Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Write a table as CSV or Parquet, by the suffix of `target`, which is one of `SUFFIXES`.

    An existing file is replaced. Only Parquet keeps the metadata. `OutputError` if the file cannot
    be written.
    """
    temporary = None
    try:
        with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            temporary = Path(file.name)
            if target.suffix == ".csv":
                frame.write_csv(file)
            else:
                frame.write_parquet(file, metadata=dict(metadata or {}))
        # A temporary file is private to its owner; this one gets the usual permissions.
        temporary.chmod(0o666 & ~current_umask())
        temporary.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()


def current_umask() -> int:
    """The umask. It can only be read by setting it."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask
