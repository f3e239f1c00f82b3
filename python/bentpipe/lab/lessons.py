"""Lessons of the live page: a question, predictions, and an answer that two runs give.

Each file of `lessons/` has a question about a path before and after a change, and the quantity that
the question is about. The predictions are those of all lessons: classes of the ratio of the
quantity after the change to that before it. Which one is right is not in the file. It is computed
from the runs.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.console import nearest
from bentpipe.errors import InputError
from bentpipe.lab.results import METRICS, Metric, written
from bentpipe.lab.state import State
from bentpipe.numbers import significant

if TYPE_CHECKING:
    from collections.abc import Mapping

CONTROLLER = "cubic"
"""The controller of a side that names none."""


@dataclass(frozen=True)
class Prediction:
    """A class of ratios: at least `least`, and less than `most`."""

    text: str
    least: float
    most: float


PREDICTIONS = (
    Prediction("It falls to less than half.", 0.0, 0.5),
    Prediction("It falls, but not to half.", 0.5, 0.95),
    Prediction("It stays within 5 %.", 0.95, 1.05),
    Prediction("It grows, but not to double.", 1.05, 2.0),
    Prediction("It grows to double or more.", 2.0, float("inf")),
)
"""All ratios, each in one class."""


@dataclass(frozen=True)
class Side:
    """A path before or after the change, as a state with one controller."""

    label: str
    state: State


@dataclass(frozen=True)
class Lesson:
    """A question with its two sides."""

    id: str
    title: str
    question: str
    why: str
    metric: Metric
    control: str | None
    """The control that makes the change, if one does."""
    before: Side
    after: Side

    def to_dict(self) -> dict[str, Any]:
        """The lesson for the page, without the reason."""
        sides = {
            name: {"label": side.label, "state": side.state.to_json()}
            for name, side in (("before", self.before), ("after", self.after))
        }
        return {"id": self.id, "title": self.title, "question": self.question,
                "metric": self.metric.label, "control": self.control, **sides}  # fmt: skip

    def answer(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
        """What the results of both runs say: values, the class of their ratio, and the reason."""
        values = [one["totals"][self.metric.id] for one in (before, after)]
        texts = [f"{written(self.metric, one)} {self.metric.unit}" for one in values]
        ratio = None if None in values or not values[0] else values[1] / values[0]
        right = None if ratio is None else next(
            number for number, one in enumerate(PREDICTIONS) if one.least <= ratio < one.most
        )  # fmt: skip
        sides = zip((self.before, self.after), texts, strict=True)
        measured = ", ".join(f"{side.label}: {text}" for side, text in sides)
        times = "" if ratio is None else f" That is {significant(ratio, 3)} times."
        sentence = f"{self.metric.label}: {measured}.{times}"
        return {"right": right, "ratio": ratio, "measured": sentence, "why": self.why}


@cache
def lessons() -> dict[str, Lesson]:
    """All lessons by their names, in their order."""
    folder = resources.files("bentpipe.lab") / "lessons"
    names = sorted(one.name for one in folder.iterdir() if one.name.endswith(".toml"))
    found = (read(name, (folder / name).read_text(encoding="utf-8")) for name in names)
    return {one.id: one for one in found}


def lesson(name: Any) -> Lesson:
    """A lesson by its name; `InputError` if there is none."""
    known = lessons()
    if not isinstance(name, str) or name not in known:
        raise InputError(f"there is no lesson {name!r}{nearest(str(name), known)}")
    return known[name]


def read(name: str, text: str) -> Lesson:
    """A lesson from the text of its file."""
    data = tomllib.loads(text)
    metrics = {one.id: one for one in METRICS}
    before, after = (side(data, data[one]) for one in ("before", "after"))
    return Lesson(
        id=Path(name).stem.partition("-")[2],
        title=data["title"],
        question=data["question"],
        why=data["why"],
        metric=metrics[data["metric"]],
        control=data.get("control"),
        before=before,
        after=after,
    )


def side(data: Mapping[str, Any], own: Mapping[str, Any]) -> Side:
    """One side: the scenario with changes by paths, values of controls, and a controller."""
    text = data.get("scenario", "").lstrip()
    if own.get("set"):
        text = _native.Scenario.parse(text).with_(own["set"]).to_toml()
    where = {"preset": data["preset"]} if "preset" in data else {"toml": text}
    state = where | {"values": own.get("values", {}),
                     "controllers": [own.get("controller", CONTROLLER)]}  # fmt: skip
    return Side(own["label"], State.of_json(state, Path("lesson.toml")))
