"""Words that shells complete: asked for in bash, zsh and fish themselves."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bentpipe.cli import Completed, cli
from bentpipe.cli.groups import Group
from bentpipe.completion import VALUES
from conftest import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import click

COMMANDS = Path(sys.executable).parent
BREAKS = "=:"
HANDOVER = str(EXAMPLES / "handover.toml")


def script_of(shell: str) -> str:
    command = [str(COMMANDS / "bentpipe"), "completion", shell]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def in_shell(shell: str, text: str, tmp_path: Path) -> list[str]:
    """Lines that a script in the shell prints, which ends with nothing on stderr."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(text)
    environment = os.environ | {"PATH": f"{COMMANDS}{os.pathsep}{os.environ['PATH']}"}
    quiet = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    command = [found, *quiet, str(file)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def split_as_bash(line: str) -> list[str]:
    """The words of a line as bash passes them: `=` and `:` are words."""
    words: list[str] = []
    for word in line.split(" "):
        parts = [""]
        for letter in word:
            if letter in BREAKS:
                parts += [letter, ""]
            else:
                parts[-1] += letter
        words += [part for part in parts if part] or [""]
        if word and word[-1] in BREAKS:
            words.append("")
    return words


def complete(shell: str, line: str, tmp_path: Path) -> list[str]:
    """The whole words that a shell offers for the last word of a line."""
    script = script_of(shell)
    last = line.rpartition(" ")[2]
    if shell == "fish":
        text = f"{script}\ncomplete -C {shlex.quote(line)}\n"
        return [one.partition("\t")[0] for one in in_shell(shell, text, tmp_path)]
    if shell == "zsh":
        words = " ".join(map(shlex.quote, line.split(" ")))
        text = (
            "compdef() { : }\n"
            'compadd() { eval "print -l -- \\"\\${${@[-1]}[@]}\\""; }\n'
            "_path_files() { print -l FILES; }\n"
            f"{script}\nwords=({words}); CURRENT=$#words; _bentpipe_completion\n"
        )
        return in_shell(shell, text, tmp_path)
    split = split_as_bash(line)
    words = " ".join(map(shlex.quote, split))
    text = (
        "compopt() { [[ $2 == default ]] && echo FILES; return 0; }\n"
        f"{script}\nCOMP_WORDS=({words}); COMP_CWORD={len(split) - 1}\n"
        "_bentpipe_completion bentpipe\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    # Bash replaces the last of its words only.
    kept = last[: max(last.rfind(letter) for letter in BREAKS) + 1]
    found = [one for one in in_shell(shell, text, tmp_path) if one]
    return [one if one == "FILES" else kept + one for one in found]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("bentpipe expl", ["explain"]),
        ("bentpipe controllers hyb", ["hybla"]),
        ("bentpipe path fq", ["fq-codel"]),
        ("bentpipe evaluate hybla:rt", ["hybla:rtt0="]),
        ("bentpipe compare --controllers cubic,hyb", ["cubic,hybla"]),
        ("bentpipe compare --link geo-k", ["geo-ka", "geo-ku"]),
        (f"bentpipe run {HANDOVER} --set link.", ["link.0.", "link.1.", "link.*."]),
        (f"bentpipe run {HANDOVER} --set link.1.event.", [f"link.1.event.{n}." for n in "012*"]),
        (f"bentpipe run {HANDOVER} --set link.1.del", ["link.1.delay="]),
        (f"bentpipe run {HANDOVER} --set flow.0.controller=scal", ["flow.0.controller=scalable"]),
        (
            f"bentpipe run {HANDOVER} --set flow.0.transport.ecn=",
            [f"flow.0.transport.ecn={value}" for value in ("true", "false", "accurate", "passive")],
        ),
        (f"bentpipe shell {HANDOVER} --host cl", ["client"]),
        ("bentpipe papers run al", ["aliad"]),
        ("bentpipe kernel load west", ["westwood", "westwood-plus"]),
    ],
)
def test_a_shell_offers_the_values(
    shell: str, line: str, expected: list[str], tmp_path: Path
) -> None:
    found = complete(shell, line, tmp_path)
    if "kernel" in line:
        assert set(found) & set(expected)
    else:
        assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_offers_files(shell: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").touch()
    found = complete(shell, "bentpipe evaluate min", tmp_path)
    assert found == (["mine.py"] if shell == "fish" else ["FILES"])


def parameters(command: click.Command) -> Iterator[click.Parameter]:
    """The parameters of a command and of those below it."""
    yield from command.params
    if isinstance(command, Group):
        for below in command.subcommands().values():
            yield from parameters(below)


def test_every_kind_of_value_is_known_and_used() -> None:
    kinds = {one.type.what for one in parameters(cli) if isinstance(one.type, Completed)}
    assert kinds == set(VALUES)


def test_every_override_and_list_of_controllers_is_completed() -> None:
    for one in parameters(cli):
        if one.metavar == "PATH=VALUE" or one.name in {"controllers", "against"}:
            assert isinstance(one.type, Completed), one.name


def test_a_broken_scenario_file_gives_no_error(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("[[link")
    found = complete("bash", "bentpipe run broken.toml --set link.", tmp_path)
    assert found == ["link.0.", "link.*."]
