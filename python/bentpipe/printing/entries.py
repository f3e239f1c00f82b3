"""Controllers, transports, hosts and mechanisms for the terminal: their lists, and one of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bentpipe.console import show, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bentpipe._native import (
        Constellation,
        ControllerEntry,
        HostProfile,
        Mechanism,
        Mix,
        Transport,
    )


def print_controllers(entries: Iterable[ControllerEntry]) -> None:
    """Print a table of controllers."""
    listed = table("controller", "<status", "<recovery", "<summary", "<source")
    for entry in entries:
        listed.add_row(entry.name, entry.status, entry.recovery, entry.summary, entry.source)
    show(listed)


def print_controller(entry: ControllerEntry) -> None:
    """Print the description and the parameters of one controller."""
    show(f"{entry.name}: {entry.summary}")
    read_in = f" ({entry.implementation})" if entry.implementation else ""
    show(f"source: {entry.source}\nstatus: {entry.status}{read_in}, recovery: {entry.recovery}")
    for each in entry.variants:
        show(f"variant {each.variant}: {each.summary} ({each.status}, {each.implementation})")
        names = [row.name for row in each.parameters if row.name != "variant"]
        if names:
            show(f"parameters of variant {each.variant}: {', '.join(names)}")
    if entry.parameters:
        listed = table("parameter", "<default", "<allowed", "<meaning")
        for row in entry.parameters:
            listed.add_row(row.name, row.default, row.allowed, row.meaning)
        show(listed)


def print_transports(entries: Iterable[Transport]) -> None:
    """Print a table of transport protocols."""
    listed = table("transport", "<status", "<backends", "<summary", "<source")
    for entry in entries:
        backends = ", ".join(entry.backends)
        listed.add_row(entry.name, entry.status, backends, entry.summary, entry.source)
    show(listed)


def print_transport(entry: Transport) -> None:
    """Print the description and the keys of one transport protocol."""
    show(f"{entry.name}: {entry.summary}")
    read_in = f" ({entry.implementation})" if entry.implementation else ""
    show(f"source: {entry.source}\nstatus: {entry.status}{read_in}")
    show(f"backends: {', '.join(entry.backends)}")
    listed = table("key of transport", "<default", "<allowed", "<meaning")
    for row in entry.parameters:
        listed.add_row(row.name, row.default, row.allowed, row.meaning)
    show(listed)


def print_hosts(entries: Iterable[HostProfile]) -> None:
    """Print a table of profiles of hosts."""
    listed = table("host", "<system", "<status", "<backends", "<summary")
    for entry in entries:
        backends = ", ".join(entry.backends)
        listed.add_row(entry.name, entry.system, entry.status, backends, entry.summary)
    show(listed)


def print_host(entry: HostProfile) -> None:
    """Print the values of one profile, with their sources and certainty."""
    show(f"{entry.name}: {entry.summary}")
    show(f"system: {entry.system}\nstatus: {entry.status}\nbackends: {', '.join(entry.backends)}")
    listed = table("key of a flow", "<value", "<certainty", "<source")
    for row in entry.values:
        listed.add_row(row.name, row.value, row.certainty, row.source)
    show(listed)
    for note in entry.notes:
        show(note)


def print_mixes(entries: Iterable[Mix]) -> None:
    """Print a table of mixes."""
    listed = table("mix", "<parts", "<certainty", "<summary")
    for entry in entries:
        listed.add_row(entry.name, ", ".join(entry.parts), entry.certainty, entry.summary)
    show(listed)


def print_mix(entry: Mix) -> None:
    """Print one mix with its source, and its flows as a scenario has them."""
    show(f"{entry.name}: {entry.summary}")
    show(f"source ({entry.certainty}): {entry.source}")
    click.echo(f"\n{entry.flows.strip()}")


def print_mechanisms(entries: Iterable[Mechanism]) -> None:
    """Print a table of mechanisms on the path."""
    listed = table("mechanism", "<key", "<kind", "<status", "<summary", "<source")
    for entry in entries:
        listed.add_row(entry.name, entry.key, entry.kind, entry.status, entry.summary, entry.source)
    show(listed)


def print_mechanism(entry: Mechanism) -> None:
    """Print the description and the parameters of one mechanism."""
    show(entry.summary)
    show(f"kind: {entry.kind}, key: {entry.key}\nsource: {entry.source}\nstatus: {entry.status}")
    show(f"hurts: {entry.hurts}")
    listed = table("parameter", "<default", "<allowed", "<meaning")
    for row in entry.parameters:
        listed.add_row(row.name, row.default, row.allowed, row.meaning)
    show(listed)


def print_constellations(entries: Iterable[Constellation]) -> None:
    """Print a table of constellations."""
    listed = table("name", "satellites", "<certainty", "<summary")
    for entry in entries:
        listed.add_row(entry.name, f"{entry.satellites:,}", entry.certainty, entry.summary)
    show(listed)


def print_constellation(entry: Constellation) -> None:
    """Print a constellation with its source and its notes."""
    show(f"{entry.name}: {entry.summary}")
    show(f"{entry.satellites:,} satellites, {entry.source} ({entry.certainty})")
    for note in entry.notes:
        show(f"note: {note}")


PRINTERS: dict[str, tuple[Callable[[Iterable[Any]], None], Callable[[Any], None]]] = {
    "controllers": (print_controllers, print_controller),
    "mechanisms": (print_mechanisms, print_mechanism),
    "transports": (print_transports, print_transport),
    "hosts": (print_hosts, print_host),
    "mixes": (print_mixes, print_mix),
    "constellations": (print_constellations, print_constellation),
}
"""What prints all entries of a kind, and one of them."""
