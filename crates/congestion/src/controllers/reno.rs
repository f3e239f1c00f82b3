//! Reno and NewReno: standard TCP congestion control.
//!
//! Source: RFC 5681 sections 3.1 and 3.2 (slow start, congestion avoidance, window after a loss)
//! and RFC 6582 section 3.2 (partial ACKs). The two names share this window; they differ in the
//! recovery that finds and repairs losses. All of it is the trait's default, but for the response
//! of `newreno` to a mark with ABE (RFC 8511), an option.

mod linux;

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::Loss;
use crate::parameters::Values;
use crate::parts::abe;
use crate::parts::linux::VARIANT;
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

pub use linux::LinuxReno;

/// Standard TCP.
#[derive(Clone, Debug)]
pub struct Reno {
    window: Window,
    abe: bool,
}

impl Listed for Reno {
    const LISTED: &'static [Entry] = &[
        Entry {
            name: "reno",
            summary: "Standard congestion control; recovery ends with the first new ACK",
            source: "RFC 5681",
            status: Status::Published,
            repair: Repair::SingleLoss,
            parameters: &[VARIANT],
        },
        Entry {
            name: "newreno",
            summary: "Standard congestion control; recovery repairs all losses of one window",
            source: "RFC 5681, RFC 6582",
            status: Status::Published,
            repair: Repair::PartialAcks,
            parameters: &[abe::PARAMETER],
        },
    ];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self { window: Window::new(settings), abe: abe::is_on(values) }
    }
}

impl Controller for Reno {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_congestion_mark(&mut self, loss: &Loss) {
        if self.abe && !self.window.in_slow_start() {
            abe::answer_mark(loss, &mut self.window, abe::NEWRENO);
        } else {
            standard::on_congestion_mark(self, loss);
        }
    }
}

impl TcpPolicy for Reno {}

#[cfg(test)]
mod tests {
    use units::Time;

    use super::*;
    use crate::events::samples::ack;
    use crate::events::{Ack, PartialAck, RecoveryStyle};
    use crate::parameters::Value;

    const MSS: u64 = 1000;

    fn reno(cwnd: u64, ssthresh: u64) -> Reno {
        let mut reno = Reno::build(
            &Settings {
                mss: MSS as u32,
                initial_window: 2 * MSS,
                initial_ssthresh: ssthresh,
                byte_counting: 1,
            },
            &Values::defaults(&[]),
        );
        reno.window.cwnd = cwnd;
        reno
    }

    #[test]
    fn with_abe_a_mark_leaves_four_fifths_and_a_loss_half() {
        let mut reno = reno(100 * MSS, 200 * MSS);
        reno.on_congestion_mark(&loss(100 * MSS, false));
        assert_eq!((reno.window.cwnd, reno.window.ssthresh), (50 * MSS, 50 * MSS));
        let mut values = Values::defaults(&[abe::PARAMETER]);
        values.set("newreno", "abe", Value::Word("on".into())).unwrap();
        reno.abe = abe::is_on(&values);
        reno.window.cwnd = 100 * MSS;
        reno.on_congestion_mark(&loss(100 * MSS, false));
        assert_eq!((reno.window.cwnd, reno.window.ssthresh), (80 * MSS, 80 * MSS));
        reno.window.ssthresh = 200 * MSS;
        reno.on_congestion_mark(&loss(80 * MSS, false));
        assert_eq!((reno.window.cwnd, reno.window.ssthresh), (40 * MSS, 40 * MSS), "slow start");
        reno.window.cwnd = 80 * MSS;
        reno.on_loss(&loss(80 * MSS, false));
        assert_eq!(reno.window.cwnd, 40 * MSS);
        reno.window.cwnd = 2 * MSS;
        reno.on_congestion_mark(&loss(2 * MSS, false));
        assert_eq!(reno.window.cwnd, 2 * MSS);
    }

    fn loss(flight: u64, repeated: bool) -> Loss {
        Loss { now: Time::ZERO, flight, repeated }
    }

    #[test]
    fn slow_start_adds_at_most_one_segment_for_an_ack_that_covers_two() {
        let mut reno = reno(2 * MSS, 64 * MSS);
        reno.on_ack(&ack(2 * MSS));
        assert_eq!(reno.window.cwnd, 3 * MSS);
    }

    #[test]
    fn slow_start_adds_only_what_a_small_ack_covers() {
        let mut reno = reno(2 * MSS, 64 * MSS);
        reno.on_ack(&ack(10));
        assert_eq!(reno.window.cwnd, 2 * MSS + 10);
    }

    #[test]
    fn avoidance_adds_one_segment_for_each_window_of_acks() {
        let mut reno = reno(10 * MSS, 10 * MSS);
        for _ in 0..10 {
            reno.on_ack(&ack(MSS));
        }
        assert!((10 * MSS + 900..=11 * MSS).contains(&reno.window.cwnd), "{}", reno.window.cwnd);
    }

    #[test]
    fn avoidance_is_exact_above_mss_squared_bytes() {
        let start = 50 * MSS * MSS;
        let mut reno = reno(start, start);
        for _ in 0..start / MSS {
            reno.on_ack(&ack(MSS));
        }
        let grown = reno.window.cwnd - start;
        assert!((MSS - 1..=MSS).contains(&grown), "one window of ACKs added {grown} bytes");
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut reno = reno(10 * MSS, 64 * MSS);
        reno.on_ack(&Ack { cwnd_limited: false, ..ack(MSS) });
        assert_eq!(reno.window.cwnd, 10 * MSS);
    }

    #[test]
    fn a_loss_halves_the_flight_size_and_not_the_window() {
        let mut reno = reno(40 * MSS, 64 * MSS);
        reno.on_loss(&loss(20 * MSS, false));
        assert_eq!((reno.window.cwnd, reno.window.ssthresh), (10 * MSS, 10 * MSS));
    }

    #[test]
    fn ssthresh_never_falls_below_two_segments() {
        let mut reno = reno(3 * MSS, 64 * MSS);
        reno.on_timeout(&loss(MSS, false));
        assert_eq!((reno.window.cwnd, reno.window.ssthresh), (MSS, 2 * MSS));
    }

    #[test]
    fn a_repeated_timeout_leaves_ssthresh_alone() {
        let mut reno = reno(40 * MSS, 64 * MSS);
        reno.on_timeout(&loss(40 * MSS, false));
        reno.on_timeout(&loss(MSS, true));
        assert_eq!((reno.window.cwnd, reno.window.ssthresh), (MSS, 20 * MSS));
    }

    #[test]
    fn a_partial_ack_deflates_the_window_and_adds_one_segment_back() {
        let mut reno = reno(20 * MSS, 10 * MSS);
        reno.on_partial_ack(&PartialAck { acked: 5 * MSS, style: RecoveryStyle::Inflation });
        assert_eq!(reno.window.cwnd, 16 * MSS);
        reno.on_partial_ack(&PartialAck { acked: 40 * MSS, style: RecoveryStyle::Inflation });
        assert_eq!(reno.window.cwnd, MSS);
    }

    #[test]
    fn an_idle_sender_restarts_from_the_initial_window() {
        let mut reno = reno(40 * MSS, 64 * MSS);
        reno.on_idle();
        assert_eq!(reno.window.cwnd, 2 * MSS);
        reno.window.cwnd = MSS;
        reno.on_idle();
        assert_eq!(reno.window.cwnd, MSS);
    }
}
