//! TCP-Cherry: TCP-Peach whose probes carry data that was not sent yet.
//!
//! Source: S. Utsumi, S. M. S. Zabir, N. Shiratori, "TCP-Cherry: a new approach for TCP congestion
//! control over satellite IP networks", Computer Communications 31(10), 2008. Fast-Forward Start
//! and First-Aid Recovery send supplement segments; the receiver should have a buffer of four times
//! the largest cwnd, in which they wait.
//!
//! Reconstructed: only abstracts could be read. The counters are those of TCP-Peach, in `probing`;
//! the supplements come from the far end of the receiver's window. The abstract promises that cwnd
//! does not decay when errors hit the probes too, and not how; decision: when at least the share
//! `restored_at` of the supplements of a recovery is answered, congestion dropped none of them, and
//! cwnd is what it was before the loss.

use crate::entry::{Entry, Listed, Need, Repair, Status};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::probing::{IGNORED, Kind, PROBES_PER_ACK, Probing};
use crate::tcp_policy::Probe;
use crate::window::Settings;

/// Data that was not sent yet.
#[derive(Clone, Debug)]
pub struct Supplements;

impl Kind for Supplements {
    const PROBE: Probe = Probe::Ahead;
}

/// TCP-Cherry.
pub type Cherry = Probing<Supplements>;

const RESTORED_AT: Parameter = Parameter {
    name: "restored_at",
    default: "0.9",
    allowed: Allowed::Range(0.0, 1.0),
    meaning: "Share of the supplements of a recovery whose answers restore the cwnd that was \
              before the loss; reconstructed",
};

impl Listed for Cherry {
    const LISTED: &'static [Entry] = &[Entry {
        name: "cherry",
        summary: "TCP-Peach whose low-priority segments carry data that was not sent yet",
        source: "Utsumi, Zabir and Shiratori, TCP-Cherry, 2008",
        status: Status::Reconstructed,
        repair: Repair::SelectiveAcks,
        parameters: &[PROBES_PER_ACK, IGNORED, RESTORED_AT],
    }];
    const NEED: Option<Need> = Some(Need::Routers("routers that drop low priority first"));

    fn build(settings: &Settings, values: &Values) -> Self {
        Self::new(settings, values, Some(values.number(RESTORED_AT.name)))
    }
}

#[cfg(test)]
mod tests {
    use units::Time;

    use super::*;
    use crate::controller::Controller;
    use crate::events::Loss;
    use crate::tcp_policy::{ProbeState, TcpPolicy};

    const MSS: u64 = 1000;

    /// A window of `before` segments.
    fn cherry(before: u64) -> Cherry {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: before * MSS,
            initial_ssthresh: before * MSS,
            byte_counting: 1,
        };
        Cherry::build(&settings, &Values::defaults(Cherry::LISTED[0].parameters))
    }

    fn loss(before: u64) -> Loss {
        Loss { now: Time::ZERO, flight: before * MSS, repeated: false }
    }

    /// cwnd in segments, when `answers` return.
    fn window_with(mut cherry: Cherry, answers: u64) -> u64 {
        let state = ProbeState { now: Time::ZERO, srtt: None, advertised: u64::MAX };
        for _ in 0..answers {
            cherry.on_probe_answered(&state);
        }
        cherry.window().cwnd / MSS
    }

    /// The same, after a loss at `before` segments of whose supplements `answered` return.
    fn window_after(before: u64, answered: u64) -> u64 {
        let mut cherry = cherry(before);
        cherry.on_loss(&loss(before));
        cherry.on_recovery_exit(Time::ZERO);
        window_with(cherry, answered)
    }

    #[test]
    fn supplements_that_errors_hit_do_not_let_the_window_decay() {
        assert_eq!(window_after(40, 35), 35);
        assert_eq!(window_after(40, 36), 40);
        assert_eq!(window_after(40, 40), 40);
    }

    #[test]
    fn congestion_leaves_half_the_window() {
        assert_eq!(window_after(40, 20), 20);
    }

    #[test]
    fn a_mark_is_congestion_and_answers_on_their_way_count_no_more() {
        let mut cherry = cherry(40);
        cherry.on_loss(&loss(40));
        cherry.on_recovery_exit(Time::ZERO);
        cherry.on_congestion_mark(&loss(20));
        let state = ProbeState { now: Time::ZERO, srtt: None, advertised: u64::MAX };
        assert!(cherry.take_probe(&state).is_none());
        assert_eq!(window_with(cherry, 40), 10);
    }
}
