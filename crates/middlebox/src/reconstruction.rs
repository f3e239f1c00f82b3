//! ACK reconstruction (RFC 3449 section 5.3.1): behind a link on which ACKs were filtered, it sends
//! the ACKs between two that are far apart, so that a sender that counts ACKs grows as without the
//! filter, and sends no bursts.
//!
//! If the number of a pure ACK jumps by more than `threshold` segments, the device sends ACKs of
//! `step` segments each up to the new number. They are spread over the mean time between real ACKs
//! (an average with weight 0.25), and the last of them is the real one. An ACK that comes earlier
//! continues from the number that was sent last.
//!
//! Everything but a pure ACK with a higher number passes at once, with what is held before it:
//! data, duplicate ACKs, SACK blocks and ECN flags.
//!
//! Decisions:
//! - Jumps are counted in segments as large as the largest that went the other way; ns-2 numbers
//!   segments.
//! - An ACK is late by `max_delay` at most. ns-2 has no limit.
//! - The ACKs between have the timestamps of the real ACK, because TCP cannot send an ACK without
//!   an RTT sample once timestamps are agreed on. ns-2's carry none.

use std::collections::VecDeque;

use link::{Mechanism, Provenance};
use units::{Span, Time};
use wire::tcp::flags;

use crate::device::Device;
use crate::flows::{Flows, Timed};
use crate::header::{Header, Visible, is_after};
use crate::settings::{KEY, KIND};

pub(crate) const ABOUT: Mechanism = Mechanism {
    name: "ack-reconstruction",
    key: KEY,
    kind: KIND,
    source: "ns-2.35, tcp/ack-recons.cc; RFC 3449 section 5.3.1",
    status: Provenance::FromImplementation,
    hurts: "ACKs are late by up to the time between two of them, so the RTT is longer. It makes no sense without a filter before it, and sees nothing where data takes another way.",
};

/// Weight of a new time between two ACKs in the average.
const WEIGHT: f64 = 0.25;

/// Parameters of ACK reconstruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct AckReconstructionSettings {
    /// Segments by which the number of an ACK may jump without others before it.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 64)))]
    pub threshold: u32,
    /// Segments that each ACK acknowledges.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 64)))]
    pub step: u32,
    /// The longest time by which an ACK may be late.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s")))]
    pub max_delay: Span,
}

impl Default for AckReconstructionSettings {
    fn default() -> Self {
        Self { threshold: 2, step: 2, max_delay: Span::from_millis(100) }
    }
}

/// The direction of ACKs of a connection.
#[derive(Clone, Debug)]
struct Flow<P> {
    /// Bytes of the largest segment the other way.
    segment: u32,
    /// The number that was sent last.
    sent: Option<u32>,
    /// When the last real ACK came, and the average time between two.
    last_real: Time,
    interval: Option<Span>,
    /// ACKs that wait for their time.
    held: VecDeque<(Time, P)>,
}

impl<P> Default for Flow<P> {
    fn default() -> Self {
        Self {
            segment: 0,
            sent: None,
            last_real: Time::ZERO,
            interval: None,
            held: VecDeque::new(),
        }
    }
}

impl<P> Timed for Flow<P> {
    fn timer(&self) -> Time {
        self.held.front().map_or(Time::NEVER, |(at, _)| *at)
    }
}

/// The device.
#[derive(Clone, Debug)]
pub struct Reconstruction<P> {
    settings: AckReconstructionSettings,
    /// By the endpoints of the ACKs.
    flows: Flows<Flow<P>>,
    reconstructed: u64,
}

impl<P> Reconstruction<P> {
    pub(crate) fn new(settings: AckReconstructionSettings) -> Self {
        Self { settings, flows: Flows::default(), reconstructed: 0 }
    }
}

impl<P: Visible> Flow<P> {
    /// Measures the time since the last real ACK.
    fn measure(&mut self, now: Time) {
        let gap = now.since(self.last_real).as_secs_f64();
        self.last_real = now;
        if self.sent.is_some() {
            let before = self.interval.map_or(gap, Span::as_secs_f64);
            self.interval = Some(Span::from_secs_f64(before + WEIGHT * (gap - before)));
        }
    }

    /// The highest number that was sent or is planned.
    fn highest(&self) -> Option<u32> {
        let planned = self.held.back().and_then(|(_, ack)| ack.header());
        planned.map(|header| header.acknowledgement).or(self.sent)
    }

    /// Sends all that is held: only the last ACK, which includes the others.
    fn flush(&mut self, out: &mut Vec<P>) {
        if let Some((_, last)) = self.held.pop_back() {
            self.sent = last.header().map(|header| header.acknowledgement);
            out.push(last);
        }
        self.held.clear();
    }

    /// Plans the ACKs up to a real one. Returns the number of those that are new.
    fn plan(
        &mut self,
        now: Time,
        header: &Header,
        packet: P,
        settings: AckReconstructionSettings,
    ) -> u64 {
        let from = self.sent.unwrap_or(header.acknowledgement);
        let step = settings.step.saturating_mul(self.segment);
        self.held.clear();
        let jump = header.acknowledgement.wrapping_sub(from);
        let between = jump.saturating_sub(1) / step;
        let spread = self.interval.unwrap_or(Span::ZERO).min(settings.max_delay);
        let mut made = 0;
        for number in 1..=between {
            let acknowledgement = from.wrapping_add(number * step);
            let Some(ack) = packet.pure_ack(acknowledgement, None, None) else { continue };
            let share = f64::from(number - 1) / f64::from(between);
            let at = now + Span::from_secs_f64(spread.as_secs_f64() * share);
            self.held.push_back((at, ack));
            made += 1;
        }
        self.held.push_back((now + spread, packet));
        made
    }

    /// Sends what is due.
    fn send_due(&mut self, now: Time, out: &mut Vec<P>) {
        while self.held.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, ack)) = self.held.pop_front() else { return };
            self.sent = ack.header().map(|header| header.acknowledgement).or(self.sent);
            out.push(ack);
        }
    }
}

impl<P: Visible> Device<P> for Reconstruction<P> {
    fn on_packet(&mut self, now: Time, packet: P, out: &mut Vec<P>) {
        let Some(header) = packet.header() else { return out.push(packet) };
        if header.payload > 0 {
            let mut acks =
                self.flows.get_or_insert_with(header.endpoints.reversed(), Flow::default);
            acks.segment = acks.segment.max(header.payload);
        }
        let mut flow = self.flows.get_or_insert_with(header.endpoints, Flow::default);
        let is_next = header.is_pure_ack()
            && header.flags == flags::ACK
            && !header.accurate
            && header.sack.as_slice().is_empty()
            && flow.highest().is_some_and(|number| is_after(header.acknowledgement, number))
            && flow.segment > 0;
        if is_next {
            flow.measure(now);
            let jump = header.acknowledgement.wrapping_sub(flow.sent.unwrap_or_default());
            let threshold = self.settings.threshold.saturating_mul(flow.segment);
            if !flow.held.is_empty() || jump > threshold {
                self.reconstructed += flow.plan(now, &header, packet, self.settings);
                return flow.send_due(now, out);
            }
        }
        flow.flush(out);
        if header.has(flags::ACK) {
            let is_higher = flow.sent.is_none_or(|sent| is_after(header.acknowledgement, sent));
            flow.sent = if is_higher { Some(header.acknowledgement) } else { flow.sent };
        }
        if header.has(flags::FIN | flags::RST) {
            drop(flow);
            self.flows.remove(header.endpoints);
        }
        out.push(packet);
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<P>) {
        self.flows.on_timers(now, |flow| flow.send_due(now, out));
    }

    fn next_timer(&self) -> Time {
        self.flows.next_timer()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("reconstructed", self.reconstructed)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Plain, ack, at, data, drive};

    fn device() -> Reconstruction<Plain> {
        Reconstruction::new(AckReconstructionSettings::default())
    }

    /// Data of 1000 bytes goes by, then ACKs at these milliseconds.
    fn passed(acks: &[(u64, u32)]) -> Vec<(u64, u32)> {
        let acks = acks.iter().map(|(time, number)| (at(*time), ack(*number)));
        let packets = std::iter::once((at(0), data(0, 1000))).chain(acks);
        let out = drive(&mut device(), packets, at(5000));
        let acks = out.into_iter().filter(|(_, packet)| packet.0.payload == 0);
        acks.map(|(time, p)| (time.as_nanos() / 1_000_000, p.0.acknowledgement)).collect()
    }

    #[test]
    fn acks_that_are_near_pass_as_they_are() {
        let acks = [(1, 0), (10, 1000), (20, 3000), (30, 5000)];
        assert_eq!(passed(&acks), acks);
    }

    #[test]
    fn a_jump_becomes_acks_of_two_segments_each_over_the_usual_time_between_acks() {
        let acks = [(0, 0), (40, 2000), (80, 4000), (120, 12_000)];
        let expected = [
            (0, 0),
            (40, 2000),
            (80, 4000),
            (120, 6000),
            (133, 8000),
            (146, 10_000),
            (160, 12_000),
        ];
        assert_eq!(passed(&acks), expected);
    }

    /// The average has a weight of 1/4, and a jump of more than two segments is one.
    #[test]
    fn acks_are_spread_over_the_average_time_between_two_and_at_most_over_the_longest_delay() {
        // 40 ms, and 80 ms once: 50 ms.
        let acks = [(0, 0), (40, 2000), (80, 4000), (160, 12_000)];
        let times = passed(&acks)[3..].iter().map(|(time, _)| *time).collect::<Vec<_>>();
        assert_eq!(times, [160, 176, 193, 210]);
        let rare = [(0, 0), (400, 2000), (800, 4000), (1200, 12_000)];
        let times = passed(&rare)[3..].iter().map(|(time, _)| *time).collect::<Vec<_>>();
        assert_eq!(times, [1200, 1233, 1266, 1300]);
        let short = [(0, 0), (40, 2000), (80, 5000)];
        assert_eq!(passed(&short)[2..], [(80, 4000), (120, 5000)]);
    }

    #[test]
    fn an_old_ack_and_a_short_segment_change_nothing() {
        let acks = [(0, 0), (10, 2000), (20, 4000), (21, 1000), (30, 6000)];
        assert_eq!(passed(&acks), acks);
        let packets = [data(0, 1000), data(1000, 100), ack(0), ack(2000), ack(4000), ack(12_000)];
        let packets = (0..).zip(packets).map(|(n, packet)| (at(10 * n), packet));
        let mut device = device();
        let out = drive(&mut device, packets, at(5000));
        assert_eq!(out.len(), 6 + 3);
        assert_eq!(device.counts(), [("reconstructed", 3)]);
    }

    #[test]
    fn a_duplicate_ack_is_passed_at_once_with_all_that_is_acknowledged_before_it() {
        let acks = [(0, 0), (40, 2000), (80, 4000), (120, 12_000), (121, 12_000)];
        let expected = [(0, 0), (40, 2000), (80, 4000), (120, 6000), (121, 12_000), (121, 12_000)];
        assert_eq!(passed(&acks), expected);
    }

    #[test]
    fn numbers_rise_and_none_is_invented() {
        let acks = [(0, 0), (20, 9000), (25, 30_000), (90, 31_000), (300, 90_000), (301, 95_500)];
        let passed = passed(&acks);
        assert!(passed.is_sorted_by_key(|(_, number)| *number), "{passed:?}");
        for (time, number) in &passed {
            assert!(acks.iter().any(|(came, highest)| came <= time && highest >= number));
        }
        assert_eq!(passed.last().map(|(_, number)| *number), Some(95_500));
    }
}
