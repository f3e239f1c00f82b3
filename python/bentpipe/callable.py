"""Packages that can be called: `bentpipe.compare(...)`, and `bentpipe.compare.links` in it."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class CallablePackage(ModuleType):
    """A package whose call is that of the function of its name, in the module `HOME` in it."""

    HOME: str

    @property
    def function(self) -> Any:
        """The function, whose module is imported when it is used."""
        home = import_module(f"{self.__name__}.{self.HOME}")
        return getattr(home, self.__name__.rpartition(".")[2])

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The result of the function."""
        return self.function(*arguments, **named)

    @property
    def __signature__(self) -> Any:
        """The signature of the function, for help."""
        import inspect

        return inspect.signature(self.function)


def make_callable(package: str, home: str) -> None:
    """Let a package be called as the function of its name in the module `home` in it."""
    module: Any = sys.modules[package]
    module.__class__ = CallablePackage
    module.HOME = home
    module.__module__ = f"{package}.{home}"
