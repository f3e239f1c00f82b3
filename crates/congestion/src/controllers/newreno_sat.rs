//! NewReno as it is set up for satellites: a larger initial window and byte counting.
//!
//! Source: RFC 2488, the practice of TCP over satellite channels, which asks for SACK and large
//! windows, with the two sender-side changes that became standard after it:
//!
//! - the initial window is a number of segments, 10 in RFC 6928, 3 or 4 in RFC 3390,
//! - slow start counts the bytes that an ACK acknowledges, up to L segments (RFC 3465), so that it
//!   does not halve its pace with a receiver that delays its ACKs.
//!
//! Recovery is SACK's. Window scaling and timestamps are the transport's business and are set
//! there, as is a receive buffer of the bandwidth-delay product. All else is the trait's default.

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::parameters::{Allowed, Parameter, Values};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "initial_window",
        default: "10",
        allowed: Allowed::Whole(1, 1000),
        meaning: "Initial window in segments, in place of the transport's (RFC 6928, RFC 3390); \
                  a fraction is cut off",
    },
    Parameter {
        name: "byte_counting",
        default: "2",
        allowed: Allowed::Whole(1, 100),
        meaning: "Segments that one ACK counts for at most in slow start, in place of the \
                  transport's (L of RFC 3465); a fraction is cut off",
    },
];

/// NewReno for satellites.
#[derive(Clone, Debug)]
pub struct NewRenoSat {
    window: Window,
}

impl Listed for NewRenoSat {
    const LISTED: &'static [Entry] = &[Entry {
        name: "newreno-sat",
        summary: "NewReno with a larger initial window and byte counting, over SACK",
        source: "RFC 2488, RFC 3465, RFC 6928",
        status: Status::Published,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        let segments = u64::from(values.whole("initial_window"));
        let settings = Settings {
            initial_window: segments * u64::from(settings.mss),
            byte_counting: values.whole("byte_counting"),
            ..*settings
        };
        Self { window: Window::new(&settings) }
    }
}

impl Controller for NewRenoSat {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }
}

impl TcpPolicy for NewRenoSat {}

#[cfg(test)]
mod tests {
    use units::Time;

    use super::*;
    use crate::events::{Ack, Loss};
    use crate::parameters::Value;

    const MSS: u64 = 1000;

    fn newreno_sat(settings: &[(&str, f64)]) -> NewRenoSat {
        let mut values = Values::defaults(PARAMETERS);
        for (name, value) in settings {
            values.set("newreno-sat", name, Value::Number(*value)).unwrap();
        }
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 2 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        NewRenoSat::build(&settings, &values)
    }

    fn ack(segments: u64) -> Ack {
        Ack {
            now: Time::ZERO,
            acked: segments * MSS,
            flight: 0,
            advertised: u64::MAX,
            srtt: None,
            min_rtt: None,
            cwnd_limited: true,
        }
    }

    #[test]
    fn it_starts_with_its_own_initial_window() {
        assert_eq!(newreno_sat(&[]).window.cwnd, 10 * MSS);
        assert_eq!(newreno_sat(&[("initial_window", 4.0)]).window.cwnd, 4 * MSS);
    }

    #[test]
    fn an_ack_for_two_segments_counts_for_both_in_slow_start() {
        let mut newreno_sat = newreno_sat(&[]);
        newreno_sat.on_ack(&ack(2));
        assert_eq!(newreno_sat.window.cwnd, 12 * MSS);
        newreno_sat.on_ack(&ack(5));
        assert_eq!(newreno_sat.window.cwnd, 14 * MSS, "and for no more");
    }

    #[test]
    fn with_a_limit_of_one_segment_it_is_standard_tcp() {
        let mut newreno_sat = newreno_sat(&[("byte_counting", 1.0)]);
        newreno_sat.on_ack(&ack(2));
        assert_eq!(newreno_sat.window.cwnd, 11 * MSS);
        newreno_sat.on_loss(&Loss { now: Time::ZERO, flight: 10 * MSS, repeated: false });
        assert_eq!(newreno_sat.window.cwnd, 5 * MSS);
    }
}
