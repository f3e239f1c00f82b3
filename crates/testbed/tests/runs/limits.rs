//! Limits of real senders as `TCP_INFO` gives them, beside those of simulated ones.

use recording::FlowRecord;
use serde_json::{Value, json};
use units::Span;

use super::{is_skipped, recorded, scenario};

/// The record of a flow of 3 MB on the kernel with these settings of transport and traffic.
fn flow(transport: Value, traffic: Value) -> FlowRecord {
    let settings = json!({ "transport": transport, "traffic": traffic });
    recorded(&scenario(json!({ "delay": "50ms" }), settings)).flows.remove(0)
}

#[test]
fn the_kernel_gives_the_receive_window_and_no_share_that_it_does_not_measure() {
    if is_skipped() {
        return;
    }
    let record = flow(json!({ "receive_buffer": "20kB" }), json!({ "download": "1MB" }));
    let (busy, window) = (record.limited_s.unwrap(), record.limited_by_receive_window.unwrap());
    assert!(busy > 0.8 * record.completion_s.unwrap(), "{record:?}");
    assert!(window > 0.7, "{record:?}");
    assert_eq!(record.limited_by_send_buffer, Some(0.0), "{record:?}");
    let others = [
        record.limited_by_set_up,
        record.limited_by_congestion_window,
        record.limited_by_application,
        record.limited_by_recovery,
        record.limited_by_pacing,
    ];
    assert_eq!(others, [None; 5]);
    // Share of the time with data to send in the simulator, whose test has the same number:
    // `limits::the_share_of_the_receive_window_is_that_of_the_kernel`.
    assert!((window - 0.973).abs() < 0.05, "{record:?}");
}

#[test]
fn the_kernel_gives_the_send_buffer_of_a_paced_sender() {
    if is_skipped() {
        return;
    }
    let send = json!({ "default": "16KiB", "max": "100kB" });
    let settings = json!({
        "controller": { "name": "bbr" },
        "transport": { "receive_buffer": { "max": "8MiB" }, "send_buffer": send, "recovery": "linux",
                       "delayed_ack": "linux", "nagle": true },
        "traffic": { "bulk": "1MB", "write": "64KiB" },
    });
    let link = json!({ "delay": "100ms", "rate": "50Mbit/s", "queue": { "packets": 4000 } });
    let record = recorded(&scenario(link, settings)).flows.remove(0);
    assert!(record.limited_by_send_buffer.unwrap() > 0.3, "{record:?}");
}

#[test]
fn a_connection_without_data_to_send_is_not_busy() {
    if is_skipped() {
        return;
    }
    let traffic = json!({ "on_off": { "rate": "100kbit/s", "on": "200ms", "off": "2s" } });
    let mut scenario = scenario(json!({}), json!({ "traffic": traffic }));
    scenario.duration = Span::from_secs(6);
    let record = recorded(&scenario).flows.remove(0);
    assert!((0.2..3.0).contains(&record.limited_s.unwrap()), "{record:?}");
}

#[test]
fn quic_over_real_sockets_has_all_limits() {
    if is_skipped() {
        return;
    }
    let transport = json!({ "protocol": "quic", "quic": { "stream_receive_window": "20kB" } });
    let record = flow(transport, json!({ "download": "1MB" }));
    assert!(record.limited_by_receive_window.unwrap() > 0.8, "{record:?}");
    let set_up = record.limited_by_set_up.unwrap() * record.limited_s.unwrap();
    assert!((0.09..0.2).contains(&set_up), "{record:?}");
}
