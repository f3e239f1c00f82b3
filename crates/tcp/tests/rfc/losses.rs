//! The loss of any one segment: with every recovery of TCP, and with SCPS-TP, reliable or not.

use std::sync::Arc;

use tcp::{BestEffort, Config, Connection, Recovery, Scps, State};
use transport::Endpoint;

use crate::eifel::forms;
use crate::scps::{routes, scps};
use crate::script::Script;
use crate::wire::{A, B, MSS, Sent, Wire, config, ms};

/// Each segment of each kind is lost once, in both directions.
#[test]
fn no_single_loss_keeps_a_transfer_from_its_end() {
    type Kind = fn(&Sent) -> bool;
    let losses: [(usize, Kind, usize); 8] = [
        (A, Sent::is_syn, 1),
        (B, Sent::is_syn, 1),
        (A, Sent::is_data, 24),
        (B, Sent::is_data, 24),
        (A, Sent::is_bare_ack, 12),
        (B, Sent::is_bare_ack, 12),
        (A, Sent::is_fin, 2),
        (B, Sent::is_fin, 2),
    ];
    let of_tcp = [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Linux];
    let of_tcp = of_tcp.map(|recovery| Config { recovery, initial_window: 10, ..config() });
    let best_effort = routes().zip([0, 1, 0, 1]).map(|(route, retransmissions)| {
        let best_effort = Some(BestEffort::new(retransmissions));
        scps(Scps { best_effort, ..route })
    });
    for config in of_tcp.into_iter().chain(routes().map(scps)).chain(best_effort) {
        let name = format!("{:?}, {:?}", config.recovery, config.scps);
        for (by, kind, most) in losses {
            for nth in 1..=most {
                let lost = move |sent: &Sent| sent.by == by && kind(sent) && sent.nth == nth;
                let mut wire = Wire::new(&config).losing(lost).open();
                for end in [A, B] {
                    wire.write(end, 20 * MSS + 7);
                    wire.close(end);
                }
                wire.run();
                let delivered = [A, B].map(|end| wire.ends[end].delivered());
                assert_eq!(delivered, [20 * MSS + 7; 2], "{name}, {by} {nth}");
                assert_eq!(wire.states(), [State::Closed; 2], "{name}, {by} {nth}");
            }
        }
    }
}

/// RFC 5681 section 3.2 and RFC 6675 section 5 step 4.3: the fast retransmit leaves at once,
/// however much of the window the controller takes at the loss. Data that is still in the network
/// may fill it for a round trip, and the timer would be faster.
#[test]
fn the_first_lost_segment_leaves_at_once_with_every_controller() {
    let mut late = Vec::new();
    for (name, specification) in forms() {
        for recovery in [Recovery::Sack, Recovery::Linux] {
            let config = Config { recovery, window_scaling: true, ..config() };
            let controller = specification.build(&config.controller());
            let end = Connection::new(Arc::new(config.clone()), controller, 1_000);
            let mut script = Script::of(&config, end);
            script.end.write(3_000 * MSS);
            script.sent();
            for _ in 0..3 {
                script.wait(ms(100));
                let end = script.first() + script.end.info().unacked / MSS;
                while script.first() < end {
                    script.ack((script.first() + 4).min(end));
                }
            }
            // Those that are paced need time, and more leaves after the lost segment.
            script.wait(ms(100));
            let first = script.first();
            // Three whole segments at least: a short one may lie among them, cut at the edge of the
            // window.
            let arrived = first + 1..first + 6;
            let mut sent = script.sack(first, std::slice::from_ref(&arrived));
            sent.extend(script.wait(ms(10)));
            if !sent.contains(&first) {
                late.push(format!("{name}, {recovery:?}: {sent:?}"));
            }
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}
