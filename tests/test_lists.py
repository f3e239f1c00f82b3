"""Options with a list of values: an empty value is refused, and the message names the option."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from bentpipe import InputError
from bentpipe.cli import cli
from bentpipe.prototypes.spec import items
from conftest import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Bentpipe

BEAM = ("--scenario", EXAMPLES / "beam-rain.toml", "--group", "clear")
RAIN = ("--duration", "10s", "--out", "rain.csv")
LISTS = [
    (("compare", "--link", "leo"), "--controllers", "cubic"),
    (("compare", "--link", "leo"), "--on-path", "codel"),
    (("compare", "--link", "leo"), "--transports", "quic"),
    (("compare", "--link", "leo"), "--workload", "bulk"),
    (("compare", "--link", "leo"), "--queue", "100"),
    (("compare", "--link", "leo"), "--host", "linux-6.18"),
    (("compare", *BEAM), "--controllers", "cubic"),
    (("compare", *BEAM), "--on-path", "pepsal"),
    (("evaluate", "hybla"), "--against", "cubic"),
    (("evaluate", "hybla"), "--items", "collapse"),
    (("evaluate", "hybla"), "--workload", "page"),
    (("lab",), "--controllers", "cubic"),
    (("new", "study"), "--controllers", "cubic"),
    (("rain", "series", *RAIN), "--elevations", "25"),
    (("fidelity", EXAMPLES / "geo-download.toml"), "--vary", "flow.0.controller=cubic"),
]


def with_lists(command: click.Command, name: str = "") -> Iterator[tuple[str, str]]:
    """The commands and options whose values are written as a list in the help."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for key in command.list_commands(context):
            one = command.get_command(context, key)
            assert one is not None
            yield from with_lists(one, name or key)
    for option in command.params:
        if ",..." in (option.metavar or ""):
            yield name, option.opts[0]


def test_every_option_with_a_list_is_tried_here() -> None:
    tried = {(arguments[0], option) for arguments, option, _ in LISTS}
    found = {*with_lists(cli)}
    assert ("compare", "--controllers") in found
    assert found <= tried


@pytest.mark.parametrize(("arguments", "option", "value"), LISTS)
def test_an_empty_value_of_a_list_is_refused(
    arguments: tuple[str | Path, ...], option: str, value: str, bentpipe: Bentpipe, tmp_path: Path
) -> None:
    before = {*tmp_path.iterdir()}
    done = bentpipe(*arguments, option, f"{value},,")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"bentpipe: {option}")
    assert line.endswith(',,": one of them is empty')
    assert {*tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "option"),
    [(arguments, option) for arguments, option, value in LISTS if arguments[0] != "rain"],
)
def test_an_empty_list_is_refused(
    arguments: tuple[str | Path, ...], option: str, bentpipe: Bentpipe
) -> None:
    done = bentpipe(*arguments, f"{option}=")
    assert done.returncode == 2
    assert done.stderr.startswith(f"bentpipe: {option}: expected ")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("compare", "--link", "leo", "--controllers", "{}"), "--controllers"),
        (("compare", *BEAM, "--controllers", "{}"), "--controllers"),
        (("evaluate", "{}"), "CONTROLLER"),
        (("evaluate", "hybla", "--against", "{}"), "--against"),
        (("lab", "--controllers", "{}"), "--controllers"),
    ],
)
def test_a_parameter_with_a_wrong_value_names_its_option(
    arguments: tuple[str | Path, ...], named: str, bentpipe: Bentpipe
) -> None:
    bad = "cubic:c=9999999"
    done = bentpipe(*(bad if one == "{}" else one for one in arguments))
    assert done.returncode == 2
    expected = "expected a number from 0.001 to 1000, found 9999999"
    assert done.stderr == f"bentpipe: {named}: {bad}: c: {expected}\n"


def test_commas_in_tables_and_quotes_belong_to_the_value() -> None:
    text = 'cubic, { name = "hybla", rtt0 = 0.05 } ,"a,b"'
    assert items("--x", text) == ["cubic", '{ name = "hybla", rtt0 = 0.05 }', '"a,b"']
    with pytest.raises(InputError, match=r'^--x: expected a value, found " "$'):
        items("--x", " ")
