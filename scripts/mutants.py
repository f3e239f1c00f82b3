"""Mutation tests of the crates that decide results, as a command: `make mutants`.

    mutants.py                            150 mutants of each of the four crates
    mutants.py tcp --count 20 --seed 7    another choice
    mutants.py --write docs/mutants.md    put the results into the page

cargo-mutants lists changes of one expression each, and the tests of the crate itself must notice
each of them. The script makes the changes by itself, in a copy of the tree that keeps what it has
compiled. The mutants are drawn by a seed. The draw ranks each mutant by a hash of its own line, so
two people get the same ones from the same commit, and an edit elsewhere changes few of them.
Mutants that change nothing anybody can see are listed in `benches/equivalent-mutants.toml`, each
with its reason. They are drawn but not counted, and an entry that fits no mutant is an error. The
share that was caught is printed with its 95 % interval (Wilson), and the survivors by name.

Takes hours. Outcomes are kept in `.cache/mutants`. A mutant that was caught is not tried again as
long as its file is the same (tests aside); one that survived is tried again after any change.
`--afresh` tries all. Tests that take more than 20 seconds of processor time are ended, and count as
caught: mutants of that kind run for ever.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "mutants"
TREE = CACHE / "tree"
PROGRAM = CACHE / "bin" / "cargo-mutants"
EQUIVALENT = ROOT / "benches" / "equivalent-mutants.toml"
VERSION = "27.1.0"
CRATES = ("congestion", "tcp", "link", "middlebox")
CPU_SECONDS = 20
"""What a program of tests may take. The longest of these crates takes three."""
BYTES = 2**31
"""What it may have: mutants that add to a list for ever are ended early."""
TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod tests.*", re.MULTILINE | re.DOTALL)
CAUGHT, MISSED, UNVIABLE = "caught", "missed", "does not compile"
START, END = "<!-- made by scripts/mutants.py -->", "<!-- end -->"


@dataclass(frozen=True)
class Mutant:
    """One change of one expression."""

    name: str
    """As cargo-mutants has it, with line and column."""
    path: str
    change: str
    """What is changed, without its place."""
    line: str
    """The line of the source."""
    number: int
    """From 1, among the same changes of the same line."""
    span: tuple[tuple[int, int], tuple[int, int]]
    """From line and column, up to line and column; all count from 1."""
    replacement: str
    """The source instead of that."""

    @property
    def key(self) -> str:
        """Outlives edits elsewhere in the file."""
        return f"{self.path}: {self.change} in `{self.line}` ({self.number})"

    def applied(self, source: str) -> str:
        """The source with the mutant."""
        lines = source.splitlines(keepends=True)
        start, end = (sum(map(len, lines[: line - 1])) + column - 1 for line, column in self.span)
        return source[:start] + self.replacement + source[end:]

    def __str__(self) -> str:
        return f"{self.name} in `{self.line}`"


def install() -> None:
    """Compile cargo-mutants once."""
    if not PROGRAM.exists():
        print(f"mutants: compiling cargo-mutants {VERSION} (minutes, once)", flush=True)
        command = ("cargo", "install", "--quiet", "--locked", "--root", str(CACHE))
        subprocess.run([*command, f"cargo-mutants@{VERSION}"], check=True)


def host() -> str:
    """The target that the compiler compiles for."""
    told = subprocess.check_output(["rustc", "-vV"], cwd=ROOT, text=True)
    return next(line.removeprefix("host: ") for line in told.splitlines() if "host: " in line)


def copy_tree() -> None:
    """Bring the copy up to date in which mutants are tried; it keeps what it has compiled."""
    listed = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True
    )
    wanted = {Path(line) for line in listed.splitlines() if (ROOT / line).is_file()}
    for folder, folders, files in os.walk(TREE):
        folders[:] = [name for name in folders if name != "target"]
        for name in files:
            if (path := Path(folder, name)).relative_to(TREE) not in wanted:
                path.unlink()
    for path in wanted:
        content = (ROOT / path).read_bytes()
        if path == Path("crates/congestion/src/controllers/mod.rs"):
            content += declared(ROOT / path.parent)
        if not (TREE / path).exists() or (TREE / path).read_bytes() != content:
            (TREE / path).parent.mkdir(parents=True, exist_ok=True)
            (TREE / path).write_bytes(content)


def declared(folder: Path) -> bytes:
    """Modules that a macro declares, as cargo-mutants sees them and the compiler does not."""
    modules = sorted(
        path.stem
        for path in folder.iterdir()
        if (path.is_dir() and (path / "mod.rs").exists()) or path.suffix == ".rs"
    )
    lines = [f"#[cfg(any())]\nmod {name};\n" for name in modules if name != "mod"]
    return "".join(lines).encode()


def mutants_of(crate: str) -> list[Mutant]:
    """All mutants of a crate, in the order of its sources."""
    printed = subprocess.check_output(
        [PROGRAM, "mutants", "--list", "--json", "--package", f"bentpipe-{crate}"],
        cwd=TREE,
        text=True,
    )
    sources: dict[str, list[str]] = {}
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for entry in json.loads(printed):
        path = entry["file"]
        if path not in sources:
            sources[path] = (TREE / path).read_text().splitlines()
        line = sources[path][entry["span"]["start"]["line"] - 1].strip()
        change = re.sub(r"^\S+:\d+:\d+: ", "", entry["name"])
        seen[path, change, line] += 1
        ends = (entry["span"][end] for end in ("start", "end"))
        start, end = ((end["line"], end["column"]) for end in ends)
        number, replacement = seen[path, change, line], entry["replacement"]
        found.append(Mutant(entry["name"], path, change, line, number, (start, end), replacement))
    return found


def drawn(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """`count` of the mutants by chance."""
    rank = {mutant: hashlib.sha256(f"{seed} {mutant.key}".encode()).digest() for mutant in mutants}
    chosen = set(sorted(mutants, key=rank.__getitem__)[:count])
    return [mutant for mutant in mutants if mutant in chosen]


def digest(*texts: bytes) -> str:
    """A short hash."""
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]


class Outcomes:
    """Outcomes of mutants of a crate, kept for the next time."""

    def __init__(self, crate: str, afresh: bool) -> None:
        self.crate = crate
        self.file = CACHE / f"{crate}.json"
        files = sorted(path for path in TREE.glob("crates/*/**/*") if path.is_file())
        self.suite = digest(VERSION.encode(), *(path.read_bytes() for path in files))
        self.kept: dict[str, dict[str, str]] = {}
        if self.file.exists() and not afresh:
            self.kept = json.loads(self.file.read_text())

    def known(self, mutant: Mutant) -> str | None:
        """The outcome of before, if it still holds."""
        kept = self.kept.get(mutant.key)
        if kept is None or kept["source"] != self.source(mutant):
            return None
        return kept["outcome"] if kept["outcome"] != MISSED or kept["suite"] == self.suite else None

    @staticmethod
    def source(mutant: Mutant) -> str:
        """Hash of the file of a mutant without its tests."""
        return digest(TESTS.sub("", (TREE / mutant.path).read_text()).encode())

    def run(self, mutants: list[Mutant]) -> None:
        """Try mutants, each in the copy of the tree, and keep what comes of each."""
        if not self.passes("--tests"):
            sys.exit(f"mutants: the tests of {self.crate} fail without a mutant")
        for number, mutant in enumerate(mutants, 1):
            path = TREE / mutant.path
            source, whole = self.source(mutant), path.read_text()
            path.write_text(mutant.applied(whole))
            try:
                outcome = self.outcome()
            finally:
                path.write_text(whole)
            self.kept[mutant.key] = {"outcome": outcome, "source": source, "suite": self.suite}
            self.file.write_text(json.dumps(self.kept, indent=1, sort_keys=True))
            count = f"{self.crate} {number} of {len(mutants)}"
            print(f"mutants: {count}: {outcome}: {mutant}", file=sys.stderr, flush=True)

    def outcome(self) -> str:
        """What comes of the mutant in the copy. The unit tests, which catch most, go first."""
        if not self.passes("--lib", "--no-run"):
            return UNVIABLE
        return MISSED if self.passes("--lib") and self.passes("--tests") else CAUGHT

    def passes(self, *selection: str) -> bool:
        """Whether tests of the crate pass."""
        # Processor time, and not the clock: the machine may have other work.
        runner = f"CARGO_TARGET_{host().upper().replace('-', '_')}_RUNNER"
        environment = os.environ | {
            runner: f"prlimit --cpu={CPU_SECONDS} --as={BYTES}",
            "RUSTFLAGS": "--cap-lints=allow",
        }
        done = subprocess.run(
            [
                "cargo",
                "test",
                "--quiet",
                "--locked",
                "--package",
                f"bentpipe-{self.crate}",
                *selection,
            ],
            cwd=TREE,
            env=environment,
            check=False,
            capture_output=True,
        )
        return done.returncode == 0


def equivalents(mutants: list[Mutant]) -> dict[str, str]:
    """Reason for each mutant that nobody can see, by key. An entry that fits none is an error."""
    entries: list[dict[str, Any]] = []
    if EQUIVALENT.exists():
        entries = tomllib.loads(EQUIVALENT.read_text())["equivalent"]
    paths = {mutant.path for mutant in mutants}
    found = {}
    for entry in entries:
        if not entry["reason"]:
            sys.exit(f"{EQUIVALENT.name}: no reason for {entry['change']}")
        if entry["path"].split("/")[1] != mutants[0].path.split("/")[1]:
            continue
        fitting = [
            mutant.key
            for mutant in mutants
            if (mutant.path, mutant.change, mutant.line)
            == (entry["path"], entry["change"], entry["line"])
            and entry.get("number", 1) == mutant.number
        ]
        if not fitting:
            where = "" if entry["path"] in paths else ", and no mutant of that file"
            sys.exit(f"{EQUIVALENT.name}: no mutant `{entry['change']}`{where}; remove the entry")
        found[fitting[0]] = entry["reason"]
    return found


def wilson(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a share, after Wilson 1927."""
    if not total:
        return 0.0, 1.0
    share = hits / total
    middle = share + z * z / (2 * total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return (middle - half) / (1 + z * z / total), (middle + half) / (1 + z * z / total)


@dataclass
class Result:
    """What came of the mutants of a crate."""

    crate: str
    everything: int
    outcomes: dict[Mutant, str]
    reasons: dict[str, str]

    @property
    def counted(self) -> dict[Mutant, str]:
        """Those that compile and that somebody could see. A caught one is not equivalent."""
        return {
            mutant: outcome
            for mutant, outcome in self.outcomes.items()
            if outcome == CAUGHT or (outcome == MISSED and mutant.key not in self.reasons)
        }

    def row(self) -> str:
        """The row of the table."""
        counted = self.counted.values()
        caught = sum(outcome == CAUGHT for outcome in counted)
        low, high = (100 * end for end in wilson(caught, len(counted)))
        share = 100 * caught / len(counted) if counted else 0.0
        unviable = sum(outcome == UNVIABLE for outcome in self.outcomes.values())
        equivalent = len(self.outcomes) - unviable - len(counted)
        return (
            f"| {self.crate} | {self.everything} | {len(self.outcomes)} | {unviable} "
            f"| {equivalent} | {caught} of {len(counted)} | {share:.1f} % "
            f"| {low:.1f} to {high:.1f} % |"
        )

    def survivors(self) -> list[Mutant]:
        """Those that no test has caught."""
        return [mutant for mutant, outcome in self.counted.items() if outcome == MISSED]


def page(results: list[Result], seed: int) -> str:
    """The results in Markdown."""
    lines = [
        "| crate | mutants | drawn | not compiling | equivalent | caught | share | 95 % interval |",
        "|---|---|---|---|---|---|---|---|",
        *(result.row() for result in results),
        "",
        f"Seed of the draw: {seed}.",
    ]
    if untried := set(CRATES) - {result.crate for result in results}:
        lines[-1] += f" Not tried: {', '.join(sorted(untried))}."
    survivors = [mutant for result in results for mutant in result.survivors()]
    if survivors:
        lines += ["", "Survivors:", ""]
        lines += [f"- `{re.sub(r':[0-9]+:[0-9]+: ', ': ', mutant.name)}` in `{mutant.line}`"
                  for mutant in survivors]  # fmt: skip
    return "\n".join(lines)


def write(path: Path, text: str) -> None:
    """Put the results between the marks of a page."""
    before, _, rest = path.read_text().partition(START)
    _, mark, after = rest.partition(END)
    if not mark:
        sys.exit(f"{path}: no place for the results")
    path.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}")


def main() -> None:
    """Draw, run, report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("crates", nargs="*", metavar="CRATE", help=f"of {', '.join(CRATES)}")
    parser.add_argument("--count", type=int, default=150, help="mutants per crate [150]")
    parser.add_argument("--seed", type=int, default=1, help="of the draw [1]")
    parser.add_argument("--afresh", action="store_true", help="try what was caught before, too")
    parser.add_argument("--only", metavar="REGEX", help="all mutants whose name has it, undrawn")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="put the results into a page")
    options = parser.parse_args()
    if unknown := [name for name in options.crates if name not in CRATES]:
        parser.error(f"no crate {unknown[0]}: expected {', '.join(CRATES)}")
    CACHE.mkdir(parents=True, exist_ok=True)
    install()
    results = []
    for crate in options.crates or CRATES:
        copy_tree()
        everything = mutants_of(crate)
        if options.only:
            chosen = [mutant for mutant in everything if re.search(options.only, mutant.name)]
        else:
            chosen = drawn(everything, options.count, options.seed)
        reasons = equivalents(everything)
        outcomes = Outcomes(crate, options.afresh)
        if untried := [mutant for mutant in chosen if outcomes.known(mutant) is None]:
            outcomes.run(untried)
        known = {mutant: outcomes.kept[mutant.key]["outcome"] for mutant in chosen}
        results.append(Result(crate, len(everything), known, reasons))
        print(page(results[-1:], options.seed), flush=True)
    if options.write:
        write(options.write, page(results, options.seed))


if __name__ == "__main__":
    main()
