"""`bentpipe import netem`: lines of tc as scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from bentpipe import netem
from bentpipe.tc_words import RATES, SIZES, quantity

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

# The lines that public scripts use, with what they become and what is said of the rest.
LINES = [
    ("netem delay 300ms", ['delay = "300ms"'], []),
    (
        "netem delay 300ms 15ms distribution normal",
        [
            'delay = "300ms"',
            'jitter = { variation = "15ms", distribution = "normal", reorder = true }',
        ],
        [],
    ),
    (
        "netem delay 20ms reorder 25% 50%",
        ['delay = "20ms"', "reorder = { probability = 0.25, correlation = 0.5, gap = 1 }"],
        [],
    ),
    ("netem delay 20ms reorder 25% gap 5", ["reorder = { probability = 0.25, gap = 5 }"], []),
    ("netem delay 20ms gap 5", ["reorder = { probability = 1, gap = 5 }"], []),
    ("netem delay 20ms reorder 0%", ['delay = "20ms"'], []),
    ("netem reorder 25%", [], ["reorder: a packet that is sent at once overtakes none"]),
    (
        "netem delay 1ms reorder 1% rate 1mbit duplicate 1%",
        ["reorder = { probability = 0.01, gap = 1 }", "duplicate = { probability = 0.01 }"],
        ["reorder with a rate: a packet", "duplicate with a rate: a copy takes no time"],
    ),
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
        ['delay = "10ms"', 'jitter = { variation = "20ms", reorder = true }'],
        [],
    ),
    (
        "netem delay 100ms 10ms 25% distribution pareto",
        ['variation = "10ms", distribution = "pareto", correlation = 0.25, reorder = true'],
        ["correlation 25% of the delay: as tc-netem(8) has it here"],
    ),
    (
        "netem delay 100ms 10ms rate 1mbit",
        ['jitter = { variation = "10ms", reorder = false }'],
        ["jitter with a rate: the delay comes after the rate"],
    ),
    ("netem delay 1ms 1ms distribution mine", ["reorder = true"], ["distribution mine: uniform"]),
    ("netem delay 1ms distribution normal", [], ['distribution "normal": it has no effect']),
    ("netem loss 2% 25%", ["channel = { per = 0.02, correlation = 0.25 }"], []),
    ("netem loss random 2% 0%", ["channel = { per = 0.02 }"], []),
    (
        "netem loss 2% 25% corrupt 1%",
        ["per = 0.02, correlation = 0.25"],
        ["independent losses of 0.01"],
    ),
    ("netem duplicate 1%", ["duplicate = { probability = 0.01 }"], []),
    ("netem duplicate 1% 25%", ["duplicate = { probability = 0.01, correlation = 0.25 }"], []),
    ("netem duplicate 0%", [], []),
    ("netem corrupt 0.1%", ["per = 0.001"], []),
    ("netem loss 10% corrupt 10%", ["per = 0.19"], []),
    ("netem slot 20ms", ['slot = { min_delay = "20ms" }'], []),
    (
        "netem slot 20ms 30ms packets 4 bytes 6k",
        ['slot = { min_delay = "20ms", max_delay = "30ms", packets = 4, bytes = "6144B" }'],
        [],
    ),
    (
        "netem slot distribution normal 20ms 2ms packets 4",
        ['slot = { min_delay = "20ms", packets = 4 }'],
        ["slot distribution normal 20ms 2ms: delays of slots are uniform"],
    ),
    (
        "netem delay 10ms 5ms slot 20ms",
        ["reorder = false", "slot = "],
        ["slot with packets that overtake", "slot with a delay"],
    ),
    (
        "netem rate 1mbit 20 53 5",
        ['rate = "1Mbit/s"', 'overhead = "20B"', 'cells = { payload = "53B", header = "5B" }'],
        [],
    ),
    (
        "netem rate 1mbit -14 48 -2",
        ['payload = "48B", header = "0B"'],
        ["overhead of -14", "cell overhead of -2"],
    ),
    ("netem rate 125kbps", ['rate = "1Mbit/s"'], []),
    ("netem delay 100000", ['delay = "100ms"'], []),
    # A percentage may lack its sign: tc divides by 100 in any case (iproute2, parse_percent).
    ("netem loss 1 rate 10mbit", ["channel = { per = 0.01 }"], []),
    ("netem loss 0.5", ["channel = { per = 0.005 }"], []),
    ("netem loss 2 25", ["channel = { per = 0.02, correlation = 0.25 }"], []),
    ("netem loss gemodel 1 16.7 90 0.1", ["loss_in_burst = 0.9, loss_in_gap = 0.001"], []),
    ("netem duplicate 1 corrupt 1e1", ["probability = 0.01", "channel = { per = 0.1 }"], []),
    (
        "netem delay 40ms 10 25",
        ['jitter = { variation = "0.01ms", correlation = 0.25, reorder = true }'],
        ["correlation 25 of the delay"],
    ),
    ("netem limit 50 rate 1mbit", ["packets = 50"], ["limit 50"]),
    ("netem limit 1k rate 1mbit", ["packets = 1024"], ["limit 1024"]),
    (
        "tbf rate 10mbit burst 32kbit latency 400ms",
        [
            'rate = "10Gbit/s"',
            'bytes = "504096B"',
            'shaper = { rate = "10Mbit/s", burst = "4096B" }',
        ],
        [],
    ),
    (
        "tbf rate 1mbit burst 4kb peakrate 2mbit mtu 1540 latency 50ms",
        [
            'shaper = { rate = "1Mbit/s", burst = "4096B", '
            'peak = { rate = "2Mbit/s", burst = "1540B" } }',
            # tc-tbf(8): the smaller of both.
            'bytes = "10346B"',
        ],
        [],
    ),
    (
        "tbf rate 1mbit burst 5kb limit 30kb overhead 8 mpu 64 linklayer atm",
        [
            'overhead = "8B"',
            'min_packet = "64B"',
            'cells = { payload = "48B", header = "5B" }',
            'bytes = "30720B"',
        ],
        [],
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


# What `tc -s qdisc show` of iproute2 6.1 prints for `tbf rate ...` and `burst ...`.
@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("8000000", 8e6),
        ("1e6", 1e6),
        ("1bit", 1),
        ("1Kibit", 1024),
        ("1mibit", 1024**2),
        ("1gibit", 1024**3),
        ("1tibit", 1024**4),
        ("1.5e3kbit", 1.5e6),
        ("1tbit", 1e12),
        ("1bps", 8),
        ("1kbps", 8e3),
        ("1KiBps", 8 * 1024),
        ("1mibps", 8 * 1024**2),
        ("1GiBps", 8 * 1024**3),
        ("1TiBps", 8 * 1024**4),
        ("1TBps", 8e12),
    ],
)
def test_rates_have_the_units_of_tc(text: str, bits: float) -> None:
    assert quantity(text, RATES) == bits


@pytest.mark.parametrize(
    ("text", "size"),
    [("1e4", 10_000), ("1b", 1), ("1.5kb", 1536), ("8kbit", 1024), ("1M", 1024**2), ("1g", 2**30)],
)
def test_sizes_have_the_units_of_tc(text: str, size: float) -> None:
    assert quantity(text, SIZES) == size


@pytest.mark.parametrize(
    "script", ["{0} && {1}", "{0}; {1}", "({0}) || {1}", "{0}\n{1}", "{0}&{1}"]
)
def test_commands_on_one_line_set_their_own_devices(script: str) -> None:
    lines = [f"tc qdisc add dev eth{n} root netem delay {5 + 2 * n}0ms 2>&1" for n in (0, 1)]
    found = netem.imported(script.format(*lines), "shape.sh")
    assert found.remarks == []
    forward, _, backward = found.toml.partition("[link.backward]")
    assert 'delay = "50ms"' in forward
    assert 'delay = "70ms"' in backward


def test_commands_have_the_line_where_they_start() -> None:
    script = (
        "tc qdisc add dev eth0 root netem \\\n  delay 5ms # don't\n"
        "awk 'one ; two\nthree' file > out; ls\n"
        "tc qdisc show dev eth0 | grep netem\n"
        "tc qdisc add dev eth1 root netem delay 7ms \\"
    )
    found = netem.imported(script, "shape.sh")
    assert [remark.partition(": no disc")[0] for remark in found.remarks] == [
        "shape.sh:3: awk 'one ; two three' file",
        "shape.sh:4: ls",
        "shape.sh:5: tc qdisc show dev eth0",
        "shape.sh:5: grep netem",
    ]
    assert found.toml.count('delay = "7ms"') == 1
    wrong = script.replace("netem delay 7ms", "netem dely 7ms")
    expected = r"^shape.sh:6: .*: expected an option of netem, found dely; did you mean 'delay'\?"
    with pytest.raises(bp.errors.InputError, match=expected):
        netem.imported(wrong, "shape.sh")


SHAPE = "tc qdisc add dev eth0 root netem delay 5ms"
DOCUMENT = "cat <<{0} > x\ntc qdisc add dev eth9 root netem delay 9ms\nisn't a (quote\n{1}\n"


@pytest.mark.parametrize(
    ("before", "remarks"),
    [
        (DOCUMENT.format("EOF", "EOF"), ["1: cat"]),
        (DOCUMENT.format("-'EOF'", "\tEOF"), ["1: cat"]),
        (DOCUMENT.format(r"\EOF", "EOF").replace("\n", "\r\n"), ["1: cat"]),
        ("cat <<A - <<B\n<(\nA\n'\nB\n", ["1: cat <<A -"]),
        ("ls 2>&- <&3 && echo x >| f\n", ["1: ls", "1: echo x"]),
        ("cat <<< 'a b' > \"c d\" &> e\n", ["1: cat"]),
        ("N=$((1<<2))\n", ["1: N=$((1<<2))"]),
        ("diff <(ls) 'x\ny' | wc # don't\n", ["1: diff <(ls) 'x y' | wc # don't: left out"]),
        ("ls; cat <<EOF\n", ["1: ls", "1: cat <<EOF: left out, as <<EOF is not read"]),
        ("((i = 1 << 2)) && ls\n", ["1: i = 1 << 2)) && ls: left out, as <<"]),
    ],
)  # fmt: skip
def test_redirections_and_here_documents_are_left_out(before: str, remarks: list[str]) -> None:
    found = netem.imported(before + SHAPE, "shape.sh")
    assert len(found.remarks) == len(remarks)
    for remark, start in zip(found.remarks, remarks, strict=True):
        assert remark.startswith(f"shape.sh:{start}")
    assert found.toml.count('delay = "5ms"') == 1
    assert "eth9" not in found.toml


@pytest.mark.parametrize("words", ["qdisc a", "q add", "qd repl", "q r", "-n ns q l"])
def test_abbreviations_of_tc_are_read(words: str) -> None:
    found = netem.imported(f"tc {words} dev eth0 root netem delay 5ms", "shape.sh")
    assert (found.remarks, 'delay = "5ms"' in found.toml) == ([], True)


def test_abbreviations_set_policers_and_are_changes() -> None:
    script = (
        "tc q a dev eth0 clsact\n"
        "tc f a dev eth0 ingress matchall action police rate 5mbit burst 9k drop\n"
        "tc q a dev eth0 root netem delay 5ms\n"
        "tc q c dev eth0 root netem delay 9ms\n"
        "tc q d dev eth0 root netem\n"
    )
    found = netem.imported(script, "shape.sh")
    assert "policer = " in found.toml
    assert [remark.partition(": ")[0] for remark in found.remarks] == ["shape.sh:4", "shape.sh:5"]


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
    assert [row["rate"] for row in rows] == [10_000_000_000, 2_000_000]
    assert rows[0]["shaper"]["rate"] == "20Mbit/s"
    assert [row["delay"] for row in rows] == [0.3, 0.3]
    assert rows[0]["channel"] == {"kind": "packet_errors", "per": 0.01}
    assert "seed = 7" in found.toml


def test_tbf_is_a_shaper_before_the_line_of_netem_and_has_the_queue() -> None:
    script = (
        "tc qdisc add dev eth0 root handle 1: tbf rate 8mbit burst 10kb latency 100ms\n"
        "tc qdisc add dev eth0 parent 1:1 netem rate 100mbit limit 50\n"
    )
    forward = netem.imported(script, "shape.sh").toml.partition("[link.backward]")[0]
    assert '\nrate = "100Mbit/s"' in forward
    assert 'shaper = { rate = "8Mbit/s", burst = "10240B" }' in forward
    assert 'bytes = "110240B"' in forward


INGRESS = "tc qdisc add dev eth0 handle ffff: ingress\n"
MATCH_ALL = "protocol ip prio 50 u32 match ip src 0.0.0.0/0"


@pytest.mark.parametrize(
    ("line", "remarks"),
    [
        (f"parent ffff: {MATCH_ALL} police rate 1mbit burst 10k drop flowid :1", []),
        ("ingress matchall action police rate 1mbit burst 10k conform-exceed drop", []),
        (
            "parent ffff: protocol ip u32 match ip sport 80 0xffff "
            "police rate 1mbit burst 10k drop flowid :1",
            ["match ip sport 80 0xffff"],
        ),
    ],
)
def test_a_filter_at_ingress_polices_what_comes_into_its_device(
    line: str, remarks: list[str]
) -> None:
    bucket = 'policer = { rate = "1Mbit/s", burst = "10240B" }'
    alone = netem.imported(f"{INGRESS}tc filter add dev eth0 {line}\n", "shape.sh")
    assert bucket in alone.toml.partition("[link.backward]")[0]
    egress = "tc qdisc add dev eth0 root netem delay 10ms rate 2mbit\n"
    found = netem.imported(f"{egress}{INGRESS}tc filter add dev eth0 {line}\n", "shape.sh")
    forward, _, backward = found.toml.partition("[link.backward]")
    assert bucket not in forward
    assert bucket in backward
    assert len(found.remarks) == len(remarks)
    for remark, expected in zip(found.remarks, remarks, strict=True):
        assert remark.startswith(f"shape.sh:3: {expected}")
    other = "tc qdisc add dev eth1 root netem delay 30ms rate 3mbit\n"
    script = f"{egress}{other}{INGRESS}tc filter add dev eth0 {line}\n"
    backward = netem.imported(script, "shape.sh").toml.partition("[link.backward]")[2]
    assert bucket in backward
    assert 'rate = "3Mbit/s"' in backward, "eth1 leads into eth0"


def test_a_policer_at_the_root_is_that_of_the_way_out_and_one_that_passes_is_none() -> None:
    root = "tc qdisc add dev eth0 root handle 1: netem rate 5mbit\n"
    line = f"tc filter add dev eth0 parent 1: {MATCH_ALL} police rate 1mbit burst 10k"
    found = netem.imported(f"{root}{line} action drop\n", "shape.sh")
    assert "policer = " in found.toml.partition("[link.backward]")[0]
    # tc-police(8): the default for exceeding packets is `reclassify`.
    passes = netem.imported(f"{root}{line}\n", "shape.sh")
    assert "policer = " not in passes.toml
    assert passes.remarks[-1].startswith("shape.sh:2: police with the action reclassify")


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
    script.write_text("tc qdisc add dev eth0 root netem delay 20ms rate 10mbit ecn\n")
    done = bentpipe("import", "netem", str(script), "--out", str(tmp_path / "one.toml"))
    assert done.returncode == 0
    assert "ecn: losses of the channel mark nothing" in done.stderr
    assert bentpipe("explain", str(tmp_path / "one.toml")).returncode == 0
    again = bentpipe("import", "netem", str(script), "--out", str(tmp_path / "one.toml"))
    assert again.returncode == 2
    assert "--force" in again.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tc qdisc add dev eth0 root netem delay ten", "shape.sh:1: tc qdisc add dev eth0"),
        ("tc qdisc add dev eth0 root netem loss 150%", "found 150%, which is more than 100 %"),
        ("tc qdisc add dev eth0 root netem loss 101", "found 101, which is more than 100 %"),
        ("tc qdisc add dev eth0 root netem rate 1mib", "found 1mib; units are bit, kbit, kibit"),
        ("tc qdisc add dev eth0 root netem rate 50%", "found 50%; units are bit"),
        ("tc qdisc add dev eth0 root netem delay 9ns", "found 9ns; units are us"),
        ("tc qdisc add dev eth0 root tbf rate 1mbit burst 9bit limit 9k", "found 9bit; units are"),
        ('ls\ntc qdisc add dev eth0 root netem delay "1ms', "shape.sh:2: expected a command with"),
        ("ls <(a) 'b\ntc qdisc add dev eth0 root netem", "shape.sh:1: expected a command with"),
        ("cat > 'b", "shape.sh:1: expected a command with closed quotes, found 'b"),
        ("tc qdisc add dev eth0 root netem delay", "found the end of the line"),
        ("tc qdisc add dev eth0 root netem corrupt", "found the end of the line"),
        ("tc qdisc add dev eth0 root netem limit 1e400", "found 1e400, which is more than tc can"),
        ("tc qdisc add dev eth0 root netem delay 1e400", "found 1e400, which is more than tc can"),
        ("tc qdisc add dev eth0 root netem rate 1e306tbit", "found 1e306tbit, which is more"),
        ("tc qdisc add dev eth0 root netem limit many", "found many"),
        ("tc qdisc add dev eth0 root netem loss some", "found some"),
        ("tc qdisc add dev eth0 root netem limit 0", "packets"),
        ("tc qdisc add dev eth0 root netem rate 0mbit", "a rate of zero"),
        ("tc qdisc add dev eth0 root tbf rate 1mbit latency 50ms", "a burst of zero, or none"),
        ("tc qdisc add dev eth0 root tbf burst 10k latency 50ms", "a rate of zero, or none"),
        (
            "tc qdisc add dev eth0 root tbf rate 1mbit burst 10k peakrate 2mbit limit 9k",
            "peakrate without mtu",
        ),
        ("tc qdisc add dev eth0 root tbf rate 1mbit burst 1000 latency 50ms", 'at least "1500B"'),
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


def test_a_managed_queue_below_the_rate_of_netem_is_said_not_to_be_the_same() -> None:
    rate = "tc qdisc add dev eth0 root handle 1: netem delay 250ms rate 2mbit limit 100\n"
    child = "tc qdisc add dev eth0 parent 1: codel limit 500\n"
    remarks = netem.imported(rate + child, "shape.sh").remarks
    assert any("codel with netem's rate: netem holds" in one for one in remarks)
    others = netem.imported(rate.replace("rate 2mbit ", "") + child, "shape.sh").remarks
    assert not any("netem holds" in one for one in others)
