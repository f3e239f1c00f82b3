"""`bentpipe cite`: the bibliography covers the registry, and what it prints is valid BibTeX."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe.cite.command import without
from bentpipe.cite.library import Thing, cited, entry, library, software
from bentpipe.cite.methods import paragraph
from bentpipe.cite.used import every_thing, of_scenario
from bentpipe.cite.work import Part, Work

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conftest import Bentpipe

ROOT = Path(__file__).resolve().parent.parent
LINKS = ROOT / "python" / "bentpipe" / "compare" / "links"
REQUIRED = {
    "article": ("author", "title", "journal", "year"),
    "inproceedings": ("author", "title", "booktitle", "year"),
    "techreport": ("author", "title", "institution", "year"),
    "book": ("author", "title", "publisher", "year"),
    "misc": ("author", "title", "howpublished"),
}
"""Fields that BibTeX's standard styles require, and those that the reader of a `misc` needs."""
DETAILS = {"link.mtu": {"4443", "1812"}}
"""RFCs that a source names for a detail, such as the length of a message."""


def parsed(text: str) -> list[tuple[str, str, dict[str, str]]]:
    """Type, key and fields of each entry, by the grammar of BibTeX; fails for anything else."""
    found: list[tuple[str, str, dict[str, str]]] = []
    at = 0
    while True:
        between = re.compile(r"(?:\s|%[^\n@]*(?:\n|$))*").match(text, at)
        assert between is not None
        at = between.end()
        if at == len(text):
            return found
        head = re.compile(r"@([a-z]+)\{([^\s,{}#%~\\]+),\s*").match(text, at)
        assert head is not None, f"no entry: {text[at : at + 60]!r}"
        at, fields = head.end(), {}
        while text[at] != "}":
            name = re.compile(r"([a-z]+)\s*=\s*\{").match(text, at)
            assert name is not None, f"no field: {text[at : at + 60]!r}"
            end, depth = name.end(), 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            assert name[1] not in fields
            fields[name[1]] = text[name.end() : end - 1]
            comma = re.compile(r",\s*").match(text, end)
            assert comma is not None
            at = comma.end()
        at += 1
        found.append((head[1], head[2], fields))


def check(text: str) -> dict[str, dict[str, str]]:
    """The fields of valid entries by their keys."""
    assert text.isascii()
    entries = parsed(text)
    for kind, key, fields in entries:
        for name in REQUIRED[kind]:
            assert fields.get(name), f"{key} has no {name}"
        for name, value in fields.items():
            if name not in ("doi", "url"):
                plain = re.sub(r"\$\\[a-z]+\$", "", value)
                assert not re.search(r"(?<!\\)[%&#_$]", plain), f"{key}: {name} = {value}"
        assert re.fullmatch(r"10\.\d{4,5}/\S+", fields.get("doi", "10.1000/1")), key
        for author in fields["author"].split(" and "):
            assert author.startswith("{") or ", " in author, f"{key}: {author}"
    keys = [key for _, key, _ in entries]
    assert len(set(keys)) == len(keys)
    return {key: fields for _, key, fields in entries}


def test_the_parser_rejects_what_is_no_bibtex() -> None:
    good = "@misc{a,\n  author = {{A}},\n  title = {{T}},\n  howpublished = {x},\n}"
    assert list(check(good)) == ["a"]
    for bad in (
        good[:-1],
        good.replace("= {x}", "= x"),
        f"text\n{good}",
        good.replace("{x},", "{x}"),
    ):
        with pytest.raises((AssertionError, IndexError)):
            parsed(bad)
    with pytest.raises(AssertionError):
        check(good.replace("{{T}}", "{{T & U}}"))


def sources() -> Iterator[tuple[Thing, str]]:
    """The things of the registry with their sources in words."""
    for one in bp.controllers():
        yield Thing("controllers", one.name), one.source
    for protocol in bp.transports():
        yield Thing("transports", protocol.name), protocol.source
    for mechanism in bp.mechanisms():
        yield Thing(f"mechanisms.{mechanism.key}", mechanism.name), mechanism.source


def test_everything_in_the_registry_is_cited_or_has_a_reason() -> None:
    for thing in every_thing():
        found = cited(thing)
        assert found, f"{thing.label} is not in references.toml"
        for key in found if isinstance(found, list) else ():
            entry(key)
        if thing.implementation:
            software(thing.implementation)
        assert isinstance(found, list) or len(found.split()) > 3


def test_a_name_that_is_not_in_the_registry_is_not_in_the_bibliography() -> None:
    known = {(thing.kind, thing.name) for thing in every_thing()}
    tables = {"controllers", "transports", "hosts", "mixes", "constellations"}
    listed = {(kind, name) for kind in tables for name in library()[kind]}
    listed |= {
        (f"mechanisms.{key}", name)
        for key, names in library()["mechanisms"].items()
        for name in names
    }
    assert listed == known
    assert set(library()["papers"]) == {one.name for one in bp_papers()}


def bp_papers() -> list[Any]:
    from bentpipe.reproductions.reproduction import find, names

    return [find(name) for name in names()]


def test_every_publication_is_cited_by_something() -> None:
    lists: list[str] = []

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            for one in value.values():
                collect(one)
        elif isinstance(value, list):
            lists.extend(value)

    collect({key: table for key, table in library().items() if key != "entries"})
    assert set(library()["entries"]) - set(lists) == set()
    text = "\n\n".join(str(entry(key)) for key in library()["entries"])
    assert set(check(text)) == set(library()["entries"])


@pytest.mark.parametrize(
    ("thing", "source"), [*sources()], ids=lambda one: getattr(one, "label", "")
)
def test_the_bibliography_has_the_sources_that_the_registry_names(
    thing: Thing, source: str
) -> None:
    found = cited(thing)
    if not isinstance(found, list):
        return
    entries = [entry(key) for key in found]
    numbers = {one.fields.get("number", "") for one in entries if one.fields.get("type") == "RFC"}
    details = DETAILS.get(thing.kind.removeprefix("mechanisms."), set())
    assert set(re.findall(r"RFC (\d+)", source)) - details <= numbers
    drafts = set(re.findall(r"draft-[a-z0-9-]+", source))
    assert drafts <= {one.key for one in entries}
    names = [
        re.split(r",| and ", one.fields["author"])[0].strip("{}")
        for one in entries
        if not one.fields["author"].startswith("{") and one.fields.get("type") != "RFC"
    ]
    own = [one for one in names if one in source]
    own += [one.key for one in entries if one.fields["title"].partition(":")[0] in source]
    institutions = [one for one in entries if one.fields["author"].startswith("{")]
    assert numbers or drafts or own or institutions, f"{names} are not in {source!r}"


def of_schema(*keys: str) -> set[str]:
    """The values that the language has for a key, by the keys on the way to it."""
    found: list[Any] = [json.loads(bp.schema())]
    for key in keys:
        found = [*values_of(found, key)]
    (values,) = found
    return {one for one in values["enum"] if one is not None}


def values_of(tables: Iterable[Any], key: str) -> Iterator[Any]:
    """The values of a key in the nearest tables that have it as a property."""
    for one in tables:
        parts = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        if isinstance(one, dict) and key in one.get("properties", {}):
            yield one["properties"][key]
        else:
            yield from values_of(parts, key)


@pytest.mark.parametrize(
    ("table", "keys", "more"),
    [
        ("pages", ("page", "model"), set()),
        ("http", ("page", "http"), set()),
        ("tls", ("page", "tls"), set()),
        ("rules", ("video", "rule"), set()),
        ("codecs", ("call", "codec"), set()),
        ("beams", ("beam", "access", "scheme"), {"forward", "return"}),
    ],
)
def test_the_language_and_the_bibliography_have_the_same_values(
    table: str, keys: tuple[str, ...], more: set[str]
) -> None:
    assert set(library()[table]) == of_schema(*keys) | more
    for name in library()[table]:
        assert cited(Thing(table, name))


TRAFFIC: dict[str, Any] = {
    "download": "1kB", "bulk": "unlimited", "constant": {"rate": "1Mbit/s"},
    "on_off": {"rate": "1Mbit/s", "on": "1s", "off": "1s"}, "web": {}, "page": {"site": "shop"},
    "video": {}, "call": {}, "messages": {}, "speedtest": {},
}  # fmt: skip


@pytest.mark.parametrize("kind", library()["applications"])
def test_a_scenario_uses_its_application(kind: str, tmp_path: Path) -> None:
    changes: dict[str, Any] = {"flow.0.traffic": {kind: TRAFFIC[kind]}}
    if kind in ("call", "messages"):
        changes |= {"flow.0.transport": {"protocol": "udp"}, "flow.0.controller": "none"}
    scenario = with_mechanism("link.shaper", "shaper", tmp_path).with_(changes)
    found = {(thing.kind, thing.name) for thing in of_scenario(scenario)}
    assert ("applications", kind) in found
    assert {name for table, name in found if table == "applications"} == {kind}
    assert (("http", "2") in found) == (("tls", "1.3") in found) == (kind == "page")


def test_a_page_of_a_model_cites_it_and_other_pages_do_not(tmp_path: Path) -> None:
    plain = with_mechanism("link.shaper", "shaper", tmp_path)
    for page, expected in (({"model": "3gpp"}, {"3gpp"}), ({"site": "shop"}, set())):
        scenario = plain.with_({"flow.0.traffic": {"page": page}})
        found = {thing.name for thing in of_scenario(scenario) if thing.kind == "pages"}
        assert found == expected


def test_every_application_of_the_language_is_in_the_bibliography() -> None:
    (traffic,) = values_of([json.loads(bp.schema())], "traffic")
    kinds = {one["required"][0] for one in traffic["anyOf"]}
    assert kinds == set(library()["applications"]) == set(TRAFFIC)


VALUES: dict[str, Any] = {
    "link.shaper": {"rate": "1Mbit/s", "burst": "64KiB"},
    "link.policer": {"rate": "1Mbit/s", "burst": "64KiB"},
    "link.mtu": 1400,
}
"""Values of mechanisms that are more than a name."""


def with_mechanism(key: str, name: str, folder: Path) -> bp.Scenario:
    """A scenario with a mechanism at a place where it has an effect."""
    table, _, rest = key.partition(".")
    link: dict[str, Any] = {"between": ["near", "far"], "delay": "250ms", "queue": {"packets": 50}}
    direction: dict[str, Any] = {"rate": "2Mbit/s"}
    node: dict[str, Any] = {"name": "near"}
    if key == "link.channel.modem":
        modem = {"name": name, "bandwidth": 1e6}
        direction = {"channel": {"es_n0": 10.0, "modem": modem}}
    elif key == "link.trace":
        (folder / "trace.csv").write_text("t_s,rate_mbps\n0,2\n10,1\n20,2\n")
        direction = {"trace": str(folder / "trace.csv")}
    elif key == "node.proxy":
        node[rest] = {"preset": name, "satellite": {"towards": ["far"]}}
    elif table == "node":
        node[rest] = name
    elif table == "flow":
        pass
    else:
        direction[rest] = VALUES.get(key, name)
    nodes = [node]
    if name in ("scps-gateway", "satpep"):
        nodes.append({"name": "far", rest: {"preset": name, "satellite": {"towards": ["near"]}}})
    back = {"rate": "1Mbit/s"}
    satellite = link | {"forward": direction, "backward": back}
    if rest == "demand":
        satellite = link | {"forward": {"rate": "2Mbit/s"}, "backward": back | {rest: name}}
    elif rest in ("arq", "header_compression"):
        satellite = link | {"rate": "1Mbit/s", rest: name}
    ends = [{"between": pair, "rate": "10Mbit/s", "delay": "1ms"}
            for pair in (["server", "near"], ["far", "client"])]  # fmt: skip
    flow = {"from": "server", "to": "client", "controller": "cubic", "traffic": {"download": "1kB"}}
    if table == "flow":
        flow[rest] = name
    return bp.Scenario.build(node=nodes, link=[satellite, *ends], flow=[flow], duration="10s")


@pytest.mark.parametrize("entry_of", bp.mechanisms(), ids=lambda one: f"{one.key}-{one.name}")
def test_a_scenario_uses_the_mechanism_that_it_has(entry_of: Any, tmp_path: Path) -> None:
    scenario = with_mechanism(entry_of.key, entry_of.name, tmp_path)
    found = {(thing.kind, thing.name) for thing in of_scenario(scenario)}
    assert (f"mechanisms.{entry_of.key}", entry_of.name) in found


@pytest.mark.parametrize("protocol", bp.transports(), ids=lambda one: one.name)
def test_a_scenario_uses_its_transport(protocol: Any, tmp_path: Path) -> None:
    plain = with_mechanism("link.aqm", "codel", tmp_path)
    alone = protocol.name in ("xtp", "sctp", "udp")
    changes = {
        "flow.0.transport": {"protocol": protocol.name},
        "flow.0.controller": "none" if alone else "newreno",
    }
    if protocol.carries == "datagrams":
        changes["flow.0.traffic"] = {"messages": {}}
    found = {(thing.kind, thing.name) for thing in of_scenario(plain.with_(changes))}
    assert ("transports", protocol.name) in found
    assert (("controllers", "newreno") in found) == (not alone)


def test_the_tool_is_that_of_the_project() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tool = library()["tool"]
    assert f'title: "{tool["title"]}"' in citation
    assert f'- name: "{tool["author"].strip("{}")}"' in citation
    assert [one["name"] for one in project["authors"]] == [tool["author"].strip("{}")]
    assert tool["url"] == project["urls"]["Repository"]
    assert project["version"] == bp.__version__


LINK = """\
name = "cited"
duration = "20s"

[[node]]
name = "gateway"
proxy = "pepsal"

[[link]]
between = ["server", "gateway"]
rate = "10Mbit/s"
delay = "10ms"
aqm = "fq-codel"

[[link]]
between = ["gateway", "client"]
delay = "250ms"
rate = "2Mbit/s"
channel = { mean_loss = 0.01, mean_burst = "5ms" }
arq = "selective-repeat"

[[flow]]
from = "server"
to = "client"
controller = "hybla"
traffic = { download = "100kB" }
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "cited.toml"
    path.write_text(LINK)
    return path


def test_a_scenario_cites_all_that_it_uses(scenario: Path, bentpipe: Bentpipe) -> None:
    done = bentpipe("cite", str(scenario))
    assert (done.returncode, done.stderr) == (0, "")
    entries = check(done.stdout)
    for key in ("bentpipe", "caini2004hybla", "rfc8290", "gilbert1960", "elliott1963", "iso13239",
                "caini2006pepsal", "pepsal-2.0.2", "rfc9293", "rfc6675"):  # fmt: skip
        assert key in entries
    assert entries["bentpipe"]["version"] == bp.__version__
    assert entries["rfc8290"]["doi"] == "10.17487/RFC8290"
    # Reconstructed things say so where they are cited.
    assert "controller hybla is reconstructed" in entries["caini2004hybla"]["note"]
    assert "note" not in entries["rfc8290"]
    methods = bentpipe("cite", str(scenario), "--methods").stdout
    cites = {key for keys in re.findall(r"\\cite\{([^}]*)\}", methods) for key in keys.split(",")}
    assert cites == set(entries)
    assert f"Bentpipe {bp.__version__}" in methods
    assert "seed 1" in methods


def test_the_variant_of_a_controller_cites_its_program(scenario: Path, bentpipe: Bentpipe) -> None:
    text = scenario.read_text().replace('"hybla"', '{ name = "cubic", variant = "linux" }')
    scenario.write_text(text)
    entries = check(bentpipe("cite", str(scenario)).stdout)
    assert {"rfc9438", "linux-6.12-net-ipv4-tcp-cubic.c"} <= set(entries)


STUDY = """\
title = "Two controllers"
scenario = "cited.toml"

[parameters]
controller = { path = "flow.0.controller", values = ["newreno", "westwood-plus"] }

[replications]
count = 5
seed = 3

[[quantity]]
name = "flow.goodput_bps"

[[comparison]]
parameter = "controller"
baseline = "newreno"
"""


def test_a_study_and_its_results_give_seeds_replications_and_intervals(
    scenario: Path, bentpipe: Bentpipe, tmp_path: Path
) -> None:
    (tmp_path / "two.toml").write_text(STUDY)
    before = bentpipe("cite", "two.toml", "--methods").stdout
    done = bentpipe("study", "two.toml", "--out", "out")
    assert done.returncode == 0
    after = bentpipe("cite", "out", "--methods").stdout
    for text in (before, after):
        assert "2 variants had 5 replications each" in text
        assert "seeds 3 to 7" in text
        assert r"95\,\% intervals" in text
        assert r"\cite{holm1979}" in text
    assert "10 runs in all" in after
    assert "runs in all" not in before
    entries = check(bentpipe("cite", "out").stdout)
    assert {"grieco2004westwoodplus", "rfc6582", "holm1979"} <= set(entries)
    # Hybla is the controller of the proxy; nothing uses BBR.
    assert "caini2004hybla" in entries
    assert "cardwell2016bbr" not in entries
    (tmp_path / "out" / "summary.json").unlink()
    missing = bentpipe("cite", "out")
    assert missing.returncode == 2
    assert "no summary.json" in missing.stderr


def test_a_run_gives_its_seed_and_version(
    scenario: Path, bentpipe: Bentpipe, tmp_path: Path
) -> None:
    bentpipe("run", str(scenario), "--seed", "9", "--out", "run")
    found = json.loads(bentpipe("cite", "run", "--json").stdout)
    assert found["kind"] == "run"
    assert "seed 9" in found["methods"]
    assert check(found["bibtex"])


def test_a_controller_in_python_takes_the_place_of_the_other(
    scenario: Path, bentpipe: Bentpipe, tmp_path: Path
) -> None:
    bentpipe("new", "controller")
    scenario.write_text(scenario.read_text().replace('"hybla"', '"veno"'))
    (tmp_path / "one.toml").write_text(
        STUDY.replace('"newreno", "westwood-plus"', '"mine.py:Mine", "illinois"').replace(
            'baseline = "newreno"', 'baseline = "illinois"'
        )
    )
    assert bentpipe("study", "one.toml", "--out", "study").returncode == 0
    assert (
        bentpipe("run", str(scenario), "--controller", "mine.py:Mine", "--out", "run").returncode
        == 0
    )
    for name, of in (("one.toml", "mine.py:Mine"), ("study", "mine.py:Mine"), ("run", "Mine")):
        found = json.loads(bentpipe("cite", name, "--json").stdout)
        keys = {one["key"] for one in found["entries"]}
        assert "fu2003veno" not in keys, name
        assert ("liu2008illinois" in keys) == (name != "run")
        assert found["without"][f"controller in Python {of}"] == "a controller of your own"
    # The folder is enough: the file of the class is not needed.
    (tmp_path / "mine.py").unlink()
    assert bentpipe("cite", "study").returncode == 0


def test_a_controller_that_the_bibliography_lacks_is_named_with_its_source() -> None:
    found = dict(without({Thing("controllers", "cubic-of-a-crate"), Thing("rain", "mine")}))
    assert found["controller cubic-of-a-crate"] == "the bibliography does not have it"
    table = {**library()["controllers"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(library()["controllers"], "veno")
        assert dict(without({Thing("controllers", "veno")})) == {
            "controller veno": "its source is Fu and Liew, TCP Veno, 2003"
        }
    assert library()["controllers"] == table


def test_a_comparison_cites_its_controllers(scenario: Path, bentpipe: Bentpipe) -> None:
    done = bentpipe("compare", "--link", "leo", "--rate", "1Mbit/s", "--controllers", "cubic,veno",
                    "--replications", "3", "--set", "duration=30s", "--out", "compare")  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(bentpipe("cite", "compare", "--json").stdout)
    assert {"fu2003veno", "rfc9438"} <= {one["key"] for one in found["entries"]}
    assert "3 replications each" in found["methods"]
    assert found["notes"] == []


@pytest.mark.parametrize("kind", ["study", "compare", "evaluate", "experience", "papers"])
def test_runs_in_all_are_those_of_all_studies(kind: str) -> None:
    """Nine runs in each of three studies were "9 runs in all"."""
    plan = {"count": 3, "seed": 1}
    ranges = {"least": 1, "most": 3, "first": 1, "last": 3}
    of_kind = ranges if kind == "papers" else plan
    one = Part("one", 3, 9, of_kind)
    alone = paragraph(Work(kind, "link", "1", [one]))
    assert "9 runs in all." in alone
    parts = [one, Part("two", 3, 9, of_kind), Part("three", 2, 4, of_kind)]
    several = paragraph(Work(kind, "link", "1", parts))
    assert "one, two: 3 variants had" in several
    assert "9 runs in each of these 2." in several
    assert "three: 2 variants had" in several
    assert "4 runs." in several
    assert re.findall(r"(\d+) runs in all", several) == ["22"]
    partial = [one, Part("two", 3, 4, of_kind, complete=False)]
    assert "There were 13 runs in all." in paragraph(Work(kind, "link", "1", partial))


def test_an_evaluation_cites_the_checklist(bentpipe: Bentpipe) -> None:
    bentpipe(
        "evaluate", "veno", "--quick", "--items", "wired", "--against", "cubic", "--out", "own"
    )
    found = json.loads(bentpipe("cite", "own", "--json").stdout)
    keys = {one["key"] for one in found["entries"]}
    # The test behind every finding, with its correction.
    assert {"rfc9743", "fu2003veno", "rfc9438", "holm1979"} <= keys
    assert "3 replications each" in found["methods"]
    assert (
        "tested by paired $t$-tests at 5\\,\\%, corrected by the method of Holm" in found["methods"]
    )


def test_reproductions_cite_their_papers(bentpipe: Bentpipe, tmp_path: Path) -> None:
    folder = tmp_path / "papers" / "davoli"
    folder.mkdir(parents=True)
    (folder / "rows.json").write_text(
        json.dumps({"papers": [{"paper": "davoli", "partial": False, "rows": [{"ci95": 0.1}]}]})
    )
    held = {"bentpipe": "0.1.0", "scenarios": 32, "runs": 640, "full": False}
    (folder / "plots.json").write_text(json.dumps(held))
    found = json.loads(bentpipe("cite", "papers", "--json").stdout)
    assert {"davoli-ckstp", "akyildiz2001peach"} <= {one["key"] for one in found["entries"]}
    assert "had 20 replications each, 640 runs in all. Seeds are 1 to 20." in found["methods"]
    assert "by Student's $t$ distribution. " in found["methods"]
    (folder / "plots.json").unlink()
    assert bentpipe("cite", "papers").returncode == 2


@pytest.mark.parametrize("method", ["p1853", "dirac"])
def test_a_series_of_rain_cites_its_model(
    method: str, scenario: Path, bentpipe: Bentpipe, tmp_path: Path
) -> None:
    bentpipe("rain", "series", "--duration", "1h", "--seed", "1", "--out", "rain.parquet",
             "--method", method)  # fmt: skip
    channel = '{ eb_n0 = 11.0, code = "viterbi-3/4", attenuation = "rain.parquet" }'
    old = '{ mean_loss = 0.01, mean_burst = "5ms" }'
    scenario.write_text(scenario.read_text().replace(old, channel))
    found = json.loads(bentpipe("cite", str(scenario), "--json").stdout)
    keys = {one["key"] for one in found["entries"]}
    assert ("boulanger2013" in keys, "itu-p1853" in keys) == (method == "dirac", method == "p1853")
    assert "itu-p618" in keys


def test_a_series_of_unknown_origin_is_named(scenario: Path, bentpipe: Bentpipe) -> None:
    (scenario.parent / "mine.csv").write_text("time_s,attenuation_db\n0,0\n1000,3\n")
    channel = '{ eb_n0 = 11.0, code = "viterbi-3/4", attenuation = "mine.csv" }'
    old = '{ mean_loss = 0.01, mean_burst = "5ms" }'
    scenario.write_text(scenario.read_text().replace(old, channel))
    found = json.loads(bentpipe("cite", str(scenario), "--json").stdout)
    assert "cite that" in found["without"]["series of attenuation mine.csv"]


def test_every_example_is_cited() -> None:
    for path in sorted((ROOT / "examples").glob("*.toml")):
        if 'scenario = "' in path.read_text():
            continue
        for thing in of_scenario(bp.Scenario.load(path)):
            assert cited(thing) is not None or thing.kind in ("series", "python"), thing


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "missing does not exist; expected a scenario, a study, or a folder that"),
        ("empty", "empty holds none of study.json, recording.json"),
    ],
)
def test_what_is_missing_is_named(
    name: str, message: str, bentpipe: Bentpipe, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    done = bentpipe("cite", name)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
