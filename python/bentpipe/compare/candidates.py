"""Selection of the controllers to compare, and their settings in a scenario."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe import _native
from bentpipe.console import nearest
from bentpipe.errors import InputError, ScenarioError
from bentpipe.problems import UnfitError
from bentpipe.prototypes import Prototype, Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.compare.links import Link

NEEDED_ROUTERS = {
    one.name: one.needed_routers for one in _native.controllers() if one.needed_routers
}
"""Router features that a controller depends on, by its name (docs/controllers.md)."""
NEEDED_SETTINGS = {
    one.name: one.needed_settings for one in _native.controllers() if one.needed_settings
}
"""Settings that a controller depends on, by its name: it cannot measure rate and RTT."""
REFERENCES = ("newreno", "cubic")
"""Baselines of all comparisons, which are always included."""


TCP = "tcp"
"""The transport that is not in the name of a candidate."""
NONE = "none"
"""The path as it is: without a mechanism."""


@dataclass(frozen=True)
class Candidate:
    """A controller with its status and setting, its transport, and the mechanism on its path."""

    controller: str
    status: str
    setting: str
    asks: str | None = None
    transport: str | None = None
    """None for that of the link."""
    on_path: str = NONE

    @property
    def name(self) -> str:
        """Controller, transport and mechanism: `cubic over quic + codel`, or only `cubic`."""
        over = "" if self.transport in (None, TCP) else f" over {self.transport}"
        mechanism = "" if self.on_path == NONE else f" + {self.on_path}"
        return f"{self.controller}{over}{mechanism}"

    @property
    def in_python(self) -> bool:
        """True for a controller in Python."""
        return Spec.parse(self.setting).in_python

    @property
    def value(self) -> Any:
        """The value of `controller` in a scenario; for one in Python that of another one."""
        spec = Spec.parse(self.setting)
        if spec.in_python:
            return REFERENCES[0]
        return {"name": spec.target, **spec.parameters} if spec.parameters else spec.target

    def to_dict(self) -> dict[str, Any]:
        """The candidate for JSON."""
        return {"name": self.name, **asdict(self)}

    @property
    def title(self) -> str:
        """The name, with an asterisk if the controller has special needs."""
        return f"{self.name}*" if self.asks else self.name


PARAMETERS = "flow[0].controller."
"""The place of the parameters of a controller in errors."""
UNLIMITED = Candidate("none", "published", "none")
"""No congestion control, for transports that have none or that another setting limits.

No controller of the registry: the status is that of the transport.
"""


def chosen(names: Sequence[str] | None, link: Link) -> list[Candidate]:
    """The controllers `names` and the references; by default all that need no special routers.

    `none` is no congestion control. `InputError` for a controller that does not exist.
    """
    known = {entry.name: entry for entry in bentpipe.controllers()}
    unlimited = [UNLIMITED] if UNLIMITED.controller in (names or ()) else []
    others = [name for name in names or () if name != UNLIMITED.controller]
    own = [name for name in others if is_own(name, "--controllers")]
    # A table may have nothing but a name.
    plain = {Spec.parse(name).target for name in others if name not in own}
    wanted = {*plain, *REFERENCES} if names else known.keys() - NEEDED_ROUTERS.keys()
    listed = [*(name for name in known if name in wanted), *own]
    return [*(of_name(name, link) for name in listed), *unlimited]


def of_name(name: str, link: Link) -> Candidate:
    """The candidate of a controller of the registry, with parameters or in Python, or of `none`."""
    spec = Spec.parse(name)
    if name == UNLIMITED.controller:
        return UNLIMITED
    if spec.in_python:
        return Candidate(name, "prototype", name)
    status = next(one.status for one in bentpipe.controllers() if one.name == spec.target)
    own = name if spec.parameters else setting(spec.target, link)
    asks = needed(spec)
    if asks and spec.target in NEEDED_SETTINGS:
        had = f"and has those of its name: {', '.join(named_settings(spec))}"
        asks += f", {had if spec.parameters else 'which it gets here'}"
    return Candidate(name, status, own, asks)


def needed(spec: Spec) -> str | None:
    """The routers or settings that a controller depends on; None if it depends on none."""
    return None if spec.in_python else (NEEDED_ROUTERS | NEEDED_SETTINGS).get(spec.target)


def named_settings(spec: Spec) -> list[str]:
    """The settings in the name of a controller, such as `rate=20`."""
    return [f"{parameter}={value}" for parameter, value in spec.parameters.items()]


def is_own(name: str, option: str) -> bool:
    """True for a controller with parameters or in Python, false for a name of the registry.

    `InputError` that names the option if it is neither, or if a parameter cannot have its value.
    """
    known = {entry.name: entry for entry in bentpipe.controllers()}
    spec = spec_of(name, option)
    if spec.in_python:
        return True
    entry = known.get(spec.target)
    if entry is None:
        raise InputError(
            f"{option}: there is no controller {spec.target!r}{nearest(spec.target, known)}"
        )
    parameters = [parameter.name for parameter in entry.parameters]
    for parameter in spec.parameters:
        if parameter not in parameters:
            raise InputError(
                f"{option}: {name}: {spec.target} has no parameter {parameter!r}"
                f"{nearest(parameter, parameters)}"
            )
    check_values(name, spec, option)
    return bool(spec.parameters)


def spec_of(name: str, option: str) -> Spec:
    """The parts of a controller of an option; `InputError` for another form, or a wrong class."""
    try:
        spec = Spec.parse(name)
        if spec.in_python:
            Prototype.load(name, spec)
    except UnfitError as error:
        raise InputError(f"{option}: {f'{name}: ' if name else ''}{error}") from None
    return spec


def check_values(name: str, spec: Spec, option: str) -> None:
    """Reject a value that a parameter cannot have, on any link."""
    link = {"between": ["a", "b"], "rate": "1Mbit/s", "delay": "1ms", "queue": "unlimited"}
    value = {"name": spec.target, **spec.parameters}
    flow = {"from": "a", "to": "b", "controller": value, "traffic": {"download": "1MB"}}
    try:
        _native.Scenario.build(duration="1s", link=[link], flow=[flow])
    except ScenarioError as error:
        # Other errors are those of this link, which is not that of the user.
        for one in error.errors:
            if one.path.startswith(PARAMETERS):
                raise InputError(f"{option}: {name}: {one.below(PARAMETERS)}") from None


def left_out(names: Sequence[str] | None) -> dict[str, str]:
    """The controllers that are left out unless named, each with the reason."""
    return {} if names else dict(NEEDED_ROUTERS)


def setting(name: str, link: Link) -> str:
    """The setting in a scenario. A controller that cannot measure rate and RTT gets them."""
    if name not in NEEDED_SETTINGS:
        return name
    rate, rtt = link.rate_bps / 1e6, link.rtt_s * 1e3
    return f'{{ name = "{name}", rate = {rate:g}, rtt = {rtt:g} }}'
