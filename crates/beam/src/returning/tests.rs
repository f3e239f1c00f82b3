//! The return channel against closed forms of its delays and shares.

use link::{DemandSettings, Purpose, stream};
use units::Rate;

use crate::classes::Classes;

use super::requests::{Category, Policy};
use super::waveforms::BurstLength;
use super::*;

const FRAME: Span = Span::from_millis(100);
const LOOP: Span = Span::from_millis(800);

fn policy(category: Category, over_request: f64) -> Policy {
    Policy {
        category,
        period: FRAME,
        over_request,
        memory: Span::from_millis(900),
        max_rate: 9.216e6,
        constant: 0.0,
    }
}

fn group(policy: Option<Policy>, free: bool, constant: u64) -> Group {
    let waveform = BurstLength::Short.waveforms()[0];
    let (access, weight, buffer, plan) = (false, 1, 1_000_000, None);
    Group { waveform, constant, policy, free, access, weight, buffer, plan }
}

/// Carriers of 1.25 MHz as those of SNS3: 801,282 baud, 149 short slots in a frame of 100 ms.
fn settings(carriers: u32, group: Group) -> Settings {
    Settings {
        frame: FRAME,
        carriers,
        symbol_rate: 1.25e6 / 1.2 / 1.3,
        bursts: BurstLength::Short,
        delay: Span::from_millis(250),
        control_delay: LOOP,
        access: None,
        classes: Classes::default(),
        groups: vec![group],
    }
}

fn channel_of<P>(settings: Settings, members: &[usize]) -> Returning<P> {
    Returning::new(settings, members, stream(1, Purpose::Access, 0))
}

fn drain(channel: &mut Returning<()>) -> Vec<Arrived<()>> {
    let mut arrived = Vec::new();
    while channel.next_event() != Time::NEVER {
        arrived.extend(channel.advance());
    }
    arrived
}

/// Mean, shortest and longest delay in seconds of packets of `bytes` into an idle terminal, over
/// their place in a second; propagation is left out.
fn lone(settings: &Settings, members: usize, bytes: u32) -> [f64; 3] {
    let mut delays = Vec::new();
    for number in 0..2000_u64 {
        let mut channel = channel_of(settings.clone(), &vec![0; members]);
        // Places and terminals that have nothing to do with each other.
        let [place, terminal] = [7_046_029_254_386_353_087_u64, 2_654_435_769]
            .map(|odd: u64| (number + 1).wrapping_mul(odd) >> 20);
        let at = Time::from_nanos(3_000_000_001 + place % 1_000_000_000);
        let terminal = (terminal % members as u64) as u32;
        channel.offer(at, Offered::new(terminal, bytes, ()));
        let arrived = drain(&mut channel);
        assert_eq!(arrived.len(), 1);
        delays.push(arrived[0].at.since(at).as_secs_f64() - settings.delay.as_secs_f64());
    }
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    [mean, delays.iter().copied().fold(9e9, f64::min), delays.iter().copied().fold(0.0, f64::max)]
}

fn assert_near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} for {expected}");
}

#[test]
fn carriers_have_the_slots_of_sns3() {
    assert_eq!(settings(10, group(None, true, 0)).slots_of_carrier(), 149);
    let long = Settings { bursts: BurstLength::Long, ..settings(1, group(None, true, 0)) };
    assert_eq!(long.slots_of_carrier(), 49);
}

/// F/2 + D + n s on average, between D + n s and F + D + n s.
#[test]
fn a_lone_packet_waits_for_a_frame_and_the_control_loop() {
    for (bytes, slots) in [(40, 2.0), (1500, 43.0)] {
        let settings = settings(1, group(Some(policy(Category::Vbdc, 1.0)), false, 0));
        let [mean, least, most] = lone(&settings, 1, bytes);
        assert_near(mean, settings.lone_delay(0, &[1], bytes), 0.005);
        let rest = LOOP.as_secs_f64() + slots * settings.slot().as_secs_f64();
        assert_near(mean, 0.05 + rest, 0.005);
        assert!(least > rest && most < 0.1 + rest, "{least} to {most}");
    }
}

/// The model of one terminal on a link is another one, and has the same delay where their rules
/// meet: lone packets, with as many slots of as many bytes.
#[test]
fn a_lone_packet_waits_as_with_demand_assignment_of_a_link() {
    let of_beam = settings(1, group(Some(policy(Category::Vbdc, 1.0)), false, 0));
    let slots = of_beam.slots_of_carrier();
    let rate = Rate::from_bits_per_second(35 * u64::from(slots) * 8 * 10);
    let (cra, vbdc, fca) = (0, true, 0);
    let control_delay = LOOP;
    let of_link = DemandSettings { frame: FRAME, slots, cra, vbdc, fca, control_delay, rate };
    assert_eq!(of_link.slot_bytes(rate), 35);
    for bytes in [30, 1500] {
        let [mean, least, most] = lone(&of_beam, 1, bytes);
        let [expected, shortest, longest] = of_link.sparse_delay(bytes);
        assert_near(mean, expected, 0.002);
        assert_near(least, shortest, 0.002);
        assert_near(most, longest, 0.002);
    }
}

/// N/S F/2 + s if there are more terminals than slots. With two slots for each, both may be at the
/// same instant, on two carriers.
#[test]
fn free_capacity_goes_round() {
    for (carriers, members, expected) in [(10, 1490, 0.05), (1, 1490, 0.5), (10, 745, 0.05)] {
        let settings = settings(carriers, group(None, true, 0));
        let [mean, _, _] = lone(&settings, members, 30);
        let slot = settings.slot().as_secs_f64();
        assert_near(mean, expected + slot, 0.05);
        assert_near(settings.lone_delay(0, &[members as u64], 30), mean, 0.05);
    }
}

/// Several slots of a terminal in a frame: about F/2k + s, and more where they lie together.
#[test]
fn slots_without_requests_that_a_terminal_has_several_of_are_waited_for_in_turn() {
    for (carriers, members, constant, free) in [
        (2, 4, 0, true),
        (1, 1, 0, true),
        (1, 7, 0, true),
        (2, 4, 100_000, false),
        (1, 2, 30_000, false),
    ] {
        let settings = settings(carriers, group(None, free, constant));
        for bytes in [30, 1500] {
            let [mean, _, _] = lone(&settings, members, bytes);
            let expected = settings.lone_delay(0, &[members as u64], bytes);
            assert_near(expected, mean, 0.05);
        }
    }
}

#[test]
fn constant_assignment_carries_its_rate() {
    // 64 kbit/s are 22.9 slots of 35 bytes in a frame, for each of 5 terminals.
    let settings = settings(1, group(None, false, 64_000));
    let mut channel = channel_of(settings, &[0; 5]);
    for _ in 0..600 {
        channel.offer(Time::from_nanos(1), Offered::new(3, 1500, ()));
    }
    let end = Time::ZERO + Span::from_secs(40);
    let mut bytes = 0;
    while channel.next_event() < end {
        bytes += channel.advance().map_or(0, |_| 1500);
    }
    assert_near(f64::from(bytes) * 8.0 / 39.75, 64e3, 0.01);
    let slots = channel.slots(end);
    assert_near(slots.constant as f64, 5.0 * 22.857 * 400.0, 0.001);
    assert_near(slots.constant_used as f64, 22.857 * 400.0, 0.01);
}

/// A terminal with a constant bit rate: what waits after `seconds`, as the time of its arrival, and
/// the slots.
fn constant_bit_rate(policy: Policy, seconds: u64) -> (f64, SlotCounters) {
    let mut channel = channel_of(settings(4, group(Some(policy), false, 0)), &[0]);
    // 128 kbit/s with the headers of the encapsulation. A packet fills a burst.
    let interval = Span::from_nanos(35 * 8 * 1_000_000_000 / 128_000);
    let mut next = Time::from_nanos(50_000_000);
    let end = Time::ZERO + Span::from_secs(seconds);
    while next < end {
        if next <= channel.next_event() {
            channel.offer(next, Offered::new(0, 33, ()));
            next += interval;
        } else {
            channel.advance();
        }
    }
    let waiting = channel.terminals[0].lines.queue(0).bytes as f64 * 8.0 / 128e3;
    (waiting, channel.slots(end))
}

/// Each byte waits for the slots that were requested when it arrived. The queue holds the delay of
/// the loop, half a frame for the request and what of a frame is left.
#[test]
fn exact_rates_keep_a_standing_queue_of_the_loop() {
    let (waiting, _) = constant_bit_rate(policy(Category::Rbdc, 1.0), 60);
    assert!((0.8..1.0).contains(&waiting), "{waiting} s");
}

/// 1 - 1/g of what the slots can carry is empty, and the queue is that of one frame.
#[test]
fn over_requests_leave_slots_empty() {
    for over_request in [1.1, 1.25] {
        let (waiting, slots) = constant_bit_rate(policy(Category::Rbdc, over_request), 600);
        // The first requests have no effect before 0.8 s.
        let carried = 128e3 * (600.0 - 0.8) / f64::from(8 * (38 - 1 - 2));
        // Rounded up to whole slots: half a slot of 45 in a frame.
        let rounding = (600.0 - 0.8) * 10.0 * 0.5;
        let assigned = slots.rate as f64 - rounding;
        let (empty, expected) = (1.0 - carried / assigned, 1.0 - 1.0 / over_request);
        assert!((empty - expected).abs() < 0.005, "{empty} for {expected}");
        assert!(waiting < 0.15, "{waiting} s");
    }
}

/// Backlogged terminals with requests: all slots are in use, and shares are equal.
#[test]
fn a_full_channel_is_shared_equally() {
    for category in [Category::Rbdc, Category::Vbdc, Category::Avbdc] {
        let settings = settings(2, group(Some(policy(category, 1.0)), true, 0));
        let mut channel = channel_of(settings, &[0; 7]);
        for terminal in 0..7 {
            for _ in 0..400 {
                channel.offer(Time::from_nanos(1), Offered::new(terminal, 1500, ()));
            }
        }
        let end = Time::ZERO + Span::from_secs(21);
        let mut bytes = [0_u64; 7];
        while channel.next_event() < end {
            if let Some(arrived) = channel.advance() {
                bytes[arrived.terminal as usize] += 1500;
                channel.offer(arrived.at, Offered::new(arrived.terminal, 1500, ()));
            }
        }
        let slots = channel.slots(end);
        let used = slots.rate_used + slots.volume_used + slots.free_used;
        assert!(used as f64 > 0.97 * slots.all as f64, "{category:?}: {used} of {}", slots.all);
        let mean = bytes.iter().sum::<u64>() / 7;
        assert!(bytes.iter().all(|one| one.abs_diff(mean) * 50 < mean), "{category:?}: {bytes:?}");
    }
}

/// TN9 of SNS3: 220 terminals send 1280 bytes every 0.64 s, which is 79.7 % of the bits of the
/// channel and 88 % of its bursts. Here all carriers are alike: 20 of half the width, 1480 slots.
#[test]
fn the_load_of_tn9_is_carried() {
    let settings = Settings {
        symbol_rate: 1.25e6 / 2.0 / 1.2 / 1.3,
        ..settings(20, group(Some(policy(Category::Rbdc, 1.0)), false, 0))
    };
    assert_eq!(settings.slots(), 1480);
    let bits = 220.0 * 1308.0 * 8.0 / 0.64;
    assert_near(bits / (1484.0 * 10.0 * 38.0 * 8.0), 0.797, 0.001);
    let mut channel = channel_of(settings, &[0; 220]);
    let interval = Span::from_millis(640);
    let end = Time::ZERO + Span::from_secs(60);
    let mut next: VecDeque<_> =
        (0..220_u32).map(|one| (Time::from_nanos(1 + u64::from(one) * 2_909_090), one)).collect();
    while let Some(&(at, terminal)) = next.front()
        && at < end
    {
        if at <= channel.next_event() {
            next.pop_front();
            channel.offer(at, Offered::new(terminal, 1308, ()));
            next.push_back((at + interval, terminal));
        } else {
            channel.advance();
        }
    }
    let slots = channel.slots(end);
    // The first requests have no effect before 0.8 s.
    let expected = 220.0 * 38.0 / 0.64 * 59.1;
    assert_near(slots.rate_used as f64, expected, 0.02);
    assert_near(expected / 59.1 / (1484.0 * 10.0), 0.88, 0.001);
}

// ---------------------------------------------------------------------------------- random access

use crate::access::{self, Retries, Scheme};

const RETRIES: Retries = Retries { timeout: 7, window: 4, doublings: 3, most: 8 };

/// A channel with random access of `slots` slots in a frame, and requests of volumes or none.
fn at_random(slots: u32, scheme: Scheme, requests: bool) -> Settings {
    let policy = requests.then(|| policy(Category::Vbdc, 1.0));
    // 16QAM 5/6 with 599 bytes.
    let waveform = BurstLength::Long.waveforms()[9];
    let group = Group { access: true, waveform, ..group(policy, false, 0) };
    let access = access::Settings { scheme, slots, retries: RETRIES, load: None, packets: true };
    Settings { access: Some(access), bursts: BurstLength::Long, ..settings(1, group) }
}

const CRDSA: Scheme = Scheme::Crdsa { replicas: 3, iterations: 16 };

/// Ten datagrams that fit into one burst are there after half a frame on average and the frame.
/// With requests they wait for the control loop: at least 500 ms more.
#[test]
fn the_first_datagrams_arrive_sooner_at_random() {
    let mean_of_last = |settings: &Settings| {
        let arrivals = (0..500_u64).map(|number| {
            let mut channel = channel_of(settings.clone(), &[0; 5]);
            let place = number.wrapping_mul(7_046_029_254_386_353_087) >> 20;
            let at = Time::from_nanos(2_000_000_001 + place % 1_000_000_000);
            (0..10).for_each(|_| channel.offer(at, Offered::new(2, 48, ())));
            let arrived = drain(&mut channel);
            assert_eq!(arrived.len(), 10);
            arrived[9].at.since(at).as_secs_f64() - settings.delay.as_secs_f64()
        });
        arrivals.sum::<f64>() / 500.0
    };
    let random = mean_of_last(&at_random(49, CRDSA, true));
    let mut requested = at_random(49, CRDSA, true);
    requested.groups[0].access = false;
    let requested = mean_of_last(&requested);
    assert_near(random, 0.15, 0.02);
    let settings = at_random(49, CRDSA, true);
    assert_near(settings.lone_delay(0, &[1], 48), 0.15, 1e-9);
    assert!(requested - random > 0.5, "{requested} against {random}");
}

/// Packets of all terminals at once, most of which collide: they are repeated or requested, and all
/// arrive once and in their order.
#[test]
fn collisions_delay_packets_and_lose_none() {
    for scheme in [Scheme::SlottedAloha, Scheme::Dsa { replicas: 2 }, CRDSA] {
        let mut channel = channel_of(at_random(20, scheme, true), &[0; 60]);
        let at = Time::ZERO + Span::from_millis(250);
        for packet in 0..12_u32 {
            (0..60).for_each(|terminal| channel.offer(at, Offered::new(terminal, 400, packet)));
        }
        let mut next = [0; 60];
        while channel.next_event() != Time::NEVER {
            if let Some(arrived) = channel.advance() {
                let known = &mut next[arrived.terminal as usize];
                assert_eq!(arrived.packet, *known);
                *known += 1;
            }
        }
        assert_eq!(next, [12; 60], "{scheme:?}");
        let slots = channel.slots(Time::ZERO + Span::from_secs(60));
        assert!(slots.random > slots.random_decoded && slots.random_decoded > 0, "{slots:?}");
        assert!(channel.counters().all(|one| one.lost == 0));
    }
}

#[test]
fn a_group_with_nothing_but_random_access_drops_what_it_gives_up() {
    let mut settings = at_random(4, Scheme::SlottedAloha, false);
    if let Some(access) = &mut settings.access {
        access.retries.most = 2;
    }
    let mut channel = channel_of(settings, &[0; 40]);
    for terminal in 0..40 {
        (0..5).for_each(|_| channel.offer(Time::from_nanos(1), Offered::new(terminal, 100, ())));
    }
    let arrived = drain(&mut channel).len() as u64;
    let lost: u64 = channel.counters().map(|one| one.lost).sum();
    assert_eq!(arrived + lost, 200);
    assert_eq!(channel.slots(Time::ZERO).random_given_up, lost);
    assert!(arrived > 0 && lost > 0, "{arrived} arrived, {lost} lost");
}

#[test]
fn terminals_with_slots_do_not_contend() {
    let mut settings = at_random(20, CRDSA, true);
    settings.groups[0].free = true;
    let mut channel = channel_of(settings, &[0; 3]);
    (0..3)
        .for_each(|terminal| channel.offer(Time::from_nanos(1), Offered::new(terminal, 1500, ())));
    assert_eq!(drain(&mut channel).len(), 3);
    assert_eq!(channel.slots(Time::ZERO).random, 0);
}

/// Random access that carries requests only: a lone packet waits half a frame, the frame of its
/// request, the control loop and its slots.
#[test]
fn requests_at_random_take_a_frame_more_than_control_slots() {
    let mut settings = at_random(20, CRDSA, true);
    if let Some(access) = &mut settings.access {
        access.packets = false;
    }
    let [mean, _, _] = lone(&settings, 4, 1500);
    let sending = 3.0 * settings.slot().as_secs_f64();
    assert_near(mean, 0.05 + 0.1 + LOOP.as_secs_f64() + sending, 0.01);
    assert_near(settings.lone_delay(0, &[4], 1500), mean, 0.01);
}

/// The gateway's control of the load keeps an overloaded channel near its target.
#[test]
fn a_control_of_the_load_carries_more_in_overload() {
    let decoded = |load| {
        let mut settings = at_random(40, CRDSA, false);
        if let Some(access) = &mut settings.access {
            access.load = load;
            access.retries = Retries { window: 2, doublings: 0, most: 1000, ..RETRIES };
        }
        let mut channel = channel_of(settings, &[0; 600]);
        let end = Time::ZERO + Span::from_secs(60);
        for terminal in 0..600 {
            (0..400)
                .for_each(|_| channel.offer(Time::from_nanos(1), Offered::new(terminal, 500, ())));
        }
        let mut arrived = 0_u32;
        while channel.next_event() < end {
            arrived += u32::from(channel.advance().is_some());
        }
        f64::from(arrived) / (40.0 * 600.0)
    };
    let (without, with) = (decoded(None), decoded(Some(0.5)));
    assert!(without < 0.1, "{without}");
    assert!(with > 0.4, "{with}");
}

/// A train of 40 ACKs takes the bursts of 40 ACKs.
#[test]
fn a_train_takes_the_bursts_of_its_packets() {
    let bursts = |packets: u32| {
        let bytes = 52 * packets;
        let waiting = Waiting::new(Offered { packets, ..Offered::new(0, bytes, ()) }, Time::ZERO);
        rle::bursts(188, [waiting.with_headers(rle::WHOLE)], 0)
    };
    assert_eq!(bursts(1), 1);
    let apart = rle::bursts(188, [52; 40], 0);
    assert!(bursts(40).abs_diff(apart) <= 1, "{} and {apart}", bursts(40));
}
