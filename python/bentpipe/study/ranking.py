"""The ranking of the values of a parameter in each condition, and the tests of a study.

All differences that the answer and the tables of a study show are one family: those from the
baselines of its comparisons, and those from the best value of each condition. So no sentence finds
significant what a table does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.study.pairs import Runs, compared_runs, mean, order_of, undefined
from bentpipe.study.quantities import better
from bentpipe.study.significance import decided, finding_of, is_tied

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from bentpipe.study.parameters import Parameter, Value
    from bentpipe.study.plan import Comparison, Study, Variant
    from bentpipe.study.quantities import Quantity

Values = Mapping[int, Runs]
"""Values of one quantity, by variant and replication."""
Pair = tuple[str, int, int]
"""A quantity, a variant, and the variant that it is compared with."""
Family = dict[Pair, dict[str, Any]]
"""The decided tests of a study."""

GIVEN = frozenset(
    {"delay", "per", "ber", "jitter", "es_n0", "eb_n0", "attenuation", "trace", "seed"}
)
"""Last parts of paths that the link gives. They are no choice."""
NEARLY = 0.95
"""Share of the best mean that counts as nearly the best. Our choice."""


@dataclass(frozen=True)
class Ranked:
    """The values of the chosen parameter, and of those that change with it, in one condition.

    The best is the first.
    """

    condition: Mapping[str, Value]
    """The values of the other parameters by their paths."""
    variants: Sequence[int]
    """The numbers of the variants of the names."""
    names: Sequence[str]
    runs: Mapping[str, int]
    undefined: Mapping[str, int]
    """Number of the runs without a value of the quantity."""
    means: Mapping[str, float | None]
    """Means of the runs with a value."""
    against_best: Mapping[str, Mapping[str, Any]]
    """The test of each other value and the best, in the family of the study."""

    def is_equal(self, name: str) -> bool:
        """True if enough runs show no difference of a value from the best."""
        row = self.against_best[name]
        return is_tied(row) and finding_of(row) not in ("too few", "undefined")

    def lacks(self, name: str) -> bool:
        """True if a value is undefined in more runs than the best, and so ranks below it."""
        return self.undefined[name] > self.undefined[self.names[0]]

    @property
    def best(self) -> list[str]:
        """The best value and the values tied with it; empty if every run is undefined."""
        first, *others = self.names
        if self.means[first] is None:
            return []
        return [first, *(name for name in others if is_tied(self.against_best[name]))]

    def is_near(self, name: str) -> bool:
        """True if the mean of a value is nearly that of the best."""
        return is_near(self.means[name], self.means[self.names[0]])


def is_near(own: float | None, top: float | None) -> bool:
    """True if two means are defined and differ by at most 5 % of the second."""
    if own is None or top is None:
        return False
    return abs(own - top) <= (1 - NEARLY) * abs(top)


def chosen_parameter(study: Study) -> Parameter | None:
    """The parameter whose value the study chooses; None if it has only one variant."""
    several = [one for one in study.parameters if len(one.values) > 1]
    compared = {one.parameter for one in study.comparisons}
    for wanted in (
        [one for one in several if one.label in compared],
        [one for one in several if one.names_controllers],
        [one for one in several if not is_given(one)],
        several,
    ):
        if wanted:
            return wanted[0]
    return None


def is_given(parameter: Parameter) -> bool:
    """True for a property of the link, such as its delay, which is not a choice."""
    return parameter.path.rpartition(".")[2] in GIVEN


def moved_with(study: Study, parameter: Parameter) -> set[str]:
    """The paths of the parameters that change together with one, itself included."""
    together = next((group for group in study.zips if parameter.label in group), (parameter.label,))
    return {one.path for one in study.parameters if one.label in together}


def together(study: Study, parameter: Parameter) -> list[Parameter]:
    """A parameter, and those with several values that change together with it."""
    moved = moved_with(study, parameter)
    others = [one for one in study.parameters if one.path in moved and len(one.values) > 1]
    return [parameter, *(one for one in others if one is not parameter)]


def label_of(study: Study, parameter: Parameter) -> str:
    """The labels of the parameters that change together: `rate with queue`."""
    first, *others = (one.label for one in together(study, parameter))
    return f"{first} with {' and '.join(others)}" if others else first


def value_of(study: Study, parameter: Parameter, values: Mapping[str, Value]) -> str:
    """The values of the parameters that change together: `2 Mbit/s with queue 20 packets`."""
    first, *others = together(study, parameter)
    texts = [f"{one.label} {with_unit(one, values[one.path])}" for one in others]
    own = with_unit(first, values[first.path])
    return f"{own} with {' and '.join(texts)}" if texts else own


def with_unit(parameter: Parameter, value: Value) -> str:
    """A value with the unit of its parameter, if it has one."""
    return f"{value} {parameter.unit}" if parameter.unit else str(value)


def rest_of(study: Study, parameter: Parameter, variant: Variant) -> dict[str, Value]:
    """The condition of a variant: the values of all parameters that are not chosen."""
    moved = moved_with(study, parameter)
    return {path: value for path, value in variant.parameters.items() if path not in moved}


def compared(study: Study, comparison: Comparison) -> list[tuple[Variant, Variant]]:
    """Each variant of a comparison that is not the baseline, with its baseline."""
    parameter = next(one for one in study.parameters if one.label == comparison.parameter)
    baseline = repr(parameter.plain[parameter.values.index(comparison.baseline)])
    bases = [one for one in study.variants if repr(one.parameters[parameter.path]) == baseline]
    against = {repr(rest_of(study, parameter, one)): one for one in bases}
    return [
        (one, against[repr(rest_of(study, parameter, one))])
        for one in study.variants
        if one not in bases
    ]


def orders(
    study: Study, parameter: Parameter, quantity: Quantity, found: Values
) -> list[list[Variant]]:
    """The variants of each condition that have runs, best first."""
    groups: dict[str, list[Variant]] = {}
    for variant in study.variants:
        if found.get(variant.number):
            groups.setdefault(repr(rest_of(study, parameter, variant)), []).append(variant)
    higher = better(quantity.name) == "higher"
    return [
        sorted(group, key=lambda one: order_of(found[one.number], higher_is_better=higher))
        for group in groups.values()
    ]


def directed(study: Study) -> list[Quantity]:
    """The quantities that have a better direction. The first is that of the answer."""
    return [one for one in study.quantities if better(one.name)]


def from_baselines(study: Study) -> Iterator[Pair]:
    """The pairs of the comparisons of a study."""
    for comparison in study.comparisons:
        for quantity in study.quantities:
            if not comparison.quantities or quantity.name in comparison.quantities:
                for this, that in compared(study, comparison):
                    yield quantity.name, this.number, that.number


def from_best(study: Study, found: Mapping[str, Values]) -> Iterator[Pair]:
    """Each other value of the chosen parameter, with the best of its condition."""
    parameter = chosen_parameter(study)
    if parameter is None:
        return
    for quantity in directed(study):
        for best, *others in orders(study, parameter, quantity, found[quantity.name]):
            for one in others:
                yield quantity.name, one.number, best.number


def family(study: Study, found: Mapping[str, Values], fixed: Collection[int]) -> Family:
    """All differences that a study shows, tested together. `fixed` are deterministic variants.

    A difference from the best that is also one from a baseline is tested once.
    """
    pairs = dict.fromkeys(from_baselines(study))
    for name, this, that in from_best(study, found):
        if (name, that, this) not in pairs:
            pairs[name, this, that] = None
    domains = {one.name: one.domain() for one in study.quantities}
    tests = [
        compared_runs(
            found[name][this],
            found[name][that],
            deterministic=this in fixed and that in fixed,
            domain=domains[name],
        )
        for name, this, that in pairs
    ]
    return dict(zip(pairs, decided(tests), strict=True))


def rankings(
    study: Study, found: Mapping[str, Values], fixed: Collection[int]
) -> dict[str, list[Ranked]]:
    """The values of the chosen parameter in each condition, by quantity, best first.

    Only quantities with a better direction are ranked.
    """
    parameter = chosen_parameter(study)
    if parameter is None:
        return {}
    rows = family(study, found, fixed)
    made = {}
    for quantity in directed(study):
        runs = found[quantity.name]
        made[quantity.name] = [
            ranked(study, parameter, order, runs, {
                one.number: rows.get((quantity.name, one.number, order[0].number))
                or rows[quantity.name, order[0].number, one.number]
                for one in order[1:]
            })
            for order in orders(study, parameter, quantity, runs)
        ]  # fmt: skip
    return made


def ranked(
    study: Study,
    parameter: Parameter,
    order: Sequence[Variant],
    runs: Values,
    rows: Mapping[int, Mapping[str, Any]],
) -> Ranked:
    """One condition with its variants in order, and their tests against the first."""
    names = {one.number: value_of(study, parameter, one.parameters) for one in order}
    return Ranked(
        condition=rest_of(study, parameter, order[0]),
        variants=list(names),
        names=list(names.values()),
        runs={name: len(runs[number]) for number, name in names.items()},
        undefined={name: undefined(runs[number]) for number, name in names.items()},
        means={name: mean(runs[number]) for number, name in names.items()},
        against_best={names[number]: row for number, row in rows.items()},
    )
