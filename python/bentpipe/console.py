"""Output for the terminal: tables on stdout, progress on stderr."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from bentpipe._native import near_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console
    from rich.table import Column, Table

PROGRESS_AFTER_S = 1.0
PROGRESS_EVERY_S = 0.1
UNLIMITED = 1 << 20
"""A width that no table has."""
MOST_LISTED = 50
"""Valid names that an error lists."""
MOST_ALIKE = 5
"""Names that an error lists if there are more than `MOST_LISTED`."""
READABLE = 16
"""Columns of text are not made narrower than this if they would fit otherwise."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Hint with the nearest valid names; if none is near, with all, or the most alike of many."""
    names = list(dict.fromkeys(known))
    close = near_names(name, names)
    if not close and len(names) > MOST_LISTED:
        alike = get_close_matches(name, names, n=MOST_ALIKE, cutoff=0)
        return f"; {len(names)} valid names, such as {', '.join(alike)}"
    if not close:
        return f"; valid names: {', '.join(names)}"
    return f"; did you mean {alternatives(map(repr, close))}?"


def alternatives(words: Iterable[str]) -> str:
    """Words as alternatives: `a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def closest(name: str, known: Iterable[str]) -> str | None:
    """The nearest valid name, if any is near."""
    return next(iter(near_names(name, list(known))), None)


def command_as_given(*without: str) -> list[str]:
    """The words of the running command, except its parameters `without`, to repeat it."""
    import click
    from click.core import ParameterSource

    context = click.get_current_context()
    words = ["bentpipe", context.command.name or ""]
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not given or name in without:
            continue
        value = context.params[name]
        for one in value if parameter.multiple else [value]:
            option = [] if isinstance(parameter, click.Argument) else [parameter.opts[0]]
            words += option if value is True else [*option, str(one)]
    return words


def table(*columns: str) -> Table:
    """An empty table. Columns after the first are right-aligned unless they start with `<`."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        left = number == 0 or column.startswith("<")
        made.add_column(column.lstrip("<"), justify="left" if left else "right", overflow="fold")
    return made


def show(*renderables: Any) -> None:
    """Print to stdout, as wide as the terminal, or 200 columns if stdout is not a terminal.

    Texts are printed as they are: brackets are no markup.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() else 200
    console = Console(width=width, highlight=False, markup=False)
    console.print(*(fitting(one, console) for one in renderables))


def fitting(renderable: Any, console: Console) -> Any:
    """The same, or the rows of a table below each other if it is wider than the terminal.

    No word or number is split: Rich would make columns narrower than their longest word, and drop
    columns. All values are shown at any width, so that narrow terminals lose nothing.
    """
    from rich.console import Group
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    if not isinstance(renderable, Table):
        return renderable
    natural = [widths_of(column) for column in renderable.columns]
    unlimited = console.options.update(max_width=UNLIMITED)
    width = Measurement.get(console, unlimited, renderable).maximum
    frame = width - sum(most for _, most in natural)
    chosen = chosen_widths(natural, console.width - frame)
    if chosen is not None:
        for column, content in zip(renderable.columns, chosen, strict=True):
            column.width = content
        return renderable
    names = [str(column.header) for column in renderable.columns]
    rows = zip(*(column.cells for column in renderable.columns), strict=True)
    return Group(
        *(
            Text(
                "\n".join(
                    f"{name}: {cell}" for name, cell in zip(names, row, strict=True) if str(cell)
                )
                + "\n"
            )
            for row in rows
        )
    )


def widths_of(column: Column) -> tuple[int, int]:
    """The smallest width of a column that splits no word, and the width of its longest cell.

    Numbers do not wrap, so that an interval stays on one line. Headings do.
    """
    from rich.cells import cell_len

    def longest(texts: Iterable[str]) -> int:
        return max(map(cell_len, texts), default=0)

    header, cells = str(column.header), [str(cell) for cell in column.cells]
    words = longest(header.split())
    whole = max(longest(line for cell in cells for line in cell.splitlines()), words)
    least = max(longest(word for cell in cells for word in cell.split()), words)
    if column.justify == "left":
        return max(least, min(whole, READABLE)), max(whole, cell_len(header))
    return whole, max(whole, cell_len(header))


def chosen_widths(natural: Sequence[tuple[int, int]], room: int) -> list[int] | None:
    """Widths of columns with this sum, widest columns narrowed first; None if there are none."""
    widths = [most for _, most in natural]
    if sum(least for least, _ in natural) > room:
        return None
    while sum(widths) > room:
        able = [n for n, (least, _) in enumerate(natural) if widths[n] > least]
        widest = max(able, key=lambda n: widths[n])
        widths[widest] -= 1
    return widths


@contextmanager
def late_progress(
    title: str, total: float, unit: str = ""
) -> Iterator[Callable[[float], None] | None]:
    """Yields a callback for the work done, out of `total`; None if stderr is not a terminal.

    With a `unit`, the bar also shows the work done and its rate. Work that ends within
    `PROGRESS_AFTER_S` draws and imports nothing.
    """
    if not sys.stderr.isatty():
        yield None
        return
    start = drawn = time.monotonic()
    bar: Any = None

    def update(done: float) -> None:
        nonlocal bar, drawn
        now = time.monotonic()
        if now - start < PROGRESS_AFTER_S or now - drawn < PROGRESS_EVERY_S:
            return
        drawn = now
        if bar is None:
            bar = progress_bar(title, total, unit)
            bar.start()
        bar.update(bar.task_ids[0], completed=done, refresh=True)

    try:
        yield update
    finally:
        if bar is not None:
            bar.stop()


def progress_bar(title: str, total: float, unit: str = "") -> Any:
    """A progress bar on stderr that is removed at the end."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, ProgressColumn, Task, TimeElapsedColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{unit}, {task.speed:,.0f}/s" if task.speed else unit)

    counted = (MofNCompleteColumn(), Rate()) if unit else ()
    bar = Progress(
        *Progress.get_default_columns(),
        TimeElapsedColumn(),
        *counted,
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    )
    bar.add_task(title, total=total)
    return bar
