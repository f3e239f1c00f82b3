"""Answers that fit a screen: on a pseudo-terminal, the answer first, then tables."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bentpipe import console
from bentpipe.cli import cli
from bentpipe.cli.groups import GROUPS, Group, summary
from bentpipe.compare import overview
from bentpipe.compare.answer import answer as answer_of
from bentpipe.compare.answer import recommended
from bentpipe.compare.counters import Counter, Value
from bentpipe.compare.verdict import verdicts
from bentpipe.console import few, nearest
from bentpipe.new import KINDS
from bentpipe.numbers import NONE
from bentpipe.reproductions.overview import folded, print_overview
from bentpipe.reproductions.reproduction import Outcome, find, names
from bentpipe.study import Study
from bentpipe.study.answer import answer
from test_compare import outcome
from test_tables import at_widths, is_shown, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import click

    from conftest import Bentpipe

SCREENS = (80, 100, 120)

GEO = """\
name = "geo"
duration = "8s"

[[link]]
between = ["gateway", "client"]
rate = "2Mbit/s"
delay = "250ms"
channel = { per = 0.001 }

[[link]]
between = ["server", "gateway"]
rate = "10Mbit/s"
delay = "10ms"

[[flow]]
name = "download"
from = "server"
to = "client"
controller = "cubic"
traffic = { bulk = "unlimited" }
"""

STUDY = """\
title = "Controllers over delay and errors"
scenario = "geo.toml"

[parameters]
{parameters}

[replications]
count = 3

[[quantity]]
name = "flow.download.goodput_bps"

[[quantity]]
name = "flow.download.p95_rtt_ms"
label = "latency under load"

[[quantity]]
name = "link.gateway-client.forward.utilisation"

{comparison}
"""

SIX = 'path = "flow.0.controller", values = ["newreno", "cubic", "hybla", "bbr", "vegas", "bic"]'
PATHS = {
    "six controllers in four conditions": (
        f'controller = {{ {SIX} }}\ndelay = {{ path = "link.0.delay", values = ["20ms", "250ms"] }}'
        '\nper = { path = "link.0.channel.per", values = [0.0001, 0.01] }'
    ),
    "two controllers in twelve conditions": (
        'controller = { path = "flow.0.controller", values = ["newreno", "cubic"] }\n'
        'per = { path = "link.0.channel.per", log_range = { from = 1e-5, to = 0.01, count = 12 } }'
    ),
    "one parameter": (
        'delay = { path = "link.0.delay", range = { from = "20ms", to = "250ms", step = "10ms" } }'
    ),
}
COMPARED = '[[comparison]]\nparameter = "controller"\nbaseline = "cubic"'


@pytest.mark.parametrize("name", PATHS)
def test_a_study_fits_a_screen(name: str, tmp_path: Path) -> None:
    (tmp_path / "geo.toml").write_text(GEO)
    comparison = COMPARED if "controller" in PATHS[name] else ""
    text = STUDY.format(parameters=PATHS[name], comparison=comparison)
    (tmp_path / "study.toml").write_text(text)
    outputs = at_widths(["study", "study.toml"], tmp_path, SCREENS)
    found = json.loads(outputs["json"])
    variants = len(found["cells"]) // 3
    assert variants == 24
    means = [cell["mean"] for cell in found["cells"]]
    ends = [end for cell in found["cells"] for end in cell["ci95"] or ()]
    for width in SCREENS:
        lines = outputs[str(width)].splitlines()
        assert len(lines) <= 100, width
        assert max(map(len, lines)) <= width
        assert lines[0] == "Controllers over delay and errors"
        labels = [line.split()[0] for line in lines[1:16] if re.match("[A-Z]", line)]
        assert labels[:4] == ["Choose", "Costs", "Sure", "On"]
        printed = numbers(outputs[str(width)].replace("\N{EN DASH}", " to "))
        assert not [value for value in (*means, *ends) if not is_shown(value, printed)]
        assert "--verbose" in " ".join(lines[-2:])


def results(tmp_path: Path, scenario: str, parameters: str) -> Any:
    """The results of a study over the parameters, with three runs of each variant."""
    (tmp_path / "geo.toml").write_text(scenario)
    (tmp_path / "study.toml").write_text(STUDY.format(parameters=parameters, comparison=""))
    return Study.load(tmp_path / "study.toml").run()


SAME = 'rtt0 = { path = "flow.0.start", values = ["0s", "0.0001s"] }'
CONTROLLERS = 'controller = { path = "flow.0.controller", values = ["newreno", "bbr"] }'


def test_an_answer_without_randomness_claims_no_significance(tmp_path: Path) -> None:
    calm = GEO.replace("channel = { per = 0.001 }", "")
    found = answer(results(tmp_path, calm, CONTROLLERS))
    assert "bbr" in found.choose or "newreno" in found.choose
    assert "exact for this scenario only, no significance" in found.sure
    assert "are significant" not in found.sure + found.choose + found.costs


def test_an_answer_names_no_winner_where_differences_are_not_significant(tmp_path: Path) -> None:
    noisy = GEO.replace("per = 0.001", "per = 0.02")
    found = answer(results(tmp_path, noisy, SAME))
    assert found.choose.startswith("Tied: ")
    assert "0 of 1 differences from the best are significant" in found.sure


def test_an_answer_names_the_winner_and_what_it_costs(tmp_path: Path) -> None:
    lossy = GEO.replace("per = 0.001", "per = 0.02")
    found = answer(results(tmp_path, lossy, CONTROLLERS))
    assert found.choose.startswith("bbr: highest goodput of download, ")
    assert "latency under load" in found.costs
    assert "1 of 1 differences from the best are significant" in found.sure


def test_the_best_of_opposite_conditions_is_no_choice(tmp_path: Path) -> None:
    parameters = f'{CONTROLLERS}\ndelay = {{ path = "link.0.delay", values = ["250ms", "251ms"] }}'
    whole = results(tmp_path, GEO.replace("per = 0.001", "per = 0.02"), parameters)
    rows = whole.rows
    column = "flow.download.goodput_bps"
    turned = [
        -value if delay == 251 else value
        for value, delay in zip(rows[column], rows["link.0.delay"], strict=True)
    ]
    found = answer(
        replace(
            whole,
            summary=whole.summary | {"deterministic": []},
            rows=rows.with_columns(rows[column].__class__(column, turned)),
        )
    )
    assert found.choose.startswith("No one controller for all: ")
    assert found.costs.startswith("One controller for all would be ")


def test_a_property_of_the_link_is_no_choice(tmp_path: Path) -> None:
    delays = 'delay = { path = "link.0.delay", values = ["20ms", "250ms"] }'
    found = answer(results(tmp_path, GEO, delays))
    assert found.choose.startswith("delay is no choice but given. 20 ms: highest goodput")


def test_too_few_runs_give_no_answer(tmp_path: Path) -> None:
    whole = results(tmp_path, GEO, CONTROLLERS)
    two = replace(whole, rows=whole.rows.filter(whole.rows["replication"] < 2))
    found = answer(two)
    assert found.choose.startswith("Nothing yet: too few runs")
    assert (found.costs, "no significance" in found.sure) == ("Unknown.", True)


def test_a_sentence_names_five_at_most() -> None:
    assert few("abcde") == "a, b, c, d, e"
    assert few("abcdefg") == "a, b, c, d, e and 2 more"


# ------------------------------------------------------------------------------------- compare

SHORT = ["--replications", "3", "--set", "duration=6s"]
LINK = ["compare", "--link", "geo-lossy", "--rate", "2Mbit/s", *SHORT]
FIVE = ["--controllers", "newreno,cubic,bbr,hybla,westwood"]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(
            [*FIVE, "--on-path", "codel,go-back-n,ack-filter"],
            id="mechanisms",
            marks=pytest.mark.nightly,
        ),
        pytest.param([*FIVE, "--queue", "5,10,50,100"], id="buffers"),
    ],
)
def test_a_comparison_of_twenty_rows_fits_two_screens(options: list[str], tmp_path: Path) -> None:
    outputs = at_widths([*LINK, *options], tmp_path, SCREENS)
    found = json.loads(outputs["json"])
    if "buffers" in found:
        assert re.search(r"^Choose .* with a queue of \d+ packets", outputs["120"])
        rows = found["buffers"]["combinations"]
        means = [row[name]["mean"] for row in rows for name in ("goodput_bps", "p95_rtt_ms")]
    else:
        means = [row["mean"] for one in found["workloads"] for row in one["ranking"]]
        rows = found["workloads"][0]["ranking"]
    assert len(rows) == 20
    for width in SCREENS:
        lines = outputs[str(width)].splitlines()
        assert len(lines) <= 120, width
        assert max(map(len, lines)) <= width
        labels = [line.split()[0] for line in lines[:20] if re.match("[A-Z]", line)]
        assert labels[:4] == ["Choose", "Costs", "Sure", "On"]
        printed = numbers(outputs[str(width)].replace("\N{EN DASH}", " to "))
        assert not [one for one in means if one is not None and not is_shown(one, printed)]
        assert "--verbose" in " ".join(lines[-2:])


BULK: dict[str, dict[int, float | None]] = {
    "cubic": {0: 5e6, 1: 7e6, 2: 6e6},
    "newreno": {0: 5.5e6, 1: 6.3e6, 2: 5.8e6},
    "vegas": {0: 1e6, 1: 3.1e6, 2: 2e6},
}


def test_controllers_that_are_not_significantly_different_are_tied() -> None:
    found = answer_of([outcome("bulk", BULK)])
    assert found.choose.startswith(
        "Tied: cubic, newreno, not significantly different from the best"
    )
    assert "one bulk flow 1 of 2" in found.sure
    clear = answer_of([outcome("bulk", {**BULK, "newreno": {0: 1e6, 1: 3.1e6, 2: 2.2e6}})])
    assert (
        clear.choose == "cubic: best in all uses, 6.000 (3.966 to 9.077) Mbit/s for one bulk flow."
    )


def test_runs_that_vary_much_are_no_reason_to_choose_a_controller() -> None:
    # Not significantly different from cubic, and a sixth slower.
    newreno: dict[int, float | None] = {0: 2e6, 1: 7e6, 2: 6e6}
    bbr: dict[int, float | None] = {0: 5.1e6, 1: 7.2e6, 2: 6.3e6}
    page = outcome("fade", {**BULK, "newreno": BULK["cubic"], "bbr": bbr})
    slow: dict[int, float | None] = {0: 3e6, 1: 4e6, 2: 5e6}
    bulk = outcome("bulk", {**BULK, "newreno": newreno, "bbr": slow})
    assert any(place.tied for place in bulk.places if place.name == "newreno")
    assert not answer_of([bulk, page]).choose.startswith("newreno")
    assert "newreno" not in recommended([bulk, page])


def test_a_counter_of_the_path_as_it_is_has_its_name_once() -> None:
    row = {"difference": -4.0, "finding": "significant", "ci95": (-6.0, -2.0), "mean": -4.0,
           "p": 0.01, "p_holm": 0.01, "n": 3, "counts": True}  # fmt: skip
    value = Value("newreno", 3, 0, 5.0, (4.0, 6.0), row)
    lines, _ = overview.different([Counter("none", "sum(trace.lost_packets)", [value])])
    assert [line.partition(": ")[0] for line in lines] == ["lost packets"]


def test_a_controller_that_needs_special_routers_is_not_chosen() -> None:
    found = answer_of([outcome("bulk", {"ck-stp": {0: 9e6, 1: 9.1e6, 2: 9.2e6}, **BULK})])
    assert "ck-stp" not in found.choose


def test_fewer_than_three_runs_name_no_choice() -> None:
    few_runs = {name: {0: runs[0], 1: runs[1]} for name, runs in BULK.items()}
    assert answer_of([outcome("bulk", few_runs)]).choose.startswith("Nothing yet: ")


def test_the_best_of_different_workloads_is_no_choice() -> None:
    bulk = outcome("bulk", {**BULK, "newreno": {0: 1e6, 1: 3.1e6, 2: 2.2e6}})
    fade = outcome("fade", {**BULK, "cubic": {0: 1e6, 1: 3.1e6, 2: 2.2e6}})
    found = answer_of([bulk, fade])
    assert found.choose == (
        "No one for all: cubic for one bulk flow; newreno for the built-in fade."
    )
    assert found.costs.startswith("One for all would be ")


def test_a_connection_that_fails_is_not_tied() -> None:
    runs: dict[str, dict[int, float | None]] = {
        "cubic": {0: 5.0, 1: 7.0, 2: 6.0},
        "newreno": {0: 5.0, 1: None, 2: None},
    }
    found = answer_of([outcome("web", runs)])
    assert found.choose.startswith("cubic: best")


def test_a_verdict_names_five_at_most() -> None:
    names = ("newreno", "bbr", "hybla", "vegas", "westwood", "bic", "htcp", "illinois")
    same: dict[str, dict[int, float | None]] = {
        name: {0: 5.5e6, 1: 6.3e6, 2: 5.8e6 + n} for n, name in enumerate(names)
    }
    (said,) = verdicts([outcome("bulk", {"cubic": {0: 5e6, 1: 7e6, 2: 6.1e6}, **same})])
    assert len(said.not_distinguishable) == 8
    assert said.sentence.endswith(" and 3 more.")


# ------------------------------------------------------------------------------------- explain

SEVERAL = """
name = "several"
duration = "20s"

[[node]]
name = "gateway"
proxy = { preset = "pepsal", satellite = { towards = ["a-terminal-with-a-long-name"] } }

[[link]]
between = ["server", "gateway"]
rate = "10Mbit/s"
delay = "50ms"
aqm = { name = "codel", target = "30ms", interval = "600ms" }
jitter = "5ms"
mtu = 1500
arq = "go-back-n"

[[link]]
between = ["gateway", "a-terminal-with-a-long-name"]
delay = "250ms"
rate = "10Mbit/s"
backward = { rate = "1Mbit/s", demand = { name = "dvb-rcs2", cra = "512kbit/s" } }
header_compression = "rohc"

[[flow]]
from = "server"
to = "a-terminal-with-a-long-name"
controller = "cubic"
traffic = { bulk = "unlimited" }
"""


def test_an_explanation_fits_the_width(small: Path) -> None:
    (small.parent / "several.toml").write_text(SEVERAL)
    for name in (small.name, "several.toml"):
        outputs = at_widths(["explain", name], small.parent, (60, *SCREENS))
        found = json.loads(outputs["json"])
        for width in (60, *SCREENS):
            text = outputs[str(width)]
            assert max(map(len, text.splitlines())) <= width
            # Nothing is lost: neither values nor the names of those that are defaults.
            words = set(text.replace(",", " ").split())
            settings = [one for link in found["links"] for one in link["settings"]]
            settings += [one for flow in found["flows"] for one in flow["settings"]]
            for one in settings:
                assert one["name"].removeprefix("transport.") in words, one["name"]
                assert set(one["text"].replace(",", " ").split()) <= words, one
            listed = text.partition("\n  defaults: ")[2].partition("\n\n")[0]
            defaults = " ".join(listed.split()).split(", ")
            all_default = {
                one["name"]
                for one in found["links"][0]["settings"]
                if all(o["default"] for link in found["links"] for o in link["settings"]
                       if o["name"] == one["name"])
            }  # fmt: skip
            assert {one.split()[0] for one in defaults} == all_default


# ------------------------------------------------------------------------------- narrow layouts


@pytest.mark.parametrize(
    ("command", "most"),
    [
        (["run", "several.toml", "--set", "duration=3s"], 120),
        (["run", "small.toml"], 27),
        (["evaluate", "veno", "--quick", "--items", "wired"], 70),
        (["papers", "list"], 50),
        (["papers", "list", "luglio"], 50),
    ],
)
def test_a_table_that_is_too_wide_stays_a_table(command: list[str], most: int, small: Path) -> None:
    (small.parent / "several.toml").write_text(SEVERAL)
    outputs = at_widths(command, small.parent, SCREENS)
    for width in SCREENS:
        lines = outputs[str(width)].splitlines()
        assert len(lines) <= most, width
        assert max(map(len, lines)) <= width
        # Rows below each other, which begin with the names of columns, are the last resort. They
        # take fewer lines than two tables with one row of long names.
        listed = [line for line in lines if re.match(r"(flow|link|paper|case): ", line)]
        assert not listed or command[1] == "several.toml"


# -------------------------------------------------------------------------------------- papers


def unfolded(text: str) -> set[str]:
    """The ids in a text; `a/{b,c}` stands for two."""
    words = re.findall(r"[^\s{]+\{[^}]*\}|\S+", text)
    found: set[str] = set()
    for word in words:
        prefix, _, last = word.rstrip(",").partition("{")
        found |= {f"{prefix}{one}" for one in last.rstrip("}").split(",")}
    return found


def test_a_paper_fits_a_screen_with_the_ids_of_its_statements(tmp_path: Path) -> None:
    outputs = at_widths(["papers", "run", "adalr"], tmp_path, (80,))
    (paper,) = json.loads(outputs["json"])["papers"]
    lines = outputs["80"].splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    shown_ids = unfolded(outputs["80"])
    assert {one["id"] for one in paper["statements"]} <= shown_ids
    counted = [one for one in paper["statements"] if one["counted"]]
    right = sum(one["verdict"] == "reproduced" for one in counted)
    assert f"{right} of {len(counted)} statements are reproduced" in " ".join(lines)


@pytest.mark.parametrize("name", names())
def test_every_paper_fits_a_screen(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if nothing is reproduced, which takes the most lines."""
    from rich.console import Console

    monkeypatch.setattr(console, "on_stdout", lambda: Console(width=80, highlight=False))
    paper = find(name)
    outcome = Outcome(paper, paper.rows({}, complete=False), {}, complete=False)
    print_overview(outcome)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    assert {one.id for one in outcome.statements} <= unfolded("\n".join(lines))


def test_a_paper_without_parameters_has_values_and_no_judgement(
    capsys: pytest.CaptureFixture[str],
) -> None:
    paper = find("dama")
    print_overview(Outcome(paper, paper.rows({}, complete=False), {}, complete=True))
    said = " ".join(capsys.readouterr().out.split())
    assert "No statement is judged: 8 not comparable." in said
    assert "not judged published measured verdict" in said
    assert f"ten/light/sooner 500 ms {NONE} {NONE}" in said


def test_ids_are_folded_only_where_they_can_be_unfolded() -> None:
    ids = ["a/b/c", "a/b/d", "a/e", "f", "g/1,-x", "g/2,-x"]
    assert folded(ids) == ["a/b/{c,d}", "a/e", "f", "g/1,-x", "g/2,-x"]


# ---------------------------------------------------------------------------------------- help


def every_command(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands by the words that call them."""
    yield path, command
    if isinstance(command, Group):
        for name, one in command.subcommands().items():
            yield from every_command(one, (*path, name))


def test_every_command_is_in_one_group_of_the_help() -> None:
    listed = [name for names in GROUPS.values() for name in names]
    cli.subcommands()
    # Their modules define no others.
    assert sorted(listed) == sorted(cli.commands)
    assert [*GROUPS["Start here"]] == ["new", "explain", "run", "compare", "lab"]


@pytest.mark.parametrize("path", [p for p, one in every_command(cli) if isinstance(one, Group)])
def test_summaries_in_the_help_are_whole(path: tuple[str, ...], bentpipe: Bentpipe) -> None:
    text = bentpipe(*path, "--help").stdout
    group = dict(every_command(cli))[path]
    assert isinstance(group, Group)
    said = " ".join(text.split())
    for name, one in group.subcommands().items():
        sentence = summary(one)
        assert f"{name} {sentence}" in said
        assert sentence.endswith((".", "NAME"))
        assert not sentence.endswith("...")


@pytest.mark.parametrize("kind", KINDS)
def test_each_template_has_its_help(kind: str, bentpipe: Bentpipe) -> None:
    text = bentpipe("new", kind, "--help").stdout
    assert f"bentpipe new {kind} [OPTIONS] [FILE]" in text
    takes = {question.option for question in KINDS[kind].questions} | set(KINDS[kind].further)
    takes |= {"rust", "source"} if kind == "controller" else set()
    options = set(re.findall(r"^ +--([a-z-]+)", text, re.MULTILINE))
    assert options == takes | {"force"}
    assert KINDS[kind].file in text


def test_an_error_names_five_neighbours_at_most() -> None:
    many = [f"name-{number}" for number in range(20)]
    assert nearest("name-", many).count("name-") <= 5
    assert nearest("zzz", many).count("name-") == 5
    assert nearest("NAME-7", many) == "; did you mean 'name-7'?"
