"""The command `bentpipe replay cwnd`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import polars as pl

from bentpipe.console import show, table
from bentpipe.errors import BentpipeError
from bentpipe.numbers import decimals, minus
from bentpipe.replays.cwnd import replay
from bentpipe.tables import SUFFIXES, save_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bentpipe._native import CwndReplay
    from bentpipe.replays.cwnd import Comparison
    from bentpipe.traces.programs import Sender


def run(file: Path, controllers: Sequence[str], out: Path | None, as_json: bool) -> None:
    """Replay a file with each controller, and print the comparison."""
    if out is not None and out.suffix not in SUFFIXES:
        raise BentpipeError(
            f"--out: expected a file that ends in {' or '.join(SUFFIXES)}, found {out}"
        )
    found = [(name, *replay(file, name)) for name in controllers]
    if out is not None:
        save(found, out)
    if as_json:
        results = [comparison.to_dict() for *_, comparison in found]
        files = [] if out is None else [str(out)]
        click.echo(json.dumps({"file": str(file), "replays": results, "files": files}))
        return
    first = found[0][-1]
    show(
        f"{file}: {first.losses} losses, {first.timeouts} of them timeouts,"
        f" segments of {first.mss} B, sender {first.measured_controller or 'not named'}"
    )
    show(result_table([(name, comparison) for name, *_, comparison in found]))
    taken = [name for name, *_, one in found if one.variant_from]
    if taken:
        system = next(one.variant_from for *_, one in found if one.variant_from)
        names = ", ".join(taken)
        show(f"note: Linux's variant is used for {names}, because the sender is {system};"
             " variant=original is that of the source")  # fmt: skip
    show("Growth is summed over epochs, the times between two losses with at least two samples.")
    show("A peak is the window at the end of an epoch.")
    if out is not None:
        show(f"{out} written")


def result_table(found: Sequence[tuple[str, Comparison]]) -> object:
    """A table with a row for each controller."""
    made = table(
        "controller", "epochs", "growth measured (segments)", "replayed (segments)", "error (%)",
        "peak error 5 % (%)", "25 %", "median", "75 %", "95 %",
    )  # fmt: skip
    for name, one in found:
        errors = [signed(value) for value in one.peak_error_percent.values()]
        made.add_row(
            name, str(one.epochs), decimals(one.measured_growth, 0),
            decimals(one.replayed_growth, 0), signed(one.growth_error_percent), *errors,
        )  # fmt: skip
    return made


def signed(value: float) -> str:
    """A number with one decimal and its sign."""
    return minus(f"{value:+.1f}")


def save(found: Sequence[tuple[str, Sender, CwndReplay, Comparison]], out: Path) -> None:
    """Write the measured window and those of the controllers over time, in segments."""
    sender = found[0][1]
    columns = {
        "t_s": sender.end_s.tolist(),
        "rtt_ms": (sender.rtt_s * 1e3).tolist(),
        "retransmits": sender.retransmits,
        "measured": [window / sender.mss for window in sender.cwnd],
    }
    for name, _, replayed, _ in found:
        windows = replayed.windows
        columns[name] = [None if one is None else one / sender.mss for one in windows]
    save_table(pl.DataFrame(columns), out)
