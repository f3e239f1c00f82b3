//! Snoop (Balakrishnan, Seshan, Amir and Katz, "Improving TCP/IP performance over wireless
//! networks", 1995): a gateway before a lossy hop keeps copies of data, retransmits what the hop
//! has lost, and hides the duplicate ACKs of such losses from the sender.
//!
//! The rules are those of ns-2's `snoop.cc`, for each direction of a connection:
//!
//! - Data above what was seen before is copied. Data that is seen again is a retransmission of the
//!   sender: its duplicate ACKs pass from then on, because the sender counts them.
//! - A new ACK frees copies, and gives an RTT sample if none of them was retransmitted.
//! - Duplicate ACK number `dupacks` of a copied segment retransmits the segment at once. In ns-2 it
//!   is the second. It is suppressed, and with it as many further ones as there are copies behind
//!   the segment. Then they pass.
//! - The local timer is srtt + 4 rttvar, at least `min_timeout`. On expiry the oldest segment is
//!   retransmitted.
//! - A segment is retransmitted `max_retries` times at most. Then the sender has to do it.
//!
//! Decisions:
//! - Three known faults of that code are not here: its counter of duplicate ACKs is shared by all
//!   connections, the flag of a full cache is cleared with the wrong operator, and the gain of srtt
//!   is inverted.
//! - A retransmitted segment gives no RTT sample (Karn's rule; ns-2 takes one).
//! - A copy is retransmitted with the sender's latest timestamp value. A retransmission of the
//!   sender may have passed meanwhile, and the receiver discards older values (PAWS). ns-2 has no
//!   timestamps.
//! - The timer doubles with each expiry in a row, as a sender's does. ns-2 keeps it.
//!
//! Explicit loss notification (`holes`) is for the other direction: data that crosses the lossy hop
//! before the gateway.

mod holes;

use std::collections::VecDeque;

use link::{Mechanism, Provenance};
use units::{Span, Time};
use wire::tcp::flags;

use crate::device::Device;
use crate::flows::{Flows, Timed};
use crate::header::{Header, Visible, is_after, is_before, latest, renewed};
use crate::settings::{KEY, KIND};
use holes::Holes;

pub(crate) const ABOUT: Mechanism = Mechanism {
    name: "snoop",
    key: KEY,
    kind: KIND,
    source: "ns-2.35, tcp/snoop.cc; Balakrishnan, Seshan, Amir and Katz, Improving TCP/IP Performance over Wireless Networks, MobiCom 1995",
    status: Provenance::FromImplementation,
    hurts: "A lossy hop that is most of the path: the local repair is as slow as that of the sender, whose RTO may expire. Encrypted headers, and ACKs that take another way, leave it blind. Hidden duplicate ACKs hide congestion behind the gateway too.",
};

/// Weight of a sample in srtt, and in rttvar (RFC 6298 has 1/8 and 1/4).
const GAIN: f64 = 0.125;
const VARIANCE_GAIN: f64 = 0.25;

/// Parameters of Snoop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct SnoopSettings {
    /// The most segments that are copied for each direction of a connection. Others pass without a
    /// copy.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000_000)))]
    pub cache: u32,
    /// Number of the duplicate ACK that retransmits a segment. Those before it pass.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 16)))]
    pub dupacks: u32,
    /// The shortest time after which the local timer expires.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms", "x-maximum" = "10s")))]
    pub min_timeout: Span,
    /// The most retransmissions of a segment.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100)))]
    pub max_retries: u32,
    /// Explicit loss notification: mark ACKs that ask for data which has not come to the gateway. A
    /// sender before the gateway with `transport.eln` then retransmits without a reduction. In the
    /// simulator only.
    pub eln: bool,
}

impl Default for SnoopSettings {
    fn default() -> Self {
        Self {
            cache: 100,
            dupacks: 2,
            min_timeout: Span::from_millis(100),
            max_retries: 10,
            eln: false,
        }
    }
}

/// A copy of a segment.
#[derive(Clone, Debug)]
struct Copied<P> {
    sequence: u32,
    end: u32,
    packet: P,
    sent: Time,
    retries: u32,
    /// The sender has retransmitted it.
    by_sender: bool,
}

/// One direction of a connection.
#[derive(Clone, Debug)]
struct Flow<P> {
    /// Copies in the order of their numbers.
    copies: VecDeque<Copied<P>>,
    /// The number behind the highest data so far.
    seen: u32,
    /// Data below it that has not come, with explicit loss notification.
    holes: Holes,
    /// The latest timestamp value of the sender.
    timestamp: Option<u32>,
    acknowledged: Option<u32>,
    window: u16,
    duplicates: u32,
    /// Duplicate ACKs that the last retransmission still causes.
    expected: u32,
    srtt: Option<f64>,
    rttvar: f64,
    /// Expiries of the timer in a row.
    expiries: u32,
    expires: Time,
}

impl<P> Timed for Flow<P> {
    fn timer(&self) -> Time {
        self.expires
    }
}

/// The device.
#[derive(Clone, Debug)]
pub struct Snoop<P> {
    settings: SnoopSettings,
    /// By the endpoints of the data.
    flows: Flows<Flow<P>>,
    retransmitted: u64,
    suppressed: u64,
    uncached: u64,
    notices: u64,
}

impl<P> Snoop<P> {
    pub(crate) fn new(settings: SnoopSettings) -> Self {
        Self {
            settings,
            flows: Flows::default(),
            retransmitted: 0,
            suppressed: 0,
            uncached: 0,
            notices: 0,
        }
    }
}

impl<P: Visible> Flow<P> {
    fn new(first: &Header) -> Self {
        Self {
            copies: VecDeque::new(),
            seen: first.sequence,
            holes: Holes::default(),
            timestamp: None,
            acknowledged: None,
            window: 0,
            duplicates: 0,
            expected: 0,
            srtt: None,
            rttvar: 0.0,
            expiries: 0,
            expires: Time::NEVER,
        }
    }

    fn timeout(&self, settings: &SnoopSettings) -> Span {
        let own =
            self.srtt.map_or(Span::ZERO, |srtt| Span::from_secs_f64(srtt + 4.0 * self.rttvar));
        own.max(settings.min_timeout) * (1 << self.expiries.min(6))
    }

    fn restart_timer(&mut self, now: Time, settings: &SnoopSettings) {
        let may_retransmit =
            self.copies.front().is_some_and(|first| first.retries < settings.max_retries);
        self.expires = if may_retransmit { now + self.timeout(settings) } else { Time::NEVER };
    }

    /// Data passes. Returns whether it is copied, or was.
    fn on_data(
        &mut self,
        now: Time,
        header: &Header,
        packet: &P,
        settings: &SnoopSettings,
    ) -> bool {
        let (sequence, end) = (header.sequence, header.end());
        if settings.eln {
            self.holes.on_data(self.seen, sequence, settings.cache as usize);
        }
        self.timestamp = latest(self.timestamp, header);
        if self.acknowledged.is_some_and(|number| !is_after(end, number)) {
            return true;
        }
        let is_new = !is_before(sequence, self.seen);
        if is_after(end, self.seen) {
            self.seen = end;
        }
        let place = self.copies.partition_point(|copy| is_before(copy.sequence, sequence));
        let same = self.copies.get_mut(place).filter(|copy| copy.sequence == sequence);
        if let Some(copy) = same {
            (copy.by_sender, copy.retries, copy.sent) = (true, 0, now);
            (self.expected, self.duplicates) = (0, 0);
            return true;
        }
        if self.copies.len() >= settings.cache as usize {
            return false;
        }
        let copy = Copied {
            sequence,
            end,
            packet: packet.clone(),
            sent: now,
            retries: 0,
            by_sender: !is_new,
        };
        self.copies.insert(place, copy);
        if self.expires == Time::NEVER {
            self.restart_timer(now, settings);
        }
        true
    }

    /// A number that acknowledges new data.
    fn on_new_ack(&mut self, now: Time, header: &Header, settings: &SnoopSettings) {
        let number = header.acknowledgement;
        let mut newest: Option<(Time, bool)> = None;
        while let Some(first) = self.copies.front().filter(|copy| !is_after(copy.end, number)) {
            let is_clean = first.retries == 0 && !first.by_sender;
            newest = Some((first.sent, newest.is_none_or(|(_, clean)| clean) && is_clean));
            self.copies.pop_front();
        }
        if let Some((sent, true)) = newest {
            let sample = now.since(sent).as_secs_f64();
            match self.srtt {
                None => (self.srtt, self.rttvar) = (Some(sample), sample / 2.0),
                Some(srtt) => {
                    self.rttvar += VARIANCE_GAIN * ((sample - srtt).abs() - self.rttvar);
                    self.srtt = Some(srtt + GAIN * (sample - srtt));
                }
            }
        }
        self.holes.on_ack(number);
        self.acknowledged = Some(number);
        (self.duplicates, self.expected, self.expiries) = (0, 0, 0);
        self.restart_timer(now, settings);
    }

    /// Retransmits the oldest copy.
    fn retransmit(&mut self, now: Time, settings: &SnoopSettings, out: &mut Vec<P>) -> bool {
        let Some(first) = self.copies.front_mut() else { return false };
        if first.retries >= settings.max_retries {
            return false;
        }
        first.retries += 1;
        first.sent = now;
        out.push(renewed(&first.packet, self.timestamp));
        self.restart_timer(now, settings);
        true
    }
}

/// Fate of a duplicate ACK.
enum Duplicate {
    Passes,
    Suppressed { retransmits: bool },
}

impl<P: Visible> Flow<P> {
    fn on_duplicate(&mut self, now: Time, settings: &SnoopSettings, out: &mut Vec<P>) -> Duplicate {
        let number = self.acknowledged.unwrap_or_default();
        let is_own = self
            .copies
            .front()
            .is_some_and(|first| !is_after(first.sequence, number) && !first.by_sender);
        if !is_own {
            return Duplicate::Passes;
        }
        if self.expected > 0 {
            self.expected -= 1;
            return Duplicate::Suppressed { retransmits: false };
        }
        self.duplicates += 1;
        if self.duplicates != settings.dupacks {
            return Duplicate::Passes;
        }
        let behind = self.copies.len() - 1;
        if !self.retransmit(now, settings, out) {
            return Duplicate::Passes;
        }
        self.expected = u32::try_from(behind).unwrap_or(u32::MAX);
        Duplicate::Suppressed { retransmits: true }
    }
}

impl<P: Visible> Device<P> for Snoop<P> {
    fn on_packet(&mut self, now: Time, packet: P, out: &mut Vec<P>) {
        let Some(header) = packet.header() else { return out.push(packet) };
        let settings = self.settings;
        if header.has(flags::RST | flags::SYN) {
            self.flows.remove(header.endpoints);
            self.flows.remove(header.endpoints.reversed());
            return out.push(packet);
        }
        let mut packet = packet;
        if header.has(flags::ACK)
            && let Some(mut flow) = self.flows.get_mut(header.endpoints.reversed())
        {
            let number = header.acknowledgement;
            let is_same = flow.acknowledged == Some(number);
            let has_no_news = header.window == flow.window || !header.sack.as_slice().is_empty();
            flow.window = header.window;
            if flow.acknowledged.is_none_or(|last| is_after(number, last)) {
                flow.on_new_ack(now, &header, &settings);
            } else if is_same && header.is_pure_ack() && has_no_news && !header.has_more {
                match flow.on_duplicate(now, &settings, out) {
                    Duplicate::Passes => {}
                    Duplicate::Suppressed { retransmits } => {
                        self.suppressed += 1;
                        self.retransmitted += u64::from(retransmits);
                        return;
                    }
                }
            }
            if flow.holes.contain(number) {
                packet = packet.with_loss_notice();
                self.notices += 1;
            }
        }
        if header.payload > 0 {
            let mut flow = self.flows.get_or_insert_with(header.endpoints, || Flow::new(&header));
            let is_copied = flow.on_data(now, &header, &packet, &settings);
            self.uncached += u64::from(!is_copied);
        }
        out.push(packet);
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<P>) {
        self.flows.on_timers(now, |flow| {
            flow.expiries += 1;
            flow.expires = Time::NEVER;
            self.retransmitted += u64::from(flow.retransmit(now, &self.settings, out));
        });
    }

    fn next_timer(&self) -> Time {
        self.flows.next_timer()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = vec![
            ("retransmitted", self.retransmitted),
            ("suppressed", self.suppressed),
            ("uncached", self.uncached),
        ];
        counts.extend(self.settings.eln.then_some(("notices", self.notices)));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Plain, ack, at, data, drive};

    fn device() -> Snoop<Plain> {
        Snoop::new(SnoopSettings { dupacks: 1, ..SnoopSettings::default() })
    }

    /// Sequence numbers of data, and acknowledgement numbers of ACKs, with their times in
    /// milliseconds.
    fn passed(packets: Vec<(u64, Plain)>, until: u64) -> Vec<(u64, char, u32)> {
        let packets = packets.into_iter().map(|(time, packet)| (at(time), packet));
        let out = drive(&mut device(), packets, at(until));
        let say = |(time, packet): (Time, Plain)| {
            let time = time.as_nanos() / 1_000_000;
            match packet.0.payload {
                0 => (time, 'a', packet.0.acknowledgement),
                _ => (time, 'd', packet.0.sequence),
            }
        };
        out.into_iter().map(say).collect()
    }

    #[test]
    fn a_loss_is_repaired_and_its_duplicate_acks_are_hidden() {
        let packets = vec![
            (0, data(0, 1000)),
            (1, data(1000, 1000)),
            (2, data(2000, 1000)),
            (3, data(3000, 1000)),
            (10, ack(1000)),
            (12, ack(1000)),
            (13, ack(1000)),
            (20, ack(4000)),
        ];
        let expected = [
            (0, 'd', 0),
            (1, 'd', 1000),
            (2, 'd', 2000),
            (3, 'd', 3000),
            (10, 'a', 1000),
            (12, 'd', 1000),
            (20, 'a', 4000),
        ];
        assert_eq!(passed(packets, 500), expected);
    }

    #[test]
    fn by_default_the_first_duplicate_ack_passes_as_in_ns_2() {
        let mut packets: Vec<_> = (0..5).map(|n| (at(n), data(n as u32 * 1000, 1000))).collect();
        packets.extend([10, 11, 12].map(|time| (at(time), ack(1000))));
        let out = drive(&mut Snoop::new(SnoopSettings::default()), packets, at(50));
        let later: Vec<_> = out[5..].iter().map(|(_, packet)| packet.0.payload).collect();
        assert_eq!(later, [0, 0, 1000], "the ACK, its first duplicate, the repair");
    }

    /// Explicit loss notification: duplicate ACKs for what has not come have a notice, those for
    /// what was lost behind the gateway have none.
    #[test]
    fn acks_that_ask_for_what_has_not_come_have_a_notice() {
        let settings = SnoopSettings { eln: true, ..SnoopSettings::default() };
        let mut packets: Vec<_> = [0, 1, 3, 4].map(|n| (at(n), data(n as u32 * 1000, 1000))).into();
        // Segment 2 has not come, segment 4 is lost behind the gateway.
        packets.extend([(10, 1000), (11, 2000), (12, 2000)].map(|(time, n)| (at(time), ack(n))));
        packets.extend(
            [(20, data(2000, 1000)), (30, ack(4000)), (31, ack(4000))]
                .map(|(time, packet)| (at(time), packet)),
        );
        let mut device = Snoop::new(settings);
        let out = drive(&mut device, packets.clone(), at(40));
        let noticed: Vec<_> = out.iter().filter(|(_, packet)| packet.is_noticed()).collect();
        assert_eq!(noticed.iter().map(|(time, _)| *time).collect::<Vec<_>>(), [at(11), at(12)]);
        assert_eq!(device.counts().last(), Some(&("notices", 2)));
        let mut silent = Snoop::new(SnoopSettings::default());
        let out = drive(&mut silent, packets, at(40));
        assert!(!out.iter().any(|(_, packet)| packet.is_noticed()));
    }

    /// A retransmission of the sender has a later timestamp, and the receiver discards earlier
    /// ones.
    #[test]
    fn a_repair_has_the_latest_timestamp_of_the_sender() {
        let stamped =
            |value, packet: Plain| Plain(Header { timestamps: Some((value, 0)), ..packet.0 });
        let mut packets: Vec<_> =
            (0..4).map(|n| (at(n), stamped(7, data(n as u32 * 1000, 1000)))).collect();
        packets.push((at(5), stamped(9, data(0, 1000))));
        packets.extend([10, 11].map(|time| (at(time), stamped(1, ack(1000)))));
        let out = drive(&mut device(), packets, at(50));
        assert_eq!(out.last().unwrap().1.0.timestamps, Some((9, 0)));
    }

    #[test]
    fn the_timer_repairs_the_loss_of_the_last_segment_a_limited_number_of_times() {
        let packets = vec![(0, data(0, 1000)), (1, data(1000, 1000)), (5, ack(1000))];
        let out = passed(packets, 1_000_000);
        let repairs: Vec<_> = out.iter().filter(|one| one.0 > 5).collect();
        assert_eq!(repairs.len(), 10);
        assert_eq!(repairs[0], &(105, 'd', 1000));
        assert_eq!(repairs[1], &(305, 'd', 1000));
    }

    #[test]
    fn duplicate_acks_of_a_retransmission_of_the_sender_pass() {
        let packets = vec![
            (0, data(0, 1000)),
            (1, data(1000, 1000)),
            (2, data(2000, 1000)),
            (3, ack(1000)),
            (4, data(1000, 1000)),
            (5, ack(1000)),
            (6, ack(1000)),
        ];
        let out = passed(packets, 50);
        assert_eq!(out[5..], [(5, 'a', 1000), (6, 'a', 1000)]);
    }

    #[test]
    fn more_duplicate_acks_than_a_loss_explains_pass() {
        let mut packets = vec![(0, data(0, 1000)), (1, data(1000, 1000)), (2, data(2000, 1000))];
        packets.push((3, ack(1000)));
        packets.extend((4..9).map(|time| (time, ack(1000))));
        let out = passed(packets, 50);
        // One is the first, one is expected behind it.
        assert_eq!(out.iter().filter(|one| one.1 == 'a').count(), 1 + 5 - 2);
    }

    /// RFC 6298 section 2: srtt and rttvar with gains of 1/8 and 1/4, and Karn's rule. In ns-2 the
    /// first gain is inverted.
    #[test]
    fn the_timer_follows_the_round_trip_of_the_hop() {
        let mut device = device();
        let mut drive = |packets: Vec<(u64, Plain)>, until| {
            let packets = packets.into_iter().map(|(time, packet)| (at(time), packet));
            drive(&mut device, packets, at(until));
            let flow = device.flows.values().next().unwrap();
            (flow.srtt.unwrap(), flow.rttvar, device.next_timer())
        };
        let packets = vec![(0, data(0, 1000)), (80, ack(1000)), (200, data(1000, 1000))];
        assert_eq!(drive(packets, 250), (0.08, 0.04, at(440)));
        let (srtt, rttvar, timer) = drive(vec![(264, ack(2000)), (300, data(2000, 1000))], 300);
        // 64 ms: 80 - 16 / 8, and 40 + (16 - 40) / 4.
        assert!((srtt - 0.078).abs() < 1e-9 && (rttvar - 0.034).abs() < 1e-9);
        assert_eq!(timer.as_nanos() / 1000, 300_000 + 78_000 + 4 * 34_000);
        // The ACK of a retransmitted segment is no sample.
        let lost = vec![(301, data(3000, 1000)), (310, ack(2000)), (420, ack(4000))];
        let (again, _, _) = drive(lost, 420);
        assert_eq!(again, srtt);
    }

    #[test]
    fn the_back_off_of_the_timer_ends_with_a_new_ack() {
        let mut device = device();
        // Expiries at 100 and 300 ms.
        let packets = [(0, data(0, 1000)), (310, ack(1000)), (320, data(1000, 1000))];
        drive(&mut device, packets.map(|(time, packet)| (at(time), packet)), at(320));
        assert_eq!(device.counts()[0], ("retransmitted", 2));
        assert_eq!(device.next_timer(), at(420));
    }

    #[test]
    fn what_exceeds_the_cache_is_not_copied_and_left_to_the_sender() {
        let settings = SnoopSettings { cache: 1, dupacks: 1, ..SnoopSettings::default() };
        let mut device = Snoop::new(settings);
        let packets = [
            (0, data(0, 1000)),
            (1, data(1000, 1000)),
            (2, data(2000, 1000)),
            (3, ack(1000)),
            // A copy of what came before is the retransmission of the sender, who counts duplicate
            // ACKs.
            (4, data(1000, 1000)),
            (5, ack(1000)),
        ];
        let out = drive(&mut device, packets.map(|(time, packet)| (at(time), packet)), at(50));
        assert_eq!(out.last(), Some(&(at(5), ack(1000))));
        assert_eq!(out.len(), 6);
        assert_eq!(device.counts()[2], ("uncached", 2));
    }

    /// RFC 5681 section 2: an ACK with another window is no duplicate.
    #[test]
    fn an_update_of_the_window_repairs_nothing() {
        let wide = Plain(Header { window: 7, ..ack(1000).0 });
        let mut packets: Vec<_> = (0..3).map(|n| (n, data(n as u32 * 1000, 1000))).collect();
        packets.extend([(10, ack(1000)), (11, wide)]);
        assert_eq!(passed(packets, 12)[3..], [(10, 'a', 1000), (11, 'a', 1000)]);
    }

    #[test]
    fn a_reset_ends_all_that_is_known_of_a_connection() {
        let reset = Plain(Header { flags: flags::RST, ..data(3000, 0).0 });
        let mut packets: Vec<_> = (0..3).map(|n| (n, data(n as u32 * 1000, 1000))).collect();
        packets.extend([(10, ack(1000)), (11, reset), (12, ack(1000))]);
        let out = passed(packets, 10_000);
        assert_eq!(out[3..], [(10, 'a', 1000), (11, 'a', 0), (12, 'a', 1000)], "and no repair");
    }
}
