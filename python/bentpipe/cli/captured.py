"""The command `bentpipe capture`."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from bentpipe import stdout
from bentpipe.captures.beside import compared
from bentpipe.captures.traces import largest, read
from bentpipe.console import show
from bentpipe.errors import InputError
from bentpipe.numbers import count, significant

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bentpipe._native import CapturedConnection
    from bentpipe.captures.traces import Taken
    from bentpipe.report.page import Page

MOST_DRAWN = 5
"""Connections with figures, unless they are chosen."""


def print_capture(
    file: Path,
    *,
    beside: Path | None,
    sets: Sequence[str],
    seed: int | None,
    numbers: Sequence[int],
    top: int,
    out: Path | None,
    figures: Path | None,
    as_json: bool,
) -> None:
    """Read a capture, print its connections, and write a page and figures if they are named."""
    if beside is None and (sets or seed is not None):
        option = "--set" if sets else "--seed"
        raise InputError.of_value(option, "a scenario at --beside", "none")
    with ExitStack() as stack:
        taken = read(file, "capture")
        connections = chosen(taken, numbers, top)
        other = stack.enter_context(compared(beside, sets, seed)) if beside else None
        one = largest(other.capture.connections, 1) if other else []
        if out or figures:
            from bentpipe.report.command import write_page

            page = made_page(taken, connections, other, one, all_drawn=bool(numbers))
            write_page(page, out, figures, err=as_json)
        for warning in taken.capture.warnings:
            click.echo(f"bentpipe: warning: {file}: {warning}", err=True)
        stdout.about_to_print(file.stem, lambda: as_text(taken, connections, other, one))
        if as_json:
            click.echo(as_text(taken, connections, other, one))
        else:
            print_tables(taken, connections, other, one)


def chosen(taken: Taken, numbers: Sequence[int], top: int) -> list[CapturedConnection]:
    """The connections with these numbers, otherwise those with most data."""
    found = taken.capture.connections
    if not numbers:
        return largest(found, top)
    for number in numbers:
        if not 1 <= number <= len(found):
            most = f"a number from 1 to {len(found)}"
            raise InputError.of_value("--connection", most, str(number))
    return [found[number - 1] for number in dict.fromkeys(numbers)]


def as_text(
    taken: Taken,
    connections: Sequence[CapturedConnection],
    other: Taken | None,
    compared_with: Sequence[CapturedConnection],
) -> str:
    """The results as one JSON object."""
    content: dict[str, Any] = {"file": str(taken.path)} | taken.capture.to_dict()
    content["connections"] = [one.to_dict() for one in connections]
    content["connections_in_all"] = len(taken.capture.connections)
    if other:
        content["beside"] = other.capture.to_dict() | {
            "source": other.label,
            "connections": [one.to_dict() for one in compared_with],
        }
    return json.dumps(content)


def print_tables(
    taken: Taken,
    connections: Sequence[CapturedConnection],
    other: Taken | None,
    compared_with: Sequence[CapturedConnection],
) -> None:
    """Print the tables of connections, and what they leave out."""
    from bentpipe.captures import tables

    named = {str(one.number): one for one in connections}
    listed = tables.rows(connections)
    if other:
        named[other.label] = compared_with[0]
        listed.append(tables.row_of(compared_with[0], other.label))
    tables.print_connections(named)
    tables.print_measures(listed)
    tables.print_notes(named)
    capture = taken.capture
    in_all = len(capture.connections)
    left = in_all - len(connections)
    most = f"; {left:,} connections are not shown (--top {in_all} shows all)" if left else ""
    show(
        f"{count(capture.packets)} packets in {significant(capture.duration_s)} s, "
        f"{count(capture.tcp_packets)} of them of {in_all:,} TCP connections{most}"
    )


def made_page(
    taken: Taken,
    connections: Sequence[CapturedConnection],
    other: Taken | None,
    compared_with: Sequence[CapturedConnection],
    *,
    all_drawn: bool,
) -> Page:
    """The page with figures of all connections, or of those with most data."""
    from bentpipe.captures.traces import with_points
    from bentpipe.report.capture import capture_page

    drawn = connections if all_drawn else largest(connections, MOST_DRAWN)
    if other:
        drawn = largest(drawn, 1)
    groups = [[one] for one in with_points(taken, drawn)]
    if other:
        groups[0] += with_points(other, compared_with)
    return capture_page(taken, connections, groups, other)
