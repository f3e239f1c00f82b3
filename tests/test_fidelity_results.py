"""docs/fidelity.json: no digit is lost, and lines are cells."""

import json

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
