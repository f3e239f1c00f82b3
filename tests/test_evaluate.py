"""The check-list of RFC 9743: what is run, what is found, and what it says in words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.compare.candidates import NEEDED_ROUTERS
from bentpipe.compare.links import Link
from bentpipe.evaluate.answer import answer, baselines
from bentpipe.evaluate.checklist import (
    CHECKLIST,
    FIRST,
    NOT_COVERED,
    PEOPLE,
    WORKLOAD,
    Item,
    Measure,
    kinds,
    method,
)
from bentpipe.evaluate.findings import Finding, finding, sentence, word
from bentpipe.evaluate.items import labels_of, link_of, names_of, planned
from bentpipe.evaluate.needs import needs
from bentpipe.report.evaluate import evaluate_page
from bentpipe.report.first import items_of
from bentpipe.study.domains import ANY
from bentpipe.study.pairs import paired
from bentpipe.study.significance import decided, paired_test

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bentpipe.compare.ranking import Runs
    from conftest import Bentpipe

GOODPUT = Measure("flow.candidate.goodput_bps", "goodput", higher_is_better=True)
DELAY = Measure("flow.probe.burst_completion_s", "delay", higher_is_better=False)

# Run by run the candidate has 1 or 1.2 more than "low", and about as much as "like".
RUNS: dict[str, Runs] = {
    "new": {0: 10.0, 1: 30.0, 2: 20.0},
    "low": {0: 9.0, 1: 28.8, 2: 19.0},
    "like": {0: 9.0, 1: 31.0, 2: 20.1},
}


def of_one(case: str, measure: Measure, unit: str, name: str, runs: dict[str, Runs]) -> Finding:
    """A finding that is a family of its own."""
    others = (other for one, other in runs.items() if one != name)
    rows = decided(paired_test(paired(runs[name], other)) for other in others)
    return finding(case, measure, unit, name, runs, (), ANY, iter(rows))


def test_a_finding_is_that_of_pairs_and_of_the_better_way() -> None:
    one = of_one("", GOODPUT, "bit/s", "new", RUNS)
    assert (one.n, one.undefined, one.mean) == (3, 0, 20.0)
    low, like = one.against
    assert (low.baseline, low.finding) == ("low", "better")
    # Differences of 1, 1.2 and 1: half width 4.302653 * 0.11547 / sqrt(3).
    assert low.ci95 == pytest.approx((1.066667 - 0.286844, 1.066667 + 0.286844), abs=1e-5)
    assert low.relative == pytest.approx(1.066667 / 18.933333)
    assert like.finding == "not distinguishable"
    reverse = of_one("", DELAY, "s", "new", RUNS)
    assert [row.finding for row in reverse.against] == ["worse", "not distinguishable"]


def test_a_difference_without_pairs_is_undefined() -> None:
    row = {"difference": None, "distinct": False}
    assert word(row, higher_is_better=True) == "undefined"
    runs: dict[str, Runs] = {"new": {0: None}, "old": {0: 1.0}}
    one = of_one("load", GOODPUT, "bit/s", "new", runs)
    assert (one.mean, one.undefined, one.against[0].finding) == (None, 1, "undefined")
    assert sentence("old", [one]) == ("Compared with old: undefined: goodput (no pair of runs)")


def test_a_sentence_tells_the_cases_only_where_there_are_several() -> None:
    one = of_one("short", GOODPUT, "bit/s", "new", RUNS)
    other = of_one("long", GOODPUT, "bit/s", "new", RUNS)
    assert sentence("low", [one]) == "Compared with low: better: goodput +5.63 %"
    both = sentence("low", [one, other])
    assert both == "Compared with low: better: goodput +5.63 % (short), +5.63 % (long)"
    assert sentence("like", [one]) == "Compared with like: no significant difference"


def test_the_list_has_what_the_issue_asks_for() -> None:
    sections = {item.section for item in CHECKLIST}
    asked = {"5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2.1", "6.4", "7.3", "7.5", "7.9"}
    assert asked | {"tcpeval 4.4.4"} <= sections
    assert len({item.name for item in CHECKLIST}) == len(CHECKLIST)


@pytest.mark.parametrize("item", CHECKLIST, ids=lambda item: item.name)
def test_every_item_can_be_run(item: Item) -> None:
    study = planned(item, "hybla", ["cubic"], "random", 1)
    names = names_of(item, "hybla", ["cubic"])
    assert names[:2] == ["hybla", "cubic"]
    assert len(study.variants) == len(names) * len(labels_of(item))
    for number, variant in enumerate(study.variants):
        name = names[number // len(labels_of(item))]
        assert variant.parameters[item.controllers[0]] == name


@pytest.mark.parametrize("item", [*CHECKLIST, *PEOPLE], ids=lambda item: item.name)
def test_ck_stp_is_set_to_the_path_of_each_case(item: Item) -> None:
    study = planned(item, "ck-stp", ["cubic"], "random", 1)
    settings = {}
    for variant in study.variants:
        controller = variant.scenario.values()["flow"][0]["controller"]
        if isinstance(controller, dict):
            link = Link("case", variant.scenario)
            assert controller["name"] == "ck-stp"
            assert controller["rate"] == pytest.approx(link.rate_bps / 1e6)
            assert controller["rtt"] == pytest.approx(link.rtt_s * 1e3)
            settings[variant.number] = controller["rtt"]
    assert list(settings) == list(range(len(labels_of(item))))
    if item.name == "high-delay":
        assert list(settings.values()) == pytest.approx([140, 600, 600])


@pytest.mark.parametrize(
    ("sections", "counted", "words", "of_page"),
    [
        (["5.1.1", "5.2", WORKLOAD], {"checklist": 2, "workloads": 1},
         "by the checklist of RFC 9743 (BCP 133) and in workloads of people",
         "2 items of the checklist and 1 workload"),
        ([WORKLOAD], {"workloads": 1}, "in workloads of people", "1 workload"),
        (["5.2"], {"checklist": 1}, "by the checklist of RFC 9743 (BCP 133)",
         "1 item of the checklist"),
        ([], {}, "by the checklist of RFC 9743 (BCP 133)", "no complete item"),
    ],
)  # fmt: skip
def test_the_kinds_of_items_are_counted(
    sections: list[str], counted: dict[str, int], words: str, of_page: str
) -> None:
    assert (kinds(sections), method(sections)) == (counted, words)
    found = {"items": [{"section": section} for section in sections]}
    assert items_of(found) == of_page


def test_needs_that_the_items_do_not_provide_are_named() -> None:
    assert needs("hybla", ["cubic"], CHECKLIST) == []
    for name in NEEDED_ROUTERS:
        (found,) = needs("cubic", [name], CHECKLIST)
        assert (found.controller, NEEDED_ROUTERS[name] in found.sentence) == (name, True)
        # The item with ECN marking has all that Jersey depends on.
        has_marks = "jersey" in name
        assert ("marks" in found.items) == (not has_marks)
        marks = [item for item in CHECKLIST if item.name == "marks"]
        assert bool(needs(name, ["cubic"], marks)) == (not has_marks)
    (found,) = needs("ck-stp", ["cubic"], CHECKLIST)
    assert found.items == ["rtt-fairness", "varying-delay", "path-change", "geo-suite"]
    assert needs("ck-stp", ["cubic"], CHECKLIST[:2]) == []
    (own,) = needs("ck-stp:rate=20,rtt=100", ["cubic"], CHECKLIST[:2])
    assert own.items == [item.name for item in CHECKLIST[:2]]
    assert own.sentence.endswith(" as settings. It keeps rate=20 and rtt=100 in all items.")
    (jersey,) = needs("jersey", ["cubic"], CHECKLIST)
    has = "which only the item marks has. In all other items jersey runs without them."
    assert jersey.sentence == f"jersey needs routers with ECN marking, {has}"
    (alone,) = needs("jersey", ["cubic"], CHECKLIST[:1])
    assert alone.sentence.endswith(
        "no item of this evaluation has. In all items jersey runs without them."
    )


def test_needs_are_beside_the_answer_everywhere(bentpipe: Bentpipe, tmp_path: Path) -> None:
    command = ("evaluate", "xcp", "--quick", "--items", "rtt-fairness", "--against", "reno")
    done = bentpipe(*command, "--out", "out")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["Found", "Costs", "Sure", "Needs"]
    assert "xcp needs routers with XCP on all links" in lines[3]
    (need,) = json.loads((tmp_path / "out/evaluate.json").read_text())["needs"]
    assert (need["controller"], need["items"]) == ("xcp", ["rtt-fairness"])
    assert need["sentence"] in (tmp_path / "out/evaluate.md").read_text()
    first = evaluate_page(tmp_path / "out").first
    assert first is not None
    assert first.answer["Needs"] == need["sentence"]


def test_the_three_lines_count_the_same_findings() -> None:
    """All baselines, also the fixed ones of an item, and one finding for each of them and case."""
    words = iter(["better", "worse", "worse", "worse", "deterministic", "undefined", "worse",
                  "not distinguishable"])  # fmt: skip
    shares = iter([0.5, -0.1, -0.9, -0.3, 0.0, None, None, 0.0])
    items: list[dict[str, Any]] = [
        {"item": name, "findings": [
            {"case": case, "quantity": label, "label": label, "n": 3, "against": [
                {"baseline": other, "finding": next(words), "relative": next(shares)}
                for other in others]}
            for case in ("with cubic", "with reno") for label in labels]}
        for name, labels, others in (("beside", ("goodput",), ("hybla", "newreno")),
                                     ("wired", ("goodput", "delay"), ("hybla",)))
    ]  # fmt: skip
    found = {"evaluate": "bbr", "against": ["hybla"], "items": items}
    assert baselines(found) == ["hybla", "newreno"]
    lines = answer(found)
    assert lines.choose == (
        "bbr: better than hybla in 1 of 6 findings, worse in 2;"
        " better than newreno in 0 of 2 findings, worse in 2."
    )
    assert lines.costs == (
        "4 findings are worse: goodput (beside, with reno), \N{MINUS SIGN}90.0 % compared with"
        " hybla, the largest of 3; goodput (wired, with reno) compared with hybla."
    )
    assert "5 of 6 tested findings are significant" in lines.sure
    assert "1 is deterministic: exact, not tested; 1 is undefined" in lines.sure
    # Findings of quantities that are not named are counted, too.
    several = [{**items[0]["findings"][1], "quantity": f"{number}"} for number in range(5)]
    many = {**found, "items": [{"item": "beside", "findings": several}]}
    assert answer(many).costs.startswith("10 findings are worse: ")
    assert answer(many).costs.endswith("the largest of 2; and 4 of other quantities.")
    one = {**found, "items": [{"item": "wired", "findings": items[1]["findings"][:3]}]}
    assert answer(one).costs.startswith("1 finding is worse: ")


def test_sections_that_are_not_covered_are_those_that_no_item_has() -> None:
    for item in CHECKLIST:
        written = link_of(item, "random").scenario.to_toml()
        assert not re.search(r"tunnel|reorder", written), item.name
    assert {section for section, why in NOT_COVERED.items() if "no item has" not in why} == {
        "5.3", "7.11",
    }  # fmt: skip


def test_the_loads_of_the_geo_scenario_are_those_that_it_states() -> None:
    (item,) = (one for one in CHECKLIST if one.name == "geo-suite")
    file = Path(bp.__file__).parent / "evaluate/scenarios/geo-suite.toml"
    flows = bp.Scenario.load(file).to_toml()
    assert flows.count("on_off") == flows.count("web = ") == 9
    browsers = 9 * (50e3 + 20 * 30e3) * 8 / 20
    loads = [
        (9 * count * 4e6 * 0.5 / 20 + browsers) / 40e6
        for _, (count, *_) in item.cases
        if isinstance(count, int)
    ]
    stated = [float(number) for number in re.findall(r"\d+\.\d\d", item.note)]
    assert [round(load * 100, 2) for load in loads] == stated


MARKS_DO_NOT_BOUND = {
    "allegro": "looks at losses only (PCC-Kernel)",
    "allegro/uspace": "looks at losses and round-trip times only (PCC-Uspace)",
    "bbr": "ignores marks, as in Linux (tcp_bbr.c)",
    "bbr/picoquic": "a mark halves the window, and one RTT restores it (picoquic, bbr1.c)",
    "bbr3": "the model and not the mark bounds the window (draft-ietf-ccwg-bbr section 3.7)",
    "ck-stp": "the window is constant (Davoli et al.)",
    "copa": "looks at delays only (mvfst)",
    "copa/genericcc": "looks at delays and losses only (genericCC)",
    "copa2": "looks at delays and losses only (mvfst)",
    "leocc": "ignores marks, as the module for Linux",
    "leocc-live": "ignores marks, as the module for Linux",
    "vivace": "looks at delays and losses only (PCC-Kernel)",
    "vivace/uspace": "looks at delays and losses only (PCC-Uspace)",
}
"""Controllers whose window marks do not hold at the product of the path, with the source."""
GIVES_WAY = {
    "lp/linux": "its clocks decide by chance whether it yields to an empty queue (tcp_lp.c)",
    "scps-vegas": "doubles at once (tp_TFVegas): the burst of each round is marked, and halves it",
}
"""Controllers that need not use the link, with the source."""


def every_controller() -> Iterator[tuple[str, str]]:
    """Each controller and each variant, with its setting in a scenario."""
    for entry in bp.controllers():
        yield entry.name, f'"{entry.name}"'
        for other in entry.variants:
            setting = f'{{ name = "{entry.name}", variant = "{other.variant}" }}'
            yield f"{entry.name}/{other.variant}", setting


def test_marks_hold_the_window_of_every_controller_at_the_product_of_the_path() -> None:
    item = next(item for item in CHECKLIST if item.name == "marks")
    scenario = Path(bp.__file__).parent / "evaluate/scenarios" / f"{item.scenario}.toml"
    product = 20e6 * 0.1 / 8 / 1460
    for name, setting in every_controller():
        sets = [*item.sets, f"flow.0.controller={setting}", "record.interval=100ms"]
        run = bp.run(bp.Scenario.load(scenario, sets), seed=1)
        series = run.flow_series.filter((pl.col("flow") == 0) & (pl.col("t_s") > 10))
        cwnd = series["cwnd_bytes"].to_numpy().mean() / 1460
        goodput = run.flows.row(0, named=True)["goodput_bps"]
        # 20 packets may wait, and the average lags.
        bounded = cwnd <= product + 20
        assert bounded or name in MARKS_DO_NOT_BOUND, f"{name}: mean cwnd {cwnd:.0f} segments"
        # H-TCP, the lowest, is cut several times for each queue that the average remembers.
        used = goodput >= 4.5e6
        assert used or name in GIVES_WAY, f"{name}: {goodput / 1e6:.1f} Mbit/s"


def test_an_evaluation_finds_what_is_known(bentpipe: Bentpipe, tmp_path: Path) -> None:
    items = "wireless,beside-standard,varying-delay"
    done = bentpipe("evaluate", "hybla", "--quick", "--items", items, "--out", "out", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found == json.loads((tmp_path / "out/evaluate.json").read_text())
    assert (found["evaluate"], found["against"]) == ("hybla", ["cubic", "newreno"])
    by_name = {item["item"]: item for item in found["items"]}
    assert set(by_name) == set(items.split(","))
    # Hybla is made for losses that are no congestion, and takes its share from NewReno.
    verdicts = {
        (item, row["case"], row["label"], against["baseline"]): against
        for item in ("wireless", "beside-standard")
        for row in by_name[item]["findings"]
        for against in row["against"]
    }
    better = verdicts["wireless", "PER 1e-2", "goodput", "newreno"]
    worse = verdicts["beside-standard", "with newreno", "goodput of the standard flow", "newreno"]
    for row, sign in ((better, 1), (worse, -1)):
        assert row["difference"] * sign > 0
        # Three seeds show little among all the differences of an item.
        assert row["p"] < 0.05
        assert row["p_holm"] >= row["p"]
        assert (row["finding"] in ("better", "worse")) == (row["p_holm"] < 0.05)
    summary = json.loads((tmp_path / "out/wireless/summary.json").read_text())
    assert summary["runs"] == 3 * 5 * 3
    means = {
        (cell["parameters"]["flow.0.controller"], cell["parameters"]["link.1.forward.channel"]):
        cell["mean"]
        for cell in summary["cells"] if cell["quantity"] == "flow.candidate.goodput_bps"
    }  # fmt: skip
    row = next(
        row for row in by_name["wireless"]["findings"]
        if (row["case"], row["label"]) == ("PER 1e-2", "goodput")
    )  # fmt: skip
    assert row["mean"] == means["hybla", "{ per = 1e-2 }"]
    assert row["against"][0]["mean"] == means["cubic", "{ per = 1e-2 }"]
    assert "## 6.4 Wireless" in (tmp_path / "out/evaluate.md").read_text()


def test_a_controller_is_not_its_own_baseline(bentpipe: Bentpipe) -> None:
    done = bentpipe("evaluate", "cubic", "--quick", "--items", "rtt-fairness")
    assert (done.returncode, done.stderr) == (0, "")
    assert "cubic compared with newreno" in done.stdout
    assert "Compared with cubic" not in done.stdout
    assert "no thresholds" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (("cubik",), "there is no controller 'cubik'; did you mean 'cubic'?"),
        (("cubic", "--against", "newrenno"), "did you mean 'newreno'?"),
        (("cubic", "--against", "cubic"), "expected another controller than cubic"),
        (
            ("cubic", "--items", "wirelesss"),
            "there is no item 'wirelesss'; did you mean 'wireless'",
        ),
    ],
)
def test_wrong_input_is_told_before_anything_runs(
    bentpipe: Bentpipe, tmp_path: Path, arguments: tuple[str, ...], answer: str
) -> None:
    done = bentpipe("evaluate", *arguments, "--out", "out")
    assert done.returncode == 2
    assert answer in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_first_flow_is_the_candidate_where_others_keep_their_algorithm() -> None:
    for item in CHECKLIST:
        if item.controllers == FIRST:
            file = Path(bp.__file__).parent / f"evaluate/scenarios/{item.scenario}.toml"
            first = file.read_text().split("[[flow]]")[1]
            assert 'name = "candidate"' in first
