"""Counters of the mechanisms on the path: quantities of the studies of a comparison.

The names are the columns of the tables that the recordings of a scenario have, without those of
applications. So a new mechanism needs no line here. A counter is compared between controllers over
the same mechanism: the baseline of `bbr + go-back-n` is `cubic + go-back-n`, and that of
`bbr over quic` is `cubic over quic`.
"""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.compare.ranking import Differences
from bentpipe.console import table
from bentpipe.numbers import ends, scaled
from bentpipe.study import significance
from bentpipe.study.intervals import around
from bentpipe.study.pairs import defined
from bentpipe.study.quantities import RUN, TABLES, Quantity, Taken, domain_of, parse, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from bentpipe._native import Scenario
    from bentpipe.compare.outcome import Outcome

HEADINGS = ("counter", "<controller", "mean", "95 % interval", "<minus baseline")


def names(scenario: Scenario) -> tuple[str, ...]:
    """The quantities that a scenario has from its mechanisms, in the order of their tables."""
    found = []
    for name, columns in _native.number_columns().items():
        if name not in (RUN, *TABLES.values(), *_native.tables_of_applications()):
            taken = [parse(f"{name}.{column}") for column in columns]
            found += [
                f"{aggregate(one)}({name}.{one.column})"
                for one in taken
                if one.native().is_in(scenario)
            ]
    return tuple(found)


def aggregate(taken: Taken) -> str:
    """The aggregate of a column over the rows of a run: the total of what is counted."""
    prefix = taken.column.partition("_")[0]
    if prefix in ("mean", "min", "max"):
        return prefix
    return "sum" if taken.is_counted else "mean"


MEASURED = ("s", "ms", "bps", "bytes")
"""Last words of columns that are units. Others, such as `frames`, are what is counted."""


@dataclass(frozen=True)
class Value:
    """A counter of one controller over one mechanism: its mean, and its paired difference."""

    controller: str
    """Its name with the mechanism, as in the ranking."""
    n: int
    undefined: int
    mean: float | None
    ci95: tuple[float, float] | None
    against_baseline: dict[str, Any] | None
    deterministic: bool = False
    """True if all runs of the controller are the same."""


@dataclass(frozen=True)
class Counter:
    """One counter with its values for all controllers over one mechanism."""

    on_path: str
    quantity: str
    values: list[Value]

    @property
    def label(self) -> str:
        """The column in words, without a unit of time, rate or data: `repeated frames`."""
        column = parse(self.quantity).column
        words, _, suffix = column.rpartition("_")
        return (words if words and suffix in MEASURED else column).replace("_", " ")

    @property
    def heading(self) -> str:
        """The column in words, with a unit of time, rate or data."""
        measured = parse(self.quantity).column.rpartition("_")[2] in MEASURED
        return f"{self.label} {shown(self.quantity)[1]}" if measured else self.label

    @property
    def is_zero(self) -> bool:
        """True if it is zero in every run."""
        return not any(value.mean for value in self.values)


def counted(outcome: Outcome) -> list[Counter]:
    """The counters of all mechanisms of a workload, mechanism by mechanism.

    The differences of one mechanism are one family.
    """
    found = []
    for number, (members, results) in enumerate(zip(outcome.parts, outcome.studies, strict=True)):
        baselines = [one.name for one in members if one.controller == outcome.workload.baseline]
        baseline = baselines[0] if baselines else None
        tests: list[significance.PairedTest] = []
        pending = []
        for name in outcome.counter_names[number]:
            runs = outcome.values_in(results, name)
            by_name = {one.name: runs[n] for n, one in enumerate(members)}
            own = Differences(by_name, outcome.deterministic, domain_of(name))
            numbers = own.add((one, baseline) for one in by_name)
            pending.append((name, by_name, {one: len(tests) + n for one, n in numbers.items()}))
            tests += own.tests
        rows = significance.decided(tests)
        for name, by_name, numbers in pending:
            values = []
            for one, of_one in by_name.items():
                known = defined(of_one)
                fixed = one in outcome.deterministic
                values.append(
                    Value(
                        controller=one,
                        n=len(known),
                        undefined=len(of_one) - len(known),
                        mean=statistics.fmean(known) if known else None,
                        ci95=around(known, domain_of(name), deterministic=fixed),
                        against_baseline=rows[numbers[one]] if one in numbers else None,
                        deterministic=fixed,
                    )
                )
            found.append(Counter(members[0].on_path, name, values))
    return found


def to_dicts(outcome: Outcome) -> list[dict[str, Any]]:
    """The counters for `--json`."""
    return [
        {
            "on_path": counter.on_path,
            "quantity": counter.quantity,
            "label": counter.label,
            "unit": Quantity(counter.quantity).unit,
            "values": [asdict(value) for value in counter.values],
        }
        for counter in outcome.counted
    ]


def text_tables(counters: Sequence[Counter]) -> dict[str, Table]:
    """A table for the terminal for each mechanism, without what is zero in every run."""
    found: dict[str, Table] = {}
    for counter in counters:
        if not counter.is_zero:
            listed = found.setdefault(counter.on_path, table(*HEADINGS))
            for name, controller, *others in rows(counter):
                listed.add_row(name, controller.removesuffix(f" + {counter.on_path}"), *others)
    return found


def rows(counter: Counter) -> list[list[str]]:
    """One row for each controller."""
    factor, _ = shown(counter.quantity)
    return [
        [
            counter.heading,
            value.controller,
            scaled(value.mean, factor),
            ends(value.ci95, factor, n=value.n, deterministic=value.deterministic),
            significance.text(value.against_baseline, factor),
        ]
        for value in counter.values
    ]


def markdown(outcome: Outcome) -> list[str]:
    """The counters of a workload as lines of Markdown; none without mechanisms."""
    if not outcome.counted:
        return []
    lines = ["", f"### Counters: {outcome.title}", ""]
    lines += [f"| {' | '.join(one.lstrip('<') for one in HEADINGS)} |"]
    lines += [f"|{'---|' * len(HEADINGS)}"]
    return lines + [
        f"| {' | '.join(row)} |" for counter in outcome.counted for row in rows(counter)
    ]
