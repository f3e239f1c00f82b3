"""Tables at any width: on a pseudo-terminal no word and no number is split or lost."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, Any

import pytest

from bentpipe.study.quantities import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NUMBER = re.compile(r"(?<![\w.,])[-+]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w.]|,\d)")
WALL_TIME = re.compile(r"0\.\d{3}")
BOLD = re.compile(r"\x1b\[\d*m")


def on_a_terminal(command: list[str], width: int, folder: Path) -> str:
    """What a command prints on a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-m", "bentpipe", *command],
        stdout=theirs, stderr=subprocess.PIPE, cwd=folder,
        env=environment | {"NO_COLOR": "1", "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (0, b"")
    return BOLD.sub("", b"".join(parts).decode()).replace("\r\n", "\n")


def numbers(text: str) -> set[float]:
    """The numbers of a text, without separators of thousands."""
    found = NUMBER.findall(text.replace("\N{MINUS SIGN}", "-"))
    return {float(number.replace(",", "")) for number in found}


def values(tree: Any) -> Iterator[float]:
    """All numbers of a JSON value."""
    if isinstance(tree, dict | list):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from values(value)
    elif isinstance(tree, int | float) and not isinstance(tree, bool):
        yield float(tree)


def is_shown(value: float, printed: set[float]) -> bool:
    """True if a value is printed, with at least three digits, in one of the units of tables."""
    scaled = (value * factor for factor in (1, 1e-6, 1e-3, 100))
    return any(abs(one - other) <= 5e-3 * abs(one) for one in scaled for other in printed)


SHORT = ["--replications", "3", "--set", "duration=5s", "--controllers", "cubic,hybla"]


@pytest.mark.parametrize(
    ("command", "select"),
    [
        (["run", "small.toml"], lambda found: [
            [flow["completion_s"], flow["goodput_bps"], flow["p95_rtt_ms"], flow["bytes"],
             flow["segments_sent"], flow["segments_retransmitted"]] for flow in found["flows"]
        ] + [[link["utilisation"], link["delivered_packets"], link["max_queue_bytes"],
              link["p95_queueing_delay_ms"]]
             for link in found["links"]]),
        (["compare", "--link", "leo", *SHORT], lambda found: [
            [row["rank"], row["mean"], row["ci95"], *row["also"].values(),
             (row["against_baseline"] or {}).get("ci95")]
            for one in found["workloads"] for row in one["ranking"]
        ]),
        (["compare", "--link", "leo", "--queue", "0.5bdp,1bdp", *SHORT], lambda found: [
            [one["goodput_bps"]["mean"], one["goodput_bps"]["ci95"], one["p95_rtt_ms"]["mean"],
             one["p95_rtt_ms"]["ci95"], one["p95_queueing_delay_ms"], one["timeouts"]]
            for one in found["buffers"]["combinations"]
        ]),
        (["evaluate", "cubic", "--items", "onset,fairness", "--quick"], lambda found: [
            [one["mean"], one["ci95"], [[row["mean"], row["ci95"]] for row in one["against"]]]
            for item in found["items"] for one in item["findings"]
        ]),
        (["study", "study.toml"], lambda found: [
            [[cell["n"], cell["mean"], cell["ci95"], cell["median"], cell["percentiles"]]
             for cell in found["cells"]],
            [[row["difference"], row["ci95"]] for row in found["comparisons"]],
        ]),
        (["controllers"], lambda found: []),
        (["controllers", "hybla"], lambda found: []),
        (["papers", "list"], lambda found: []),
        (["path"], lambda found: []),
        (["path", "codel"], lambda found: []),
    ],
    ids=lambda value: "-".join(value[:4]) if isinstance(value, list) else None,
)  # fmt: skip
def test_no_word_or_number_is_split_at_any_width(
    file: Path, command: list[str], select: Any
) -> None:
    file.write_text(file.read_text().replace("count = 20", "count = 3"))
    folder = file.parent
    wide = on_a_terminal(command, 400, folder)
    words = {word for word in wide.split() if len(word) <= 40 and not set(word) <= set("─━ ")}
    done = subprocess.run(
        [sys.executable, "-m", "bentpipe", *command, "--json"],
        capture_output=True, cwd=folder, check=True,
    )  # fmt: skip
    expected = list(values(select(json.loads(done.stdout))))
    for width in (60, 80, 120):
        narrow = on_a_terminal(command, width, folder)
        assert max(map(len, narrow.splitlines())) <= width
        found = set(narrow.replace(":", " : ").split()) | set(narrow.split())
        lost = {word for word in words - found if f"{word}:" not in found}
        assert {word for word in lost if not WALL_TIME.fullmatch(word)} == set(), width
        printed = numbers(narrow)
        assert [value for value in expected if not is_shown(value, printed)] == []


def test_a_quantity_has_one_unit_in_all_tables() -> None:
    assert shown("flow.goodput_bps") == shown("flow.a.goodput_bps") == (1e-6, "Mbit/s")
    assert shown("link.utilisation") == (100.0, "%")
    assert shown("flow.bytes") == (1e-6, "MB")
    assert shown("link.max_queue_bytes") == (1e-3, "kB")
    assert shown("jain(flow.goodput_bps)") == (1.0, "1")
    assert shown("link.p95_queue_bytes") == (1e-3, "kB")
    assert shown("flow.srtt_ms") == shown("flow.p95_rtt_ms") == (1.0, "ms")
