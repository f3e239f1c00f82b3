"""Runs checks and tests, whatever fails, and sums them up in one last line.

    test.py              all steps
    test.py --check      the quick steps: formatting, lints, types, unit tests
    test.py --nightly    what is long and mostly repeats other tests; writes docs/nightly.md
    test.py STEP...      these steps

Before the sum stand the 20 slowest tests. The last line reads `N passed, N failed, N skipped`:
tests of cargo and pytest one by one, and each of the other checks as one. Exit status 1 when
anything failed. The environment must be there (scripts/set-up.sh).

Tests in real time, with real kernels and processes, fail now and then on a machine that does other
things. One that failed gets a second try, alone; what then passes is counted as passed, and listed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / ".cache" / "pytest.xml"
SLOWEST = 20
CARGO_RESULT = re.compile(r"test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored")
CARGO_TEST = re.compile(r"test (?P<name>\S+)(?: - should panic)? \.\.\. .*<(?P<seconds>[\d.]+)s>")
CARGO_FAILED = re.compile(r"test (?P<name>\S+)(?: - should panic)? \.\.\. FAILED")
CARGO_BINARY = re.compile(r"\s+Running .* \((?P<path>\S+)\)")
RUST = ("--workspace", "--locked")

REAL_TIME = ("proxy", "testbed")
"""Crates whose `tests` run real kernels and processes. Those of Python are marked `alone`."""

ENGINE = ("scripts/set-up.sh", "test")
"""Builds the extension module of the Python package."""

RELEASE = (sys.executable, "benches/engine.py")
"""Builds what `benches/instructions.py` counts."""

NIGHTLY = ("nightly::", "behaviour::")
"""Paths of the Rust tests that only `make nightly` runs. Those of Python are marked `nightly`."""

COMPILED_ONCE = {"CARGO_INCREMENTAL": "0", "CARGO_PROFILE_DEV_DEBUG": "none"}
"""Settings of Cargo on CI, where nothing is compiled a second time: a fifth less work."""

LINTS = {
    "RUSTC_WORKSPACE_WRAPPER": "clippy-driver",
    "CLIPPY_ARGS": "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
}
"""What `cargo clippy -- -D warnings` sets."""

COMPILER: dict[str, str] = {}
"""Variables of all that compiles the tests of the crates. On CI `LINTS`, so that one pass of the
compiler finds what clippy finds and makes the programs."""

SECOND_TRY: list[str] = []
"""Tests in real time that failed once and then passed."""

MEANWHILE: dict[str, subprocess.Popen[bytes]] = {}
"""Processes that were started ahead, by name. Their output is in `.cache`."""


@dataclass(frozen=True)
class Count:
    """Numbers of passed, failed and skipped tests, and times of single tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def __add__(self, other: Count) -> Count:
        return Count(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.seconds | other.seconds,
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def environment() -> dict[str, str]:
    """Environment of every command: the virtual environment first, one interpreter for PyO3."""
    scripts = Path(sys.prefix) / "bin"
    compiled = COMPILED_ONCE if os.environ.get("CI") else {}
    return (
        os.environ
        | compiled
        | {
            "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}",
            "PYO3_PYTHON": str(scripts / "python"),
            "VIRTUAL_ENV": sys.prefix,
            # A commit that passes here passes everywhere. `scripts/soak.sh` draws other cases.
            "PROPTEST_RNG_SEED": os.environ.get("PROPTEST_RNG_SEED", "1"),
        }
    )


def stream(command: tuple[str, ...], **variables: str) -> tuple[int, list[str]]:
    """Run a command, show its output as it comes, and return its status and output lines."""
    lines = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment() | variables,
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


def check(*command: str, **variables: str) -> Count:
    """Run a command that is one test."""
    status, _ = stream(command, **variables)
    return Count(passed=1) if status == 0 else Count(failed=1)


def cargo_tests(*selection: str, nightly: bool = False) -> Count:
    """Rust tests. A crate that does not compile counts as one failure.

    Cargo takes tests that return at once as passed; those that this machine cannot run say so.
    """
    # The times of single tests are behind a switch that only nightly programs have. The variable
    # gives it to the tests; it is kept from the compiler, which would compile all again.
    host = next(
        line.split()[1]
        for line in subprocess.check_output(["rustc", "-vV"], text=True, cwd=ROOT).splitlines()
        if line.startswith("host: ")
    )
    runner = f"CARGO_TARGET_{host.upper().replace('-', '_')}_RUNNER"
    # Tests in real time sleep most of it.
    threads = f"--test-threads={2 * (os.cpu_count() or 1)}"
    chosen = NIGHTLY if nightly else [word for path in NIGHTLY for word in ("--skip", path)]
    timed = ("--", "-Z", "unstable-options", "--report-time", threads, *chosen)
    status, lines = stream(
        ("cargo", "test", *RUST, "--no-fail-fast", *selection, *timed),
        **{runner: "env RUSTC_BOOTSTRAP=1"} | COMPILER,
    )
    count = cargo_count(status, lines)
    for crate, target, name in failed_in_real_time(lines):
        print(f"\n== again: {name} of {crate}", flush=True)
        one = ("--test", target, "--", "--exact", name)
        if cargo_count(*stream(("cargo", "test", *RUST, *one), **COMPILER)).passed:
            SECOND_TRY.append(name)
            count += Count(passed=1, failed=-1)
    return count


def failed_in_real_time(lines: list[str]) -> list[tuple[str, str, str]]:
    """Crate, target and name of each test in real time that failed, from `cargo test`."""
    failed, path = [], ""
    for line in lines:
        if binary := CARGO_BINARY.match(line):
            path = binary["path"]
        elif test := CARGO_FAILED.match(line):
            failed.append((path, test["name"]))
    if not failed:
        return []
    build = ("cargo", "test", *RUST, "--tests", "--no-run", "--message-format=json")
    variables = environment() | COMPILER
    messages = subprocess.run(build, cwd=ROOT, env=variables, capture_output=True, text=True)
    targets = {}
    for message in map(json.loads, messages.stdout.splitlines()):
        if message.get("executable") and message["target"]["kind"] == ["test"]:
            crate = Path(message["manifest_path"]).parent.name
            executable = Path(message["executable"]).relative_to(ROOT)
            targets[str(executable)] = (crate, message["target"]["name"])
    found = ((*targets[path], name) for path, name in failed if path in targets)
    return [each for each in found if each[0] in REAL_TIME]


def cargo_count(status: int, lines: list[str]) -> Count:
    """The result in the output of `cargo test`."""
    results = [match for line in lines if (match := CARGO_RESULT.search(line))]
    skipped = sum(line.startswith("skipped: ") for line in lines)
    seconds = {
        match["name"]: float(match["seconds"])
        for line in lines
        if (match := CARGO_TEST.match(line))
    }
    total = sum(
        (Count(int(match[1]), int(match[2]), int(match[3])) for match in results),
        Count(-skipped, 0, skipped, seconds),
    )
    return total + Count(failed=1) if status and not total.failed else total


def clippy() -> Count:
    """The lints. If they find something on CI, the tests are compiled without them."""
    if not os.environ.get("CI"):
        return check("cargo", "clippy", *RUST, "--all-targets", "--", "-D", "warnings")
    count = check("cargo", "test", *RUST, "--all-targets", "--no-run", **LINTS)
    COMPILER.update(LINTS if count.passed else {})
    return count


def doctests() -> Count:
    """The examples in the documentation of the crates. Those of the bindings are in Python."""
    rust = (*RUST, "--exclude", "python")
    return cargo_count(*stream(("cargo", "test", *rust, "--no-fail-fast", "--doc"), **COMPILER))


def python_tests(*options: str) -> Count:
    """Python tests. A session that dies counts as one failure."""
    REPORT.unlink(missing_ok=True)
    status, _ = stream((sys.executable, "-m", "pytest", f"--junit-xml={REPORT}", *options))
    total = Count()
    if REPORT.exists():
        for suite in ET.parse(REPORT).getroot().iter("testsuite"):
            tests, failures, errors, skipped = (
                int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")
            )
            failed = failures + errors
            seconds = {
                f"{case.get('classname')}::{case.get('name')}": float(case.get("time", 0))
                for case in suite.iter("testcase")
            }
            total += Count(max(tests - failed - skipped, 0), failed, skipped, seconds)
    return total + Count(failed=1) if status and not total.failed else total


def start(name: str, *command: str) -> None:
    """Starts a command while other steps run; `wait_for` waits for its end.

    Crates are compiled one after the other where each uses the one before, so that one build leaves
    cores idle, and so do tests in real time.
    """
    with log_of(name).open("w") as output:
        MEANWHILE[name] = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def log_of(name: str) -> Path:
    """The output of a command that runs meanwhile."""
    log = ROOT / ".cache" / f"{name}.log"
    log.parent.mkdir(exist_ok=True)
    return log


def wait_for(name: str, *command: str) -> Count:
    """Waits for a command that was started ahead, or runs it. It is one test."""
    process = MEANWHILE.get(name)
    if process is None:
        return check(*command)
    status = process.wait()
    print(log_of(name).read_text(), end="")
    return Count(passed=1) if status == 0 else Count(failed=1)


def rust_tests() -> Count:
    """All tests of the crates but doctests. Some are in real time: no compiler runs then."""
    subprocess.run(
        ("cargo", "test", *RUST, "--tests", "--no-run"),
        cwd=ROOT,
        env=environment() | COMPILER,
        stdin=subprocess.DEVNULL,
        check=False,  # the tests fail then
    )
    for name in {"engine", "release"} & MEANWHILE.keys():
        MEANWHILE[name].wait()
    return cargo_tests("--tests")


def all_python_tests() -> Count:
    """Side by side where that changes nothing, then one by one those that need the machine."""
    if "peers" in MEANWHILE and MEANWHILE["peers"].wait():
        print(log_of("peers").read_text(), "going on without all peers")
    # One more than there are cores: some tests wait for other processes.
    processes = (os.cpu_count() or 1) + 1
    together = python_tests(
        "-m", "not alone and not nightly", "-n", str(processes), "--dist", "loadscope"
    )
    alone = python_tests("-m", "alone and not nightly")
    if alone.failed:
        print("\n== again", flush=True)
        again = python_tests(
            "-m", "alone and not nightly", "--last-failed", "--last-failed-no-failures=none"
        )
        if not again.failed:
            SECOND_TRY.extend(again.seconds)
        alone += Count(passed=again.passed, failed=-again.passed)
    return together + alone


def instructions() -> Count:
    """The guard against slow commits."""
    if shutil.which("valgrind") is None:
        print("skipped: valgrind, which counts instructions, is not installed")
        return Count(skipped=1)
    if "release" in MEANWHILE and MEANWHILE["release"].wait():
        print(log_of("release").read_text(), end="")
    return check(sys.executable, "benches/instructions.py")


QUICK: dict[str, Callable[[], Count]] = {
    "fmt": lambda: check("cargo", "fmt", "--all", "--check"),
    "ruff": lambda: check("ruff", "check", "."),
    "ruff-format": lambda: check("ruff", "format", "--check", "."),
    "mypy": lambda: check("mypy"),
    "words": lambda: check(sys.executable, "scripts/words.py"),
    "deny": lambda: check(sys.executable, "scripts/deny.py"),
    "clippy": clippy,
    "unit-tests": lambda: cargo_tests("--lib"),
}
"""The steps of `make check`."""

STEPS = {name: step for name, step in QUICK.items() if name != "unit-tests"} | {
    "rust-tests": rust_tests,
    "doctests": doctests,
    "doc": lambda: check(
        "cargo", "doc", *RUST, "--no-deps", "--document-private-items", RUSTDOCFLAGS="-D warnings"
    ),
    "engine": lambda: wait_for("engine", *ENGINE),
    "instructions": instructions,
    "stubtest": lambda: check("stubtest", "bentpipe._native"),
    "stubs": lambda: check(sys.executable, "scripts/stubs.py", "--check"),
    "python-tests": all_python_tests,
}
"""The steps of `make test`."""

AT_NIGHT: dict[str, Callable[[], Count]] = {
    "nightly-rust": lambda: cargo_tests("--tests", nightly=True),
    "nightly-python": lambda: python_tests("-m", "nightly"),
}
"""The steps of `make nightly`."""

RESULT = ROOT / "docs" / "nightly.md"
PAGE = """\
# The last run of `make nightly`

{date}, at commit {commit}: {total}.

| step | result |
|---|---|
{rows}

These are the tests that take long and mostly repeat others: two thousand random scenarios and
more on both engines until all of the language is drawn, controllers against the ranges of their
papers and of the kernel's documentation, all reproductions of papers against the tables of their
pages, and commands that are killed.
"""


def write_result(summary: list[str], total: Count) -> None:
    """Date, commit and result of `make nightly`."""
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True, cwd=ROOT)
    rows = "\n".join("| " + " | ".join(line.split(maxsplit=1)) + " |" for line in summary)
    date = dt.date.today().isoformat()
    RESULT.write_text(PAGE.format(date=date, commit=commit.strip(), total=total, rows=rows))


def main() -> int:
    """Run the steps, print the sum."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("steps", metavar="STEP", nargs="*", help=", ".join(QUICK | STEPS))
    parser.add_argument("--check", action="store_true", help="the quick steps")
    parser.add_argument("--nightly", action="store_true", help="the steps of `make nightly`")
    arguments = parser.parse_args()
    if unknown := set(arguments.steps) - (QUICK | STEPS).keys():
        parser.error(f"no such step: {', '.join(sorted(unknown))}")
    steps = AT_NIGHT if arguments.nightly else QUICK if arguments.check else STEPS
    names = arguments.steps or list(steps)
    total, summary = Count(), []
    try:
        if steps is STEPS and not arguments.steps:
            # Without peers the tests that compare with ns-2 and ns-3 are skipped.
            start("peers", "scripts/peers.sh")
            start("engine", *ENGINE)
            start("release", *RELEASE)
        for name in names:
            print(f"\n== {name}", flush=True)
            began = time.monotonic()
            count = (QUICK | STEPS | AT_NIGHT)[name]()
            total += count
            summary.append(f"{name:<15}{count}  ({time.monotonic() - began:.0f} s)")
    finally:
        for process in MEANWHILE.values():
            process.wait()
    slowest = sorted(total.seconds.items(), key=lambda test: -test[1])[:SLOWEST]
    if slowest:
        print(f"\n== the {len(slowest)} slowest tests")
        print(*(f"{seconds:7.1f} s  {test}" for test, seconds in slowest), sep="\n")
    if SECOND_TRY:
        print("\n== passed on a second try, alone", *SECOND_TRY, sep="\n")
    print("\n== summary", *summary, "", total, sep="\n")
    if arguments.nightly:
        write_result(summary, total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
