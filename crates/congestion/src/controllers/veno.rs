//! Veno: Reno that tells random losses from congestion by the backlog in the queue.
//!
//! Source: C. P. Fu, S. C. Liew, "TCP Veno: TCP enhancement for transmission over wireless access
//! networks", IEEE Journal on Selected Areas in Communications 21(2), 2003. As in Vegas the sender
//! estimates how many of its segments wait in the queue, N = cwnd * (RTT - BaseRTT) / RTT, and
//! compares it with beta = 3:
//!
//! - avoidance: standard growth for N < beta, otherwise only with every other ACK,
//! - fast retransmit: ssthresh is 4/5 for N < beta (a random loss), otherwise 1/2,
//! - timeout and slow start are standard,
//! - BaseRTT, the smallest RTT, is learnt again after each loss and each timeout.
//!
//! Reconstructed: the text of the paper was not available; the rules are those of secondary
//! descriptions. Decisions: RTT is the smoothed one; N is computed with each ACK outside of
//! recovery, and a loss is judged by the last value; without any value all is standard. The shares
//! are shares of the flight size (RFC 5681 equation 4), at least two segments.
//!
//! On a GEO path three segments are a small part of the RTT: at a window of 700 segments 0.4 %,
//! which jitter hides.

mod linux;

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::linux::VARIANT;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

pub use linux::LinuxVeno;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "beta",
        default: "3",
        allowed: Allowed::Range(0.0, 1e6),
        meaning: "Backlog in segments from which the path counts as congested",
    },
    VARIANT,
];

/// TCP Veno.
#[derive(Clone, Debug)]
pub struct Veno {
    window: Window,
    beta: f64,
    /// BaseRTT; none right after a loss.
    base: Option<Span>,
    /// N in segments, as of the last ACK outside of recovery.
    backlog: Option<f64>,
    /// On a congested path the last ACK of avoidance did not count.
    skipped: bool,
}

impl Listed for Veno {
    const LISTED: &'static [Entry] = &[Entry {
        name: "veno",
        summary: "Reno that backs off less when a loss comes without a queue",
        source: "Fu and Liew, TCP Veno, 2003",
        status: Status::Reconstructed,
        repair: Repair::SingleLoss,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            beta: values.number("beta"),
            base: None,
            backlog: None,
            skipped: false,
        }
    }
}

impl Veno {
    /// N = cwnd * (RTT - BaseRTT) / RTT, in segments.
    fn measure(&mut self, srtt: Option<Span>) {
        if let (Some(rtt), Some(base)) = (srtt, self.base)
            && rtt > Span::ZERO
        {
            let waiting = rtt.saturating_sub(base).as_nanos() as f64 / rtt.as_nanos() as f64;
            self.backlog = Some(self.window.cwnd as f64 / self.window.mss as f64 * waiting);
        }
    }
}

impl Controller for Veno {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { round_trips: true, ..Needs::default() }
    }

    fn on_rtt(&mut self, _now: Time, sample: Span) {
        self.base = Some(self.base.map_or(sample, |base| base.min(sample)));
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack.srtt);
        self.grow(ack);
    }

    fn avoid_congestion(&mut self, ack: &Ack) {
        let congested = self.backlog.is_some_and(|n| n >= self.beta);
        self.skipped = congested && !self.skipped;
        if !self.skipped {
            let window = &mut self.window;
            window.grow_by_fraction(window.mss * window.counted(ack.acked).max(window.mss));
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        let random = self.backlog.is_some_and(|n| n < self.beta);
        let ssthresh = if random {
            (loss.flight / 5 * 4).max(2 * self.window.mss)
        } else {
            self.threshold_after_loss(loss)
        };
        self.window.ssthresh = ssthresh;
        self.window.cwnd = ssthresh;
        self.base = None;
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.window.ssthresh = self.threshold_after_loss(loss);
        }
        self.window.cwnd = self.window.mss;
        self.base = None;
    }
}

impl TcpPolicy for Veno {}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const BASE: Span = Span::from_millis(500);
    /// Of 30 segments at 625 ms, six wait; at 550 ms fewer than three do.
    const CONGESTED: Span = Span::from_millis(625);
    const RANDOM: Span = Span::from_millis(550);

    fn veno(cwnd: u64, ssthresh: u64) -> Veno {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: cwnd,
            initial_ssthresh: ssthresh,
            byte_counting: 1,
        };
        let mut veno = Veno::build(&settings, &Values::defaults(PARAMETERS));
        veno.on_rtt(Time::ZERO, BASE);
        veno
    }

    fn ack(rtt: Span) -> Ack {
        Ack {
            now: Time::ZERO,
            acked: MSS,
            flight: 0,
            advertised: u64::MAX,
            srtt: Some(rtt),
            min_rtt: Some(BASE),
            cwnd_limited: true,
        }
    }

    fn loss() -> Loss {
        Loss { now: Time::ZERO, flight: 30 * MSS, repeated: false }
    }

    #[test]
    fn the_backlog_is_the_part_of_the_window_that_waits() {
        let mut veno = veno(30 * MSS, u64::MAX);
        veno.on_rtt(Time::ZERO, CONGESTED);
        veno.measure(Some(CONGESTED));
        assert!((veno.backlog.unwrap() - 6.0).abs() < 1e-9);
        veno.measure(Some(BASE));
        assert!(veno.backlog.unwrap().abs() < 1e-9);
    }

    #[test]
    fn a_random_loss_leaves_four_fifths() {
        let mut veno = veno(30 * MSS, 30 * MSS);
        veno.on_ack(&ack(RANDOM));
        veno.on_loss(&loss());
        assert_eq!((veno.window.cwnd, veno.window.ssthresh), (24 * MSS, 24 * MSS));
    }

    #[test]
    fn a_congestion_loss_leaves_half() {
        let mut veno = veno(30 * MSS, 30 * MSS);
        veno.on_ack(&ack(CONGESTED));
        veno.on_loss(&loss());
        assert_eq!((veno.window.cwnd, veno.window.ssthresh), (15 * MSS, 15 * MSS));
    }

    #[test]
    fn a_loss_before_any_measurement_leaves_half() {
        let mut veno = veno(30 * MSS, 30 * MSS);
        veno.on_loss(&loss());
        assert_eq!(veno.window.cwnd, 15 * MSS);
    }

    #[test]
    fn a_backlog_of_exactly_beta_is_congestion() {
        let mut veno = veno(15 * MSS, 15 * MSS);
        veno.on_ack(&ack(CONGESTED));
        assert_eq!(veno.window.cwnd, 15 * MSS);
        veno.on_loss(&loss());
        assert_eq!(veno.window.cwnd, 15 * MSS);
    }

    #[test]
    fn a_timeout_halves_even_without_a_backlog() {
        let mut veno = veno(30 * MSS, 30 * MSS);
        veno.on_ack(&ack(RANDOM));
        veno.on_timeout(&loss());
        assert_eq!((veno.window.cwnd, veno.window.ssthresh), (MSS, 15 * MSS));
        veno.on_timeout(&Loss { flight: MSS, repeated: true, ..loss() });
        assert_eq!(veno.window.ssthresh, 15 * MSS);
    }

    #[test]
    fn avoidance_takes_two_rounds_for_a_segment_on_a_congested_path() {
        let grown = |rtt| {
            let mut veno = veno(30 * MSS, 30 * MSS);
            for _ in 0..30 {
                veno.on_ack(&ack(rtt));
            }
            veno.window.cwnd - 30 * MSS
        };
        assert!((970..=MSS).contains(&grown(RANDOM)), "{}", grown(RANDOM));
        assert!((485..=MSS / 2).contains(&grown(CONGESTED)), "{}", grown(CONGESTED));
    }

    #[test]
    fn slow_start_is_standard_on_a_congested_path() {
        let mut veno = veno(30 * MSS, 60 * MSS);
        for _ in 0..4 {
            veno.on_ack(&ack(CONGESTED));
        }
        assert_eq!(veno.window.cwnd, 34 * MSS);
    }

    #[test]
    fn the_base_rtt_is_learnt_anew_after_a_loss() {
        let mut veno = veno(30 * MSS, 30 * MSS);
        veno.on_ack(&ack(CONGESTED));
        veno.on_loss(&loss());
        veno.on_rtt(Time::ZERO, CONGESTED);
        veno.on_ack(&ack(CONGESTED));
        assert!(veno.backlog.unwrap().abs() < 1e-9);
    }

    #[test]
    fn the_base_rtt_is_learnt_anew_after_a_timeout() {
        let mut veno = veno(30 * MSS, 30 * MSS);
        veno.on_timeout(&loss());
        veno.on_rtt(Time::ZERO, CONGESTED);
        assert_eq!(veno.base, Some(CONGESTED));
    }

    #[test]
    fn until_then_a_loss_is_judged_by_the_last_backlog() {
        let mut veno = veno(30 * MSS, 30 * MSS);
        veno.on_ack(&ack(RANDOM));
        veno.on_loss(&loss());
        veno.on_ack(&ack(RANDOM));
        veno.on_loss(&loss());
        assert_eq!(veno.window.cwnd, 24 * MSS);
    }
}
