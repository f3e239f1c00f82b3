"""The page of `bentpipe experience`: figures with their targets, and what limits each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.experience.figures import NO_TARGET, Target
from bentpipe.numbers import NONE, SAME_IN_ALL, count
from bentpipe.plots import Point, ranking_figure
from bentpipe.plots.theme import BEST, SAME, WORSE
from bentpipe.report.page import Cell, Column, First, Page, Section, Table, Text
from bentpipe.report.scenarios import explained, scenario_section
from bentpipe.report.shown import Shown
from bentpipe.report.source import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bentpipe.plots import Figure

KEYS = ("bentpipe", "experience", "applications", "answer", "notes", "sources", "replications",
        "complete", "command")  # fmt: skip
INTERRUPTED = "Interrupted: no figures yet. The same command with --out continues."
LABELS = ("targets", "limits", "sure")
VERDICTS = {"reached": BEST, "not clear": SAME, "missed": WORSE}
"""Verdicts with their colours in the figure."""
CELLS = {"reached": "good", "missed": "bad"}
"""Verdicts with their look in tables."""
ABOUT = (
    "A target that is at least a number is reached to the right of 1, and one that is at most a"
    " number to the left of it."
)


def experience_page(folder: Path) -> Page:
    """The page of a folder of `bentpipe experience --out`."""
    found = read_json(folder / "experience.json", *KEYS)
    applications = found["applications"]
    scenario = folder / "runs" / "scenario.toml"
    answer = {label.capitalize(): found["answer"][label] for label in LABELS}
    whole = bool(applications)
    return Page(
        title=f"Experience: {found['experience']}",
        subtitle=f"{count(len(applications))} applications in {count(found['replications'])} runs",
        version=found["bentpipe"],
        summary=[*found["notes"], *found["sources"]],
        sections=[
            *(section(one) for one in applications),
            scenario_section(scenario, found["bentpipe"], found["command"], explained(scenario)),
        ],
        warnings=[] if found["complete"] else [INTERRUPTED],
        first=First(answer, targets_figure(found), first_table(found)) if whole else None,
        things=[one["flow"] for one in applications],
    )


def judged(found: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The flows and figures that have a target and a mean."""
    for one in found["applications"]:
        for figure in one["figures"]:
            if figure["target"] and figure["mean"] is not None:
                yield one["flow"], figure


def targets_figure(found: Mapping[str, Any]) -> Figure | None:
    """Means as multiples of their targets; None without any."""
    points = []
    for flow, figure in judged(found):
        target = figure["target"]["value"]
        low, high = figure["ci95"] or (None, None)
        side = "at least" if figure["target"]["at_least"] else "at most"
        points.append(
            Point(
                figure["verdict"],
                f"{figure['label']} of {flow} ({side})",
                figure["mean"] / target,
                None if low is None else low / target,
                None if high is None else high / target,
                figure["n"],
            )
        )
    if not points:
        return None
    title = "Figures as multiples of their published target"
    return ranking_figure("answer", title, "multiple of the target", points, [ABOUT],
                          series=VERDICTS)  # fmt: skip


def figure_cells(figure: Mapping[str, Any]) -> list[Cell]:
    """The cells of a figure: label, mean, unit, interval, target, verdict."""
    form = Shown(figure["quantity"], figure["label"], figure["unit"])
    mean, interval = form.mean_cells(figure["mean"], figure["ci95"], figure["n"])
    if figure["deterministic"]:
        interval = Cell(SAME_IN_ALL)
    target = NO_TARGET
    if figure["target"]:
        target = Target(**figure["target"]).words(figure["unit"])
    verdict = figure["verdict"] or NONE
    return [
        Cell(figure["label"]),
        mean,
        Cell(form.column_unit),
        interval,
        Cell(target),
        Cell(verdict, verdict=CELLS.get(verdict, "none")),
    ]


COLUMNS = (
    Column("figure", numeric=False),
    Column("mean"),
    Column("unit", numeric=False),
    Column("95 % interval"),
    Column("target", numeric=False),
    Column("verdict", numeric=False),
)


def first_table(found: Mapping[str, Any]) -> Table:
    """The first figure of each application, those with a target, and what limits it."""
    rows = []
    for one in found["applications"]:
        name = one["flow"]
        for number, figure in enumerate(one["figures"]):
            if number == 0 or figure["target"]:
                limit = one["limited"]["by"] if number == 0 else ""
                label, mean, unit, _, target, verdict = figure_cells(figure)
                rows.append([Cell(name), label, mean, unit, target, verdict, Cell(limit)])
                name = ""
    columns = [Column("application", numeric=False)]
    columns += [column for column in COLUMNS if column.label != "95 % interval"]
    columns.append(Column("limited by", numeric=False))
    return Table("people", "Figures, targets and limits", columns, rows, is_short=True)


def section(one: Mapping[str, Any]) -> Section:
    """An application: what limits it, and all of its figures."""
    limit = one["limited"]
    said = limit["sentence"]
    if limit["by"] != "none":
        said = f"Limited by the {limit['by']}. {said}"
    rows = [figure_cells(figure) for figure in one["figures"]]
    # Names of flows are of the user, and could be those of other parts of the page.
    name = f"application-{one['flow']}"
    table = Table(f"{name}-figures", f"Figures of {one['flow']}", COLUMNS, rows)
    title = f"{one['title']}: {one['flow']}"
    return Section(name, title, [Text([said]), table], short=one["flow"])
