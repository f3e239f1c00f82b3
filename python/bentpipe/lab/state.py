"""What the page shows: a scenario with changes, the controllers that run on it, and the seed.

A page sends its whole state with each request, as JSON, and its link has the same. So the server
keeps nothing of a page, and a link gives the same page on another machine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.compare import links
from bentpipe.compare.candidates import (
    NEEDED_ROUTERS,
    UNLIMITED,
    Candidate,
    is_own,
    of_name,
    spec_of,
)
from bentpipe.compare.fade import shipped
from bentpipe.console import nearest
from bentpipe.errors import InputError
from bentpipe.lab.controls import changed, controls
from bentpipe.prototypes import Spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe._native import Scenario
    from bentpipe.lab.control import Control

DEFAULT = "geo-ku"
"""The preset of a page without a file."""
DURATION = "60s"
"""Duration of a preset, which has none of its own."""
CONTROLLERS = ("cubic", "bbr", "hybla", "newreno")
"""Controllers of a page that names none."""
MOST_CONTROLLERS = 8
"""More lines in a figure cannot be told apart at a glance."""
SEED = re.compile(r"[0-9]{1,20}")
"""A seed in the notation of a page."""
MOST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Source:
    """The scenario that is changed: a preset by its name, or the text of a file."""

    preset: str | None = None
    toml: str | None = None
    file: Path = Path("scenario.toml")
    """The name in errors. Names of files in the text count from its folder."""

    @cached_property
    def text(self) -> str:
        """The text as it is written."""
        if self.preset is None:
            return self.toml or ""
        text = shipped(f"{self.preset}.toml").read_text(encoding="utf-8")
        name = f'name = "{self.preset}"\n'
        return text.replace(name, f'{name}duration = "{DURATION}"\n', 1)

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario; `ScenarioError` with file and line."""
        file = Path(f"{self.preset}.toml") if self.preset else self.file
        return _native.Scenario.parse(self.text, file=file).without_mixes()

    @cached_property
    def controls(self) -> list[Control]:
        """The controls of the scenario."""
        return controls(self.scenario)

    @cached_property
    def choices(self) -> list[dict[str, str]]:
        """The controllers that the first flow takes, with what they need."""
        return choices(self.scenario)


@lru_cache(maxsize=64)
def source(preset: str | None, toml: str | None, file: Path) -> Source:
    """A source whose scenario and controls are found once."""
    return Source(preset, toml, file)


@dataclass(frozen=True)
class State:
    """All that determines what a page shows."""

    source: Source
    values: dict[str, Any]
    """Chosen values of controls by their names; the others are as in the scenario."""
    controllers: tuple[str, ...]
    seed: int | None = None
    """None is the seed of the scenario."""

    @classmethod
    def of_json(cls, data: Any, file: Path) -> State:
        """The state that a page sent; `InputError` if it is none.

        Texts of scenarios have the name and the folder of `file`.
        """
        if not isinstance(data, dict):
            raise InputError.of_value("state", "an object", type(data).__name__)
        known = ("preset", "toml", "file", "values", "controllers", "seed")
        for key in data:
            if key not in known:
                raise InputError(f"state: there is no key {key!r}{nearest(key, known)}")
        preset, toml = data.get("preset"), data.get("toml")
        if (preset is None) == (toml is None):
            raise InputError("state: expected `preset` or `toml`, found both or neither")
        if preset is not None and preset not in links.presets():
            raise InputError(f"there is no link {preset!r}{nearest(str(preset), links.presets())}")
        if toml is not None and not isinstance(toml, str):
            raise InputError.of_value("state.toml", "a text", repr(toml))
        values = data.get("values", {})
        if not isinstance(values, dict):
            raise InputError.of_value("state.values", "an object", repr(values))
        seed = data.get("seed")
        if isinstance(seed, str) and SEED.fullmatch(seed):
            seed = int(seed)
        names = data.get("controllers", [])
        file = file.with_name(file_name(data.get("file", file.name)))
        return cls(source(preset, toml, file), values, checked(names), checked_seed(seed))

    def to_json(self) -> dict[str, Any]:
        """The state for a page. Its seed is a text, because JavaScript rounds large numbers."""
        named = {"toml": self.source.text, "file": self.source.file.name}
        own = {"preset": self.source.preset} if self.source.preset else named
        found = own | {"values": self.values, "controllers": list(self.controllers)}
        return found if self.seed is None else found | {"seed": str(self.seed)}

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario with the changes and the seed; `InputError`."""
        known = {one.id for one in self.source.controls}
        for name in self.values:
            if name not in known:
                hint = nearest(name, known)
                raise InputError(f"this scenario has no control {name!r}{hint}")
        now, _ = changed(self.source.scenario, self.source.controls, self.values)
        return now if self.seed is None else now.with_({"seed": self.seed})

    @property
    def is_changed(self) -> bool:
        """True if the scenario is not the text of its source."""
        return bool(self.values) or self.seed is not None

    @property
    def toml(self) -> str:
        """The scenario as a file: the text as it was written, if nothing was changed."""
        return self.scenario.to_toml() if self.is_changed else self.source.text

    def candidate(self, name: str) -> Candidate:
        """A controller with the settings that it has in all runs of the page, and in its files."""
        return of_name(name, links.Link(self.scenario.name, self.scenario))

    def of_controller(self, name: str) -> Scenario:
        """The scenario in which the first flow has a controller; `InputError`."""
        return self.scenario.with_({"flow.0.controller": self.candidate(name).value})

    @cached_property
    def runs(self) -> dict[str, Scenario]:
        """The scenario of each controller that the first flow takes; `InputError` without any."""
        found, failed = self.tried
        if not found:
            raise InputError("\n".join(failed.values()))
        return found

    @property
    def failed(self) -> dict[str, str]:
        """The reasons why the first flow does not take the other controllers."""
        return self.tried[1]

    @cached_property
    def tried(self) -> tuple[dict[str, Scenario], dict[str, str]]:
        """The scenarios of the controllers that fit, and the errors of the others."""
        found, failed = {}, {}
        for name in self.controllers:
            try:
                found[name] = self.of_controller(name)
            except InputError as error:
                failed[name] = str(error)
        return found, failed

    @property
    def notes(self) -> dict[str, str]:
        """The needs of those controllers that run and have special ones, as sentences."""
        candidates = (self.candidate(name) for name in self.runs)
        return {one.controller: note(one) for one in candidates if one.asks}


def note(candidate: Candidate) -> str:
    """A sentence on what a controller needs, with the settings that the page gives it."""
    is_told = candidate.setting != candidate.controller
    return (
        f"{candidate.controller} needs {candidate.asks}"
        f"{f': {candidate.setting}' if is_told else ''}."
    )


def file_name(name: Any) -> str:
    """The name of a file that was opened on the page; `InputError` if it has a folder."""
    if not isinstance(name, str) or name in ("", ".", "..") or re.search(r"[/\\\0]", name):
        raise InputError.of_value("state.file", "the name of a file without a folder", repr(name))
    return name


def checked_seed(seed: Any) -> int | None:
    """The seed, or None for that of the scenario; `InputError` for other values."""
    if seed is not None and not (type(seed) is int and 0 <= seed <= MOST_SEED):
        raise InputError.of_value("seed", f"a whole number from 0 to {MOST_SEED}", repr(seed))
    return seed


def checked(names: Any, option: str = "controllers") -> tuple[str, ...]:
    """The names of controllers, each once; `InputError` for those that no page can run."""
    is_list = isinstance(names, Sequence) and not isinstance(names, str)
    if not (is_list and all(isinstance(one, str) for one in names)):
        raise InputError.of_value("controllers", "a list of names", repr(names))
    found = tuple(dict.fromkeys(one.strip() for one in names))
    if not 1 <= len(found) <= MOST_CONTROLLERS:
        expected = f"from 1 to {MOST_CONTROLLERS} controllers"
        raise InputError.of_value("controllers", expected, str(len(found)))
    for name in found:
        if name == UNLIMITED.controller:
            continue
        if ".py" in name or spec_of(name, option).in_python:
            raise InputError(
                f"{option}: {name}: the page has no controllers in Python; use `bentpipe run`"
            )
        is_own(name, option)
    return found


def initial(
    file: Path | None, sets: Sequence[str], names: Sequence[str] | None, seed: int | None
) -> State:
    """The first state of a page: of a file, or of the default preset; `InputError`.

    Without names of controllers it has the usual ones, and first that of the scenario.
    """
    if names is not None:
        checked(names, "--controllers")
    if file is not None:
        scenario = _native.Scenario.load(file, sets).without_mixes()
        text = scenario.to_toml() if sets else file.read_text(encoding="utf-8")
        return of_source(source(None, text, file), names, seed)
    if sets:
        preset = shipped(f"{DEFAULT}.toml")
        return initial_of(
            _native.Scenario.load(preset, (f"duration={DURATION}", *sets)), names, seed
        )
    return initial_of(DEFAULT, names, seed)


def initial_of(
    scenario: Scenario | str, names: Sequence[str] | None, seed: int | None = None
) -> State:
    """The first state of a page of a scenario, or of a preset by its name."""
    if isinstance(scenario, str):
        return of_source(source(scenario, None, Path(f"{scenario}.toml")), names, seed)
    file = Path(f"{scenario.name}.toml")
    return of_source(source(None, scenario.to_toml(), file), names, seed)


def of_source(found: Source, names: Sequence[str] | None, seed: int | None) -> State:
    """The first state of a page of a source."""
    if names is None:
        flow = links.Link(found.scenario.name, found.scenario).document["flow"][0]
        own = flow.get("controller", CONTROLLERS[0])
        first = own if isinstance(own, str) else with_parameters(own)
        fits = takes(found.scenario)
        names = [one for one in dict.fromkeys((first, *CONTROLLERS)) if fits(one)]
        # Of datagrams there is no controller.
        names = names[: len(CONTROLLERS)] or [first if fits(first) else UNLIMITED.controller]
    return State(found, {}, checked(names), checked_seed(seed))


def with_parameters(table: Mapping[str, Any]) -> str:
    """A controller with parameters as one text: `hybla:rtt0=0.05`."""
    own = [f"{key}={value}" for key, value in table.items() if key != "name"]
    return ":".join([table["name"], *own])


def takes(scenario: Scenario) -> Any:
    """A function that says if the first flow of a scenario takes a controller."""

    def fits(name: str) -> bool:
        try:
            scenario.with_({"flow.0.controller": Spec.parse(name).target})
        except InputError:
            return False
        return True

    return fits


def choices(scenario: Scenario) -> list[dict[str, str]]:
    """The controllers that the first flow takes, with what they need."""
    fits = takes(scenario)
    found = [
        {"name": one.name, "about": one.summary, "needs": NEEDED_ROUTERS.get(one.name, "")}
        for one in _native.controllers()
        if fits(one.name)
    ]
    return found if not fits(UNLIMITED.controller) else [
        *found, {"name": UNLIMITED.controller, "about": "No congestion control.", "needs": ""}
    ]  # fmt: skip
