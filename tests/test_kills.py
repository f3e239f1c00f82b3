"""A few rounds of tests/kills.py with a fixed seed. `make kills` runs it for an hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kills import KINDS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "rounds"),
    [
        ("run", 3),
        ("study", 1),
        pytest.param("study", 3, marks=pytest.mark.nightly),
        pytest.param("papers", 1, marks=pytest.mark.nightly),
        pytest.param("report", 1, marks=pytest.mark.nightly),
    ],
)
def test_what_was_killed_is_whole_and_goes_on(tmp_path: Path, name: str, rounds: int) -> None:
    kind = KINDS[name](tmp_path)
    for seed in range(rounds):
        kind.round(seed)


def test_the_kernel_backend_leaves_nothing(tmp_path: Path, for_kernel: Path, kernel: None) -> None:
    kind = KINDS["kernel"](tmp_path)
    for seed in range(2):
        kind.round(seed)
