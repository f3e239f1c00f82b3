"""A controller of the registry and its prototype in Python, compared step by step.

    import bentpipe as bp

    found = bp.lockstep(bp.Scenario.load("geo.toml"), "my-reno", "mine.py:Mine")
    assert found.difference is None, found

Both get the same events in the same connections, and the network follows the controller of the
registry. The run ends at the first step after which windows or answers differ.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bentpipe import _native
from bentpipe.arguments import text
from bentpipe.errors import ControllerError, InputError
from bentpipe.problems import UnfitError, quoted
from bentpipe.prototypes import flows
from bentpipe.prototypes.flows import ALL_FLOWS
from bentpipe.prototypes.spec import Spec
from bentpipe.runs import makers_of

if TYPE_CHECKING:
    from bentpipe._native import Lockstep, Scenario, StepDifference
    from bentpipe.prototypes import Maker

UNLIMITED = 2**64 - 1
"""The value of ssthresh that means none."""


def lockstep(
    scenario: Scenario, registered: str, prototype: Maker | str, *, seed: int | None = None
) -> Lockstep:
    """Run a scenario with a controller and its prototype in Python, in the same connections.

    `registered` is a name, or a name with parameters such as `"hybla:rtt0=0.05"`, `prototype` a
    class or a text such as `"mine.py:Mine"`. All flows have both. `ControllerError` if one of them
    does not exist, or the prototype fails, `InputError` for arguments of other types.
    """
    text("registered", registered, "a name such as 'reno', or a text such as 'hybla:rtt0=0.05'")
    if not isinstance(scenario, _native.Scenario):
        raise InputError.of_value("scenario", "a Scenario", repr(scenario))
    try:
        spec = Spec.parse(registered)
        if spec.in_python:
            raise UnfitError("a controller of the registry", quoted(registered))
    except UnfitError as error:
        raise ControllerError(str(error)) from None
    makers = makers_of({"*": prototype})
    return _native.lockstep(scenario.with_({ALL_FLOWS: value_of(spec)}), makers, seed=seed)


def value_of(spec: Spec) -> object:
    """The value of `flow.controller`."""
    return {"name": spec.target, **spec.parameters} if spec.parameters else spec.target


def run_and_print(
    scenario: Scenario, registered: str, prototype: str, seed: int | None, as_json: bool
) -> None:
    """Run both, and print the first difference."""
    import click

    chosen = scenario.seed if seed is None else seed
    found = flows.run(lockstep, chosen, scenario, registered, prototype)
    if as_json:
        click.echo(json.dumps(found.to_dict()))
    elif found.difference is None:
        click.echo(f"{registered} and {prototype}: {found.steps:,} steps, all equal")
    else:
        print_difference(found.difference, prototype)


def print_difference(found: StepDifference, prototype: str) -> None:
    """Print the step, the windows and the other attributes of both."""
    from bentpipe.console import show, table

    one, other = found.registered, found.prototype
    equal = f"{found.step - 1:,} equal steps"
    show(
        f"{one.controller} and {prototype} differ after {equal}, in flow {found.flow} at"
        f" {found.at_s:.6f} s:\n{found.event}"
    )
    listed = table("", "before", one.controller, other.controller)
    before, after = str(found.cwnd_before), (str(one.cwnd), str(other.cwnd))
    listed.add_row("cwnd (B)", before, *after)
    thresholds = (found.ssthresh_before, one.ssthresh, other.ssthresh)
    listed.add_row("ssthresh (B)", *("none" if n == UNLIMITED else str(n) for n in thresholds))
    if one.answer is not None:
        listed.add_row("answer", "", one.answer, str(other.answer))
    show(listed)
    show(f"{one.controller}: {one.attributes}\n{other.controller}: {other.attributes}")
