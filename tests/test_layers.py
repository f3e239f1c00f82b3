"""The Python packages import each other in one direction, also inside functions."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bentpipe

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(bentpipe.__file__).parent


def imported(node: ast.AST) -> Iterator[str]:
    """The modules that a node imports, but for those of annotations only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.ImportFrom) and child.module == "bentpipe":
            yield from (f"bentpipe.{name.name}" for name in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            yield child.module
        elif isinstance(child, ast.Import):
            yield from (name.name for name in child.names)
        yield from imported(child)


def layers(folder: Path) -> dict[str, set[str]]:
    """The packages and modules of `bentpipe` that each of them imports."""
    found: dict[str, set[str]] = {}
    for file in sorted(folder.rglob("*.py")):
        own = file.relative_to(folder).parts[0].removesuffix(".py")
        names = [name.split(".") for name in imported(ast.parse(file.read_text()))]
        others = {name[1] for name in names if name[0] == "bentpipe" and name[1:]}
        found.setdefault(own, set()).update(others - {own})
    # The names that `import bentpipe` has lead to all of them.
    del found["__init__"]
    return found


def test_packages_do_not_import_each_other_in_a_circle() -> None:
    found = layers(PACKAGE)
    assert {"study", "console"} <= found["compare"]
    assert [*graphlib.TopologicalSorter(found).static_order()]


def test_a_circle_is_found_also_inside_a_function(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("import bentpipe.low\n")
    (tmp_path / "low.py").write_text("def late():\n    from bentpipe.high import thing\n")
    (tmp_path / "high").mkdir()
    (tmp_path / "high" / "part.py").write_text("from bentpipe import low\n")
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(layers(tmp_path)).prepare()
    (tmp_path / "low.py").write_text("if TYPE_CHECKING:\n    from bentpipe.high import thing\n")
    graphlib.TopologicalSorter(layers(tmp_path)).prepare()
