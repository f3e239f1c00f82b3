//! Every mechanism of `bentpipe path` has a test with real TCP.

use super::{acm, aqm, arq, buckets, compression, demand, fec, middlebox, mtu, traces, tunnel};

/// The tests by the key of a scenario that takes their mechanisms. Each of them runs all mechanisms
/// of its key, or checks that each has a test.
const TESTS: [(&str, fn()); 12] = [
    ("link.aqm", aqm::each_algorithm_decides_before_real_tcp_and_the_payload_is_whole),
    ("link.arq", arq::each_procedure_repeats_packets_of_real_tcp_and_the_payload_is_whole),
    (
        "link.channel.modem",
        acm::each_modem_changes_the_rate_of_real_packets_and_the_payload_is_whole,
    ),
    ("link.fec", fec::each_code_rebuilds_packets_of_real_tcp_and_the_payload_is_whole),
    ("link.demand", demand::demand_assignment_delays_real_tcp_and_the_payload_is_whole),
    (
        "link.header_compression",
        compression::each_scheme_compresses_real_headers_and_the_payload_is_whole,
    ),
    ("link.mtu", mtu::real_tcp_finds_the_path_mtu_and_the_payload_is_whole),
    ("link.trace", traces::a_trace_loses_and_reorders_packets_of_real_tcp_and_the_payload_is_whole),
    ("link.shaper", buckets::real_tcp_has_the_rate_of_the_tokens_and_of_cells),
    ("link.policer", buckets::a_policer_drops_packets_of_real_tcp_and_the_payload_is_whole),
    ("flow.tunnel", tunnel::a_bulk_flow_through_real_wireguard_has_its_efficiency),
    ("node.middlebox", middlebox::each_middlebox_has_a_test_with_real_tcp),
];

/// Keys whose mechanisms the kernel backend rejects, because Linux cannot take part: tests of
/// `plan`.
const REJECTED: [&str; 1] = ["link.feedback"];

/// Keys whose tests need a program of another crate and loaded controllers: tests/test_gateway.py.
const ELSEWHERE: [&str; 1] = ["node.proxy"];

#[test]
fn every_mechanism_of_the_path_has_a_test_with_real_tcp() {
    for mechanism in scenario::mechanisms() {
        let tested = TESTS.iter().any(|(key, _)| *key == mechanism.key)
            || REJECTED.contains(&mechanism.key)
            || ELSEWHERE.contains(&mechanism.key);
        assert!(tested, "{} of {} has no test on the kernel", mechanism.name, mechanism.key);
    }
}
