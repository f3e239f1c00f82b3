//! XCP: the router gives each packet a share of the change of throughput that fills the link and
//! empties its queue.
//!
//! Source: Katabi, Handley and Rohrs, "Congestion control for high bandwidth-delay product
//! networks", SIGCOMM 2002. The rules, their order and the constants are those of ns-2.35
//! (`xcp/xcpq.cc`); of the paper only the abstract was read.
//!
//! Once in a control interval, which is the mean RTT of the packets (at most 1 s each):
//!
//! - Efficiency: phi = alpha (C - y) - beta Q / d, with the capacity C, the input rate y, the
//!   smallest queue Q of half a round trip, and the mean RTT d.
//! - Shuffling: h = max(0, gamma y - |phi|) is taken from all flows and given to all flows.
//! - Fairness: what is given (max(0, phi) + h) is shared equally among flows: a packet gets it in
//!   proportion to its spacing, RTT / cwnd. What is taken (max(0, -phi) + h) is shared by
//!   throughput: a packet gives it in proportion to its bytes.
//! - A packet gets what it asks for if that is less. No interval gives or takes more than its two
//!   residues.
//!
//! P-XCP (Zhou, Yeung and Li, "P-XCP: a transport layer protocol for satellite IP networks",
//! GLOBECOM 2004) scales phi with the share of rate-limited connections. Only its abstract could be
//! read, so the rule is a reconstruction: a packet is rate-limited if it asks for less than the
//! router would give. With N flows, of which L are rate-limited, a positive phi becomes phi N /
//! (N - L), at most `max_scale` times phi. N and L are known from the spacings, because each flow
//! adds the length of the interval.
//!
//! Decisions:
//! - Rates are bytes per second, and bytes include the overhead of the link.
//! - Packets without a field add to the input rate, and get and give nothing.
//! - Control intervals and the queue that stands are in `intervals`.

use wire::feedback::Request;

use super::intervals::{Ended, Intervals};
use super::{KEY, KIND, View};
use crate::mechanism::{Mechanism, Provenance};

pub(super) const XCP: Mechanism = Mechanism {
    name: "xcp",
    key: KEY,
    kind: KIND,
    source: "Katabi, Handley and Rohrs, SIGCOMM, 2002, as in ns-2.35 (xcp/xcpq.cc)",
    status: Provenance::FromImplementation,
    hurts: "Flows that do not speak XCP: they fill the queue, and XCP gives way to them. A link whose rate is below what the router believes. Lost ACKs, which take feedback with them.",
};

pub(super) const P_XCP: Mechanism = Mechanism {
    name: "p-xcp",
    key: KEY,
    kind: KIND,
    source: "Zhou, Yeung and Li, GLOBECOM, 2004 (abstract only)",
    status: Provenance::Reconstructed,
    hurts: "The same as XCP. Rate-limited flows that become unlimited at once: for a round trip the router has given more than the link has.",
};

/// Parameters of XCP.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct XcpSettings {
    /// alpha: share of the spare rate that is given in a control interval. Stable for any delay
    /// with alpha below pi / (4 sqrt 2) = 0.555 and beta = alpha^2 sqrt 2.
    #[cfg_attr(feature = "schema", schemars(range(max = 2), extend("exclusiveMinimum" = 0)))]
    pub alpha: f64,
    /// beta: share of the standing queue that is drained in a control interval.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 2)))]
    pub beta: f64,
    /// gamma: share of the traffic that is shuffled between flows in a control interval.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub gamma: f64,
}

impl Default for XcpSettings {
    fn default() -> Self {
        Self { alpha: 0.4, beta: 0.226, gamma: 0.1 }
    }
}

/// Parameters of P-XCP.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct ProportionalXcpSettings {
    /// alpha: see `xcp`.
    #[cfg_attr(feature = "schema", schemars(range(max = 2), extend("exclusiveMinimum" = 0)))]
    pub alpha: f64,
    /// beta: see `xcp`.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 2)))]
    pub beta: f64,
    /// gamma: see `xcp`.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub gamma: f64,
    /// The most by which feedback is scaled up because of rate-limited flows. Our choice.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100)))]
    pub max_scale: f64,
}

impl Default for ProportionalXcpSettings {
    fn default() -> Self {
        let XcpSettings { alpha, beta, gamma } = XcpSettings::default();
        Self { alpha, beta, gamma, max_scale: 2.0 }
    }
}

impl ProportionalXcpSettings {
    pub(super) fn xcp(self) -> XcpSettings {
        let Self { alpha, beta, gamma, .. } = self;
        XcpSettings { alpha, beta, gamma }
    }
}

/// The router of XCP at a queue.
#[derive(Clone, Debug)]
pub(super) struct XcpRouter {
    settings: XcpSettings,
    /// Of P-XCP.
    max_scale: Option<f64>,
    intervals: Intervals,
    /// Bytes per second that are still to be given and taken in this interval.
    to_give: f64,
    to_take: f64,
    /// Factors of a packet's spacing and of its bytes.
    give: f64,
    take: f64,
}

impl XcpRouter {
    pub fn new(settings: XcpSettings, max_scale: Option<f64>) -> Self {
        Self {
            settings,
            max_scale,
            intervals: Intervals::new(),
            to_give: 0.0,
            to_take: 0.0,
            give: 0.0,
            take: 0.0,
        }
    }

    /// Ends the intervals that end by the view's time.
    pub fn update_until(&mut self, view: View) {
        while let Some(ended) = self.intervals.next_ended(view) {
            self.share_out(&ended, view.capacity);
        }
    }

    /// Positive and negative feedback of the next interval.
    fn share_out(&mut self, ended: &Ended, capacity: f64) {
        let Ended { sums, seconds, mean_rtt, queue } = *ended;
        let XcpSettings { alpha, beta, gamma } = self.settings;
        let is_known = sums.spacings > 0.0;
        let input = sums.input_bytes / seconds;
        let mut change = alpha * (capacity - input) - beta * queue / mean_rtt;
        if change > 0.0
            && let Some(most) = self.max_scale
            && is_known
        {
            let others = (sums.spacings - sums.limited).max(0.0);
            change *= if others * most > sums.spacings { sums.spacings / others } else { most };
        }
        let shuffled = (gamma * input - change.abs()).max(0.0);
        self.to_give = change.max(0.0) + shuffled;
        self.to_take = (-change).max(0.0) + shuffled;
        self.give = if is_known { self.to_give / sums.spacings } else { 0.0 };
        self.take = if sums.input_bytes > 0.0 { self.to_take / sums.input_bytes } else { 0.0 };
    }

    pub fn on_arrival(&mut self, bytes: u32, request: Option<&Request>) {
        self.intervals.on_arrival(bytes, request);
    }

    pub fn on_departure(&mut self, bytes: u32, request: &mut Request) {
        if request.round_trip <= 0.0 {
            request.rate = 0.0;
            return;
        }
        let spacing = f64::from(request.spacing);
        let mut given = (self.give * spacing).min(self.to_give);
        let mut taken = (self.take * f64::from(bytes)).min(self.to_take);
        let change = given - taken;
        let asked = f64::from(request.rate);
        if asked >= change {
            #[expect(clippy::cast_possible_truncation, reason = "the field has 32 bits")]
            let rate = change as f32;
            request.rate = rate;
        } else {
            self.intervals.sums.limited += spacing;
            taken = self.to_take.min(taken + (change - asked));
            given = asked + taken;
        }
        self.to_give = (self.to_give - given).max(0.0);
        self.to_take = (self.to_take - taken).max(0.0);
        if self.to_give == 0.0 {
            self.give = 0.0;
        }
        if self.to_take == 0.0 {
            self.take = 0.0;
        }
    }

    pub fn note_queue(&mut self, waiting: u64) {
        self.intervals.note_queue(waiting);
    }
}

#[cfg(test)]
mod tests {
    use units::Time;
    use wire::feedback::Protocol;

    use super::*;

    /// Bytes per second of the link of these tests.
    const CAPACITY: f64 = 1e6;
    const RTT: f32 = 0.1;

    fn view(now_ms: u64, waiting: u64) -> View {
        View { now: Time::from_nanos(now_ms * 1_000_000), waiting, capacity: CAPACITY }
    }

    /// A request of a flow with this `window` in packets.
    fn request(window: f32, rate: f32) -> Request {
        let protocol = Protocol::Xcp;
        let (round_trip, spacing) = (RTT, RTT / window);
        Request { protocol, rate, round_trip, spacing, treated: 0, links: 1 }
    }

    fn router(max_scale: Option<f64>) -> XcpRouter {
        XcpRouter::new(XcpSettings::default(), max_scale)
    }

    /// Lets an interval of flows pass, each with its window in packets of 1000 bytes and its
    /// request, and returns the sum of what each of them is given. The first interval has 50 ms,
    /// others 100 ms.
    fn interval(
        router: &mut XcpRouter,
        end_ms: u64,
        waiting: u64,
        flows: &[(u32, f32)],
    ) -> Vec<f64> {
        router.update_until(view(end_ms - 1, waiting));
        let mut given = Vec::new();
        for &(window, rate) in flows {
            let mut sum = 0.0;
            for _ in 0..window {
                let mut request = request(window as f32, rate);
                router.on_arrival(1000, Some(&request));
                router.on_departure(1000, &mut request);
                sum += f64::from(request.rate);
            }
            given.push(sum);
        }
        router.note_queue(waiting);
        router.update_until(view(end_ms, waiting));
        given
    }

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-3 * expected.abs().max(1.0)
    }

    #[test]
    fn spare_rate_is_shared_equally_and_adds_up_to_alpha() {
        let mut router = router(None);
        let flows = [(10, f32::INFINITY), (20, f32::INFINITY)];
        assert_eq!(interval(&mut router, 50, 0, &flows), [0.0, 0.0], "nothing is known yet");
        // 30 packets of 1000 bytes in 50 ms are 600 kB/s; then they are 300 kB/s, less than what is
        // shuffled.
        let found = interval(&mut router, 150, 0, &flows);
        let spare = 0.4 * (CAPACITY - 600e3);
        assert!(close(found.iter().sum(), spare), "{found:?}");
        assert!(close(found[0], spare / 2.0), "{found:?}");
    }

    #[test]
    fn a_full_link_shuffles_from_the_larger_flow_to_the_smaller() {
        let mut router = router(None);
        let flows = [(20, f32::INFINITY), (80, f32::INFINITY)];
        interval(&mut router, 50, 0, &[(10, f32::INFINITY), (40, f32::INFINITY)]);
        interval(&mut router, 150, 0, &flows);
        // 100 packets in 100 ms are the capacity: a tenth of it changes hands.
        let found = interval(&mut router, 250, 0, &flows);
        assert!(found.iter().sum::<f64>().abs() < 1.0, "{found:?}");
        assert!(close(found[0], 50e3 - 20e3) && close(found[1], 50e3 - 80e3), "{found:?}");
    }

    #[test]
    fn a_standing_queue_and_too_much_traffic_are_taken_back_by_throughput() {
        let mut router = router(None);
        let flows = [(50, f32::INFINITY), (100, f32::INFINITY)];
        for end in [50, 150, 250] {
            interval(&mut router, end, 20_000, &flows);
        }
        let found = interval(&mut router, 350, 20_000, &flows);
        let taken = -(0.4 * 500e3 + 0.226 * 20_000.0 / 0.1);
        assert!(close(found.iter().sum(), taken), "{found:?} for {taken}");
        assert!(close(found[1], 2.0 * found[0]), "{found:?}");
    }

    #[test]
    fn a_packet_gets_no_more_than_it_asks_for_and_p_xcp_gives_the_rest_to_others() {
        let flows = [(10, 0.0), (10, f32::INFINITY)];
        let given = |scale| {
            let mut router = router(scale);
            for end in [50, 150] {
                interval(&mut router, end, 0, &flows);
            }
            interval(&mut router, 250, 0, &flows)
        };
        let spare = 0.4 * (CAPACITY - 200e3);
        let [limited, other] = given(None)[..] else { panic!("two flows") };
        assert!(close(limited, 0.0) && close(other, spare / 2.0), "{limited} {other}");
        let [limited, other] = given(Some(2.0))[..] else { panic!("two flows") };
        assert!(close(limited, 0.0) && close(other, spare), "{limited} {other}");
    }

    #[test]
    fn a_sender_without_an_rtt_gets_nothing() {
        let mut router = router(None);
        interval(&mut router, 50, 0, &[(10, f32::INFINITY)]);
        let mut unknown = Request { round_trip: 0.0, ..request(10.0, 5.0) };
        router.on_arrival(1000, Some(&unknown));
        router.on_departure(1000, &mut unknown);
        assert_eq!(unknown.rate, 0.0);
    }

    /// Katabi, Handley and Rohrs, equation 1, as a rate: the queue is drained over the mean RTT,
    /// however long the interval was that has measured it. What is taken is all of that, and
    /// nothing is shuffled.
    #[test]
    fn a_queue_is_drained_over_the_mean_rtt() {
        let mut router = router(None);
        let mut sums = router.intervals.sums;
        sums.input_bytes = 50e3;
        let ended = Ended { sums, seconds: 0.05, mean_rtt: 0.4, queue: 400e3 };
        router.share_out(&ended, CAPACITY);
        assert!(close(router.to_take, 0.226 * 400e3 / 0.4), "{}", router.to_take);
        assert_eq!(router.to_give, 0.0);
    }

    /// Section 3.5.2 of the paper: the residues end what an interval gives and takes, whatever
    /// comes.
    #[test]
    fn no_interval_gives_more_than_was_computed_for_it() {
        let mut router = router(None);
        interval(&mut router, 50, 0, &[(10, f32::INFINITY)]);
        interval(&mut router, 150, 0, &[(10, f32::INFINITY)]);
        let spare = 0.4 * (CAPACITY - 100e3);
        // Nine flows have joined: their packets ask for nine times as much as was computed for one.
        let given = interval(&mut router, 250, 0, &[(10, f32::INFINITY); 10]);
        assert!(close(given.iter().sum(), spare), "{given:?}");
    }

    /// P-XCP as it is reconstructed: phi N / (N - L), at most `max_scale` times phi.
    #[test]
    fn p_xcp_scales_by_the_share_of_flows_without_a_limit() {
        let given = |limited, others| {
            let mut flows = vec![(10, 0.0); limited];
            flows.extend(vec![(10, f32::INFINITY); others]);
            let mut router = router(Some(2.0));
            for end in [50, 150] {
                interval(&mut router, end, 0, &flows);
            }
            interval(&mut router, 250, 0, &flows).iter().sum::<f64>()
        };
        let spare = |flows: f64| 0.4 * (CAPACITY - flows * 100e3);
        // With three quarters, four thirds of the feedback are shared equally, and the limited flow
        // takes none.
        assert!(close(given(1, 3), spare(4.0)), "{}", given(1, 3));
        // With a quarter it would be four times as much, and is twice: of it a quarter is taken.
        assert!(close(given(3, 1), spare(4.0) / 2.0), "{}", given(3, 1));
    }
}
