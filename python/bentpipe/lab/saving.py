"""What a page saves: its scenario, or a study of its controllers."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe.prototypes import Spec

if TYPE_CHECKING:
    from bentpipe.lab.state import State

REPLICATIONS = 20
"""Seeds of a study; the page has one."""
WRITTEN = (1980, 1, 1, 0, 0, 0)
"""Date of all files in an archive, so that equal pages give equal bytes."""


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
        Study.load(Path(folder) / f"{name}-study.toml")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for file, text in files.items():
            made.writestr(zipfile.ZipInfo(file, WRITTEN), text)
    return f"{name}-study.zip", archive.getvalue()


def study_text(state: State) -> str:
    """A study of the controllers of the page on its scenario, over seeds."""
    scenario = state.scenario
    flow = scenario.explain().flows[0].name
    values = ", ".join(json.dumps(setting(name)) for name in state.controllers)
    first = json.dumps(setting(state.controllers[0]))
    comparison = (
        f'\n[[comparison]]\nparameter = "controller"\nbaseline = {first}\n'
        if len(state.controllers) > 1
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


def setting(name: str) -> str:
    """A controller as the value of a study's parameter."""
    return Spec.parse(name).setting
