//! TCP packet control (Zeng and Trajković, "TCP packet control for wireless networks", 2005): a
//! gateway before a hop with a varying delay keeps spurious retransmissions from the hop, and
//! duplicate ACKs from the sender.
//!
//! **Data filter.** A segment whose data has all been forwarded before is a retransmission.
//!
//! - Data that the receiver has acknowledged is dropped. The last ACK is repeated in its place,
//!   because the sender may not have it: once for a series of such segments, and again when one of
//!   them is repeated.
//! - Other data is dropped if nothing shows a loss, and its first copy may still be on its way: the
//!   first copy was forwarded less than `patience` ago, or ACKs of new data keep coming. They do if
//!   the last one came less than four times the average time between two ago.
//! - A duplicate ACK or a SACK block shows a loss. Until all data is acknowledged that was
//!   forwarded before it, retransmissions pass.
//!
//! **ACK filter.** For pure ACKs without ECN flags:
//!
//! - One with a number below that of an ACK before it is dropped.
//! - A duplicate ACK is dropped if there have been more than packets that could have caused them.
//! - From duplicate number `dupacks` on they are held for `hold`, and dropped if an ACK of new data
//!   comes in this time. So a packet that was overtaken starts no fast retransmit.
//!
//! Reconstructed: only the abstract of the paper could be read. It names filters of ACKs and of
//! data in routers against spurious timeouts and fast retransmits. All rules and defaults are our
//! choice.

use std::collections::VecDeque;

use link::{Mechanism, Provenance};
use units::{Span, Time};
use wire::tcp::flags;

use crate::device::Device;
use crate::flows::{Flows, Timed};
use crate::header::{Header, Visible, is_after, is_before};
use crate::settings::{KEY, KIND};

pub(crate) const ABOUT: Mechanism = Mechanism {
    name: "packet-control",
    key: KEY,
    kind: KIND,
    source: "Zeng and Trajkovic, TCP packet control for wireless networks, IEEE WiMob 2005 (abstract)",
    status: Provenance::Reconstructed,
    hurts: "A loss that no duplicate ACK shows, such as that of the last segment: retransmissions pass only `patience` after the first copy. Held duplicate ACKs delay fast retransmit by `hold`.",
};

/// Weight of a new time between two ACKs of new data in the average.
const WEIGHT: f64 = 0.125;
/// ACKs keep coming if the last one came less than this many average times ago.
const MISSED: f64 = 4.0;

/// Parameters of TCP packet control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct PacketControlSettings {
    /// Time after the first copy of a segment in which its retransmissions are dropped, if nothing
    /// shows a loss: the longest delay spike that is hidden from the link.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "0s", "x-maximum" = "60s")))]
    pub patience: Span,
    /// Number of the duplicate ACK from which on they are held.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 16)))]
    pub dupacks: u32,
    /// The longest time for which a duplicate ACK is held.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "0s", "x-maximum" = "10s")))]
    pub hold: Span,
}

impl Default for PacketControlSettings {
    fn default() -> Self {
        Self { patience: Span::from_secs(2), dupacks: 3, hold: Span::from_millis(20) }
    }
}

/// One direction of a connection.
#[derive(Clone, Debug)]
struct Flow<P> {
    /// The number behind the highest data that was forwarded.
    next: u32,
    /// Segments that are not acknowledged, with the times of their first copies.
    copies: VecDeque<(u32, u32, Time)>,
    /// The last ACK of the highest number.
    last_ack: Option<(Header, P)>,
    /// Since it came: number of the segment in whose place it was sent again last.
    answered: Option<u32>,
    /// When the last ACK of new data came, and the average time between two.
    advanced: Time,
    gap: Option<f64>,
    /// Packets to the receiver that may cause a duplicate ACK.
    causes: u64,
    duplicates: u64,
    /// Until this number is acknowledged, a loss is likely.
    lost_below: Option<u32>,
    held: VecDeque<P>,
    until: Time,
}

impl<P> Timed for Flow<P> {
    fn timer(&self) -> Time {
        self.until
    }
}

impl<P> Flow<P> {
    fn new(sequence: u32) -> Self {
        Self {
            next: sequence,
            copies: VecDeque::new(),
            last_ack: None,
            answered: None,
            advanced: Time::ZERO,
            gap: None,
            causes: 0,
            duplicates: 0,
            lost_below: None,
            held: VecDeque::new(),
            until: Time::NEVER,
        }
    }

    fn acknowledged(&self) -> Option<u32> {
        self.last_ack.as_ref().map(|(header, _)| header.acknowledgement)
    }

    fn acks_keep_coming(&self, now: Time) -> bool {
        self.gap.is_some_and(|gap| now.since(self.advanced).as_secs_f64() < MISSED * gap)
    }

    /// Returns true if the first copy of a retransmission is likely to arrive.
    fn is_spurious(&self, now: Time, header: &Header, patience: Span) -> bool {
        let window = self.last_ack.as_ref().map_or(0, |(ack, _)| ack.window);
        let is_copy = |(sequence, end, _): &&(u32, u32, Time)| {
            !is_before(header.sequence, *sequence) && !is_after(header.end(), *end)
        };
        // What fills a hole is not forwarded before.
        let Some((_, _, first)) = self.copies.iter().find(is_copy) else { return false };
        // A segment into a closed window is a probe, and has to be repeated.
        self.lost_below.is_none()
            && window > 0
            && (now.since(*first) < patience || self.acks_keep_coming(now))
    }

    /// An ACK with a higher number than all before.
    fn on_new_ack(&mut self, now: Time, header: &Header) {
        let number = header.acknowledgement;
        if self.last_ack.is_some() {
            let gap = now.since(self.advanced).as_secs_f64();
            let before = self.gap.unwrap_or(gap);
            self.gap = Some(before + WEIGHT * (gap - before));
        }
        self.advanced = now;
        // Their ends are in order: each is that of the highest data when it was forwarded.
        while self.copies.front().is_some_and(|(_, end, _)| !is_after(*end, number)) {
            self.copies.pop_front();
        }
        self.lost_below = self.lost_below.filter(|below| is_before(number, *below));
        self.duplicates = 0;
        self.causes = self.copies.len() as u64;
    }
}

/// The device.
#[derive(Clone, Debug)]
pub struct PacketControl<P> {
    settings: PacketControlSettings,
    /// By the endpoints of the data.
    flows: Flows<Flow<P>>,
    dropped: u64,
    answered: u64,
    stale: u64,
    suppressed: u64,
}

impl<P> PacketControl<P> {
    pub(crate) fn new(settings: PacketControlSettings) -> Self {
        Self { settings, flows: Flows::default(), dropped: 0, answered: 0, stale: 0, suppressed: 0 }
    }
}

impl<P: Visible> PacketControl<P> {
    /// A packet to the receiver. Returns whether it passes.
    fn on_data(&mut self, now: Time, header: &Header, out: &mut Vec<P>) -> bool {
        let mut flow =
            self.flows.get_or_insert_with(header.endpoints, || Flow::new(header.sequence));
        let end = header.end();
        if header.payload == 0 || header.has(flags::FIN) || header.has_more {
            flow.causes += 1;
            return true;
        }
        if is_after(end, flow.next) {
            flow.next = end;
            flow.copies.push_back((header.sequence, end, now));
            flow.causes += 1;
            return true;
        }
        if flow.acknowledged().is_some_and(|number| !is_after(end, number)) {
            self.dropped += 1;
            let is_answered = flow.answered.is_some_and(|last| is_after(header.sequence, last));
            if let Some((_, ack)) = flow.last_ack.as_ref().filter(|_| !is_answered) {
                out.push(ack.clone());
                flow.answered = Some(header.sequence);
                self.answered += 1;
            }
            return false;
        }
        if flow.is_spurious(now, header, self.settings.patience) {
            self.dropped += 1;
            return false;
        }
        flow.causes += 1;
        true
    }

    /// An ACK to the sender. Gives it back if it passes at once.
    fn on_ack(&mut self, now: Time, header: &Header, packet: P) -> Option<P> {
        let Some(mut flow) = self.flows.get_mut(header.endpoints.reversed()) else {
            return Some(packet);
        };
        let is_plain = header.is_pure_ack() && !header.has_more && header.congestion_flags() == 0;
        let sacks = !header.sack.as_slice().is_empty();
        let last = flow.last_ack.as_ref().map(|(last, _)| (last.acknowledgement, last.window));
        match last {
            Some((number, _)) if is_before(header.acknowledgement, number) => {
                self.stale += u64::from(is_plain);
                return (!is_plain).then_some(packet);
            }
            Some((number, window)) if number == header.acknowledgement => {
                if sacks {
                    flow.lost_below = Some(flow.next);
                }
                if !is_plain || (window != header.window && !sacks) {
                    if is_plain {
                        flow.last_ack = Some((*header, packet.clone()));
                    }
                    return Some(packet);
                }
                flow.duplicates += 1;
                flow.lost_below = Some(flow.next);
                if flow.duplicates > flow.causes {
                    self.suppressed += 1;
                    return None;
                }
                if flow.duplicates < u64::from(self.settings.dupacks)
                    || (flow.held.is_empty() && flow.duplicates > u64::from(self.settings.dupacks))
                {
                    return Some(packet);
                }
                if flow.held.is_empty() {
                    flow.until = now + self.settings.hold;
                }
                flow.held.push_back(packet);
                return None;
            }
            _ => {}
        }
        flow.on_new_ack(now, header);
        if sacks {
            flow.lost_below = Some(flow.next);
        }
        self.suppressed += flow.held.len() as u64;
        flow.held.clear();
        flow.until = Time::NEVER;
        if header.is_pure_ack() {
            flow.last_ack = Some((*header, packet.clone()));
            flow.answered = None;
        } else if let Some(ack) = packet.pure_ack(header.acknowledgement, None, None) {
            flow.last_ack = Some((*header, ack));
            flow.answered = None;
        }
        Some(packet)
    }
}

impl<P: Visible> Device<P> for PacketControl<P> {
    fn on_packet(&mut self, now: Time, packet: P, out: &mut Vec<P>) {
        let Some(header) = packet.header() else { return out.push(packet) };
        if header.has(flags::RST | flags::SYN) {
            for endpoints in [header.endpoints, header.endpoints.reversed()] {
                let flow = self.flows.remove(endpoints);
                out.extend(flow.into_iter().flat_map(|flow| flow.held));
            }
            return out.push(packet);
        }
        // A retransmission that acknowledges new data of the other direction is more than a copy.
        let reverse = self.flows.get(header.endpoints.reversed());
        let has_news = reverse
            .and_then(Flow::acknowledged)
            .is_some_and(|number| is_after(header.acknowledgement, number));
        if !self.on_data(now, &header, out) && !has_news {
            return;
        }
        let passed = match header.has(flags::ACK) {
            true => self.on_ack(now, &header, packet),
            false => Some(packet),
        };
        out.extend(passed);
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<P>) {
        self.flows.on_timers(now, |flow| {
            out.extend(flow.held.drain(..));
            flow.until = Time::NEVER;
        });
    }

    fn next_timer(&self) -> Time {
        self.flows.next_timer()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("dropped", self.dropped),
            ("answered", self.answered),
            ("stale", self.stale),
            ("suppressed", self.suppressed),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Plain, ack, at, data, drive};

    /// Acknowledgement numbers and sequence numbers that pass with their times in milliseconds.
    fn passed(packets: Vec<(u64, Plain)>) -> Vec<(u64, char, u32)> {
        let mut device = PacketControl::new(PacketControlSettings::default());
        let window = |packet: Plain| Plain(Header { window: 9, ..packet.0 });
        let packets = packets.into_iter().map(|(time, packet)| (at(time), window(packet)));
        let say = |(time, packet): (Time, Plain)| {
            let time = time.as_nanos() / 1_000_000;
            match packet.0.payload {
                0 => (time, 'a', packet.0.acknowledgement),
                _ => (time, 'd', packet.0.sequence),
            }
        };
        drive(&mut device, packets, at(100_000)).into_iter().map(say).collect()
    }

    #[test]
    fn a_retransmission_after_a_delay_spike_does_not_reach_the_hop() {
        let mut packets: Vec<_> = (0..4).map(|n| (u64::from(n), data(n * 1000, 1000))).collect();
        packets.push((50, ack(1000)));
        // A timeout while nothing comes back, and one whose data was acknowledged meanwhile.
        packets.push((1100, data(1000, 1000)));
        packets.push((2050, ack(4000)));
        packets.push((2051, data(2000, 1000)));
        packets.push((2052, data(3000, 1000)));
        let expected = [(50, 'a', 1000), (2050, 'a', 4000), (2051, 'a', 4000)];
        assert_eq!(passed(packets)[4..], expected);
    }

    #[test]
    fn an_ack_that_the_sender_misses_again_is_sent_again() {
        let mut packets: Vec<_> = (0..3).map(|n| (u64::from(n), data(n * 1000, 1000))).collect();
        packets.push((50, ack(3000)));
        packets.extend([1000, 3000, 7000].map(|time| (time, data(1000, 1000))));
        let expected = [1000, 3000, 7000].map(|time| (time, 'a', 3000));
        assert_eq!(passed(packets)[4..], expected);
    }

    #[test]
    fn a_retransmission_passes_after_duplicate_acks_or_patience() {
        let mut packets: Vec<_> = (0..5).map(|n| (u64::from(n), data(n * 1000, 1000))).collect();
        packets.push((50, ack(1000)));
        let mut lost = packets.clone();
        lost.extend([(52, ack(1000)), (60, data(1000, 1000))]);
        assert_eq!(passed(lost).last(), Some(&(60, 'd', 1000)));
        packets.extend([(1990, data(1000, 1000)), (2010, data(1000, 1000))]);
        assert_eq!(passed(packets)[6..], [(2010, 'd', 1000)]);
    }

    #[test]
    fn held_duplicate_acks_are_dropped_if_the_missing_segment_arrives() {
        let mut packets: Vec<_> = (0..6).map(|n| (u64::from(n), data(n * 1000, 1000))).collect();
        packets.extend([50, 51, 52, 53, 54].map(|time| (time, ack(1000))));
        let mut late = packets.clone();
        late.push((60, ack(6000)));
        let expected = [(50, 'a', 1000), (51, 'a', 1000), (52, 'a', 1000), (60, 'a', 6000)];
        assert_eq!(passed(late)[6..], expected);
        // Without it, they go on after `hold`.
        let expected = [(52, 'a', 1000), (73, 'a', 1000), (73, 'a', 1000)];
        assert_eq!(passed(packets)[8..], expected);
    }

    #[test]
    fn more_duplicate_acks_than_packets_and_old_acks_are_dropped() {
        let mut packets = vec![(0, data(0, 1000)), (1, data(1000, 1000)), (5, ack(1000))];
        packets.extend([(6, ack(1000)), (7, ack(1000)), (8, ack(0))]);
        assert_eq!(passed(packets)[2..], [(5, 'a', 1000), (6, 'a', 1000)]);
    }

    fn control(patience: u64) -> PacketControl<Plain> {
        let patience = Span::from_millis(patience);
        PacketControl::new(PacketControlSettings { patience, ..PacketControlSettings::default() })
    }

    fn windowed(packet: Plain, window: u16) -> Plain {
        Plain(Header { window, ..packet.0 })
    }

    /// Without patience, ACKs of new data hide retransmissions for four times their usual distance.
    #[test]
    fn a_retransmission_is_dropped_while_acks_keep_coming() {
        for (pause, passes) in [(390, false), (410, true)] {
            let mut packets: Vec<_> = (0..9).map(|n| (at(0), data(n * 1000, 1000))).collect();
            let acks = (1..5).map(|n| (at(100 * n), windowed(ack(1000 * n as u32), 9)));
            packets.extend(acks);
            packets.push((at(400 + pause), data(4000, 1000)));
            let out = drive(&mut control(0), packets, at(2000));
            assert_eq!(out.len() == 14, passes, "{pause}");
        }
    }

    /// A sender probes a closed window with data that it has sent before (RFC 9293
    /// section 3.8.6.1).
    #[test]
    fn a_probe_into_a_closed_window_passes() {
        for (window, passes) in [(0, true), (9, false)] {
            let packets = [
                (at(0), data(0, 1000)),
                (at(1), data(1000, 1000)),
                (at(50), windowed(ack(1000), window)),
                (at(500), data(1000, 1000)),
            ];
            let out = drive(&mut control(2000), packets, at(600));
            assert_eq!(out.len() == 4, passes, "{window}");
        }
    }

    /// The evidence of a loss is void when all is acknowledged that was sent before it.
    #[test]
    fn after_a_repair_retransmissions_are_spurious_again() {
        let mut packets: Vec<_> = (0..3).map(|n| (at(0), data(n * 1000, 1000))).collect();
        let ack = |number| windowed(ack(number), 9);
        packets.extend([(at(50), ack(1000)), (at(51), ack(1000)), (at(60), data(1000, 1000))]);
        packets.extend([(at(100), ack(3000)), (at(101), data(3000, 1000))]);
        packets.push((at(150), data(3000, 1000)));
        let mut device = control(2000);
        let out = drive(&mut device, packets, at(200));
        assert_eq!(out.last(), Some(&(at(101), data(3000, 1000))));
        assert_eq!(device.counts()[0], ("dropped", 1));
    }

    #[test]
    fn a_retransmission_that_acknowledges_more_passes() {
        let answer = |payload| Plain(Header { payload, window: 9, ..ack(1000).0 });
        let say = |acknowledgement, payload| {
            Plain(Header { acknowledgement, window: 9, ..data(0, payload).0 })
        };
        for (number, passes) in [(0, false), (500, true)] {
            let packets = [
                (at(0), say(0, 1000)),
                (at(10), Plain(Header { acknowledgement: 0, ..answer(500).0 })),
                (at(20), Plain(Header { sequence: 1000, ..say(0, 0).0 })),
                (at(30), say(number, 1000)),
            ];
            let out = drive(&mut control(2000), packets, at(100));
            assert_eq!(out.len() == 4, passes, "{number}");
        }
    }

    #[test]
    fn held_duplicates_that_are_dropped_are_counted() {
        let mut packets: Vec<_> = (0..6).map(|n| (at(0), data(n * 1000, 1000))).collect();
        packets.extend((50..55).map(|time| (at(time), windowed(ack(1000), 9))));
        packets.push((at(60), windowed(ack(6000), 9)));
        let mut device = control(2000);
        drive(&mut device, packets, at(100));
        assert_eq!(device.counts()[3], ("suppressed", 2), "the third and the fourth duplicate");
    }

    #[test]
    fn sack_blocks_and_holes_show_that_data_has_not_arrived() {
        use crate::header::SackBlocks;

        let sacking = |number| {
            let sack = SackBlocks::new([(2000, 3000)]);
            Plain(Header { sack, ..windowed(ack(number), 9).0 })
        };
        let sent = [data(0, 1000), data(1000, 1000), data(2000, 1000)].map(|data| (at(0), data));
        let repair = (at(60), data(1000, 1000));
        let reported = sent.into_iter().chain([(at(50), sacking(1000)), repair.clone()]);
        assert_eq!(drive(&mut control(2000), reported, at(100)).len(), 5);
        // It has not come here either, and no ACK says anything.
        let hole = [(at(0), data(0, 1000)), (at(0), data(2000, 1000))];
        let hole = hole.into_iter().chain([(at(50), windowed(ack(1000), 9)), repair]);
        assert_eq!(drive(&mut control(2000), hole, at(100)).len(), 4);
    }
}
