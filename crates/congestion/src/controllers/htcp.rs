//! H-TCP: the longer ago the last congestion, the faster the window grows.
//!
//! Source: D. Leith, "H-TCP: TCP congestion control for high bandwidth-delay product paths",
//! draft-leith-tcp-htcp-06, 2008 (increase and RTT scaling); D. Leith and R. Shorten, "H-TCP: TCP
//! for high-speed and long-distance networks", PFLDnet 2004 (adaptive backoff).
//!
//! Rules: for Delta_L = 1 s after a congestion event, the window grows by alpha = 1, as in standard
//! TCP. Then it grows by alpha = 1 + 10 (Delta - Delta_L) + 0.5 (Delta - Delta_L)^2 segments for
//! each window of ACKs. All of it is multiplied by 2 (1 - beta), below Delta_L too, so that a flow
//! that gives up less also takes less. A loss leaves the share beta = RTTmin / RTTmax, between 0.5
//! and 0.8, so that the queue empties and no more; if the throughput has changed by more than 20 %
//! since the congestion before (bandwidth switch), it leaves one half, and so does the loss after
//! that: two losses in a row without a change bring the adaptive backoff back.
//!
//! Reconstructed: the draft leaves out the adaptive backoff, and the rest of it was not found as
//! text but as what the implementations in Linux and FreeBSD share. RTTmax forgets 5 % of its
//! excess over RTTmin at each congestion event. An RTT counts for RTTmax only if the one before was
//! as long: an ACK that waited for the delayed ACK timer is no queue (Linux takes no RTT that is 20
//! ms above RTTmax, and so follows no queue that fills within a round trip). The throughput of an
//! epoch is the largest that was measured over a smoothed RTT outside of recovery; without two of
//! them to compare, a loss halves. Delta starts when the loss is found, and before the first loss
//! with the first RTT sample or ACK. As in RFC 5681, what a loss reduces is the flight size.

mod linux;

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::linux::VARIANT;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

pub use linux::LinuxHtcp;

/// The linear term of alpha, in segments for each second.
const LINEAR: f64 = 10.0;
/// Bounds of beta.
const LEAST_BETA: f64 = 0.5;
const MOST_BETA: f64 = 0.8;
/// Share of the excess of RTTmax over RTTmin that remains after a congestion event.
const RTT_MAX_KEPT: f64 = 0.95;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "delta_l",
        default: "1",
        allowed: Allowed::Range(0.0, 1e3),
        meaning: "Delta_L: seconds after a congestion event in which it is standard TCP",
    },
    Parameter {
        name: "quadratic",
        default: "0.5",
        allowed: Allowed::Range(0.0, 100.0),
        meaning: "Factor of (Delta - Delta_L)^2 in alpha: 0.5 in draft-06, 0.25 in the paper of 2004 \
                  and in Linux",
    },
    Parameter {
        name: "backoff",
        default: "adaptive",
        allowed: Allowed::OneOf(&["adaptive", "half"]),
        meaning: "Share of the window after a loss: RTTmin / RTTmax between 0.5 and 0.8, or always one half as in \
                  draft-06",
    },
    Parameter {
        name: "bandwidth_switch",
        default: "0.2",
        allowed: Allowed::Range(0.0, 1e6),
        meaning: "Change of throughput from one congestion event to the next, as a share, above \
                  which adaptive backoff leaves one half",
    },
    Parameter {
        name: "rtt_scaling",
        default: "off",
        allowed: Allowed::OneOf(&["on", "off"]),
        meaning: "Whether alpha is multiplied by RTT / rtt_ref after Delta_L (an option in draft-06)",
    },
    Parameter {
        name: "rtt_ref",
        default: "0.1",
        allowed: Allowed::Range(1e-3, 100.0),
        meaning: "RTT_ref: seconds of the round trip whose alpha is not scaled",
    },
    Parameter {
        name: "rtt_scaling_limit",
        default: "1e6",
        allowed: Allowed::Range(1.0, 1e6),
        meaning: "Most that RTT scaling multiplies alpha by: none in effect by default, 2 in Linux \
                  and FreeBSD",
    },
    VARIANT,
];

/// H-TCP.
#[derive(Clone, Debug)]
pub struct Htcp {
    window: Window,
    delta_l: f64,
    quadratic: f64,
    adaptive: bool,
    bandwidth_switch: f64,
    /// `rtt_ref` in seconds when alpha is scaled.
    rtt_ref: Option<f64>,
    rtt_scaling_limit: f64,
    /// Share of the window that remained after the last loss.
    beta: f64,
    /// The last loss came without a change of throughput: the next may leave more than one half.
    steady: bool,
    last_congestion: Option<Time>,
    /// Smallest and largest RTT in seconds.
    rtts: Option<(f64, f64)>,
    /// The last RTT in seconds.
    last_rtt: f64,
    /// Largest throughput in bytes per second between the last two congestion events.
    before: Option<f64>,
    /// And since the last one.
    since: Option<f64>,
    /// The measurement that runs: when it began, and the bytes acknowledged since.
    measuring: Option<(Time, u64)>,
}

impl Listed for Htcp {
    const LISTED: &'static [Entry] = &[Entry {
        name: "htcp",
        summary: "The window grows faster with the time since the last congestion",
        source: "draft-leith-tcp-htcp-06",
        status: Status::Reconstructed,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            delta_l: values.number("delta_l"),
            quadratic: values.number("quadratic"),
            adaptive: values.word("backoff") == "adaptive",
            bandwidth_switch: values.number("bandwidth_switch"),
            rtt_ref: (values.word("rtt_scaling") == "on").then(|| values.number("rtt_ref")),
            rtt_scaling_limit: values.number("rtt_scaling_limit"),
            beta: LEAST_BETA,
            steady: false,
            last_congestion: None,
            rtts: None,
            last_rtt: 0.0,
            before: None,
            since: None,
            measuring: None,
        }
    }
}

impl Htcp {
    /// Segments by which the window grows in one round trip.
    fn alpha(&self, now: Time, srtt: Option<Span>) -> f64 {
        let delta = self.last_congestion.map_or(0.0, |last| now.since(last).as_secs_f64());
        let share = 2.0 * (1.0 - self.beta);
        let beyond = delta - self.delta_l;
        if beyond <= 0.0 {
            return share;
        }
        let alpha = 1.0 + LINEAR * beyond + self.quadratic * beyond * beyond;
        let scale = match (self.rtt_ref, srtt) {
            (Some(reference), Some(rtt)) => {
                (rtt.as_secs_f64() / reference).min(self.rtt_scaling_limit)
            }
            _ => 1.0,
        };
        share * alpha * scale
    }

    /// Returns true if the throughput is that of the epoch before, within the bandwidth switch.
    fn is_steady(&self) -> bool {
        let (Some(before), Some(since)) = (self.before, self.since) else { return false };
        (since - before).abs() <= self.bandwidth_switch * before
    }

    /// The share of the window that a loss would leave now.
    fn backoff(&self) -> f64 {
        match self.rtts {
            Some((least, most)) if self.adaptive && self.steady && self.is_steady() => {
                (least / most).clamp(LEAST_BETA, MOST_BETA)
            }
            _ => LEAST_BETA,
        }
    }

    fn end_epoch(&mut self, now: Time) {
        self.beta = self.backoff();
        self.steady = self.is_steady();
        self.last_congestion = Some(now);
        self.before = self.since.or(self.before);
        self.since = None;
        self.measuring = None;
        self.rtts = self.rtts.map(|(least, most)| (least, least + RTT_MAX_KEPT * (most - least)));
    }

    /// Throughput over intervals of at least one smoothed RTT, each from ACK to ACK.
    fn measure(&mut self, ack: &Ack) {
        let Some((start, bytes)) = self.measuring else {
            self.measuring = Some((ack.now, 0));
            return;
        };
        let bytes = bytes + ack.acked;
        let elapsed = ack.now.since(start);
        match ack.srtt {
            Some(srtt) if elapsed >= srtt && elapsed > Span::ZERO => {
                let rate = bytes as f64 / elapsed.as_secs_f64();
                self.since = Some(self.since.map_or(rate, |most| most.max(rate)));
                self.measuring = Some((ack.now, 0));
            }
            _ => self.measuring = Some((start, bytes)),
        }
    }
}

impl Controller for Htcp {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { round_trips: true, ..Needs::default() }
    }

    fn on_rtt(&mut self, now: Time, sample: Span) {
        self.last_congestion.get_or_insert(now);
        let rtt = sample.as_secs_f64();
        let (least, most) = self.rtts.unwrap_or((rtt, rtt));
        self.rtts = Some((least.min(rtt), most.max(rtt.min(self.last_rtt))));
        self.last_rtt = rtt;
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.last_congestion.get_or_insert(ack.now);
        self.measure(ack);
        self.grow(ack);
    }

    /// alpha / w segments for each ACK.
    fn avoid_congestion(&mut self, ack: &Ack) {
        let alpha = self.alpha(ack.now, ack.srtt);
        let window = &mut self.window;
        let standard = window.mss * window.counted(ack.acked).max(window.mss);
        window.grow_by_fraction(whole(alpha * standard as f64));
    }

    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        whole(self.backoff() * loss.flight as f64).max(2 * self.window.mss)
    }

    fn on_loss(&mut self, loss: &Loss) {
        let ssthresh = self.threshold_after_loss(loss);
        self.window.ssthresh = ssthresh;
        self.window.cwnd = ssthresh;
        self.end_epoch(loss.now);
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.window.ssthresh = self.threshold_after_loss(loss);
            self.end_epoch(loss.now);
        }
        self.last_congestion = Some(loss.now);
        self.window.cwnd = self.window.mss;
    }
}

impl TcpPolicy for Htcp {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Value;

    const MSS: u64 = 1000;
    const RTT: Span = Span::from_millis(600);

    fn at(milliseconds: u64) -> Time {
        Time::from_nanos(milliseconds * 1_000_000)
    }

    fn htcp(changes: &[(&str, Value)]) -> Htcp {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 100 * MSS,
            initial_ssthresh: 2 * MSS,
            byte_counting: 1,
        };
        let mut values = Values::defaults(PARAMETERS);
        for (name, value) in changes {
            values.set("htcp", name, value.clone()).unwrap();
        }
        Htcp::build(&settings, &values)
    }

    fn word(word: &str) -> Value {
        Value::Word(word.to_owned())
    }

    fn ack(now: Time, acked: u64) -> Ack {
        Ack {
            now,
            acked,
            flight: 0,
            advertised: u64::MAX,
            srtt: Some(RTT),
            min_rtt: Some(RTT),
            cwnd_limited: true,
        }
    }

    fn loss(now: Time) -> Loss {
        Loss { now, flight: 1000 * MSS, repeated: false }
    }

    /// Ten round trips in which `bytes` are acknowledged each, from `start` on, then a loss.
    fn epoch(htcp: &mut Htcp, start: u64, bytes: u64) {
        for round in 0..10 {
            htcp.on_ack(&ack(at(start + 600 * round), bytes));
        }
        htcp.on_loss(&loss(at(start + 6000)));
    }

    /// Window after a loss at 1000 segments, after two epochs of the first throughput, one of the
    /// second, and these RTTs.
    fn left_after(changes: &[(&str, Value)], bytes: [u64; 2], rtts: [u64; 2]) -> u64 {
        let mut htcp = htcp(changes);
        epoch(&mut htcp, 0, bytes[0]);
        epoch(&mut htcp, 7000, bytes[0]);
        for rtt in [rtts[0], rtts[1], rtts[1]] {
            htcp.on_rtt(at(14_000), Span::from_millis(rtt));
        }
        epoch(&mut htcp, 14_000, bytes[1]);
        htcp.window.cwnd / MSS
    }

    #[test]
    fn for_a_second_after_congestion_it_is_standard_tcp() {
        let mut htcp = htcp(&[]);
        htcp.on_loss(&loss(at(5000)));
        htcp.window.cwnd = 500 * MSS;
        htcp.on_ack(&ack(at(6000), MSS));
        assert_eq!(htcp.window.cwnd, 500 * MSS + 2);
    }

    #[test]
    fn alpha_is_one_plus_ten_times_the_seconds_plus_half_of_their_square() {
        let mut htcp = htcp(&[]);
        htcp.on_loss(&loss(at(5000)));
        for (now, alpha) in [(6000, 1.0), (6100, 2.005), (7000, 11.5), (10_000, 49.0)] {
            assert!((htcp.alpha(at(now), Some(RTT)) - alpha).abs() < 1e-9, "at {now} ms");
        }
    }

    #[test]
    fn alpha_has_a_quarter_of_the_square_when_asked_to() {
        let mut htcp = htcp(&[("quadratic", Value::Number(0.25))]);
        htcp.on_loss(&loss(at(5000)));
        assert!((htcp.alpha(at(10_000), Some(RTT)) - 45.0).abs() < 1e-9);
    }

    #[test]
    fn each_ack_adds_alpha_over_w() {
        let mut htcp = htcp(&[]);
        htcp.on_loss(&loss(at(5000)));
        htcp.window.cwnd = 500 * MSS;
        htcp.on_ack(&ack(at(10_000), MSS));
        assert_eq!(htcp.window.cwnd, 500 * MSS + 49 * MSS / 500);
    }

    #[test]
    fn a_loss_leaves_the_ratio_of_the_rtts_within_its_bounds() {
        let same = [100 * MSS, 100 * MSS];
        assert_eq!(left_after(&[], same, [600, 1000]), 600);
        assert_eq!(left_after(&[], same, [600, 610]), 800);
        assert_eq!(left_after(&[], same, [600, 3000]), 500);
    }

    #[test]
    fn a_loss_halves_when_the_throughput_has_changed_by_more_than_a_fifth() {
        assert_eq!(left_after(&[], [100 * MSS, 119 * MSS], [600, 1000]), 600);
        assert_eq!(left_after(&[], [100 * MSS, 121 * MSS], [600, 1000]), 500);
        assert_eq!(left_after(&[], [100 * MSS, 81 * MSS], [600, 1000]), 600);
        assert_eq!(left_after(&[], [100 * MSS, 79 * MSS], [600, 1000]), 500);
    }

    #[test]
    fn the_throughput_is_what_was_acknowledged_in_the_best_round_trip() {
        let mut htcp = htcp(&[]);
        for (now, bytes) in [(0, 5), (300, 10), (600, 20), (1200, 60), (1800, 30)] {
            htcp.on_ack(&ack(at(now), bytes * MSS));
        }
        assert!((htcp.since.unwrap() - 100_000.0).abs() < 1e-6, "{:?}", htcp.since);
    }

    #[test]
    fn a_loss_always_halves_without_adaptive_backoff() {
        let same = [100 * MSS, 100 * MSS];
        assert_eq!(left_after(&[("backoff", word("half"))], same, [600, 610]), 500);
    }

    #[test]
    fn the_first_loss_halves() {
        let mut htcp = htcp(&[]);
        htcp.on_rtt(at(0), RTT);
        epoch(&mut htcp, 0, 100 * MSS);
        assert_eq!(htcp.window.cwnd, 500 * MSS);
    }

    #[test]
    fn a_flow_that_gives_up_less_also_takes_less() {
        let mut htcp = htcp(&[]);
        htcp.on_rtt(at(0), RTT);
        epoch(&mut htcp, 0, 100 * MSS);
        epoch(&mut htcp, 7000, 100 * MSS);
        epoch(&mut htcp, 14_000, 100 * MSS);
        assert_eq!(htcp.window.cwnd, 800 * MSS);
        assert!((htcp.alpha(at(25_000), Some(RTT)) - 0.4 * 49.0).abs() < 1e-9);
        assert!((htcp.alpha(at(20_500), Some(RTT)) - 0.4).abs() < 1e-9, "below Delta_L, too");
    }

    #[test]
    fn after_a_change_of_throughput_two_losses_halve() {
        let mut htcp = htcp(&[]);
        htcp.on_rtt(at(0), RTT);
        let mut left = Vec::new();
        for (number, bytes) in [100, 100, 100, 200, 200, 200].into_iter().enumerate() {
            epoch(&mut htcp, 7000 * number as u64, bytes * MSS);
            left.push(htcp.window.cwnd / MSS);
        }
        assert_eq!(left, [500, 500, 800, 500, 500, 800]);
    }

    #[test]
    fn rtt_max_forgets_a_twentieth_of_the_queue_at_each_loss() {
        let mut htcp = htcp(&[]);
        for rtt in [600, 1000, 1000, 1200] {
            htcp.on_rtt(at(0), Span::from_millis(rtt));
        }
        htcp.on_loss(&loss(at(5000)));
        let (least, most) = htcp.rtts.unwrap();
        assert!((least - 0.6).abs() < 1e-12 && (most - 0.98).abs() < 1e-12, "{least} {most}");
    }

    #[test]
    fn rtt_scaling_multiplies_alpha_after_delta_l_only() {
        let mut htcp = htcp(&[("rtt_scaling", word("on"))]);
        htcp.on_loss(&loss(at(5000)));
        assert!((htcp.alpha(at(6000), Some(RTT)) - 1.0).abs() < 1e-9);
        assert!((htcp.alpha(at(10_000), Some(RTT)) - 6.0 * 49.0).abs() < 1e-9);
        htcp.rtt_scaling_limit = 2.0;
        assert!((htcp.alpha(at(10_000), Some(RTT)) - 2.0 * 49.0).abs() < 1e-9);
    }

    #[test]
    fn a_timeout_starts_the_clock_again_and_a_repeated_one_leaves_ssthresh_alone() {
        let mut htcp = htcp(&[]);
        htcp.on_rtt(at(0), RTT);
        htcp.on_timeout(&loss(at(5000)));
        assert_eq!((htcp.window.cwnd, htcp.window.ssthresh), (MSS, 500 * MSS));
        htcp.on_timeout(&Loss { flight: MSS, repeated: true, ..loss(at(8000)) });
        assert_eq!(htcp.window.ssthresh, 500 * MSS);
        assert!((htcp.alpha(at(9000), Some(RTT)) - 1.0).abs() < 1e-9);
    }
}
