"""Checks licences, versions and sources of all crates by deny.toml, and that no lock is stale.

cargo-deny does the same and more, but takes minutes to compile and is in no registry as a program
that reads today's `cargo metadata`. This does the part that deny.toml uses; a key of that file
that it does not know is an error.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KNOWN = {
    "graph": {"targets"},
    "licenses": {"allow"},
    "bans": {"multiple-versions", "wildcards", "allow-wildcard-paths", "deny", "skip"},
    "sources": {"unknown-registry", "unknown-git", "allow-registry"},
}

FUZZ = ROOT / "fuzz"
"""A workspace with a lock of its own, which no other check compiles."""

Package = dict[str, Any]


def allowed(expression: str, licences: set[str]) -> bool:
    """True if `licences` satisfy the SPDX expression. `AND` binds closer than `OR`."""
    words = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))

    def alternatives() -> bool:
        value = terms()
        while words and words[0] == "OR":
            words.pop(0)
            value = terms() or value
        return value

    def terms() -> bool:
        value = term()
        while words and words[0] == "AND":
            words.pop(0)
            value = term() and value
        return value

    def term() -> bool:
        name = words.pop(0)
        if name == "(":
            value = alternatives()
            words.pop(0)
            return value
        if words and words[0] == "WITH":
            name = f"{name} {words.pop(0)} {words.pop(0)}"
        return name in licences

    return alternatives()


def licences(rules: dict[str, Any], packages: list[Package]) -> list[str]:
    """Crates whose licence is not allowed."""
    known = set(rules["allow"])
    return [
        f"{package['name']}: the licence {package['license']} is not allowed"
        for package in packages
        if not (package["license"] and allowed(package["license"], known))
    ]


def bans(rules: dict[str, Any], packages: list[Package]) -> list[str]:
    """Crates that are banned, come in several versions, or are asked for in any version."""
    versions = defaultdict(set)
    for package in packages:
        versions[package["name"]].add(package["version"])
    banned = {rule["crate"]: rule["reason"] for rule in rules["deny"]}
    found = [f"{name}: banned, {banned[name]}" for name in versions if name in banned]
    skipped = {rule["crate"] for rule in rules["skip"]}
    several = {name for name, which in versions.items() if len(which) > 1}
    if rules["multiple-versions"] == "deny":
        found += [
            f"{name}: in versions {', '.join(sorted(versions[name]))}"
            for name in sorted(several - skipped)
        ]
        found += [f"{name}: is in one version; not to be skipped" for name in skipped - several]
    if rules["wildcards"] == "deny":
        found += [
            f"{package['name']}: asks for any version of {dependency['name']}"
            for package in packages
            if package["source"] is None
            for dependency in package["dependencies"]
            if dependency["req"] == "*" and not dependency.get("path")
        ]
    return found


def sources(rules: dict[str, Any], packages: list[Package]) -> list[str]:
    """Crates from elsewhere than the allowed registries."""
    registries = {f"registry+{registry}" for registry in rules["allow-registry"]}
    return [
        f"{package['name']}: comes from {package['source']}"
        for package in packages
        if package["source"] is not None and package["source"] not in registries
    ]


def stale(folder: Path) -> list[str]:
    """What keeps the lock of a workspace from being that of its manifests."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    return [f"{folder.name}/Cargo.lock: {error}" for error in errors]


def main() -> int:
    """Exit status 1 when something is not as deny.toml demands."""
    rules = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    unknown = [
        f"deny.toml: {section}.{key} is not known here"
        for section, keys in rules.items()
        for key in keys.keys() - KNOWN.get(section, set())
    ]
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    for target in rules["graph"]["targets"]:
        command += ["--filter-platform", target]
    printed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    metadata = json.loads(printed)
    used = {node["id"] for node in metadata["resolve"]["nodes"]}
    packages = [package for package in metadata["packages"] if package["id"] in used]
    problems = unknown or [
        *licences(rules["licenses"], packages),
        *bans(rules["bans"], packages),
        *sources(rules["sources"], packages),
        *stale(FUZZ),
    ]
    print(*problems, sep="\n", end="\n" if problems else "")
    if not problems:
        print(f"{len(packages)} crates are as deny.toml demands")
    return 1 if problems else 0


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    sys.exit(main())
