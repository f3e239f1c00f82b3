"""Congestion controllers in the running Linux kernel."""

from __future__ import annotations

import click

import bentpipe
from bentpipe.cli.root import Completed, cli, json_option, refuse


def kernel_name(name: str) -> str:
    """The name of a controller in the kernel, which has at most 15 characters."""
    known = {row.name: row.kernel_name for row in bentpipe.kernel_controllers()}
    return known.get(name, name)


@cli.group()
def kernel() -> None:
    """Congestion controllers in the running Linux kernel. See docs/deploy.md.

    Each controller is an eBPF program. It stays loaded until you unload it or the machine restarts.
    A socket chooses it by its name, bp_NAME. Nothing else changes without --default.
    """


kernel_sets = click.option(
    "--set", "sets", multiple=True, metavar="NAME=VALUE", help="Set a parameter."
)


@kernel.command("list")
@json_option
def list_kernel(as_json: bool) -> None:
    """List the controllers that can be loaded."""
    from bentpipe.deploy import print_list

    print_list(as_json)


@kernel.command("load")
@click.argument("name", type=Completed("kernel controller"))
@kernel_sets
@click.option("--default", is_flag=True, help="Make it the default of new sockets.")
@click.option(
    "--namespace", metavar="NAME", help="With --default: network namespace, as in `ip netns`."
)
def load_kernel(name: str, sets: tuple[str, ...], default: bool, namespace: str | None) -> None:
    """Load the controller NAME."""
    if namespace is not None and not default:
        refuse("--namespace: only used with --default; add --default")
    folder = bentpipe.kernel_load(name, sets, default=default, namespace=namespace)
    click.echo(f"{kernel_name(name)} is loaded, pinned in {folder}")


@kernel.command("set")
@click.argument("name", type=Completed("kernel controller"))
@click.argument("sets", nargs=-1, required=True, metavar="NAME=VALUE...")
def set_kernel(name: str, sets: tuple[str, ...]) -> None:
    """Change parameters of the loaded controller NAME, also for open connections."""
    for row in bentpipe.kernel_set(name, sets):
        click.echo(f"{row.name} = {row.value}")


@kernel.command("unload")
@click.argument("name", type=Completed("kernel controller"))
def unload_kernel(name: str) -> None:
    """Unload the controller NAME. Connections that use it keep it until they end."""
    sockets = bentpipe.kernel_unload(name)
    click.echo(f"{kernel_name(name)} is unloaded; {sockets} connections keep it until they end")


@kernel.command("status")
@json_option
def status_kernel(as_json: bool) -> None:
    """Show the loaded controllers, with parameters and the number of connections."""
    from bentpipe.deploy import print_status

    print_status(as_json)
