"""Completion of the scenario file on the live page."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from bentpipe.lab.completing import Place, entries, headers, items, keys, place, schema, values
from bentpipe.lab.server import Server
from bentpipe.lab.state import initial
from conftest import EXAMPLES
from lab_client import Client

if TYPE_CHECKING:
    from pathlib import Path


def texts(before: str) -> list[str]:
    return [one.text for one in items(before)[1]]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("dur", ["duration = "]),
        ("[[li", ["[[link]]"]),
        ("[rec", ["[record]"]),
        ("[[link]]\nra", ["rate = "]),
        ("[[link]]\nrate = '1Mbit/s'\nra", []),
        ("[[link]]\n[[link]]\nra", ["rate = "]),
        ('[[link]]\naqm = "co', ['"codel"']),
        ("[[link]]\naqm = 'pi", ['"pie"']),
        ('[[link]]\naqm = { name = "pi', ['"pie"']),
        ("[[link]]\nqueue = { bd", ["bdp = "]),
        ('[[link]]\nbetween = ["a", "b"]\nforward = { queue = { by', ["bytes = "]),
        ("[[link]]\nevent = [{ at = '1s', outa", ["outage = "]),
        ("[[link]]\nevent = [\n  { at = '1s' },\n  { outa", ["outage = "]),
        ("[link.forw", ["[link.forward]"]),
        ("[[flow]]\ntransport.recov", ["recovery = ", "recovery_exit = "]),
        ("[[flow]]\ntransport.recovery = ", ['"reno"', '"newreno"', '"sack"', '"linux"']),
        ("[[flow]]\nfrom = 'x' # [[link]]\ncontrol", ["controller = "]),
        ("[[flow]]\ncontroller = { name = 'hybla', rt", ["rtt0 = "]),
        ("[[flow]]\ncontroller = { name = 'cubic', rt", []),
        ("[record]\nevents = ", ["true", "false"]),
        ("[record]\nevents = t", ["true"]),
        ("[[flow]]\ncontroller = 'cubic' ", []),
        ("[[flow]]\ncontroller = 'cubic'", []),
        ("[[flow]] ", []),
        ("# dur", []),
        ("name = '[[link]] ra", []),
        ("rates", []),
    ],
)
def test_keys_and_values_at_the_cursor(before: str, expected: list[str]) -> None:
    assert texts(before) == expected


def test_an_item_replaces_the_word_at_the_cursor() -> None:
    for before, item, after in (
        ("[[li", "[[link]]", "[[link]]"),
        ('[[link]]\naqm = "co', '"codel"', '[[link]]\naqm = "codel"'),
        ("[[link]]\nra", "rate = ", "[[link]]\nrate = "),
    ):
        replaced, found = items(before)
        assert item in [one.text for one in found]
        assert before[: len(before) - replaced] + item == after


def is_closed(found: Place) -> bool:
    """True if the schema lists all values."""
    nodes = entries(found.path)
    return bool(nodes) and all("enum" in one or one.get("type") == "boolean" for one in nodes)


SCENARIOS = [one for one in sorted(EXAMPLES.glob("*.toml")) if not one.name.startswith("study-")]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_what_examples_have_is_offered_where_they_have_it(path: Path) -> None:
    """Every key and every listed value of the examples, as if it were typed now."""
    text = path.read_text(encoding="utf-8")
    checked = 0
    for end in (one.start() for one in re.finditer(r"(?<=[\w\"-])(?= =|[.\]}\n])", text)):
        found = place(text[:end])
        rest = text[end:]
        if found.kind == "key" and rest.startswith((" =", ".")):
            assert found.word in {one.text.split(" = ")[0] for one in keys(found)}, found
        elif found.kind == "value" and is_closed(found):
            assert found.word in {one.text for one in values(found)}, found
        elif found.kind == "header" and rest.startswith("]"):
            whole = found.word + "]" * found.word.count("[")
            assert whole in {one.text for one in headers(found)}
        else:
            continue
        checked += 1
    assert checked > 5


def test_all_that_is_offered_is_in_the_schema() -> None:
    top = set(schema()["properties"])
    assert {one.split(" = ")[0] for one in texts("")} == top


def test_the_server_answers_and_refuses_what_is_no_text() -> None:
    server = Server(initial(None, (), None, None))
    try:
        client = Client(server)
        answer = json.loads(client.ask("POST", "complete", {"before": "[[link]]\nra"}).content)
        assert answer["replaced"] == 2
        assert answer["items"][0]["text"] == "rate = "
        assert answer["items"][0]["help"]
        assert client.ask("POST", "complete", {"before": 3}).status == 400
    finally:
        server.close()
