"""`bentpipe import netem`: lines of tc as scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from bentpipe import netem

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

# The lines that public scripts use, with what they become and what is said of the rest.
LINES = [
    ("netem delay 300ms", ['delay = "300ms"'], []),
    (
        "netem delay 300ms 15ms distribution normal",
        ['delay = "285ms"', 'jitter = "30ms"'],
        ["distribution normal", "jitter without a rate"],
    ),
    ("netem delay 20ms reorder 25% 50%", ['delay = "20ms"'], ["reorder 25% 50%"]),
    (
        "netem loss gemodel 1% 16.7%",
        [
            "mean_loss = 0.056497175141242945, mean_burst = 5.988023952095809, "
            "loss_in_burst = 1.0, loss_in_gap = 0.0"
        ],
        [],
    ),
    (
        "netem loss gemodel 1% 16.7% 90% 0.1%",
        ["mean_loss = 0.05179096045", "loss_in_burst = 0.9, loss_in_gap = 0.001"],
        [],
    ),
    # The state with more losses is the bad one, whatever its name; a chain that stays is none.
    ("netem loss gemodel 20% 5% 1% 50%", ["loss_in_burst = 0.5, loss_in_gap = 0.01"], []),
    ("netem loss gemodel 0% 0% 90% 1%", ["channel = { per = 0.01 }"], []),
    ("netem loss gemodel 100%", ["channel = { per = 1 }"], []),
    ("netem loss gemodel 100% 50%", ["mean_burst = 2.0"], []),
    ("netem loss gemodel 1% 5% 30% 30%", ["channel = { per = 0.3 }"], []),
    ("netem loss gemodel 1% 5% corrupt 1%", ["mean_burst = 20.0"], ["independent losses of 0.01"]),
    ("netem corrupt 1% 50%", ["per = 0.01"], ["correlation 50% of corrupt"]),
    (
        "netem delay 10ms 20ms",
        ['delay = "0ms"', 'jitter = "30ms"'],
        ["jitter without a rate", "jitter above the delay"],
    ),
    ("netem loss 2% 25%", ["per = 0.02"], ["correlation 0.25"]),
    ("netem duplicate 1%", [], ["duplicate 1%"]),
    ("netem corrupt 0.1%", ["per = 0.001"], []),
    ("netem loss 10% corrupt 10%", ["per = 0.19"], []),
    ("netem slot 20ms", [], ["slot 20ms"]),
    ("netem rate 1mbit 20 53 5", ['rate = "1Mbit/s"', 'overhead = "20B"'], ["cells of 53 bytes"]),
    ("netem rate 125kbps", ['rate = "1Mbit/s"'], []),
    ("netem delay 100000", ['delay = "100ms"'], []),
    ("netem limit 50 rate 1mbit", ["packets = 50"], ["limit 50"]),
    ("netem frobnicate", [], ["frobnicate: unknown"]),
    (
        "tbf rate 10mbit burst 32kbit latency 400ms",
        ['rate = "10Mbit/s"', 'bytes = "504096B"'],
        ["burst 32kbit"],
    ),
    (
        "fq_codel target 30ms interval 600ms limit 500 noecn",
        ["packets = 500", 'name = "fq-codel", target = "30ms", interval = "600ms", ecn = false'],
        [],
    ),
    # The defaults of tc, which are not those of a scenario.
    ("fq_codel", ["packets = 10240", 'name = "fq-codel", ecn = true'], []),
    ("codel", ["packets = 1000", 'name = "codel", ecn = false'], []),
    ("pie", ["packets = 1000", 'name = "pie", ecn = false'], []),
    ("bfifo limit 64kb", ['bytes = "65536B"'], []),
]


@pytest.mark.parametrize(("line", "keys", "remarks"), LINES, ids=[line for line, _, _ in LINES])
def test_a_line_of_tc_has_a_key_or_a_remark(line: str, keys: list[str], remarks: list[str]) -> None:
    found = netem.imported(f"tc qdisc add dev eth0 root {line}", "shape.sh")
    forward = found.toml.partition("[link.forward]")[2].partition("[link.backward]")[0]
    assert all(key in forward for key in keys), forward
    assert len(found.remarks) == len(remarks)
    for remark, expected in zip(found.remarks, remarks, strict=True):
        assert remark.startswith(f"shape.sh:1: {expected}")
        assert f"# Not the same: {remark}" in found.toml
    bp.Scenario.parse(found.toml)


def test_disciplines_of_a_device_are_one_direction_and_the_second_device_is_the_other() -> None:
    script = (
        "#!/bin/sh\n"
        "tc qdisc add dev eth0 root handle 1: tbf rate 20mbit burst 32kbit latency 400ms\n"
        "tc qdisc add dev eth0 parent 1:1 handle 10: netem delay 300ms \\\n  loss 1%\n"
        "tc qdisc add dev eth1 root netem delay 300ms rate 2mbit seed 7\n"
    )
    found = netem.imported(script, "shape.sh")
    scenario = bp.Scenario.parse(found.toml)
    explained = scenario.explain()
    rows = [{one.name: one.value for one in link.settings} for link in explained.links]
    assert [row["rate"] for row in rows] == [20_000_000, 2_000_000]
    assert [row["delay"] for row in rows] == [0.3, 0.3]
    assert rows[0]["channel"] == {"kind": "packet_errors", "per": 0.01}
    assert "seed = 7" in found.toml


def test_the_slowest_discipline_of_a_device_has_the_rate_and_tbf_its_queue() -> None:
    script = (
        "tc qdisc add dev eth0 root handle 1: tbf rate 8mbit burst 10kb latency 100ms\n"
        "tc qdisc add dev eth0 parent 1:1 netem rate 100mbit limit 50\n"
    )
    forward = netem.imported(script, "shape.sh").toml.partition("[link.backward]")[0]
    assert 'rate = "8Mbit/s"' in forward
    assert 'bytes = "110240B"' in forward


def test_a_change_during_the_run_is_listed_and_the_first_line_counts() -> None:
    for word in ("change", "replace"):
        script = (
            "tc qdisc add dev eth0 root netem delay 20ms\n"
            "sleep 10\n"
            f"tc qdisc {word} dev eth0 root netem delay 200ms\n"
        )
        found = netem.imported(script, "shape.sh")
        assert 'delay = "20ms"' in found.toml
        assert found.remarks[-1].startswith(f"shape.sh:3: tc qdisc {word}")
        assert "[[link.event]]" in found.remarks[-1]


def test_other_lines_are_listed_with_their_place() -> None:
    script = "ip link add ifb0 type ifb\ntc qdisc add dev eth0 root netem delay 1ms\n"
    (remark,) = netem.imported(script, "shape.sh").remarks
    assert remark.startswith("shape.sh:1: ip link add ifb0")


def test_the_command_writes_a_scenario_that_runs(tmp_path: Path, bentpipe: Bentpipe) -> None:
    script = tmp_path / "shape.sh"
    script.write_text("tc qdisc add dev eth0 root netem delay 20ms rate 10mbit duplicate 1%\n")
    done = bentpipe("import", "netem", str(script), "--out", str(tmp_path / "one.toml"))
    assert done.returncode == 0
    assert "duplicate 1%: no key duplicates packets" in done.stderr
    assert bentpipe("explain", str(tmp_path / "one.toml")).returncode == 0
    again = bentpipe("import", "netem", str(script), "--out", str(tmp_path / "one.toml"))
    assert again.returncode == 2
    assert "--force" in again.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tc qdisc add dev eth0 root netem delay ten", "shape.sh:1: tc qdisc add dev eth0"),
        ("tc qdisc add dev eth0 root netem loss 150%", "found 150%"),
        ("tc qdisc add dev eth0 root netem delay", "found the end of the line"),
        ("tc qdisc add dev eth0 root netem corrupt", "found the end of the line"),
        ("tc qdisc add dev eth0 root netem limit many", "found many"),
        ("tc qdisc add dev eth0 root netem loss some", "found some"),
        ("tc qdisc add dev eth0 root netem limit 0", "packets"),
        ("tc qdisc add dev eth0 root netem rate 0mbit", "a rate of zero"),
        ("ip link set eth0 up", "expected a line of tc"),
        ("", "expected a line of tc"),
    ],
)
def test_bad_lines_are_refused_with_their_words(
    tmp_path: Path, bentpipe: Bentpipe, text: str, expected: str
) -> None:
    script = tmp_path / "shape.sh"
    script.write_text(text)
    done = bentpipe("import", "netem", str(script))
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr


def test_a_script_that_is_missing_is_refused(tmp_path: Path, bentpipe: Bentpipe) -> None:
    done = bentpipe("import", "netem", str(tmp_path / "none.sh"))
    assert done.returncode == 2
    assert "none.sh" in done.stderr
