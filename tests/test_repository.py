"""What the repository says about itself is so."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

import at_night
import deny
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def test_the_map_of_contributing_leads_to_what_there_is() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("## I want to change\n")[1].split("\n## ")[0]
    paths = re.findall(
        r"`([^`]+)`", "".join(row.split("|")[2] for row in table.splitlines() if row)
    )
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_programs_can_be_run_by_their_path() -> None:
    """The docs name benches by their path alone."""
    programs = [*(ROOT / "benches").glob("*.py"), *(ROOT / "scripts").iterdir()]
    begin = [path for path in programs if path.is_file() and path.read_bytes()[:2] == b"#!"]
    assert len(begin) > 20
    assert [path.name for path in begin if not os.access(path, os.X_OK)] == []


def test_programs_refuse_words_that_they_do_not_know() -> None:
    """`--help` must not do the work of a program, and a mistyped option must not be ignored."""
    programs = [*(ROOT / "benches").glob("*.py"), *(ROOT / "scripts").glob("*.py")]
    texts = {path.name: path.read_text(encoding="utf-8") for path in programs}
    # Cargo calls the first two with its own words. benches/split.py reads those of the last one.
    for name in ("rustc.py", "rustdoc.py", "legs.py"):
        del texts[name]
    run = {name: text for name, text in texts.items() if '__name__ == "__main__"' in text}
    assert len(run) > 20
    assert [name for name, text in run.items() if ".parse_args(" not in text] == []


def test_the_package_has_the_version_of_the_crates() -> None:
    project = toml("pyproject.toml")["project"]["version"]
    assert project == toml("Cargo.toml")["workspace"]["package"]["version"]
    assert f"\nversion: {project}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_changelog_names_each_thing_once() -> None:
    """A merge keeps both versions of a line that two branches have changed."""
    named = re.findall(r"^- \*\*(.+?)\*\*", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert len(named) > 10
    assert sorted(named) == sorted(set(named))


def test_no_snapshot_is_pending() -> None:
    command = ["git", "ls-files", "*.snap.new", "*.pending-snap"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout == ""


def test_the_lock_names_the_public_index_only() -> None:
    sources = {json.dumps(package["source"]) for package in toml("uv.lock")["package"]}
    assert sources == {'{"registry": "https://pypi.org/simple"}', '{"editable": "."}'}
    hosts = set(re.findall(r'url = "https?://([^/"]+)', (ROOT / "uv.lock").read_text()))
    assert hosts == {"files.pythonhosted.org"}


@pytest.mark.parametrize(
    ("expression", "is_allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("MIT/Zlib", True),
        ("GPL-3.0-only OR MIT AND Zlib", True),
        ("(GPL-3.0-only OR MIT) AND LGPL-2.1-only", False),
        ("(GPL-3.0-only OR MIT) AND Zlib", True),
        ("Apache-2.0 WITH LLVM-exception", False),
    ],
)
def test_a_licence_is_allowed_when_its_expression_can_be_satisfied(
    expression: str, is_allowed: bool
) -> None:
    assert deny.allowed(expression, {"MIT", "Zlib"}) == is_allowed


def test_what_deny_toml_does_not_allow_is_found() -> None:
    crate = {"name": "odd", "version": "1", "license": "SSPL-1.0", "dependencies": []}
    odd = crate | {"source": "git+https://example.org/odd"}
    twin = odd | {"version": "2"}
    rules = toml("deny.toml")
    assert len(deny.licences(rules["licenses"], [odd])) == 1
    assert len(deny.sources(rules["sources"], [odd])) == 1
    several = [line for line in deny.bans(rules["bans"], [odd, twin]) if line.startswith("odd")]
    assert several == ["odd: in versions 1, 2"]


def test_a_lock_without_a_crate_of_the_workspace_is_stale(tmp_path: Path) -> None:
    for name, needs in {"inner": "", "outer": 'inner = { path = "../inner" }'}.items():
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / "src/lib.rs").touch()
        package = f'[package]\nname = "{name}"\nversion = "1.0.0"\nedition = "2024"\n[workspace]\n'
        (tmp_path / name / "Cargo.toml").write_text(f"{package}[dependencies]\n{needs}\n")
    outer = '[[package]]\nname = "outer"\nversion = "1.0.0"\n'
    inner = '[[package]]\nname = "inner"\nversion = "1.0.0"\n'
    lock = tmp_path / "outer/Cargo.lock"
    lock.write_text(f"version = 4\n{outer}")
    assert "cannot update the lock file" in " ".join(deny.stale(lock.parent))
    lock.write_text(f'version = 4\n{inner}{outer}dependencies = ["inner"]\n')
    assert deny.stale(lock.parent) == []


def packages(folder: Path, **stubs: str) -> subprocess.CompletedProcess[str]:
    """A set-up with these programs, without clang and ping, by a user who is not root."""
    tools = folder / "bin"
    tools.mkdir()
    for tool in ("sh", "dirname", "env", "uv", "cc", "python3"):
        (tools / tool).symlink_to(shutil.which(tool) or "/bin/true")
    for name, script in ({"id": "echo 1000"} | stubs).items():
        (tools / name.replace("_", "-")).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name.replace("_", "-")).chmod(0o755)
    command = [str(ROOT / "scripts/system-packages.sh"), "run"]
    environment = os.environ | {"PATH": str(tools)}
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


PURPOSE = "clang             compiles the controllers of `bentpipe kernel load`"


def test_without_root_a_missing_package_is_named_and_the_set_up_goes_on(tmp_path: Path) -> None:
    done = packages(tmp_path, apt_get="exit 1")
    assert done.returncode == 0, done.stderr
    assert PURPOSE in done.stderr
    assert "sudo apt-get install clang" in done.stderr
    assert "without root: put programs on PATH" in done.stderr


def test_packages_are_named_before_sudo_installs_them(tmp_path: Path) -> None:
    done = packages(tmp_path, apt_get='echo "apt-get: $*" >&2', sudo='shift; "$@"')
    assert done.returncode == 0, done.stderr
    assert done.stderr.index(PURPOSE) < done.stderr.index("apt-get: update")
    assert "--no-install-recommends clang iputils-ping\n" in done.stderr


def test_a_sudo_that_wants_a_password_is_not_waited_for(tmp_path: Path) -> None:
    sudo = '[ "$1" = -n ] && exit 1; echo "waits for a password" >&2'
    done = packages(tmp_path, apt_get="echo installed >&2", sudo=sudo)
    assert (done.returncode, "installed" in done.stderr) == (0, False)
    assert "sudo apt-get install clang" in done.stderr
    assert "waits" not in done.stderr


def test_a_machine_without_apt_get_is_told_so(tmp_path: Path) -> None:
    done = packages(tmp_path)
    assert (done.returncode, PURPOSE in done.stderr) == (0, True)
    assert "no apt-get here" in done.stderr


def test_what_runs_at_night_is_there() -> None:
    """A test with a new name would run with every commit again."""
    missing = [
        f"{file}: {pattern}"
        for file, patterns in at_night.NIGHTLY.items()
        for pattern in patterns
        if f"def {pattern.partition('[')[0]}(" not in (ROOT / "tests" / file).read_text()
    ]
    assert missing == []
