//! TCP-ADaLR: TCP with adaptive delay and loss response for GEO satellite networks.
//!
//! Source: M. Omueti and L. Trajkovic, "TCP-ADaLR: TCP with adaptive delay and loss response for
//! broadband GEO satellite networks", conference slides of 26 June 2007 and thesis talk, 2007.
//! All rules below are from the slides; they have no equation numbers, so the comments name the
//! slide. Gaps of the slides are parameters, and their `meaning` describes them.
//!
//! Rules: a scaling component rho = 60 * RTT / 1 s makes slow start and congestion avoidance
//! steeper on long paths, makes the sender take the advertised window as larger than it is, and a
//! partial ACK adds two segments instead of one.
//!
//! The enlarged window breaks flow control: the receiver may drop what lies beyond its buffer.
//! `rwnd = "off"` keeps the promise to the receiver and leaves the rest of the algorithm as it is.

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Loss, Needs, PartialAck, RecoveryStyle};
use crate::parameters::{Allowed, Parameter, Values};
use crate::tcp_policy::{SendState, Sizing, TcpPolicy};
use crate::window::{Settings, Window, whole};

/// Slide "Scaling component": rho = (sampleRTT / 1 s) * 60, between 1 and 60.
const RHO_PER_SECOND: f64 = 60.0;
/// Slide "Heuristics": below rho = 15, an RTT of 250 ms, ADaLR is standard TCP.
const RHO_OF_A_LONG_PATH: f64 = 15.0;
/// Slide "Adaptive rwnd increase": rtt_dev_gain, the RTT deviation gain of the parameter table.
const RTT_DEV_GAIN: f64 = 0.25;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "rwnd",
        default: "per-segment",
        allowed: Allowed::OneOf(&["per-segment", "per-ack", "both", "off"]),
        meaning: "When the advertised window is enlarged by 0.25 * rho * SMSS. The slides name two \
                  functions, one called per ACK and one per segment, and do not say how the two \
                  add up. 'off' is the strict mode: flow control is kept",
    },
    Parameter {
        name: "rtt_tick",
        default: "0",
        allowed: Allowed::Range(0.0, 10.0),
        meaning: "Seconds to which the RTT sample is rounded up before rho is computed; 0 is exact. \
                  The slides do not say whether rho counts ticks of the 0.5 s clock",
    },
    Parameter {
        name: "extra_rto",
        default: "0.2",
        allowed: Allowed::Range(0.0, 10.0),
        meaning: "Seconds added to each RTO for a receiver that delays its ACK (slide 'Loss \
                  recovery mechanism')",
    },
    Parameter {
        name: "retransmissions",
        default: "3",
        allowed: Allowed::Whole(1, 1_000_000),
        meaning: "Most segments retransmitted in answer to one ACK or timeout (slide 'Loss \
                  recovery mechanism'; the slides do not say per what)",
    },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Enlarge {
    PerSegment,
    PerAck,
    Both,
    Off,
}

/// TCP-ADaLR.
#[derive(Clone, Debug)]
pub struct Adalr {
    window: Window,
    rho: f64,
    /// "snd_recover = 0" of the slides: no loss so far in this connection.
    lossless: bool,
    enlarge: Enlarge,
    rtt_tick: Span,
    extra_rto: Span,
    quota: u32,
}

impl Listed for Adalr {
    const LISTED: &'static [Entry] = &[Entry {
        name: "adalr",
        summary: "Window growth, advertised window and recovery scaled with the RTT of a GEO path",
        source: "Omueti and Trajkovic, TCP-ADaLR, 2007 (slides)",
        status: Status::Published,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            rho: 1.0,
            lossless: true,
            enlarge: match values.word("rwnd") {
                "per-segment" => Enlarge::PerSegment,
                "per-ack" => Enlarge::PerAck,
                "both" => Enlarge::Both,
                _ => Enlarge::Off,
            },
            rtt_tick: Span::from_secs_f64(values.number("rtt_tick")),
            extra_rto: Span::from_secs_f64(values.number("extra_rto")),
            quota: values.whole("retransmissions"),
        }
    }
}

impl Adalr {
    fn path_is_long(&self) -> bool {
        self.rho >= RHO_OF_A_LONG_PATH
    }

    /// Slide "Slow start sub-phases": whether cwnd and flight size are in one of the four. Their
    /// union; the third has no upper bound on cwnd in the slides and so covers the fourth.
    fn in_a_sub_phase(&self, flight: u64, rwnd: u64) -> bool {
        let Window { cwnd, ssthresh, .. } = self.window;
        let first_and_second = cwnd <= ssthresh / 2 && flight < rwnd / 4;
        let third_and_fourth = cwnd > ssthresh / 4 && flight >= rwnd / 4 && flight < rwnd / 2;
        first_and_second || third_and_fourth
    }
}

impl Controller for Adalr {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { round_trips: true, tcp: true, ..Needs::default() }
    }

    fn on_rtt(&mut self, _now: Time, sample: Span) {
        let seconds = sample.round_up_to(self.rtt_tick).as_secs_f64();
        self.rho = (seconds * RHO_PER_SECOND).clamp(1.0, 60.0);
    }

    /// Slide "Slow start phase": sqrt(rho) / 4 segments in the sub-phases of a long path without
    /// losses, one segment at all other times.
    fn slow_start(&mut self, ack: &Ack) {
        let scaled =
            self.lossless && self.path_is_long() && self.in_a_sub_phase(ack.flight, ack.advertised);
        let counted = self.window.counted(ack.acked);
        self.window.cwnd +=
            if scaled { whole(self.rho.sqrt() / 4.0 * counted as f64) } else { counted };
    }

    /// Slide "Congestion avoidance phase": sqrt(rho) / 2 times the standard growth on a long path,
    /// after a loss or while less than half of rwnd is in flight.
    fn avoid_congestion(&mut self, ack: &Ack) {
        let scaled = self.path_is_long() && (!self.lossless || ack.flight < ack.advertised / 2);
        let standard = self.window.mss * self.window.mss;
        self.window.grow_by_fraction(if scaled {
            whole(self.rho.sqrt() / 2.0 * standard as f64)
        } else {
            standard
        });
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.lossless = false;
        let ssthresh = self.threshold_after_loss(loss);
        self.window.ssthresh = ssthresh;
        self.window.cwnd = ssthresh;
    }

    fn on_timeout(&mut self, loss: &Loss) {
        self.lossless = false;
        if !loss.repeated {
            self.window.ssthresh = self.threshold_after_loss(loss);
        }
        self.window.cwnd = self.window.mss;
    }

    /// Slide "Loss recovery mechanism: pseudocode": two segments are added back where standard TCP
    /// adds one. The slide prints `snd_una > snd_recover`; a partial ACK is the opposite, and the
    /// branches are those of a partial ACK, so the sign is taken as a slip. When the pipe is
    /// counted, acknowledged bytes have already left it, and only the second segment remains.
    fn on_partial_ack(&mut self, partial: &PartialAck) {
        let window = &mut self.window;
        match partial.style {
            RecoveryStyle::Inflation => {
                window.cwnd = window.cwnd.saturating_sub(partial.acked) + 2 * window.mss;
            }
            RecoveryStyle::Pipe => window.cwnd += window.mss,
        }
    }
}

impl TcpPolicy for Adalr {
    fn bounds_sender(&self) -> bool {
        true
    }

    /// Slide "Adaptive rwnd increase mechanism: pseudocode".
    fn advertised_window(&mut self, sizing: Sizing, taken: u64, state: &SendState) -> u64 {
        let asked = match self.enlarge {
            Enlarge::PerSegment => sizing == Sizing::Segment,
            Enlarge::PerAck => sizing == Sizing::Total,
            Enlarge::Both => true,
            Enlarge::Off => false,
        };
        if !asked || state.flight >= taken {
            return taken;
        }
        if self.lossless {
            taken + whole(RTT_DEV_GAIN * self.rho * self.window.mss as f64)
        } else if state.to_recover >= self.window.mss {
            taken + self.window.mss
        } else {
            taken
        }
    }

    fn extra_rto(&self) -> Span {
        self.extra_rto
    }

    fn retransmission_quota(&self) -> u32 {
        self.quota
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1460;

    fn adalr(cwnd: u64, rtt: Span) -> Adalr {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 2 * MSS,
            initial_ssthresh: 65_535,
            byte_counting: 1,
        };
        let mut adalr = Adalr::build(&settings, &Values::defaults(PARAMETERS));
        adalr.window.cwnd = cwnd;
        adalr.on_rtt(Time::ZERO, rtt);
        adalr
    }

    fn ack(flight: u64) -> Ack {
        Ack {
            now: Time::ZERO,
            acked: MSS,
            flight,
            advertised: 65_535,
            srtt: None,
            min_rtt: None,
            cwnd_limited: true,
        }
    }

    fn loss(flight: u64) -> Loss {
        Loss { now: Time::ZERO, flight, repeated: false }
    }

    const GEO: Span = Span::from_millis(600);

    #[test]
    fn rho_is_sixty_times_the_rtt_in_seconds_within_its_bounds() {
        assert!((adalr(MSS, GEO).rho - 36.0).abs() < 1e-9);
        assert!((adalr(MSS, Span::from_millis(2)).rho - 1.0).abs() < 1e-9);
        assert!((adalr(MSS, Span::from_secs(5)).rho - 60.0).abs() < 1e-9);
    }

    #[test]
    fn slow_start_is_scaled_by_a_quarter_of_the_root_of_rho() {
        let mut adalr = adalr(4 * MSS, GEO);
        adalr.on_ack(&ack(3 * MSS));
        assert_eq!(adalr.window.cwnd, 4 * MSS + 3 * MSS / 2);
    }

    #[test]
    fn slow_start_is_standard_on_a_short_path_and_after_a_loss() {
        let mut short = adalr(4 * MSS, Span::from_millis(249));
        short.on_ack(&ack(3 * MSS));
        assert_eq!(short.window.cwnd, 5 * MSS);

        let mut lossy = adalr(4 * MSS, GEO);
        lossy.on_timeout(&loss(40 * MSS));
        lossy.on_ack(&ack(MSS));
        assert_eq!(lossy.window.cwnd, 2 * MSS);
    }

    #[test]
    fn slow_start_is_standard_outside_of_the_sub_phases() {
        let mut full = adalr(40 * MSS, GEO);
        full.on_ack(&ack(39 * MSS));
        assert_eq!(full.window.cwnd, 41 * MSS);
    }

    #[test]
    fn slow_start_is_scaled_in_each_of_the_sub_phases() {
        // Of 44 segments of rwnd and ssthresh: cwnd, flight size, and whether both are in a
        // sub-phase.
        for (cwnd, flight, scaled) in [
            (10, 9, true),
            (22, 10, true),
            (24, 10, false),
            (12, 12, true),
            (30, 21, true),
            (30, 23, false),
            (10, 12, false),
        ] {
            let mut adalr = adalr(cwnd * MSS, GEO);
            adalr.on_ack(&ack(flight * MSS));
            let grown = if scaled { 3 * MSS / 2 } else { MSS };
            assert_eq!(adalr.window.cwnd, cwnd * MSS + grown, "{cwnd} {flight}");
        }
    }

    #[test]
    fn avoidance_is_scaled_after_a_loss_only() {
        let mut adalr = adalr(50 * MSS, GEO);
        adalr.on_ack(&ack(44 * MSS));
        assert_eq!(adalr.window.cwnd, 50 * MSS + MSS / 50);
        adalr.on_loss(&loss(44 * MSS));
        let before = adalr.window.cwnd;
        adalr.on_ack(&ack(10 * MSS));
        let grown = adalr.window.cwnd - before;
        assert!((3 * MSS / 22 - 1..=3 * MSS / 22 + 1).contains(&grown), "{grown}");
    }

    #[test]
    fn the_window_is_enlarged_while_there_was_no_loss() {
        let mut adalr = adalr(50 * MSS, GEO);
        let state = SendState { flight: 44 * MSS, to_recover: 0 };
        assert_eq!(adalr.advertised_window(Sizing::Segment, 65_535, &state), 65_535 + 9 * MSS);
        assert_eq!(adalr.advertised_window(Sizing::Total, 65_535, &state), 65_535);
        let full = SendState { flight: 65_535, to_recover: 0 };
        assert_eq!(adalr.advertised_window(Sizing::Segment, 65_535, &full), 65_535);
    }

    #[test]
    fn in_recovery_the_window_is_enlarged_by_one_segment() {
        let mut adalr = adalr(50 * MSS, GEO);
        adalr.on_loss(&loss(44 * MSS));
        let recovering = SendState { flight: 40 * MSS, to_recover: 20 * MSS };
        assert_eq!(adalr.advertised_window(Sizing::Segment, 65_535, &recovering), 65_535 + MSS);
        let recovered = SendState { flight: 40 * MSS, to_recover: 0 };
        assert_eq!(adalr.advertised_window(Sizing::Segment, 65_535, &recovered), 65_535);
    }

    #[test]
    fn a_partial_ack_adds_two_segments_back() {
        let mut adalr = adalr(20 * MSS, GEO);
        adalr.on_partial_ack(&PartialAck { acked: 5 * MSS, style: RecoveryStyle::Inflation });
        assert_eq!(adalr.window.cwnd, 17 * MSS);
        adalr.on_partial_ack(&PartialAck { acked: 30 * MSS, style: RecoveryStyle::Inflation });
        assert_eq!(adalr.window.cwnd, 2 * MSS);
    }
}
