"""`bentpipe new` and `bentpipe examples`: files that run as written."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bentpipe import Scenario, run
from bentpipe.new import KINDS, write
from bentpipe.templates import KINDS as OF_COMMAND
from bentpipe.templates import LINKS
from conftest import EXAMPLES, ROOT

if TYPE_CHECKING:
    from conftest import Bentpipe


@pytest.mark.parametrize("kind", ["geo", "leo", "vpn", *LINKS])
def test_a_scenario_runs_as_written(bentpipe: Bentpipe, tmp_path: Path, kind: str) -> None:
    done = bentpipe("new", kind)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"bentpipe run {kind}.toml" in done.stdout
    short = ["--set", "duration=20s"]
    for command in (["explain"], ["run", "--json"]):
        ran = bentpipe(*command, f"{kind}.toml", *short)
        assert (ran.returncode, ran.stderr) == (0, "")
    # A start without warnings: neither its window nor its queue limits it.
    if kind not in LINKS:
        assert "warning" not in bentpipe("explain", f"{kind}.toml").stdout.lower()


@pytest.mark.parametrize("name", LINKS)
def test_a_built_in_link_is_that_of_the_comparison(tmp_path: Path, name: str) -> None:
    file = tmp_path / "mine.toml"
    write(name, file, {"controller": "bbr"}, force=False)
    made, preset = (tomllib.loads(text) for text in (file.read_text(), preset_text(name)))
    assert made["link"] == preset["link"]
    assert made["flow"][0] == preset["flow"][0] | {"controller": "bbr"}
    assert made["name"] == "mine"


def preset_text(name: str) -> str:
    folder = resources.files("bentpipe.compare") / "links"
    return (folder / f"{name}.toml").read_text(encoding="utf-8")


def test_a_scenario_with_a_rain_event_runs_as_written(bentpipe: Bentpipe, tmp_path: Path) -> None:
    options = ("--rain-at", "300s", "--rain-duration", "90s", "--modem", "viterbi-3/4")
    done = bentpipe("new", "geo", *options)
    assert (done.returncode, done.stderr) == (0, "")
    (signal,) = Scenario.load(tmp_path / "geo.toml").signals()
    wet = [at for at, db in zip(signal.t_s, signal.attenuation_db, strict=True) if db > 0]
    assert 300 < min(wet) < max(wet) < 390
    assert max(signal.attenuation_db) == pytest.approx(12, abs=1e-4)
    assert len(signal.lost_s) >= 1
    ran = bentpipe("run", "geo.toml", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("modem", [None, "dvb-s2", "dvb-s2x"])
def test_a_modem_of_today_adapts_to_rain(
    bentpipe: Bentpipe, tmp_path: Path, modem: str | None
) -> None:
    options = () if modem is None else ("--modem", modem)
    done = bentpipe("new", "geo", "--rate", "30Mbit/s", "--rain-at", "300s", *options)
    assert (done.returncode, done.stderr) == (0, "")
    scenario = Scenario.load(tmp_path / "geo.toml")
    channel = tomllib.loads((tmp_path / "geo.toml").read_text())["link"][1]["forward"]["channel"]
    assert channel["modem"]["name"] == (modem or "dvb-s2")
    assert scenario.route()[1].rate_bps == pytest.approx(30e6, rel=1e-4)
    # The fade lowers the rate, and no signal is lost but for single packets.
    explained = scenario.explain()
    details = {
        one.name: one.value for link in explained.links for one in link.effects_of("channel")
    }
    assert 1e6 < details["modem"]["lowest_rate_bps"] < 10e6, details
    assert not any(word in done.stdout + str(channel) for word in ("lock", "viterbi"))
    assert "warning" not in bentpipe("explain", "geo.toml").stdout.lower()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--modem", "dvb-s2"], "--modem: expected with --rain-at"),
        (["--rain-at", "9s", "--modem", "dvbs2"], "no modem 'dvbs2'; did you mean 'dvb-s2'?"),
        (["--rain-peak", "10"], "--rain-peak: expected with --rain-at"),
        (["--rain-at", "300"], "--rain-at: expected"),
        (["--rain-at", "550s"], "--rain-at: expected whole seconds, and an event of 120 s"),
        (["--rain-at", "10s", "--rain-peak", "much"], "--rain-peak: expected dB such as 12"),
    ],
)
def test_wrong_rain_is_answered(
    bentpipe: Bentpipe, tmp_path: Path, arguments: list[str], expected: str
) -> None:
    done = bentpipe("new", "geo", *arguments)
    assert done.returncode == 2
    assert expected in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_study_runs_as_written_with_its_scenario(bentpipe: Bentpipe, tmp_path: Path) -> None:
    done = bentpipe("new", "study", "--controllers", "newreno,hybla")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["geo.toml", "study.toml"]
    ran = bentpipe("study", "study.toml", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    study = tomllib.loads((tmp_path / "study.toml").read_text())
    assert study["comparison"][0]["baseline"] == "newreno"


def test_a_study_of_a_scenario_of_ones_own(bentpipe: Bentpipe, small: Path) -> None:
    assert bentpipe("new", "study", "--scenario", small.name).returncode == 0
    study = tomllib.loads((small.parent / "study.toml").read_text())
    assert study["parameters"]["per"]["path"] == "link.0.channel.per"
    assert not (small.parent / "geo.toml").exists()


def test_a_study_may_have_a_controller_in_python(bentpipe: Bentpipe, tmp_path: Path) -> None:
    assert bentpipe("new", "controller", "mine.py").returncode == 0
    done = bentpipe("new", "study", "--controllers", "cubic,mine.py:Mine")
    assert (done.returncode, done.stderr) == (0, "")
    study = tomllib.loads((tmp_path / "study.toml").read_text())
    assert study["parameters"]["controller"]["values"] == ["cubic", "mine.py:Mine"]
    for wrong, answer in [("mine.py:Other", "in mine.py, found"), ("no.py:Mine", "no.py")]:
        done = bentpipe("new", "study", "other.toml", "--controllers", f"cubic,{wrong}")
        assert done.returncode == 2
        assert "--controllers: expected" in done.stderr
        assert answer in done.stderr
    assert not (tmp_path / "other.toml").exists()


@pytest.mark.parametrize("path", ["/usr/bin:/bin", None])
def test_the_next_step_of_a_controller_works_in_this_shell(
    path: str | None, tmp_path: Path
) -> None:
    own = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": path or f"{own}{os.pathsep}{os.environ['PATH']}"}

    def run(command: list[str]) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = run([sys.executable, "-m", "bentpipe", "new", "controller"])
    step = said.splitlines()[2].strip()
    assert step.startswith("python mine.py" if path is None else str(Path(own).resolve().anchor))
    assert "Mbit/s" in run(["/bin/sh", "-c", step])
    # The file says the same.
    assert f"    {step} " in (tmp_path / "mine.py").read_text()


def test_a_controller_runs_as_written(bentpipe: Bentpipe, tmp_path: Path) -> None:
    done = bentpipe("new", "controller", "my.py", "--class", "Steady")
    assert (done.returncode, done.stderr) == (0, "")
    ran = subprocess.run(
        [sys.executable, "my.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Steady" in ran.stdout
    # Strict, and with the settings of the project. From its root, what the file imports is checked.
    strict = ["mypy", "--strict", f"--config-file={ROOT / 'pyproject.toml'}"]
    for tool in (["ruff", "check", "--isolated"], strict):
        checked = subprocess.run(
            [sys.executable, "-m", *tool, tmp_path / "my.py"],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert checked.returncode == 0, checked.stdout


def test_answers_enter_the_file(bentpipe: Bentpipe, tmp_path: Path) -> None:
    answers = ["--rate", "50Mbit/s", "--return-rate", "2Mbit/s", "--controller", "hybla"]
    assert bentpipe("new", "geo", "mine.toml", *answers).returncode == 0
    written = tomllib.loads((tmp_path / "mine.toml").read_text())
    assert written["link"][1]["forward"]["rate"] == "50Mbit/s"
    assert written["link"][1]["backward"]["rate"] == "2Mbit/s"
    # One bandwidth-delay product: 50 Mbit/s for 520 ms.
    assert written["link"][1]["queue"] == {"bytes": "3250kB"}
    assert (written["flow"][0]["controller"], written["name"]) == ("hybla", "mine")


def test_a_terminal_is_asked(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "bentpipe", "new", "geo", "--rate", "5Mbit/s"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=theirs, stdout=subprocess.PIPE) as process:
        os.close(theirs)
        os.write(ours, b"1Mbit/s\n\n")
        printed = process.communicate(timeout=60)[0].decode()
    os.close(ours)
    assert process.returncode == 0
    assert "Rate from the client" in printed
    assert "Rate to the client" not in printed
    written = tomllib.loads((tmp_path / "geo.toml").read_text())
    assert written["link"][1]["backward"]["rate"] == "1Mbit/s"
    assert written["flow"][0]["controller"] == "cubic"


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["geo", "--rate", "20"], "--rate: expected a data rate"),
        (["geo", "--rate", '1Mbit/s" x'], "--rate: expected"),
        (["leo", "--return-rate", "fast"], "--return-rate: expected a data rate"),
        (["geo", "--controller", "hibla"], "did you mean 'hybla'"),
        (["geo", "--class", "Mine"], "--class: not used for geo, which takes --rate"),
        (["geo", "mine.py"], "expected a file name that ends in .toml"),
        (["geo", "absent/geo.toml"], "cannot write absent/geo.toml"),
        (["study", "--controllers", "cubic"], "--controllers: expected two or more"),
        (["study", "--controllers", "cubic,hibla"], "did you mean 'hybla'"),
        (["study", "--scenario", "broken.toml"], "broken.toml"),
        (["controller", "--class", "2"], "--class: expected the name of a Python class"),
        (["gio"], "geo"),
    ],
)
def test_wrong_answers(
    bentpipe: Bentpipe, tmp_path: Path, arguments: list[str], answer: str
) -> None:
    (tmp_path / "broken.toml").write_text("[[link")
    done = bentpipe("new", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert answer in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["broken.toml"]


def test_the_vpn_is_a_tunnel_that_can_be_left_out(bentpipe: Bentpipe, tmp_path: Path) -> None:
    assert bentpipe("new", "vpn", "--rate", "30Mbit/s").returncode == 0
    scenario = Scenario.load(tmp_path / "vpn.toml", ["flow.0.traffic.download=1MB"])
    both = (scenario, scenario.with_({"flow.0.tunnel": "none"}))
    tunnelled, plain = (run(one) for one in both)
    assert "tunnel" in tunnelled.tables
    assert "tunnel" not in plain.tables
    # The set-up of the tunnel takes a round trip.
    took = [one.recording.flows[0].completion_s or 0.0 for one in (tunnelled, plain)]
    assert took[0] > took[1] + 0.5


def test_files_are_kept(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "geo.toml").write_text("mine")
    done = bentpipe("new", "geo")
    assert done.returncode == 2
    assert "geo.toml exists already" in done.stderr
    assert (tmp_path / "geo.toml").read_text() == "mine"
    assert bentpipe("new", "geo", "--force").returncode == 0


def test_every_kind_of_the_command_has_its_template() -> None:
    assert list(KINDS) == ["geo", "leo", "vpn", "study", "controller", *LINKS]
    assert list(KINDS) == [*OF_COMMAND]
    assert {"leo-starlink", "leo-starlink-laser", "leo-oneweb", "meo-o3b"} <= set(LINKS)


def test_the_examples_are_copied(bentpipe: Bentpipe, tmp_path: Path) -> None:
    assert bentpipe("examples", "here").returncode == 0
    copied = {path.name: path.read_bytes() for path in (tmp_path / "here").iterdir()}
    assert copied == {path.name: path.read_bytes() for path in EXAMPLES.iterdir() if path.is_file()}
    again = bentpipe("examples", "here")
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_the_package_has_every_example() -> None:
    links = ROOT / "python/bentpipe/examples"
    assert {path.name for path in links.iterdir()} == {
        path.name for path in EXAMPLES.iterdir() if path.is_file()
    }
    for path in links.iterdir():
        assert path.resolve() == EXAMPLES / path.name


def test_a_crate_of_a_controller_passes_its_tests(bentpipe: Bentpipe, tmp_path: Path) -> None:
    done = bentpipe("new", "controller", "--rust", "my-reno")
    assert (done.returncode, done.stderr) == (0, "")
    assert "bentpipe wheel my-reno" in done.stdout
    manifest = tmp_path / "my-reno" / "Cargo.toml"
    # What it depends on is compiled once for all tests.
    target = {"CARGO_TARGET_DIR": str(ROOT / "target/own-crate")}
    for command in (["fmt", "--check"], ["test", "--offline", "--quiet"]):
        cargo = ["cargo", command[0], "--manifest-path", str(manifest), *command[1:]]
        ran = subprocess.run(cargo, env=os.environ | target, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["controller", "--rust", "Mine"], "--rust: expected lower-case letters"),
        (["controller", "--rust", "cubic"], "--rust: there is a controller 'cubic' already"),
        (["geo", "--rust", "mine"], "--rust: not used for geo"),
        (["controller", "--source", "."], "--source: only used with --rust"),
        (["controller", "--rust", "mine", "--source", "."], "expected a folder with crates"),
        (["controller", "--rust", "mine", "--class", "Mine"], "--class: not used with --rust"),
    ],
)
def test_a_wrong_crate_is_answered(
    bentpipe: Bentpipe, tmp_path: Path, arguments: list[str], expected: str
) -> None:
    done = bentpipe("new", *arguments)
    assert done.returncode == 2
    assert expected in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (None, "expected the folder of a Rust crate"),
        ("[package", "Cargo.toml: "),
        ("[lib]", "expected the name of a package"),
        ('[package]\nname = "mine"', "expected congestion = "),
        ('[package]\nname = "mine"\n[dependencies]\ncongestion = { path = "x/y/z" }',
         "in the sources of Bentpipe, found x/y/z"),
    ],
)  # fmt: skip
def test_a_crate_that_fits_no_wheel_is_answered(
    bentpipe: Bentpipe, tmp_path: Path, manifest: str | None, expected: str
) -> None:
    (tmp_path / "mine").mkdir()
    if manifest is not None:
        (tmp_path / "mine" / "Cargo.toml").write_text(manifest)
    done = bentpipe("wheel", "mine")
    assert done.returncode == 2
    assert expected in done.stderr
    assert not list(tmp_path.glob("*.whl"))
