"""The crates for registries: names, versions, and packages that compile alone."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOR_USERS = {"bentpipe", "bentpipe-congestion", "bentpipe-link", "bentpipe-quinn-controllers"}
"""The crates of docs/packages.md. What they need is published too, and nothing else."""


def cargo(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run cargo in the workspace."""
    command = ["cargo", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@cache
def packages() -> dict[str, dict[str, Any]]:
    """The crates of the workspace by the names of their packages, as cargo reads them."""
    done = cargo("metadata", "--no-deps", "--format-version", "1", "--locked", "--offline")
    assert done.returncode == 0, done.stderr
    return {package["name"]: package for package in json.loads(done.stdout)["packages"]}


def published() -> set[str]:
    """Packages that a registry may get: those without `publish = false`."""
    return {name for name, package in packages().items() if package["publish"] is None}


def needed(name: str) -> set[str]:
    """Crates of the workspace that a package is compiled with."""
    return {
        dependency["name"]
        for dependency in packages()[name]["dependencies"]
        if dependency["name"] in packages() and dependency["kind"] != "dev"
    }


def test_what_is_published_is_what_users_of_rust_need() -> None:
    everything, left = set(), set(FOR_USERS)
    while left:
        everything |= left
        left = set().union(*map(needed, left)) - everything
    assert published() == everything


@pytest.mark.parametrize("name", sorted(published()))
def test_a_published_crate_has_a_prefix_a_description_and_the_name_of_its_folder(name: str) -> None:
    package = packages()[name]
    folder = Path(package["manifest_path"]).parent.name
    (library,) = (target for target in package["targets"] if "lib" in target["kind"])
    assert library["name"] == folder.replace("-", "_")
    assert name == (folder if folder == "bentpipe" else f"bentpipe-{folder}")
    assert package["description"]
    assert package["license"]
    assert package["repository"]
    if name in FOR_USERS:
        assert package["readme"] == "README.md"


def test_all_crates_refer_to_each_other_by_the_version_of_the_workspace() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    own = workspace["package"]["version"]
    versions = {
        entry["package"]: entry["version"]
        for entry in workspace["dependencies"].values()
        if isinstance(entry, dict) and entry.get("package") in published()
    }
    assert versions == dict.fromkeys(published() - {"bentpipe"}, own)


OPEN_TO_ALL = {"units", "sketch"}
"""Crates that docs/architecture.md does not list as dependencies."""


def test_the_architecture_has_the_dependencies_of_every_crate() -> None:
    """The column "may use" of its table. Text in parentheses is a comment."""
    folders = {name: Path(found["manifest_path"]).parent.name for name, found in packages().items()}
    table = (ROOT / "docs" / "architecture.md").read_text()
    rows = dict(re.findall(r"^\| `crates/([\w-]+)` \|.* \| ([^|]+) \|$", table, re.MULTILINE))
    assert rows.keys() == set(folders.values())
    for name, folder in folders.items():
        without_comments = re.sub(r"\([^)]*\)", "", rows[folder].partition("; its tests")[0])
        words = re.findall(r"[\w-]+", without_comments)
        may_use = set(words) & set(folders.values()) - OPEN_TO_ALL
        uses = {folders[needs] for needs in needed(name)} - OPEN_TO_ALL
        assert may_use == uses, folder


def test_packages_can_be_made_of_what_is_published(tmp_path: Path) -> None:
    chosen = [argument for name in sorted(published()) for argument in ("--package", name)]
    options = ("--no-verify", "--allow-dirty", "--locked", "--offline", "--target-dir", tmp_path)
    done = cargo("package", *options, *chosen)
    assert done.returncode == 0, done.stderr
    made = {path.name.rpartition("-")[0] for path in (tmp_path / "package").glob("*.crate")}
    assert made == published()


@pytest.mark.alone
@pytest.mark.nightly
def test_a_registry_would_take_all_packages_as_they_compile_from_their_files(
    tmp_path: Path,
) -> None:
    # Cargo takes a version for unchanged: in an old folder there would be packages of older runs.
    options = ("--dry-run", "--workspace", "--allow-dirty", "--locked", "--target-dir", tmp_path)
    done = cargo("publish", *options)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("aborting upload due to dry run") == len(published())


def test_every_package_with_its_own_profile_exists() -> None:
    """Cargo only warns about other names, and then optimises what costs time and gains nothing."""
    with (ROOT / "Cargo.toml").open("rb") as file:
        profiles = tomllib.load(file)["profile"].values()
    with (ROOT / "Cargo.lock").open("rb") as file:
        exist = {package["name"] for package in tomllib.load(file)["package"]}
    named = {name for profile in profiles for name in profile.get("package", {})}
    assert named - {"*"} <= exist
