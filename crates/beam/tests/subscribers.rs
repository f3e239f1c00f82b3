//! Plans, classes and FQ-CoDel of terminals, against closed forms of their rates and delays.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::collections::BTreeMap;
use std::sync::Arc;

use beam::forward::frames::{Frame, FrameLength};
use beam::forward::gse::Gse;
use beam::forward::{self, Forward, Member, Scheduler, Share};
use beam::returning::requests::{Category, Policy};
use beam::returning::waveforms::BurstLength;
use beam::returning::{self, Returning};
use beam::{Allowance, Classes, Offered, Plan};
use link::{
    Acm, Ecn, Fade, FqCodelSettings, Modem, ModemSettings, Purpose, Signal, TokenBucket, stream,
};
use proptest::prelude::*;
use units::{Bytes, Rate, Span, Time};

/// Symbols per second of a carrier of 12.5 MHz.
const RATE: f64 = 12.5e6 / 1.2;

/// QPSK 1/2: 9.98 Mbit/s of full packets.
fn signal() -> Arc<Acm> {
    let modem = Modem::DvbS2(ModemSettings { margin: 0.0, ..ModemSettings::default() });
    let signal = Signal { es_n0: 1.0, system_temperature: None, fade: Fade::constant(0.0) };
    Arc::new(Acm::new(modem, signal, Span::from_secs(1)))
}

fn carrier(classes: Classes, plan: Option<Plan>) -> forward::Settings {
    let modcods = Modem::all()[0].modcods();
    let frame = |one| Frame::of(one, FrameLength::Normal, true).unwrap();
    forward::Settings {
        frames: modcods.iter().map(frame).collect(),
        symbol_rate: RATE,
        gse: Gse { label: 3 },
        fragmentation: true,
        hold: Span::from_millis(10),
        dummy_frames: true,
        delay: Span::from_millis(250),
        scheduler: Scheduler::DeficitRoundRobin(Share::Bytes),
        classes,
        buffer: 1_000_000,
        aqm: None,
        plans: vec![plan],
    }
}

fn forward_to(settings: forward::Settings, terminals: usize) -> Forward<u32> {
    let members = vec![Member { group: 0, signal: 0 }; terminals];
    Forward::new(settings, &[signal()], &members, 1)
}

fn plan(rate: u64) -> Plan {
    let bucket = TokenBucket::new(Rate::from_bits_per_second(rate), Bytes(10_000));
    Plan { bucket, allowance: None }
}

fn packet(terminal: u32, class: u8, bytes: u32) -> Offered<u32> {
    Offered { class, ..Offered::new(terminal, bytes, u32::from(class)) }
}

/// Bytes that arrive by terminal and class from second 1 on until `end`, if the packets of
/// `classes` always wait at all terminals.
fn saturated(
    mut forward: Forward<u32>,
    terminals: u32,
    classes: &[u8],
    end: u64,
) -> BTreeMap<(u32, u32), u64> {
    for terminal in 0..terminals {
        for class in classes {
            (0..300).for_each(|_| forward.offer(Time::ZERO, packet(terminal, *class, 1500)));
        }
    }
    let (start, end) = (Time::ZERO + Span::from_secs(1), Time::ZERO + Span::from_secs(end));
    let mut received = BTreeMap::new();
    while forward.next_event() < end {
        let Some(arrived) = forward.advance() else { continue };
        if arrived.at >= start {
            *received.entry((arrived.terminal, arrived.packet)).or_default() += 1500;
        }
        let class = u8::try_from(arrived.packet).unwrap();
        forward.offer(arrived.at, packet(arrived.terminal, class, 1500));
    }
    received
}

fn assert_near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} for {expected}");
}

/// Twenty terminals with plans of 400 kbit/s take 8 of 10 Mbit/s: none gets more than its plan.
#[test]
fn each_terminal_gets_the_rate_of_its_plan() {
    let forward = forward_to(carrier(Classes::default(), Some(plan(400_000))), 20);
    let received = saturated(forward, 20, &[0], 61);
    assert_eq!(received.len(), 20);
    for bytes in received.into_values() {
        // A packet more or less is 0.05 %.
        assert_near(bytes as f64 * 8.0 / 60.0, 400e3, 1e-3);
    }
}

/// Where plans add to more than the carrier, the scheduler decides.
#[test]
fn plans_of_more_than_the_carrier_share_it() {
    let forward = forward_to(carrier(Classes::default(), Some(plan(2_000_000))), 20);
    let received = saturated(forward, 20, &[0], 21);
    let total: u64 = received.values().sum();
    assert_near(total as f64 * 8.0 / 20.0, 9.984e6, 5e-3);
    let (least, most) = (received.values().min().unwrap(), received.values().max().unwrap());
    assert!(most - least <= 2 * 1500, "{received:?}");
}

/// 10 Mbit/s against a leak of 1 Mbit/s: 4.5 MB last 4 s.
#[test]
fn the_allowance_of_a_terminal_is_used_up_and_the_carrier_is_free_for_others() {
    let allowance = Allowance {
        volume: Bytes(4_500_000),
        window: Span::from_secs(36),
        reduced_rate: Rate::from_bits_per_second(1_500_000),
        used: Bytes(0),
    };
    let limited = Plan { allowance: Some(allowance), ..plan(10_000_000) };
    let forward = forward_to(carrier(Classes::default(), Some(limited)), 1);
    let by_second = |end| saturated(forward.clone(), 1, &[0], end).values().sum::<u64>() as f64;
    assert_near((by_second(4) - by_second(2)) * 8.0 / 2.0, 9.98e6, 5e-3);
    assert_near((by_second(20) - by_second(6)) * 8.0 / 14.0, 1.5e6, 5e-3);
}

/// Delay of a small packet of the first class in a full carrier: that of the frame in the air and
/// of its own. Behind the others it waits for all of them.
#[test]
fn a_strict_class_does_not_wait_for_the_packets_of_others() {
    let frame = 33_282.0 / RATE;
    for (class, most) in [(0, 2.1 * frame), (1, f64::INFINITY)] {
        let mut forward = forward_to(carrier(Classes::Strict(2), None), 4);
        (0..4).for_each(|terminal| {
            (0..300).for_each(|_| forward.offer(Time::ZERO, packet(terminal, 1, 1500)));
        });
        let at = Time::ZERO + Span::from_millis(100);
        while forward.next_event() < at {
            forward.advance();
        }
        let small = Offered { packet: 99, ..packet(0, class, 200) };
        forward.offer(at, small);
        let arrived = loop {
            if let Some(arrived) = forward.advance()
                && arrived.packet == 99
            {
                break arrived;
            }
        };
        let waited = arrived.at.since(at).as_secs_f64() - 0.25;
        assert!(waited <= most, "class {class}: {waited} s");
        assert!(class == 0 || waited > 1.0, "{waited}");
    }
}

#[test]
fn weights_divide_a_full_carrier_among_classes() {
    for share in [Share::Bytes, Share::Symbols] {
        let settings = carrier(Classes::Weighted(vec![3, 1]), None);
        let scheduler = Scheduler::DeficitRoundRobin(share);
        let forward = forward_to(forward::Settings { scheduler, ..settings }, 5);
        let received = saturated(forward, 5, &[0, 1], 31);
        let of = |class| received.iter().filter(move |((_, of), _)| *of == class).map(|one| one.1);
        let (first, second) = (of(0).sum::<u64>(), of(1).sum::<u64>());
        assert_near(first as f64 / second as f64, 3.0, 0.01);
    }
}

/// Three packets of a flow that fills the queue, one of another flow in 50 ms.
#[test]
fn fq_codel_keeps_a_sparse_flow_from_waiting_and_drops_of_the_other() {
    let delays = |aqm: Option<FqCodelSettings>| {
        let settings = forward::Settings { aqm, ..carrier(Classes::default(), None) };
        let mut forward = forward_to(settings, 1);
        let (mut longest, mut sparse, mut at) = (0.0, 0, Time::ZERO);
        while at < Time::ZERO + Span::from_secs(10) {
            at += Span::from_millis(1);
            while forward.next_event() <= at {
                let Some(arrived) = forward.advance() else { continue };
                if arrived.packet != 0 {
                    let sent = Time::from_nanos(u64::from(arrived.packet) * 1_000_000);
                    longest = f64::max(longest, arrived.at.since(sent).as_secs_f64() - 0.25);
                    sparse += 1;
                }
            }
            // 12 Mbit/s into 10.
            forward.offer(at, Offered { flow: 1, ..Offered::new(0, 1500, 0) });
            let millis = at.as_nanos() / 1_000_000;
            if millis.is_multiple_of(50) {
                let stamp = u32::try_from(millis).unwrap();
                forward.offer(at, Offered { flow: 2, ..Offered::new(0, 100, stamp) });
            }
        }
        let counters = *forward.counters().next().unwrap();
        assert!(sparse > 150, "{sparse}");
        (longest, counters.dropped)
    };
    let (managed, dropped) = delays(Some(FqCodelSettings::default()));
    let (tail, _) = delays(None);
    assert!(managed < 0.015 && dropped > 100, "{managed} s, {dropped}");
    // 1 MB at 10 Mbit/s.
    assert!(tail > 0.5, "{tail}");
}

#[test]
fn fq_codel_marks_packets_of_ends_that_use_ecn() {
    let aqm = Some(FqCodelSettings::default());
    let mut forward = forward_to(forward::Settings { aqm, ..carrier(Classes::default(), None) }, 1);
    for number in 0..600 {
        let capable = Offered { ecn: Ecn::Capable, ..Offered::new(0, 1500, number) };
        forward.offer(Time::from_nanos(u64::from(number) * 1_000_000), capable);
    }
    let mut marked = 0;
    while forward.next_event() != Time::NEVER {
        marked += forward.advance().map_or(0, |one| u64::from(one.ecn == Ecn::Marked));
    }
    let counters = *forward.counters().next().unwrap();
    assert!(marked > 0 && counters.dropped == 0);
    assert_eq!(counters.marked, marked);
}

fn channel(classes: Classes, policy: Option<Policy>, plan: Option<Plan>) -> returning::Settings {
    let waveform = BurstLength::Long.waveforms()[1];
    let free = policy.is_none();
    let (constant, access, weight, buffer) = (0, false, 1, 1_000_000);
    let group = returning::Group { waveform, constant, policy, free, access, weight, buffer, plan };
    returning::Settings {
        frame: Span::from_millis(100),
        carriers: 2,
        symbol_rate: 1.25e6 / 1.2 / 1.3,
        bursts: BurstLength::Long,
        delay: Span::from_millis(250),
        control_delay: Span::from_millis(500),
        access: None,
        classes,
        groups: vec![group],
    }
}

/// Bytes from second 10 to 40 by class, if all terminals always have packets of all classes.
fn returned(settings: returning::Settings, terminals: u32) -> Vec<u64> {
    let classes = u8::try_from(settings.classes.len()).unwrap();
    let members = vec![0; terminals as usize];
    let mut back = Returning::new(settings, &members, stream(1, Purpose::Access, 0));
    for terminal in 0..terminals {
        for class in 0..classes {
            (0..100).for_each(|_| back.offer(Time::from_nanos(1), packet(terminal, class, 1500)));
        }
    }
    let mut received = vec![0; usize::from(classes)];
    while back.next_event() < Time::ZERO + Span::from_secs(40) {
        let Some(arrived) = back.advance() else { continue };
        if arrived.at >= Time::ZERO + Span::from_secs(10) {
            received[arrived.packet as usize] += 1500;
        }
        let class = u8::try_from(arrived.packet).unwrap();
        back.offer(arrived.at, packet(arrived.terminal, class, 1500));
    }
    received
}

fn vbdc() -> Policy {
    Policy {
        category: Category::Vbdc,
        period: Span::from_millis(100),
        over_request: 1.0,
        memory: Span::from_millis(500),
        max_rate: 1e6,
        constant: 0.0,
    }
}

#[test]
fn a_plan_limits_what_a_terminal_sends() {
    for policy in [None, Some(vbdc())] {
        let received = returned(channel(Classes::default(), policy, Some(plan(100_000))), 5);
        assert_near(received[0] as f64 * 8.0 / 30.0, 500e3, 0.01);
    }
}

#[test]
fn slots_in_a_shortage_are_those_of_the_first_class_or_follow_the_weights() {
    let strict = returned(channel(Classes::Strict(2), Some(vbdc()), None), 4);
    assert!(strict[0] > 0 && strict[1] == 0, "{strict:?}");
    let weighted = returned(channel(Classes::Weighted(vec![3, 1]), Some(vbdc()), None), 4);
    assert_near(weighted[0] as f64 / weighted[1] as f64, 3.0, 0.05);
}

/// A terminal with calls, and one with bulk data only: the slots are those of the calls.
#[test]
fn requests_of_the_first_class_come_before_those_of_other_terminals() {
    let settings =
        returning::Settings { carriers: 1, ..channel(Classes::Strict(2), Some(vbdc()), None) };
    let mut back = Returning::new(settings, &[0, 0], stream(1, Purpose::Access, 0));
    (0..600).for_each(|_| back.offer(Time::from_nanos(1), packet(1, 1, 1500)));
    let mut delays = Vec::new();
    for call in 0..100_u64 {
        let at = Time::from_nanos(1 + 2_000_000_000 + call * 100_000_000);
        while back.next_event() < at {
            let Some(arrived) = back.advance() else { continue };
            if arrived.terminal == 0 {
                let sent = 2_000_000_001 + u64::from(arrived.packet - 2) * 100_000_000;
                delays.push(arrived.at.since(Time::from_nanos(sent)).as_secs_f64());
            }
        }
        let number = u32::try_from(call).unwrap() + 2;
        back.offer(at, Offered { packet: number, ..packet(0, 0, 100) });
    }
    assert!(delays.len() > 50);
    // Propagation, the wait for a request, the control loop of 5 frames, and a frame.
    assert!(delays.iter().all(|delay| *delay < 0.25 + 0.1 + 0.5 + 0.1), "{delays:?}");
}

proptest! {
    /// Each packet arrives, was dropped, or is lost; nothing waits in the end.
    #[test]
    fn packets_are_conserved(
        packets in prop::collection::vec((0..4_u32, 0..3_u8, 40..1500_u32, 0..20_000_000_u64), 1..300),
        weighted: bool,
        with_plan: bool,
        managed: bool,
        fifo: bool,
    ) {
        let classes =
            if weighted { Classes::Weighted(vec![4, 2, 1]) } else { Classes::Strict(3) };
        let limit = with_plan.then(|| plan(300_000));
        let (aqm, down) = if fifo { (None, None) } else { (managed.then(FqCodelSettings::default), limit) };
        let scheduler = if fifo { Scheduler::Fifo } else { Scheduler::DeficitRoundRobin(Share::Symbols) };
        let settings = carrier(classes.clone(), down);
        let mut forward = forward_to(forward::Settings { aqm, scheduler, buffer: 20_000, ..settings }, 4);
        let settings = channel(classes, Some(vbdc()), limit);
        let mut back = Returning::new(settings, &[0; 4], stream(1, Purpose::Access, 0));
        let (mut now, mut arrived) = (Time::from_nanos(1), [0, 0]);
        for (terminal, class, bytes, pause) in &packets {
            now += Span::from_nanos(*pause);
            while forward.next_event() <= now {
                arrived[0] += u64::from(forward.advance().is_some());
            }
            while back.next_event() <= now {
                arrived[1] += u64::from(back.advance().is_some());
            }
            let offered = Offered { flow: u32::from(*class), ..packet(*terminal, *class, *bytes) };
            forward.offer(now, offered);
            back.offer(now, offered);
        }
        while forward.next_event() != Time::NEVER {
            arrived[0] += u64::from(forward.advance().is_some());
        }
        while back.next_event() != Time::NEVER {
            arrived[1] += u64::from(back.advance().is_some());
        }
        let dropped = [
            forward.counters().map(|one| one.dropped).sum::<u64>(),
            back.counters().map(|one| one.dropped).sum::<u64>(),
        ];
        prop_assert_eq!(forward.waiting_bytes(), 0);
        let all = packets.len() as u64;
        prop_assert_eq!([arrived[0] + dropped[0], arrived[1] + dropped[1]], [all, all]);
    }
}
