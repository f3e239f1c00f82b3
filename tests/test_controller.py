"""Controllers in Python: the same rules give the same run, and mistakes are told."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import io
import math
import random
import re
import signal
import threading
import traceback
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe
from bentpipe import _native
from bentpipe.controller import (
    Ack,
    Controller,
    ControllerError,
    Feedback,
    Loss,
    LostSegment,
    Needs,
    PartialAck,
    PathChange,
    Sent,
    Settings,
)
from bentpipe.errors import InputError
from conftest import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


def load_example() -> Any:
    path = EXAMPLES / "python_controller.py"
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


EXAMPLE = load_example()


class Inherited(Controller):
    """Standard TCP by the defaults alone."""


class Delegated(Controller):
    """Standard TCP by the defaults, each asked for from Python."""

    def on_ack(self, ack: Ack) -> None:
        super().on_ack(ack)

    def grow(self, ack: Ack) -> None:
        super().grow(ack)

    def slow_start(self, ack: Ack) -> None:
        super().slow_start(ack)

    def avoid_congestion(self, ack: Ack) -> None:
        super().avoid_congestion(ack)

    def threshold_after_loss(self, loss: Loss) -> float:
        return super().threshold_after_loss(loss)

    def on_loss(self, loss: Loss) -> None:
        super().on_loss(loss)

    def on_congestion_mark(self, loss: Loss) -> None:
        super().on_congestion_mark(loss)

    def on_recovery_exit(self, now_s: float) -> None:
        super().on_recovery_exit(now_s)

    def on_timeout(self, loss: Loss) -> None:
        super().on_timeout(loss)

    def on_idle(self) -> None:
        super().on_idle()

    def duplicate_threshold(self, configured: int) -> int:
        return super().duplicate_threshold(configured)

    def backs_off(self) -> bool:
        return super().backs_off()


def scenario(
    folder: Path,
    *,
    link: str = 'rate = "2Mbit/s"\nchannel = { per = 0.01 }',
    transport: str = "",
    traffic: str = 'download = "1MB"',
    controller: str = "reno",
    flows: int = 1,
) -> bentpipe.Scenario:
    """A satellite link; every change of a window is recorded."""
    flow = f"""
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
transport = {{ {transport} }}
traffic = {{ {traffic} }}
"""
    path = folder / "scenario.toml"
    path.write_text(f"""
duration = "300s"
[record]
events = true
[[link]]
between = ["server", "client"]
delay = "250ms"
{link}
{flow * flows}
""")
    return bentpipe.Scenario.load(path)


def fingerprint(recording: bentpipe.Recording) -> str:
    """Hash of totals and series, byte for byte, without the controllers' names and the clock."""
    text = re.sub(r'"wall_s":[^,]*,', "", recording.to_json())
    # The digest of all tables covers the names too.
    text, digests = re.subn(r'"digest":"[^"]*"', "", text)
    assert digests == 1
    text, names = re.subn(r'"controller":"[^"]*","controller_status":"[^"]*"', "", text)
    assert names == len(recording.flows)
    total = hashlib.sha256(text.encode())
    for table in ("flow_series", "link_series"):
        series = io.BytesIO()
        recording.table(table).write_parquet(series)
        total.update(series.getvalue())
    return total.hexdigest()


def compare(
    scenario: bentpipe.Scenario, controller: Callable[[Settings], Controller], seed: int = 1
) -> Mapping[str, Any]:
    """Rust and Python run the same; gives the first flow of it."""
    rust = _native.run(scenario, seed=seed)
    python = _native.run(scenario, seed=seed, controllers={"*": controller})
    assert {flow.controller_status for flow in python.flows} == {"prototype"}
    assert fingerprint(python) == fingerprint(rust)
    found: Mapping[str, Any] = rust.to_dict()["flows"][0]
    return found


LOSSY = 'rate = "2Mbit/s"\nchannel = { per = 0.03 }'
NARROW = 'rate = "1Mbit/s"\nqueue = { packets = 5 }'
BURSTS = 'rate = "2Mbit/s"\nchannel = { mean_loss = 0.05, mean_burst = 20 }'
MARKED = 'rate = "1Mbit/s"\necn_marking = { packets = 3, weight = 0.1 }\nqueue = { packets = 60 }'

CASES: dict[str, dict[str, Any]] = {
    "losses": {},
    "recovery of NewReno": {"controller": "newreno", "link": LOSSY},
    "recovery with SACK": {"link": LOSSY, "transport": 'recovery = "sack"'},
    "recovery of Linux": {"link": LOSSY, "transport": 'recovery = "linux"'},
    "timeouts": {"link": BURSTS, "transport": 'rto = { min = "200ms" }'},
    "timeouts with SACK": {"link": BURSTS, "transport": 'recovery = "sack"'},
    "a narrow queue": {"link": NARROW, "transport": "limited_transmit = false"},
    "an ACK for each segment": {"link": LOSSY, "transport": 'delayed_ack = "off"'},
    "rarely an ACK": {
        "transport": 'delayed_ack = { segments = 4, timeout = "500ms" }, abc_limit = 2',
    },
    "byte counting after timeouts": {"link": BURSTS, "transport": "abc_limit = 3"},
    "marks": {"link": MARKED, "transport": 'ecn = true, initial_ssthresh = "30kB"'},
    "a threshold": {"transport": 'initial_ssthresh = "20kB", mss = 536, timestamps = false'},
    "paced as on Linux": {"transport": 'pacing = "linux", recovery = "linux"'},
    "pages": {"link": LOSSY, "traffic": 'web = { interval = "7s", pages = 5 }'},
    "silences": {"traffic": 'on_off = { rate = "1Mbit/s", on = "4s", off = "4s" }'},
    "two flows": {"link": NARROW, "flows": 2},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "controller", [EXAMPLE.Reno, Inherited, Delegated], ids=lambda controller: controller.__name__
)
def test_reno_in_python_runs_as_the_one_in_rust(
    case: str, controller: type[Controller], tmp_path: Path
) -> None:
    compare(scenario(tmp_path, **CASES[case]), controller)


def test_the_cases_have_losses_timeouts_and_marks(tmp_path: Path) -> None:
    def flow(case: str) -> Mapping[str, Any]:
        recording = _native.run(scenario(tmp_path, **CASES[case]), seed=1)
        found: Mapping[str, Any] = recording.to_dict()["flows"][0]
        return found

    assert flow("losses")["fast_recoveries"] > 1
    assert flow("timeouts")["timeouts"] > 1
    assert flow("byte counting after timeouts")["timeouts"] > 1
    assert flow("marks")["segments_retransmitted"] == 0
    marked = _native.run(scenario(tmp_path, **CASES["marks"]), seed=1).table("flow_series")
    assert marked["ssthresh_bytes"].unique().len() > 1


def test_reno_in_python_runs_as_the_one_in_rust_whatever_the_scenario(tmp_path: Path) -> None:
    seen = {"timeouts": 0, "fast_recoveries": 0}
    for seed in range(60):
        dice = random.Random(seed)
        transport = [
            f'recovery = "{dice.choice(["reno", "newreno", "sack", "linux"])}"',
            f'ssthresh_basis = "{dice.choice(["flight-size", "pipe", "cwnd"])}"',
            f'delayed_ack = "{dice.choice(["off", "40ms", "200ms"])}"',
            f"abc_limit = {dice.randint(1, 3)}",
            f"initial_window = {dice.randint(1, 12)}",
            f"mss = {dice.choice([64, 536, 1460])}",
        ]
        loss = dice.choice([0.0, 0.001, 0.02, 0.1])
        link = (
            f'rate = "{dice.choice([300, 2000, 20000])}kbit/s"\n'
            f"queue = {{ packets = {dice.choice([3, 20, 100])} }}\nchannel = {{ per = {loss} }}"
        )
        traffic = f'download = "{dice.choice([5, 60, 400])}kB"'
        made = scenario(
            tmp_path,
            link=link,
            transport=", ".join(transport),
            traffic=traffic,
            flows=dice.randint(1, 3),
        )
        flow = compare(made, EXAMPLE.Reno, seed)
        for kind in seen:
            seen[kind] += flow[kind]
    assert min(seen.values()) > 20


class Halved(EXAMPLE.Reno):  # type: ignore[misc, name-defined]
    """Differs in one rule by one byte."""

    def threshold_after_loss(self, loss: Loss) -> int:
        return int(super().threshold_after_loss(loss)) + 1


def test_the_comparison_sees_a_byte(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        compare(scenario(tmp_path), Halved)


def test_every_end_of_every_connection_has_its_own(tmp_path: Path) -> None:
    made: list[Controller] = []

    class Listed(Controller):
        def __init__(self, settings: Settings) -> None:
            super().__init__(settings)
            assert (settings.mss, settings.initial_window) == (1000, 4000)
            assert (self.window.mss, self.window.cwnd, self.window.initial) == (1000, 4000, 4000)
            made.append(self)

    transport = "mss = 1000, initial_window = 4, timestamps = false"
    _native.run(scenario(tmp_path, flows=3, transport=transport), controllers={"*": Listed})
    assert len({id(controller) for controller in made}) == 6


def test_flows_are_chosen_by_name_and_copies_by_that_of_their_entry(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    scenario(tmp_path, flows=3)
    names = iter(["one", "many", "rest"])
    text = re.sub(r"\[\[flow\]\]", lambda _: f'[[flow]]\nname = "{next(names)}"', path.read_text())
    path.write_text(text.replace('name = "many"', 'name = "many"\ncount = 2'))
    recording = _native.run(
        bentpipe.Scenario.load(path),
        controllers={"one": EXAMPLE.Reno, "many": Inherited, "many.1": EXAMPLE.Discerning},
    )
    shown = {flow.flow: (flow.controller, flow.controller_status) for flow in recording.flows}
    assert shown == {
        "one": ("python:Reno", "prototype"),
        "many.0": ("python:Inherited", "prototype"),
        "many.1": ("python:Discerning", "prototype"),
        "rest": ("reno", "published"),
    }
    everyone = _native.run(
        bentpipe.Scenario.load(path), controllers={"*": Inherited, "one": EXAMPLE.Reno}
    )
    given = [flow.controller for flow in everyone.flows]
    assert given == ["python:Reno", *["python:Inherited"] * 3]


def test_settings_of_its_own_are_bound_to_the_class(tmp_path: Path) -> None:
    made = scenario(tmp_path)
    kept = functools.partial(EXAMPLE.Discerning, kept=0.5)
    recording = _native.run(made, controllers={"*": kept})
    assert recording.flows[0].controller == "python:Discerning"
    assert fingerprint(recording) == fingerprint(_native.run(made))
    gentle = _native.run(made, controllers={"*": EXAMPLE.Discerning})
    assert fingerprint(gentle) != fingerprint(recording)


def test_a_controller_gets_the_hints_that_its_flow_has(tmp_path: Path) -> None:
    class Listener(Controller):
        def __init__(self, settings: Settings) -> None:
            super().__init__(settings)
            self.changes: list[PathChange] = []
            listeners.append(self)

        def needs(self) -> Needs:
            return Needs(path_changes=True)

        def on_path_change(self, change: PathChange) -> None:
            self.changes.append(change)

    listeners: list[Listener] = []
    made = bentpipe.Scenario.load(EXAMPLES / "path-hints.toml").with_(duration="20s")
    _native.run(made, controllers={"*": Listener})
    heard = [
        [(one.now_s, one.kind, one.at_s, one.phase) for one in listener.changes]
        for listener in listeners
    ]
    assert sorted(heard) == [[], [(11.9, "coming", 12.0, 1), (12.0, "done", 12.0, 1)]]
    listeners.clear()
    _native.run(made.with_({"flow.0.path_hints": {"source": "none"}}), controllers={"*": Listener})
    assert [listener.changes for listener in listeners] == [[], []]


def test_what_a_controller_needs_it_is_told(tmp_path: Path) -> None:
    class Listener(Controller):
        def __init__(self, settings: Settings) -> None:
            super().__init__(settings)
            self.feedback: list[Feedback] = []
            self.sent: list[Sent] = []
            self.lost: list[LostSegment] = []
            self.samples: list[float] = []
            listeners.append(self)

        def needs(self) -> Needs:
            return Needs(feedback=True, records=True)

        def on_feedback(self, feedback: Feedback) -> None:
            self.feedback.append(feedback)

        def on_sent(self, sent: Sent) -> None:
            self.sent.append(sent)

        def on_segment_lost(self, lost: LostSegment) -> None:
            self.lost.append(lost)

        def on_rtt(self, now_s: float, sample_s: float) -> None:
            self.samples.append(sample_s)

    listeners: list[Listener] = []
    recording = _native.run(
        scenario(tmp_path, transport='recovery = "sack"'), controllers={"*": Listener}
    )
    (flow,) = recording.to_dict()["flows"]
    sender = max(listeners, key=lambda listener: len(listener.sent))
    # All but the last ACK arrives while the flow is not over.
    assert 0.9 * flow["bytes"] < sum(f.acked for f in sender.feedback) <= flow["bytes"]
    assert sum(sent.again for sent in sender.sent) == flow["segments_retransmitted"] > 0
    assert len(sender.lost) == flow["segments_retransmitted"]
    assert min(sender.samples) * 1e3 == pytest.approx(flow["min_rtt_ms"])
    times = [feedback.now_s for feedback in sender.feedback]
    assert times == sorted(times)
    assert 0.5 < times[0] < times[-1] <= recording.simulated_s
    rates = [f.rate.rate for f in sender.feedback if f.rate and f.rate.rate is not None]
    assert 0 < max(rates) <= 2e6 / 8
    assert re.match(
        r"Feedback\(now_s=\d.*, acked=\d+, .*rate=RateSample\(", str(sender.feedback[9])
    )


def test_a_rate_paces(tmp_path: Path) -> None:
    class Paced(Controller):
        def needs(self) -> Needs:
            return Needs(pacing=True)

        def pacing_rate(self) -> float:
            return 50_000.0

    made = scenario(tmp_path, link='rate = "100Mbit/s"', transport='delayed_ack = "off"')
    series = _native.run(made, controllers={"*": Paced}).table("flow_series")
    sent = series.filter((series["t_s"] > 5) & (series["t_s"] < 15))[["t_s", "sent_bytes"]]
    seconds, sent_bytes = (sent[column][-1] - sent[column][0] for column in sent.columns)
    assert sent_bytes / seconds == pytest.approx(50_000)


def test_a_controller_can_be_tried_without_a_run() -> None:
    controller = EXAMPLE.Reno(Settings(mss=1000, initial_window=10_000))
    controller.on_ack(Ack(2000))
    assert controller.window.cwnd == 11_000
    controller.on_ack(Ack(2000, cwnd_limited=False))
    assert controller.window.cwnd == 11_000
    controller.on_loss(Loss(8000))
    assert (controller.window.cwnd, controller.window.ssthresh) == (4000, 4000)
    assert not controller.window.in_slow_start
    controller.on_ack(Ack(1000))
    assert controller.window.cwnd == 4250
    controller.on_partial_ack(PartialAck(2000))
    assert controller.window.cwnd == 3250
    controller.on_partial_ack(PartialAck(2000, inflates=False))
    assert controller.window.cwnd == 3250
    controller.on_recovery_exit(1.0)
    assert controller.window.cwnd == 4000
    assert str(Loss(8000, now_s=1.5)) == "Loss(now_s=1.5, flight=8000, repeated=False)"
    controller.window.ssthresh = math.inf
    assert controller.window.ssthresh == 2**64 - 1
    controller.window.cwnd = 7000.9
    assert controller.window.cwnd == 7000
    assert controller.window.half(50_000) == 25_000
    assert str(controller.window).startswith("<Window cwnd=7000 ssthresh=")
    with pytest.raises(ControllerError, match="above zero"):
        Settings(mss=0)


def test_an_exception_ends_the_run_with_its_traceback(tmp_path: Path) -> None:
    class Failing(Controller):
        def on_ack(self, ack: Ack) -> None:
            self.divide(ack.acked)

        def divide(self, acked: int) -> float:
            return acked / 0

    endless = scenario(tmp_path, traffic='bulk = "unlimited"')
    with pytest.raises(ZeroDivisionError) as caught:
        _native.run(endless, controllers={"*": Failing})
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-2:] == ["on_ack", "divide"]


def test_ctrl_c_in_a_controller_gives_the_partial_recording(tmp_path: Path) -> None:
    made = scenario(tmp_path, traffic='bulk = "unlimited"')
    path = tmp_path / "scenario.toml"
    path.write_text(path.read_text().replace("300s", "80000h").replace("events", "#"))
    made = bentpipe.Scenario.load(path)
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(bentpipe.Interrupted) as caught:
        _native.run(made, controllers={"*": EXAMPLE.Reno})
    (recording,) = caught.value.recordings
    assert recording is not None
    assert recording.partial
    assert recording.flows[0].bytes > 0


def on_ack(rule: Callable[[Controller], object]) -> type[Controller]:
    """A controller that does this at each ACK."""

    class Wrong(Controller):
        def on_ack(self, ack: Ack) -> None:
            return rule(self)  # type: ignore[return-value]

    return Wrong


def setting(name: str, value: object) -> type[Controller]:
    """A controller that sets its window to this at each ACK."""
    return on_ack(lambda controller: setattr(controller.window, name, value))


def answering(name: str, value: object) -> type[Controller]:
    """A controller that answers a question with this."""
    return type("Wrong", (Controller,), {name: lambda *_: value})


def changes_its_window(self: Controller, loss: Loss) -> int:
    self.window.cwnd = 5000
    return 3000


BYTES = r"expected a number of bytes from 1 to 2\*\*48, found "

WRONG: dict[str, tuple[object, str]] = {
    "not a number": (setting("cwnd", math.nan), f"cwnd: {BYTES}nan"),
    "infinite": (setting("cwnd", math.inf), f"cwnd: {BYTES}inf"),
    "negative": (setting("cwnd", -1), f"cwnd: {BYTES}-1"),
    "zero": (setting("cwnd", 0.5), f"cwnd: {BYTES}0.5"),
    "a text": (setting("cwnd", "10"), f"cwnd: {BYTES}'10'"),
    "no threshold": (setting("ssthresh", math.nan), "ssthresh: expected .* found nan"),
    "a wrong fraction": (
        on_ack(lambda controller: controller.window.grow_by_fraction(-5)),
        "numerator: expected a whole number from 0 .* found -5",
    ),
    "an answer to an event": (on_ack(lambda _: 3000), r"Wrong.on_ack: .*self.window.* found 3000"),
    "no answer": (
        answering("threshold_after_loss", None),
        rf"Wrong.threshold_after_loss: {BYTES}None",
    ),
    "an answer that changes the window": (
        type("Wrong", (Controller,), {"threshold_after_loss": changes_its_window}),
        r"Wrong.threshold_after_loss: .* changes self.window",
    ),
    "no threshold after a loss": (
        type("Wrong", (Controller,), {"on_loss": lambda *_: None}),
        "found none: on_loss must set it",
    ),
    "wrong needs": (answering("needs", {"pacing": True}), r"Wrong.needs: expected .*Needs"),
    "a wrong count": (answering("duplicate_threshold", 0), r"duplicate_threshold: .* found 0"),
    "a wrong truth": (answering("backs_off", 1), r"backs_off: expected True or False, found 1"),
    "a wrong time": (answering("extra_rto", -1.0), r"extra_rto: expected seconds .* found -1.0"),
    "a wrong name": (
        type("Wrong", (Controller,), {"on_losses": lambda *_: None}),
        "Wrong: there is no event \"on_losses\"; did you mean 'on_loss'",
    ),
    "another class": (int, r'controllers\["\*"\]: expected a class that inherits .*Controller'),
    "no class": (3, r'controllers\["\*"\]: expected a class .* found 3'),
    "a maker of something else": (lambda _: 3, "expected to make a .*Controller, found 3"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_controller_that_cannot_be_right_is_told_so(case: str, tmp_path: Path) -> None:
    controller, message = WRONG[case]
    given: Any = {"*": controller}
    with pytest.raises(ControllerError, match=message):
        _native.run(scenario(tmp_path, link=LOSSY, controller="newreno"), controllers=given)


def test_a_flow_that_is_not_there_is_told_with_the_nearest(small: Path) -> None:
    small.write_text(small.read_text().replace("[[flow]]", '[[flow]]\nname = "transfer"'))
    with pytest.raises(ControllerError, match="no flow \"transfr\"; did you mean 'transfer'"):
        _native.run(bentpipe.Scenario.load(small), controllers={"transfr": Inherited})


def test_a_constructor_that_fails_ends_the_run(small: Path) -> None:
    class Failing(Controller):
        def __init__(self, settings: Settings) -> None:
            raise LookupError(settings)

    with pytest.raises(LookupError, match="mss="):
        _native.run(bentpipe.Scenario.load(small), controllers={"*": Failing})


def test_a_controller_that_never_comes_back_to_the_engine_is_stopped(small: Path) -> None:
    class Circular(Controller):
        def grow(self, ack: Ack) -> None:
            self.on_ack(ack)

    with pytest.raises(RecursionError):
        _native.run(bentpipe.Scenario.load(small), controllers={"*": Circular})


def test_the_kernel_takes_none(small: Path) -> None:
    with pytest.raises(bentpipe.KernelError, match="Python run in the simulator only"):
        bentpipe.run_on_kernel(bentpipe.Scenario.load(small), controllers={"*": Inherited})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -2.0])
@pytest.mark.parametrize("name", ["now_s", "srtt_s", "min_rtt_s"])
def test_times_of_events_are_numbers_of_seconds(name: str, value: float) -> None:
    arguments: dict[str, Any] = {name: value}
    with pytest.raises(InputError, match=f"^{name}: expected a number of seconds from 0"):
        Ack(1, **arguments)
    if name == "now_s":
        with pytest.raises(InputError, match=r"^now_s: expected"):
            Loss(1, **arguments)
