"""Runs every check and test, whatever fails, and sums them up in one last line.

The last line reads `N passed, N failed, N skipped`: tests of cargo and pytest one by one, and each
of the other checks as one. Exit status 1 when anything failed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import prepare

REPORT = prepare.ROOT / ".cache" / "pytest.xml"
CARGO_RESULT = re.compile(r"test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored")


@dataclass(frozen=True)
class Count:
    """How many tests passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def stream(command: list[str]) -> tuple[int, list[str]]:
    """Run a command, show its output as it comes, and return its status and output lines."""
    lines = []
    with subprocess.Popen(
        command,
        cwd=prepare.ROOT,
        env=prepare.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or []:
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, lines


def check(*command: str) -> Count:
    """Run a command that is one test."""
    status, _ = stream(list(command))
    return Count(passed=1) if status == 0 else Count(failed=1)


def cargo_tests() -> Count:
    """All Rust tests. A crate that does not compile counts as one failure.

    Cargo takes tests that return at once as passed; those that this machine cannot run say so.
    """
    status, lines = stream(["cargo", "test", "--workspace", "--locked", "--no-fail-fast"])
    results = [match for line in lines if (match := CARGO_RESULT.search(line))]
    skipped = sum(line.startswith("skipped: ") for line in lines)
    total = sum(
        (Count(*map(int, match.groups())) for match in results), Count(-skipped, 0, skipped)
    )
    return total + Count(failed=1) if status and not total.failed else total


def python_tests() -> Count:
    """All Python tests. A session that dies counts as one failure."""
    REPORT.unlink(missing_ok=True)
    status, _ = stream([str(prepare.PYTHON), "-m", "pytest", f"--junit-xml={REPORT}"])
    total = Count()
    if REPORT.exists():
        for suite in ET.parse(REPORT).getroot().iter("testsuite"):
            tests, failures, errors, skipped = (
                int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")
            )
            failed = failures + errors
            total += Count(max(tests - failed - skipped, 0), failed, skipped)
    return total + Count(failed=1) if status and not total.failed else total


def build() -> Count:
    """The extension module that the Python tests use."""
    try:
        prepare.prepare_engine()
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        print(error)
        return Count(failed=1)
    return Count(passed=1)


def instructions() -> Count:
    """The guard against slow commits."""
    if shutil.which("valgrind") is None:
        print("skipped: valgrind, which counts instructions, is not installed")
        return Count(skipped=1)
    return check(str(prepare.PYTHON), "benches/instructions.py")


STEPS = {
    "cargo fmt": lambda: check("cargo", "fmt", "--all", "--check"),
    "cargo clippy": lambda: check(
        "cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"
    ),
    "cargo test": cargo_tests,
    "ruff check": lambda: check("ruff", "check", "."),
    "ruff format": lambda: check("ruff", "format", "--check", "."),
    "mypy": lambda: check("mypy"),
    "build": build,
    "instructions": instructions,
    "stubtest": lambda: check("stubtest", "bentpipe._native"),
    "stubs": lambda: check(str(prepare.PYTHON), "scripts/stubs.py", "--check"),
    "pytest": python_tests,
}


def main() -> int:
    """Set up, run all steps, print the sum."""
    try:
        prepare.prepare_packages("test")
        prepare.prepare_peers()
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        print(f"set-up failed: {error}\n{Count(failed=1)}")
        return 1
    total, summary = Count(), []
    for name, step in STEPS.items():
        print(f"\n== {name}", flush=True)
        start = time.monotonic()
        count = step()
        total += count
        summary.append(f"{name:<14}{count}  ({time.monotonic() - start:.0f} s)")
    print("\n== summary", *summary, "", total, sep="\n")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
