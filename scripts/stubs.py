"""The classes of results in `python/bentpipe/_native.pyi`, and all docstrings: those of the engine.

Editors read them. `scripts/generated.py` writes them.

Classes of results are made whole, from the engine's declaration of the record. Of all others the
docstrings are: their types are checked by stubtest, and the shapes of dictionaries stay.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from bentpipe import _native

STUBS = Path(__file__).resolve().parents[1] / "python/bentpipe/_native.pyi"
CONSTRUCTORS = ("__new__", "__init__")
"""Python shows their arguments at the class, whatever they say."""

Documented = ast.ClassDef | ast.FunctionDef


TAIL = '''\
    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...
'''
FIRST = "@final\nclass Scenario:"
"""New classes of results are put before this one."""


def docstring(text: str, indent: str) -> str:
    """A docstring with its quotes."""
    lines = text.strip().splitlines()
    several = len(lines) > 1
    quoted = f'"""{"".join(f"{line.strip()}{chr(10)}" for line in lines).rstrip()}'
    quoted += f'{chr(10) if several else ""}"""'
    return "".join(f"{indent}{line}".rstrip() + "\n" for line in quoted.splitlines())


def record(name: str, about: str, attributes: list[tuple[str, str, str]]) -> str:
    """The stub of a class of results."""
    parts = [f"@final\nclass {name}:\n{docstring(about, ' ' * 4)}\n"]
    parts += [
        f"    @property\n    def {attribute}(self) -> {kind}:\n{docstring(meaning, ' ' * 8)}\n"
        for attribute, kind, meaning in attributes
    ]
    return "".join([*parts, TAIL])


def with_records(text: str) -> str:
    """The stubs with the engine's classes of results."""
    for name, about, attributes in _native.record_stubs():
        new = record(name, about, attributes)
        found = re.search(rf"@final\nclass {name}:\n(?:(?: .*)?\n)*?(?=\S)", text)
        if found is None:
            text = text.replace(FIRST, f"{new}\n{FIRST}")
        elif found[0].rstrip() != new.rstrip():
            text = text.replace(found[0], f"{new}\n")
    return text


def documented(nodes: list[ast.stmt], owner: object) -> list[tuple[Documented, object]]:
    """Classes, methods and functions with docstrings that the engine has too."""
    found: list[tuple[Documented, object]] = []
    for node in nodes:
        if not isinstance(node, Documented) or node.name in CONSTRUCTORS:
            continue
        here = getattr(owner, node.name, None)
        if here is None:
            continue
        if ast.get_docstring(node) is not None:
            found.append((node, here))
        if isinstance(node, ast.ClassDef):
            found += documented(node.body, here)
    return found


def updated(text: str) -> str:
    """The stubs with the engine's docstrings."""
    text = with_records(text)
    lines = text.splitlines()
    for node, here in reversed(documented(ast.parse(text).body, _native)):
        said = inspect.getdoc(here) or ""
        if said == ast.get_docstring(node):
            continue
        place = node.body[0]
        indent = " " * place.col_offset
        several = "\n" in said
        new = f'"""{said}{chr(10) if several else ""}"""'.splitlines()
        lines[place.lineno - 1 : place.end_lineno] = [f"{indent}{line}".rstrip() for line in new]
    return "\n".join(lines) + "\n"
