"""Runs checks and tests, whatever fails, and sums them up in one last line.

    test.py              all steps
    test.py --check      the quick steps: formatting, lints, types, unit tests
    test.py --nightly    what is long and mostly repeats other tests; writes docs/nightly.md
    test.py STEP...      these steps

Before the sum stand the 20 slowest tests, and why tests were skipped. The last line reads
`N passed, N failed, N skipped`: tests of cargo and pytest one by one, and each of the other checks
as one. Exit status 1 when anything failed. The environment must be there (scripts/set-up.sh).

Rows of steps run side by side, because a compiler that waits for one crate leaves cores idle, as
does a test that waits for a kernel. Tests in real time come last, when nothing else runs. They have
real kernels and processes, and still fail now and then. One that failed gets a second try, alone;
what then passes is counted as passed, and listed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import io
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from real_time import REAL_TIME

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
RUST_REPORT = ROOT / "target" / "nextest" / "default" / "junit.xml"
BYTECODE = ROOT / ".cache" / "bytecode"
"""Compiled modules of Python. Tests start hundreds of interpreters. Containers often forbid
bytecode by `NO_BYTECODE`; each interpreter then compiles polars, altair and scipy anew."""
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
SLOWEST = 20
CARGO_RESULT = re.compile(r"test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored")
RUST = ("--workspace", "--locked")

WAITING = {"rust": str(3 * (os.cpu_count() or 1)), "python": str(2 * (os.cpu_count() or 1))}
"""Tests in real time that run side by side: they sleep most of the time. Each process of pytest
collects all tests first, which takes as long as some of them."""

TOGETHER = "not alone and not kernel and not real_time and not nightly"
"""Python tests that run beside all others."""

MARKED = {
    "alone": r"mark\.alone",
    "kernel": r"\bkernel: None|usefixtures\(.*\"kernel\"",
    "real_time": r"for_kernel|mark\.real_time",
}
"""Words of files with tests that have a mark, by itself or by a fixture of conftest.py. To collect
the tests of all files takes ten seconds of each process."""

NIGHTLY = "test(/(^|::)(nightly|behaviour)::/)"
"""Rust tests of `make nightly` only; see .config/nextest.toml. Those of Python are marked."""

ENGINE = ("scripts/set-up.sh", "test")
"""Builds the extension module of the Python package."""

COMPILED_ONCE = {
    "CARGO_INCREMENTAL": "0",
    "CARGO_PROFILE_DEV_DEBUG": "none",
    "CARGO_PROFILE_ENGINE_DEBUG": "none",
}
"""Settings of Cargo on CI, where nothing is compiled a second time: a fifth less work."""

WITHOUT_TESTS = ("--exclude", "extension", "--exclude", "python")
"""Libraries without tests. `--lib` compiles test programs of all the others."""

LINTS = {
    "RUSTC_WORKSPACE_WRAPPER": str(ROOT / "scripts" / "rustc.py"),
    "CLIPPY_ARGS": "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
}
"""What `cargo clippy -- -D warnings` sets; see scripts/rustc.py."""

COMPILER: dict[str, str] = {}
"""Variables of all that compiles the tests of the crates. On CI `LINTS`, so that one pass of the
compiler finds what clippy finds and makes the programs."""

SHARED = "engine"
"""The profile of the tests with `LINTS`, so that what Bentpipe depends on is compiled once."""

SECOND_TRY: list[str] = []
"""Tests in real time that failed once and then passed."""

SKIPPED: list[str] = []
"""Tests that were skipped, with the reasons."""

HERE = threading.local()
"""Where the output of the steps of this thread goes."""


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
    kept = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    return (
        kept
        | compiled
        | {
            "PYTHONPYCACHEPREFIX": str(BYTECODE),
            "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}",
            "PYO3_PYTHON": str(scripts / "python"),
            "VIRTUAL_ENV": sys.prefix,
            # A commit that passes here passes everywhere. `scripts/soak.sh` draws other cases.
            "PROPTEST_RNG_SEED": os.environ.get("PROPTEST_RNG_SEED", "1"),
        }
    )


def say(*words: object, end: str = "\n") -> None:
    """Print, or keep until `InParallel.join`."""
    print(*words, end=end, file=getattr(HERE, "output", sys.stdout), flush=True)


def stream(
    command: tuple[str, ...], variables: dict[str, str] | None = None, folder: Path = ROOT
) -> tuple[int, list[str]]:
    """Run a command, show its output as it comes, and return its status and output lines."""
    lines = []
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment() | (variables or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or []:
            say(line, end="")
            lines.append(line)
    return process.returncode, lines


def check(*command: str, variables: dict[str, str] | None = None, folder: Path = ROOT) -> Count:
    """Run a command that is one test."""
    status, _ = stream(command, variables, folder)
    return Count(passed=1) if status == 0 else Count(failed=1)


def why_skipped(case: ET.Element) -> str | None:
    """Why a test was skipped; none if it ran."""
    if (mark := case.find("skipped")) is not None:
        return mark.get("message", "")
    # A Rust test has no other way to say that this machine cannot run it.
    said = "\n".join(case.findtext(name) or "" for name in ("system-out", "system-err"))
    reason = re.search("^skipped: (.*)", said, re.MULTILINE)
    return reason and reason.group(1)


def reported(report: Path, status: int) -> Count:
    """The tests in a report. A command that failed without a failed test counts as one failure."""
    total = Count()
    for case in ET.parse(report).getroot().iter("testcase") if report.exists() else ():
        name = f"{case.get('classname')}::{case.get('name')}"
        failed = case.find("failure") is not None or case.find("error") is not None
        reason = None if failed else why_skipped(case)
        if reason is not None:
            SKIPPED.append(f"{name}: {reason}")
        total += Count(
            passed=0 if failed or reason is not None else 1,
            failed=1 if failed else 0,
            skipped=0 if reason is None else 1,
            seconds={name: float(case.get("time", 0))},
        )
    return total + Count(failed=1) if status and not total.failed else total


def profile(option: str) -> tuple[str, ...]:
    """The option of a command of Cargo for the profile of the tests."""
    return (option, SHARED) if COMPILER else ()


def rust_tests(*selection: str, **variables: str) -> Count:
    """Tests of the crates but doctests. Crates that do not compile count as one failure."""
    RUST_REPORT.unlink(missing_ok=True)
    command = ("cargo", "nextest", "run", *RUST, *profile("--cargo-profile"))
    status, _ = stream((*command, "--no-tests", "pass", *selection), COMPILER | variables)
    return reported(RUST_REPORT, status)


def nightly_rust() -> Count:
    """Rust tests of the night, both engines on more random cases, a longer soak of the daemon."""
    longer = "binary_id(bentpipe-network::engines) or test(a_soak_leaves_no_memory)"
    selection = ("--ignore-default-filter", "-E", f"{NIGHTLY} or {longer}")
    return rust_tests("--tests", *selection, PROPTEST_CASES="1000", PROXY_SOAK_S="60")


def rust_in_real_time() -> Count:
    """Rust tests with real kernels and processes, and again, alone, those that failed."""
    count = rust_tests("--tests", "--test-threads", WAITING["rust"], "-E", REAL_TIME)
    report = ET.parse(RUST_REPORT).getroot() if RUST_REPORT.exists() else ET.Element("none")
    for case in report.iter("testcase"):
        binary, name = case.get("classname"), case.get("name")
        if case.find("failure") is None:
            continue
        say(f"\n== again: {name} of {binary}")
        if rust_tests("--tests", "-E", f"binary_id(={binary}) and test(={name})").passed:
            SECOND_TRY.append(f"{binary}::{name}")
            count += Count(passed=1, failed=-1)
    return count


def clippy() -> Count:
    """The lints. If they find something on CI, the tests are compiled without them."""
    all_code = (*RUST, "--lib", "--bins", "--tests", "--examples")
    if not os.environ.get("CI"):
        return check("cargo", "clippy", *all_code, "--", "-D", "warnings")
    # All at once. Without the tests, libraries have fewer features of what they depend on, and are
    # compiled again.
    variables = LINTS | pyo3_of_engine()
    count = check("cargo", "build", "--profile", SHARED, *all_code, variables=variables)
    COMPILER.update(variables if count.passed else {})
    return count


def pyo3_of_engine() -> dict[str, str]:
    """What maturin has set for PyO3, which is compiled again wherever this is otherwise."""
    files = sorted((ROOT / "target" / "maturin").glob("pyo3-config-*.txt"))
    known = {"PYO3_CONFIG_FILE": str(files[0])} if files else {}
    return known | {"PYO3_BUILD_EXTENSION_MODULE": "1"}


def stubtest() -> Count:
    """Compare the stubs with the module. Its cache of mypy has other options than the project's."""
    folder = ROOT / ".cache"
    folder.mkdir(exist_ok=True)
    modules = {"MYPYPATH": str(ROOT / "python")}
    return check("stubtest", "bentpipe._native", variables=modules, folder=folder)


def doc() -> Count:
    """Pages of rustdoc, warnings denied, and the examples in them; see scripts/rustdoc.py."""
    variables = {"RUSTDOC": str(ROOT / "scripts" / "rustdoc.py")} | COMPILER
    command = ("cargo", "test", *RUST, *profile("--profile"), "--no-fail-fast", "--doc")
    status, lines = stream(command, variables)
    results = [match for line in lines if (match := CARGO_RESULT.search(line))]
    counts = (Count(int(match[1]), int(match[2]), int(match[3])) for match in results)
    total = sum(counts, Count())
    return total + (Count(failed=1) if status and not total.failed else Count(passed=1))


def python_tests(name: str, *options: str) -> Count:
    """Python tests. A session that dies counts as one failure. Sessions may run side by side."""
    report = ROOT / ".cache" / f"pytest-{name}.xml"
    report.unlink(missing_ok=True)
    own = (f"--junit-xml={report}", "-o", f"cache_dir=.cache/pytest-{name}")
    status, _ = stream((sys.executable, "-m", "pytest", *own, *options))
    return reported(report, status)


def python_together() -> Count:
    """Python tests side by side where that changes nothing."""
    # One more than there are cores: some tests wait for other processes.
    processes = str((os.cpu_count() or 1) + 1)
    return python_tests("together", "-m", TOGETHER, "-n", processes, "--dist", "loadscope")


def python_twice(mark: str, *options: str) -> Count:
    """Python tests with a mark, and again, one by one, those that failed."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    marked = [str(file) for file in files if re.search(MARKED[mark], file.read_text())]
    selection = ("-m", f"{mark} and not nightly", *marked)
    count = python_tests(mark, *selection, *options)
    if count.failed:
        say("\n== again")
        again = python_tests(mark, *selection, "--last-failed", "--last-failed-no-failures=none")
        if not again.failed:
            SECOND_TRY.extend(again.seconds)
        count += Count(passed=again.passed, failed=-again.passed)
    return count


def peers() -> Count:
    """Simulators to compare with. Without them the tests that need one are skipped."""
    stream(("scripts/peers.sh",))
    return Count()


def engine() -> Count:
    """The extension module as users have it, and the program whose instructions are counted.

    Python tests run three times as long on an engine with the profile of the crates' tests, which
    has assertions.
    """
    count = check(*ENGINE)
    # On CI the tests of the crates are compiled in the same folder, for which Cargo has one lock.
    status, _ = stream((sys.executable, "benches/engine.py"))
    return count if status == 0 else Count(failed=1)


def instructions() -> Count:
    """The guard against slow commits."""
    if shutil.which("valgrind") is None:
        SKIPPED.append("instructions: valgrind, which counts them, is not installed")
        return Count(skipped=1)
    return check(sys.executable, "benches/instructions.py")


QUICK: dict[str, Callable[[], Count]] = {
    "fmt": lambda: check("cargo", "fmt", "--all", "--check"),
    "ruff": lambda: check("ruff", "check", "."),
    "ruff-format": lambda: check("ruff", "format", "--check", "."),
    "mypy": lambda: check("mypy"),
    "words": lambda: check(sys.executable, "scripts/words.py"),
    "deny": lambda: check(sys.executable, "scripts/deny.py"),
    "clippy": clippy,
    # Without the tests of `REAL_TIME`, which other programs would delay.
    "unit-tests": lambda: rust_tests("--lib", *WITHOUT_TESTS, "-E", f"not ({REAL_TIME})"),
}
"""The steps of `make check`."""

COMPILED = ("clippy", "unit-tests")
"""Steps of `make check` that compile."""

SHORT = {name: step for name, step in QUICK.items() if name not in COMPILED}
"""Steps of `make test` that compile nothing."""

ENGINE_FIRST: dict[str, Callable[[], Count]] = {"engine": engine}
"""The step at their side."""

CRATES: dict[str, Callable[[], Count]] = {"clippy": clippy}
"""The step that compiles the tests of the crates."""

BESIDE_CRATES: dict[str, Callable[[], Count]] = {
    "instructions": instructions,
    "stubtest": stubtest,
    "generated": lambda: check(sys.executable, "scripts/generated.py", "--check"),
}
"""Steps at its side."""

TESTS: dict[str, Callable[[], Count]] = {
    "rust-tests": lambda: rust_tests("--tests", "-E", f"not ({REAL_TIME})")
}
"""The step with most tests of the crates."""

BESIDE_TESTS: dict[str, Callable[[], Count]] = {"doc": doc}
"""The step at its side. It needs what `clippy` has compiled."""

WITH_ENGINE: dict[str, Callable[[], Count]] = {"python-tests": python_together}
"""Steps of `make test` that need the engine."""

IN_THE_KERNEL: dict[str, Callable[[], Count]] = {"kernel-tests": lambda: python_twice("kernel")}
"""Steps at their side. They wait nine tenths of the time, and measure no time."""

IN_REAL_TIME: dict[str, Callable[[], Count]] = {"real-time": rust_in_real_time}
"""Steps of `make test` that wait most of the time, and measure it."""

ALSO_IN_REAL_TIME: dict[str, Callable[[], Count]] = {
    "real-time-python": lambda: python_twice(
        "real_time", "-n", WAITING["python"], "--dist", "loadscope"
    ),
}
"""Steps at their side."""

ALONE: dict[str, Callable[[], Count]] = {"alone": lambda: python_twice("alone")}
"""Steps of `make test` that need the machine for themselves."""

AT_NIGHT: dict[str, Callable[[], Count]] = {
    "peers": peers,
    "nightly-rust": nightly_rust,
    "nightly-python": lambda: python_tests("nightly", "-m", "nightly"),
    "additions": lambda: check(sys.executable, "scripts/additions.py"),
}
"""The steps of `make nightly`."""

ROWS: tuple[tuple[dict[str, Callable[[], Count]], ...], ...] = (
    (SHORT, ENGINE_FIRST),
    (CRATES, BESIDE_CRATES),
    (TESTS, BESIDE_TESTS),
    (WITH_ENGINE, IN_THE_KERNEL),
    (IN_REAL_TIME, ALSO_IN_REAL_TIME),
    (ALONE, {}),
)
"""The steps of `make test`: those of two rows side by side, pair after pair."""

ALL = QUICK | AT_NIGHT | {name: step for pair in ROWS for row in pair for name, step in row.items()}

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
pages, stored results of ns-2 and ns-3 against runs of today, the daemon under load for a minute,
commands that are killed, and the smallest addition of each kind (`tests/additions`).
"""


def write_result(summary: list[str], total: Count) -> None:
    """Date, commit and result of `make nightly`."""
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True, cwd=ROOT)
    rows = "\n".join("| " + " | ".join(line.split(maxsplit=1)) + " |" for line in summary)
    date = dt.date.today().isoformat()
    RESULT.write_text(PAGE.format(date=date, commit=commit.strip(), total=total, rows=rows))


class Summary:
    """The results of steps, in the order in which they end."""

    def __init__(self) -> None:
        self.total = Count()
        self.lines: list[str] = []

    def run(self, *names: str) -> None:
        """Run steps one after the other."""
        for name in names:
            say(f"\n== {name}")
            began = time.monotonic()
            count = ALL[name]()
            self.total += count
            self.lines.append(f"{name:<17}{count}  ({time.monotonic() - began:.0f} s)")


class InParallel(threading.Thread):
    """Steps that run at the side of others; what they print is kept until `join`."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = names
        self.summary = Summary()
        self.output = io.StringIO()

    def run(self) -> None:
        """Run the steps."""
        HERE.output = self.output
        self.summary.run(*self.names)

    def join_into(self, summary: Summary) -> None:
        """Wait for the end, print what was kept, and add the results."""
        self.join()
        print(self.output.getvalue(), end="")
        summary.total += self.summary.total
        summary.lines += self.summary.lines


def main() -> int:
    """Run the steps, print the sum."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("steps", metavar="STEP", nargs="*", help=", ".join(ALL))
    parser.add_argument("--check", action="store_true", help="the quick steps")
    parser.add_argument("--nightly", action="store_true", help="the steps of `make nightly`")
    arguments = parser.parse_args()
    if unknown := set(arguments.steps) - ALL.keys():
        parser.error(f"no such step: {', '.join(sorted(unknown))}")
    summary = Summary()
    if arguments.steps:
        summary.run(*arguments.steps)
    elif arguments.check or arguments.nightly:
        summary.run(*(QUICK if arguments.check else AT_NIGHT))
    else:
        for steps, others in ROWS:
            parallel = InParallel(*others)
            parallel.start()
            summary.run(*steps)
            parallel.join_into(summary)
    total = summary.total
    slowest = sorted(total.seconds.items(), key=lambda test: -test[1])[:SLOWEST]
    if slowest:
        print(f"\n== the {len(slowest)} slowest tests")
        print(*(f"{seconds:7.1f} s  {test}" for test, seconds in slowest), sep="\n")
    if SECOND_TRY:
        print("\n== passed on a second try, alone", *SECOND_TRY, sep="\n")
    if SKIPPED:
        print("\n== skipped, and why", *SKIPPED, sep="\n")
    print("\n== summary", *summary.lines, "", total, sep="\n")
    if arguments.nightly:
        write_result(summary.lines, total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
