"""Workloads of people in comparisons and evaluations: pages, videos, calls and speed tests."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.compare import candidates, counters, links, parts
from bentpipe.compare import mechanisms as on_path
from bentpipe.compare.workloads import DEFAULT, LABELS, WORKLOADS, named, workloads
from bentpipe.errors import InputError
from bentpipe.evaluate.checklist import PEOPLE
from bentpipe.report.compare import compare_page
from bentpipe.study.quantities import Quantity
from test_tables import at_widths

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

FOUR = ("page", "video", "call", "speedtest")
SMALL = ("--link", "meo", "--rate", "5Mbit/s", "--replications", "3", "--controllers", "cubic,bbr3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of three controllers in four workloads of people."""
    place = tmp_path_factory.mktemp("people") / "out"
    bp.compare(
        "meo", rate="5Mbit/s", controllers=["cubic", "bbr3"], workload=FOUR, replications=3,
        out=place,
    )  # fmt: skip
    return place


def test_four_workloads_of_people_are_ranked_by_their_figures(folder: Path) -> None:
    found = json.loads((folder / "compare.json").read_text())
    assert [row["workload"] for row in found["workloads"]] == list(FOUR)
    assert found["link"]["fade"] is None, "no workload has the fade"
    assert not any("fade" in line for line in found["link"]["about"])
    for row in found["workloads"]:
        means = [place["mean"] for place in row["ranking"]]
        assert means == sorted(means, reverse=row["higher_is_better"])
        assert {place["controller"] for place in row["ranking"]} == {"cubic", "newreno", "bbr3"}
        for one in row["beside"]:
            assert all(one["quantity"] in place["also"] for place in row["ranking"])
        # Tables of applications are figures, and no counters of mechanisms.
        assert not row["counters"]


def test_the_mos_of_a_ranking_is_that_of_the_worse_direction_in_its_runs(folder: Path) -> None:
    found = json.loads((folder / "compare.json").read_text())
    (row,) = (one for one in found["workloads"] if one["workload"] == "call")
    place = next(one for one in row["ranking"] if one["controller"] == "cubic")
    scenario = named("call").scenario(links.of_preset("meo", rate="5Mbit/s"), "cubic")
    values: list[float] = []
    for seed in range(scenario.seed, scenario.seed + 3):
        call = bp.run(scenario, seed=seed).recording.table("call")
        assert call.height == 2
        values.append(min(pl.DataFrame(call)["mos"].to_list()))
    assert place["mean"] == pytest.approx(sum(values) / 3)


def test_a_call_is_a_fixed_stream_that_shares_the_queue_with_the_candidate() -> None:
    link = links.of_preset("geo-ku")
    flows = tomllib.loads(named("call").scenario(link, "hybla").to_toml())["flow"]
    download, call, background = flows
    assert (download["name"], download["controller"]) == ("download", "hybla")
    assert call["transport"] == {"protocol": "udp"}
    assert "controller" not in call
    assert (call["from"], call["to"]) == (download["from"], download["to"])
    assert background["name"] == "background"


def test_the_page_and_the_text_name_what_the_call_is(folder: Path) -> None:
    page = compare_page(folder)
    assert page.first is not None
    assert page.first.table is not None
    labels = [column.label for column in page.first.table.columns]
    assert labels == ["rank", "controller", "page load time", "video", "bit rate", "stalled",
                      "call MOS", "goodput", "speed test", "down"]  # fmt: skip
    assert page.first.figure is not None
    text = (folder / "compare.md").read_text()
    assert "| MOS, worse direction |" in text
    assert "## A call sharing the queue with a download" in text


def test_the_table_fits_terminals(tmp_path: Path) -> None:
    options = [*SMALL, "--workload", "call,speedtest", "--set", "duration=40s"]
    outputs = at_widths(["compare", *options], tmp_path, (80, 120))
    for width in (80, 120):
        lines = outputs[str(width)].splitlines()
        assert max(map(len, lines)) <= width
        text = " ".join(outputs[str(width)].split())
        assert "the controller is that of a download through the same queue" in text


def test_every_quantity_of_a_workload_has_a_label_and_exists() -> None:
    for workload in WORKLOADS:
        for name in workload.quantities:
            assert LABELS[name]
            assert Quantity(name).unit
        assert {name for name, _ in workload.beside} <= {*workload.also}
        link = links.of_preset("geo-ka")
        known = counters.names(workload.scenario(link))
        assert not [name for name in known if name in workload.quantities]


def test_without_names_the_workloads_are_the_four_of_before() -> None:
    assert tuple(one.name for one in workloads(links.of_preset("geo-ka"))) == DEFAULT
    assert DEFAULT == ("bulk", "page", "beside-newreno", "fade")


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (("--workload", "pages"), "there is no workload 'pages'; did you mean 'page'"),
        (("--workload", "fade"), "--workload fade: the built-in event is that of a satellite"),
        (("--workload", "video", "--set", "duration=60s"), "expected a duration of 120s or more"),
        (("--workload", "speedtest", "--set", "duration=9s"), "expected a duration of 32s or more"),
        (("--workload", "page", "--queue", "9,8"), "not used with several lengths of --queue"),
        (("--workload", "call", "--set", "link.1.mtu=1400"), "--workload call: "),
    ],
)
def test_workloads_that_a_link_cannot_have_are_refused(
    bentpipe: Bentpipe, options: tuple[str, ...], answer: str
) -> None:
    done = bentpipe("compare", "--link", "leo", *options)
    assert done.returncode == 2
    assert answer in done.stderr
    assert not done.stdout


def test_a_path_that_takes_no_datagrams_is_left_out_of_calls_with_the_reason() -> None:
    link = links.of_preset("geo-ka")
    taking_part = candidates.chosen(["cubic"], link)
    asked = [named("bulk"), named("call")]
    plan = parts.planned(link, taking_part, asked, (), on_path.chosen("codel,snoop", link))
    names = {name: [part.slug for part in each] for name, each in plan.parts.items()}
    assert names == {"bulk": ["", "codel", "snoop"], "call": ["", "codel"]}
    (left_out,) = plan.left_out
    assert left_out.workloads == ["call"]
    assert left_out.controllers == ["newreno + snoop", "cubic + snoop"]
    assert "middlebox" in left_out.reason
    with pytest.raises(InputError, match=r"--workload call: .*middlebox"):
        parts.planned(on_path.chosen("snoop", link)[1].on(link), taking_part, asked)


def test_the_old_pages_stay_by_name(tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    for name in ("web", "page"):
        scenario = named(name).scenario(links.of_preset("meo"), "cubic")
        found[name] = tomllib.loads(scenario.to_toml())["flow"][0]["traffic"]
    assert found["web"]["web"]["connections"] == 6
    assert found["page"]["page"]["site"] == "shop"


def test_an_evaluation_has_the_workloads_of_people(bentpipe: Bentpipe, tmp_path: Path) -> None:
    done = bentpipe("evaluate", "hybla", "--quick", "--workload", "call", "--out", "out", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    (item,) = found["items"]
    assert (item["item"], item["section"]) == ("call", "workload")
    assert {one["label"] for one in item["findings"]} == {
        "MOS, worse direction", "goodput of the download", "mouth to ear", "lost or late",
    }  # fmt: skip
    mos = next(one for one in item["findings"] if one["label"].startswith("MOS"))
    assert mos["higher_is_better"]
    scenario = tomllib.loads((tmp_path / "out/call/scenario.toml").read_text())
    assert [flow["name"] for flow in scenario["flow"]] == ["download", "call", "background"]
    assert bentpipe("report", "out").returncode == 0
    # The RFC has no such item, so nothing of it is claimed.
    assert found["not_covered"] == []
    again = bentpipe("evaluate", "hybla", "--quick", "--workload", "call", "--out", "out")
    written = (tmp_path / "out/evaluate.md").read_text()
    methods = bentpipe("cite", "out", "--methods").stdout
    for text in (again.stdout, written, methods):
        assert "workloads of people" in text
        assert "checklist" not in text
        assert "Not covered" not in text


def test_items_of_people_are_none_of_the_checklist(bentpipe: Bentpipe) -> None:
    assert {item.name for item in PEOPLE} == {*FOUR}
    done = bentpipe("evaluate", "hybla", "--items", "call")
    assert (done.returncode, "there is no item 'call'" in done.stderr) == (2, True)
    done = bentpipe("evaluate", "hybla", "--workload", "calls")
    assert "there is no workload 'calls'; did you mean 'call'" in done.stderr
