"""The live page as an object of a program, which a notebook shows in a frame."""

from __future__ import annotations

from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe._native import Scenario
from bentpipe.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

HEIGHT = 900
"""Pixels of the frame in a notebook."""


class Lab:
    """A live page of a scenario, served on this machine until `close`.

    `scenario` is a `Scenario`, a scenario file, or the name of a built-in link; by default the
    link of `bentpipe lab`. The page does not change the object. `controllers` are from 1 to 8
    names, `seed` is from 0 to 2**63 - 1, and `port` from 1 to 65535. `InputError` for other values,
    and for a `port` that is in use.
    """

    def __init__(
        self,
        scenario: Scenario | str | PathLike[str] | None = None,
        *,
        controllers: Sequence[str] | None = None,
        seed: int | None = None,
        port: int | None = None,
    ) -> None:
        from bentpipe.compare.links import presets
        from bentpipe.lab.server import Server
        from bentpipe.lab.state import initial, initial_of

        if isinstance(scenario, Scenario) or (isinstance(scenario, str) and scenario in presets()):
            state = initial_of(scenario, controllers, seed)
        elif scenario is None or isinstance(scenario, str | PathLike):
            file = None if scenario is None else Path(scenario)
            state = initial(file, (), controllers, seed)
        else:
            expected = "a Scenario, a file or the name of a built-in link"
            raise InputError.of_value("scenario", expected, type(scenario).__name__)
        self._server = Server(state, port)

    @property
    def address(self) -> str:
        """The address of the page, with its token."""
        return self._server.address

    def close(self) -> None:
        """Stop all runs, and end the page."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Lab of {self._server.state.scenario.name!r} at {self.address}>"

    def _repr_html_(self) -> str:
        address = escape(self.address)
        return (
            f'<iframe src="{address}" title="Bentpipe lab" width="100%" height="{HEIGHT}"></iframe>'
            f'<p><a href="{address}" target="_blank">Open the page in a tab</a></p>'
        )
