"""Commented files to begin with, for `bentpipe new` and `bentpipe examples`.

The files are templates in `starts`, filled with a few answers. Each is checked by the engine
before it is written, so that it runs as written. Answers come from options; questions are asked
only if stdin is a terminal.
"""

from __future__ import annotations

import json
import keyword
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from bentpipe import _native
from bentpipe.console import nearest
from bentpipe.errors import BentpipeError, InputError, OutputError, ScenarioError
from bentpipe.prototypes.spec import listed
from bentpipe.templates import LINKS

if TYPE_CHECKING:
    from collections.abc import Mapping

RTT_S = {"geo": 0.52, "leo": 0.04, "vpn": 0.52}
"""Round-trip propagation delay of the scenarios in seconds."""
QUEUE_BDP = {"geo": 1.0, "leo": 2.0, "vpn": 1.0}
"""Length of the satellite's queue in bandwidth-delay products."""


@dataclass(frozen=True)
class Question:
    """One answer that a file needs: the name of its option, the text, and the default."""

    option: str
    text: str
    default: str


@dataclass(frozen=True)
class Kind:
    """A kind of file: its template, its default name, and its questions."""

    template: str
    file: str
    questions: tuple[Question, ...]
    next_steps: tuple[str, ...]
    further: tuple[str, ...] = ()
    """Options that are not asked for."""


def link_questions(rate: str, return_rate: str, controller: str) -> tuple[Question, ...]:
    """The questions of a scenario with one satellite link."""
    return (
        Question("rate", "Rate to the client", rate),
        Question("return-rate", "Rate from the client", return_rate),
        Question("controller", "Congestion controller", controller),
    )


DURATION_S = 600
"""Duration of the scenario of a geostationary satellite."""

CLEAR = "channel = { per = 1e-5 }      # packet error rate. Other channels: docs/channels.md"
ADAPTIVE = ("dvb-s2", "dvb-s2x")
"""Modems with adaptive coding and modulation (ACM): a fade lowers the rate first."""
FIXED = "viterbi-3/4"
"""A modem with one modulation and code, as in the 1990s: it loses the signal in a deep fade."""
CLEAR_SKY_DB = 17.0
"""Es/N0 in clear sky. A fade of 12 dB with its noise leaves 1 dB: QPSK, and not an outage."""
USUAL_BANDWIDTH = 36e6
ADAPTS = """\

[link.forward.channel]        # a modem that adapts to rain (ACM); the return link is in clear sky
es_n0 = $es_n0                  # in clear sky, in dB. Other channels: docs/channels.md
modem = { name = "$modem", bandwidth = $bandwidth }      # in Hz: $rate in clear sky
attenuation = "$file"
system_temperature = 150      # rain adds noise to that of the receiver, in K"""
RAINY = """\

[link.forward.channel]        # a modem under rain; the return link is in clear sky
eb_n0 = 11.0                  # in clear sky, in dB. Other channels: docs/channels.md
code = "viterbi-3/4"
attenuation = "$file"
system_temperature = 150      # rain adds noise to that of the receiver, in K
lock = { threshold = 4.5, hysteresis = 1.0, reacquisition = "10s" }"""

RUN_IT = ("bentpipe explain {file}", "bentpipe run {file}")
KINDS = {
    "geo": Kind(
        "geo.toml",
        "geo.toml",
        link_questions("20Mbit/s", "4Mbit/s", "cubic"),
        (*RUN_IT, "bentpipe compare --scenario {file}"),
        ("rain-at", "rain-peak", "rain-duration", "modem"),
    ),
    "leo": Kind("leo.toml", "leo.toml", link_questions("100Mbit/s", "20Mbit/s", "cubic"), RUN_IT),
    "vpn": Kind(
        "vpn.toml",
        "vpn.toml",
        link_questions("20Mbit/s", "4Mbit/s", "cubic"),
        (*RUN_IT, "bentpipe run {file} --set flow.0.tunnel=none"),
    ),
    "study": Kind(
        "study.toml",
        "study.toml",
        (
            Question("scenario", "Scenario file; written if it does not exist", "geo.toml"),
            Question("controllers", "Controllers to compare", "cubic,hybla,bbr"),
        ),
        ("bentpipe study {file} --out out/{name}",),
    ),
    "controller": Kind(
        "controller.template",
        "mine.py",
        (Question("class", "Name of the class", "Mine"),),
        ("{python} {file}", "bentpipe evaluate {file}:{class} --quick"),
    ),
}

LINK_STEPS = ("bentpipe run {file}", "bentpipe compare --scenario {file}")
LINK_S = 120
"""Duration of the scenario of a built-in link in seconds."""
KINDS |= {
    name: Kind(
        f"{name}.toml",
        f"{name}.toml",
        (Question("controller", "Congestion controller", "cubic"),),
        LINK_STEPS,
    )
    for name in LINKS
}


@dataclass
class Written:
    """The files that were written, and the commands to continue with."""

    files: list[Path] = field(default_factory=list)
    next_steps: list[str] = field(default_factory=list)


def write(kind: str, file: Path | None, answers: Mapping[str, str], *, force: bool) -> Written:
    """Write the file of a kind, and the scenario that a study lacks.

    `BentpipeError` for an invalid answer, `OutputError` if a file exists and `force` is not set or
    it cannot be written. Nothing is written then.
    """
    known = KINDS[kind]
    path = file if file is not None else Path(known.file)
    suffix = Path(known.file).suffix
    if path.suffix != suffix:
        raise BentpipeError(f"{path}: expected a file name that ends in {suffix}")
    found = {question.option: question.default for question in known.questions} | dict(answers)
    texts = {}
    if kind == "geo" and "rain-at" in found:
        texts[rain_file(path)] = rain_text(found)
    texts[path] = FILL[kind](path, found)
    if len(texts) > 1:
        check_together(path, texts)
    if kind == "study":
        scenario = path.parent / found["scenario"]
        missing = None if scenario.exists() else geo(scenario, defaults("geo"))
        check_study(path, found, missing)
        if missing is not None:
            texts = {scenario: missing} | texts
    for one in texts:
        if one.exists() and not force:
            raise OutputError(f"{one} exists already; choose another name or add --force")
    for one, text in texts.items():
        save(one, text)
    about = {"file": path, "name": path.stem, "class": found.get("class", ""), "python": python()}
    return Written(list(texts), [step.format(**about) for step in known.next_steps])


def python() -> str:
    """The command that starts the Python in which Bentpipe is: its name if the shell finds it."""
    for name in ("python", "python3"):
        found = shutil.which(name)
        # A link would lead out of the environment, so the files are not compared.
        if found and Path(found).parent == Path(sys.executable).parent:
            return name
    return shlex.quote(sys.executable)


def defaults(kind: str) -> dict[str, str]:
    """The default answers."""
    return {question.option: question.default for question in KINDS[kind].questions}


def filled(template: str, **values: str) -> str:
    """The text of a template with its values."""
    source = resources.files("bentpipe.new") / "starts" / template
    return Template(source.read_text(encoding="utf-8")).substitute(values)


def quoted(text: str) -> str:
    """A string as TOML and Python write it."""
    return json.dumps(text)


def scenario_text(kind: str, path: Path, answers: Mapping[str, str]) -> str:
    """A scenario, checked by the engine; `BentpipeError` names the option of a wrong answer."""
    check_controller("--controller", answers["controller"])
    bdp = queue_of(answers["rate"], RTT_S[kind] * QUEUE_BDP[kind])
    rate_bps(answers["return-rate"], "--return-rate")
    text = filled(
        KINDS[kind].template,
        file=path.name,
        name=scenario_name(path),
        rate=quoted(answers["rate"]),
        return_rate=quoted(answers["return-rate"]),
        controller=quoted(answers["controller"]),
        bdp=bdp,
        **weather(path, answers),
    )
    if "rain-at" not in answers:
        _native.Scenario.parse(text)
    return text


def weather(path: Path, answers: Mapping[str, str]) -> dict[str, str]:
    """The channel and the traffic of a start: clear sky, or a rain event and a flow without end."""
    rate = quoted(answers["rate"])
    forward = f"forward.rate = {rate}     # from the gateway to the client"
    if "rain-at" not in answers:
        for option in ("rain-peak", "rain-duration", "modem"):
            if option in answers:
                raise BentpipeError(f"--{option}: expected with --rain-at, found without it")
        return {"channel": CLEAR, "traffic": '{ download = "100MB" }', "forward": forward}
    modem = answers.get("modem", ADAPTIVE[0])
    known = [*ADAPTIVE, FIXED]
    if modem not in known:
        raise BentpipeError(f"--modem: there is no modem {modem!r}{nearest(modem, known)}")
    values = {"file": rain_file(path).name}
    channel = RAINY
    if modem in ADAPTIVE:
        channel = ADAPTS
        forward = "# From the gateway to the client, the modem below determines the rate."
        values |= {
            "es_n0": f"{CLEAR_SKY_DB:.1f}",
            "modem": modem,
            "bandwidth": f"{bandwidth_of(answers['rate'], modem):.0f}",
            "rate": answers["rate"],
        }
    return {
        "channel": Template(channel).substitute(values),
        "traffic": '{ bulk = "unlimited" }',
        "forward": forward,
    }


def bandwidth_of(rate: str, modem: str) -> float:
    """The bandwidth in Hz at which a modem has this rate in clear sky."""
    channel = {
        "es_n0": CLEAR_SKY_DB,
        "modem": {"name": modem, "bandwidth": USUAL_BANDWIDTH},
    }
    link = {"between": ["a", "b"], "delay": "1ms", "forward": {"channel": channel},
            "backward": {"rate": "1Mbit/s"}}  # fmt: skip
    flow = {"from": "a", "to": "b", "controller": "reno", "traffic": {"download": "1B"}}
    usual = _native.Scenario.build(link=[link], flow=[flow]).route()[0].rate_bps
    return USUAL_BANDWIDTH * rate_bps(rate) / usual


def rain_file(path: Path) -> Path:
    """The file of the rain event of a scenario."""
    return path.with_name(f"{path.stem}-rain.csv")


def rain_text(answers: Mapping[str, str]) -> str:
    """The attenuation of one event in clear sky, for the whole scenario, as CSV."""
    from bentpipe.durations import seconds
    from bentpipe.rain import SPINO_DADDA, DiracLognormal, event
    from bentpipe.rain.series import remark

    def option(name: str, default: str) -> float:
        try:
            return seconds(answers.get(name, default))
        except ValueError as error:
            raise BentpipeError(f"--{name}: {error}") from error

    start, length = option("rain-at", ""), option("rain-duration", "120s")
    peak = answers.get("rain-peak", "12")
    try:
        peak_db = float(peak.removesuffix("dB"))
    except ValueError as error:
        raise BentpipeError(f"--rain-peak: expected dB such as 12, found {peak!r}") from error
    if not (start == int(start) >= 0 and start + length <= DURATION_S):
        raise BentpipeError(
            f"--rain-at: expected whole seconds, and an event of {length:g} s that ends within the"
            f" {DURATION_S} s of the scenario, found {start:g} s"
        )
    fade = event(DiracLognormal.fit(SPINO_DADDA), peak_db, length, seed=1)
    wet = dict(zip((fade.time_s + start).tolist(), fade.attenuation_db.tolist(), strict=True))
    rows = (f"{at},{wet.get(float(at), 0.0):.6g}\n" for at in range(DURATION_S + 1))
    return f"{remark(fade.method)}time_s,attenuation_db\n{''.join(rows)}"


def geo(path: Path, answers: Mapping[str, str]) -> str:
    """The scenario of a geostationary satellite."""
    return scenario_text("geo", path, answers)


def leo(path: Path, answers: Mapping[str, str]) -> str:
    """The scenario of satellites in a low orbit."""
    return scenario_text("leo", path, answers)


def vpn(path: Path, answers: Mapping[str, str]) -> str:
    """The scenario of a VPN over a geostationary satellite."""
    return scenario_text("vpn", path, answers)


def built_in(kind: str, path: Path, answers: Mapping[str, str]) -> str:
    """The scenario of a built-in link of `bentpipe compare`, with its sources."""
    check_controller("--controller", answers["controller"])
    source = resources.files("bentpipe.compare") / "links" / KINDS[kind].template
    about = f"# The built-in link {kind} of `bentpipe compare`, as a scenario of your own.\n#\n"
    about += "".join(f"#   {step.format(file=path.name)}\n" for step in LINK_STEPS)
    text = source.read_text(encoding="utf-8")
    name = f'name = "{kind}"\n'
    for old, new in (
        (name, f'name = "{scenario_name(path)}"\nduration = "{LINK_S}s"\n'),
        ('controller = "cubic"', f"controller = {quoted(answers['controller'])}"),
    ):
        before, found, after = text.partition(old)
        if not found:
            raise AssertionError(f"{source} has no {old!r}")
        text = before + new + after
    _native.Scenario.parse(text)
    return f"{about}#\n{text}"


def study(path: Path, answers: Mapping[str, str]) -> str:
    """A study of controllers."""
    names = listed("--controllers", answers["controllers"])
    if len(names) < 2:
        raise BentpipeError(f"--controllers: expected two or more, found {len(names)}")
    for name in names:
        check_controller("--controllers", name)
    scenario = path.parent / answers["scenario"]
    links = 1
    if scenario.exists():
        links = slowest_link(_native.Scenario.load(scenario))
    return filled(
        "study.toml",
        file=path.name,
        name=path.stem,
        scenario=quoted(answers["scenario"]),
        controllers=f"[{', '.join(map(quoted, names))}]",
        baseline=quoted(names[0]),
        link=str(links),
    )


def controller(path: Path, answers: Mapping[str, str]) -> str:
    """A controller in Python."""
    name = answers["class"]
    if not name.isidentifier() or keyword.iskeyword(name):
        raise BentpipeError(f"--class: expected the name of a Python class, found {name!r}")
    rate = "20Mbit/s"
    return filled(
        "controller.template",
        file=path.name,
        class_name=name,
        python=python(),
        rate=quoted(rate),
        bdp=queue_of(rate, 0.5),
    )


FILL = {"geo": geo, "leo": leo, "vpn": vpn, "study": study, "controller": controller} | {
    name: partial(built_in, name) for name in LINKS
}


def scenario_name(path: Path) -> str:
    """The name of the scenario: that of its file, or `mine` where it has other characters."""
    try:
        minimal(name=path.stem)
    except ScenarioError:
        return "mine"
    return path.stem


def minimal(rate: str = "1Mbit/s", **values: str) -> _native.Scenario:
    """A scenario of one link, to let the engine check a value."""
    link = {"between": ["a", "b"], "rate": rate, "delay": "1ms"}
    flow = {"from": "a", "to": "b", "controller": "reno", "traffic": {"download": "1B"}}
    return _native.Scenario.build(link=[link], flow=[flow], **values)


def rate_bps(rate: str, option: str = "--rate") -> int:
    """The rate in bit/s; `BentpipeError` names the option."""
    try:
        return minimal(rate).route()[0].rate_bps
    except ScenarioError as error:
        expected = error.errors[0].expected if error.errors else "a rate such as 20Mbit/s"
        raise BentpipeError(f"{option}: expected {expected}, found {rate!r}") from error


def queue_of(rate: str, seconds: float) -> str:
    """The bytes that a rate sends in a time, as a size of the scenario language."""
    kilobytes = max(15, round(rate_bps(rate) * seconds / 8e3))
    return f"{kilobytes}kB"


def check_controller(option: str, name: str) -> None:
    """Reject an unknown controller. Parameters follow later, in the file.

    A class in Python (`mine.py:Mine`) is looked for when the study is read.
    """
    if option == "--controllers" and ":" in name:
        return
    known = [entry.name for entry in _native.controllers()]
    if name not in known:
        raise BentpipeError(f"{option}: there is no controller {name!r}{nearest(name, known)}")


def slowest_link(scenario: _native.Scenario) -> int:
    """The number of the bottleneck on the route of the first flow."""
    return min(scenario.route(), key=lambda hop: hop.rate_bps).link


def check_study(path: Path, answers: Mapping[str, str], scenario: str | None) -> None:
    """Read the study as it will be, from a temporary folder, with a `scenario` yet to be written.

    `BentpipeError` if it does not fit the scenario.
    """
    from bentpipe.study import Study

    with tempfile.TemporaryDirectory() as folder:
        place = (path.parent / answers["scenario"]).resolve()
        if scenario is not None:
            place = Path(folder) / place.name
            place.write_text(scenario, encoding="utf-8")
        file = Path(folder) / path.name
        file.write_text(study(path, {**answers, "scenario": str(place)}), encoding="utf-8")
        try:
            Study.load(file)
        except InputError as error:
            first = error.errors[0] if error.errors else None
            if first and first.path.startswith("parameters.controller"):
                raise BentpipeError(
                    f"--controllers: expected {first.expected}, found {first.found}"
                ) from error
            reason = first.message if first else str(error)
            raise BentpipeError(
                f"--scenario: {answers['scenario']} does not fit a study of controllers and packet"
                f" errors: {reason}"
            ) from error


def check_together(path: Path, texts: Mapping[Path, str]) -> None:
    """Let the engine read a scenario with the files that it refers to, in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        for one, text in texts.items():
            (Path(folder) / one.name).write_text(text, encoding="utf-8")
        _native.Scenario.load(Path(folder) / path.name)


def save(path: Path, text: str) -> None:
    """Write a file; `OutputError` if that is not possible."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error


def copy_examples(folder: Path) -> list[Path]:
    """Copy the examples into a folder, which is made; `OutputError` if one of them exists there."""
    entries = resources.files("bentpipe") / "examples"
    found = sorted((one for one in entries.iterdir() if one.is_file()), key=lambda one: one.name)
    targets = [folder / one.name for one in found]
    for target in targets:
        if target.exists():
            raise OutputError(f"{target} exists already; choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one, target in zip(found, targets, strict=True):
            target.write_bytes(one.read_bytes())
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror}") from error
    return targets
