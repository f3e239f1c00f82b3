"""Comparing controllers on a link: who is best, who is as good, and what it says in words."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.compare import candidates, counters, events, links
from bentpipe.compare import mechanisms as on_path
from bentpipe.compare.outcome import Outcome
from bentpipe.compare.ranking import Runs, ranked
from bentpipe.compare.verdict import verdicts
from bentpipe.compare.workloads import WORKLOADS, workloads
from bentpipe.errors import InputError
from bentpipe.report.compare import compare_page
from bentpipe.report.page import Table
from bentpipe.study import Results
from bentpipe.study.significance import is_deterministic
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

SMALL = ("--link", "geo-ka", "--rate", "1Mbit/s", "--rtt", "100ms", "--replications", "3")

# Run by run "b" is 1 below "a", though both swing by more; "c" is far below in one run only.
FOUND: dict[str, Runs] = {
    "c": {0: 9.0, 1: 29.0, 2: 10.0},
    "a": {0: 10.0, 1: 30.0, 2: 20.0},
    "b": {0: 9.1, 1: 28.9, 2: 19.0},
}


def test_the_page_has_the_number_of_runs_of_a_comparison_with_all_defaults() -> None:
    text = (EXAMPLES.parent / "docs" / "compare.md").read_text()
    link = links.of_preset("geo-ka")
    runs = len(candidates.chosen(None, link)) * len(workloads(link)) * 20
    assert f"`geo-ka` has\n{runs:,} runs" in text


def test_the_best_mean_is_first_and_ties_are_those_of_pairs() -> None:
    places = ranked(FOUND, higher_is_better=True, baseline="b")
    assert [(place.rank, place.name) for place in places] == [(1, "a"), (2, "b"), (3, "c")]
    first, second, third = places
    assert (first.mean, first.against_best, first.tied) == (20.0, None, False)
    # Differences of -0.9, -1.1 and -1: 1 away with a half width of 4.303 * 0.1 / sqrt(3).
    assert second.against_best is not None
    assert second.against_best["ci95"] == pytest.approx((-1.24841, -0.75159), abs=1e-4)
    assert not second.tied
    # Differences of -1, -1 and -10: their interval holds zero.
    assert third.tied
    assert second.against_baseline is None
    assert first.against_baseline is not None
    assert first.against_baseline["difference"] == pytest.approx(1.0)


def test_a_lower_time_is_better_where_it_is_a_time() -> None:
    places = ranked(FOUND, higher_is_better=False, baseline=None)
    assert [place.name for place in places] == ["c", "b", "a"]


def test_who_leaves_pages_out_comes_after_who_fetched_them_all() -> None:
    found: dict[str, Runs] = {
        "slow": {0: 9.0, 1: 9.0},
        "fast": {0: 1.0, 1: None},
        "none": {0: None, 1: None},
    }
    places = ranked(found, higher_is_better=False, baseline=None)
    assert [place.name for place in places] == ["slow", "fast", "none"]
    assert [place.undefined for place in places] == [0, 1, 2]
    assert [place.rank_text for place in places] == ["1", "2", "\N{EN DASH}"]
    assert places[2].mean is None
    assert not places[2].tied


def test_equal_means_have_one_rank() -> None:
    found: dict[str, Runs] = {name: {0: 1.0, 1: 2.0} for name in ("b", "a")}
    found |= {"last": {0: 0.0, 1: 0.5}, "first": {0: 3.0, 1: 3.0}}
    places = ranked(found, higher_is_better=True, baseline=None)
    assert [(place.rank, place.name) for place in places] == [
        (1, "first"), (2, "b"), (2, "a"), (4, "last"),
    ]  # fmt: skip


def test_one_run_tells_no_difference() -> None:
    places = ranked({"a": {0: 2.0}, "b": {0: 1.0}}, higher_is_better=True, baseline=None)
    assert places[1].tied


def test_a_comparison_ranks_and_judges(bentpipe: Bentpipe, tmp_path: Path) -> None:
    done = bentpipe("compare", *SMALL, "--controllers", "vegas,ck-stp", "--out", "out", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found == json.loads((tmp_path / "out/compare.json").read_text())
    assert found["complete"]
    assert found["link"]["rtt_s"] == pytest.approx(0.1)
    by_name = {row["name"]: row for row in found["controllers"]}
    assert by_name.keys() == {"newreno", "cubic", "vegas", "ck-stp"}
    assert by_name["ck-stp"]["setting"] == '{ name = "ck-stp", rate = 1, rtt = 100 }'
    for workload in found["workloads"]:
        means = [row["mean"] for row in workload["ranking"]]
        assert means == sorted(means, reverse=workload["higher_is_better"])
        summary = json.loads((tmp_path / "out" / workload["workload"] / "summary.json").read_text())
        cells = [c for c in summary["cells"] if c["quantity"] == workload["quantity"]]
        assert sorted(means) == pytest.approx(sorted(cell["mean"] for cell in cells))
    # CK-STP must be configured, and is not recommended.
    assert not [row for row in found["verdicts"][:-1] if row["controller"] == "ck-stp"]
    questions = [row["question"] for row in found["verdicts"]]
    assert len(questions) == len(set(questions)) == 5, questions
    assert (
        "## Web pages over HTTP/2, a connection to each origin, TLS 1.3"
        in (tmp_path / "out/compare.md").read_text()
    )


def test_a_key_stands_for_all_of_its_mechanisms() -> None:
    text = "none,arq,fec,snoop,go-back-n"
    names = [found.name for found in on_path.chosen(text, links.of_preset("leo"))]
    assert names == ["none", "go-back-n", "selective-repeat", "reed-solomon", "snoop"]


def test_controllers_and_mechanisms_are_ranked_together(bentpipe: Bentpipe, tmp_path: Path) -> None:
    options = (*SMALL, "--controllers", "cubic", "--out", "out", "--json")
    done = bentpipe("compare", *options, "--on-path", "codel,codel:target=20ms")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    rows = {row["name"]: (row["setting"], row["on_path"]) for row in found["controllers"]}
    assert len(rows) == 6
    assert rows["cubic"] == ("cubic", "none")
    assert rows["cubic + codel:target=20ms"] == ("cubic", "codel:target=20ms")
    bulk = found["workloads"][0]
    names = ["geo-ka-bulk", "geo-ka-bulk-codel", "geo-ka-bulk-codel-target-20ms"]
    assert bulk["studies"] == names
    assert {row["controller"] for row in bulk["ranking"]} == set(rows)
    # Each place has the mean of its own study.
    by_name = {row["controller"]: row["mean"] for row in bulk["ranking"]}
    for folder, name in (("bulk", "cubic"), ("bulk-codel", "cubic + codel")):
        summary = json.loads((tmp_path / "out" / folder / "summary.json").read_text())
        cells = [c for c in summary["cells"] if c["quantity"] == bulk["quantity"]]
        assert by_name[name] in [cell["mean"] for cell in cells]
    assert by_name["cubic"] != by_name["cubic + codel"]
    scenario = (tmp_path / "out/bulk-codel-target-20ms/scenario.toml").read_text()
    aqm = tomllib.loads(scenario)["link"][1]["forward"]["aqm"]
    assert aqm == {"name": "codel", "target": "20ms"}
    counters_are_those_of_the_studies(found, tmp_path / "out")
    assert "### Counters: One bulk flow" in (tmp_path / "out/compare.md").read_text()
    page = compare_page(tmp_path / "out")
    blocks = [block for section in page.sections for block in section.blocks]
    tables = {block.name: block for block in blocks if isinstance(block, Table)}
    on_page = tables["bulk-counters-0"]
    assert (on_page.caption, len(on_page.rows)) == ("Counters of codel", 8)
    # For people, in the terminal: without the mechanism, which is in the heading.
    text = bentpipe(
        "compare", *options[:-1], "--on-path", "codel,codel:target=20ms", "--verbose"
    ).stdout
    assert "Counters of codel:target=20ms, one bulk flow" in text
    lines = [line.split() for line in text.splitlines() if "dropped packets" in line]
    assert [line[2] for line in lines] == ["newreno", "cubic"] * 2


def counters_are_those_of_the_studies(found: dict[str, Any], folder: Path) -> None:
    """Assert means and paired differences of the counters: those of the studies."""
    bulk = found["workloads"][0]
    counted = {(one["on_path"], one["quantity"]): one for one in bulk["counters"]}
    columns = bp._native.number_columns()["aqm"]
    assert [one["quantity"].split(".")[1] for one in bulk["counters"]] == [
        f"{column})" for column in columns * 2
    ]
    summary = json.loads((folder / "bulk-codel" / "summary.json").read_text())
    for name in ("sum(aqm.dropped_packets)", "mean(aqm.mean_queue_delay_ms)"):
        cells = [c for c in summary["cells"] if c["quantity"] == name]
        (pair,) = [c for c in summary["comparisons"] if c["quantity"] == name]
        values = {one["controller"]: one for one in counted["codel", name]["values"]}
        assert [one["mean"] for one in values.values()] == [cell["mean"] for cell in cells]
        assert any(cell["mean"] for cell in cells)
        assert values["cubic + codel"]["against_baseline"] is None
        against = values["newreno + codel"]["against_baseline"]
        assert against["difference"] == pytest.approx(pair["difference"])
        assert against["ci95"] == pytest.approx(pair["ci95"])


MODEMS = {one.name for one in bp.mechanisms() if one.key == "link.channel.modem"}
"""They need a link with a signal, and find another modem there."""


ON_ACKS = {
    "ack-decimation", "ack-filter", "ack-reconstruction", "dvb-rcs2", "rohc", "rohc-unidirectional",
    "scps", "vj",
}  # fmt: skip
"""They stand on the route of the ACKs: `bentpipe path` says of them that they change ACKs."""


OF_FLOWS = [one.name for one in bp.mechanisms() if one.key.startswith("flow.")]
"""They belong to flows, and not to the path."""


@pytest.mark.parametrize("tunnel", OF_FLOWS)
def test_a_tunnel_has_no_place_on_a_path(tunnel: str) -> None:
    with pytest.raises(InputError, match=r"`flow\.tunnel` of a scenario"):
        on_path.chosen(tunnel, links.of_preset("leo"))


@pytest.mark.parametrize(
    "mechanism", [one.name for one in bp.mechanisms() if one.name not in OF_FLOWS]
)
def test_every_mechanism_has_its_place_on_a_path(mechanism: str, tmp_path: Path) -> None:
    # A router on both sides of the satellite, so that all see packets.
    text = (EXAMPLES / "geo-fidelity.toml").read_text()
    terminal = """
[[link]]
between = ["terminal", "client"]
rate = "1Gbit/s"
delay = "1ms"

[[flow]]
"""
    text = text.replace('["gateway", "client"]', '["gateway", "terminal"]')
    if mechanism in MODEMS:
        (other,) = MODEMS - {mechanism}
        signal = f'channel = {{ es_n0 = 12.0, modem = "{other}" }}'
        text = text.replace("channel = { per = 0.001 }", signal).replace('rate = "10Mbit/s", ', "")
    scenario = bp.Scenario.parse(text.replace("[[flow]]", terminal, 1))
    link = links.Link("terminal", scenario)
    named = mechanism
    if mechanism == "trace":
        # It has no default: it needs a file.
        (tmp_path / "lossy.csv").write_text("t_s,loss_percent\n0,1\n60,2\n")
        named = f"trace:file={tmp_path / 'lossy.csv'},loop=true"
    elif mechanism in ("shaper", "policer"):
        named = f"{mechanism}:rate=5Mbit/s,burst=32kB"
    elif mechanism == "mtu":
        named = "mtu:bytes=1400"
    as_it_is, found = on_path.chosen(named, link)
    assert as_it_is.on(link) is link
    # A modem is in the place of another one.
    assert bool(counters.names(link.scenario)) == (mechanism in MODEMS)
    counted = counters.names(found.on(link).scenario)
    assert counted, "its table has counters, and the comparison shows them"
    written = found.on(link).document
    direction, back = (written["link"][1].get(side, {}) for side in ("forward", "backward"))
    places = [*written.get("node", []), direction, back, direction["channel"]]

    def has_it(one: dict[str, Any]) -> bool:
        preset = one.get("proxy", {}).get("preset")
        return mechanism in one or mechanism == preset or mechanism in map(str, one.values())

    if mechanism in on_path.AT_BOTH_ENDS:
        assert {one.get("name") for one in filter(has_it, places)} == {"gateway", "terminal"}
        assert {one["proxy"]["satellite"]["towards"][0] for one in written["node"]} == {
            "gateway",
            "terminal",
        }
        return
    (place,) = filter(has_it, places)
    assert (place is back) == (mechanism in ON_ACKS and "name" not in place)
    thinning = mechanism in ON_ACKS - on_path.BEHIND
    assert place.get("name") in (None, "terminal" if thinning else "gateway")


def test_the_worst_under_fade_is_the_last_of_its_ranking(bentpipe: Bentpipe) -> None:
    done = bentpipe("compare", *SMALL, "--controllers", "vegas", "--json")
    found = json.loads(done.stdout)
    (fade,) = (row for row in found["workloads"] if row["workload"] == "fade")
    worst = next(
        row for row in found["verdicts"] if row["question"] == "Worst under the built-in fade"
    )
    ranking = [row["controller"] for row in fade["ranking"]]
    assert worst["controller"] == ranking[-1]
    assert ranking[0] == "cubic", "NewReno and Vegas are a tie"


def test_a_scenario_gives_its_links_and_ends(bentpipe: Bentpipe, tmp_path: Path) -> None:
    options = ("--controllers", "cubic", "--replications", "2", "--out", "out")
    done = bentpipe("compare", "--scenario", EXAMPLES / "fade.toml", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2.048 Mbit/s, RTT 510 ms" in done.stdout
    # The link has a fade of its own, over the 900 s of the scenario; the built-in one is not asked.
    assert "with the fade of the scenario" in done.stdout
    assert "bulk 900 s, page 900 s, beside-newreno 900 s\n" in done.stdout
    assert "No fade workload: the scenario has a fade of its own" in done.stdout
    assert not (tmp_path / "out/fade").exists()
    # The event of the user's scenario is kept beside its studies.
    kept = bp.Scenario.load(tmp_path / "out/bulk/scenario.toml")
    assert str(tmp_path) in kept.to_toml()


def test_by_default_all_take_part_that_need_no_other_routers() -> None:
    link = links.of_preset("leo")
    names = {candidate.name for candidate in candidates.chosen(None, link)}
    known = {entry.name for entry in bp.controllers()}
    assert known - names == candidates.NEEDED_ROUTERS.keys() == candidates.left_out(None).keys()
    (cherry,) = (c for c in candidates.chosen(["cherry"], link) if c.name == "cherry")
    assert cherry.title == "cherry*"


def test_a_table_with_nothing_but_a_name_is_that_controller() -> None:
    link = links.of_preset("geo-ku")
    found = candidates.chosen(['{ name = "htcp" }'], link)
    assert [one.name for one in found if one.name not in candidates.REFERENCES] == ["htcp"]


@pytest.mark.parametrize("name", links.presets())
def test_every_preset_is_a_link_with_a_queue_of_its_product(name: str) -> None:
    link = links.of_preset(name)
    queue = links.bytes_of(link.document["link"][links.SATELLITE]["queue"]["bytes"])
    assert queue == pytest.approx(link.bdp_bytes, rel=0.01)
    assert link.bottleneck.link == links.SATELLITE
    for workload in workloads(link):
        workload.base(link).load()


def test_a_changed_link_keeps_its_queue_in_products() -> None:
    link = links.of_preset("geo-ka", rate="5Mbit/s", rtt="300ms", per=0.02)
    assert link.rate_bps == 5e6
    assert link.rtt_s == pytest.approx(0.3)
    satellite = link.document["link"][links.SATELLITE]
    assert satellite["queue"] == {"bytes": "187500B"}
    assert satellite["forward"]["channel"] == {"per": 0.02}
    for queue, written in [("0.5bdp", {"bytes": "93750B"}), ("25", {"packets": 25})]:
        changed = links.of_preset("geo-ka", rate="5Mbit/s", rtt="300ms", queue=queue)
        assert changed.document["link"][links.SATELLITE]["queue"] == written


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (("--link", "geo-kk"), "there is no link 'geo-kk'; did you mean 'geo-k"),
        (("--link", "leo", "--controllers", "cubik"), "no controller 'cubik'; did you mean 'cubic"),
        (("--link", "leo", "--rtt", "1ms"), "--rtt: expected more than 10ms"),
        (("--link", "leo-oneweb", "--rtt", "90ms"), "--rtt: no effect, because the delay of leo-"),
        (("--link", "leo", "--queue", "much"), "--queue: expected packets such as 100, a size"),
        (("--link", "leo", "--rate", "3mbps"), '--rate: expected a data rate such as "2Mbit/s"'),
        (("--scenario", EXAMPLES / "fade.toml", "--per", "0.1"), "change a scenario with --set"),
        (("--link", "leo", "--set", "flow.0.controller=bbr"), "--controllers chooses the controll"),
        (("--link", "leo", "--set", "record.interval=1s"), "--set record.interval: no effect"),
        (("--link", "leo", "--on-path", "codell"), "no mechanism 'codell'; did you mean 'codel'"),
        (("--link", "leo", "--on-path", "codel:tarjet=1ms"), "unknown key; did you mean `target`"),
        (("--link", "leo", "--on-path", "none"), "expected a mechanism; `bentpipe path` lists"),
        (("--link", "leo", "--on-path", "scps-gateway"), "at both ends of it: 'client' is a host"),
        (("--link", "leo", "--on-path", "red", "--queue", "9,8"), "expected one length of --queue"),
        ((), "expected --link NAME or --scenario FILE; links are geo-irtf, geo-ka"),
    ],
)
def test_wrong_input_is_told_before_anything_runs(
    bentpipe: Bentpipe, tmp_path: Path, options: tuple[str, ...], answer: str
) -> None:
    done = bentpipe("compare", *options, "--out", "out")
    assert done.returncode == 2
    assert answer in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_left_alone(bentpipe: Bentpipe, tmp_path: Path) -> None:
    two = (*SMALL, "--controllers", "cubic", "--out", "out")
    assert bentpipe("compare", *two).returncode == 0
    before = (tmp_path / "out/compare.json").read_bytes()
    again = bentpipe("compare", *two)
    assert (again.returncode, again.stderr) == (0, "")
    other = bentpipe("compare", *SMALL, "--controllers", "hybla", "--out", "out")
    assert other.returncode == 2
    assert "has results of another command; choose another folder\n  controllers:" in other.stderr
    paged = bentpipe("compare", *two, "--workload", "page")
    assert paged.returncode == 2
    assert "out has results of other workloads: beside-newreno, bulk, fade;" in paged.stderr
    faster = bentpipe("compare", *two[:3], "2Mbit/s", *two[4:])
    assert faster.returncode == 2
    assert "holds another study" in faster.stderr
    assert (tmp_path / "out/compare.json").read_bytes() == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    foreign = bentpipe("compare", *SMALL, "--out", "mine")
    assert foreign.returncode == 2
    assert "mine has another file, notes.txt" in foreign.stderr
    assert [entry.name for entry in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def outcome(name: str, found: dict[str, Runs], own: dict[str, float] | None = None) -> Outcome:
    """The outcome of a workload with these runs, as a study would have left it.

    `own` is the goodput that each controller itself has when competing.
    """
    workload = next(workload for workload in WORKLOADS if workload.name == name)
    link = links.of_preset("geo-ka", rate="1Mbit/s", rtt="100ms")
    taking_part = candidates.chosen(list(found), link)
    study = workload.study(link, taking_part, 1, 1)
    rows = [
        {"variant": number, "replication": replication, workload.quantity: value}
        | dict.fromkeys(workload.also, (own or {}).get(candidate.name, 0.0))
        | {workload.aborted: 0.0}
        for number, candidate in enumerate(taking_part)
        for replication, value in found[candidate.name].items()
    ]
    fixed = [n for n, one in enumerate(taking_part) if is_deterministic([found[one.name]])]
    results = Results(study, pl.DataFrame(rows), {"complete": True, "deterministic": fixed})
    return Outcome(workload, [taking_part], [results])


def test_a_verdict_names_the_best_and_who_is_as_good() -> None:
    found: dict[str, Runs] = {
        "cubic": {0: 5e6, 1: 7e6, 2: 6e6},
        "newreno": {0: 5.5e6, 1: 6.3e6, 2: 5.8e6},
        "vegas": {0: 1e6, 1: 3.1e6, 2: 2e6},
    }
    (said,) = verdicts([outcome("bulk", found)])
    assert (said.controller, said.mean, said.not_distinguishable) == ("cubic", 6e6, ["newreno"])
    # A half width of 4.302653 * 1 / sqrt(3) around 6, as a factor of exp(0.41403).
    assert said.sentence == (
        "Best for one bulk flow: cubic, 6.000 (3.966 to 9.077) Mbit/s."
        " Not significantly different: newreno."
    )


def test_no_controller_is_best_where_none_has_a_value() -> None:
    never: Runs = dict.fromkeys(range(4), None)
    found = outcome("web", {"cubic": never, "newreno": never})
    (said,) = verdicts([found])
    assert (said.controller, said.not_distinguishable) == (None, [])
    assert said.sentence.endswith(": none, because no run has a value.")
    assert [(one.rank, one.tied, one.is_best) for one in found.places] == [(None, False, False)] * 2


def test_the_safest_leaves_newreno_what_another_newreno_leaves_and_is_not_starved() -> None:
    found: dict[str, Runs] = {
        "cubic": {0: 1e6, 1: 1.1e6, 2: 0.95e6},
        "hybla": {0: 1.8e6, 1: 1.9e6, 2: 1.7e6},
        "newreno": {0: 2e6, 1: 2e6, 2: 2e6},
        "vegas": {0: 2.1e6, 1: 2.1e6, 2: 2.1e6},
        "ck-stp": {0: 2e6, 1: 2e6, 2: 2e6},
    }
    own = {"cubic": 3e6, "hybla": 2e6, "newreno": 2e6, "vegas": 0.9e6, "ck-stp": 2e6}
    (said,) = verdicts([outcome("beside-newreno", found, own)])
    assert said.sentence == (
        "Safest when sharing with NewReno: hybla, which leaves NewReno 1.800 (1.568 to 2.066)"
        " Mbit/s, 90 % (78 to 102 %) of its goodput when competing with another NewReno. All others"
        " are significantly different. It gets 2.000 Mbit/s itself. Significantly less than with"
        " another NewReno: cubic. Starved, with less than half of a fair share: vegas."
    )


def test_a_controller_with_special_needs_is_named_but_not_recommended() -> None:
    found: dict[str, Runs] = {
        "ck-stp": {0: 9e6, 1: 9e6, 2: 9e6},
        "cubic": {0: 5e6, 1: 5e6, 2: 5e6},
        "newreno": {0: 4e6, 1: 4e6, 2: 4e6},
    }
    (said,) = verdicts([outcome("bulk", found)])
    assert (said.controller, said.not_distinguishable) == ("cubic", [])
    assert " Not recommended: ck-stp, 9.000" in said.sentence


@pytest.mark.parametrize(
    ("sets", "spans"),
    [
        ((), (60.0, 600.0, 120.0, 120.0)),
        (("duration=300s",), (300.0, 300.0, 300.0, 300.0)),
        (('link.1.event=[{at="200s",delay="1ms"}]',), (260.0, 800.0, 320.0, 320.0)),
        (('link.1.event=[{at="10s",every="90s",outage="1s"}]',), (460.0, 940.0, 460.0, 460.0)),
    ],
)
def test_a_preset_is_compared_for_as_long_as_it_takes_to_see_its_events(
    sets: tuple[str, ...], spans: tuple[float, ...]
) -> None:
    link = links.of_preset("geo-ka", sets=sets)
    assert tuple(workload.duration_s(link) for workload in workloads(link)) == spans
    for workload, span in zip(workloads(link), spans, strict=True):
        assert workload.base(link).load().duration_s == span


def test_the_built_in_fade_keeps_the_modem_of_the_user() -> None:
    modem = '{ eb_n0 = 14, code = "viterbi-3/4" }'
    link = links.of_preset("geo-ka", sets=(f"link.1.forward.channel={modem}",))
    fade = next(workload for workload in workloads(link) if workload.fades)
    channel = tomllib.loads(fade.base(link).load().to_toml())["link"][1]["forward"]["channel"]
    assert (channel["eb_n0"], channel["code"]) == (14, "viterbi-3/4")
    assert channel["attenuation"]["outside"] == "hold"


def test_the_worst_is_found_from_the_other_end() -> None:
    found: dict[str, Runs] = {
        "cubic": {0: 9e6, 1: 9e6, 2: 9e6},
        "newreno": {0: 3e6, 1: 3.1e6, 2: 3.05e6},
        "vegas": {0: 2.9e6, 1: 3.1e6, 2: 2.95e6},
    }
    best, worst = verdicts([outcome("fade", found)])
    assert best.controller == "cubic"
    assert not best.not_distinguishable
    assert (worst.controller, worst.not_distinguishable) == ("vegas", ["newreno"])


def test_a_fade_of_a_file_is_not_moved_and_the_header_says_so(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    assert bentpipe("new", "geo", "--rain-at", "300s").returncode == 0
    line = "Attenuation: at the times of its series, in all seeds"
    assert events.fades(links.of_scenario(tmp_path / "geo.toml", ())) == [line]
    assert events.fades(links.of_preset("geo-ka")) == []
