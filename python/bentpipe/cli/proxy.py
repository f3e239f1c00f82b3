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
@click.option("--once", is_flag=True, help="Show them once, also on a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def proxy_top(file: Path, once: bool, as_json: bool) -> None:
    """Show live connections of the daemon, on a terminal again every second until Ctrl-C.

    FILE is the file of the daemon. Its key `control` names the socket on which the daemon answers.
    """
    execute("top", file, "--once" if once else None, "--json" if as_json else None)


@proxy.command("reload")
@click.argument("file", type=FILE)
def reload_proxy(file: Path) -> None:
    """Let the running daemon read FILE again. Open connections keep their settings.

    A file with errors, or with a change that needs a restart, changes nothing: the command prints
    the reason, and its exit status is 2.
    """
    execute("reload", file)


@proxy.command("upgrade")
@click.argument("file", type=FILE)
def upgrade_proxy(file: Path) -> None:
    """Let the program at the daemon's path take over. No connection is refused meanwhile.

    Install the new version at this path first. The old process goes on until its connections end.
    """
    execute("upgrade", file)


@proxy.command("stop")
@click.argument("file", type=FILE)
def stop_proxy(file: Path) -> None:
    """End the running daemon, and wait until it has ended.

    New connections cross unsplit at once. Open ones have `stop_within` of FILE to end.
    """
    execute("stop", file)
