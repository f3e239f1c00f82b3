"""Rankings of a reproduction: candidates by several quantities, with paired intervals.

A reproduction whose module `experiments` has the function `rankings` has them. They are part of the
results (`rows.json`) and of the page, beside the statements.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.compare.ranking import ranked
from bentpipe.study.significance import is_deterministic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.compare.ranking import Runs


@dataclass(frozen=True)
class Quantity:
    """What candidates are ranked by."""

    name: str
    title: str
    unit: str
    higher_is_better: bool


@dataclass(frozen=True)
class Standing:
    """A candidate in one quantity.

    `rank`: None without a value in any run. `tied`: not significantly different from the best.
    `missing`: runs in which it is undefined.
    """

    mean: float | None
    ci95: tuple[float, float] | None
    rank: int | None
    tied: bool
    missing: int


@dataclass(frozen=True)
class Ranking:
    """All candidates of one condition. `standings` are by candidate and quantity."""

    name: str
    title: str
    runs: int
    quantities: Sequence[Quantity]
    standings: Mapping[str, Mapping[str, Standing]]

    def best(self, quantity: str) -> list[str]:
        """The candidates, best first."""

        def key(name: str) -> tuple[bool, int]:
            rank = self.standings[name][quantity].rank
            return rank is None, rank or 0

        return sorted(self.standings, key=key)

    def tied(self, quantity: str) -> list[str]:
        """The candidates that are not significantly different from the best."""
        return [name for name in self.best(quantity) if self.standings[name][quantity].tied]

    def to_dict(self) -> dict[str, Any]:
        """The object in `rows.json`."""
        return asdict(self)


def ranking(name: str, title: str, values: Mapping[Quantity, Mapping[str, Runs]]) -> Ranking:
    """Rank the candidates of a condition by each quantity; `values` are by candidate and run."""
    standings: dict[str, dict[str, Standing]] = {}
    runs = 0
    names = dict.fromkeys(name for found in values.values() for name in found)
    fixed = [
        name
        for name in names
        if is_deterministic(found[name] for found in values.values() if name in found)
    ]
    for quantity, found in values.items():
        runs = max(map(len, found.values()))
        higher = quantity.higher_is_better
        places = ranked(found, higher_is_better=higher, baseline=None, fixed=fixed)
        for place in places:
            standings.setdefault(place.name, {})[quantity.name] = Standing(
                place.mean, place.ci95, place.rank, place.tied, place.undefined
            )
    return Ranking(name, title, runs, list(values), standings)


def of_dict(held: Mapping[str, Any]) -> Ranking:
    """A ranking from `rows.json`."""
    return Ranking(
        held["name"],
        held["title"],
        held["runs"],
        [Quantity(**one) for one in held["quantities"]],
        {
            name: {quantity: Standing(**one) for quantity, one in by_quantity.items()}
            for name, by_quantity in held["standings"].items()
        },
    )
