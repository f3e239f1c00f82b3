//! ACK filter (RFC 3449 section 5.2.1): where ACKs wait in a queue, a later one makes earlier ones
//! of the same connection needless, because ACKs are cumulative. It relieves a thin return link.
//!
//! Three rules. All look at the queue when a packet joins it, and compare it with packets of the
//! same addresses and ports that wait before it.
//!
//! - `cake`: that of Linux's queue CAKE. The joining packet is a segment with ACK and without SYN.
//!   A waiting packet is a candidate if it is a pure ACK, has no flag but ACK and those of ECN, no
//!   reserved bits, no options but padding, timestamps and SACK, an acknowledgement number and
//!   timestamps that are not above those of the joining packet, and SACK blocks that the joining
//!   packet covers. A duplicate ACK, with the same number and the same SACK blocks, is none. A
//!   packet with other ECN flags than the candidate protects it. The first candidate is removed
//!   when there is a second, so that one needless ACK stays. At most one packet is removed for each
//!   that joins.
//! - `cake-aggressive`: the same, and a single candidate is removed if it is directly before the
//!   joining packet and has the same ECN flags.
//! - `ns-2`: that of ns-2's `semanticPacketQueue`. A pure ACK that joins removes all pure ACKs with
//!   smaller acknowledgement numbers, whatever else is in them.
//!
//! Decisions:
//! - The filter works in the queues of all links that leave its node, as both sources have it: at
//!   another place no ACK waits for a later one.
//! - Compared with the source code of both. CAKE also removes ACKs with an MD5 signature
//!   (RFC 2385); here they stay, as all packets with other options. ns-2 takes every segment
//!   without payload for an ACK; here SYN, FIN and RST stay.
//! - "Directly before" is meant among the packets of one direction of a connection, because CAKE
//!   keeps a queue for each of them.
//! - A waiting packet is removed before the queue decides whether it has room for the joining one.
//!   If the queue then drops the joining packet, the acknowledgement comes with the next one.
//! - ns-2's option to put the joining ACK at the place of the oldest one removed is off by default
//!   there, and is left out here.

use std::collections::{BTreeMap, VecDeque};

use link::{Mechanism, Provenance};
use wire::tcp::flags;

use crate::header::{Endpoints, Header, is_after, is_before};
use crate::settings::{KEY, KIND};

pub(crate) const ABOUT: Mechanism = Mechanism {
    name: "ack-filter",
    key: KEY,
    kind: KIND,
    source: "Linux 6.1, net/sched/sch_cake.c (cake_ack_filter); ns-2.35, semantic-packetqueue.cc; RFC 3449 section 5.2.1",
    status: Provenance::FromImplementation,
    hurts: "A sender that counts ACKs instead of acknowledged bytes grows more slowly, and fewer ACKs that acknowledge more each release bursts. With `ns-2`, SACK blocks and ECN marks are lost.",
};

/// Parameters of the ACK filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct AckFilterSettings {
    /// Which ACKs a later one removes. `"cake"`: the first of two that it supersedes, without loss
    /// of SACK blocks or ECN marks. `"cake-aggressive"`: also a single one directly before it.
    /// `"ns-2"`: all with smaller numbers.
    pub rule: FilterRule,
}

/// Which ACKs a later one removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case"),
    schemars(inline)
)]
pub enum FilterRule {
    /// The conservative rule of CAKE.
    #[default]
    Cake,
    /// The aggressive rule of CAKE.
    CakeAggressive,
    /// The rule of ns-2.
    #[cfg_attr(feature = "schema", serde(rename = "ns-2"))]
    Ns2,
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    ticket: u32,
    header: Header,
}

/// Packets of one direction of a connection that wait in the queue.
#[derive(Clone, Debug, Default)]
struct Queue {
    packets: VecDeque<Waiting>,
    /// Number of packets without data. If it is zero, nothing can be removed.
    empty: usize,
}

impl Queue {
    fn push(&mut self, packet: Waiting) {
        self.empty += usize::from(packet.header.payload == 0);
        self.packets.push_back(packet);
    }

    fn remove(&mut self, place: usize) -> Option<Waiting> {
        let packet = self.packets.remove(place)?;
        self.empty -= usize::from(packet.header.payload == 0);
        Some(packet)
    }
}

/// The filter of one queue.
#[derive(Clone, Debug)]
pub struct AckFilter {
    rule: FilterRule,
    /// Packets that wait, by their addresses and ports.
    waiting: BTreeMap<Endpoints, Queue>,
}

impl AckFilter {
    /// The filter of an empty queue.
    pub fn new(settings: AckFilterSettings) -> Self {
        let AckFilterSettings { rule } = settings;
        Self { rule, waiting: BTreeMap::new() }
    }

    /// A packet joins the queue under `ticket`. The tickets of those that it makes needless go to
    /// `removed`; they no longer wait.
    pub fn join(&mut self, ticket: u32, header: &Header, removed: &mut Vec<u32>) {
        let waiting = self.waiting.entry(header.endpoints).or_default();
        if waiting.empty > 0 {
            match self.rule {
                FilterRule::Ns2 if header.is_pure_ack() => ns2(waiting, header, removed),
                FilterRule::Ns2 => {}
                FilterRule::Cake | FilterRule::CakeAggressive => {
                    let is_aggressive = self.rule == FilterRule::CakeAggressive;
                    let place = cake(&waiting.packets, header, is_aggressive);
                    removed.extend(place.and_then(|at| waiting.remove(at)).map(|old| old.ticket));
                }
            }
        }
        waiting.push(Waiting { ticket, header: *header });
    }

    /// A packet has left the queue.
    pub fn leave(&mut self, ticket: u32, header: &Header) {
        let Some(waiting) = self.waiting.get_mut(&header.endpoints) else { return };
        if let Some(place) = waiting.packets.iter().position(|old| old.ticket == ticket) {
            waiting.remove(place);
        }
        if waiting.packets.is_empty() {
            self.waiting.remove(&header.endpoints);
        }
    }
}

/// Removes the pure ACKs with smaller numbers, as ns-2 does when a pure ACK with `header` joins.
fn ns2(waiting: &mut Queue, header: &Header, removed: &mut Vec<u32>) {
    let before = removed.len();
    waiting.packets.retain(|old| {
        let is_needless = old.header.is_pure_ack()
            && is_before(old.header.acknowledgement, header.acknowledgement);
        removed.extend(is_needless.then_some(old.ticket));
        !is_needless
    });
    waiting.empty -= removed.len() - before;
}

/// The place of the packet that CAKE removes when one with `header` joins.
fn cake(waiting: &VecDeque<Waiting>, header: &Header, is_aggressive: bool) -> Option<usize> {
    if header.flags & (flags::ACK | flags::SYN) != flags::ACK {
        return None;
    }
    let mut candidate: Option<(usize, u8)> = None;
    let mut found = 0;
    for (place, Waiting { header: old, .. }) in waiting.iter().enumerate() {
        if candidate.is_some_and(|(_, marks)| marks != old.congestion_flags()) {
            candidate = None;
            found -= 1;
        }
        if !may_be_removed(old, header) {
            continue;
        }
        let (first, _) = *candidate.get_or_insert((place, old.congestion_flags()));
        found += 1;
        if found > 1 {
            return Some(first);
        }
    }
    let (place, marks) = candidate?;
    let is_directly_before = place + 1 == waiting.len();
    (is_aggressive && is_directly_before && marks == header.congestion_flags()).then_some(place)
}

/// Returns true if nothing is lost with `old` that `new` does not say.
fn may_be_removed(old: &Header, new: &Header) -> bool {
    const HARMLESS: u8 = flags::ACK | flags::ECE | flags::CWR;
    let is_plain = old.payload == 0
        && !old.has_more
        && old.has(flags::ACK)
        && old.flags & !HARMLESS == 0
        && !is_after(old.acknowledgement, new.acknowledgement);
    let (value, echo) = new.timestamps.unwrap_or_default();
    let is_earlier = old.timestamps.is_none_or(|(old_value, old_echo)| {
        !is_after(old_value, value) && !is_after(old_echo, echo)
    });
    is_plain
        && is_earlier
        && match coverage(old, new) {
            Coverage::Missing => false,
            Coverage::Equal => old.acknowledgement != new.acknowledgement,
            Coverage::More => true,
        }
}

/// How the SACK blocks of a new ACK compare with those of an old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coverage {
    /// Some of the old ones are not in the new ones.
    Missing,
    /// The new ones have as many bytes as the old ones.
    Equal,
    /// The new ones have more bytes.
    More,
}

fn coverage(old: &Header, new: &Header) -> Coverage {
    let (old_blocks, new_blocks) = (old.sack.as_slice(), new.sack.as_slice());
    let is_covered = |(start, end): &(u32, u32)| {
        // A block below the acknowledgement number reports a duplicate (RFC 2883): it is kept.
        let is_duplicate = is_before(*start, old.acknowledgement);
        let covers = |(new_start, new_end): &(u32, u32)| {
            !is_after(*new_start, *start) && !is_before(*new_end, *end)
        };
        !is_duplicate && new_blocks.iter().any(covers)
    };
    if !old_blocks.iter().all(is_covered) {
        return Coverage::Missing;
    }
    let bytes = |blocks: &[(u32, u32)]| {
        blocks.iter().map(|(start, end)| u64::from(end.wrapping_sub(*start))).sum::<u64>()
    };
    if bytes(new_blocks) > bytes(old_blocks) { Coverage::More } else { Coverage::Equal }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::header::SackBlocks;

    fn ack(acknowledgement: u32) -> Header {
        Header { acknowledgement, flags: flags::ACK, ..Header::default() }
    }

    fn sacking(acknowledgement: u32, blocks: &[(u32, u32)]) -> Header {
        Header { sack: SackBlocks::new(blocks.iter().copied()), ..ack(acknowledgement) }
    }

    /// The numbers of the headers that a queue has removed, in their order, when all have joined.
    fn removed(rule: FilterRule, headers: &[Header]) -> Vec<u32> {
        let mut filter = AckFilter::new(AckFilterSettings { rule });
        let mut removed = Vec::new();
        for (ticket, header) in (0..).zip(headers) {
            filter.join(ticket, header, &mut removed);
        }
        removed
    }

    #[test]
    fn conservatively_one_needless_ack_stays() {
        let acks = [1, 2, 3, 4, 5].map(ack);
        assert_eq!(removed(FilterRule::Cake, &acks), [0, 1, 2]);
        assert_eq!(removed(FilterRule::CakeAggressive, &acks), [0, 1, 2, 3]);
        assert_eq!(removed(FilterRule::Ns2, &acks), [0, 1, 2, 3]);
    }

    #[test]
    fn duplicate_acks_stay_with_every_rule() {
        for rule in [FilterRule::Cake, FilterRule::CakeAggressive, FilterRule::Ns2] {
            assert_eq!(removed(rule, &[7; 5].map(ack)), [0; 0], "{rule:?}");
        }
    }

    #[test]
    fn ns_2_removes_all_smaller_numbers_and_looks_at_nothing_else() {
        let acks = [sacking(1, &[(5, 6)]), ack(1), ack(2), ack(2), ack(3)];
        assert_eq!(removed(FilterRule::Ns2, &acks), [0, 1, 2, 3]);
        assert_eq!(removed(FilterRule::Ns2, &[ack(5), ack(4)]), [0; 0]);
    }

    #[test]
    fn aggressively_a_single_ack_is_removed_directly_before_the_new_one_only() {
        let data = Header { payload: 1, ..ack(1) };
        assert_eq!(removed(FilterRule::CakeAggressive, &[ack(1), data, ack(2)]), [0; 0]);
        assert_eq!(removed(FilterRule::CakeAggressive, &[data, ack(1), ack(2)]), [1]);
    }

    #[test]
    fn cake_keeps_sack_blocks_that_the_new_ack_does_not_cover() {
        let rule = FilterRule::CakeAggressive;
        assert_eq!(removed(rule, &[sacking(1, &[(5, 6)]), sacking(1, &[(5, 8)])]), [0]);
        assert_eq!(removed(rule, &[sacking(1, &[(5, 6)]), sacking(2, &[(7, 8)])]), [0; 0]);
        assert_eq!(removed(rule, &[sacking(1, &[(5, 6)]), ack(9)]), [0; 0]);
        assert_eq!(removed(rule, &[sacking(4, &[(1, 2)]), sacking(9, &[(1, 2)])]), [0; 0]);
        assert_eq!(removed(rule, &[ack(1), sacking(1, &[(5, 6)])]), [0]);
    }

    #[test]
    fn cake_keeps_what_has_more_than_an_ack() {
        let rule = FilterRule::CakeAggressive;
        let more = [
            Header { payload: 1, ..ack(1) },
            Header { flags: flags::ACK | flags::FIN, ..ack(1) },
            Header { flags: flags::ACK | flags::PSH, ..ack(1) },
            Header { has_more: true, ..ack(1) },
            Header { timestamps: Some((9, 0)), ..ack(1) },
            Header { timestamps: Some((0, 9)), ..ack(1) },
            ack(3),
        ];
        for old in more {
            let new = Header { timestamps: Some((8, 8)), ..ack(2) };
            assert_eq!(removed(rule, &[old, new]), [0; 0], "{old:?}");
        }
        let syn = Header { flags: flags::ACK | flags::SYN, ..ack(2) };
        assert_eq!(removed(rule, &[ack(1), syn]), [0; 0]);
        // Data that acknowledges more replaces a pure ACK.
        assert_eq!(removed(rule, &[ack(1), Header { payload: 9, ..ack(2) }]), [0]);
    }

    #[test]
    fn cake_loses_no_change_of_ecn_marks() {
        let marked = |number| Header { flags: flags::ACK | flags::ECE, ..ack(number) };
        for rule in [FilterRule::Cake, FilterRule::CakeAggressive] {
            assert_eq!(removed(rule, &[marked(1), ack(2), marked(3), ack(4)]), [0; 0], "{rule:?}");
            assert_eq!(removed(rule, &[marked(1), marked(2), marked(3)])[..1], [0], "{rule:?}");
        }
    }

    #[test]
    fn connections_and_directions_are_kept_apart() {
        let other = |port| {
            let mut header = ack(9);
            header.endpoints.source.port = port;
            header
        };
        assert_eq!(removed(FilterRule::Ns2, &[other(1), other(2), other(3)]), [0; 0]);
    }

    #[test]
    fn packets_that_have_left_are_forgotten() {
        let mut filter = AckFilter::new(AckFilterSettings { rule: FilterRule::Ns2 });
        let mut removed = Vec::new();
        filter.join(0, &ack(1), &mut removed);
        filter.leave(0, &ack(1));
        assert!(filter.waiting.is_empty());
        filter.join(1, &ack(2), &mut removed);
        assert!(removed.is_empty());
    }

    fn headers() -> impl Strategy<Value = Vec<Header>> {
        let header = (0u32..9, any::<[bool; 3]>(), 0u32..3, 0u32..9);
        prop::collection::vec(header, 1..40).prop_map(|all| {
            let header = |(number, [marked, sacks, fin], payload, start): (_, [bool; 3], _, _)| {
                let mut flags = flags::ACK;
                flags |= if marked { flags::ECE } else { 0 };
                flags |= if fin && payload == 2 { flags::FIN } else { 0 };
                let blocks = [(20 + start, 25 + start)];
                let sack = SackBlocks::new(blocks.into_iter().filter(|_| sacks));
                Header { flags, sack, payload: payload / 2, ..ack(number) }
            };
            all.into_iter().map(header).collect()
        })
    }

    proptest! {
        /// Whatever waits, the highest acknowledgement and, with CAKE, every SACK block and every
        /// mark before a change of marks still comes out.
        #[test]
        fn nothing_is_lost_that_a_later_packet_does_not_say(headers in headers()) {
            for rule in [FilterRule::Cake, FilterRule::CakeAggressive, FilterRule::Ns2] {
                let gone = removed(rule, &headers);
                let left = || (0..).zip(&headers).filter(|(n, _)| !gone.contains(n));
                prop_assert!(left().any(|(n, _)| n as usize == headers.len() - 1));
                for number in &gone {
                    let old = &headers[*number as usize];
                    prop_assert!(old.is_pure_ack());
                    let later = |(n, new): &(u32, &Header)| {
                        n > number && !is_before(new.acknowledgement, old.acknowledgement)
                    };
                    prop_assert!(left().any(|each| later(&each)), "{rule:?} {number}");
                    if rule != FilterRule::Ns2 {
                        let covers = |each: &(u32, &Header)| {
                            later(each) && coverage(old, each.1) != Coverage::Missing
                        };
                        prop_assert!(left().any(|each| covers(&each)), "{rule:?} {number}");
                    }
                }
                let mut sorted = gone.clone();
                sorted.sort_unstable();
                sorted.dedup();
                prop_assert_eq!(sorted.len(), gone.len(), "removed once");
            }
        }
    }
}
