"""Tables at any width: on a pseudo-terminal no word and no number is split or lost."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bentpipe.study.quantities import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

ON_THE_PATH = """
name = "path"
duration = "20s"

[[node]]
name = "gateway"
middlebox = "ack-filter"

[[link]]
between = ["server", "gateway"]
rate = "2Mbit/s"
delay = "50ms"
aqm = "codel"

[[link]]
between = ["gateway", "client"]
rate = "10Mbit/s"
delay = "250ms"
channel = { per = 0.01 }
arq = "go-back-n"

[[flow]]
from = "server"
to = "client"
controller = "cubic"
traffic = { bulk = "unlimited" }
"""

NUMBER = re.compile(r"(?<![\w.,])[-+]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w.]|,\d)")
WALL_TIME = re.compile(r"0\.\d{3}")
WIDTHS = (60, 80, 120)
UNBROKEN = 400
"""A width at which no cell is broken."""
BOLD = re.compile(r"\x1b\[\d*m")


def at_widths(
    command: list[str], folder: Path, of: tuple[int, ...] = (*WIDTHS, UNBROKEN)
) -> dict[str, str]:
    """The output of a command as JSON and on terminals of several widths."""
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    widths = map(str, of)
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("at_widths.py"), *widths, "--", *command],
        cwd=folder, env=environment | {"NO_COLOR": "1", "TERM": "xterm"},
        stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    return {name: BOLD.sub("", text) for name, text in json.loads(done.stdout).items()}


def numbers(text: str) -> list[Decimal]:
    """The numbers of a text with their digits, without separators of thousands.

    49 and 49.0 are two: they are equal, and have other last digits.
    """
    found = NUMBER.findall(text.replace("\N{MINUS SIGN}", "-"))
    return [Decimal(number) for number in sorted({one.replace(",", "") for one in found})]


def values(tree: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """All numbers of a JSON value with their paths; positions in lists are not part of a path."""
    if isinstance(tree, dict | list):
        items = tree.items() if isinstance(tree, dict) else (("*", value) for value in tree)
        for key, value in items:
            yield from values(value, f"{path}.{key}" if path else key)
    elif isinstance(tree, int | float) and not isinstance(tree, bool):
        yield path, float(tree)


def is_shown(value: float, printed: list[Decimal]) -> bool:
    """True if a value is printed in one of the units of tables, and rounded to its last digit."""
    scaled = [Decimal(value) * factor for factor in (1, Decimal("1e-6"), Decimal("1e-3"), 100)]
    return any(
        abs(one - other) <= Decimal("0.501").scaleb(int(other.as_tuple().exponent))
        for one in scaled
        for other in printed
    )


def of_statements(found: dict[str, Any]) -> dict[str, Any]:
    """`papers run --json` with only the rows that its table has: one row decides the statement."""
    for paper in found["papers"]:
        deciding = [
            one["rows"][0]
            for one in paper["statements"]
            if one["counted"] and len(one["rows"]) == 1
        ]
        assert deciding
        paper["rows"] = [row for row in paper["rows"] if row["id"] in deciding]
    return found


SHORT = ["--replications", "3", "--set", "duration=5s", "--controllers", "cubic,hybla"]
LEO = ["compare", "--link", "leo"]
TESTED = "p|p_holm|family|undefined|undefined_against"
PAIRED = rf"against_(best|baseline)\.(n|difference|relative|{TESTED})"
AGAINST = rf"against\.\*\.(n|difference|relative|{TESTED}|mean_ci95\.\*)"
RUN = (
    r"wall_s|packet_hops"
    r"|flows\.\*\.(throughput_bps|(srtt|min_rtt|mean_rtt|p99_rtt|max_rtt)_ms|cwnd_bytes"
    r"|start_s|probes_sent|fast_recoveries)"
    r"|links\.\*\.(delivered_bytes|(mean|median|p99|max)_queueing_delay_ms"
    r"|(mean|median|p95|p99)_queue_bytes)"
)
RANKED = (
    rf"workloads\.\*\.(runs|ranking\.\*\.(undefined|aborted|n|{PAIRED}|against_best\.ci95\.\*))"
)
BUFFERS = r"buffers\.(runs|combinations\.\*\.(n|.*\.against_recommended\..*))"
NOT_FIRST = r"workloads\.\*\.ranking\.\*\.(rank|also\..*|against_.*)|verdicts\.\*\..*"
"""What only `--verbose` adds to the short comparison."""
COUNTERS = r"workloads\.\*\.counters\.\*\.values\.\*\..*"
FINDINGS = rf"items\.\*\.(runs|findings\.\*\.(n|undefined|{AGAINST}))"
MEANS = r"cells\.\*\.(variant|undefined|n|median|percentiles\..*)|comparisons.*|deterministic\.\*"
STUDY = rf"cells\.\*\.(variant|undefined)|comparisons\.\*\.({TESTED})|deterministic\.\*"
PAPERS = r"papers\.\*\.(summary\..*|rows\.\*\.(deviation|tolerance|spread))"

# Command, and the numbers that only --json has: a pattern of their paths. All others are printed.
COMMANDS = [
    (["run", "small.toml"], RUN),
    (["run", "path.toml"], RUN),
    ([*LEO, *SHORT], f"{RANKED}|{NOT_FIRST}"),
    ([*LEO, "--on-path", "codel", *SHORT], f"{RANKED}|{NOT_FIRST}|{COUNTERS}"),
    ([*LEO, "--queue", "0.5bdp,1bdp", *SHORT], BUFFERS),
    ([*LEO, *SHORT, "--verbose"], RANKED),
    pytest.param(
        [*LEO, "--on-path", "codel", *SHORT, "--verbose"], RANKED, marks=pytest.mark.nightly
    ),
    ([*LEO, "--queue", "0.5bdp,1bdp", *SHORT, "--verbose"], BUFFERS),
    (["evaluate", "cubic", "--items", "onset,fairness", "--quick"], FINDINGS),
    (["study", "study.toml"], MEANS),
    (["study", "study.toml", "--verbose"], STUDY),
    pytest.param(["papers", "run", "adalr", "--verbose"], PAPERS, marks=pytest.mark.nightly),
    (["papers", "list"], ""),
    (["controllers"], ""),
    (["controllers", "hybla"], ""),
    (["path"], ""),
    (["path", "codel"], ""),
]


@pytest.mark.parametrize(
    ("command", "only_json"),
    COMMANDS,
    ids=lambda value: "-".join(value[:4]) if isinstance(value, list) else "",
)
def test_no_word_or_number_is_split_at_any_width(
    file: Path, command: list[str], only_json: str
) -> None:
    file.write_text(file.read_text().replace("count = 20", "count = 3"))
    folder = file.parent
    (folder / "path.toml").write_text(ON_THE_PATH)
    outputs = at_widths(command, folder)
    wide = outputs[str(UNBROKEN)]
    assert "[/" not in wide
    words = {word for word in wide.split() if len(word) <= 40 and not set(word) <= set("─━ ")}
    found = json.loads(outputs["json"])
    numbered = list(values(of_statements(found) if command[:2] == ["papers", "run"] else found))
    hidden = re.compile(only_json)
    expected = [(path, value) for path, value in numbered if not hidden.fullmatch(path)]
    for width in WIDTHS:
        narrow = outputs[str(width)]
        assert max(map(len, narrow.splitlines())) <= width
        tokens = set(narrow.replace(":", " : ").split()) | set(narrow.split())
        tokens |= set(narrow.replace("\N{EN DASH}", " ").split())
        # An interval is in brackets behind its mean, or below it, there with a dash.
        bare = {token.strip("()") for token in tokens}
        lost = {one for one in words - tokens if f"{one}:" not in tokens}
        lost = {one for one in lost if one.strip("()") not in bare}
        assert {word for word in lost if not WALL_TIME.fullmatch(word)} == set(), width
        printed = numbers(narrow)
        assert [one for one in expected if not is_shown(one[1], printed)] == []


def test_a_quantity_has_one_unit_in_all_tables() -> None:
    assert shown("flow.goodput_bps") == shown("flow.a.goodput_bps") == (1e-6, "Mbit/s")
    assert shown("link.utilisation") == (100.0, "%")
    assert shown("flow.bytes") == (1e-6, "MB")
    assert shown("link.max_queue_bytes") == (1e-3, "kB")
    assert shown("jain(flow.goodput_bps)") == (1.0, "1")
    assert shown("link.p95_queue_bytes") == (1e-3, "kB")
    assert shown("flow.srtt_ms") == shown("flow.p95_rtt_ms") == (1.0, "ms")
