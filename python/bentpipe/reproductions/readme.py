"""Writes the results into the README files of the reproductions, so that they cannot drift.

The numbers of the present reading in `trials.json`, which reasons quote, are updated too.

    python -m bentpipe.reproductions.readme DIR

`DIR` is a folder of `bentpipe papers run --out DIR` with all papers and with `--data`, which some
of them need. The text between the markers
`<!-- results of NAME -->` and `<!-- end of results -->` is replaced: the statements in the README
of each reproduction, the downloads of ADaLR in that of the project, and the counts of all papers in
docs/reproductions.md.
"""

from __future__ import annotations

import json
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.numbers import NONE, significant
from bentpipe.reproductions.judgement import HEADINGS, Judged, Row, Summary, summarise
from bentpipe.reproductions.rankings import of_dict
from bentpipe.reproductions.readings import (
    NO_REASON,
    PRESENT,
    TRIALS,
    explain,
    numbers_of,
    read_readings,
    read_trials,
)
from bentpipe.reproductions.reproduction import find, names
from bentpipe.reproductions.tables import (
    HEADER,
    deviation,
    lines_of,
    measured,
    measured_of,
    published,
    published_of,
)
from bentpipe.reproductions.trials import as_text, numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.reproductions.readings import Reading
    from bentpipe.reproductions.reproduction import Reproduction

END = "<!-- end of results -->"
PROJECT = Path(__file__).resolve().parents[3] / "README.md"
OVERVIEW = PROJECT.parent / "docs" / "reproductions.md"


TRIED = (
    "`python -m bentpipe.reproductions.trials` runs these trials, each with all seeds, and writes"
    " their numbers."
)


class Results:
    """What a run of one paper measured."""

    def __init__(self, paper: dict[str, Any]) -> None:
        self.reproduction: Reproduction = find(paper["paper"])
        self.rows = {row["id"]: Row(**row) for row in paper["rows"]}
        self.statements = [
            Judged(**{key: one[key] for key in Judged.__annotations__})
            for one in paper["statements"]
        ]
        self.summary: Summary = summarise(self.statements, list(self.rows.values()))
        self.rankings = [of_dict(one) for one in paper.get("rankings", ())]
        self.trials = read_trials(self.reproduction.folder)
        measured = numbers(self.statements, list(self.rows.values()))
        self.trials[PRESENT] = self.trials.get(PRESENT, {}) | measured

    @cached_property
    def readings(self) -> list[Reading]:
        """The readings, with what this run measured in the present one."""
        return read_readings(self.reproduction.folder, numbers_of(self.trials))


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown."""
    cells = [list(header), ["---"] * len(header), *map(list, lines)]
    return [f"| {' | '.join(cell.replace('|', ' ') for cell in line)} |" for line in cells]


def counts(results: Results) -> list[str]:
    """The table of counts of one paper."""
    lines = lines_of("statements", results.summary)
    return markdown(["", *HEADER[1:]], [[cell.strip() for cell in line] for line in lines])


def statements(results: Results) -> list[str]:
    """The counted statements with their judgements, one table for each kind; all if none counts."""
    text: list[str] = []
    counted = any(one.counted for one in results.statements)
    for kind, heading in HEADINGS.items():
        lines = [
            [
                f"{one.quantity} (`{one.id}`)",
                published_of(one, results.rows),
                measured_of(one, results.rows),
                one.judgement,
            ]
            for one in results.statements
            if one.kind == kind and (one.counted or not counted)
        ]
        if lines:
            header = [heading, "published", "measured", "judgement"]
            text += ["", *markdown(header, lines)]
    return text


def reasons(results: Results) -> list[str]:
    """Why statements are not reproduced."""
    found: dict[str, list[str]] = {}
    for one in results.statements:
        if one.counted and one.verdict != "reproduced":
            known = explain(results.readings, one.id).reasons or [
                f"{NO_REASON[0].upper()}{NO_REASON[1:]}."
            ]
            found.setdefault(" ".join(known), []).append(f"`{one.id}`")
    return [f"- {', '.join(ids)}: {reason}" for reason, ids in found.items()]


def removals(results: Results) -> list[str]:
    """Rows that are not counted, with their proofs."""
    found: dict[tuple[str, str], int] = {}
    for row in results.rows.values():
        if row.removed:
            key = (row.removed, row.proof)
            found[key] = found.get(key, 0) + 1
    return [
        f"- {reason}, {count} {'row' if count == 1 else 'rows'}: {proof}."
        for (reason, proof), count in found.items()
    ]


def trials(results: Results) -> list[str]:
    """Readings that were tried and not taken."""
    tried = [trial for one in results.readings for trial in one.tried]
    return [f"- {trial.what}: {trial.result}" for trial in tried]


def section(results: Results) -> str:
    """The text between the markers of one reproduction's README."""
    tried = trials(results)
    parts: list[str] = [*counts(results), *statements(results)]
    for title, lines in (
        ("Reasons for what is not reproduced", reasons(results)),
        ("Not counted", removals(results)),
        ("Readings that were tried", tried),
    ):
        if lines:
            parts += ["", f"### {title}", "", *([TRIED, ""] if lines is tried else []), *lines]
    return "\n".join(parts)


MARKS = {"agrees": "{}", "disagrees": "**{}**", "undecided": "({})"}
"""How a table of conditions shows a judgement."""


def conditions(results: Results) -> str:
    """The measured rows of claims, with a column for each condition."""
    lines: dict[str, dict[str, str]] = {}
    for row in results.rows.values():
        if row.measured is not None and row.judgement in MARKS:
            claim, _, condition = row.id.rpartition("/")
            cell = MARKS[row.judgement].format(significant(row.measured, 3))
            lines.setdefault(claim, {})[condition] = cell
    columns = results.reproduction.publication.conditions
    cells = [
        [f"`{claim}`", *(line.get(one.replace(" ", "-"), "") for one in columns)]
        for claim, line in lines.items()
    ]
    return "\n".join(markdown(["claim and transport", *columns], cells))


BEST = 3
"""Candidates of a ranking in the README."""


def rankings(results: Results) -> str:
    """The best of every ranking of a survey."""
    lines = []
    for one in results.rankings:
        for quantity in one.quantities:
            unit = "" if quantity.unit == "1" else f" {quantity.unit}"
            best = [
                f"{name}{'=' if at.tied else ''} ({significant(at.mean, 3)}{unit})"
                for name in one.best(quantity.name)[:BEST]
                for at in [one.standings[name][quantity.name]]
            ]
            title = one.title if quantity is one.quantities[0] else ""
            lines.append([title, quantity.title, *best])
    header = ["condition", "quantity", "best", "second", "third"]
    return "\n".join(markdown(header, lines))


def overview(found: Sequence[Results]) -> str:
    """The table of all papers in docs/reproductions.md."""
    lines = []
    for results in found:
        name = results.reproduction.name
        link = f"[{results.reproduction.short}](../python/bentpipe/reproductions/{name}/README.md)"
        for first, *rest in lines_of(link, results.summary):
            lines.append([first.strip(), *(cell or NONE for cell in rest)])
    return "\n".join(markdown(HEADER, lines))


def downloads(adalr: Results) -> str:
    """The downloads without loss of the ADaLR papers, for the README of the project."""
    lines = [
        [
            row.quantity.removeprefix("FTP download, no loss, "),
            published(row),
            measured(row),
            deviation(row),
        ]
        for acks in ("undelayed", "delayed")
        for variant in ("sack", "adalr-sack")
        for row in [adalr.rows[f"ftp/no-loss/{variant}/{acks}"]]
    ]
    header = ["download time", "published (s)", "measured (s)", "deviation"]
    return "\n".join(markdown(header, lines))


def replace(text: str, made: Mapping[str, str]) -> str:
    """`text` with other parts between the markers."""
    for name, part in made.items():
        marker = f"<!-- results of {name} -->"
        before, begin, rest = text.partition(marker)
        _, end, after = rest.partition(END)
        if not begin or not end:
            raise ValueError(f"expected {marker} and {END}")
        text = f"{before}{marker}\n{part}\n{END}{after}"
    return text


def readmes(papers: Sequence[dict[str, Any]]) -> dict[Path, str]:
    """The text of every README and `trials.json` for the objects of `rows.json` of all papers."""
    found = {paper["paper"]: Results(paper) for paper in papers}
    made = {
        PROJECT: {"downloads": downloads(found["adalr"])},
        OVERVIEW: {"papers": overview(list(found.values()))},
    }
    for name, results in found.items():
        parts = {"statements": section(results)}
        if results.rankings:
            parts["rankings"] = rankings(results)
        if results.reproduction.publication.conditions:
            parts["conditions"] = conditions(results)
        made[Path(__file__).parent / name / "README.md"] = parts
    texts = {path: replace(path.read_text(encoding="utf-8"), text) for path, text in made.items()}
    return texts | {
        Path(__file__).parent / name / TRIALS: as_text(results.trials)
        for name, results in found.items()
    }


def main(folder: Path) -> None:
    """Rewrite all README files."""
    papers = [
        json.loads((folder / name / "rows.json").read_text(encoding="utf-8"))["papers"][0]
        for name in names()
    ]
    for path, text in readmes(papers).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
