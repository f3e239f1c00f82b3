"""The built wheel, in an environment of its own, does what the README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import bentpipe
from conftest import ROOT

SECTION = re.compile(
    r"^## Five lines of Python\n.*?^```python\n(.*?)^```", re.MULTILINE | re.DOTALL
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, from what the engine of these tests was compiled into already."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder)]
    # As in scripts/uv.sh: with another interpreter all would be compiled anew.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    interpreter = {"PATH": path, "PYO3_PYTHON": sys.executable, "VIRTUAL_ENV": sys.prefix}
    environment = os.environ | interpreter
    subprocess.run([*pip, *options, str(ROOT)], check=True, env=environment, timeout=1800)
    (built,) = folder.glob("bentpipe-*.whl")
    return built


def test_the_wheel_has_what_a_user_needs_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("_native.abi3.so", "_native.pyi", "py.typed", "plots/theme.py", "runs.py"):
        assert f"bentpipe/{name}" in names
    for path in (ROOT / "python/bentpipe/reproductions").rglob("*.*"):
        if "__pycache__" not in path.parts:
            assert f"bentpipe/{path.relative_to(ROOT / 'python/bentpipe')}" in names
    for folder in ("examples", "python/bentpipe/new/starts"):
        for path in (ROOT / folder).iterdir():
            if path.name == "__pycache__":
                continue
            inside = path.relative_to(ROOT / folder)
            target = "examples" if folder == "examples" else "new/starts"
            assert f"bentpipe/{target}/{inside}" in names
    (manual,) = [name for name in names if name.endswith(".data/data/share/man/man1/bentpipe.1")]
    others = [name for name in names if name != manual]
    assert not [name for name in others if not re.match(r"bentpipe(-[^/]+\.dist-info)?/", name)]


def test_five_lines_of_python_lead_from_pip_install_to_a_plot(wheel: Path, tmp_path: Path) -> None:
    found = SECTION.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    assert len(list(filter(None, found[1].splitlines()))) == 5

    clean = tmp_path / "clean"
    python = clean / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(clean)], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    install = ["install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([*pip, *install], check=True)
    # The packages that it depends on are those of this environment, so that no network is needed.
    # Its `.pth` files do not count there, and so the Bentpipe of these tests is not seen.
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = sysconfig.get_path("purelib")
    (clean / "lib" / version / "site-packages" / "dependencies.pth").write_text(packages + "\n")

    def run(code: str) -> str:
        command = [str(python), "-c", code]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert str(clean) in run("import bentpipe; print(bentpipe.__file__)")
    assert run("import bentpipe; print(bentpipe.version())").strip() == bentpipe.version()
    run(found[1])
    (plot,) = tmp_path.glob("*.svg")
    assert plot.read_text(encoding="utf-8").startswith("<svg")
