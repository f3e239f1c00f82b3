"""What a page saves: its scenario, a study of its controllers, or a notebook that runs them."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.errors import InputError
from bentpipe.lab.results import recorded_every
from bentpipe.prototypes import Spec

if TYPE_CHECKING:
    from bentpipe.compare.candidates import Candidate
    from bentpipe.lab.state import State

REPLICATIONS = 20
"""Seeds of a study; the page has one."""
WRITTEN = (1980, 1, 1, 0, 0, 0)
"""Date of all files in an archive, so that equal pages give equal bytes."""
SEEDS_OF_NOTEBOOK = 10
"""Seeds of the study in a notebook, which a reader waits for."""

RUNS = """\
scenario = bp.Scenario.parse(TOML)
controllers = ({names})
scenarios = [scenario.with_({{"flow.0.controller": name}}) for name in controllers]
runs = bp.run_many([(one, one.seed) for one in scenarios])
for name, run in zip(controllers, runs):
    print(f"{{name}}: {{run.flows['goodput_bps'][0] / 1e6:.2f}} Mbit/s")"""
STUDY = """\
from bentpipe.study import Comparison, Parameter, Replications, Study

study = Study.make(
    name={name},
    scenario=scenario,
    parameters=[Parameter("controller", "flow.0.controller", controllers)],
    quantities=[{quantity}],
    replications=Replications(count={seeds}),
{comparison})
results = study.run()
results"""
COMPARISON = """\
    comparisons=[Comparison("controller", {baseline})],
"""


def saved_scenario(state: State) -> tuple[str, bytes]:
    """Name and content of a scenario file."""
    return f"{state.scenario.name}.toml", state.toml.encode()


def saved_study(state: State) -> tuple[str, bytes]:
    """Name and content of an archive with a study and its scenario. `StudyError` if it is none."""
    from bentpipe.study import Study

    name = state.scenario.name
    files = {f"{name}.toml": state.scenario.to_toml(), f"{name}-study.toml": study_text(state)}
    with tempfile.TemporaryDirectory(prefix="bentpipe-") as folder:
        for file, text in files.items():
            (Path(folder) / file).write_text(text, encoding="utf-8")
        try:
            Study.load(Path(folder) / f"{name}-study.toml")
        except InputError as error:
            raise without_folder(error, f"{folder}{os.sep}") from None
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for file, text in files.items():
            made.writestr(zipfile.ZipInfo(file, WRITTEN), text)
    return f"{name}-study.zip", archive.getvalue()


def without_folder(error: InputError, folder: str) -> InputError:
    """The error with the files under the names that they have in the archive."""

    def short(text: str | None) -> str | None:
        return text and text.replace(folder, "")

    problems = [
        replace(one, message=one.message.replace(folder, ""), file=short(one.file))
        for one in error.errors
    ]
    return type(error)(error.message.replace(folder, ""), short(error.file), error.line, problems)


def study_text(state: State) -> str:
    """A study of the controllers of the page that run on its scenario, over seeds."""
    scenario = state.scenario
    flow = scenario.explain().flows[0].name
    settings = [json.dumps(Spec.parse(one.setting).setting) for one in saved(state)]
    values = ", ".join(settings)
    comparison = (
        f'\n[[comparison]]\nparameter = "controller"\nbaseline = {settings[0]}\n'
        if len(settings) > 1
        else ""
    )
    return (
        f'title = "Controllers on {scenario.name}"\n'
        f'scenario = "{scenario.name}.toml"\n\n'
        "[parameters]\n"
        f'controller = {{ path = "flow.0.controller", values = [{values}] }}\n\n'
        f"[replications]\ncount = {REPLICATIONS}\n\n"
        f'[[quantity]]\nname = "flow.{flow}.goodput_bps"\n\n'
        f'[[quantity]]\nname = "flow.{flow}.p95_rtt_ms"\n'
        f"{comparison}"
    )


def saved(state: State) -> list[Candidate]:
    """The controllers that run on the page, as they run there, each setting once."""
    found: dict[str, Candidate] = {}
    for one in map(state.candidate, state.runs):
        found.setdefault(json.dumps(one.value), one)
    return list(found.values())


def saved_notebook(state: State) -> tuple[str, bytes]:
    """Name and content of a notebook of Jupyter: the scenario, the runs of the page, and a study.

    Form: nbformat 4.5. The cells have no outputs, and IDs that do not change.
    """
    found = enumerate(cells_of(state), start=1)
    notebook = {
        "cells": [cell(number, kind, text) for number, (kind, text) in found],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    return f"{state.scenario.name}.ipynb", text.encode()


def cell(number: int, kind: str, text: str) -> dict[str, Any]:
    """A cell of a notebook."""
    made = {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": text.splitlines(keepends=True),
    }
    return made if kind == "markdown" else made | {"execution_count": None, "outputs": []}


def cells_of(state: State) -> list[tuple[str, str]]:
    """The cells of the notebook of a page: their kinds and texts."""
    scenario = state.scenario.with_({"record.interval": recorded_every(state.scenario)})
    flow = scenario.explain().flows[0].name
    first, *others = saved(state)
    names = [source(one.value) for one in (first, *others)]
    baseline = f", so their differences from {first.controller} are paired"
    several = bool(others)
    return [
        (
            "markdown",
            f"# {scenario.name}\n\nSaved by the live page of Bentpipe {_native.version()}. "
            "The text is the scenario of the page.",
        ),
        ("code", f"import bentpipe as bp\n\nTOML = {literal(scenario.to_toml())}"),
        ("markdown", f"## The runs of the page\n\nAll runs have the seed {scenario.seed}."),
        ("code", RUNS.format(names=", ".join(names) + "," * (not several))),
        ("code", 'bp.plot(runs, "cwnd", flow=runs[0].flows["flow"][0])'),
        (
            "markdown",
            f"## {SEEDS_OF_NOTEBOOK} seeds\n\nOne seed proves little. Controllers meet the same "
            f"losses under each seed{baseline * several}.",
        ),
        (
            "code",
            STUDY.format(
                name=json.dumps(scenario.name),
                quantity=json.dumps(f"flow.{flow}.goodput_bps"),
                seeds=SEEDS_OF_NOTEBOOK,
                comparison=COMPARISON.format(baseline=names[0]) * several,
            ),
        ),
    ]


def literal(text: str) -> str:
    """A text as Python source, on lines of its own if it needs no escapes."""
    is_plain = '"""' not in text and "\\" not in text and not text.endswith('"')
    return f'"""\\\n{text}"""' if is_plain else repr(text)


def source(value: Any) -> str:
    """The value of `flow.controller`, as Python source."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


SAVED = {"scenario": saved_scenario, "study": saved_study, "notebook": saved_notebook}
"""What a page saves, by the name in its address."""
