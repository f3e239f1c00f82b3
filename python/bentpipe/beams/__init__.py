"""Results of beams by group, searches for the number of terminals, rankings of controllers."""

from bentpipe.beams.groups import Answer, answer
from bentpipe.beams.ranking import Ranking, Rankings, compare
from bentpipe.beams.search import BOUNDS, Bound, Found, NeverMetError, find_terminals

__all__ = [
    "BOUNDS",
    "Answer",
    "Bound",
    "Found",
    "NeverMetError",
    "Ranking",
    "Rankings",
    "answer",
    "compare",
    "find_terminals",
]
