"""The JSON Schemas of scenario and study files, in the hands of other people's programs."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from bentpipe.study.plan import Replications
from conftest import EXAMPLES, ROOT

if TYPE_CHECKING:
    from conftest import Bentpipe

STUDIES = sorted(EXAMPLES.glob("study-*.toml"))
SCENARIOS = sorted(
    path
    for folder in (EXAMPLES, ROOT / "benches/scenarios", ROOT / "python/bentpipe/compare/links")
    for path in folder.glob("*.toml")
    if path not in STUDIES
)
TAPLO = Path(sys.prefix) / "bin" / "taplo"


def printed(bentpipe: Bentpipe, kind: str) -> dict[str, Any]:
    done = bentpipe("schema", kind)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("kind", "files"), [("scenario", SCENARIOS), ("study", STUDIES)])
def test_a_validator_accepts_every_file_of_the_project(
    bentpipe: Bentpipe, kind: str, files: list[Path]
) -> None:
    schema = printed(bentpipe, kind)
    assert schema["$id"].startswith(f"urn:bentpipe:{kind}:")
    validator = jsonschema.Draft202012Validator
    validator.check_schema(schema)
    # With all formats that the library knows: a time is not one of the clock.
    checked = validator(schema, format_checker=validator.FORMAT_CHECKER)
    assert files
    for file in files:
        problems = [error.message for error in checked.iter_errors(tomllib.loads(file.read_text()))]
        assert not problems, file


@pytest.mark.parametrize(
    ("line", "answer"),
    [("rate = 2", "rate"), ('delay = "250 miles"', "delay"), ("raet = 1", "raet")],
)
def test_a_toml_editor_finds_what_is_wrong_through_the_first_line(
    bentpipe: Bentpipe, tmp_path: Path, line: str, answer: str
) -> None:
    (tmp_path / "scenario.schema.json").write_text(json.dumps(printed(bentpipe, "scenario")))
    text = (EXAMPLES / "geo-download.toml").read_text()
    file = tmp_path / "mine.toml"

    def lint(text: str) -> subprocess.CompletedProcess[str]:
        file.write_text(f"#:schema ./scenario.schema.json\n{text}")
        command = [str(TAPLO), "lint", "--colors", "never", file.name]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    whole = lint(text)
    assert whole.returncode == 0, whole.stderr
    key = line.partition(" ")[0]
    lines = [other for other in text.splitlines() if other.partition(" ")[0] != key]
    at = lines.index("[[link]]") + 1
    wrong = lint("\n".join([*lines[:at], line, *lines[at:]]) + "\n")
    assert wrong.returncode != 0
    assert answer in wrong.stderr


def test_defaults_of_replications_are_those_of_study_files(bentpipe: Bentpipe) -> None:
    """A study of a program leaves out what has the default of its class."""
    kinds = printed(bentpipe, "study")["properties"]["replications"]["anyOf"]
    (until,) = (one for one in kinds if "relative_half_width" in one.get("properties", {}))
    keys = until["properties"].items()
    written = {key: about["default"] for key, about in keys if "default" in about}
    assert set(written) == {"minimum", "maximum", "round"}
    assert all(getattr(Replications, key) == value for key, value in written.items())
