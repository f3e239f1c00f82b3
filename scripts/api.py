"""Makes docs/api.md from the docstrings of the package and of its stub, for `scripts/generated.py`.

Read from the sources and not imported, so that signatures have their types.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "api.md"
STUB = ROOT / "python" / "bentpipe" / "_native.pyi"
MODULES = [
    "bentpipe",
    "bentpipe.controller",
    "bentpipe.study",
    "bentpipe.compare.comparison",
    "bentpipe.evaluate.evaluation",
    "bentpipe.experience.results",
    "bentpipe.reproductions.papers",
    "bentpipe.rain",
]
"""Modules whose `__all__` is the public interface."""
HEAD = """\
# API reference

Made from the docstrings by `make generated`; do not edit. Guide: [python.md](python.md).
"""

Definition = ast.ClassDef | ast.FunctionDef


def sources(module: str) -> dict[str, ast.stmt]:
    """The top-level definitions of a module, by name. Those of the engine are in its stub."""
    file = (
        STUB
        if module == "bentpipe._native"
        else Path(str(inspect.getsourcefile(importlib.import_module(module))))
    )
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {one.name: one for one in tree.body if isinstance(one, ast.ClassDef | ast.FunctionDef)}


def signature(function: ast.FunctionDef, owner: str = "") -> str:
    """The signature on one line."""
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    arguments = ast.unparse(function.args).removeprefix("self").removeprefix("cls")
    return f"{owner}{function.name}({arguments.removeprefix(', ')}){returns}"


def is_property(function: ast.FunctionDef) -> bool:
    """Return true for properties, computed once or every time."""
    names = {ast.unparse(one).rpartition(".")[2] for one in function.decorator_list}
    return bool(names & {"property", "cached_property"})


def text_of(definition: Definition) -> str:
    """The docstring, with a line between its paragraphs and headings of Markdown left alone."""
    return ast.get_docstring(definition) or ""


def members(found: ast.ClassDef) -> list[str]:
    """The public attributes and methods of a class."""
    lines = []
    for member, following in zip(found.body, [*found.body[1:], None], strict=True):
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            if member.target.id.startswith("_"):
                continue
            text = ""
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                text = inspect.cleandoc(str(following.value.value))
            lines.append(entry(f"{member.target.id}: {ast.unparse(member.annotation)}", text))
        elif isinstance(member, ast.FunctionDef):
            if member.name == "__init__":
                lines.append(entry(signature(member).replace("__init__", found.name), ""))
            elif not member.name.startswith("_"):
                title = (
                    f"{member.name}: {ast.unparse(member.returns) if member.returns else 'Any'}"
                    if is_property(member)
                    else signature(member)
                )
                lines.append(entry(title, text_of(member)))
    return lines


def entry(title: str, text: str) -> str:
    """One member as an entry of a list."""
    indented = "\n".join(f"  {line}".rstrip() for line in text.splitlines())
    return f"- `{title}`" + (f"\n\n{indented}" if indented.strip() else "")


def section(name: str, module: str) -> str:
    """The section of one public name; empty for constants."""
    thing = getattr(importlib.import_module(module), name)
    home = getattr(thing, "__module__", None)
    if home is None or not (inspect.isclass(thing) or callable(thing)):
        return ""
    if home in {"builtins", "bentpipe"}:
        home = "bentpipe._native"
    found = sources(home).get(name)
    if found is None:
        found = sources("bentpipe._native").get(name)
    if isinstance(found, ast.FunctionDef):
        return f"### `{name}`\n\n```py\n{signature(found)}\n```\n\n{text_of(found)}"
    if isinstance(found, ast.ClassDef):
        listed = "\n".join(members(found))
        bases = ", ".join(ast.unparse(base) for base in found.bases)
        kind = f"class {name}({bases})" if bases else f"class {name}"
        return f"### `{name}`\n\n```py\n{kind}\n```\n\n{text_of(found)}\n\n{listed}".rstrip()
    return ""


def page() -> str:
    """The whole page."""
    parts = [HEAD.rstrip()]
    shown: set[int] = set()
    for module in MODULES:
        loaded = importlib.import_module(module)
        sections = []
        for name in sorted(loaded.__all__, key=str.lower):
            thing = getattr(loaded, name)
            if id(thing) in shown:
                continue
            made = section(name, module)
            if made:
                shown.add(id(thing))
                sections.append(made)
        about = (inspect.getdoc(loaded) or "").partition("\n")[0]
        parts += [f"## `{module}`\n\n{about}", *sections]
    return "\n\n".join(parts) + "\n"
