"""Text files are UTF-8 on every system, also where another encoding is usual."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python" / "bentpipe"
METHODS = {"read_text": 0, "write_text": 1}
"""Methods of paths, and how many arguments come before the encoding."""


def without_encoding(text: str) -> list[int]:
    """The lines of calls that leave the encoding of a file to the system."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        named = any(keyword.arg == "encoding" for keyword in node.keywords)
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "formatter":
            continue  # Click's, which writes no file
        before = METHODS.get(node.func.attr)
        if before is not None and not named and len(node.args) <= before:
            found.append(node.lineno)
    return found


def test_a_call_without_encoding_is_found() -> None:
    text = 'p.read_text()\np.read_text("utf-8")\np.write_text(x)\np.write_text(x, encoding="utf-8")'
    assert without_encoding(text) == [1, 3]


def test_files_are_utf_8_on_every_system() -> None:
    files = [file for file in PACKAGE.rglob("*.py") if "examples" not in file.parts]
    found = {str(file): without_encoding(file.read_text("utf-8")) for file in files}
    assert {file: lines for file, lines in found.items() if lines} == {}
