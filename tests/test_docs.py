"""Every command and snippet of the README and the documentation runs as written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import api
import bentpipe
import manual
import pages

ROOT = Path(__file__).resolve().parent.parent
REPRODUCTIONS = sorted((ROOT / "python/bentpipe/reproductions").glob("*/README.md"))
BESIDE_CODE = sorted((ROOT / "crates").rglob("src/**/*.md"))
"""The pages of mechanisms and controllers."""
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *BESIDE_CODE,
    *REPRODUCTIONS,
]
BLOCK = re.compile(
    r"^```(\w+)\n(.*?)^```\n?(<!-- (?:not run: [^\n]+|in the kernel(?:, at night)?|at night) -->)?",
    re.MULTILINE | re.DOTALL,
)
IN_THE_KERNEL = ("<!-- in the kernel -->", "<!-- in the kernel, at night -->")
"""What stands behind a block that loads controllers or runs on the kernel, and so needs root."""
AT_NIGHT = ("<!-- at night -->", IN_THE_KERNEL[1])
"""Stands behind a block that takes long, and whose commands other tests run, too."""
LONG_STUDY = "study-path-hints.toml"
LONG = re.compile(rf"^bentpipe (papers run |study examples/{LONG_STUDY})", re.MULTILINE)
"""Commands that take longer than 20 s. Other tests run them with fewer seeds."""
REPOSITORY = ("examples", "python")
"""Folders that commands name."""
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


MISSING = bentpipe.kernel_missing()


def blocks(language: str, in_the_kernel: bool = False) -> list[Any]:
    """The blocks of one language that are to be run, named by page and position.

    Those that take long, or are lines of earlier blocks once more, only run by `make nightly`.
    """
    found = []
    known: set[str] = set()
    for page in PAGES:
        for number, match in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8"))):
            wanted = match[3] in (IN_THE_KERNEL if in_the_kernel else (None, AT_NIGHT[0]))
            if match[1] == language and wanted:
                lines = set(match[2].splitlines())
                is_long = match[3] in AT_NIGHT or LONG.search(match[2])
                at_night = bool(is_long) or lines <= known
                marks = [pytest.mark.nightly] if at_night else []
                found.append(pytest.param(match[2], id=f"{page.stem}-{number}", marks=marks))
                known |= lines
    return found


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run in a folder with files of the repository and the environment's commands."""
    for name in REPOSITORY:
        (folder / name).symlink_to(ROOT / name)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(bool(MISSING), reason=f"missing: {'; '.join(MISSING)}")
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("block", blocks("sh", in_the_kernel=True))
def test_a_command_runs_in_the_kernel_as_written(block: str, tmp_path: Path) -> None:
    test_a_command_runs_as_written(block, tmp_path)


@pytest.mark.parametrize("block", blocks("sh"))
def test_a_command_runs_as_written(block: str, tmp_path: Path) -> None:
    result = run(["sh", "-euc", block], tmp_path)
    # How well a network was emulated is told on stderr where stdout is the program's, as is what
    # programs do not get on this machine.
    usual = ("Linux ", "note: programs on ")
    told = [line for line in result.stderr.splitlines() if not line.startswith(usual)]
    assert (result.returncode, told) == (0, [])
    assert result.stdout


def test_a_long_study_runs_with_one_seed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    study = tmp_path / "examples" / LONG_STUDY
    text, changed = re.subn("^count = .*$", "count = 1", study.read_text(), flags=re.MULTILINE)
    assert changed == 1
    study.write_text(text)
    assert bentpipe.Study.load(study).run(workers=1).rows.height > 20


@pytest.mark.parametrize("block", blocks("python"))
def test_a_python_snippet_runs_as_written(block: str, tmp_path: Path) -> None:
    result = run([sys.executable, "-c", block], tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    written = [path for path in tmp_path.iterdir() if path.name not in REPOSITORY]
    assert result.stdout or written


def test_there_are_commands_and_snippets_to_run() -> None:
    assert blocks("sh")
    assert blocks("python")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    # A forge shows no page behind a symbolic link.
    targets = {link: Path(os.path.normpath(page.parent / link)) for link in links}
    missing = [link for link, target in targets.items() if target.resolve() != target]
    missing += [link for link, target in targets.items() if not target.exists()]
    assert not missing


def test_every_controller_has_a_page_with_its_parameters() -> None:
    own = pages.pages("congestion/src")
    assert set(own) == {controller.name for controller in bentpipe.controllers()}
    folder = "".join(page.read_text(encoding="utf-8") for page in own.values())
    for controller in bentpipe.controllers():
        for parameter in controller.parameters:
            assert f"`{parameter.name}`" in folder, controller.name


def test_every_mechanism_has_a_page() -> None:
    own = pages.pages("link/src", "middlebox/src")
    assert set(own) == {entry.name for entry in bentpipe.mechanisms()}


@pytest.mark.parametrize("page", [pages.PATH, pages.CONTROLLERS], ids=lambda page: page.stem)
def test_the_lists_of_mechanisms_and_controllers_are_those_of_the_code(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == pages.written(page), "run `make generated`"
    names = [entry.name for entry in bentpipe.mechanisms()]
    names += [entry.name for entry in bentpipe.controllers()]
    assert sum(f"| [`{name}`](" in text for name in names) > 30


def test_the_lists_of_profiles_are_those_of_the_code() -> None:
    text = pages.HOSTS.read_text(encoding="utf-8")
    assert text == pages.written(pages.HOSTS), "run `make generated`"
    assert all(f"| `{entry.name}` |" in text for entry in bentpipe.hosts())


def test_the_api_reference_is_made_from_the_docstrings() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert text == api.page(), "run `make generated`"
    assert all(f"### `{name}`" in text for name in bentpipe.__all__)


def test_the_man_page_is_made_from_the_commands() -> None:
    assert manual.PAGE.read_text(encoding="utf-8") == manual.page(), "run `make generated`"
    for name in ("run", "papers explain", "kernel load"):
        assert f"\n.SS bentpipe {name} " in manual.page()


@pytest.mark.skipif(shutil.which("groff") is None, reason="missing: groff")
def test_groff_reads_the_man_page_without_a_warning() -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", str(manual.PAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Interrupted by Ctrl" in done.stdout


def test_the_index_lists_every_page() -> None:
    folder = ROOT / "docs"
    linked = set(LINK.findall((folder / "README.md").read_text(encoding="utf-8")))
    pages = {path.name for path in folder.glob("*.md")} - {"README.md"}
    assert pages - linked == set()
