"""Reading of a study's TOML file into a `Study`, with all errors at once."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_args

from bentpipe.console import nearest
from bentpipe.errors import StudyError
from bentpipe.study.checks import SCENARIO
from bentpipe.study.complaints import Complaints, Key
from bentpipe.study.parameters import Parameter, Value, log_spaced, spaced
from bentpipe.study.plan import Comparison, Replications, Study
from bentpipe.study.quantities import Interval, Quantity
from bentpipe.study.scenarios import Base

if TYPE_CHECKING:
    from pathlib import Path

TOP = ("title", "scenario", "zip", "parameters", "replications", "quantity", "comparison")
KINDS: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    dict: "a table",
    list: "a list",
}
WAYS = ("values", "range", "log_range")


def read(path: Path) -> Study:
    """Read a study file; `StudyError` or `ScenarioError` if it is invalid."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise StudyError(f"{path}: expected a study file, found no such file", str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path}: expected a study file, found one that cannot be read ({error})"
        raise StudyError(message, str(path)) from None
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = getattr(error, "lineno", None) or line_in(str(error))
        place = f"{path}:{line}" if line else str(path)
        raise StudyError(f"{place}: expected valid TOML: {error}", str(path), line) from None
    except RecursionError:
        message = f"{path}: expected a study, found values nested too deeply"
        raise StudyError(message, str(path)) from None
    return Reader(path, text).study(found)


def line_in(message: str) -> int | None:
    """The line in an error of `tomllib`. Before Python 3.14 it is only in the message."""
    words = message.replace(",", " ").replace(")", " ").split()
    after = words.index("line") + 1 if "line" in words else len(words)
    return int(words[after]) if after < len(words) and words[after].isdigit() else None


class Reader:
    """Reads one file. Errors are collected, and a default replaces each invalid value."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.complaints = Complaints(path, text)

    def study(self, found: dict[str, Any]) -> Study:
        """Read the whole file."""
        if "link" in found and SCENARIO not in found:
            message = (
                f"expected a study, found a scenario; a study has scenario = {self.path.name!r}"
            )
            self.complaints.add(("link",), message)
            self.complaints.tell()
        self.known((), found, TOP)
        title = self.value((), found, "title", str, "")
        scenario = self.scenario(found)
        parameters = [
            parameter
            for label, written in self.value((), found, "parameters", dict, {}).items()
            if (parameter := self.parameter(label, written))
        ]
        zips = [group for group in self.value((), found, "zip", list, []) if self.is_group(group)]
        quantities = [
            quantity
            for number, table in enumerate(self.tables(found, "quantity"))
            if (quantity := self.quantity(("quantity", number), table))
        ]
        replications = self.replications(found)
        comparisons = [
            comparison
            for number, table in enumerate(self.tables(found, "comparison"))
            if (comparison := self.comparison(("comparison", number), table))
        ]
        self.complaints.tell()
        return Study.make(
            name=self.path.stem,
            title=title,
            scenario=scenario,
            parameters=parameters,
            zips=zips,
            quantities=quantities,
            replications=replications,
            comparisons=comparisons,
            text=self.text,
            complaints=self.complaints,
        )

    def wrong(self, key: Key, expected: str, found: object) -> None:
        """Add an error with the expected and the found value."""
        name = ".".join(str(step) for step in key if not isinstance(step, int))
        self.complaints.add(key, f"{name}: expected {expected}, found {found!r}")

    def known(self, key: Key, table: dict[str, Any], names: tuple[str, ...]) -> None:
        """Add an error for each unknown key."""
        for name in table:
            if name not in names:
                self.complaints.add((*key, name), f"unknown key {name!r}{nearest(name, names)}")

    def value(self, key: Key, table: dict[str, Any], name: str, kind: type, default: Any) -> Any:
        """The value of a key if it is of its kind, else the default."""
        value = table.get(name, default)
        if name not in table or self.is_kind(value, kind):
            return value
        self.wrong((*key, name), KINDS[kind], value)
        return default

    @staticmethod
    def is_kind(value: Any, kind: type) -> bool:
        """True if the value is of the kind. Integers are numbers; true and false are not."""
        allowed = (int, float) if kind is float else kind
        return isinstance(value, allowed) and not isinstance(value, bool)

    def tables(self, found: dict[str, Any], name: str) -> list[dict[str, Any]]:
        """The tables `[[name]]`."""
        tables = self.value((), found, name, list, [])
        for table in tables:
            if not isinstance(table, dict):
                self.wrong((name,), f"tables [[{name}]]", table)
        return [table for table in tables if isinstance(table, dict)]

    def scenario(self, found: dict[str, Any]) -> Base | dict[str, Base]:
        """One scenario file, or several by name, relative to the study file."""
        written = found.get(SCENARIO)
        if isinstance(written, str):
            return self.base((SCENARIO,), written)
        if isinstance(written, dict) and written:
            files = {name: self.value((SCENARIO,), written, name, str, "") for name in written}
            self.complaints.tell()
            return {name: self.base((SCENARIO, name), file) for name, file in files.items()}
        self.wrong((SCENARIO,), 'a file, or several as { name = "FILE" }', written)
        self.complaints.tell()
        raise AssertionError

    def base(self, key: Key, file: str) -> Base:
        """One scenario file."""
        path = self.path.parent / file
        if not path.is_file():
            names = sorted(other.name for other in path.parent.glob("*.toml"))
            hint = nearest(path.name, names) if names else ""
            self.complaints.add(key, f"{'.'.join(map(str, key))}: there is no file {path}{hint}")
            self.complaints.tell()
        return Base.read(path, file)

    def parameter(self, label: str, table: Any) -> Parameter | None:
        """One entry of `[parameters]`."""
        key = ("parameters", label)
        if not isinstance(table, dict):
            self.wrong(key, "a table { path = ..., values = [...] }", table)
            return None
        self.known(key, table, ("path", *WAYS))
        path = self.value(key, table, "path", str, "")
        if not path:
            self.wrong((*key, "path"), "a path such as flow.0.controller", table.get("path"))
        ways = [way for way in WAYS if way in table]
        if len(ways) != 1:
            self.wrong(key, f"one of {', '.join(WAYS)}", ways)
            return None
        (way,) = ways
        if way == "values":
            values = self.value(key, table, way, list, [None])
            for value in values:
                if not isinstance(value, bool | int | float | str):
                    self.wrong((*key, way), "texts, numbers, true or false", value)
            return Parameter(label, path, tuple(values))
        span = self.value(key, table, way, dict, None)
        if span is None:
            return None
        names = ("from", "to", "count") if way == "log_range" else ("from", "to", "step", "count")
        self.known((*key, way), span, names)
        try:
            return Parameter(label, path, self.span(way, span))
        except (KeyError, ValueError) as error:
            missing = isinstance(error, KeyError)
            reason = f"expected from and to, found no {error.args[0]!r}" if missing else error
            self.complaints.add((*key, way), f"parameters.{label}.{way}: {reason}")
            return None

    @staticmethod
    def span(way: str, span: dict[str, Any]) -> tuple[Value, ...]:
        """The values of a range."""
        if way == "log_range":
            return log_spaced(span["from"], span["to"], span.get("count"))
        if ("step" in span) == ("count" in span):
            raise ValueError("expected either a step or a count")
        return spaced(span["from"], span["to"], step=span.get("step"), count=span.get("count"))

    def is_group(self, group: Any) -> bool:
        """True if an entry of `zip` is a list of labels."""
        right = isinstance(group, list) and all(isinstance(label, str) for label in group)
        if not right or len(group) < 2:
            self.wrong(("zip",), 'lists of parameters such as [["a", "b"]]', group)
            return False
        return True

    def quantity(self, key: Key, table: dict[str, Any]) -> Quantity | None:
        """One `[[quantity]]`."""
        self.known(key, table, tuple(field.name for field in fields(Quantity)))
        percentiles = self.value(key, table, "percentiles", list, [])
        right = [p for p in percentiles if self.is_kind(p, float) and 0 <= p <= 100]
        if right != percentiles:
            self.wrong((*key, "percentiles"), "numbers from 0 to 100", percentiles)
        interval = table.get("interval", "student")
        if interval not in get_args(Interval):
            self.wrong((*key, "interval"), "student or bootstrap", interval)
            interval = "student"
        name = self.value(key, table, "name", str, "")
        try:
            label = self.value(key, table, "label", str, "")
            return Quantity(name, label or name, tuple(right), interval)
        except ValueError as error:
            self.complaints.add((*key, "name"), str(error))
            return None

    def replications(self, found: dict[str, Any]) -> Replications:
        """`[replications]`."""
        table = self.value((), found, "replications", dict, {})
        kinds: dict[str, type] = {field.name: int for field in fields(Replications)}
        kinds |= {"quantity": str, "relative_half_width": float}
        key = ("replications",)
        self.known(key, table, tuple(kinds))
        right = {
            name: table[name]
            for name, kind in kinds.items()
            if name in table and self.value(key, table, name, kind, None) is not None
        }
        if "count" in right:
            for name in set(right) - {"count", "seed", "quantity"}:
                self.wrong((*key, name), "this key only with a quantity, not with a count",
                           right[name])  # fmt: skip
        return Replications(**right)

    def comparison(self, key: Key, table: dict[str, Any]) -> Comparison | None:
        """One `[[comparison]]`."""
        names = tuple(field.name for field in fields(Comparison))
        self.known(key, table, names)
        for name in ("parameter", "baseline"):
            if name not in table:
                self.wrong(key, f"a {name}", sorted(table))
                return None
        quantities = self.value(key, table, "quantities", list, [])
        if not all(isinstance(name, str) for name in quantities):
            self.wrong((*key, "quantities"), "names of quantities", quantities)
            return None
        return Comparison(str(table["parameter"]), table["baseline"], tuple(quantities))
