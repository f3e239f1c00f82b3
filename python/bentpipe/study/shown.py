"""Studies and their results as text and as HTML, for `print` and for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.shown import as_html, as_text

if TYPE_CHECKING:
    from bentpipe.study.plan import Study
    from bentpipe.study.results import Results


def study_html(study: Study) -> str:
    """A study before it runs: its parameters, quantities and replications."""
    from bentpipe.console import table

    parameters = table("parameter", "<path", "<values")
    for one in study.parameters:
        values = ", ".join(map(str, one.plain))
        parameters.add_row(one.label, one.path, f"{values} {one.unit or ''}".strip())
    about = {
        "quantities": ", ".join(one.label or one.name for one in study.quantities),
        "runs": f"{len(study.variants)} variants, at most {study.most_runs:,} runs",
    }
    return as_html(f"Study {study.title}", about, [parameters] if study.parameters else [])


def results_labels(results: Results) -> dict[str, str]:
    """The answer of a study with its labels."""
    from bentpipe.printing.setting import setting
    from bentpipe.study.answer import answer

    found = answer(results)
    labelled = {"Choose": found.choose, "Costs": found.costs, "Sure": found.sure}
    labelled["On"] = setting(variant.scenario for variant in results.study.variants)
    if not results.complete:
        labelled["Partial"] = "The study was interrupted."
    return labelled


def results_blocks(results: Results) -> list[Any]:
    """The tables of a study with their titles, one for each quantity."""
    from bentpipe.study.overview import overviews

    found: list[Any] = []
    for one in overviews(results):
        found += [one.title] if one.title else []
        found.append(one.table)
        if one.left_out:
            found.append(f"{one.left_out} more rows: means")
    return found


def results_text(results: Results) -> str:
    """The answer of a study, then its tables."""
    return as_text(results_labels(results), results_blocks(results))


def results_html(results: Results) -> str:
    """The same under the title of the study."""
    return as_html(results.study.title, results_labels(results), results_blocks(results))
