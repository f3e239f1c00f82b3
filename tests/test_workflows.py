"""The workflows for a forge: what they may contain, and what a linter of their security says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".github"
COMMANDS = Path(sys.executable).parent


def output(*command: str) -> str:
    """Output of a linter, whose exit status must be 0."""
    program = str(COMMANDS / command[0])
    done = subprocess.run(
        [program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "file", sorted((FOLDER / "workflows").iterdir()), ids=lambda path: path.stem
)
def test_a_workflow_has_the_form_that_the_forge_takes(file: Path) -> None:
    output("check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(file))


def test_workflows_have_no_known_weakness() -> None:
    assert "No findings to report" in output("zizmor", "--offline", ".github")


def test_the_forge_runs_what_everybody_runs() -> None:
    text = (FOLDER / "workflows/test.yml").read_text(encoding="utf-8")
    assert "run: .ci/run" in text
    assert "exec make test" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_a_release_has_all_packages_with_checksums_and_an_sbom() -> None:
    text = (FOLDER / "workflows/release.yml").read_text(encoding="utf-8")
    for part in (
        "target: aarch64",
        "windows-msvc",
        "aarch64-apple",
        "make deb",
        "spdx-json",
        "sha256sum *",
        "--draft",
    ):
        assert part in text
    for file in (ROOT / "deploy").glob("*Containerfile"):
        assert f"--file deploy/{file.name}" in text


@pytest.mark.parametrize("file", sorted((ROOT / "deploy").glob("*Containerfile")), ids=str)
def test_a_container_file_copies_what_exists_and_pins_its_system(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    copied = [
        line.split()[1:-1] for line in lines if line.startswith("COPY") and "--from" not in line
    ]
    assert copied
    for source in (one for sources in copied for one in sources):
        made = source.startswith("out/packages/")  # by `make wheel`
        assert made or (ROOT / source).exists(), source
    images = [line.split()[1] for line in lines if line.startswith("FROM")]
    assert len(images) == 2
    assert all(one.startswith("docker.io/library/") and "bookworm" in one for one in images)
