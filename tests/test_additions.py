"""The smallest addition of each kind: its patch applies, and touches few files."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("additions", ROOT / "scripts" / "additions.py")
assert SPEC
assert SPEC.loader
additions = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(additions)


def test_there_is_one_of_each_kind() -> None:
    assert {patch.stem for patch in additions.patches()} == additions.MOST.keys()


@pytest.mark.parametrize("patch", additions.patches(), ids=lambda patch: patch.stem)
def test_it_applies_and_touches_few_files(patch: Path) -> None:
    assert additions.apply(patch, ROOT, "--check"), "mend the patch: the code near it has changed"
    touched = additions.files(patch)
    assert len(touched) <= additions.MOST[patch.stem], touched
