"""docs/fidelity.json: no digit is lost, and lines are cells."""

import hashlib
import json
import statistics

import pytest

from suites import applications, beams
from suites.figures import Comparison, Row
from suites.results import RESULTS, text_of


def test_a_saved_file_has_all_that_was_measured_and_a_line_for_each_cell() -> None:
    cells = [{"names": ["a, PER 1e-4"], "kernel": {"mean": 0.1 + 0.2}}, {"names": ["b"]}]
    results = {"one": {"date": "today", "seeds": [1, 2], "cells": cells}, "two": {"rows": []}}
    text = text_of(results)
    assert json.loads(text) == results
    assert list(json.loads(text)["one"]) == ["date", "seeds", "cells"]
    assert sum(line.startswith('{"names"') for line in text.splitlines()) == len(cells)
    assert "0.30000000000000004" in text


def test_the_committed_file_is_as_it_is_saved() -> None:
    text = RESULTS.read_text()
    assert text_of(json.loads(text)) == text


def test_the_table_of_applications_has_differences_of_medians() -> None:
    rows = [
        {
            "subject": "call",
            "metric": "MOS",
            "path": path,
            "kernel": [2.0, 4.0, 3.0],
            "simulator": [3.3, 3.3],
        }
        for path in applications.PATHS
    ]
    rows[1]["simulator"] = [6.0]
    rows[2]["kernel"] = [0.0]
    rows[3]["kernel"] = []
    found = {
        "date": "today", "commit": "c", "kernel": "6.18", "seeds": 3, "invalid": 1, "rows": rows,
    }  # fmt: skip
    text = applications.COMPARISON.table(found)
    assert (
        "differ by 55.0 % in the median and by 100.0 % at most (call, MOS, GEO, PER 1e-3)" in text
    )
    assert "0 of 2 are within 5 %" in text
    assert "| call: MOS | +10.0 (3.00) | +100.0 (3.00) | 3.30 (0.00) | - |" in text
    assert "1 kernel runs were not valid" in text


@pytest.mark.parametrize(
    "comparison", [applications.COMPARISON, beams.COMPARISON], ids=lambda one: one.name
)
def test_each_figure_of_an_application_is_in_the_results(comparison: Comparison) -> None:
    found = json.loads(RESULTS.read_text())[comparison.name]
    rows = [Row(**row) for row in found["rows"]]
    expected = {
        (name, metric.name, path)
        for name, subject in comparison.subjects.items()
        for metric in subject.metrics
        for path in comparison.paths
    }
    assert {(row.subject, row.metric, row.path) for row in rows} == expected
    for row in rows:
        difference = row.difference()
        if difference is not None:
            kernel = statistics.median(row.kernel)
            simulator = statistics.median(row.simulator)
            assert difference == pytest.approx(100 * (simulator - kernel) / kernel)


def test_the_figure_of_the_page_was_drawn_by_the_runs_of_its_table() -> None:
    kept = json.loads(RESULTS.read_text())["downloads"]["figure_sha256"]
    figure = RESULTS.parent / "images" / "fidelity.png"
    assert hashlib.sha256(figure.read_bytes()).hexdigest() == kept, "run `make fidelity`"
