"""The command `bentpipe page import`."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import click

from bentpipe import _native
from bentpipe.errors import InputError, OutputError, ScenarioError
from bentpipe.numbers import count
from bentpipe.pages.entries import refused
from bentpipe.pages.har import After, Archive, read

if TYPE_CHECKING:
    from pathlib import Path

MOST_NAMED = 3
"""Objects that a line of the summary names. `--json` has all."""
INSTEAD = {"size": "1 byte", "timings": "0 ms"}
"""Values of objects for which the archive has none."""


def convert(file: Path, out: Path | None, as_json: bool) -> None:
    """Write the page of an archive as TOML, and a summary."""
    archive = read(file)
    text = in_toml(archive)
    check(file, archive, tomllib.loads(text))
    if out is not None:
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise OutputError(f"cannot write {out}: {error.strerror}") from error
    if as_json:
        click.echo(json.dumps(in_json(archive, out)))
    elif out is None:
        click.echo(text, nl=False)
    else:
        click.echo("\n".join(summary(archive, out)))


def check(file: Path, archive: Archive, page: dict[str, Any]) -> None:
    """Reject a page that no scenario can load, such as one with a delay of hours."""
    kept = {key: value for key, value in page.items() if key != "source"}
    flow = {"from": "server", "to": "browser", "controller": "cubic"}
    link = {"between": ["server", "browser"], "rate": "1Mbit/s", "delay": "1ms"}
    try:
        _native.Scenario.build(
            duration="1s",
            link=[{**link, "queue": "unlimited"}],
            flow=[{**flow, "traffic": {"page": {**kept, "http": "1.1"}}}],
        )
    except ScenarioError as error:
        first = error.errors[0]
        number, _, key = first.path.partition("objects[")[2].partition("].")
        if not key:
            raise refused(file, first.expected, first.found) from None
        place = f"{key} of the object {archive.objects[int(number)].url}"
        message = f"{file}: {place}: expected {first.expected}, found {first.found}"
        raise InputError(message, str(file)) from None


def summary(archive: Archive, out: Path) -> list[str]:
    """The figures of an import in lines."""
    objects = archive.objects
    origins = {one.host for one in objects}
    size = sum(one.bytes for one in objects) / 1e6
    lines = [
        f"{out}: {count(len(objects))} objects of {count(len(origins))} origins, {size:.2f} MB.",
        f"Guessed dependencies: {count(archive.guessed)} of {count(len(objects) - 1)}.",
    ]
    if archive.preconnect > 1:
        lines.append(f"Connections that were opened ahead: {archive.preconnect - 1}.")
    if archive.left_out:
        reasons = ", ".join(f"{count(number)} {why}" for why, number in archive.left_out.items())
        lines.append(f"Left out: {reasons}.")
    for what, names in missing(archive).items():
        more = f" and {count(len(names) - MOST_NAMED)} more" if len(names) > MOST_NAMED else ""
        if names:
            shown = f"{', '.join(names[:MOST_NAMED])}{more}"
            lines.append(f"No {what} in the archive, {INSTEAD[what]} instead: {shown}.")
    return lines


def missing(archive: Archive) -> dict[str, list[str]]:
    """Names of the objects without a size, and of those without timings in the archive."""
    return {
        "size": [one.name for one in archive.objects if not one.has_size],
        "timings": [one.name for one in archive.objects if not one.has_timings],
    }


def in_json(archive: Archive, out: Path | None) -> dict[str, object]:
    """The same as data."""
    return {
        "file": None if out is None else str(out),
        "objects": len(archive.objects),
        "origins": len({one.host for one in archive.objects}),
        "bytes": sum(one.bytes for one in archive.objects),
        "guessed": archive.guessed,
        "preconnect": archive.preconnect,
        "left_out": archive.left_out,
        **{f"without_{what}": names for what, names in missing(archive).items()},
        "load_s": archive.load_s,
    }


def in_toml(archive: Archive) -> str:
    """The page as a file for `traffic.page.file`."""
    guesses = f"{archive.guessed} of {max(len(archive.objects) - 1, 0)} dependencies are guesses"
    lines = [f"source = {quoted(f'{archive.title}; {guesses}')}"]
    if archive.preconnect > 1:
        lines.append(f"preconnect = {archive.preconnect}")
    for one in archive.objects:
        lines += ["", "[[objects]]", f"name = {quoted(one.name)}"]
        size = "" if one.has_size else "  # no size in the archive"
        lines += [f"origin = {quoted(one.origin)}", f'bytes = "{one.bytes}B"{size}']
        timings = "" if one.has_timings else "  # no timings in the archive"
        lines += [f'kind = "{one.kind}"{timings}']
        if one.server_ms:
            lines.append(f'server_time = "{one.server_ms}ms"')
        if one.after:
            lines.append(f"after = [{', '.join(map(dependency, one.after))}]")
    return "\n".join(lines) + "\n"


def dependency(after: After) -> str:
    """A dependency as a table of TOML."""
    parts = [f"object = {quoted(after.object)}", f'at = "{after.at}"']
    if after.delay_ms:
        parts.append(f'delay = "{after.delay_ms}ms"')
    return f"{{ {', '.join(parts)} }}"


def quoted(text: str) -> str:
    """A basic string of TOML, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
