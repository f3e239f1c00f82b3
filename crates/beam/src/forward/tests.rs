//! The carrier against the closed forms of its frames and of its capacity.

use std::sync::Arc;

use link::{Acm, Fade, Modem, ModemSettings, Signal};
use units::{Span, Time};

use super::frames::FrameLength;
use super::*;
use crate::capacity;

const RATE: f64 = 125e6 / 1.2;

/// A group at a constant Es/N0 without a margin.
fn group(es_n0: f64) -> Arc<Acm> {
    let modem = Modem::DvbS2(ModemSettings { margin: 0.0, ..ModemSettings::default() });
    let signal = Signal { es_n0, system_temperature: None, fade: Fade::constant(0.0) };
    Arc::new(Acm::new(modem, signal, Span::from_secs(1)))
}

fn settings(scheduler: Scheduler) -> Settings {
    let modcods = Modem::all()[0].modcods();
    let frame = |one| Frame::of(one, FrameLength::Normal, true).unwrap();
    Settings {
        frames: modcods.iter().map(frame).collect(),
        symbol_rate: RATE,
        gse: Gse { label: 3 },
        fragmentation: true,
        hold: Span::from_millis(10),
        dummy_frames: true,
        delay: Span::from_millis(250),
        scheduler,
        classes: Classes::default(),
        buffer: 1_000_000,
        aqm: None,
        plans: vec![None; 3],
    }
}

/// Es/N0 at which QPSK 1/2, 8PSK 2/3 and 16APSK 3/4 are just possible.
const LEVELS: [f64; 3] = [1.0, 6.62, 10.21];

/// Terminals whose groups have a signal each.
fn places(groups: &[usize]) -> Vec<Member> {
    groups.iter().map(|&group| Member { group, signal: group }).collect()
}

/// Bytes that each terminal gets in `seconds`, if all of them always have packets of `bytes`.
fn saturated(settings: Settings, levels: &[f64], members: &[usize], bytes: u32) -> Vec<u64> {
    let groups: Vec<_> = levels.iter().map(|level| group(*level)).collect();
    let mut forward = Forward::new(settings, &groups, &places(members), 1);
    let mut received = vec![0; members.len()];
    let offer = |forward: &mut Forward<()>, now, terminal| {
        forward.offer(now, Offered::new(terminal, bytes, ()));
    };
    for terminal in 0..members.len() {
        // More than a round trip's worth.
        for _ in 0..400 {
            offer(&mut forward, Time::ZERO, terminal as u32);
        }
    }
    let end = Time::ZERO + Span::from_secs(3);
    let start = Time::ZERO + Span::from_secs(1);
    while forward.next_event() < end {
        let Some(arrived) = forward.advance() else { continue };
        if arrived.at >= start {
            received[arrived.terminal as usize] += u64::from(bytes);
        }
        offer(&mut forward, arrived.at, arrived.terminal);
    }
    received
}

fn bits_per_second(bytes: u64) -> f64 {
    bytes as f64 * 8.0 / 2.0
}

/// (D - 10) L / (L + 7) bytes of packets in each frame.
#[test]
fn a_full_carrier_has_the_rate_of_its_closed_form() {
    for (level, expected) in LEVELS.into_iter().zip([99.84e6, 200.3e6, 299.8e6]) {
        let scheduler = Scheduler::DeficitRoundRobin(Share::Bytes);
        let received = saturated(settings(scheduler), &[level], &[0; 30], 1500);
        let rate = bits_per_second(received.iter().sum());
        assert!((rate / expected - 1.0).abs() < 1e-3, "{rate} for {expected}");
    }
}

/// 20 % of the terminals at QPSK 1/2, 50 % at 8PSK 2/3 and 30 % at 16APSK 3/4.
#[test]
fn rain_costs_all_with_equal_rates_and_those_in_it_with_equal_airtime() {
    let members = [0, 0, 1, 1, 1, 1, 1, 2, 2, 2].repeat(5);
    let all = Modem::all()[0].modcods();
    let frames = settings(Scheduler::Fifo).frames;
    let efficiency = |level: f64| {
        let modcod = all.iter().rposition(|one| one.threshold <= level).unwrap();
        frames[modcod].efficiency() * Gse { label: 3 }.share(frames[modcod].bytes, 1500)
    };
    let shares: Vec<_> = [0.2, 0.5, 0.3].into_iter().zip(LEVELS.map(efficiency)).collect();
    let by_bytes = Scheduler::DeficitRoundRobin(Share::Bytes);
    let received = saturated(settings(by_bytes), &LEVELS, &members, 1500);
    let rate = bits_per_second(received.iter().sum());
    let expected = capacity::by_bytes(RATE, &shares);
    assert!((rate / expected - 1.0).abs() < 1e-3, "{rate} for {expected}");
    let mean = received.iter().sum::<u64>() / 50;
    assert!(received.iter().all(|one| one.abs_diff(mean) * 200 < mean), "{received:?}");

    let by_symbols = Scheduler::DeficitRoundRobin(Share::Symbols);
    let received = saturated(settings(by_symbols), &LEVELS, &members, 1500);
    let rate = bits_per_second(received.iter().sum());
    let expected = capacity::by_airtime(RATE, &shares);
    assert!((rate / expected - 1.0).abs() < 2e-3, "{rate} for {expected}");
    for (group, (_, efficiency)) in shares.iter().enumerate() {
        let all: Vec<_> = members.iter().zip(&received).filter(|(one, _)| **one == group).collect();
        let own = bits_per_second(all.iter().map(|(_, bytes)| **bytes).sum::<u64>());
        let expected = RATE / 50.0 * efficiency * all.len() as f64;
        assert!((own / expected - 1.0).abs() < 5e-3, "group {group}: {own} for {expected}");
    }
}

/// Without cuts a frame of 4016 bytes has two packets of 1507 bytes.
#[test]
fn without_fragmentation_frames_have_whole_packets() {
    let settings =
        Settings { fragmentation: false, ..settings(Scheduler::DeficitRoundRobin(Share::Bytes)) };
    let frame = settings.duration(3).as_secs_f64();
    let received = saturated(settings, &LEVELS[..1], &[0; 30], 1500);
    let expected = 2.0 * 1500.0 * 8.0 / frame;
    let rate = bits_per_second(received.iter().sum());
    assert!((rate / expected - 1.0).abs() < 1e-3, "{rate} for {expected}");
}

/// A packet into an idle beam waits for the end of a dummy frame, and then takes a frame.
#[test]
fn a_lone_packet_takes_a_frame_and_the_way() {
    let mut forward = Forward::new(settings(Scheduler::Fifo), &[group(1.0)], &places(&[0]), 1);
    let sent = Time::from_nanos(1_000_000_000);
    forward.offer(sent, Offered::new(0, 40, ()));
    let mut arrived = None;
    while forward.next_event() != Time::NEVER {
        arrived = arrived.or(forward.advance());
    }
    let frame = forward.settings().duration(3);
    let least = Span::from_millis(250) + frame;
    let took = arrived.unwrap().at.since(sent);
    let dummy = Span::from_secs_f64(3330.0 / RATE);
    assert!((least..=least + dummy).contains(&took), "{took}");
    assert_eq!(forward.airtime()[3].padding_bytes, 4016 - 47);
}

/// A packet in a frame that others do not fill is sent after the hold time, even if the carrier has
/// full frames to send all the time.
#[test]
fn a_rare_choice_waits_for_the_hold_time_at_most() {
    let scheduler = Scheduler::DeficitRoundRobin(Share::Bytes);
    let groups = [group(LEVELS[0]), group(LEVELS[2])];
    let mut forward = Forward::new(settings(scheduler), &groups, &places(&[0, 1]), 1);
    for _ in 0..600 {
        forward.offer(Time::ZERO, Offered::new(1, 1500, ()));
    }
    forward.offer(Time::ZERO, Offered::new(0, 100, ()));
    while forward.next_event() != Time::NEVER {
        forward.advance();
    }
    let delay = forward.counters().next().unwrap().delay;
    let hold = Span::from_millis(10);
    assert!((hold..hold + Span::from_millis(1)).contains(&delay), "{delay}");
}

/// A packet longer than a frame takes several: 1500 bytes in short frames of 374.
#[test]
fn a_long_packet_is_cut_into_several_frames() {
    let modcods = Modem::all()[0].modcods();
    let frame = Frame::of(&modcods[0], FrameLength::Short, true).unwrap();
    let mut all = settings(Scheduler::Fifo);
    all.frames[0] = frame;
    let mut forward = Forward::new(all, &[group(-2.0)], &places(&[0]), 1);
    forward.offer(Time::ZERO, Offered::new(0, 1500, ()));
    while forward.next_event() != Time::NEVER {
        forward.advance();
    }
    // 364, then 371 in each of the next three, and 23 in the last.
    assert_eq!(forward.airtime()[0].frames, 5);
    assert_eq!(forward.airtime()[0].used_bytes, 4 * 374 + 23 + 7);
}

#[test]
fn a_full_queue_drops_and_a_fade_loses() {
    let mut forward = Forward::new(
        Settings { buffer: 3000, ..settings(Scheduler::DeficitRoundRobin(Share::Bytes)) },
        // Below the threshold of the most robust choice.
        &[group(-3.0)],
        &places(&[0]),
        1,
    );
    for _ in 0..3 {
        forward.offer(Time::ZERO, Offered::new(0, 1500, ()));
    }
    while forward.next_event() != Time::NEVER {
        assert!(forward.advance().is_none());
    }
    let counters = forward.counters().next().unwrap();
    assert_eq!((counters.dropped, counters.packets, counters.lost), (1, 2, 2));
}

/// 64 trains of 16 packets take the frames of 1024 packets, and count as these. A cut inside of a
/// train costs the 3 bytes of a middle fragment, and one of a packet 10: 7 bytes in 4016.
#[test]
fn a_train_takes_the_frames_of_its_packets() {
    let sent = |trains: u32, packets: u32| {
        let scheduler = Scheduler::DeficitRoundRobin(Share::Bytes);
        let settings = Settings { buffer: 2_000_000, ..settings(scheduler) };
        let mut forward = Forward::new(settings, &[group(LEVELS[0])], &places(&[0]), 1);
        for _ in 0..trains {
            assert!(forward.room(0, 0) >= u64::from(packets) * 1500);
            forward.offer(Time::ZERO, Offered { packets, ..Offered::new(0, packets * 1500, ()) });
        }
        while forward.next_event() != Time::NEVER {
            forward.advance();
        }
        let counters = *forward.counters().next().unwrap();
        let airtime = forward.airtime()[3];
        (counters.packets, counters.bytes, airtime.frames, airtime.used_bytes)
    };
    let (packets, trains) = (sent(1024, 1), sent(64, 16));
    assert_eq!((trains.0, trains.1), (1024, 1_536_000));
    assert_eq!((trains.0, trains.1), (packets.0, packets.1));
    let saved = packets.3 - trains.3;
    assert!(saved <= 7 * packets.2, "{trains:?} and {packets:?}");
    assert!(trains.2.abs_diff(packets.2) <= 1, "{trains:?} and {packets:?}");
}

#[test]
fn a_queue_without_room_drops_all_packets_of_a_train() {
    let scheduler = Scheduler::DeficitRoundRobin(Share::Bytes);
    let settings = Settings { buffer: 20_000, ..settings(scheduler) };
    let mut forward = Forward::new(settings, &[group(LEVELS[0])], &places(&[0]), 1);
    forward.offer(Time::ZERO, Offered { packets: 16, ..Offered::new(0, 24_000, ()) });
    assert_eq!(forward.counters().next().unwrap().dropped, 16);
    assert_eq!(forward.room(0, 0), 20_000);
}
