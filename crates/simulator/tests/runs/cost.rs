//! Cost of a run, counted and not timed: a longer pipe costs no more for each segment.

use crate::{geo, run};

/// Events for each segment that is delivered, while the window doubles from 1 MiB to 64 MiB.
#[test]
fn a_wider_window_costs_no_more_events_for_each_segment() {
    let mut costs = Vec::new();
    for mebibytes in [1u32, 4, 16, 64] {
        let transport = format!(r#"receive_buffer = "{mebibytes}MiB", mss = 1000"#);
        let link = format!(
            "rate = \"{}Mbit/s\"\nqueue = {{ packets = {} }}",
            16 * mebibytes,
            1000 * mebibytes
        );
        let traffic = format!(r#"download = "{}MiB""#, 8 * mebibytes);
        let recording = run(&geo(&link, &transport, &traffic));
        let segments = f64::from(8 * mebibytes) * 1_048_576.0 / 1000.0;
        assert!(recording.flows[0].completed);
        costs.push(recording.events as f64 / segments);
    }
    // A segment arrives and half an ACK does; timers are re-armed once for each RTO.
    assert!(costs.iter().all(|cost| (1.4..1.7).contains(cost)), "{costs:?}");
}

/// The same with a burst of losses: slow start overshoots by hundreds of segments.
#[test]
fn a_recovery_of_hundreds_of_losses_costs_no_more_events_for_each_segment() {
    let mut costs = Vec::new();
    for mebibytes in [1u32, 4, 16] {
        let transport =
            format!(r#"receive_buffer = "{}MiB", mss = 1000, recovery = "sack""#, 4 * mebibytes);
        let link = format!(
            "rate = \"{}Mbit/s\"\nqueue = {{ packets = {} }}",
            16 * mebibytes,
            500 * mebibytes
        );
        let traffic = format!(r#"download = "{}MiB""#, 8 * mebibytes);
        let recording = run(&geo(&link, &transport, &traffic));
        let flow = &recording.flows[0];
        assert!(
            flow.completed
                && flow.tcp().unwrap().segments_retransmitted > 100 * u64::from(mebibytes)
        );
        costs.push(recording.events as f64 / flow.tcp().unwrap().segments_sent as f64);
    }
    assert!(costs.iter().all(|cost| *cost < 2.1), "{costs:?}");
}
