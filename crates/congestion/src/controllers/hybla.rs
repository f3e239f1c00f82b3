//! Hybla: growth per second that does not depend on the round-trip time.
//!
//! Source: C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks",
//! International Journal of Satellite Communications and Networking 22, 2004. A connection with a
//! long round-trip time is to send as fast as one with the reference time RTT0 would: with
//! rho = RTT / RTT0, at least 1, the paper's window in segments is
//!
//! - in slow start W(t) = rho * 2^(rho t / RTT), which is cwnd += 2^rho - 1 for each ACK,
//! - in avoidance W(t) = rho * (rho (t - t_g) / RTT + g), which is cwnd += rho^2 / cwnd.
//!
//! The growth is steep: with rho = 24, a GEO path of 600 ms, one ACK asks for 2^24 segments. So the
//! paper ends slow start at Hoe's estimate of what the path holds, and spaces the segments out by
//! RTT / cwnd instead of sending a window at once.
//!
//! Reconstructed: the text of the paper was not available; the rules are those of secondary
//! descriptions and agree with the ones in common use.
//!
//! Decisions:
//! - RTT is the smallest one of the connection, so that a queue does not speed up its own growth;
//!   the spacing is by the smoothed one, as the window leaves in the RTT that there is.
//! - One ACK of slow start lifts cwnd at most to ssthresh and to the advertised window, or by the
//!   standard increment if that is more; with rho = 1 Hybla is standard TCP to the byte.
//! - Until the estimate is there, with the third ACK of a round trip, slow start is standard and
//!   nothing is spaced out: segments that were would show the spacing and not the path. The
//!   estimate lowers ssthresh only, once, and not after a loss.
//! - The initial window and ssthresh are those of the scenario and not multiplied by rho.

mod linux;

use units::Span;

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::hoe::Hoe;
use crate::parts::linux::VARIANT;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

pub use linux::LinuxHybla;

/// No paper's: above it rho^2 * SMSS^2 could leave 64 bits. An RTT of 102 s at RTT0 = 25 ms.
const LARGEST_RHO: f64 = 4096.0;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "rtt0",
        default: "0.025",
        allowed: Allowed::Range(0.001, 10.0),
        meaning: "Reference round-trip time RTT0 in seconds: a longer path grows as fast as a \
                  standard connection of this RTT",
    },
    Parameter {
        name: "ssthresh",
        default: "packet-pair",
        allowed: Allowed::OneOf(&["packet-pair", "scenario"]),
        meaning: "The initial ssthresh: at most what the spacing of the first ACKs says of the \
                  path, or that of the scenario alone",
    },
    Parameter {
        name: "pacing",
        default: "on",
        allowed: Allowed::OneOf(&["on", "off"]),
        meaning: "Whether segments are spaced out by RTT / cwnd",
    },
    VARIANT,
];

/// TCP Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    window: Window,
    rtt0: Span,
    paced: bool,
    /// While the estimate of the initial ssthresh is to come.
    hoe: Option<Hoe>,
    srtt: Option<Span>,
}

impl Listed for Hybla {
    const LISTED: &'static [Entry] = &[Entry {
        name: "hybla",
        summary: "Window growth of a short reference path on any round-trip time",
        source: "Caini and Firrincieli, TCP Hybla, 2004",
        status: Status::Reconstructed,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            rtt0: Span::from_secs_f64(values.number("rtt0")),
            paced: values.word("pacing") == "on",
            hoe: (values.word("ssthresh") == "packet-pair").then(Hoe::default),
            srtt: None,
        }
    }
}

impl Hybla {
    /// In nanoseconds, so that a multiple of RTT0 is a whole number.
    fn rho(&self, min_rtt: Option<Span>) -> f64 {
        let rho = |rtt: Span| rtt.as_nanos() as f64 / self.rtt0.as_nanos() as f64;
        min_rtt.map_or(1.0, |rtt| rho(rtt).clamp(1.0, LARGEST_RHO))
    }
}

impl Controller for Hybla {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        let feedback = self.paced || self.hoe.is_some();
        Needs { feedback, round_trips: true, pacing: self.paced, ..Needs::default() }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.srtt = feedback.srtt;
        let Some(hoe) = &mut self.hoe else { return };
        hoe.on_feedback(feedback);
        let capacity = hoe.path_capacity();
        if let Some(capacity) = capacity {
            let window = &mut self.window;
            window.ssthresh = window.ssthresh.min(capacity.max(2 * window.mss));
        }
        if capacity.is_some() || feedback.recovering {
            self.hoe = None;
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        let rtt = self.srtt.filter(|rtt| self.hoe.is_none() && *rtt > Span::ZERO)?;
        Some(self.window.cwnd as f64 / rtt.as_secs_f64())
    }

    /// 2^rho - 1 segments for each segment acknowledged. The power may be infinite: the conversion
    /// to bytes and the sum saturate, and the limit holds.
    fn slow_start(&mut self, ack: &Ack) {
        let rho = if self.hoe.is_some() { 1.0 } else { self.rho(ack.min_rtt) };
        let window = &mut self.window;
        let counted = window.counted(ack.acked);
        let standard = window.cwnd.saturating_add(counted);
        let scaled = whole((libm::exp2(rho) - 1.0) * counted as f64);
        let limit = window.ssthresh.min(ack.advertised).max(standard);
        window.cwnd = window.cwnd.saturating_add(scaled).min(limit);
    }

    /// rho^2 / cwnd segments: rho^2 times the standard growth.
    fn avoid_congestion(&mut self, ack: &Ack) {
        let rho = self.rho(ack.min_rtt);
        let window = &mut self.window;
        let standard = window.mss * window.counted(ack.acked).max(window.mss);
        window.grow_by_fraction(whole(rho * rho * standard as f64));
    }
}

impl TcpPolicy for Hybla {}

#[cfg(test)]
mod tests {
    use units::Time;

    use super::*;
    use crate::parameters::Value;

    const MSS: u64 = 1000;

    fn hybla_with(cwnd: u64, ssthresh: u64, estimate: &str, pacing: &str) -> Hybla {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: cwnd,
            initial_ssthresh: ssthresh,
            byte_counting: 1,
        };
        let mut values = Values::defaults(PARAMETERS);
        values.set("hybla", "ssthresh", Value::Word(estimate.into())).unwrap();
        values.set("hybla", "pacing", Value::Word(pacing.into())).unwrap();
        Hybla::build(&settings, &values)
    }

    fn hybla(cwnd: u64, ssthresh: u64) -> Hybla {
        hybla_with(cwnd, ssthresh, "scenario", "on")
    }

    /// The ACK for the segment `acknowledged` of ten that were sent together on a GEO path; the
    /// bottleneck lets one pass in each millisecond.
    fn geo(acknowledged: u64) -> Feedback {
        let rtt = Span::from_millis(600);
        Feedback {
            now: Time::from_nanos((600 + acknowledged) * 1_000_000),
            acked: MSS,
            sacked: 0,
            duplicate: false,
            recovering: false,
            round_trip: Some(rtt),
            srtt: Some(rtt),
            min_rtt: Some(rtt),
            acknowledged: acknowledged * MSS,
            sent: 10 * MSS,
            pipe: 0,
            advertised: u64::MAX,
            peer_clock: None,
            head_sent: None,
            rate: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
        }
    }

    fn ack(rtt: Span) -> Ack {
        Ack {
            now: Time::ZERO,
            acked: MSS,
            flight: 0,
            advertised: u64::MAX,
            srtt: Some(rtt),
            min_rtt: Some(rtt),
            cwnd_limited: true,
        }
    }

    /// An ACK for each segment of the window.
    fn one_round(hybla: &mut Hybla, rtt: Span) {
        for _ in 0..hybla.window.cwnd / MSS {
            hybla.on_ack(&ack(rtt));
        }
    }

    #[test]
    fn rho_is_the_rtt_in_units_of_25_ms_and_at_least_one() {
        let hybla = hybla(MSS, u64::MAX);
        assert!((hybla.rho(Some(Span::from_millis(600))) - 24.0).abs() < 1e-9);
        assert!((hybla.rho(Some(Span::from_millis(3))) - 1.0).abs() < 1e-9);
        assert!((hybla.rho(None) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn slow_start_follows_its_closed_form() {
        // W(n RTT) = rho * 2^(rho n), exact for whole rho.
        let rtt = Span::from_millis(75);
        let mut hybla = hybla(3 * MSS, u64::MAX);
        for n in 1..=4 {
            one_round(&mut hybla, rtt);
            assert_eq!(hybla.window.cwnd, (3 * MSS) << (3 * n), "after {n} rounds");
        }
    }

    #[test]
    fn avoidance_follows_its_closed_form() {
        // W(n RTT) = rho * (rho n + g). ACK by ACK the divisor grows within the round: a bit less.
        let rtt = Span::from_millis(100);
        let mut hybla = hybla(400 * MSS, 400 * MSS);
        for n in 1..=50 {
            one_round(&mut hybla, rtt);
            let closed = 4.0 * (4.0 * f64::from(n) + 100.0);
            let window = hybla.window.cwnd as f64 / MSS as f64;
            assert!((closed * 0.99..=closed).contains(&window), "{window} for {closed}");
        }
    }

    #[test]
    fn at_the_reference_rtt_it_is_standard_tcp_to_the_byte() {
        let mut hybla = hybla(2 * MSS, 9 * MSS + 500);
        hybla.on_ack(&ack(Span::from_millis(25)));
        assert_eq!(hybla.window.cwnd, 3 * MSS);
        hybla.window.cwnd = 9 * MSS;
        hybla.on_ack(&ack(Span::from_millis(25)));
        assert_eq!(hybla.window.cwnd, 10 * MSS);
        hybla.on_ack(&ack(Span::from_millis(25)));
        assert_eq!(hybla.window.cwnd, 10 * MSS + MSS / 10);
    }

    #[test]
    fn one_ack_on_a_geo_path_reaches_ssthresh_and_not_more() {
        let mut hybla = hybla(2 * MSS, 200 * MSS);
        hybla.on_ack(&ack(Span::from_millis(600)));
        assert_eq!(hybla.window.cwnd, 200 * MSS);
    }

    #[test]
    fn without_ssthresh_one_ack_reaches_the_advertised_window() {
        let mut hybla = hybla(2 * MSS, u64::MAX);
        let geo = Ack { advertised: 65_535, ..ack(Span::from_millis(600)) };
        hybla.on_ack(&geo);
        assert_eq!(hybla.window.cwnd, 65_535);
        hybla.on_ack(&geo);
        assert_eq!(hybla.window.cwnd, 65_535 + MSS);
    }

    #[test]
    fn no_rtt_overflows() {
        for seconds in [1, 26, 100, 1_000, 1_000_000_000] {
            let rtt = Span::from_secs(seconds);
            let mut starting = hybla(2 * MSS, u64::MAX);
            starting.on_ack(&ack(rtt));
            starting.on_ack(&ack(rtt));
            assert!(starting.window.cwnd > 2 * MSS);

            let mut avoiding = hybla(2 * 65_535, 2 * 65_535);
            avoiding.window.mss = 65_535;
            for _ in 0..100 {
                avoiding.on_ack(&ack(rtt));
            }
            assert!(avoiding.window.cwnd > 2 * 65_535);
        }
    }

    #[test]
    fn slow_start_is_standard_until_three_acks_show_what_the_path_holds() {
        let mut hybla = hybla_with(10 * MSS, u64::MAX, "packet-pair", "on");
        let rtt = Span::from_millis(600);
        for n in 1..=2 {
            hybla.on_feedback(&geo(n));
            hybla.on_ack(&ack(rtt));
            assert_eq!(hybla.window.cwnd, (10 + n) * MSS);
            assert_eq!(hybla.pacing_rate(), None);
        }
        hybla.on_feedback(&geo(3));
        hybla.on_ack(&ack(rtt));
        assert_eq!((hybla.window.cwnd, hybla.window.ssthresh), (600 * MSS, 600 * MSS));
        assert!((hybla.pacing_rate().unwrap() - 1e6).abs() < 1e-6);
    }

    #[test]
    fn the_estimate_never_raises_ssthresh() {
        let mut hybla = hybla_with(10 * MSS, 50 * MSS, "packet-pair", "on");
        for n in 1..=3 {
            hybla.on_feedback(&geo(n));
        }
        assert_eq!(hybla.window.ssthresh, 50 * MSS);
    }

    #[test]
    fn after_a_loss_there_is_no_estimate_and_growth_is_that_of_hybla() {
        let mut hybla = hybla_with(10 * MSS, 200 * MSS, "packet-pair", "on");
        hybla.on_feedback(&geo(1));
        hybla.on_feedback(&Feedback { duplicate: true, recovering: true, acked: 0, ..geo(1) });
        hybla.on_ack(&ack(Span::from_millis(600)));
        assert_eq!(hybla.window.cwnd, 200 * MSS);
    }

    #[test]
    fn both_can_be_switched_off() {
        let neither = Needs { round_trips: true, ..Needs::default() };
        let paced = Needs { feedback: true, pacing: true, ..neither };
        let unpaced = Needs { feedback: true, ..neither };
        assert_eq!(hybla_with(MSS, MSS, "packet-pair", "on").needs(), paced);
        assert_eq!(hybla_with(MSS, MSS, "packet-pair", "off").needs(), unpaced);
        assert_eq!(hybla_with(MSS, MSS, "scenario", "on").needs(), paced);
        assert_eq!(hybla_with(MSS, MSS, "scenario", "off").needs(), neither);
    }
}
