"""Lists: controllers, mechanisms on the path, transports, host profiles, mixes, constellations.

Each command lists the entries of its kind, or describes one of them. The texts are those of
`bentpipe.printing.entries`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import bentpipe
from bentpipe.cli.root import Completed, cli, json_option, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def add(kind: str, entries: Callable[[], Iterable[Any]], about: str, *, name: str = "") -> None:
    """Add the command of a kind; `name` is its name, where it is not the plural of the kind."""
    plural = entries.__name__

    @cli.command(name or plural, help=about)
    @click.argument("name", type=Completed(kind), required=False)
    @json_option
    def command(name: str | None, as_json: bool) -> None:
        from bentpipe.console import nearest
        from bentpipe.printing.entries import PRINTERS

        known = {entry.name: entry for entry in entries()}
        if name is not None and name not in known:
            refuse(f"there is no {kind} {name!r}{nearest(name, known)}")
        print_all, print_one = PRINTERS[plural]
        if as_json:
            import json

            listed = [known[name]] if name else known.values()
            click.echo(json.dumps({plural: [entry.to_dict() for entry in listed]}))
        elif name:
            print_one(known[name])
        else:
            print_all(known.values())


add(
    "controller",
    bentpipe.controllers,
    "List the congestion controllers, or describe the controller NAME.",
)
add(
    "mechanism",
    bentpipe.mechanisms,
    "List the mechanisms on the path, or describe the mechanism NAME. See docs/path.md.",
    name="path",
)
add(
    "transport",
    bentpipe.transports,
    "List the transport protocols, or describe the protocol NAME.",
)
add(
    "host profile",
    bentpipe.hosts,
    "List the profiles of operating systems, or describe the profile NAME. See docs/hosts.md.",
)
add(
    "mix",
    bentpipe.mixes,
    """List the mixes of applications, or print the flows of the mix NAME.

    See docs/applications.md.
    """,
)
add(
    "constellation",
    bentpipe.constellations,
    "List the constellations that have a name, or describe the constellation NAME.",
)
