"""Mechanisms on the path: `bentpipe path`, and what recordings have of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from conftest import TUNNEL

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

ALGORITHMS = ["codel", "dualpi2", "fq-codel", "pie", "red"]
MIDDLEBOXES = [
    "ack-decimation",
    "ack-filter",
    "ack-reconstruction",
    "packet-control",
    "snoop",
    "spoofing-proxy",
]
PROCEDURES = ["go-back-n", "selective-repeat"]
CODES = ["reed-solomon"]
DEMANDS = ["dvb-rcs2"]
MODEMS = ["dvb-s2", "dvb-s2x"]
SPEAKERS = {"xcp": "xcp", "p-xcp": "xcp", "ebn": "ebn"}
"""Routers that answer data, with a controller that asks them."""
ROUTERS = [*SPEAKERS, "quick-start"]
TRACES = ["trace"]
BUCKETS = ["shaper", "policer"]
MTUS = ["mtu"]
TUNNELS = ["wireguard", "esp", "openvpn", "masque"]
PROXIES = ["pepsal", "ck-stp", "aerotcp", "scps-gateway", "satpep"]
SCHEMES = ["rohc", "rohc-unidirectional", "scps", "vj"]


def test_all_mechanisms_are_listed_with_source_and_status(bentpipe: Bentpipe) -> None:
    listed = json.loads(bentpipe("path", "--json").stdout)["mechanisms"]
    on_links = ALGORITHMS + PROCEDURES + CODES + MODEMS + ROUTERS + DEMANDS + TRACES + BUCKETS
    assert [
        one["name"] for one in listed
    ] == on_links + MTUS + SCHEMES + MIDDLEBOXES + PROXIES + TUNNELS
    assert all(one["source"] and one["status"] and one["hurts"] for one in listed)
    printed = bentpipe("path").stdout
    assert all(one["name"] in printed for one in listed)


def test_one_mechanism_is_described_with_its_parameters(bentpipe: Bentpipe) -> None:
    printed = bentpipe("path", "codel").stdout
    assert "RFC 8289" in printed
    assert "interval" in printed
    assert "100ms" in printed


def test_a_wrong_name_is_answered_with_the_nearest(bentpipe: Bentpipe) -> None:
    done = bentpipe("path", "fq-codle")
    assert (done.returncode, done.stdout) == (2, "")
    assert "fq-codel" in done.stderr


@pytest.mark.parametrize("aqm", ALGORITHMS)
def test_a_recording_has_drops_marks_and_delay_of_each_algorithm(
    bentpipe: Bentpipe, small: Path, tmp_path: Path, aqm: str
) -> None:
    sets = [f"link.0.aqm={aqm}", "link.0.queue=unlimited", "record.interval=100ms"]
    options = [word for one in sets for word in ("--set", one)]
    done = bentpipe("run", small, "--out", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    run = bp.load(tmp_path / "out")
    totals = run.table("aqm")
    assert totals["aqm"].to_list() == [aqm, aqm]
    assert totals["direction"].to_list() == ["forward", "backward"]
    assert (totals["mean_queue_delay_ms"] <= totals["max_queue_delay_ms"]).all()
    assert aqm in done.stdout
    assert "queue delay" in done.stdout
    # The queue is unlimited, so that all drops are those of the algorithm.
    dropped = run.links["dropped_packets"].to_list()[:2]
    assert totals["dropped_packets"].to_list() == dropped
    assert run.table("aqm_series")["link"].unique().sort().to_list() == [0, 1]


THIN = """
duration = "20s"
[[node]]
name = "terminal"
middlebox = "ack-filter"
[[link]]
between = ["server", "terminal"]
delay = "100ms"
forward = { rate = "10Mbit/s" }
backward = { rate = "40kbit/s" }
[[link]]
between = ["terminal", "client"]
rate = "100Mbit/s"
delay = "1ms"
[[flow]]
from = "server"
to = "client"
controller = "newreno"
traffic = { download = "3MB" }
"""


def test_a_recording_has_the_counters_of_middleboxes(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "thin.toml").write_text(THIN)
    done = bentpipe(
        "run", tmp_path / "thin.toml", "--out", tmp_path / "out", "--set", "record.interval=1s"
    )
    assert done.returncode == 0, done.stderr
    run = bp.load(tmp_path / "out")
    totals = run.table("middlebox")
    assert totals.columns == ["node", "middlebox", "counter", "packets"]
    assert totals["node"].to_list() == ["terminal"]
    assert totals["counter"].to_list() == ["filtered"]
    filtered = totals["packets"][0]
    assert filtered > 100
    assert "ack-filter" in done.stdout
    assert f"{filtered:,}" in done.stdout
    series = run.table("middlebox_series")["packets"].to_list()
    assert series == sorted(series)
    assert series[-1] == filtered


def test_an_explanation_has_what_a_middlebox_sees(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "thin.toml").write_text(THIN)
    explained = bp.Scenario.load(tmp_path / "thin.toml").explain()
    found = explained.nodes[0].middlebox
    assert found is not None
    assert found.name == "ack-filter, rule cake"
    assert (found.data_of, found.acks_of) == (["flow-0"], ["flow-0"])
    assert found.added_delay_ms == 0
    assert (
        "sees data of flow-0 and ACKs of flow-0"
        in bentpipe("explain", tmp_path / "thin.toml").stdout
    )


def test_a_sender_before_the_gateway_keeps_its_window_at_errors(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    text = THIN.replace('"ack-filter"', '{ name = "snoop", eln = true }')
    text = text.replace('"40kbit/s" }', '"1Mbit/s" }\nchannel = { per = 0.01 }')
    (tmp_path / "up.toml").write_text(text)
    goodput = {}
    for eln in ("true", "false"):
        sets = ("--set", f"flow.0.transport.eln={eln}", "--out", tmp_path / eln)
        done = bentpipe("run", tmp_path / "up.toml", *sets)
        assert done.returncode == 0, done.stderr
        run = bp.load(tmp_path / eln)
        counts = dict(run.table("middlebox").select("counter", "packets").iter_rows())
        assert counts["notices"] > 10
        goodput[eln] = run.flows["goodput_bps"][0]
    assert goodput["true"] > 1.5 * goodput["false"]
    printed = bentpipe("explain", tmp_path / "up.toml").stdout
    assert "eln has no effect: no flow" in printed


@pytest.mark.parametrize("arq", PROCEDURES)
def test_a_recording_and_the_output_have_what_arq_did(
    bentpipe: Bentpipe, small: Path, tmp_path: Path, arq: str
) -> None:
    sets = [f"link.0.forward.arq={arq}", "link.0.channel={ per = 0.05 }", "record.interval=100ms"]
    options = [word for one in sets for word in ("--set", one)]
    done = bentpipe("run", small, "--out", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    assert arq in done.stdout
    assert "given up" in done.stdout
    run = bp.load(tmp_path / "out")
    (row,) = run.table("arq").iter_rows(named=True)
    assert row["direction"] == "forward"
    assert row["repeated_frames"] > 0
    assert row["given_up_packets"] <= 2
    assert row["status_frames"] <= row["frames"] + row["repeated_frames"]
    series = run.table("arq_series")
    assert series["link"].unique().to_list() == [0]
    assert series["repeated_frames"].to_list()[-1] == row["repeated_frames"]


def test_a_window_that_the_sequence_space_cannot_number_is_refused(
    bentpipe: Bentpipe, small: Path
) -> None:
    arq = '{ name = "selective-repeat", window = 65, sequence_bits = 7 }'
    done = bentpipe("run", small, "--set", f"link.0.arq={arq}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "link[0].arq.window" in done.stderr
    assert "at most 64" in done.stderr


def test_explain_says_what_arq_adds_and_where_it_outlasts_the_rto(
    bentpipe: Bentpipe, small: Path
) -> None:
    sets = ["link.0.arq=selective-repeat", "link.0.channel={ per = 0.01 }", "link.0.delay=250ms"]
    options = [word for one in sets for word in ("--set", one)]
    printed = bentpipe("explain", small, *options).stdout
    assert "added delay" in printed
    assert "hosts see" in printed
    assert "RTO" in printed


def test_a_recording_and_the_output_have_what_fec_did(
    bentpipe: Bentpipe, small: Path, tmp_path: Path
) -> None:
    fec = '{ name = "reed-solomon", data = 10, parity = 2 }'
    sets = [f"link.0.forward.fec={fec}", "link.0.channel={ per = 0.02 }", "record.interval=100ms"]
    options = [word for one in sets for word in ("--set", one)]
    done = bentpipe("run", small, "--out", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    assert "reed-solomon" in done.stdout
    assert "repaired" in done.stdout
    run = bp.load(tmp_path / "out")
    (row,) = run.table("fec").iter_rows(named=True)
    assert row["direction"] == "forward"
    assert row["repaired_packets"] > 0
    assert row["parity_packets"] == 2 * row["blocks"]
    assert row["lost_packets"] < row["repaired_packets"]
    series = run.table("fec_series")
    assert series["link"].unique().to_list() == [0]
    assert series["repaired_packets"].to_list()[-1] == row["repaired_packets"]


@pytest.mark.parametrize("feedback", SPEAKERS)
def test_a_recording_and_the_output_have_what_routers_did(
    bentpipe: Bentpipe, small: Path, tmp_path: Path, feedback: str
) -> None:
    sets = [f"link.0.forward.feedback={feedback}", "record.interval=100ms"]
    options = [word for one in sets for word in ("--set", one)]
    controller = SPEAKERS[feedback]
    done = bentpipe("run", small, "--controller", controller, "--out", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    assert "without the field" in done.stdout
    run = bp.load(tmp_path / "out")
    (row,) = run.table("feedback").iter_rows(named=True)
    assert (row["direction"], row["feedback"]) == ("forward", feedback)
    assert row["treated_packets"] > 100
    assert row["lowered_packets"] <= row["treated_packets"]
    series = run.table("feedback_series")
    assert series["link"].unique().to_list() == [0]
    assert series["treated_packets"].to_list()[-1] == row["treated_packets"]


def test_quick_start_starts_with_the_rate_that_the_router_approves(
    bentpipe: Bentpipe, small: Path, tmp_path: Path
) -> None:
    sets = ["link.0.forward.feedback=quick-start", "flow.0.transport.quick_start=2Mbit/s"]
    options = [word for one in sets for word in ("--set", one)]
    done = bentpipe("run", small, "--out", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    assert "denied" in done.stdout
    (row,) = bp.load(tmp_path / "out").table("feedback").iter_rows(named=True)
    assert (row["feedback"], row["treated_packets"], row["reports"]) == ("quick-start", 1, 1)
    printed = bentpipe("explain", small, *options).stdout
    assert "2Mbit/s, asks for 1.28Mbit/s" in printed


def test_explain_names_the_link_that_does_not_answer_with_its_line(
    bentpipe: Bentpipe, small: Path
) -> None:
    printed = bentpipe("explain", small, "--set", "flow.0.controller=xcp").stdout
    assert "has no feedback for xcp: its sender falls back to standard TCP" in printed
    line = small.read_text().splitlines().index("[[link]]") + 2
    assert f"small.toml:{line}:" in printed


def test_a_code_of_more_packets_than_its_symbols_can_number_is_refused(
    bentpipe: Bentpipe, small: Path
) -> None:
    fec = '{ name = "reed-solomon", data = 250, parity = 6 }'
    done = bentpipe("run", small, "--set", f"link.0.fec={fec}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "link[0].fec.parity" in done.stderr
    assert "at most 5 with data = 250" in done.stderr


def test_explain_says_what_fec_adds_and_that_it_needs_errors(
    bentpipe: Bentpipe, small: Path
) -> None:
    sets = ["link.0.fec=reed-solomon", "link.0.channel=perfect"]
    options = [word for one in sets for word in ("--set", one)]
    printed = bentpipe("explain", small, *options).stdout
    assert "added rate" in printed
    assert "the channel corrupts nothing" in printed


ACM = """
duration = "20s"
[[link]]
between = ["server", "client"]
rate = "1Mbit/s"
delay = "20ms"
forward.channel = { es_n0 = 12, attenuation = "fade.csv", modem = "dvb-s2" }
[[flow]]
from = "server"
to = "client"
controller = "cubic"
traffic = { download = "100MB" }
[record]
interval = "1s"
"""


def test_a_recording_and_the_output_have_what_a_modem_sent(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    (tmp_path / "acm.toml").write_text(ACM)
    (tmp_path / "fade.csv").write_text("0,0\n2,0\n12,6\n20,6\n")
    done = bentpipe("run", tmp_path / "acm.toml", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "dvb-s2" in done.stdout
    run = bp.load(tmp_path / "out")
    (row,) = run.table("acm").iter_rows(named=True)
    assert row["min_rate_bps"] < row["mean_rate_bps"]
    assert row["changes"] > 3
    series = run.table("acm_series")
    assert series["rate_bps"].to_list()[-1] == row["min_rate_bps"]
    assert (series["es_n0_db"] >= series["threshold_db"]).all()
    printed = bentpipe("explain", tmp_path / "acm.toml").stdout
    assert "16APSK 4/5" in printed
    assert "million symbols per second" in printed


RETURN = """
duration = "60s"
[[link]]
between = ["server", "client"]
delay = "250ms"
forward = { rate = "5Mbit/s" }
backward = { rate = "256kbit/s", demand = { name = "dvb-rcs2", cra = "16kbit/s" } }
[[flow]]
from = "server"
to = "client"
controller = "cubic"
traffic = { download = "1MB" }
[record]
interval = "1s"
"""


def test_a_recording_and_the_output_have_what_demand_assignment_did(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    (tmp_path / "return.toml").write_text(RETURN)
    done = bentpipe("run", tmp_path / "return.toml", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "dvb-rcs2" in done.stdout
    run = bp.load(tmp_path / "out")
    (row,) = run.table("demand").iter_rows(named=True)
    assert row["direction"] == "backward"
    assert row["requests"] > 0
    assert row["cra_slots"] > 0
    # Those of the last requests come after the end.
    assert 0 < row["vbdc_slots"] + row["unused_slots"] <= row["requested_slots"]
    # A frame, the control loop of 13 frames, and the slots of a full queue.
    assert 20 < row["mean_access_delay_ms"] < row["max_access_delay_ms"] < 2000
    series = run.table("demand_series")
    assert series["link"].unique().to_list() == [1]
    assert series["requested_slots"].to_list()[-1] == row["requested_slots"]
    printed = bentpipe("explain", tmp_path / "return.toml").stdout
    assert "added delay, ACK" in printed
    # A SYN and its ACK fit the slots of a constant rate, and need no request.
    warning = "a SYN may be retransmitted"
    assert warning not in printed
    requests = ("--set", "link.0.backward.demand=dvb-rcs2")
    assert warning in " ".join(
        bentpipe("explain", tmp_path / "return.toml", *requests).stdout.split()
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_recording_and_the_output_have_what_header_compression_did(
    bentpipe: Bentpipe, small: Path, tmp_path: Path, scheme: str
) -> None:
    sets = [
        f"link.0.header_compression={scheme}",
        "flow.0.transport.timestamps=false",
        "link.0.channel={ per = 0.02 }",
        "record.interval=100ms",
    ]
    options = [word for one in sets for word in ("--set", one)]
    done = bentpipe("run", small, "--out", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    assert scheme in done.stdout
    assert "undecodable" in done.stdout
    run = bp.load(tmp_path / "out")
    totals = run.table("header_compression")
    assert totals["scheme"].to_list() == [scheme, scheme]
    assert totals["direction"].to_list() == ["forward", "backward"]
    assert (totals["sent_header_bytes"] < totals["header_bytes"]).all()
    assert (totals["compressed_packets"] <= totals["packets"]).all()
    if scheme == "vj":
        assert totals["undecodable_packets"].sum() > 0
    series = run.table("header_compression_series")
    last = series.filter(series["link"] == 0)["sent_header_bytes"].to_list()[-1]
    assert last == totals["sent_header_bytes"][0]


def test_vj_is_refused_for_ipv6(bentpipe: Bentpipe, small: Path) -> None:
    done = bentpipe("run", small, "--set", "ip=ipv6", "--set", "link.0.header_compression=vj")
    assert (done.returncode, done.stdout) == (2, "")
    assert "link[0].header_compression" in done.stderr
    assert "IPv4 only" in done.stderr


def test_explain_says_how_long_headers_are_and_that_losses_spread(
    bentpipe: Bentpipe, small: Path
) -> None:
    sets = ["link.0.header_compression=vj", "link.0.channel={ per = 0.01 }"]
    options = [word for one in sets for word in ("--set", one)]
    printed = bentpipe("explain", small, *options).stdout
    assert "headers of ACKs" in printed
    assert "each lost packet takes all that follow it" in " ".join(printed.split())


FILTERED = "link.1.mtu={ bytes = 1400, icmp = 'filtered' }"


def test_a_recording_and_the_output_have_what_was_too_long(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    (tmp_path / "tunnel.toml").write_text(TUNNEL)
    sets = ("--set", "record.interval=100ms")
    done = bentpipe("run", tmp_path / "tunnel.toml", "--out", tmp_path / "out", *sets)
    assert done.returncode == 0, done.stderr
    assert "too long" in done.stdout
    assert "Black hole" not in done.stdout
    run = bp.load(tmp_path / "out")
    totals = run.table("mtu")
    assert totals["direction"].to_list() == ["forward", "backward"]
    assert totals["too_big_packets"].to_list() == totals["icmp_packets"].to_list() == [10, 0]
    assert run.table("path_mtu")["mss_bytes"].to_list() == [1348]
    series = run.table("mtu_series")
    assert series.filter(series["link"] == 2)["too_big_packets"].to_list()[-1] == 10


def test_a_black_hole_is_explained_before_and_after_a_run(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    (tmp_path / "tunnel.toml").write_text(TUNNEL)
    explained = bentpipe("explain", tmp_path / "tunnel.toml", "--set", FILTERED).stdout
    assert "a black hole for flow-0" in " ".join(explained.split())
    done = bentpipe("run", tmp_path / "tunnel.toml", "--set", FILTERED)
    assert done.returncode == 0, done.stderr
    assert "Black hole: " in done.stdout
    assert "Nothing arrived for flow-0." in " ".join(done.stdout.split())
    probing = ("--set", FILTERED, "--set", "flow.0.transport.mtu_probing=always")
    assert "black hole for" not in bentpipe("explain", tmp_path / "tunnel.toml", *probing).stdout
    assert "Black hole" not in bentpipe("run", tmp_path / "tunnel.toml", *probing).stdout


@pytest.mark.parametrize(
    ("sets", "place", "expected"),
    [
        (["link.1.mtu=60"], "link[1].mtu", "68"),
        (["link.1.mtu=80"], "link[1].mtu", "at least 88"),
        (["link.1.mtu=1270", "ip=ipv6"], "link[1].mtu", "at least 1280"),
        (["link.1.mtu={ bytes = 70 }"], "link[1].mtu.bytes", "at least 88"),
        (["link.1.mtu={ bytes = 1400, icmp = 'lost' }"], "link[1].mtu.icmp", "filtered"),
        (["link.0.mtu=1400", "flow.0.transport.mss=1400"], "flow[0].transport.mss", "1360"),
        (["flow.0.transport.mtu_probing=allways"], "flow[0].transport.mtu_probing", "always"),
    ],
)
def test_an_mtu_that_cannot_be_is_refused(
    bentpipe: Bentpipe, tmp_path: Path, sets: list[str], place: str, expected: str
) -> None:
    (tmp_path / "tunnel.toml").write_text(TUNNEL)
    options = [word for one in sets for word in ("--set", one)]
    done = bentpipe("run", tmp_path / "tunnel.toml", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert place in done.stderr
    assert expected in done.stderr


def test_a_trace_is_described_and_its_losses_are_counted(
    bentpipe: Bentpipe, small: Path, tmp_path: Path
) -> None:
    assert "Mahimahi" in " ".join(bentpipe("path", "trace").stdout.split())
    (tmp_path / "lossy.csv").write_text("t_s,loss_percent\n0,5\n1,0\n")
    trace = f'{{ file = "{tmp_path / "lossy.csv"}", loop = true, phase = "random" }}'
    done = bentpipe("run", small, "--out", tmp_path / "out", "--set", f"link.0.trace={trace}")
    assert done.returncode == 0, done.stderr
    assert bp.load(tmp_path / "out").links["corrupted_packets"].sum() > 0
    printed = bentpipe("explain", small, "--set", f"link.0.trace={trace}").stdout
    assert "(mean 2.5 %)" in " ".join(printed.split())


def test_controllers_are_compared_over_a_trace(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "delays").write_text("20\n" * 50 + "60\n" * 50)
    options = ("--link", "leo", "--replications", "2", "--json")
    on_path = f"trace:delays={tmp_path / 'delays'},loop=true,phase=random"
    done = bentpipe("compare", *options, "--controllers", "cubic", "--on-path", on_path)
    assert done.returncode == 0, done.stderr
    assert f"cubic + {on_path.replace(',', ':')}" in done.stdout
    bare = bentpipe("compare", "--link", "leo", "--controllers", "cubic", "--on-path", "trace")
    assert (bare.returncode, bare.stdout) == (2, "")
    assert "`file`, `deliveries`, `delays` or `orbit`" in bare.stderr
