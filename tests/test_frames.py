"""Data frames of the API have the same columns and types, whatever the values are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.reproductions.judgement import Judged, Row
from bentpipe.reproductions.papers import ENDS, ends_of, frame_of
from bentpipe.study import Base, Comparison, Parameter, Replications, Study
from conftest import SMALL

if TYPE_CHECKING:
    from collections.abc import Callable

RUN_TABLES = ("flows", "links", "pages", "objects", "flow_series", "link_series")


def study(count: int, per: tuple[Any, ...] = (0.01, 0.02), duration: str = "60s") -> Any:
    """A study with `count` runs of each variant. In 1 s no download is complete."""
    made = Study.make(
        name="made",
        scenario=Base.of(SMALL.replace('"60s"', f'"{duration}"'), "small.toml"),
        parameters=[
            Parameter("controller", "flow.0.controller", ("cubic", "newreno")),
            Parameter("mean", "link.0.channel.per", per),
            Parameter("delay", "link.0.delay", ("10ms", "20ms")),
            Parameter("ecn", "flow.0.transport.ecn", (True, False)),
        ],
        quantities=["flow.completion_s", "flow.timeouts"],
        replications=Replications(count=count),
        comparisons=[Comparison("controller", "cubic")],
    )
    return made.run()


def compared(replications: int) -> Any:
    """A comparison with intervals, or without."""
    return bp.compare(
        "leo",
        controllers=["vegas"],
        workload=["bulk"],
        sets=["duration=3s"],
        replications=replications,
    )


def figures(replications: int) -> pl.DataFrame:
    """Figures of people with intervals, or without."""
    page = {"page": {"site": "search"}}
    flow = {"name": "page", "from": "a", "to": "b", "controller": "cubic", "traffic": page}
    link = {"between": ["a", "b"], "rate": "5Mbit/s", "delay": "20ms", "channel": {"per": 0.01}}
    scenario = bp.Scenario.build(duration="20s", link=[link], flow=[flow])
    return bp.experience(scenario, replications=replications).figures


def row(**values: Any) -> dict[str, Any]:
    """A row of a paper."""
    plain = Row("id", "goodput", "bit/s", None, None, None, None, None, "open", "")  # type: ignore[arg-type]
    found = {"paper": "one", **vars(plain), **values}
    return found | dict(zip(ENDS, ends_of(found["published"]), strict=True))


FRAMES: dict[str, list[Callable[[], pl.DataFrame]]] = {
    "means": [lambda: study(1).means, lambda: study(3).means,
              lambda: study(3, duration="1s").means],
    "rows": [lambda: study(1).rows, lambda: study(1, duration="1s").rows],
    "ranking": [lambda: compared(1).ranking, lambda: compared(3).ranking],
    "findings": [
        lambda: bp.evaluate("vegas", against=["cubic"], items=["wired"], quick=True).findings,
        lambda: bp.evaluate("vegas", against=["cubic"], items=["marks"], quick=True).findings,
    ],
    "figures": [lambda: figures(1), lambda: figures(3)],
    "values": [
        lambda: frame_of([], Row, ENDS),
        lambda: frame_of([row()], Row, ENDS),
        lambda: frame_of([row(published=2.0, measured=1.0, ci95=0.1)], Row, ENDS),
        lambda: frame_of([row(published=[1.0, 2.0]), row(published=2)], Row, ENDS),
    ],
    "statements": [
        lambda: frame_of([], Judged),
        lambda: frame_of([{"paper": "one", **vars(Judged(*"abcdefg"))}], Judged),
    ],
    **{
        name: [
            lambda name=name: bp.run(bp.Scenario.parse(SMALL)).table(name),  # type: ignore[misc]
            lambda name=name: bp.run(  # type: ignore[misc]
                bp.Scenario.parse(SMALL.replace('"60s"', '"10ms"'))
            ).table(name),
        ]
        for name in RUN_TABLES
    },
}  # fmt: skip
"""Frames of the API with all values, and with as few as possible."""


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_has_one_schema(name: str) -> None:
    frames = [made() for made in FRAMES[name]]
    assert pl.Null not in frames[0].dtypes
    for other in frames[1:]:
        assert other.schema == frames[0].schema
    assert pl.concat(frames).height == sum(frame.height for frame in frames)


def test_a_frame_of_means_has_the_types_of_its_parameters() -> None:
    found = study(1).means
    types = {name: found.schema[name] for name in found.columns[:4]}
    assert types == {"controller": pl.String, "link.0.channel.per": pl.Float64, "delay": pl.Int64,
                     "ecn": pl.Boolean}  # fmt: skip
    assert study(1, (0.01, "0.02")).means.schema["link.0.channel.per"] == pl.String


def test_a_published_range_has_both_ends() -> None:
    frame = frame_of([row(published=[1.0, 2.0]), row(published=3.0), row()], Row, ENDS)
    assert frame.select(ENDS).rows() == [(1.0, 2.0), (3.0, 3.0), (None, None)]
    assert frame["published"].to_list() == ["[1.0, 2.0]", "3.0", None]
