"""Output of `bentpipe kernel`."""

from __future__ import annotations

import json

import click

import bentpipe
from bentpipe.console import show, table


def print_list(as_json: bool) -> None:
    """Print the controllers that can be loaded, and what this machine lacks for it."""
    controllers = bentpipe.kernel_controllers()
    of_linux = bentpipe.kernel_likeness()
    missing = bentpipe.kernel_missing()
    if as_json:
        printed = {
            "controllers": [row.to_dict() for row in controllers],
            "of_linux": [like.to_dict() for like in of_linux],
            "missing": missing,
        }
        click.echo(json.dumps(printed))
        return
    listed = table("controller", "<name in the kernel", "<parameters", "<summary")
    for row in controllers:
        listed.add_row(row.name, row.kernel_name, ", ".join(row.parameters), row.summary)
    show(listed)
    own = table("controller", "<of Linux", "<algorithm", "<what Linux does differently")
    for like in of_linux:
        own.add_row(like.definition, like.kernel_name, like.likeness, like.differs)
    show(own)
    for lack in missing:
        show(f"missing on this machine: {lack}")


def print_status(as_json: bool) -> None:
    """Print the controllers that are loaded or still used."""
    uses = bentpipe.kernel_status()
    if as_json:
        click.echo(json.dumps({"controllers": [use.to_dict() for use in uses]}))
        return
    if not uses:
        show("No controller is loaded.")
        return
    listed = table("name in the kernel", "<state", "connections", "<default of", "<parameters")
    for use in uses:
        listed.add_row(
            use.kernel_name,
            "loaded" if use.loaded else "unloaded, still used",
            str(use.sockets),
            ", ".join(use.default_of) or "-",
            ", ".join(f"{row.name}={row.value}" for row in use.parameters) or "-",
        )
    show(listed)
