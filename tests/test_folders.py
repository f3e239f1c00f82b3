"""Folders of `--out` with results of another command: what the message names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bentpipe import OutputError
from bentpipe.compare.folder import WIDTH, taken

if TYPE_CHECKING:
    from pathlib import Path


def candidates(*names: str, **more: Any) -> list[dict[str, Any]]:
    """Candidates as the summary of a comparison has them."""
    return [{"name": name, "controller": name, "status": "published", **more} for name in names]


PLAN = {"compare": "leo", "controllers": candidates("newreno", "cubic")}


def made(folder: Path, *studies: str, **plan: Any) -> Path:
    """A folder with results of a command."""
    folder.mkdir()
    (folder / "compare.json").write_text(json.dumps(plan))
    for name in studies:
        (folder / name).mkdir()
        (folder / name / "study.json").write_text("{}")
    return folder


def refusal(folder: Path, *studies: str, **plan: Any) -> list[str]:
    """The lines of the message without the name of the folder."""
    with pytest.raises(OutputError) as caught:
        taken(folder, "compare", studies, plan)
    return str(caught.value).replace(str(folder), "out").splitlines()


ANOTHER = "out has results of another command; choose another folder"


@pytest.mark.parametrize(
    ("plan", "lines"),
    [
        ({"compare": "geo-ka"}, ['  compare: expected "geo-ka", found "leo"']),
        (
            {"controllers": candidates("newreno", "hybla")},
            ["  controllers: the folder lacks hybla; the folder also has cubic"],
        ),
        (
            {"controllers": candidates("newreno", "cubic", setting="cubic:c=0.5")},
            ["  controllers: other settings of newreno, cubic"],
        ),
        (
            {"controllers": candidates("cubic", "newreno")},
            ["  controllers: the folder has them in another order"],
        ),
        ({"link": "a" * 64}, ["  link: not the same"]),
    ],
)
def test_a_message_names_what_differs(
    plan: dict[str, Any], lines: list[str], tmp_path: Path
) -> None:
    folder = made(tmp_path / "out", **PLAN)
    assert refusal(folder, **PLAN | plan) == [ANOTHER, *lines]


def test_long_lists_are_abbreviated_and_fit_80_columns(tmp_path: Path) -> None:
    folder = made(tmp_path / "out", **PLAN)
    many = candidates(*(f"hybla:rtt0={n}ms over quic" for n in range(100, 140)))
    first, *lines = refusal(folder, **PLAN | {"controllers": many})
    assert first == ANOTHER
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) <= 4
    assert "and 35 more" in " ".join(lines)


def test_a_folder_of_another_workload_is_called_so(tmp_path: Path) -> None:
    folder = made(tmp_path / "out", "bulk", **PLAN)
    assert refusal(folder, "page", **PLAN) == [
        "out has results of another workload: bulk; choose another folder"
    ]
    assert taken(folder, "compare", ["bulk", "page"], PLAN) == folder
    (folder / "notes").mkdir()
    assert "out has another file, notes; expected a folder of" in refusal(folder, "page", **PLAN)[0]
    (folder / "compare.json").unlink()
    assert refusal(folder, "page", **PLAN)[0].startswith("out has another file, bulk;")
