"""`bentpipe page import`: each field that it reads, with any value of JSON in its place."""

from __future__ import annotations

import copy
import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe import InputError
from bentpipe.pages.command import convert
from bentpipe.pages.entries import LARGEST_BYTES, LONGEST_MS
from test_pages import PAGE, STYLE, archive, entry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Bentpipe

Key = tuple[str | int, ...]
VALUES: tuple[Any, ...] = (
    None, True, "text", "https://[::1/", "\ud800", float("nan"), float("inf"), -float("inf"),
    [], [1], {}, {"url": 1}, 0, -1, 0.25, -(10**30), 10**18, 10**400, 1e300,
)  # fmt: skip


def sample() -> dict[str, Any]:
    """An archive with every field that an import reads."""
    stack = {"callFrames": [{"url": PAGE}], "parent": {"callFrames": [{"url": STYLE}]}}
    first = entry(PAGE, 0, timings={"connect": 50, "ssl": 20, "wait": 90}, connection="7")
    other = entry(
        STYLE,
        0.16,
        connection="7",
        _initiator={"type": "script", "url": PAGE, "stack": stack},
        _resourceType="stylesheet",
        _fromCache=False,
    )
    for one in (first, other):
        one["response"] |= {"httpVersion": "h2", "_transferSize": 5300}
    pages = [{"pageTimings": {"onLoad": 400}}]
    return {"log": {"version": "1.2", "pages": pages, "entries": [first, other]}}


def keys_of(value: Any, key: Key = ()) -> Iterator[Key]:
    """The places of all values."""
    yield key
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        pairs = [*value.items()]
    elif isinstance(value, list):
        pairs = [*enumerate(value)]
    for name, one in pairs:
        yield from keys_of(one, (*key, name))


def with_value(key: Key, value: Any) -> Any:
    """The archive with another value at a place."""
    if not key:
        return value
    made = copy.deepcopy(sample())
    place: Any = made
    for name in key[:-1]:
        place = place[name]
    place[key[-1]] = value
    return made


def refusal(file: Path, out: Path) -> str | None:
    """The message with which an archive is refused, or None if it was imported."""
    try:
        convert(file, out, as_json=False)
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("key", [*keys_of(sample())], ids=lambda key: ".".join(map(str, key)))
def test_any_value_of_a_field_is_imported_or_refused(
    key: Key, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "any.har", tmp_path / "page.toml"
    for value in VALUES:
        file.write_text(json.dumps(with_value(key, value)))
        out.unlink(missing_ok=True)
        why = refusal(file, out)
        if why is None:
            assert tomllib.loads(out.read_text(encoding="utf-8"))["objects"]
        else:
            assert why.startswith(f"{file}: ")
            assert len(why) < len(str(file)) + 160
            assert not out.exists()
        capsys.readouterr()


def of_bounds(timings: dict[str, float], **answer: Any) -> dict[str, Any]:
    """An entry with these times and parts of its answer."""
    found = entry(PAGE, 0, timings=timings)
    found["response"] |= answer
    return found


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ({"timings": {"wait": LONGEST_MS + 1}}, "timings.wait: expected a number of at most 3,6"),
        ({"timings": {"receive": 1e18}}, "timings.receive: expected a number of at most 3,600,000"),
        ({"bodySize": LARGEST_BYTES + 1}, "response.bodySize: expected a number of at most 10,000"),
        ({"bodySize": "5"}, 'response.bodySize: expected a number of at most 10,000,000,000 bytes, '
                            'found "5"'),
    ],
)  # fmt: skip
def test_a_value_that_no_page_can_have_is_refused(
    bentpipe: Bentpipe, tmp_path: Path, bad: dict[str, Any], expected: str
) -> None:
    file = archive(tmp_path / "a.har", of_bounds(bad.pop("timings", {}), **bad))
    done = bentpipe("page", "import", file)
    assert done.returncode == 2
    assert done.stderr.startswith(f"bentpipe: {file}: log.entries[0].{expected}")
    assert len(done.stderr.splitlines()) == 1


def test_the_bounds_are_those_of_scenarios(tmp_path: Path) -> None:
    out = tmp_path / "page.toml"
    convert(
        archive(tmp_path / "a.har", of_bounds({"wait": LONGEST_MS}, bodySize=LARGEST_BYTES)),
        out, as_json=False,
    )  # fmt: skip
    (first,) = tomllib.loads(out.read_text())["objects"]
    assert (first["bytes"], first["server_time"]) == ("10000000000B", "3600000ms")
    link = {"between": ["a", "b"], "rate": "1Mbit/s", "delay": "1ms", "queue": "unlimited"}
    for key, value in (("bytes", "10000000001B"), ("server_time", "3600001ms")):
        flow = {
            "from": "a", "to": "b", "controller": "cubic",
            "traffic": {"page": {"objects": [first | {key: value}]}},
        }  # fmt: skip
        with pytest.raises(bp.ScenarioError, match=f"{key}: .*it is too large"):
            bp.Scenario.build(duration="1s", link=[link], flow=[flow])


def test_a_page_that_no_scenario_can_load_is_refused(tmp_path: Path) -> None:
    # The pictures come one after the other, for more than an hour from the document on.
    pictures = [
        {"startedDateTime": f"2026-11-27T{12 + hour}:00:00Z", "timings": {"receive": 3_590_000}}
        for hour in range(3)
    ]
    entries = [entry(f"{PAGE}{n}.png", 0) | one for n, one in enumerate(pictures)]
    file = archive(tmp_path / "slow.har", entry(PAGE, 0), *entries)
    expected = "delay of the object https://shop.example/2.png: expected a time such as"
    with pytest.raises(InputError, match=expected) as caught:
        convert(file, None, as_json=False)
    assert caught.value.file == str(file)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"log": ' + "9" * 5000 + "}"])
def test_json_that_python_does_not_read_is_refused(
    bentpipe: Bentpipe, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "deep.har"
    file.write_text(text)
    done = bentpipe("page", "import", file)
    assert done.returncode == 2
    assert done.stderr.startswith(f"bentpipe: {file}: expected an HTTP archive, found")


def test_names_of_objects_are_unique(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("a", "a-3", "a")
    pictures = [entry(f"{PAGE}{name}", 0.2 + n / 100) for n, name in enumerate(names)]
    convert(archive(tmp_path / "a.har", entry(PAGE, 0), *pictures), None, as_json=False)
    page = tomllib.loads(capsys.readouterr().out)
    assert [one["name"] for one in page["objects"]] == ["index", "a", "a-3", "a-4"]
