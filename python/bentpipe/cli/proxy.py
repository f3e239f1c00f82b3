"""The transparent split proxy for Linux."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli.root import FILE, cli

if TYPE_CHECKING:
    from pathlib import Path


@cli.group()
def proxy() -> None:
    """Transparent split proxy for gateways of satellite links. See docs/proxy.md."""


def execute(*arguments: str | Path | None) -> None:
    """Run the program of the proxy instead of this one."""
    from bentpipe.proxy import execute

    execute([str(argument) for argument in arguments if argument is not None])


@proxy.command("run")
@click.argument("file", type=FILE)
def run_proxy(file: Path) -> None:
    """Run the daemon with the configuration FILE."""
    execute("run", file)


@proxy.command("check")
@click.argument("file", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check_proxy(file: Path, as_json: bool) -> None:
    """Show what this machine lacks for FILE. If nothing, send a connection through the proxy."""
    execute("check", file, "--json" if as_json else None)


@proxy.command("rules")
@click.argument("file", type=FILE)
@click.option("--apply", is_flag=True, help="Run the commands. If one fails, undo the others.")
@click.option("--remove", is_flag=True, help="Print, or run, the commands that remove the rules.")
def proxy_rules(file: Path, apply: bool, remove: bool) -> None:
    """Print the commands that send connections to the daemon."""
    execute("rules", file, "--apply" if apply else None, "--remove" if remove else None)


@proxy.command("top")
@click.argument("file", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def proxy_top(file: Path, as_json: bool) -> None:
    """Show live connections of the daemon."""
    execute("top", file, "--json" if as_json else None)
