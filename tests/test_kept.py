"""Runs of a survey that are kept: nothing is lost by an interruption, and results are the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import bentpipe as bp
from bentpipe.reproductions import kept, reproduction
from bentpipe.reproductions.helpers import claims, survey

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest


def few(full: bool = True) -> dict[str, tuple[bp.Scenario, Sequence[int]]]:
    """Jobs of the survey with tables of several mechanisms, two seeds each."""
    helpers = reproduction.find("helpers")
    names = [
        *(f"geo/1e-2/cubic/{one}" for one in ("none", "selective-repeat", "split, hybla", "vj")),
        *(f"leo/1e-3/cubic/{one}" for one in ("none", "codel", "snoop", "ack-filter")),
    ]
    plan = helpers.plan(full)
    return helpers.scenarios({name: replace(plan[name], seeds=(1, 2)) for name in names})


def test_kept_runs_have_what_the_survey_reads(tmp_path: Path) -> None:
    jobs, folder = few(), kept.Folder(tmp_path / "runs")
    said: list[str] = []
    found = kept.run_all(jobs, folder, None, None, said.append)
    assert "16 runs: 16 are missing. They will take about" in said[0]
    fresh = {name: [bp.run(scenario, seed=seed).recording for seed in seeds]
             for name, (scenario, seeds) in jobs.items()}  # fmt: skip
    again = kept.run_all(jobs, folder, None, None, said.append)
    assert said[1] == "16 runs are kept from before; none is missing."
    assert found.keys() == again.keys() == fresh.keys()
    for name, runs in fresh.items():
        for run, first, read in zip(runs, found[name], again[name], strict=True):
            for measured in survey.QUANTITIES.values():
                assert measured(read) == measured(first) == measured(run)
            assert claims.reductions(read) == claims.reductions(run)
            assert [row.to_dict() for row in run.links] == kept.as_data(run)["links"]
            assert read.links[0].utilisation == run.links[0].utilisation
    (split,) = (name for name in fresh if "split" in name)
    legs = again[split][0].table("legs")
    assert legs.to_dicts() == fresh[split][0].table("legs").to_dicts()
    assert legs.height > 2


def test_an_interrupted_survey_loses_one_batch_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, folder = few(), kept.Folder(tmp_path / "runs")
    monkeypatch.setattr(kept, "BATCH", 6)
    monkeypatch.setattr(kept, "SAMPLE", 1)
    run_many, calls = bp.run_many, []

    def interrupted(some: list[Any], **options: Any) -> list[bp.Run]:
        calls.append(len(some))
        runs: list[Any] = run_many(some, **options)
        if len(calls) == 3:
            error = bp.Interrupted([])
            error.runs = [*runs[:3], *(None for _ in runs[3:])]
            raise error
        return runs

    monkeypatch.setattr(bp, "run_many", interrupted)
    first = kept.run_all(jobs, folder, None, None, lambda _: None)
    # The first call is the sample. Of the second batch, one job is complete, and half of another.
    assert (calls, len(first)) == ([1, 6, 6], 4)
    assert len(list((tmp_path / "runs").iterdir())) == 4
    # A file that a crash has cut is run again.
    cut = folder.place(*jobs[next(iter(jobs))])
    cut.write_bytes(cut.read_bytes()[:-9])
    progress: list[int] = []
    whole = kept.run_all(jobs, folder, None, progress.append, lambda _: None)
    assert (calls[3:], list(whole)) == ([1, 6, 4], list(jobs))
    assert progress[-1] == 16
    assert kept.run_all(jobs, folder, None, None, lambda _: None).keys() == jobs.keys()
    assert len(calls) == 6


def test_a_changed_job_is_run(tmp_path: Path) -> None:
    folder = kept.Folder(tmp_path / "runs")
    (scenario, seeds), *_ = few().values()
    changed = scenario.with_({"flow.0.transport.recovery": "sack"})
    places = {folder.place(scenario, seeds), folder.place(scenario, (1,)),
              folder.place(changed, seeds)}  # fmt: skip
    assert len(places) == 3
