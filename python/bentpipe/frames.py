"""Tables of recordings as rows, and as data frames of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    import polars as pl

    from bentpipe._native import Recording


def to_pandas(frame: pl.DataFrame) -> Any:
    """The frame as one of pandas, which needs no other package.

    Missing values are NaN in columns of numbers and None in others. `BentpipeError` if pandas is
    not installed.
    """
    try:
        import pandas as pd  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ModuleNotFoundError:
        raise BentpipeError(
            "to_pandas needs the package pandas, which is not installed: pip install pandas"
        ) from None
    columns = {
        name: column.to_numpy() if column.dtype.is_numeric() else column.to_list()
        for name, column in zip(frame.columns, frame.get_columns(), strict=True)
    }
    return pd.DataFrame(columns)


def rows_of(recording: Recording, name: str) -> list[dict[str, Any]]:
    """The rows of a table; none if the recording does not have it."""
    return recording.table(name).to_dicts() if name in recording.names else []
