//! SCPS-TP: SNACK, embargoes, the answers to the causes of losses, and ACKs.

use std::sync::Arc;

use congestion::{Controller, Ecn, Specification};
use tcp::{
    AckTiming, Cause, Config, Connection, DelayedAck, Phase, Recovery, Scps, Segment, SnackForm,
};
use transport::Endpoint;
use units::Bytes;

use crate::wire::{A, B, Fate, MSS, Sent, Wire, at, config, ms};

pub(crate) fn scps(route: Scps) -> Config {
    let mut config = Config { recovery: Recovery::Snack, scps: Some(route), ..config() };
    config.limited_transmit = false;
    config.initial_window = 10;
    config.rto.min = ms(250);
    config
}

pub(crate) fn corruption() -> Scps {
    Scps { cause: Cause::Corruption, ..Scps::default() }
}

/// Both forms of the option with both causes.
pub(crate) fn routes() -> impl Iterator<Item = Scps> {
    [SnackForm::Simple, SnackForm::Vector].into_iter().flat_map(|snack| {
        [Cause::Congestion, Cause::Corruption].map(|cause| Scps { snack, cause, ..Scps::default() })
    })
}

/// The segment that begins `place` segments behind the first byte of A's data.
pub(crate) fn is_data_at(sent: &Sent, place: u64) -> bool {
    sent.by == A && sent.is_data() && u64::from(sent.segment.sequence) == 1_001 + place * MSS
}

pub(crate) fn timeouts(wire: &Wire) -> u32 {
    wire.ends[A].counters().timeouts
}

#[test]
fn a_reported_hole_is_repaired_at_once_and_without_a_timeout() {
    for route in routes() {
        let mut wire =
            Wire::new(&scps(route)).losing(|sent| is_data_at(sent, 2) && sent.nth == 3).open();
        wire.write(A, 10 * MSS);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 10 * MSS);
        assert_eq!((timeouts(&wire), wire.ends[A].info().retransmissions), (0, 1), "{route:?}");
        let report = wire.sent(B, |sent| sent.segment.snack().is_some()).next().unwrap();
        let snack = report.segment.snack().unwrap();
        assert_eq!((snack.offset, snack.size), (0, 1));
        let repairs = wire.times(A, |sent| is_data_at(sent, 2));
        assert_eq!(repairs[1], report.at.as_nanos() / 1_000_000 + 50, "no third duplicate");
    }
}

/// All holes of a window are repaired in the same round trip.
#[test]
fn several_holes_of_a_window_need_no_timeout() {
    for snack in [SnackForm::Simple, SnackForm::Vector] {
        let route = Scps { snack, ..corruption() };
        let lost =
            |sent: &Sent| sent.nth <= 20 && [2, 5, 6, 11].iter().any(|p| is_data_at(sent, *p));
        let mut wire = Wire::new(&Config { initial_window: 20, ..scps(route) }).losing(lost).open();
        wire.write(A, 60 * MSS);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 60 * MSS);
        assert_eq!((timeouts(&wire), wire.ends[A].info().retransmissions), (0, 4), "{snack:?}");
    }
}

/// The repair of what was reported does not wait for cwnd, and cwnd is no larger for it.
#[test]
fn a_hole_that_is_larger_than_the_window_is_repaired_at_once() {
    for snack in [SnackForm::Simple, SnackForm::Vector] {
        let route = Scps { snack, ..Scps::default() };
        let lost = |sent: &Sent| sent.nth <= 20 && (2..17).any(|place| is_data_at(sent, place));
        let mut wire = Wire::new(&Config { initial_window: 20, ..scps(route) }).losing(lost).open();
        wire.write(A, 60 * MSS);
        while wire.ends[A].info().retransmissions == 0 {
            wire.run_for(ms(1));
        }
        let info = wire.ends[A].info();
        assert_eq!(info.retransmissions, 15, "{snack:?}");
        assert!(info.cwnd < 11 * MSS, "{snack:?}: {}", info.cwnd);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 60 * MSS);
        assert_eq!((timeouts(&wire), wire.ends[A].info().retransmissions), (0, 15), "{snack:?}");
    }
}

/// New segments that leave in the next recovery.
fn sent_in_recovery(wire: &mut Wire) -> u64 {
    let (recoveries, repaired) = (wire.ends[A].counters().fast_recoveries, retransmissions(wire));
    while wire.ends[A].counters().fast_recoveries == recoveries {
        wire.run_for(ms(1));
    }
    let sent = |wire: &Wire| wire.ends[A].counters().segments - retransmissions(wire);
    let before = sent(wire);
    while wire.ends[A].info().phase == Phase::FastRecovery {
        wire.run_for(ms(1));
    }
    assert!(retransmissions(wire) > repaired);
    sent(wire) - before
}

pub(crate) fn retransmissions(wire: &Wire) -> u64 {
    wire.ends[A].info().retransmissions
}

/// Each shows that a segment has left the network. With the half of the flight nothing leaves.
#[test]
fn after_a_loss_by_congestion_the_later_half_of_the_duplicate_acks_lets_new_data_leave() {
    for snack in [SnackForm::Simple, SnackForm::Vector] {
        let route = Scps { snack, ack_floor: ms(0), ..Scps::default() };
        let mut places = vec![2, 40];
        let mut wire = Wire::new(&Config { initial_window: 20, ..scps(route) })
            .scripted(move |sent| {
                let lost = places.iter().position(|place| is_data_at(sent, *place));
                lost.map(|lost| places.remove(lost)).map_or(Fate::Arrives, |_| Fate::Lost)
            })
            .open();
        wire.write(A, 120 * MSS);
        // What was added in the first recovery is not there in the second one.
        let found = [(); 2].map(|()| sent_in_recovery(&mut wire));
        assert_eq!(found, [9, 4], "{snack:?}");
        wire.run();
        assert_eq!((timeouts(&wire), retransmissions(&wire)), (0, 2), "{snack:?}");
    }
}

/// An ACK of a part of the flight takes back what duplicate ACKs have added.
#[test]
fn an_ack_of_a_part_takes_back_what_duplicate_acks_have_added() {
    for snack in [SnackForm::Simple, SnackForm::Vector] {
        let route = Scps { snack, ack_floor: ms(0), ..Scps::default() };
        let lost = |sent: &Sent| sent.nth <= 20 && [2, 18].iter().any(|p| is_data_at(sent, *p));
        let mut wire = Wire::new(&Config { initial_window: 20, ..scps(route) }).losing(lost).open();
        wire.write(A, 120 * MSS);
        assert_eq!(sent_in_recovery(&mut wire), 9, "{snack:?}");
    }
}

/// A hole and the end of what was outstanding are lost, and only the hole is reported.
#[test]
fn what_no_report_shows_after_a_timeout_is_repaired_without_another_one() {
    for route in routes() {
        let mut wire = Wire::established(&Config { initial_window: 10, ..scps(route) });
        let from = wire.now;
        wire = wire.scripted({
            let mut segments = 0;
            move |sent| {
                segments += u32::from(sent.by == A && sent.is_data());
                let is_first = segments <= 10 && sent.by == A;
                let is_lost = is_first && [3, 9, 10].contains(&segments);
                let is_silent = sent.by == B && sent.at < from + ms(350);
                if is_lost || is_silent { Fate::Lost } else { Fate::Arrives }
            }
        });
        wire.write(A, 10 * MSS);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 10 * MSS);
        assert_eq!(timeouts(&wire), 1, "{route:?}");
    }
}

/// A writes a segment every 8 ms: what the token bucket of a host makes of its data.
fn write_steadily(wire: &mut Wire, segments: u64) {
    for _ in 0..segments {
        wire.write(A, MSS);
        wire.run_for(ms(8));
    }
    wire.run();
}

/// The timer expires because ACKs are lost or late. What was on its way then is not taken for lost.
#[test]
fn a_needless_timeout_retransmits_one_segment() {
    for timestamps in [true, false] {
        let mut most = 0;
        for silence in (200..=700).step_by(10) {
            let mut config = scps(corruption());
            (config.timestamps, config.initial_window) = (timestamps, 200);
            let mut wire = Wire::established(&config).scripted(move |sent| {
                let is_silent = (2000..2000 + silence).contains(&(sent.at.as_nanos() / 1_000_000));
                if sent.by == B && is_silent { Fate::Lost } else { Fate::Arrives }
            });
            write_steadily(&mut wire, 800);
            assert_eq!(wire.ends[B].delivered(), 800 * MSS);
            let timeouts = timeouts(&wire);
            most = most.max(timeouts);
            let retransmissions = wire.ends[A].info().retransmissions;
            assert_eq!(retransmissions, u64::from(timeouts), "{timestamps}, {silence} ms");
        }
        assert!(most >= 1, "a test without a timeout");
    }
}

/// The embargo of the first hole is a smoothed RTT, and doubles.
#[test]
fn a_hole_is_not_retransmitted_again_before_its_embargo_ends() {
    let route = Scps { ack_floor: ms(0), ..corruption() };
    let mut config = Config { initial_window: 60, ..scps(route) };
    // The timer does not expire before.
    config.rto.granularity = ms(500);
    let mut wire = Wire::new(&config)
        .scripted({
            let mut copies = 0;
            move |sent| {
                copies += usize::from(is_data_at(sent, 3));
                if is_data_at(sent, 3) && copies <= 3 { Fate::Lost } else { Fate::Arrives }
            }
        })
        .open();
    // Data arrives all the time, and with it reports.
    for _ in 0..100 {
        wire.write(A, MSS);
        wire.run_for(ms(20));
    }
    wire.run();
    assert_eq!(wire.ends[B].delivered(), 100 * MSS);
    assert_eq!(timeouts(&wire), 0);
    let times = wire.times(A, |sent| is_data_at(sent, 3));
    // The lower bound of the RTO bounds the embargo too.
    let [_, first, second, third] = times[..] else { panic!("{times:?}") };
    assert!((250..300).contains(&(second - first)), "{times:?}");
    assert!((500..550).contains(&(third - second)), "{times:?}");
}

/// Losses by corruption leave the window, also when nothing is reported and the timer expires.
#[test]
fn the_cause_of_losses_decides_about_the_window_and_the_timer() {
    for (cause, keeps) in [(Cause::Corruption, true), (Cause::Congestion, false)] {
        let route = Scps { cause, ..Scps::default() };
        let mut wire = Wire::established(&Config { idle_restart: false, ..scps(route) });
        wire.write(A, 40 * MSS);
        wire.run();
        let before = wire.ends[A].info();
        // The second of these is lost, and reported.
        let mut count = 0;
        wire = wire.scripted(move |sent| {
            count += usize::from(sent.by == A && sent.is_data());
            if sent.by == A && sent.is_data() && count == 2 { Fate::Lost } else { Fate::Arrives }
        });
        wire.write(A, 10 * MSS);
        wire.run();
        let after = wire.ends[A].info();
        assert_eq!(after.ssthresh == before.ssthresh, keeps, "{cause:?}");
        assert_eq!(after.cwnd >= before.cwnd, keeps, "{cause:?}");
        // Everything is lost for 3 s: nothing is reported.
        let from = wire.now;
        wire = wire.scripted(
            move |sent| {
                if sent.at < from + ms(3000) { Fate::Lost } else { Fate::Arrives }
            },
        );
        let before = wire.ends[A].info();
        wire.write(A, 10 * MSS);
        wire.run_for(ms(2900));
        let during = wire.ends[A].info();
        assert!(timeouts(&wire) >= 2);
        assert_eq!(during.cwnd == before.cwnd, keeps, "{cause:?}");
        assert_eq!(during.rto == before.rto, keeps, "{cause:?}");
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 60 * MSS);
    }
}

/// ECN shows congestion on every route (the matrix of answers in the manual of the implementation).
#[test]
fn a_mark_reduces_the_window_whatever_the_cause_of_losses_is() {
    for route in routes() {
        let mut wire = Wire::new(&Config { ecn: Ecn::Classic, ..scps(route) })
            .scripted(|sent| match sent.by == A && sent.is_data() && sent.nth == 3 {
                true => Fate::Marked,
                false => Fate::Arrives,
            })
            .open();
        wire.write(A, 30 * MSS);
        wire.run();
        let info = wire.ends[A].info();
        assert!(info.ssthresh < 11 * MSS, "{route:?}: {}", info.ssthresh);
        assert_eq!((timeouts(&wire), info.retransmissions), (0, 0));
    }
}

/// The first flight of a controller with this configuration. Of its segments the third is marked
/// and the seventh is lost, if so.
fn flight(controller: &str, config: &Config, is_marked: bool, is_lossy: bool) -> Wire {
    let ends = [1, 2].map(|initial_sequence| {
        let settings = config.controller();
        let controller = Specification::named(controller).unwrap().build(&settings);
        Connection::new(Arc::new(config.clone()), controller, initial_sequence)
    });
    let mut wire = Wire::of(ends).open();
    let mut segments = 0;
    wire = wire.scripted(move |sent| {
        let is_ordinary = sent.is_data() && !sent.segment.is_low_priority();
        segments += u32::from(is_ordinary);
        match segments {
            3 if is_ordinary && is_marked => Fate::Marked,
            7 if is_ordinary && is_lossy => Fate::Lost,
            _ => Fate::Arrives,
        }
    });
    wire.write(A, 1000 * MSS);
    wire
}

/// Controllers without a slow start threshold.
const WITHOUT_SSTHRESH: [&str; 8] =
    ["allegro", "bbr", "bbr3", "copa", "copa2", "leocc", "leocc-live", "vivace"];

/// On a route whose losses are corruption, a mark has the answer of each controller over TCP, and a
/// loss in the same flight adds nothing to it.
#[test]
fn every_controller_answers_marks_on_a_route_with_corruption() {
    for entry in congestion::entries() {
        let route = Scps { ack_floor: ms(0), ..corruption() };
        let over_scps = Config { ecn: Ecn::Classic, ..scps(route) };
        let over_tcp = Config { recovery: Recovery::Sack, scps: None, ..over_scps.clone() };
        let ssthresh = |wire: &Wire| wire.ends[A].controller().window().ssthresh;
        let mut over_tcp = flight(entry.name, &over_tcp, true, false);
        let [mut marked, mut both] =
            [false, true].map(|is_lossy| flight(entry.name, &over_scps, true, is_lossy));
        let mut lossy = flight(entry.name, &over_scps, false, true);
        let mut clean = flight(entry.name, &over_scps, false, false);
        while [&both, &lossy].iter().any(|wire| wire.ends[A].info().retransmissions == 0) {
            for wire in [&mut over_tcp, &mut marked, &mut both, &mut lossy, &mut clean] {
                wire.run_for(ms(10));
            }
            assert!(both.now < at(2_000), "{}", entry.name);
        }
        assert_eq!(ssthresh(&marked), ssthresh(&over_tcp), "{}", entry.name);
        assert_eq!(ssthresh(&both), ssthresh(&marked), "{}", entry.name);
        assert_eq!(ssthresh(&lossy), ssthresh(&clean), "{}", entry.name);
        let has_ssthresh = !WITHOUT_SSTHRESH.contains(&entry.name);
        assert_eq!(ssthresh(&marked) < ssthresh(&clean), has_ssthresh, "{}", entry.name);
    }
}

/// The reader stops with a hole in what has arrived: probes, and all data in the end.
#[test]
fn a_window_that_closes_is_probed() {
    for route in routes() {
        let config = Config {
            receive_buffer: Bytes(8 * MSS),
            reads_at_once: false,
            persist_timeout: ms(500),
            ..scps(route)
        };
        let mut wire =
            Wire::new(&config).losing(|sent| is_data_at(sent, 3) && sent.nth == 4).open();
        wire.write(A, 30 * MSS);
        wire.run_for(ms(20_000));
        assert_eq!(wire.ends[A].info().acknowledged, 8 * MSS, "{route:?}");
        assert!(wire.ends[A].info().advertised == 0);
        for _ in 0..40 {
            wire.read(B, MSS);
            wire.run_for(ms(3000));
        }
        assert_eq!(wire.ends[B].delivered(), 30 * MSS, "{route:?}");
    }
}

/// Without the option of capabilities in both SYNs nothing is reported.
#[test]
fn a_feature_is_used_only_if_both_ends_offer_it() {
    for (a, b) in [(scps(corruption()), config()), (config(), scps(corruption()))] {
        let mut wire =
            Wire::between(&a, &b).losing(|sent| is_data_at(sent, 2) && sent.nth == 3).open();
        wire.write(A, 20 * MSS);
        wire.close(A);
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 20 * MSS);
        assert!(wire.log.iter().all(|sent| sent.segment.snack().is_none()));
    }
}

/// The floor bounds the ACKs of data that comes steadily, whatever the frequency of delayed ACKs
/// is.
#[test]
fn acks_keep_their_distance() {
    for floor in [0, 50, 120] {
        let route = Scps { ack_floor: ms(floor), ..corruption() };
        let mut wire = Wire::established(&Config { initial_window: 60, ..scps(route) });
        write_steadily(&mut wire, 500);
        assert_eq!(wire.ends[B].delivered(), 500 * MSS);
        let acks = wire.times(B, Sent::is_bare_ack);
        let shortest = acks.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
        // A segment takes 8 ms, and every second one is acknowledged.
        assert!(shortest >= floor.max(15), "{floor} ms: {shortest}");
        // 500 segments take 4 s, and window and embargo do not slow them down.
        let span = acks[acks.len() - 1] - acks[0];
        assert!((3_900..4_300).contains(&span), "{floor} ms: {span}");
        let expected = span / floor.max(16);
        let count = acks.len() as u64;
        assert!(count.abs_diff(expected) <= expected / 6 + 2, "{floor} ms: {count}");
    }
}

/// Without them the sender would wait for the floor.
#[test]
fn acks_of_a_full_window_and_of_the_fin_do_not_wait_for_the_floor() {
    let route = Scps { ack_floor: ms(5_000), ..corruption() };
    let config = Config { receive_buffer: Bytes(8 * MSS), initial_window: 60, ..scps(route) };
    let mut wire = Wire::established(&config);
    wire.write(A, 80 * MSS);
    wire.run_for(ms(1_500));
    assert_eq!(wire.ends[B].delivered(), 80 * MSS);
    wire.forget();
    wire.close(A);
    wire.run_for(ms(150));
    let is_of_fin = |sent: &Sent| sent.segment.acknowledgement == 1_001 + 80 * MSS as u32 + 1;
    assert_eq!(wire.sent(B, is_of_fin).count(), 1);
}

/// ACK frequency 0: data in order is acknowledged by the timer only. What is missing is reported at
/// once.
#[test]
fn strictly_delayed_acks_leave_by_the_timer() {
    for (delay, floor) in [(100, 50), (250, 50), (50, 120)] {
        let route = Scps { ack_floor: ms(floor), strictly_delayed: true, ..corruption() };
        let timing = DelayedAck { timeout: ms(delay), ..DelayedAck::default() };
        let mut config = Config { initial_window: 200, ..scps(route) };
        config.delayed_ack = AckTiming::Fixed(timing);
        config.rto.min = ms(2000);
        let mut wire =
            Wire::established(&config).losing(|sent| is_data_at(sent, 300) && sent.nth == 301);
        write_steadily(&mut wire, 500);
        assert_eq!(wire.ends[B].delivered(), 500 * MSS);
        assert_eq!((timeouts(&wire), wire.ends[A].info().retransmissions), (0, 1));
        let report = wire.sent(B, |sent| sent.segment.snack().is_some()).next().unwrap().at;
        let of_order: Vec<_> = wire.times(B, Sent::is_bare_ack);
        let report = report.as_nanos() / 1_000_000;
        let before: Vec<_> = of_order.into_iter().filter(|at| *at < report).collect();
        assert!(before.len() > 8, "{before:?}");
        // The timer starts with the first segment behind an ACK, which takes 8 ms.
        for pair in before.windows(2).skip(1) {
            let gap = pair[1] - pair[0];
            let expected = floor.max(delay)..=floor.max(delay + 9);
            assert!(expected.contains(&gap), "{delay}, {floor} ms: {gap}");
        }
        // The gap shows 16 ms after the segment before it, and its report waits for the floor only.
        assert!(report - before[before.len() - 1] <= floor.max(delay + 9), "{delay} ms");
    }
}

/// Nothing more comes before an ACK if the window is full, so it does not wait for the timer.
#[test]
fn a_full_window_does_not_wait_for_the_timer_of_strictly_delayed_acks() {
    let route = Scps { strictly_delayed: true, ack_floor: ms(0), ..corruption() };
    let mut config =
        Config { initial_window: 60, receive_buffer: Bytes(10 * MSS + 3), ..scps(route) };
    config.delayed_ack = AckTiming::Fixed(DelayedAck { timeout: ms(500), ..DelayedAck::default() });
    config.rto.min = ms(2000);
    let mut wire = Wire::established(&config);
    let from = wire.now;
    wire.write(A, 100 * MSS);
    wire.run();
    assert_eq!(wire.ends[B].delivered(), 100 * MSS);
    // Ten windows of a round trip each, of 100 ms.
    let took = (wire.now.since(from)).as_nanos() / 1_000_000;
    assert!(took < 1_600, "{took} ms");
}

/// Options of TCP take 40 bytes at most, also next to timestamps and accurate ECN.
#[test]
fn the_vector_leaves_room_for_the_other_options() {
    for ecn in [Ecn::Off, Ecn::Classic, Ecn::Accurate] {
        for timestamps in [false, true] {
            let mut config = Config { ecn, timestamps, ..scps(corruption()) };
            config.initial_window = 150;
            config.window_scaling = true;
            config.receive_buffer = Bytes(200 * MSS);
            let mut wire = Wire::new(&config).open().scripted(|sent| {
                match sent.by == A && sent.is_data() && sent.nth <= 150 {
                    true if sent.nth.is_multiple_of(3) => Fate::Lost,
                    true if sent.nth.is_multiple_of(4) => Fate::Marked,
                    _ => Fate::Arrives,
                }
            });
            wire.write(A, 200 * MSS);
            wire.run();
            assert_eq!(wire.ends[B].delivered(), 200 * MSS, "{ecn:?} {timestamps}");
            let most = wire.log.iter().map(|sent| sent.segment.option_bytes()).max().unwrap();
            assert!(most <= 40, "{ecn:?} {timestamps}: {most}");
            let is_long = |segment: &Segment| segment.snack().is_some_and(|snack| snack.bits >= 64);
            assert!(wire.log.iter().any(|sent| is_long(&sent.segment)), "{ecn:?} {timestamps}");
        }
    }
}
