"""Transports in a comparison: every controller runs over every one of them.

Only the flow that is compared has the transport. The background, and the flow of NewReno that it
competes with, keep TCP. A candidate is then a controller with a transport, called `cubic over
quic`. Over TCP it keeps the name of the controller, so the baselines stay the same.

A transport has the settings of the link's first flow that it takes, and otherwise its defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.compare.candidates import TCP
from bentpipe.compare.legs import with_compared
from bentpipe.console import nearest
from bentpipe.errors import InputError, ScenarioError
from bentpipe.problems import UnfitError
from bentpipe.prototypes.spec import Spec, listed

if TYPE_CHECKING:
    from bentpipe.compare.links import Link
    from bentpipe.errors import Problem

TRANSPORT = "flow[0].transport"
"""The place of the settings in errors."""


@dataclass(frozen=True)
class Over:
    """A transport as the user wrote it, its status, and the link with it."""

    name: str
    status: str
    link: Link
    dropped: tuple[str, ...] = ()
    """Keys of the link's `transport` that it does not take."""

    @property
    def slug(self) -> str:
        """The name in the names of studies and folders; empty for TCP as it is."""
        if self.name == TCP:
            return ""
        return "".join(letter if letter.isalnum() else "-" for letter in self.name)


def chosen(text: str, link: Link) -> list[Over]:
    """The transports in a list with commas, and first TCP with the settings of the link.

    `InputError` for one that does not exist, and for parameters that it does not take.
    """
    names = [name for name in listed("--transports", text) if name != TCP]
    if not names:
        raise InputError(
            "--transports: expected a transport to compare with tcp; `bentpipe transports` lists"
            " them"
        )
    written = link.transport
    tcp = over_tcp(link)
    return [tcp, *(of_name(name, written, tcp.link) for name in names)]


def over_tcp(link: Link) -> Over:
    """The link whose flows all have TCP, with those settings of its transport that TCP takes."""
    (entry,) = (one for one in _native.transports() if one.name == TCP)
    if link.protocol == TCP:
        return Over(TCP, entry.status, link)
    own, dropped = taken(entry, link.transport)
    # Its controller may be one that TCP does not carry. The workloads have others.
    changes = {"flow.0.transport": own, "flow.0.controller": "cubic"}
    split = with_compared(replace(link, scenario=link.scenario.with_(changes)))
    return Over(TCP, entry.status, split, dropped)


def taken(
    entry: _native.Transport, written: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The keys of `written` that a transport takes, and the names of the others."""
    keys = {parameter.name.partition(".")[0] for parameter in entry.parameters}
    others = tuple(key for key in written if key not in keys and key != "protocol")
    return {key: value for key, value in written.items() if key in keys}, others


def of_name(name: str, written: dict[str, Any], link: Link) -> Over:
    """One transport with its parameters, for the flow that is compared."""
    known = {one.name: one for one in _native.transports() if one.carries == "stream"}
    try:
        spec = Spec.parse(name)
    except UnfitError as error:
        raise InputError(f"--transports: {name}: {error}") from None
    entry = known.get(spec.target)
    if entry is None:
        if any(one.name == spec.target for one in _native.transports()):
            raise InputError(
                f"--transports: {spec.target} carries no stream of bytes, which the workloads"
                f" need; expected one of {', '.join(known)}"
            )
        raise InputError(
            f"--transports: there is no transport {spec.target!r}{nearest(spec.target, known)}"
        )
    own, dropped = taken(entry, written)
    settings: dict[str, Any] = {"protocol": entry.name, **own}
    for key, value in spec.parameters.items():
        table, _, rest = path_of(name, key, entry).rpartition(".")
        place = settings
        if table:
            # A copy: the table is that of the link.
            place = settings[table] = dict(settings.get(table, {}))
        place[rest] = value
    found = Over(name, entry.status, replace(link, own_transport=settings), dropped)
    check(found)
    return found


def path_of(name: str, key: str, entry: _native.Transport) -> str:
    """The path of a parameter in `transport`: `quic.initial_rtt` for `initial_rtt`."""
    paths = [parameter.name for parameter in entry.parameters]
    for path in paths:
        if key in (path, path.rpartition(".")[2]):
            return path
    names = [path.rpartition(".")[2] for path in paths]
    raise InputError(
        f"--transports: {name}: {entry.name} has no parameter {key!r}{nearest(key, names)}"
    )


def check(over: Over) -> None:
    """Reject invalid values of parameters: errors that all controllers of the registry have.

    A controller that a transport does not carry is an error at another place.
    """
    changes = {"flow.0.transport": over.link.candidate_transport}
    found: list[Problem] = []
    for entry in _native.controllers():
        try:
            over.link.scenario.with_({"flow.0.controller": entry.name, **changes})
        except ScenarioError as error:
            found += [one for one in error.errors if one.path.startswith(f"{TRANSPORT}.")]
        else:
            return
    problems = [one for one in found if one.path != f"{TRANSPORT}.protocol"]
    if not problems:
        return
    raise InputError(f"--transports: {over.name}: {problems[0].below(f'{TRANSPORT}.')}")
