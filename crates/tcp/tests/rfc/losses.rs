//! The loss of any one segment: with every recovery of TCP, and with SCPS-TP, reliable or not.

use tcp::{BestEffort, Config, Recovery, Scps, State};

use crate::scps::{routes, scps};
use crate::wire::{A, B, MSS, Sent, Wire, config};

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
