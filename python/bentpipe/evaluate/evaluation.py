"""An evaluation by the checklist of RFC 9743 as an object: `bentpipe.evaluate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from bentpipe.arguments import text, texts
from bentpipe.compare.candidates import is_own
from bentpipe.compare.events import phase_of
from bentpipe.compare.folder import run_in_turn, taken
from bentpipe.console import nearest
from bentpipe.errors import InputError
from bentpipe.evaluate import answer, tables
from bentpipe.evaluate.checklist import CHECKLIST, PEOPLE, Item, method
from bentpipe.evaluate.findings import Finding, findings, sentences
from bentpipe.evaluate.items import QUICK_REPLICATIONS, REPLICATIONS, link_of, planned
from bentpipe.evaluate.needs import Need, needs
from bentpipe.prototypes.spec import listed
from bentpipe.seal import sealed
from bentpipe.study.quantities import shown
from bentpipe.study.store import as_json, save

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    import polars as pl

    from bentpipe.compare.folder import Progress
    from bentpipe.study import Results
    from bentpipe.study.answer import Answer

__all__ = ["Evaluation", "Need", "Report"]
"""The classes of results, for the API reference."""


Phase = Literal["random", "fixed"]


@dataclass(frozen=True)
class Report:
    """An item with its findings."""

    item: Item
    found: list[Finding]
    runs: int
    events: dict[str, Any] | None
    """When the events of its links happen; None without events."""


@dataclass(frozen=True)
class Evaluation:
    """Findings of a controller by the checklist of RFC 9743, compared with baselines.

    `summary` is the object that `bentpipe evaluate --json` prints. `complete` is false after
    Ctrl-C.
    """

    controller: str
    against: Sequence[str]
    reports: Sequence[Report]
    """The items that are complete, with their findings."""
    needs: Sequence[Need]
    """The controllers that depend on routers or settings that some items do not provide."""
    studies: Mapping[str, Results]
    """The results of the studies by the names of the items."""
    summary: Mapping[str, Any]

    @property
    def complete(self) -> bool:
        """True if all items are complete."""
        return bool(self.summary["complete"])

    @property
    def answer(self) -> Answer:
        """Three sentences: `choose` (the finding), `costs` and `sure`."""
        return answer.answer(self.summary)

    @property
    def labelled(self) -> dict[str, str]:
        """The answer with its labels, and what the controllers need that the items do not have."""
        return answer.labelled(self.summary)

    @property
    def findings(self) -> pl.DataFrame:
        """One row for each item, case, quantity and baseline.

        Values are in `unit`. `low` and `high` are the ends of the 95 % interval of the difference,
        `finding` is `better`, `worse`, `not distinguishable`, `deterministic` or `undefined`.
        """
        import polars as pl

        rows = []
        for report in self.reports:
            for one in report.found:
                factor, unit = shown(one.quantity)
                for row in one.against:
                    low, high = row.ci95 or (None, None)
                    ends = (one.mean, row.mean, row.difference, low, high)
                    values = [None if end is None else end * factor for end in ends]
                    about = (report.item.name, report.item.section, one.case, one.quantity, unit)
                    rows.append((*about, row.baseline, *values, row.n, row.finding))
        names = {
            "item": pl.String, "section": pl.String, "case": pl.String, "quantity": pl.String,
            "unit": pl.String, "baseline": pl.String, "mean": pl.Float64,
            "baseline_mean": pl.Float64, "difference": pl.Float64, "low": pl.Float64,
            "high": pl.Float64, "n": pl.Int64, "finding": pl.String,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=names, orient="row")

    def to_pandas(self) -> Any:
        """The findings as a data frame of pandas; `BentpipeError` if pandas is not installed."""
        from bentpipe.frames import to_pandas

        return to_pandas(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The object that `bentpipe evaluate --json` prints."""
        return dict(self.summary)

    def table(self) -> str:
        """The findings as Markdown."""
        return tables.markdown(self.reports, self.controller, self.against, self.needs)

    def blocks(self, width: int | None = None) -> list[Any]:
        """The items with their findings: texts, and tables of at most `width` columns."""
        found: list[Any] = []
        for report in self.reports:
            title = f"{report.item.section} {report.item.title}"
            found += [title, tables.text_table(report.found, width), *sentences(report.found)]
        return found

    def __str__(self) -> str:
        from bentpipe.shown import WIDTH, as_text

        return as_text({"Evaluated": self.title} | self.labelled, self.blocks(WIDTH))

    @property
    def title(self) -> str:
        """The controller and its baselines."""
        return f"{self.controller} compared with {', '.join(self.against)}"

    def __repr__(self) -> str:
        partial = "" if self.complete else ", partial"
        return f"<Evaluation of {self.controller!r}, {len(self.reports)} items{partial}>"

    def _repr_html_(self) -> str:
        from bentpipe.shown import as_html

        how = method(report.item.section for report in self.reports)
        return as_html(f"{self.title}, {how}", self.labelled, self.blocks())


def evaluate(
    controller: str,
    *,
    against: Sequence[str] = ("cubic", "newreno"),
    items: Sequence[str] | None = None,
    workload: Sequence[str] | None = None,
    phase: Phase = "random",
    quick: bool = False,
    workers: int | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate a controller by the checklist of RFC 9743 (BCP 133), as `bentpipe evaluate` does.

    `controller` is a name, a name with parameters (`"hybla:rtt0=0.05"`) or a class in Python
    (`"mine.py:Mine"`); `against` are its baselines. `items` are names of the checklist, by default
    all (docs/evaluate.md). `workload` are names of workloads of people, which are run alone unless
    there are `items`. `phase` is that of the events of links. `quick` takes 3 seeds instead of
    20. With `out` the studies are kept in this folder, and the same call continues there.

    `progress` is called with the number of finished runs. `InputError` for invalid names, before
    anything runs. Ctrl-C returns the items that are complete, with `complete` false.
    """
    if phase not in get_args(Phase):
        raise InputError.of_value("phase", "'random' or 'fixed'", repr(phase))
    expected = "a name such as 'hybla', or a text such as 'mine.py:Mine'"
    text("controller", controller, expected)
    baselines = baselines_of(controller, ",".join(texts("against", against, "cubic")))
    chosen = items_of(
        None if items is None else texts("items", items, CHECKLIST[0].name),
        None if workload is None else texts("workload", workload, PEOPLE[0].name),
    )
    folder = None if out is None else Path(out)
    return run(controller, baselines, chosen, phase, quick, workers, folder, progress=progress)


def run(
    candidate: str,
    against: Sequence[str],
    chosen: Sequence[Item],
    phase: str,
    quick: bool,
    workers: int | None,
    out: Path | None,
    command: Sequence[str] = (),
    progress: Progress | Literal["late"] | None = None,
) -> Evaluation:
    """Run the items of the checklist, and keep their studies in the folder `out`."""
    replications = QUICK_REPLICATIONS if quick else REPLICATIONS
    studies = {item.name: planned(item, candidate, against, phase, replications) for item in chosen}
    plan = {"evaluate": candidate, "against": [*against], "asked": list(studies)}
    folder = taken(out, "evaluate", studies, plan) if out else None
    results = run_in_turn(f"evaluation of {candidate}", studies, folder, workers, progress)
    reports = [
        Report(
            item,
            findings(item, candidate, against, found),
            found.summary["runs"],
            phase_of([link_of(item, phase)]),
        )
        for item, found in zip(chosen, results, strict=False)
    ]
    complete = len(reports) == len(chosen)
    needed = needs(candidate, against, chosen)
    made = tables.to_dict(reports, plan, needed) | {"complete": complete, "command": [*command]}
    summary = sealed(made)
    if folder:
        save(folder / "evaluate.json", as_json(summary))
        save(folder / "evaluate.md", tables.markdown(reports, candidate, against, needed).encode())
    by_item = dict(zip(studies, results, strict=False))
    return Evaluation(candidate, against, reports, needed, by_item, summary)


def baselines_of(candidate: str, baselines: str) -> list[str]:
    """The baselines of the candidate; `InputError` for a controller that does not exist."""
    against = [name for name in listed("--against", baselines) if name != candidate]
    for name, option in ((candidate, "CONTROLLER"), *((name, "--against") for name in against)):
        is_own(name, option)  # which rejects what does not exist
    if not against:
        raise InputError(f"--against: expected another controller than {candidate}")
    return against


def items_of(names: Sequence[str] | None, workload: Sequence[str] | None = None) -> list[Item]:
    """The items and workloads with these names; all items of the checklist without any names.

    `InputError` for an item or a workload that does not exist.
    """
    if names is None and workload is None:
        return list(CHECKLIST)
    found: list[Item] = []
    for kind, option, listed_there, wanted in (
        ("item", "--items", CHECKLIST, names),
        ("workload", "--workload", PEOPLE, workload),
    ):
        known = {item.name: item for item in listed_there}
        for name in wanted or ():
            if name not in known:
                expected = f"{nearest(name, known)}; expected {', '.join(known)}"
                raise InputError(f"{option}: there is no {kind} {name!r}{expected}")
            found.append(known[name])
    return list(dict.fromkeys(found))
