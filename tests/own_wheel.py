"""Builds a wheel with a controller of another crate, and uses it. Takes minutes; `make own-wheel`.

    own_wheel.py [--quick]     as `bentpipe wheel --quick`

The crate is the one that `bentpipe new controller --rust` writes. The wheel is installed in an
environment of its own. The first build compiles the engine; the second one, after a change of the
controller, has to take less than a minute with `--quick`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

SMALL = """\
name = "small"
duration = "60s"
seed = 2  # with losses, which show the difference of two controllers
link = [{ between = ["server", "client"], rate = "2Mbit/s", delay = "250ms", channel.per = 0.01 }]
flow = [{ from = "server", to = "client", controller = "my-reno", traffic.download = "300kB" }]
"""
STUDY = """\
scenario = "small.toml"
parameters.controller.path = "flow.0.controller"
parameters.controller.values = ["newreno", "my-reno", { name = "my-reno", kept = 0.5 }]
replications.count = 3
quantity = [{ name = "flow.completion_s" }]
"""
QUICK_S = 60


def main() -> None:
    """Build, install, use, change, build again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = ["--quick"] if parser.parse_args().quick else []
    with tempfile.TemporaryDirectory(prefix="bentpipe-own-") as name:
        folder = Path(name)
        own = f"{Path(sys.executable).parent}/bentpipe"
        call(folder, own, "new", "controller", "--rust", "my-reno")
        call(folder, own, "new", "controller", "mine.py")
        (folder / "small.toml").write_text(SMALL)
        (folder / "study.toml").write_text(STUDY)

        first_s = build(folder, own, quick)
        command = installed(folder)
        use(folder, command)
        version = call(folder, command, "--version")

        library = folder / "my-reno/src/lib.rs"
        changed = library.read_text().replace('default: "0.8"', 'default: "0.5"')
        assert changed != library.read_text()
        library.write_text(changed)
        again_s = build(folder, own, quick)
        command = installed(folder)
        assert call(folder, command, "--version") != version
        (parameter,) = description(folder, command)["parameters"]
        assert parameter["default"] == "0.5"
        difference = json.loads(lockstep(folder, command))["difference"]
        assert difference["event"].startswith("on_loss(")
    print(f"built in {first_s:.0f} s, after a change of the controller in {again_s:.0f} s")
    if quick and again_s > QUICK_S:
        sys.exit(f"expected a second build in less than {QUICK_S} s")


def use(folder: Path, command: str) -> None:
    """All that takes a controller takes the one of the wheel."""
    found = description(folder, command)
    assert (found["status"], found["summary"][:7]) == ("experimental", "NewReno")
    (flow,) = json.loads(call(folder, command, "run", "small.toml", "--json"))["flows"]
    assert (flow["controller"], flow["controller_status"]) == ("my-reno", "experimental")
    study = ("study", "study.toml", "--out", "out", "--workers", "2", "--json")
    assert json.loads(call(folder, command, *study))["runs"] == 9
    window = ("--link", "leo", "--set", "duration=3s", "--replications", "2", "--json")
    compared = json.loads(
        call(folder, command, "compare", "--controllers", "cubic,my-reno:kept=0.7", *window)
    )
    names = {row["controller"] for row in compared["workloads"][0]["ranking"]}
    assert {"cubic", "my-reno:kept=0.7"} <= names
    found = json.loads(lockstep(folder, command))
    assert found["difference"] is None, found
    assert found["steps"] > 100


def lockstep(folder: Path, command: str) -> str:
    """The controller of the crate and that of `bentpipe new controller` have the same rules."""
    return call(folder, command, "lockstep", "small.toml", "my-reno", "mine.py:Mine", "--json")


def description(folder: Path, command: str) -> dict[str, Any]:
    """The entry of the controller in the registry."""
    listed = json.loads(call(folder, command, "controllers", "my-reno", "--json"))
    entry: dict[str, Any] = listed["controllers"][0]
    return entry


def build(folder: Path, own: str, options: list[str]) -> float:
    """Build the wheel. Returns the time in seconds."""
    for old in folder.glob("*.whl"):
        old.unlink()
    start = time.monotonic()
    call(folder, own, "wheel", "my-reno", *options)
    return time.monotonic() - start


def installed(folder: Path) -> str:
    """The command of an environment with the wheel, and otherwise the packages of this one."""
    clean = folder / "clean"
    python = clean / "bin/python"
    if not clean.exists():
        call(folder, sys.executable, "-m", "venv", "--without-pip", str(clean))
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        link = clean / "lib" / version / "site-packages/dependencies.pth"
        link.write_text(f"{sysconfig.get_path('purelib')}\n")
    (wheel,) = folder.glob("bentpipe-*.whl")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    call(folder, *pip, "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall", wheel)
    return str(clean / "bin/bentpipe")


def call(folder: Path, *command: str | Path) -> str:
    """The output of a command; its failure ends this program."""
    words = [str(word) for word in command]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
