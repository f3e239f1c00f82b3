"""Names of terminals and of flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe import _native

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


def group_of(node: str, groups: Collection[str]) -> str | None:
    """The one of these groups of terminals that a name is of, or whose terminal it names."""
    if node in groups:
        return node
    group = _native.group_of_terminal(node)
    return group if group in groups else None


def flow_name(flow: Mapping[str, Any], number: int) -> str:
    """The name of a `[[flow]]`, by its number in the scenario."""
    return str(flow.get("name", f"flow-{number}"))


def flow_names(flows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of all of them."""
    return [flow_name(flow, number) for number, flow in enumerate(flows)]
