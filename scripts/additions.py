"""Counts the files that an addition touches, and tests the additions: `scripts/additions.py`.

`tests/additions` has the smallest addition of each kind as a patch: a column of flows, a
controller, a kind of traffic, a mechanism of links, a transport. All of them are applied to a copy
of the tree, and the tests of the crates run. `make nightly` does
this; `tests/test_additions.py` only checks that the patches apply and how many files they touch.

    additions.py              apply all, and run the tests of the crates
    additions.py --forget     leave out one file after the other, and say what notices it
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from real_time import REAL_TIME

ROOT = Path(__file__).resolve().parent.parent
PATCHES = ROOT / "tests" / "additions"
PLACE = ROOT / "target" / "additions"
"""The copy of the tree, and what is compiled in it."""

MOST = {"column": 3, "controller": 3, "traffic": 8, "mechanism": 12, "transport": 15}
"""Most files that an addition of each kind touches, its tests and its page included."""

GENERATED = {"Cargo.lock"}
"""Files that a command writes."""

PAGE = "/the_reference_is_made_from_the_schema|every_key_of_a_scenario|a_key_without_a_row/"
"""The tests of docs/scenario.md, which `make generated` writes again."""

TARGET = re.compile(r"^\+\+\+ b/(.+)$", re.MULTILINE)
FAILED = re.compile(r"^\s+(?:FAIL|SIGABRT) .*?\] (?:\(.*?\) )?(.+)$", re.MULTILINE)


def patches() -> list[Path]:
    """The additions, in the order of their names."""
    return sorted(PATCHES.glob("*.patch"))


def files(patch: Path) -> list[str]:
    """Files that a patch touches and that nothing generates."""
    return [name for name in TARGET.findall(patch.read_text()) if name not in GENERATED]


def apply(patch: Path, folder: Path, *options: str) -> bool:
    """Apply a patch in a folder. One line of context is enough: additions may be neighbours."""
    command = ["git", "apply", "-C1", *options, str(patch)]
    # The copy is no part of the repository around it.
    outside = os.environ | {"GIT_CEILING_DIRECTORIES": str(PLACE)}
    return subprocess.run(command, cwd=folder, env=outside, check=False).returncode == 0


def copy() -> Path:
    """A copy of the files of the tree."""
    tree = PLACE / "tree"
    tracked = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    kept = {name for name in tracked.split("\0") if name and (ROOT / name).is_file()}
    for old in [path for path in tree.rglob("*") if path.is_file()]:
        if str(old.relative_to(tree)) not in kept:
            old.unlink()
            # An empty folder of a crate is a member of the workspace without a manifest.
            for folder in old.parents:
                if folder == tree or any(folder.iterdir()):
                    break
                folder.rmdir()
    for name in kept:
        place = tree / name
        content = (ROOT / name).read_bytes()
        # A file that stays the same keeps its time, so that Cargo does not compile it again.
        if not place.exists() or place.read_bytes() != content:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place)
            place.touch()
    return tree


def cargo(tree: Path, *arguments: str, capture: bool = False) -> subprocess.CompletedProcess[str]:
    """Run Cargo in the copy. Snapshots of lists are written again."""
    variables = {"CARGO_TARGET_DIR": str(PLACE / "target"), "INSTA_UPDATE": "always"}
    return subprocess.run(
        ["cargo", *arguments],
        cwd=tree,
        env=os.environ | variables | {"INSTA_FORCE_PASS": "1", "PROPTEST_RNG_SEED": "1"},
        check=False,
        text=True,
        stdout=subprocess.PIPE if capture else None,
        stderr=subprocess.STDOUT if capture else None,
    )


def results(tree: Path, *, capture: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the tests of the crates that run no kernel and check no page."""
    others = f"not ({REAL_TIME}) and not test({PAGE})"
    command = ("nextest", "run", "--workspace", "--no-fail-fast", "--tests", "-E", others)
    return cargo(tree, *command, capture=capture)


def everything() -> int:
    """Apply all additions, and run the tests."""
    tree = copy()
    for patch in patches():
        if not apply(patch, tree):
            print(f"{patch.name} does not apply")
            return 1
        print(f"{patch.stem:<12}{len(files(patch)):>3} files, at most {MOST[patch.stem]}")
    return results(tree).returncode


def forget() -> int:
    """Leave out each file that an addition changes, and print what notices it."""
    unnoticed = 0
    for patch in patches():
        for name in files(patch):
            if not (ROOT / name).exists():
                continue
            tree = copy()
            apply(patch, tree, f"--exclude={name}")
            if cargo(tree, "check", "-q", "--workspace", "--tests", capture=True).returncode:
                notice = "the compiler"
            else:
                failed = FAILED.findall(results(tree, capture=True).stdout)
                notice = f"the test {failed[0]}" if failed else "nothing"
                unnoticed += not failed
            print(f"{patch.stem:<12}{name:<50}{notice}", flush=True)
    return min(unnoticed, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--forget", action="store_true", help="leave out one file after the other")
    sys.exit(forget() if parser.parse_args().forget else everything())
