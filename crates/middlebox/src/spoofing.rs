//! Spoofing proxy (RFC 3135 sections 3.1.2 and 3.1.3, "local acknowledgements"): a gateway acknowledges data in the
//! receiver's name, keeps copies of it, and repairs what the hop behind it loses.
//!
//! For each direction of a connection whose SYNs have passed:
//!
//! - A segment of new data in order is copied and forwarded, and its ACK is sent at once. So the sender grows
//!   with the round trip to the gateway.
//! - The promise ends at `store` bytes beyond the number that the receiver has acknowledged. The window of the
//!   sender ends there too, or at that of the receiver. So `store` is the window of the hop behind the gateway.
//! - The receiver's pure ACKs do not pass while a promise is open. One with a larger window is made when
//!   the sender may wait for it.
//! - Copies are retransmitted after `dupacks` duplicate ACKs, after as many SACKed segments behind one, after a
//!   partial ACK, and after srtt + 4 rttvar without an ACK, doubled with each expiry in a row, 15 of them at
//!   most. At most two for each ACK.
//! - A copy is retransmitted with the sender's latest timestamp value, because the receiver discards older ones
//!   (PAWS).
//! - A FIN is acknowledged by the receiver only, and so is all data behind a segment that has not come. Losses
//!   before the gateway are repaired end to end.
//!
//! A segment whose ACK was made is `promised`. It is `kept` when the receiver acknowledges it. With `dies_at`
//! the gateway loses copies and state at this time and forwards packets as a router does. Promised segments that
//! the receiver does not acknowledge until the end are `broken`. A reset breaks promises too.
//!
//! Reconstructed: RFC 3135 describes the idea and gives no rules. ACK numbers, windows and repairs are our
//! choice. Data in segments that also acknowledge passes with the receiver's own window.

use std::collections::{BTreeMap, VecDeque};

use link::{Mechanism, Provenance};
use units::{Bytes, Span, Time};
use wire::tcp::flags;

use crate::device::Device;
use crate::header::{Endpoints, Header, Visible, is_after, is_before, latest, renewed};
use crate::settings::{KEY, KIND};

pub(crate) const ABOUT: Mechanism = Mechanism {
    name: "spoofing-proxy",
    key: KEY,
    kind: KIND,
    source: "Border, Kojo, Griner, Montenegro and Shelby, Performance Enhancing Proxies Intended to Mitigate Link-Related Degradations, RFC 3135, 2001",
    status: Provenance::Reconstructed,
    hurts: "An ACK no longer means that data has arrived: if the gateway dies, the sender does not know what is lost. The hop behind has a fixed window and no congestion control. IPsec and a second route leave it blind.",
};

/// Weight of a sample in srtt, and in rttvar (RFC 6298).
const GAIN: f64 = 0.125;
const VARIANCE_GAIN: f64 = 0.25;
/// Timeout before the first sample (RFC 6298 section 2).
const FIRST_TIMEOUT: Span = Span::from_secs(1);
/// Expiries of the timer in a row after which the gateway waits for an ACK, as Linux's `tcp_retries2`.
const MOST_EXPIRIES: u32 = 15;
/// The most retransmissions for one ACK.
const REPAIRS: usize = 2;

/// Parameters of the spoofing proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct SpoofingSettings {
    /// The most bytes of a direction of a connection that are acknowledged before the receiver does: the window of
    /// the hop behind the gateway, about its bandwidth-delay product and some queue.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB")))]
    pub store: Bytes,
    /// Number of the duplicate ACK that retransmits a segment.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 16)))]
    pub dupacks: u32,
    /// The shortest time after which the local timer expires.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms", "x-maximum" = "10s")))]
    pub min_timeout: Span,
    /// Time at which the gateway dies and loses all copies. Default: it lives.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ns")))]
    pub dies_at: Option<Span>,
}

impl Default for SpoofingSettings {
    fn default() -> Self {
        Self {
            store: Bytes(128 * 1024),
            dupacks: 3,
            min_timeout: Span::from_millis(200),
            dies_at: None,
        }
    }
}

/// A segment that was forwarded.
#[derive(Clone, Debug)]
struct Copied<P> {
    sequence: u32,
    end: u32,
    /// `None` when the gateway has died.
    packet: Option<P>,
    sent: Time,
    retries: u32,
    sacked: bool,
    promised: bool,
}

/// One direction of a connection.
#[derive(Clone, Debug)]
struct Flow<P> {
    /// The window scale of the receiver, once its SYN has passed; zero if one of both had none.
    scale: Option<u8>,
    own_scale: Option<Option<u8>>,
    /// The receiver's last segment, from which ACKs are made.
    template: Option<(u32, P)>,
    /// The latest timestamp value of the sender.
    timestamp: Option<u32>,
    /// The number behind the data in order of which there are copies.
    next: u32,
    /// The highest number that the sender was sent.
    promised: u32,
    /// The highest number of the receiver, and the end of its window.
    acknowledged: u32,
    window_end: u32,
    /// End of the window that the sender was sent.
    offered: u32,
    /// Copies in the order of their numbers.
    copies: VecDeque<Copied<P>>,
    duplicates: u32,
    /// Until this number is acknowledged, each partial ACK retransmits.
    recover: Option<u32>,
    srtt: Option<f64>,
    rttvar: f64,
    expiries: u32,
    expires: Time,
}

/// What all flows have counted.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    promised: u64,
    kept: u64,
    /// Promises of connections that were reset.
    reset: u64,
    retransmitted: u64,
    suppressed: u64,
}

/// The device.
#[derive(Clone, Debug)]
pub struct Spoofing<P> {
    settings: SpoofingSettings,
    /// By the endpoints of the data.
    flows: BTreeMap<Endpoints, Flow<P>>,
    counts: Counts,
    is_dead: bool,
}

impl<P> Spoofing<P> {
    pub(crate) fn new(settings: SpoofingSettings) -> Self {
        Self { settings, flows: BTreeMap::new(), counts: Counts::default(), is_dead: false }
    }
}

impl<P: Visible> Flow<P> {
    /// The direction of data of the end that has sent this SYN.
    fn new(syn: &Header) -> Self {
        let first = syn.sequence.wrapping_add(1);
        Self {
            scale: None,
            own_scale: Some(syn.window_scale),
            template: None,
            timestamp: None,
            next: first,
            promised: first,
            acknowledged: first,
            window_end: first,
            offered: first,
            copies: VecDeque::new(),
            duplicates: 0,
            recover: None,
            srtt: None,
            rttvar: 0.0,
            expiries: 0,
            expires: Time::NEVER,
        }
    }

    fn timeout(&self, settings: &SpoofingSettings) -> Span {
        let own =
            self.srtt.map_or(FIRST_TIMEOUT, |srtt| Span::from_secs_f64(srtt + 4.0 * self.rttvar));
        own.max(settings.min_timeout) * (1 << self.expiries.min(6))
    }

    fn restart_timer(&mut self, now: Time, settings: &SpoofingSettings) {
        let waits = !self.copies.is_empty() && self.expiries < MOST_EXPIRIES;
        self.expires = if waits { now + self.timeout(settings) } else { Time::NEVER };
    }

    /// End of the window that the sender may have.
    fn end_of_window(&self, settings: &SpoofingSettings) -> u32 {
        let store = u32::try_from(settings.store.get()).unwrap_or(u32::MAX);
        let own = self.acknowledged.wrapping_add(store);
        if is_before(own, self.window_end) { own } else { self.window_end }
    }

    /// The ACK for the sender of all that is promised.
    fn ack(&mut self, settings: &SpoofingSettings, echo: Option<u32>) -> Option<P> {
        let end = self.end_of_window(settings);
        let open = match is_after(end, self.promised) {
            true => end.wrapping_sub(self.promised),
            false => 0,
        };
        let scale = self.scale.unwrap_or(0);
        let field = u16::try_from(open >> scale).unwrap_or(u16::MAX);
        let (_, template) = self.template.as_ref()?;
        let ack = template.pure_ack(self.promised, echo, Some(field))?;
        self.offered = self.promised.wrapping_add(u32::from(field) << scale);
        Some(ack)
    }

    /// Data to the receiver. Returns the ACK that it draws, and whether it is forwarded.
    fn on_data(
        &mut self,
        now: Time,
        header: &Header,
        packet: &P,
        settings: &SpoofingSettings,
        counts: &mut Counts,
    ) -> (Option<P>, bool) {
        let (sequence, end) = (header.sequence, header.end());
        let echo = header.timestamps.map(|(value, _)| value);
        self.timestamp = latest(self.timestamp, header);
        let is_promised = !is_after(end, self.promised);
        if is_promised && is_after(self.promised, self.acknowledged) {
            return (self.ack(settings, echo), false);
        }
        let store = settings.store.get();
        let has_room = u64::from(end.wrapping_sub(self.acknowledged)) <= store
            && is_after(end, self.acknowledged);
        if !has_room || header.has(flags::FIN) || self.template.is_none() {
            return (None, true);
        }
        match self.copies.iter_mut().find(|copy| copy.sequence == sequence && copy.end == end) {
            Some(copy) => copy.sent = now,
            None => {
                let place = self.copies.iter().rposition(|copy| is_before(copy.sequence, sequence));
                let copy = Copied {
                    sequence,
                    end,
                    packet: Some(packet.clone()),
                    sent: now,
                    retries: 0,
                    sacked: false,
                    promised: false,
                };
                self.copies.insert(place.map_or(0, |place| place + 1), copy);
            }
        }
        if self.expires == Time::NEVER {
            self.restart_timer(now, settings);
        }
        for copy in &self.copies {
            if is_after(copy.sequence, self.next) {
                break;
            }
            if is_after(copy.end, self.next) {
                self.next = copy.end;
            }
        }
        if !is_after(self.next, self.promised) {
            return (None, true);
        }
        self.promised = self.next;
        for copy in &mut self.copies {
            if !copy.promised && !is_after(copy.end, self.promised) {
                copy.promised = true;
                counts.promised += 1;
            }
        }
        (self.ack(settings, echo), true)
    }

    /// Takes an acknowledgement of the receiver to account. Returns whether it acknowledges new data.
    fn on_number(&mut self, now: Time, header: &Header, counts: &mut Counts) -> bool {
        let number = header.acknowledgement;
        if !is_after(number, self.acknowledged) {
            return false;
        }
        self.acknowledged = number;
        let mut newest: Option<(Time, bool)> = None;
        while let Some(first) = self.copies.front().filter(|copy| !is_after(copy.end, number)) {
            let is_clean = first.retries == 0;
            newest = Some((first.sent, newest.is_none_or(|(_, clean)| clean) && is_clean));
            counts.kept += u64::from(first.promised);
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
        for place in [&mut self.next, &mut self.promised] {
            if is_after(number, *place) {
                *place = number;
            }
        }
        (self.duplicates, self.expiries) = (0, 0);
        self.recover = self.recover.filter(|recover| is_before(number, *recover));
        true
    }

    /// Retransmits copies that are lost, at most two.
    fn repair(&mut self, now: Time, settings: &SpoofingSettings, out: &mut Vec<P>) -> u64 {
        let again = Span::from_secs_f64(1.25 * self.srtt.unwrap_or(1.0));
        let mut behind = self.copies.iter().filter(|copy| copy.sacked).count();
        let threshold = settings.dupacks as usize;
        let is_recovering = self.recover.is_some();
        let mut made = 0;
        for (place, copy) in self.copies.iter_mut().enumerate() {
            if made == REPAIRS || (behind < threshold && place > 0) {
                break;
            }
            behind -= usize::from(copy.sacked);
            let is_lost = behind >= threshold || (place == 0 && is_recovering);
            let may_be_sent = copy.retries == 0 || now.since(copy.sent) >= again;
            if !is_lost || copy.sacked || !may_be_sent {
                continue;
            }
            let Some(packet) = &copy.packet else { continue };
            out.push(renewed(packet, self.timestamp));
            (copy.retries, copy.sent) = (copy.retries + 1, now);
            made += 1;
        }
        if made > 0 {
            self.restart_timer(now, settings);
        }
        made as u64
    }

    /// An ACK of the receiver. Returns what the sender gets.
    fn on_ack(
        &mut self,
        now: Time,
        header: &Header,
        packet: P,
        settings: &SpoofingSettings,
        counts: &mut Counts,
        out: &mut Vec<P>,
    ) -> Option<P> {
        if self.template.as_ref().is_none_or(|(end, _)| !is_before(header.end(), *end)) {
            self.template = Some((header.end(), packet.clone()));
        }
        let number = header.acknowledgement;
        let scale = self.scale.unwrap_or(0);
        let window_end = number.wrapping_add(u32::from(header.window) << scale);
        let is_same_window = window_end == self.window_end;
        if is_after(window_end, self.window_end) {
            self.window_end = window_end;
        }
        let blocks = header.sack.as_slice();
        for copy in self.copies.iter_mut().filter(|copy| !copy.sacked) {
            copy.sacked = blocks
                .iter()
                .any(|(start, end)| !is_before(copy.sequence, *start) && !is_after(copy.end, *end));
        }
        let was_promised = self.promised;
        let is_new = self.on_number(now, header, counts);
        if is_new {
            self.restart_timer(now, settings);
        } else if number == self.acknowledged
            && header.is_pure_ack()
            && (is_same_window || !blocks.is_empty())
            && !self.copies.is_empty()
        {
            self.duplicates += 1;
            if self.duplicates >= settings.dupacks && self.recover.is_none() {
                self.recover = self.copies.back().map(|last| last.end);
            }
        }
        counts.retransmitted += self.repair(now, settings, out);
        let is_open = is_after(self.promised, number);
        if !header.is_pure_ack() || header.has_more || header.congestion_flags() != 0 {
            return Some(packet);
        }
        if !is_open {
            // What the receiver says itself, but with the window of the store.
            let needs_less = is_after(window_end, self.end_of_window(settings));
            let made = match needs_less && is_after(number, was_promised) {
                true => self.ack(settings, None),
                false => None,
            };
            return Some(made.unwrap_or(packet));
        }
        // The sender may wait for a larger window.
        let end = self.end_of_window(settings);
        let store = u32::try_from(settings.store.get()).unwrap_or(u32::MAX);
        let larger = is_after(end, self.offered).then(|| end.wrapping_sub(self.offered));
        if larger.is_some_and(|larger| larger >= (store / 4).max(1 << scale)) {
            return self.ack(settings, None);
        }
        counts.suppressed += 1;
        None
    }
}

impl<P: Visible> Spoofing<P> {
    /// Loses all copies once it is time. Only the counting of promises goes on.
    fn maybe_die(&mut self, now: Time) {
        let Some(at) = self.settings.dies_at else { return };
        if self.is_dead || now.since(Time::ZERO) < at {
            return;
        }
        self.is_dead = true;
        for flow in self.flows.values_mut() {
            flow.expires = Time::NEVER;
            flow.copies.iter_mut().for_each(|copy| copy.packet = None);
        }
    }

    fn forget(&mut self, endpoints: Endpoints) {
        if let Some(flow) = self.flows.remove(&endpoints) {
            self.counts.reset += open(&flow);
        }
    }

    fn on_syn(&mut self, header: &Header) {
        if !header.has(flags::ACK) {
            self.forget(header.endpoints);
            self.forget(header.endpoints.reversed());
        }
        if self.flows.contains_key(&header.endpoints) {
            return;
        }
        let mut flow = Flow::new(header);
        if let Some(reverse) = self.flows.get_mut(&header.endpoints.reversed()) {
            let both = reverse.own_scale.flatten().zip(header.window_scale);
            reverse.scale = Some(both.map_or(0, |(_, own)| own));
            flow.scale = Some(both.map_or(0, |(other, _)| other));
        }
        self.flows.insert(header.endpoints, flow);
    }
}

/// Promised segments that the receiver has not acknowledged.
fn open<P>(flow: &Flow<P>) -> u64 {
    flow.copies.iter().filter(|copy| copy.promised).count() as u64
}

impl<P: Visible> Device<P> for Spoofing<P> {
    fn on_packet(&mut self, now: Time, packet: P, out: &mut Vec<P>) {
        self.maybe_die(now);
        let Some(header) = packet.header() else { return out.push(packet) };
        let (settings, is_dead) = (self.settings, self.is_dead);
        if header.has(flags::RST) {
            self.forget(header.endpoints);
            self.forget(header.endpoints.reversed());
            return out.push(packet);
        }
        if header.has(flags::SYN) {
            if !is_dead {
                self.on_syn(&header);
            }
            return out.push(packet);
        }
        let reverse = self.flows.get_mut(&header.endpoints.reversed());
        if is_dead {
            if let Some(flow) = reverse.filter(|_| header.has(flags::ACK)) {
                flow.on_number(now, &header, &mut self.counts);
            }
            return out.push(packet);
        }
        let mut passing = Some(packet);
        if header.payload > 0
            && !header.has_more
            && let Some(flow) = self.flows.get_mut(&header.endpoints)
            && flow.scale.is_some()
            && let Some(data) = &passing
        {
            let (ack, is_forwarded) = flow.on_data(now, &header, data, &settings, &mut self.counts);
            out.extend(ack);
            if !is_forwarded {
                passing = None;
            }
        }
        if header.has(flags::ACK)
            && let Some(flow) = self.flows.get_mut(&header.endpoints.reversed())
            && flow.scale.is_some()
            && let Some(packet) = passing.take()
        {
            passing = flow.on_ack(now, &header, packet, &settings, &mut self.counts, out);
        }
        out.extend(passing);
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<P>) {
        self.maybe_die(now);
        for flow in self.flows.values_mut().filter(|flow| flow.expires <= now) {
            flow.expiries += 1;
            flow.recover = flow.copies.back().map(|last| last.end);
            if let Some(first) = flow.copies.front_mut()
                && let Some(packet) = &first.packet
            {
                out.push(renewed(packet, flow.timestamp));
                (first.retries, first.sent) = (first.retries + 1, now);
                self.counts.retransmitted += 1;
            }
            flow.restart_timer(now, &self.settings);
        }
    }

    fn next_timer(&self) -> Time {
        self.flows.values().map(|flow| flow.expires).min().unwrap_or(Time::NEVER)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let Counts { promised, kept, reset, retransmitted, suppressed } = self.counts;
        let lost = if self.is_dead { self.flows.values().map(open).sum() } else { 0 };
        vec![
            ("promised", promised),
            ("kept", kept),
            ("broken", reset + lost),
            ("retransmitted", retransmitted),
            ("suppressed", suppressed),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::SackBlocks;
    use crate::tests::{Plain, ack, at, data, drive};

    fn with(flags: u8, packet: Plain) -> Plain {
        Plain(Header { flags, payload: 0, ..packet.0 })
    }

    /// The handshake of a connection whose sender opens it, and the receiver's first ACK.
    fn opened() -> Vec<(u64, Plain)> {
        let syn = with(flags::SYN, data(u32::MAX, 0));
        let answer = with(flags::SYN | flags::ACK, ack(0));
        let window = |number| Plain(Header { window: 60_000, sequence: 1, ..ack(number).0 });
        vec![(0, syn), (1, answer), (2, data(0, 1000)), (3, window(1000))]
    }

    fn acked(number: u32) -> Plain {
        Plain(Header { window: 60_000, sequence: 1, ..ack(number).0 })
    }

    fn counted(
        settings: SpoofingSettings,
        packets: Vec<(u64, Plain)>,
        until: u64,
    ) -> (Vec<(u64, char, u32)>, Vec<u64>) {
        let mut device = Spoofing::new(settings);
        let packets = packets.into_iter().map(|(time, packet)| (at(time), packet));
        let say = |(time, packet): (Time, Plain)| {
            let time = time.as_nanos() / 1_000_000;
            match packet.0.payload {
                0 => (time, 'a', packet.0.acknowledgement),
                _ => (time, 'd', packet.0.sequence),
            }
        };
        let out = drive(&mut device, packets, at(until)).into_iter().map(say).skip(4).collect();
        (out, Device::<Plain>::counts(&device).into_iter().map(|(_, count)| count).collect())
    }

    #[test]
    fn data_in_order_is_acknowledged_at_once_and_the_promise_is_kept() {
        let mut packets = opened();
        packets.extend([(10, data(1000, 1000)), (11, data(2000, 1000)), (500, acked(3000))]);
        let (out, counts) = counted(SpoofingSettings::default(), packets, 600);
        let first = [(10, 'a', 2000), (10, 'd', 1000), (11, 'a', 3000), (11, 'd', 2000)];
        assert_eq!(out[..4], first);
        assert_eq!(counts[..3], [2, 2, 0]);
    }

    #[test]
    fn what_the_hop_loses_is_repaired_and_its_duplicate_acks_do_not_pass() {
        let mut packets = opened();
        packets.extend((1..6).map(|n| (9 + u64::from(n), data(n * 1000, 1000))));
        packets.extend([(300, acked(1000)), (301, acked(1000)), (302, acked(1000))]);
        packets.push((600, acked(6000)));
        let (out, counts) = counted(SpoofingSettings::default(), packets, 700);
        assert_eq!(out[10..12], [(302, 'd', 1000), (600, 'a', 6000)]);
        assert_eq!(counts, [5, 5, 0, 1, 3]);
    }

    #[test]
    fn several_losses_are_found_by_sack() {
        let mut packets = opened();
        packets.extend((1..9).map(|n| (9 + u64::from(n), data(n * 1000, 1000))));
        let sack = SackBlocks::new([(4000, 7000)]);
        packets.push((300, Plain(Header { sack, ..acked(1000).0 })));
        let (out, _) = counted(SpoofingSettings::default(), packets, 400);
        // Two for each ACK; the third comes with the next one.
        assert_eq!(out[16..], [(300, 'd', 1000), (300, 'd', 2000)]);
    }

    #[test]
    fn the_promise_ends_with_the_store_and_so_does_the_window() {
        let settings = SpoofingSettings { store: Bytes(2500), ..SpoofingSettings::default() };
        let mut packets = opened();
        packets.extend((1..5).map(|n| (9 + u64::from(n), data(n * 1000, 1000))));
        let (out, counts) = counted(settings, packets, 100);
        assert_eq!(out.iter().filter(|one| one.1 == 'a').count(), 2);
        assert_eq!(counts[0], 2);
    }

    #[test]
    fn a_hole_and_a_fin_are_not_acknowledged() {
        let mut packets = opened();
        let fin = Plain(Header { flags: flags::ACK | flags::FIN, ..data(1000, 1000).0 });
        packets.extend([(10, data(2000, 1000)), (11, fin)]);
        let (out, counts) = counted(SpoofingSettings::default(), packets, 100);
        assert_eq!(out, [(10, 'd', 2000), (11, 'd', 1000)]);
        assert_eq!(counts[0], 0);
    }

    #[test]
    fn a_gateway_that_dies_breaks_what_the_receiver_does_not_acknowledge() {
        let dies_at = Some(Span::from_millis(15));
        let settings = SpoofingSettings { dies_at, ..SpoofingSettings::default() };
        let mut packets = opened();
        packets.extend((1..4).map(|n| (9 + u64::from(n), data(n * 1000, 1000))));
        packets.extend((0..9).map(|n| (300 + n, acked(2000))));
        let (out, counts) = counted(settings, packets, 100_000);
        assert_eq!(out.iter().filter(|one| one.0 >= 300).count(), 9, "all pass, no repair");
        assert_eq!(counts, [3, 1, 2, 0, 0]);
    }

    #[test]
    fn a_connection_whose_syn_has_not_passed_is_left_alone() {
        let packets = opened().split_off(2);
        let (_, counts) = counted(SpoofingSettings::default(), packets, 100_000);
        assert_eq!(counts, [0; 5]);
    }
}
