"""Import of controllers in Python, with errors that show the user's file.

A class of a file is sent to other processes by value, one of a module by its import path. What
determines results is hashed by the studies: the file with the class, not the files it imports.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from bentpipe._native import Controller
from bentpipe.console import closest
from bentpipe.errors import ControllerError
from bentpipe.problems import UnfitError, listed, quoted
from bentpipe.prototypes.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from bentpipe._native import Settings

    Maker: TypeAlias = Callable[[Settings], Controller]
else:
    Maker: TypeAlias = "Callable[[Settings], Controller]"

PACKAGE = str(Path(__file__).resolve().parents[1])


@dataclass(frozen=True)
class Prototype:
    """A controller in Python with its name in tables."""

    name: str
    make: Maker
    source: bytes
    """The file with its code, or the code itself."""

    @classmethod
    def load(cls, text: str, spec: Spec | None = None) -> Prototype:
        """Import the class of a text such as `mine.py:Mine`.

        `UnfitError` if there is no such file or class, `ControllerError` if its file fails.
        """
        spec = spec or Spec.parse(text)
        place, _, name = spec.target.partition(":")
        is_file = place.endswith(".py") or os.sep in place
        module = module_of_file(Path(place)) if is_file else module_of_name(place)
        found = member(module, place, name)
        return cls(text, with_arguments(found, spec), source_of(found))

    @classmethod
    def of(cls, make: Maker) -> Prototype:
        """A class or another callable of a program."""
        if isinstance(make, functools.partial):
            inner = cls.of(make.func)
            arguments = "".join(f":{name}={value}" for name, value in make.keywords.items())
            return cls(f"{inner.name}{arguments}", make, inner.source)
        if isinstance(make, type) and not issubclass(make, Controller):
            raise UnfitError("a class that inherits bentpipe.Controller", repr(make))
        return cls(getattr(make, "__name__", type(make).__name__), make, source_of(make))


def module_of_file(path: Path) -> ModuleType:
    """The module in a file. It can import its neighbours."""
    place = path.resolve()
    if not path.is_file():
        near = closest(path.name, [other.name for other in path.parent.glob("*.py")])
        suggestion = None if near is None else str(path.with_name(near))
        raise UnfitError("a Python file with a controller", str(path), suggestion=suggestion)
    name = f"bentpipe_file_{hashlib.sha256(str(place).encode()).hexdigest()[:12]}"
    stamp = place.read_bytes()
    known = sys.modules.get(name)
    if known is not None and known.__dict__.get("__bentpipe_source__") == stamp:
        return known
    found = importlib.util.spec_from_file_location(name, place)
    if found is None or found.loader is None:
        raise UnfitError("a Python file with a controller", str(path))
    module = importlib.util.module_from_spec(found)
    search(str(place.parent))
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise cannot_import(str(path), error) from None
    module.__dict__["__bentpipe_source__"] = stamp
    by_value(module)
    return module


def by_value(module: ModuleType) -> None:
    """Let other processes get the classes of a module without its file."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(module)


def module_of_name(name: str) -> ModuleType:
    """A module by its import path, also below the working directory."""
    search(os.getcwd())  # noqa: PTH109
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise cannot_import(name, error) from None
        here = [path.name for path in Path.cwd().glob("*.py")]
        near = closest(f"{name}.py", here)
        raise UnfitError(
            "a module that can be imported, or a file such as mine.py", quoted(name),
            suggestion=near,
        ) from None  # fmt: skip
    except (Exception, SystemExit) as error:
        raise cannot_import(name, error) from None


def search(folder: str) -> None:
    """Let modules of a folder be imported."""
    if folder not in sys.path:
        sys.path.append(folder)


def cannot_import(place: str, error: BaseException) -> ControllerError:
    """The error for a file that fails while it is imported."""
    return ControllerError(f"{place} cannot be imported\n{users_traceback(error)}")


def member(module: ModuleType, place: str, name: str) -> Any:
    """A class, or another callable, of a module."""
    found: Any = module
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        classes = [
            key for key, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, Controller)
            and value.__module__ == module.__name__
        ]  # fmt: skip
        near = closest(name, classes)
        known = f"one of {listed(classes)}" if classes else "a class that inherits Controller"
        raise UnfitError(f"{known} in {place}", quoted(name), suggestion=near) from None
    is_class = isinstance(found, type)
    if not (issubclass(found, Controller) if is_class else callable(found)):
        raise UnfitError("a class that inherits bentpipe.Controller", f"{quoted(name)} in {place}")
    return found


def with_arguments(found: Any, spec: Spec) -> Maker:
    """The class with its parameters; `UnfitError` if it has none of that name."""
    if not spec.parameters:
        return found  # type: ignore[no-any-return]
    known = [
        one.name for one in list(inspect.signature(found).parameters.values())[1:]
        if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]  # fmt: skip
    takes_any = any(
        one.kind is one.VAR_KEYWORD for one in inspect.signature(found).parameters.values()
    )
    for name in spec.parameters:
        if name not in known and not takes_any:
            expected = (
                f"a parameter of {spec.target}: {listed(known)}"
                if known
                else (f"no parameter, because {spec.target} has none")
            )
            raise UnfitError(expected, quoted(name), suggestion=closest(name, known))
    return functools.partial(found, **spec.parameters)


def source_of(found: Any) -> bytes:
    """The file of a class or function, or its own code if it was not read from a file."""
    try:
        file = inspect.getsourcefile(found)
        if file is not None and Path(file).is_file():
            return Path(file).read_bytes()
        return inspect.getsource(found).encode()
    except (TypeError, OSError):
        import cloudpickle

        return bytes(cloudpickle.dumps(found))


def users_traceback(error: BaseException) -> str:
    """The traceback without frames of Bentpipe and of the import system."""
    described = traceback.TracebackException.from_exception(error)
    one: traceback.TracebackException | None = described
    while one is not None:
        frames = [
            frame for frame in one.stack
            if not frame.filename.startswith((PACKAGE, "<frozen "))
        ]  # fmt: skip
        one.stack = traceback.StackSummary.from_list(frames)
        one = one.__cause__ or one.__context__
    return "".join(described.format()).rstrip()


def described(error: BaseException) -> str:
    """The last line of a traceback, and the traceback of the user's file if there is one."""
    *trace, last = users_traceback(error).splitlines()
    return "\n".join([last.removeprefix("bentpipe.errors."), *trace])
