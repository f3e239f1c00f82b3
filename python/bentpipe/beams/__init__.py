"""Results of beams by group of terminals, and the search for the largest number of terminals."""

from bentpipe.beams.groups import Answer, answer
from bentpipe.beams.search import BOUNDS, Bound, Found, NeverMetError, find_terminals

__all__ = ["BOUNDS", "Answer", "Bound", "Found", "NeverMetError", "answer", "find_terminals"]
