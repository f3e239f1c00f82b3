"""Sets up what `make run` and `make test` need: environment, locked packages, extension module.

Each step leaves a stamp with the hash of everything that it depends on and is skipped while that
hash stays the same, so that a second run starts at once. Only the standard library is used: this
runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
STAMPS = ENVIRONMENT / ".stamps"
LOCKS = {"run": ROOT / "requirements.lock", "test": ROOT / "requirements-dev.lock"}


def say(message: str) -> None:
    """Tell the user what happens."""
    print(f"bentpipe: {message}", flush=True)


def execute(*command: str | Path) -> None:
    """Run a command in the project's folder; `CalledProcessError` when it fails."""
    subprocess.run(command, cwd=ROOT, check=True, env=environment(), stdin=subprocess.DEVNULL)


def environment() -> dict[str, str]:
    """Environment of every command: the virtual environment first, one interpreter for PyO3."""
    path = f"{ENVIRONMENT / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    return os.environ | {
        "PATH": path,
        "PYTHON": sys.executable,
        "PYO3_PYTHON": str(PYTHON),
        "VIRTUAL_ENV": str(ENVIRONMENT),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def digest(parts: Iterable[str | Path]) -> str:
    """Hash of texts and of files with their names."""
    total = hashlib.sha256()
    for part in parts:
        content = part.read_bytes() if isinstance(part, Path) else b""
        name = part.relative_to(ROOT) if isinstance(part, Path) else part
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def once(name: str, state: str, action: Callable[[], None], result: Path) -> None:
    """Do `action` unless it was done for the same `state` and its `result` is still there."""
    stamp = STAMPS / name
    if result.exists() and stamp.exists() and stamp.read_text() == state:
        return
    stamp.unlink(missing_ok=True)
    start = time.monotonic()
    action()
    STAMPS.mkdir(parents=True, exist_ok=True)
    stamp.write_text(state)
    say(f"{name}: done in {time.monotonic() - start:.0f} s")


def create_environment() -> None:
    """Make an empty virtual environment."""
    say(f"creating {ENVIRONMENT.name} with Python {platform.python_version()}")
    execute(sys.executable, "-m", "venv", "--clear", ENVIRONMENT)


def install_packages(lock: Path) -> None:
    """Install exactly what the lock file names, verified by hash."""
    say(f"installing the packages of {lock.name}")
    pip = (PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes")
    execute(*pip, "--requirement", lock)


def engine_sources() -> list[Path]:
    """All files that decide what the extension module is."""
    files = [ROOT / name for name in ("Cargo.toml", "Cargo.lock", "pyproject.toml")]
    crates = ROOT / "crates"
    files += sorted(crates.glob("*/Cargo.toml"))
    files += sorted(crates.glob("*/build.rs"))
    files += sorted(path for path in (ROOT / "bpf").glob("**/*.[ch]") if path.is_file())
    files += sorted(path for path in crates.glob("*/src/**/*") if path.is_file())
    return files


def build_engine() -> None:
    """Compile the extension module with all optimisations and link it into the environment."""
    say("building the engine (minutes the first time)")
    pip = (PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation")
    execute(*pip, "--editable", ROOT)


def prepare_packages(purpose: str) -> None:
    """System packages, virtual environment and Python packages for `run` or `test`."""
    execute(ROOT / "scripts" / "system-packages.sh", purpose)
    once("environment", f"{sys.executable} {sys.version}", create_environment, PYTHON)
    lock = LOCKS[purpose]
    # The test packages contain those of `run`, so either stamp will do for `run`.
    if purpose == "run" and (STAMPS / "packages-test").exists():
        lock, purpose = LOCKS["test"], "test"
    once(f"packages-{purpose}", digest([lock]), lambda: install_packages(lock), PYTHON)


def prepare_peers() -> None:
    """ns-2 and ns-3 to compare with. Without them the tests that need them are skipped."""
    try:
        execute(ROOT / "scripts" / "peers.sh")
    except subprocess.CalledProcessError:
        say("going on without ns-2 or ns-3; the tests that need them are skipped")


def prepare_engine() -> None:
    """The extension module, compiled again only when its sources changed."""
    compiler = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    clang = shutil.which("clang", path=environment()["PATH"]) or "no clang"
    state = digest([compiler, clang, sys.version, *engine_sources()])
    module = ROOT / "python" / "bentpipe" / "_native.abi3.so"
    once("engine", state, build_engine, module)


def main() -> int:
    """Prepare for the purpose named on the command line; exit status 1 when a step fails."""
    purpose = sys.argv[1] if len(sys.argv) > 1 else "run"
    try:
        prepare_packages(purpose)
        prepare_engine()
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        print(f"bentpipe: set-up failed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
