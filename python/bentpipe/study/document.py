"""Reading of a study's TOML file into a `Study`.

Keys, kinds of values and limits are checked by the engine, against the schema of study files. This
module adds what needs the files of scenarios, the names of quantities and the values of ranges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe._native import StudySource
from bentpipe.problems import Key, Problems, UnfitError, suggested
from bentpipe.prototypes.spec import inline
from bentpipe.study.checks import SCENARIO
from bentpipe.study.parameters import Parameter, Value, log_spaced, spaced
from bentpipe.study.plan import Comparison, Replications, Study
from bentpipe.study.quantities import Quantity
from bentpipe.study.scenarios import Base

if TYPE_CHECKING:
    from pathlib import Path

WAYS = ("values", "range", "log_range")


def read(path: Path) -> Study:
    """Read a study file; `StudyError` or `ScenarioError` if it is invalid."""
    source = StudySource.load(path)
    written = source.document()
    problems = Problems(source)
    scenario = read_scenarios(path, written[SCENARIO], problems)
    parameters = read_parameters(written["parameters"], problems)
    quantities = read_quantities(written["quantity"], problems)
    problems.report()
    return Study.make(
        name=path.stem,
        title=written["title"] or "",
        scenario=scenario,
        parameters=parameters,
        zips=written["zip"],
        quantities=quantities,
        replications=Replications(**written["replications"]),
        comparisons=[
            Comparison(one["parameter"], notation(one["baseline"]), tuple(one["quantities"]))
            for one in written["comparison"]
        ],
        text=source.text,
        source=source,
    )


def read_scenarios(
    path: Path, written: str | dict[str, str], problems: Problems
) -> Base | dict[str, Base]:
    """One scenario file, or several by name, relative to the study file at `path`."""
    if isinstance(written, str):
        return read_scenario(path, (SCENARIO,), written, problems)
    return {
        name: read_scenario(path, (SCENARIO, name), file, problems)
        for name, file in written.items()
    }


def read_scenario(path: Path, key: Key, file: str, problems: Problems) -> Base:
    """One scenario file."""
    place = path.parent / file
    if not place.is_file():
        names = sorted(other.name for other in place.parent.glob("*.toml"))
        found = f"no such file ({place})"
        problems.add(key, "a scenario file", found, suggestion=suggested(place.name, names))
        problems.report()
    return Base.read(place, file)


def read_parameters(written: dict[str, Any], problems: Problems) -> list[Parameter]:
    """The parameters with the values of their ranges."""
    found = []
    for label, table in written.items():
        way = next(way for way in WAYS if way in table)
        try:
            found.append(Parameter(label, table["path"], values_of(way, table[way])))
        except UnfitError as error:
            problems.add_unfit(("parameters", label, way), error)
    return found


def values_of(way: str, written: Any) -> tuple[Value, ...]:
    """The values of a parameter in one of its forms."""
    if way == "values":
        return tuple(map(notation, written))
    if way == "log_range":
        return log_spaced(written["from"], written["to"], written["count"])
    step, count = written.get("step"), written.get("count")
    return spaced(written["from"], written["to"], step=step, count=count)


def notation(written: Any) -> Value:
    """A value as scenarios and tables show it: a table becomes a text."""
    return inline(written) if isinstance(written, dict) else written


def read_quantities(written: list[dict[str, Any]], problems: Problems) -> list[Quantity]:
    """The quantities."""
    found = []
    for number, table in enumerate(written):
        label = table["label"] or table["name"]
        percentiles = tuple(table["percentiles"])
        try:
            found.append(Quantity(table["name"], label, percentiles, table["interval"]))
        except UnfitError as error:
            problems.add_unfit(("quantity", number), error)
    return found
