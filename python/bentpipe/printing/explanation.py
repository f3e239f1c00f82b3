"""The explanation of a scenario within the width of the terminal.

The engine gives the text. The table of links is made here, because it has a column for each
mechanism: columns whose values are all defaults are named in one line. Other lines that are too
long continue below the beginning of their value. A value that is a table itself, such as an
orbit, has its keys below the links.
"""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING, Any

from bentpipe.console import READABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.explanation import Direction, Explanation, Setting

LINKS = "Links"
GAP = re.compile(r"\s{2,}")
"""Between two cells of a line."""
INDENT = 2
BELOW = "see below"
"""In the place of a value that is a table."""
IN_PAIRS = 4
"""Cells of a line with two settings."""


def within(explanation: Explanation, width: int) -> str:
    """The text of an explanation in lines of at most `width` columns, if its words allow that."""
    blocks = explanation.text.rstrip("\n").split("\n\n")
    made = []
    for block in blocks:
        first = block.partition("\n")[0]
        if first == LINKS:
            made.append("\n".join([LINKS, *links(explanation.links, width)]))
        else:
            made.append("\n".join(fitted(block.splitlines(), width)))
    return "\n\n".join(made)


def fitted(lines: Sequence[str], width: int) -> Iterator[str]:
    """The lines of a block. Two columns of settings are made again if they are too wide."""
    wide = any(len(line) > width for line in lines)
    cells = [GAP.split(line.strip()) for line in lines[1:]]
    if wide and cells and max(map(len, cells)) == IN_PAIRS:
        rows = [row[:2] for row in cells] + [row[2:] for row in cells if len(row) > 2]
        lines = [lines[0], *in_pairs(rows, width)]
    for line in lines:
        yield from continued(line, width)


def in_pairs(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Names and values in two columns, and below them those that are too long for one."""
    margin = max(len(name) for name, *_ in rows) + INDENT
    room = (width - 2 * INDENT) // 2
    texts = [f"{name:<{margin}}{' '.join(value)}" for name, *value in rows]
    short = [text for text in texts if len(text) <= room]
    half = (len(short) + 1) // 2
    for n in range(half):
        right = short[half + n] if half + n < len(short) else ""
        yield f"{' ' * INDENT}{short[n]:<{room}}{' ' * INDENT}{right}".rstrip()
    for text in texts:
        if len(text) > room:
            yield f"{' ' * INDENT}{text}"


def continued(line: str, width: int) -> list[str]:
    """A line, continued below the beginning of its last cell if it is too long."""
    if len(line) <= width:
        return [line]
    gaps = [gap.end() for gap in GAP.finditer(line) if gap.start() > 0]
    start = gaps[-1] if gaps else 0
    head, value = line[:start], spaced(line[start:])
    indented = len(line) - len(line.lstrip())
    margin = start or (indented if indented > INDENT else indented + INDENT)
    if width - margin < READABLE:
        # The value begins on a line of its own.
        indent = " " * (2 * INDENT)
        return [head.rstrip(), *broken(value, width, indent, indent)]
    return broken(value, width, head, " " * margin)


def spaced(text: str) -> str:
    """A text that begins with a value of JSON, with spaces after its commas to break it at."""
    if text[:1] not in ("[", "{"):
        return text
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return text
    return json.dumps(value, ensure_ascii=False) + text[end:]


def broken(text: str, width: int, first: str, others: str) -> list[str]:
    """A text in lines, broken at spaces only."""
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=others,
                         break_long_words=False, break_on_hyphens=False)  # fmt: skip


def links(directions: Sequence[Direction], width: int) -> Iterator[str]:
    """The table of links: one line for a link that is the same in both directions."""
    rows = [*rows_of(directions)]
    names = [one.name for one in directions[0].settings] if directions else []
    changed = [n for n in range(len(names)) if any(not row[n + 1][1] for row in rows)]
    cells = [
        ["", *(names[n] for n in changed)],
        *([row[0][0], *(marked(*row[n + 1]) for n in changed)] for row in rows),
    ]
    yield from tables(cells, width)
    same = [f"{name} {rows[0][n + 1][0]}" for n, name in enumerate(names) if n not in changed]
    if same:
        indent = " " * INDENT
        yield from broken(f"defaults: {', '.join(same)}", width, indent, 2 * indent)
    yield from below(directions, width)


Cell = tuple[str, bool]
"""A text, and true if it is a default."""


def ways(directions: Sequence[Direction]) -> Iterator[tuple[str, list[Setting]]]:
    """The name and the settings of each link, or of each direction where they differ."""
    for forward, backward in zip(directions[::2], directions[1::2], strict=True):
        same = forward.settings == backward.settings
        for one in [forward] if same else [forward, backward]:
            yield f"{one.from_} {'<->' if same else '->'} {one.to}", one.settings


def rows_of(directions: Sequence[Direction]) -> Iterator[list[Cell]]:
    """The cells of each link, or of each direction where they differ; the first is the name."""
    for way, settings in ways(directions):
        texts = (BELOW if is_table(one) else one.text for one in settings)
        yield [(way, False), *zip(texts, (one.default for one in settings), strict=True)]


def is_table(setting: Setting) -> bool:
    """Returns true for a table that the engine writes as JSON."""
    return isinstance(setting.value, dict) and setting.text.startswith("{")


def below(directions: Sequence[Direction], width: int) -> Iterator[str]:
    """The keys of each table in a setting of links, once for all links that have the same."""
    links_of: dict[str, list[str]] = {}
    found: dict[str, Setting] = {}
    for way, settings in ways(directions):
        for setting in filter(is_table, settings):
            key = f"{setting.name} {setting.text}"
            links_of.setdefault(key, []).append(way)
            found[key] = setting
    for key, setting in found.items():
        yield ""
        yield from broken(f"{setting.name} of {', '.join(links_of[key])}", width,
                          " " * INDENT, " " * 2 * INDENT)  # fmt: skip
        yield from keys_of(setting.value, width)


def keys_of(table: Mapping[str, Any], width: int) -> Iterator[str]:
    """The keys of a table with their values, each in a line, and last the keys without a value."""
    given = {key: value for key, value in table.items() if value not in (None, [], {})}
    margin = 2 * INDENT + max(map(len, given), default=0) + INDENT
    for key, value in given.items():
        for one in value if isinstance(value, list) else [value]:
            head = f"{' ' * 2 * INDENT}{key}"
            yield from broken(words(one), width, f"{head:<{margin}}", " " * margin)
    without = [key for key in table if key not in given]
    if without:
        indent = " " * 2 * INDENT
        yield from broken(f"none: {', '.join(without)}", width, indent, indent + " " * INDENT)


def words(value: Any) -> str:
    """A value in words: of a table its keys with their values."""
    if isinstance(value, dict):
        given = {key: one for key, one in value.items() if one not in (None, [], {})}
        return ", ".join(f"{key} {words(one)}" for key, one in given.items())
    if isinstance(value, list):
        return "; ".join(map(words, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def marked(text: str, default: bool) -> str:
    """A value, with a mark if it is a default."""
    return f"{text} (default)" if default else text


def tables(cells: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Columns in as many tables as the width needs; the first column is that of each."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    columns = [*range(1, len(widths))]
    first = True
    while columns or first:
        taken = columns[:1]
        room = width - INDENT - widths[0] - sum(widths[n] + INDENT for n in taken)
        for n in columns[1:]:
            room -= widths[n] + INDENT
            if room < 0:
                break
            taken.append(n)
        if not first:
            yield ""
        for row in cells:
            line = [f"{row[n]:<{widths[n]}}" for n in (0, *taken)]
            yield from continued(f"  {'  '.join(line)}".rstrip(), width)
        columns = columns[len(taken) :]
        first = False
