#!/usr/bin/env python3
"""The docstrings of `python/bentpipe/_native.pyi`: those of the engine, where they are written.

    stubs.py            writes them into the stubs, which editors read
    stubs.py --check    fails when they are others

Types of the stubs are checked by stubtest. What only the stubs have, such as the shapes of
dictionaries, is left as it is.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from pathlib import Path

from bentpipe import _native

STUBS = Path(__file__).resolve().parents[1] / "python/bentpipe/_native.pyi"
CONSTRUCTORS = ("__new__", "__init__")
"""Python shows their arguments at the class, whatever they say."""

Documented = ast.ClassDef | ast.FunctionDef


def documented(
    nodes: list[ast.stmt], owner: object, path: str = ""
) -> list[tuple[Documented, str, object]]:
    """Classes, methods and functions with docstrings that the engine has too."""
    found: list[tuple[Documented, str, object]] = []
    for node in nodes:
        if not isinstance(node, Documented) or node.name in CONSTRUCTORS:
            continue
        here = getattr(owner, node.name, None)
        if here is None:
            continue
        if ast.get_docstring(node) is not None:
            found.append((node, f"{path}{node.name}", here))
        if isinstance(node, ast.ClassDef):
            found += documented(node.body, here, f"{path}{node.name}.")
    return found


def updated(text: str) -> tuple[str, list[str]]:
    """The stubs with the engine's docstrings, and the names of those that were others."""
    lines = text.splitlines()
    changed = []
    for node, name, here in reversed(documented(ast.parse(text).body, _native)):
        said = inspect.getdoc(here) or ""
        if said == ast.get_docstring(node):
            continue
        changed.append(name)
        place = node.body[0]
        indent = " " * place.col_offset
        several = "\n" in said
        new = f'"""{said}{chr(10) if several else ""}"""'.splitlines()
        lines[place.lineno - 1 : place.end_lineno] = [f"{indent}{line}".rstrip() for line in new]
    return "\n".join(lines) + "\n", changed[::-1]


def main() -> int:
    """Writes or checks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    text, changed = updated(STUBS.read_text())
    if not parser.parse_args().check:
        STUBS.write_text(text)
    elif changed:
        print(f"scripts/stubs.py would change the docstrings of {', '.join(changed)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
