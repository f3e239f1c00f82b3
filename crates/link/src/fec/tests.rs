use proptest::prelude::*;
use units::{Span, Time};

use super::*;
use crate::arq::Accepted;
use crate::priority::Priority;
use crate::queue::Queued;

const TIMER: Span = Span::from_millis(100);

fn settings(data: u32, parity: u32, depth: u32, in_order: bool) -> FecSettings {
    FecSettings { data, parity, depth, timer: TIMER, in_order, header: 6 }
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// Both ends, and what has come out: tickets, and whether they were lost.
struct Link {
    encoder: Encoder,
    decoder: Decoder,
    sent: u32,
    passed: Vec<(u32, bool)>,
}

impl Link {
    fn new(settings: FecSettings) -> Self {
        Self {
            encoder: Encoder::new(settings),
            decoder: Decoder::new(settings),
            sent: 0,
            passed: Vec::new(),
        }
    }

    fn carry(&mut self, now: Time, frame: &CodedFrame, is_lost: bool) {
        self.decoder.sent(frame);
        self.encoder.leaves(is_lost);
        if !is_lost {
            let mut accepted = Vec::new();
            self.decoder.on_frame(now, frame, &mut accepted);
            self.note(&accepted);
        }
    }

    fn note(&mut self, accepted: &[Accepted]) {
        self.passed.extend(accepted.iter().map(|one| (one.ticket, one.is_skip)));
    }

    /// Sends the next packet, of `bytes`, and the parity packets that are due then. `is_lost` is
    /// asked for each of them. Returns the bytes of the parity packets.
    fn send(&mut self, now: Time, bytes: u32, mut is_lost: impl FnMut() -> bool) -> Vec<u32> {
        let (ticket, priority, ecn) = (self.sent, Priority::Normal, Ecn::NotCapable);
        self.sent += 1;
        let packet = Queued { ticket, flow: 0, bytes, unframed: bytes, priority, ecn, since: now };
        let frame = self.encoder.send(now, &packet);
        self.carry(now, &frame, is_lost());
        self.parity(now, is_lost)
    }

    fn parity(&mut self, now: Time, mut is_lost: impl FnMut() -> bool) -> Vec<u32> {
        let mut lengths = Vec::new();
        while let Some((frame, bytes)) = self.encoder.parity() {
            lengths.push(bytes);
            self.carry(now, &frame, is_lost());
        }
        lengths
    }

    fn counters(&self) -> FecCounters {
        self.decoder.counters(self.encoder.counters())
    }

    /// Tickets that were passed on, in this order.
    fn arrived(&self) -> Vec<u32> {
        self.passed.iter().filter(|(_, is_lost)| !is_lost).map(|(ticket, _)| *ticket).collect()
    }
}

#[test]
fn parity_comes_behind_its_block_and_is_as_long_as_the_longest_packet() {
    let mut link = Link::new(settings(3, 2, 1, true));
    let lengths = [40, 1500, 600].map(|bytes| link.send(at(0), bytes, || false));
    assert_eq!(lengths, [vec![], vec![], vec![1503, 1503]]);
    // The next block forgets them.
    let lengths = [40, 40, 40].map(|bytes| link.send(at(0), bytes, || false));
    assert_eq!(lengths[2], [43, 43]);
    assert_eq!(link.arrived(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(link.counters().repaired_packets, 0);
}

#[test]
fn a_gap_waits_for_its_parity_in_order_and_others_pass_it_out_of_order() {
    let orders = [(true, vec![0, 1, 2, 3, 4]), (false, vec![0, 2, 3, 1, 4])];
    for (in_order, expected) in orders {
        let mut link = Link::new(settings(4, 1, 1, in_order));
        for ticket in 0..5 {
            link.send(at(0), 1000, || ticket == 1);
        }
        assert_eq!(link.arrived(), expected, "{in_order}");
        let FecCounters { repaired_packets, held_packets, lost_packets, .. } = link.counters();
        let held = if in_order { 2 } else { 0 };
        assert_eq!((repaired_packets, held_packets, lost_packets), (1, held, 0));
    }
}

#[test]
fn a_burst_as_long_as_parity_times_depth_is_repaired_and_a_longer_one_is_not() {
    for (depth, burst, lost) in [(1, 2, 0), (2, 4, 0), (2, 5, 3), (4, 8, 0), (4, 9, 3)] {
        let mut link = Link::new(settings(5, 2, depth, true));
        let group = 5 * depth;
        for ticket in 0..2 * group {
            // Somewhere in the first group.
            let is_lost = (3..3 + burst).contains(&ticket) && ticket < group;
            // Behind the last packet of a group comes parity, which arrives.
            let mut first = true;
            link.send(at(0), 1000, || std::mem::take(&mut first) && is_lost);
        }
        let FecCounters { repaired_packets, lost_packets, .. } = link.counters();
        assert_eq!(lost_packets, lost, "depth {depth}, burst {burst}");
        assert_eq!(repaired_packets + lost_packets, u64::from(burst));
    }
}

#[test]
fn a_group_that_does_not_fill_is_closed_by_the_timer_with_all_its_parity() {
    let mut link = Link::new(settings(10, 2, 3, true));
    for ticket in 0..4 {
        let mut first = true;
        let lengths = link.send(at(ticket), 1000, || ticket == 1 && std::mem::take(&mut first));
        assert!(lengths.is_empty());
    }
    // Three blocks, the first with two packets.
    assert_eq!(link.encoder.deadline(), at(100));
    link.encoder.on_timer(at(99));
    assert!(!link.encoder.has_parity());
    link.encoder.on_timer(at(100));
    assert_eq!(link.parity(at(100), || false).len(), 6);
    assert_eq!(link.arrived(), [0, 1, 2, 3]);
    let FecCounters { blocks, short_blocks, parity_packets, .. } = link.counters();
    assert_eq!((blocks, short_blocks, parity_packets), (3, 3, 6));
    assert_eq!((link.encoder.deadline(), link.decoder.deadline()), (Time::NEVER, Time::NEVER));
}

/// The timer runs from the first packet of its group, and full blocks are no short ones.
#[test]
fn each_group_has_its_own_timer_and_only_blocks_with_a_gap_are_short() {
    let mut link = Link::new(settings(3, 1, 2, true));
    (0..6).for_each(|_| assert!(link.send(at(0), 1000, || false).len() < 3));
    assert_eq!(link.encoder.deadline(), Time::NEVER);
    (0..5).for_each(|n| assert!(link.send(at(500 + n), 1000, || false).is_empty()));
    assert_eq!(link.encoder.deadline(), at(500) + TIMER);
    link.encoder.on_timer(at(600));
    let FecCounters { blocks, short_blocks, .. } = link.counters();
    assert_eq!((blocks, short_blocks), (4, 1), "the first block of the second group is full");
}

/// A link keeps the order, so the last parity packet of a block shows that those of the blocks
/// before it are lost.
#[test]
fn the_last_parity_packet_decides_on_all_blocks_before_its_own() {
    let mut link = Link::new(settings(2, 1, 2, true));
    // The first data packet, and the parity packet of its block.
    let mut fates = [true, false, false, false, true, false].into_iter();
    (0..4).for_each(|_| drop(link.send(at(0), 1000, || fates.next().unwrap())));
    assert_eq!(link.passed, [(0, true), (1, false), (2, false), (3, false)]);
    assert_eq!(link.counters().lost_packets, 1);
}

#[test]
fn packets_do_not_wait_for_parity_that_does_not_come() {
    let mut link = Link::new(settings(4, 1, 1, true));
    for ticket in 0..4 {
        link.send(at(ticket), 1000, || ticket == 1 || ticket == 3);
    }
    assert_eq!(link.arrived(), [0]);
    assert_eq!(link.decoder.deadline(), at(2) + TIMER + TIMER);
    let mut accepted = Vec::new();
    link.decoder.on_timer(at(201), &mut accepted);
    assert!(accepted.is_empty());
    link.decoder.on_timer(at(202), &mut accepted);
    link.note(&accepted);
    assert_eq!((link.arrived(), link.counters().lost_packets), (vec![0, 2], 1));
    assert_eq!(link.decoder.deadline(), Time::NEVER);
    // The last packet of the block is only known to be lost when the next group comes.
    link.send(at(300), 1000, || false);
    assert_eq!((link.arrived(), link.counters().lost_packets), (vec![0, 2, 4], 2));
}

#[test]
fn the_residual_loss_is_that_of_the_binomial_distribution() {
    // One data packet and one parity packet: both are lost.
    assert!((settings(1, 1, 1, true).residual_loss(0.1) - 0.01).abs() < 1e-15);
    // Two and one: this packet, and at least one of the two others.
    let expected = 0.1 * (1.0 - 0.9 * 0.9);
    assert!((settings(2, 1, 1, true).residual_loss(0.1) - expected).abs() < 1e-15);
    let default = Fec::all()[0].settings(|_| TIMER).residual_loss(0.01);
    assert!((default - 4e-5).abs() < 1e-6, "{default}, as the default says");
    assert_eq!(settings(4, 2, 3, true).residual_loss(0.0), 0.0);
    assert_eq!(settings(4, 2, 3, true).residual_loss(1.0), 1.0);
}

#[test]
fn the_default_takes_a_tenth_of_the_rate() {
    let expansion = Fec::all()[0].settings(|_| TIMER).expansion(1500, &Framing::default());
    let expected = (30.0 * 1506.0 + 3.0 * 1509.0) / (30.0 * 1500.0);
    assert!((expansion - expected).abs() < 1e-12, "{expansion}");
}

/// Which packets a code must deliver: those that arrive, and all of a block of which enough
/// arrives.
fn expected(settings: &FecSettings, fates: &[Vec<bool>], groups: &[u32]) -> Vec<u32> {
    let mut all = Vec::new();
    let mut first = 0;
    for (filled, fates) in groups.iter().zip(fates) {
        let blocks = settings.depth.min(*filled);
        let is_enough = |block: u32| {
            let data = (0..*filled).filter(|place| place % settings.depth == block);
            let needed = data.clone().count();
            let parity = (0..settings.parity).map(|round| filled + round * blocks + block);
            data.chain(parity).filter(|place| !fates[*place as usize]).count() >= needed
        };
        let enough: Vec<_> = (0..blocks).map(is_enough).collect();
        let arrives =
            |place: &u32| !fates[*place as usize] || enough[(place % settings.depth) as usize];
        all.extend((0..*filled).filter(arrives).map(|place| first + place));
        first += filled;
    }
    all
}

proptest! {
    #[test]
    fn every_packet_that_can_be_rebuilt_is_passed_on_once_and_in_order(
        (data, parity, depth, in_order) in (1u32..6, 1u32..4, 1u32..4, any::<bool>()),
        groups in prop::collection::vec((1u32..20, prop::collection::vec(any::<u8>(), 40)), 1..12),
        loss in 0u8..200,
    ) {
        let settings = settings(data, parity, depth, in_order);
        let mut link = Link::new(settings);
        let (mut sizes, mut fates) = (Vec::new(), Vec::new());
        for (number, (size, draws)) in (0u64..).zip(&groups) {
            let size = (*size).min(settings.group());
            // The last group arrives, so that all is decided.
            let is_last = number as usize + 1 == groups.len();
            let lost: Vec<_> = draws.iter().map(|draw| *draw < loss && !is_last).collect();
            let mut next = lost.iter().copied();
            let now = at(1000 * number);
            for _ in 0..size {
                link.send(now, 1000, || next.next().unwrap());
            }
            link.encoder.on_timer(now + TIMER);
            link.parity(now + TIMER, || next.next().unwrap());
            sizes.push(size);
            fates.push(lost);
        }
        let mut arrived = link.arrived();
        if !in_order {
            arrived.sort_unstable();
        }
        prop_assert_eq!(&arrived, &expected(&settings, &fates, &sizes));
        prop_assert_eq!(link.passed.len(), link.sent as usize, "each packet once");
        let counters = link.counters();
        prop_assert_eq!(counters.lost_packets as usize, link.passed.len() - arrived.len());
        prop_assert_eq!(link.decoder.deadline(), Time::NEVER);
    }
}
