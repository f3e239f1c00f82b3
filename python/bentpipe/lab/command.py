"""`bentpipe lab`: the server of the live page, until Ctrl-C."""

from __future__ import annotations

import threading
import webbrowser
from typing import TYPE_CHECKING

import click

from bentpipe.lab.server import Server
from bentpipe.lab.state import initial
from bentpipe.prototypes.spec import listed

if TYPE_CHECKING:
    from pathlib import Path


def serve(
    file: Path | None,
    sets: tuple[str, ...],
    controllers: str | None,
    seed: int | None,
    port: int | None,
    browse: bool,
) -> None:
    """Serve the page and print its address; return at Ctrl-C."""
    names = None if controllers is None else listed("--controllers", controllers)
    server = Server(initial(file, sets, names, seed), port)
    try:
        click.echo(f"{server.address}\nCtrl-C ends the page.")
        if browse:
            webbrowser.open(server.address)
        while True:
            threading.Event().wait(3600)
    except KeyboardInterrupt:
        click.echo("ended")
    finally:
        server.close()
