"""A controller of the registry and its prototype in Python get the same events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from bentpipe.controller import Ack, Controller, Feedback, Loss, Needs
from conftest import SMALL
from test_controller import EXAMPLE

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

LOSSY = SMALL.replace("per = 0.01", "per = 0.03")


class Inherited(Controller):
    """Standard TCP."""


class OneByteMore(Controller):
    """Standard TCP, but for one byte after the second loss."""

    losses = 0

    def on_loss(self, loss: Loss) -> None:
        self.losses += 1
        super().on_loss(loss)
        if self.losses == 2:
            self.window.cwnd += 1


class Paced(Controller):
    """Standard TCP with pacing."""

    def needs(self) -> Needs:
        return Needs(pacing=True)


class Hasty(Controller):
    """Standard TCP that takes the first duplicate ACK as a loss."""

    def needs(self) -> Needs:
        return Needs(feedback=True)

    def finds_loss(self, feedback: Feedback) -> bool:
        return feedback.duplicate


class Fails(Controller):
    def on_ack(self, ack: Ack) -> None:
        raise LookupError("planted")


def scenario(text: str = LOSSY) -> bp.Scenario:
    return bp.Scenario.parse(text)


@pytest.mark.parametrize(
    ("name", "prototype"),
    [("newreno", Inherited), ("reno", Inherited), ("reno", EXAMPLE.Reno)],
)
def test_equal_rules_are_equal_in_all_steps(name: str, prototype: type[Controller]) -> None:
    for seed in range(1, 6):
        found = bp.lockstep(scenario(), name, prototype, seed=seed)
        assert found.difference is None, found
        assert found.steps > 300


def test_the_first_difference_is_shown_with_both() -> None:
    found = bp.lockstep(scenario(), "newreno", OneByteMore)
    difference = found.difference
    assert difference is not None
    assert difference.step == found.steps
    assert difference.flow == "flow-0"
    assert difference.event.startswith("on_loss(Loss(now_s=")
    assert difference.prototype.cwnd == difference.registered.cwnd + 1
    assert difference.prototype.ssthresh == difference.registered.ssthresh
    assert difference.prototype.attributes == "{'losses': 2}"
    assert f"cwnd: {difference.registered.cwnd}" in difference.registered.attributes
    assert difference.cwnd_before > difference.registered.cwnd
    # The time is that of the second loss of a run of its own.
    losses = []

    class Recorded(Controller):
        def on_loss(self, loss: Loss) -> None:
            losses.append(loss.now_s)
            super().on_loss(loss)

    bp.run(scenario(), controllers={"*": Recorded})
    assert difference.at_s == losses[1]


@pytest.mark.parametrize(
    ("prototype", "method", "answers"),
    [
        (Paced, "needs", ("pacing=false", "pacing=true")),
        (Hasty, "finds_loss", ("false", "true")),
    ],
)
def test_answers_are_compared(
    prototype: type[Controller], method: str, answers: tuple[str, str]
) -> None:
    difference = bp.lockstep(scenario(), "newreno", prototype).difference
    assert difference is not None
    assert difference.event.startswith(f"{method}(")
    for state, answer in zip((difference.registered, difference.prototype), answers, strict=True):
        assert state.answer is not None
        assert state.answer.startswith(answer)


@pytest.mark.parametrize("name", [entry.name for entry in bp.controllers()])
def test_every_controller_can_be_compared(name: str) -> None:
    found = bp.lockstep(scenario(), name, Inherited)
    assert found.steps > 0
    if name in ("reno", "newreno"):
        assert found.difference is None
    if found.difference is not None:
        one, other = found.difference.registered, found.difference.prototype
        assert (one.cwnd, one.ssthresh, one.answer) != (other.cwnd, other.ssthresh, other.answer)
        assert one.controller == name


def test_the_command_prints_the_difference(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "lossy.toml").write_text(LOSSY)
    (tmp_path / "mine.py").write_text(
        "from bentpipe.controller import Controller\n"
        "class Same(Controller): pass\n"
        "class Larger(Controller):\n"
        "    def on_loss(self, loss):\n"
        "        super().on_loss(loss)\n"
        "        self.window.cwnd += 1\n"
    )
    done = bentpipe("lockstep", "lossy.toml", "newreno", "mine.py:Same")
    assert (done.returncode, done.stderr) == (0, "")
    assert "steps, all equal" in done.stdout
    done = bentpipe("lockstep", "lossy.toml", "newreno", "mine.py:Larger", "--json")
    difference = json.loads(done.stdout)["difference"]
    text = bentpipe("lockstep", "lossy.toml", "newreno", "mine.py:Larger").stdout
    for state in (difference["registered"], difference["prototype"]):
        assert str(state["cwnd"]) in text
    assert difference["event"] in text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["newremo", "mine.py:Same"], "did you mean"),
        (["mine.py:Same", "mine.py:Same"], "a controller of the registry"),
        (["newreno", "cubic"], "a class in Python"),
        (["newreno", "mine.py:Sane"], "did you mean Same"),
    ],
)
def test_wrong_names_are_answered(
    bentpipe: Bentpipe, tmp_path: Path, arguments: list[str], expected: str
) -> None:
    (tmp_path / "lossy.toml").write_text(LOSSY)
    (tmp_path / "mine.py").write_text(
        "from bentpipe.controller import Controller\nclass Same(Controller): pass\n"
    )
    done = bentpipe("lockstep", "lossy.toml", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr


def test_an_exception_of_the_prototype_is_raised() -> None:
    with pytest.raises(LookupError, match="planted"):
        bp.lockstep(scenario(), "newreno", Fails)
