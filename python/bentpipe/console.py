"""Output for the terminal: tables on stdout, progress on stderr."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from bentpipe._native import near_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

PROGRESS_AFTER_S = 1.0
PROGRESS_EVERY_S = 0.1
TICK_S = 0.5
"""Time between two pictures of a bar while no work is reported."""
UNLIMITED = 1 << 20
"""A width that no table has."""
MOST_LISTED = 5
"""Valid names that an error lists; of more, those that are most alike."""
MOST_NAMED = 5
"""Names that a sentence lists, at most."""
UNSEEN_WIDTH = 200
"""Columns of stdout that is not a terminal."""
MOST_PARTS = 3
"""Tables that a table too wide for the terminal is cut into, at most."""
READABLE = 16
"""Columns of text are not made narrower than this if they would fit otherwise."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Hint with the nearest valid names; if none is near, with all, or the most alike of many."""
    names = list(dict.fromkeys(known))
    close = alike_names(name, names)[:MOST_NAMED]
    if not close and len(names) > MOST_LISTED:
        lowered = {one.lower(): one for one in names}
        alike = get_close_matches(name.lower(), lowered, n=MOST_NAMED, cutoff=0)
        return f"; {len(names)} valid names, such as {', '.join(lowered[one] for one in alike)}"
    if not close:
        return f"; valid names: {', '.join(names)}"
    return f"; did you mean {alternatives(map(repr, close))}?"


def alike_names(name: str, names: Sequence[str]) -> list[str]:
    """The names that are near, without regard to case; nearest first."""
    same = [one for one in names if one.lower() == name.lower()]
    if same:
        return same
    lowered = {one.lower(): one for one in names}
    found = near_names(name, list(names)) or near_names(name.lower(), list(lowered))
    return [lowered[one.lower()] for one in found]


def alternatives(words: Iterable[str]) -> str:
    """Words as alternatives: `a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def few(words: Iterable[str], most: int = MOST_NAMED, separator: str = ", ") -> str:
    """Names for a sentence: the first `most`, and the number of the others."""
    names = list(words)
    more = len(names) - most
    return separator.join(names[:most]) + (f" and {more} more" if more > 0 else "")


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


def compact_table(*columns: str) -> Table:
    """An empty table as `table` makes it, without blank lines around it and with narrow gaps."""
    made = table(*columns)
    made.show_edge = False
    made.padding = (0, 1, 0, 0)
    return made


def keep_lines(made: Table, first: int) -> None:
    """Let the columns from `first` on be as wide as their cells, and break their headings."""
    import textwrap

    for column in made.columns[first:]:
        column.no_wrap = True
        lines = [line for cell in column.cells for line in str(cell).splitlines()]
        heading = str(column.header)
        longest = max(map(len, [*lines, *heading.split()]), default=1)
        column.header = "\n".join(textwrap.wrap(heading, longest))


def stdout_width() -> int:
    """The columns of the terminal, or 200 if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else UNSEEN_WIDTH


def on_stdout() -> Console:
    """A console as wide as the terminal, or 200 columns if stdout is not a terminal."""
    return verbatim(width=None if sys.stdout.isatty() else UNSEEN_WIDTH)


def verbatim(**options: Any) -> Console:
    """A console that prints texts as they are: brackets are no markup, and `:house:` is a name.

    `options` are those of Rich's `Console`, such as `file` and `width`.
    """
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, **options)


def show(*renderables: Any) -> None:
    """Print to stdout, as wide as the terminal, or 200 columns if stdout is not a terminal."""
    console = on_stdout()
    console.print(*(fitting(one, console) for one in renderables))


def show_labelled(lines: Mapping[str, str]) -> None:
    """Print a line for each label, broken at spaces below the beginning of its text."""
    import textwrap

    width = on_stdout().width
    margin = max(map(len, lines)) + 2
    for label, text in lines.items():
        first = f"{label:<{margin}}"
        # Long words, such as paths, stay whole.
        broken = textwrap.wrap(text, max(width, margin + READABLE), initial_indent=first,
                               subsequent_indent=" " * margin, break_long_words=False,
                               break_on_hyphens=False)  # fmt: skip
        show("\n".join(broken))


def lines_of(renderable: Table, width: int | None = None) -> int | None:
    """The lines of a table on stdout, or in `width` columns; None if it is wider."""
    console = on_stdout()
    if width is not None:
        console.width = width
    natural = [widths_of(column) for column in renderable.columns]
    if chosen_widths(natural, console.width - frame_of(renderable, console)) is None:
        return None
    return len(console.render_lines(fitting(renderable, console)))


def frame_of(renderable: Table, console: Console) -> int:
    """The columns of a table's gaps. Widths that `fitting` has chosen before are forgotten."""
    from rich.measure import Measurement

    for column in renderable.columns:
        column.width = None
    unlimited = console.options.update(max_width=UNLIMITED)
    width = Measurement.get(console, unlimited, renderable).maximum
    return width - sum(widths_of(column)[1] for column in renderable.columns)


def fitting(renderable: Any, console: Console) -> Any:
    """The same, or a table that is wider than the terminal in another form.

    That is the table with narrow gaps, or several tables that each have the columns that name the
    rows, or at last the rows below each other. No word or number is split: Rich would make columns
    narrower than their longest word, and drop columns. All values are shown at any width, so that
    narrow terminals lose nothing.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if not isinstance(renderable, Table):
        return renderable
    natural = [widths_of(column) for column in renderable.columns]
    chosen = chosen_widths(natural, console.width - frame_of(renderable, console))
    if chosen is not None:
        for column, content in zip(renderable.columns, chosen, strict=True):
            column.width = content
        return renderable
    parts = in_parts(renderable, console)
    names = [str(column.header) for column in renderable.columns]
    rows = zip(*(column.cells for column in renderable.columns), strict=True)
    listed = [
        Text(
            "\n".join(f"{name}: {cell}" for name, cell in zip(names, row, strict=True) if str(cell))
            + "\n"
        )
        for row in rows
    ]
    return Group(*shorter(parts, listed, console))


def shorter(parts: list[Table], listed: list[Text], console: Console) -> Sequence[Any]:
    """The tables, or the rows below each other if these take fewer lines."""
    with_gaps = [one for part in parts for one in (part, "")]
    heights = [
        sum(len(console.render_lines(one, console.options)) for one in these)
        for these in (with_gaps, listed)
    ]
    return with_gaps if parts and heights[0] <= heights[1] else listed


def in_parts(renderable: Table, console: Console) -> list[Table]:
    """The columns of a table in one or several with narrow gaps; none if that takes too many."""
    rows = [*zip(*(map(str, column.cells) for column in renderable.columns), strict=True)]
    keys = keys_of(rows)
    if keys is None:
        return []
    parts: list[list[int]] = [[*range(keys)]]
    for number in range(keys, len(renderable.columns)):
        if fits(with_columns(renderable, [*parts[-1], number]), console):
            parts[-1].append(number)
        elif len(parts[-1]) > keys and fits(
            with_columns(renderable, [*range(keys), number]), console
        ):
            parts.append([*range(keys), number])
        else:
            return []
    made = [with_columns(renderable, part) for part in parts]
    return made if len(made) <= MOST_PARTS and all(fits(one, console) for one in made) else []


def keys_of(rows: Sequence[Sequence[str]]) -> int | None:
    """The number of first columns that tell all rows apart; None if there are none."""
    for count in range(1, len(rows[0]) if rows else 0):
        names = [row[:count] for row in rows]
        if len(set(names)) == len(rows) and all(all(name) for name in names):
            return count
    return None


def with_columns(renderable: Table, numbers: Sequence[int]) -> Table:
    """A table with some columns of another one, with narrow gaps."""
    made = compact_table()
    for number in numbers:
        column = renderable.columns[number]
        made.add_column(
            column.header, justify=column.justify, no_wrap=column.no_wrap, overflow=column.overflow
        )
    cells = [[*renderable.columns[number].cells] for number in numbers]
    for row in zip(*cells, strict=True):
        made.add_row(*row)
    return made


def fits(made: Table, console: Console) -> bool:
    """True if a table is at most as wide as the console; its columns then have their widths."""
    natural = [widths_of(column) for column in made.columns]
    chosen = chosen_widths(natural, console.width - frame_of(made, console))
    for column, content in zip(made.columns, chosen or (), strict=False):
        column.width = content
    return chosen is not None


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
    most = max(whole, longest(header.splitlines()))
    if column.justify == "left" and not column.no_wrap:
        return max(least, min(whole, READABLE)), most
    return whole, most


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
    title: str, total: float | None, unit: str = ""
) -> Iterator[Callable[[float], None] | None]:
    """Yields a callback for the work done, out of `total`; None if stderr is not a terminal.

    With a `unit`, the bar also shows the work done and its rate. Without a `total` it shows that
    something happens. The bar and its time go on between two calls. Work that ends within
    `PROGRESS_AFTER_S` draws and imports nothing.
    """
    if not sys.stderr.isatty():
        yield None
        return
    work = LateBar(title, total, unit)
    ticker = threading.Thread(target=work.tick, daemon=True)
    ticker.start()
    try:
        yield work.update
    finally:
        work.ended.set()
        ticker.join()
        if work.bar is not None:
            work.bar.stop()


class LateBar:
    """A bar that appears after `PROGRESS_AFTER_S`, also if no work is reported until then."""

    def __init__(self, title: str, total: float | None, unit: str) -> None:
        self.about = (title, total, unit)
        self.start = self.drawn = time.monotonic()
        self.done = 0.0
        self.bar: Any = None
        self.ended = threading.Event()
        self.lock = threading.Lock()

    def update(self, done: float) -> None:
        """Note the work done, and draw it unless that was just done."""
        self.done = done
        now = time.monotonic()
        if now - self.start >= PROGRESS_AFTER_S and now - self.drawn >= PROGRESS_EVERY_S:
            self.draw()

    def draw(self) -> None:
        """Draw the bar as it is."""
        with self.lock:
            self.drawn = time.monotonic()
            if self.bar is None:
                self.bar = progress_bar(*self.about)
                self.bar.start()
            self.bar.update(self.bar.task_ids[0], completed=self.done, refresh=True)

    def tick(self) -> None:
        """Draw the bar again and again until the work ends."""
        if self.ended.wait(PROGRESS_AFTER_S):
            return
        self.draw()
        while not self.ended.wait(TICK_S):
            self.draw()


def progress_bar(title: str, total: float | None, unit: str = "") -> Any:
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
