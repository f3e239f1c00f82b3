"""Tests that only `make nightly` runs, because they take long and mostly repeat others.

Most of them are one of several cases of a test whose other cases run with every commit. Others have
the mark `nightly` at their place, where they are made.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

NIGHTLY = {
    # The commands run on other data, or with fewer replications.
    "test_docs.py": (
        "test_a_command_runs_as_written[[]beam-1[046][]]",
        "test_a_command_runs_as_written[[]beam-[234][]]",
        "test_a_command_runs_as_written[[]compare-[2346][]]",
        "test_a_command_runs_as_written[[]evaluate-1[]]",
        "test_a_command_runs_as_written[[]orbit-3[]]",
        "test_a_command_runs_as_written[[]reports-2[]]",
        "test_a_command_runs_as_written[[]studies-[12][]]",
        "test_a_long_study_runs_with_one_seed",
        "test_a_python_snippet_runs_as_written[[]python-[56][]]",
        "test_a_python_snippet_runs_as_written[[]rain-3[]]",
    ),
    # Every kind of control is in one of the other examples.
    "test_lab_state.py": (
        "test_all_presets_have_controls_and_run[[]leo-*[]]",
        "test_an_orbit_has_controls_that_change_the_run[[]direction[]]",
        "test_an_orbit_has_controls_that_change_the_run[[]file[]]",
        "test_an_orbit_has_controls_that_change_the_run[[]trace[]]",
        "test_every_value_of_every_control_fits_and_has_an_effect[[]beam-p*[]]",
        "test_every_value_of_every_control_fits_and_has_an_effect[[]beam-random-access[]]",
        "test_every_value_of_every_control_fits_and_has_an_effect[[]fairness-six-rtts[]]",
        "test_every_value_of_every_control_fits_and_has_an_effect[[]geo-bursts[]]",
        "test_every_value_of_every_control_fits_and_has_an_effect[[]geo-household[]]",
        "test_every_value_of_every_control_fits_and_has_an_effect[[]geo-web[]]",
        "test_every_value_of_every_control_fits_and_has_an_effect[[]lossy-geo[]]",
        "test_every_value_of_every_control_fits_and_has_an_effect[[]proxy-or-quic[]]",
        "test_every_value_of_every_control_fits_and_has_an_effect[[]quic-*[]]",
        "test_the_page_of_an_example_has_a_path_and_controllers_that_fit[[]openbach-mix[]]",
    ),
    # Other kinds of folders have the same pages and sheets.
    "test_report.py": (
        "test_a_page_can_be_clicked_through_and_asks_nobody[[]evaluate-*[]]",
        "test_a_page_can_be_clicked_through_and_asks_nobody[[]study-*[]]",
        "test_a_row_of_a_paper_leads_to_its_figure",
        "test_figures_of_every_kind_are_as_wide_as_the_column_of_a_paper[[]evaluate[]]",
        "test_figures_of_every_kind_are_as_wide_as_the_column_of_a_paper[[]papers[]]",
    ),
    "test_report_first.py": (
        "test_a_click_on_a_legend_hides_a_series_of_every_figure[[]conditions[]]",
        "test_a_click_on_a_legend_hides_a_series_of_every_figure[[]rankings[]]",
        "test_a_command_with_a_sheet_goes_on",
        "test_a_sheet_is_one_page_of_a4_with_all_texts_inside[[]conditions[]]",
        "test_a_sheet_is_one_page_of_a4_with_all_texts_inside[[]queues[]]",
        "test_a_sheet_is_one_page_of_a4_with_all_texts_inside[[]rankings[]]",
        "test_the_answer_is_that_of_the_command[[]buffers[]]",
        "test_the_figure_rings_the_recommended_choice_on_the_front[[]conditions[]]",
    ),
    "test_examples.py": (
        "test_a_notebook_has_the_outputs_of_today[[]published-figure[]]",
        "test_an_example_runs_and_leaves_its_figures[[]cwnd[]]",
        "test_an_example_runs_and_leaves_its_figures[[]proxy_or_quic[]]",
        "test_an_example_runs_and_leaves_its_figures[[]rain_fade[]]",
    ),
    "test_screen.py": ("test_a_paper_fits_a_screen_with_the_ids_of_its_statements",),
    "test_tables.py": (
        "test_no_word_or_number_is_split_at_any_width[[]compare---link-leo---on-path-0[]]",
        "test_no_word_or_number_is_split_at_any_width[[]compare---link-leo---queue-0[]]",
        "test_no_word_or_number_is_split_at_any_width[[]compare---link-leo---replications-1[]]",
    ),
    # `test_kills.py` kills a study, and the first test of clusters a worker.
    "test_study.py": ("test_a_study_that_was_killed_goes_on_and_ends_the_same",),
    "test_study_cluster.py": (
        "test_a_study_goes_on_elsewhere",
        "test_the_death_of_the_scheduler_keeps_what_is_finished",
    ),
    # Compiles the engine once more.
    "test_new.py": ("test_a_crate_of_a_controller_passes_its_tests",),
    # One of two error rates, and one of two papers with all repetitions.
    "test_paper_packs.py": ("test_the_luglio_pack_decides_every_value_at_both_error_rates",),
}
"""Patterns of the names of tests, by file."""


def mark(items: Iterable[pytest.Item]) -> None:
    """Give these tests the mark `nightly`."""
    for item in items:
        patterns = NIGHTLY.get(item.path.name, ())
        if any(fnmatchcase(item.name, pattern) for pattern in patterns):
            item.add_marker(pytest.mark.nightly)
