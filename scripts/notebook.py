"""Runs the notebooks of `examples` and keeps their outputs in them. A test compares them."""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
WAIT_S = 120
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def read(path: Path) -> Any:
    """The notebook as it is stored."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def executed(path: Path) -> Any:
    """The notebook with the outputs of today, without addresses of objects.

    Nothing depends on how busy the machine is: a text that the kernel flushed in two parts is one
    output, and the last output is waited for, which nbclient drops after 4 s.
    """
    notebook = read(path)
    with warnings.catch_warnings():
        # Of the messaging of Jupyter, about loops and ports; none is about the notebook.
        warnings.simplefilter("ignore")
        resources = {"metadata": {"path": str(path.parent)}}
        NotebookClient(
            notebook,
            resources=resources,
            coalesce_streams=True,
            iopub_timeout=WAIT_S,
            raise_on_iopub_timeout=True,
            record_timing=False,
            startup_timeout=WAIT_S,
            timeout=WAIT_S,
        ).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/plain" in data:
                data["text/plain"] = ADDRESS.sub("", data["text/plain"])
    return notebook


def outputs(notebook: Any) -> list[list[dict[str, Any]]]:
    """The outputs of each cell, for a comparison."""
    return [[dict(output) for output in cell.get("outputs", ())] for cell in notebook.cells]


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    for path in NOTEBOOKS:
        found = executed(path)
        changed = outputs(found) != outputs(read(path))
        if changed:
            nbformat.write(found, path)  # type: ignore[no-untyped-call]
        sys.stdout.write(f"{path.name}: outputs {'written' if changed else 'unchanged'}\n")
