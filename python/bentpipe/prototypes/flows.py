"""Controllers of one scenario, as the command line names them for its flows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

from bentpipe import _native
from bentpipe.errors import BentpipeError, ControllerError, EngineError
from bentpipe.problems import UnfitError
from bentpipe.prototypes import pool
from bentpipe.prototypes.loading import Prototype, described, users_traceback
from bentpipe.prototypes.spec import CONTROLLER_PATH, Spec, flows_of
from bentpipe.prototypes.watch import BlockedError, Watch, perform

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bentpipe.prototypes.loading import Maker

Result = TypeVar("Result")

ALL_FLOWS = "flow.*.controller"


def run(call: Callable[..., Result], seed: int, *arguments: Any, **named: Any) -> Result:
    """Call the engine with controllers in Python in this process.

    `ControllerError` with seed and traceback if a method raises an exception or blocks. A method
    that cannot be interrupted ends the process.
    """

    def defied(description: str) -> None:
        print(f"bentpipe: the run with seed {seed} failed: {description}", file=sys.stderr)

    watch = Watch(pool.BLOCKED_S, sys.stderr.fileno(), defied)
    watch.start()
    try:
        return perform(call, *arguments, seed=seed, **named)
    except BlockedError as error:
        raise failed(seed, f"{error}\n{users_traceback(error)}") from None
    except (BentpipeError, EngineError) as error:
        if not isinstance(error, ControllerError):
            raise
        raise failed(seed, described(error)) from None
    except (Exception, SystemExit) as error:
        raise failed(seed, described(error)) from None
    finally:
        watch.stop()


def failed(seed: int, description: str) -> ControllerError:
    """The error of a run."""
    raised = ControllerError(f"the run with seed {seed} failed: {description}")
    raised.run, raised.seed = 0, seed
    return raised


def load(
    file: Path, sets: Sequence[str], controller: str | None = None
) -> tuple[_native.Scenario, dict[str, Maker]]:
    """A scenario with overrides, and the controllers in Python of its flows.

    Overrides of `flow.N.controller` can have the forms of `Spec`. `controller` replaces that of all
    flows. `ScenarioError` or `ControllerError` if something is wrong.
    """
    if controller is not None:
        sets = [*sets, f"{ALL_FLOWS}={controller}"]
    usual, classes = [], {}
    for one in sets:
        path, _, value = (part.strip() for part in one.partition("="))
        is_spec = CONTROLLER_PATH.fullmatch(path) and ":" in value and not value.startswith("{")
        if not is_spec:
            usual.append(one)
            continue
        try:
            spec = Spec.parse(value)
            if spec.in_python:
                classes[path] = Prototype.load(value, spec).make
            else:
                usual.append(f"{path}={spec.setting}")
        except UnfitError as error:
            raise ControllerError(f"{path}: {error}") from None
    scenario = _native.Scenario.load(file, usual)
    return scenario, {flows_of(path, scenario): make for path, make in classes.items()}
