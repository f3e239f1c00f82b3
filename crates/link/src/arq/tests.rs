use proptest::prelude::*;
use units::{Span, Time};

use super::*;
use crate::priority::Priority;
use crate::queue::Queued;

fn settings(repeat: Repeat, window: u32, sequence_bits: u32) -> ArqSettings {
    let timer = Span::from_millis(100);
    ArqSettings { repeat, persistence: 3, window, sequence_bits, timer, header: 14 }
}

const SELECTIVE: Repeat = Repeat::Selective { in_order: true };

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// Sends packet `ticket`, whose last bit leaves at that many milliseconds.
fn send(sender: &mut Sender, ticket: u32) -> Frame {
    let (priority, ecn) = (Priority::Normal, Ecn::NotCapable);
    let since = Time::ZERO;
    let frame =
        sender.send(&Queued { ticket, flow: 0, bytes: 1000, unframed: 1000, priority, ecn, since });
    sender.leaves(&frame, at(ticket.into()), false);
    frame
}

fn receive(receiver: &mut Receiver, frame: &Frame) -> (Vec<u32>, Status) {
    let mut accepted = Vec::new();
    receiver.on_frame(frame, &mut accepted);
    (accepted.iter().map(|one| one.ticket).collect(), receiver.status())
}

/// The flaw of HDLC in ns-2: an SREJ is sent once, and if it is lost, only the timer repairs.
#[test]
fn a_lost_srej_is_asked_again_by_the_next_frame_and_a_lost_repeat_too() {
    let settings = settings(SELECTIVE, 8, 4);
    let (mut sender, mut receiver) = (Sender::new(settings), Receiver::new(settings));
    let frames: Vec<_> = (0..4).map(|ticket| send(&mut sender, ticket)).collect();
    assert_eq!(receive(&mut receiver, &frames[0]).0, [0]);
    // Frame 1 is lost, and so is the status frame of frame 2.
    let (taken, lost) = receive(&mut receiver, &frames[2]);
    assert_eq!((taken, lost.is_reject), (vec![], true));
    let (_, again) = receive(&mut receiver, &frames[3]);
    sender.on_status(at(10), &again);
    let (repeat, bytes) = sender.repeat().unwrap();
    assert_eq!((repeat.number, bytes), (1, 1000));
    assert!(!sender.has_repeat());
    sender.leaves(&repeat, at(11), true);
    // The repeat is lost. A second answer of this kind repeats nothing, and the next frame's does.
    sender.on_status(at(12), &again);
    assert!(!sender.has_repeat());
    let next = send(&mut sender, 4);
    let (_, status) = receive(&mut receiver, &next);
    sender.on_status(at(13), &status);
    let (repeat, _) = sender.repeat().unwrap();
    assert_eq!(repeat.number, 1);
    sender.leaves(&repeat, at(14), false);
    assert_eq!(receive(&mut receiver, &repeat).0, [1, 2, 3, 4]);
    assert_eq!(sender.counters().timeouts, 0);
    assert_eq!(receiver.counters(sender.counters()).held_packets, 3);
}

/// The largest windows work, and larger ones take a repeat for a new frame: all frames of a window
/// arrive, no answer does, and the first frame is repeated.
#[test]
fn a_window_that_the_sequence_space_cannot_number_delivers_a_packet_twice() {
    let selective = Repeat::Selective { in_order: false };
    for (repeat, bits) in [(selective, 3), (Repeat::GoBackN, 3), (selective, 5)] {
        for more in [0, 1] {
            let window = repeat.largest_window(bits) + more;
            let settings = settings(repeat, window, bits);
            let (mut sender, mut receiver) = (Sender::new(settings), Receiver::new(settings));
            for ticket in 0..window {
                assert!(sender.is_open());
                let frame = send(&mut sender, ticket);
                assert_eq!(receive(&mut receiver, &frame).0, [ticket]);
            }
            assert!(!sender.is_open());
            sender.on_timer(at(1000));
            let (frame, _) = sender.repeat().unwrap();
            assert_eq!(frame.ticket, 0);
            let again = receive(&mut receiver, &frame).0;
            assert_eq!(again.is_empty(), more == 0, "{repeat:?}, {bits} bits");
        }
    }
}

#[test]
fn a_packet_is_given_up_after_its_last_repeat_and_its_number_is_sent_without_it() {
    let settings = ArqSettings { persistence: 1, ..settings(SELECTIVE, 8, 4) };
    let (mut sender, mut receiver) = (Sender::new(settings), Receiver::new(settings));
    send(&mut sender, 0);
    let mut now = at(0);
    let mut repeats = Vec::new();
    for _ in 0..3 {
        now += Span::from_millis(200);
        assert!(sender.deadline() <= now);
        sender.on_timer(now);
        let (frame, bytes) = sender.repeat().unwrap();
        sender.leaves(&frame, now, false);
        repeats.push((frame.is_skip, bytes));
    }
    assert_eq!(repeats, [(false, 1000), (true, 14), (true, 14)]);
    let counters = sender.counters();
    let counted = [counters.given_up_packets, counters.repeated_frames, counters.skip_frames];
    assert_eq!(counted, [1, 1, 2]);
    let frame =
        Frame { number: 0, transmission: 3, ticket: 0, ecn: Ecn::NotCapable, is_skip: true };
    let mut accepted = Vec::new();
    receiver.on_frame(&frame, &mut accepted);
    assert!(accepted[0].is_skip);
    sender.on_status(now, &receiver.status());
    assert_eq!(sender.deadline(), Time::NEVER);
}

/// The timer starts again with each status frame, and an expiry counts once.
#[test]
fn the_timer_runs_from_the_last_status_frame() {
    for repeat in [SELECTIVE, Repeat::GoBackN] {
        let settings = settings(repeat, 7, 4);
        let (mut sender, mut receiver) = (Sender::new(settings), Receiver::new(settings));
        let frames = [0, 1].map(|ticket| send(&mut sender, ticket));
        assert_eq!(sender.deadline(), at(100));
        let (_, status) = receive(&mut receiver, &frames[0]);
        sender.on_status(at(60), &status);
        assert_eq!(sender.deadline(), at(160), "{repeat:?}");
        sender.on_timer(at(159));
        assert!(!sender.has_repeat());
        sender.on_timer(at(160));
        assert!(sender.has_repeat());
        assert_eq!(sender.deadline(), Time::NEVER, "{repeat:?}: nothing is on its way");
        sender.on_timer(at(161));
        assert_eq!(sender.counters().timeouts, 1, "{repeat:?}");
    }
}

/// A status frame that comes after the timer has expired saves the repeats.
#[test]
fn what_a_late_status_frame_confirms_is_not_repeated() {
    for repeat in [SELECTIVE, Repeat::GoBackN] {
        let settings = settings(repeat, 7, 4);
        let (mut sender, mut receiver) = (Sender::new(settings), Receiver::new(settings));
        let frames = [0, 1].map(|ticket| send(&mut sender, ticket));
        sender.on_timer(at(200));
        assert!(sender.has_repeat());
        let (_, status) = frames.map(|frame| receive(&mut receiver, &frame))[1].clone();
        sender.on_status(at(201), &status);
        assert!(!sender.has_repeat(), "{repeat:?}");
        assert!(sender.repeat().is_none());
    }
}

#[test]
fn corrupted_frames_are_counted_and_skips_are_not_held_packets() {
    let settings = settings(SELECTIVE, 8, 4);
    let (mut sender, mut receiver) = (Sender::new(settings), Receiver::new(settings));
    let frame = send(&mut sender, 0);
    sender.leaves(&frame, at(1), true);
    assert_eq!(sender.counters().corrupted_frames, 1);
    let skip = Frame { number: 1, transmission: 1, is_skip: true, ..frame };
    receive(&mut receiver, &skip);
    assert_eq!(receiver.counters(sender.counters()).held_packets, 0);
}

/// Lin, Costello and Miller, 1984: a loss costs go-back-N a whole number of frames, those that were
/// sent until it was known, and selective repeat one.
#[test]
fn the_transmissions_of_a_packet_are_those_of_the_closed_form() {
    let settings = |repeat| ArqSettings { persistence: 100, ..settings(repeat, 7, 4) };
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
    assert!(near(settings(Repeat::GoBackN).transmissions(0.1, 2.4), 1.0 + 3.0 * 0.1 / 0.9));
    assert!(near(settings(SELECTIVE).transmissions(0.1, 2.4), 1.0 / 0.9));
    assert_eq!(settings(SELECTIVE).status_bytes(), 14 + 8, "a header and 64 bits");
}

proptest! {
    /// Whatever is lost on either way, each packet is passed on once, and in order if order is
    /// kept.
    #[test]
    fn all_packets_arrive_once_over_any_loss(
        is_selective in any::<bool>(), in_order in any::<bool>(),
        bits in 1u32..6, packets in 1u32..60,
        losses in prop::collection::vec(any::<[bool; 2]>(), 0..400),
    ) {
        let repeat = if is_selective { Repeat::Selective { in_order } } else { Repeat::GoBackN };
        let settings =
            ArqSettings { persistence: u32::MAX, ..settings(repeat, repeat.largest_window(bits), bits) };
        let (mut sender, mut receiver) = (Sender::new(settings), Receiver::new(settings));
        let mut losses = losses.into_iter();
        let (mut now, mut next, mut taken) = (at(0), 0, Vec::new());
        while taken.len() < packets as usize || sender.deadline() != Time::NEVER {
            let frame = match sender.repeat() {
                Some((frame, _)) => frame,
                None if sender.is_open() && next < packets => {
                    next += 1;
                    let (priority, ecn) = (Priority::Normal, Ecn::NotCapable);
                    sender.send(&Queued { ticket: next - 1, flow: 0, bytes: 1, unframed: 1, priority, ecn, since: now })
                }
                None => {
                    now = sender.deadline();
                    prop_assert!(now != Time::NEVER, "nothing happens any more");
                    sender.on_timer(now);
                    continue;
                }
            };
            now += Span::from_millis(1);
            sender.leaves(&frame, now, false);
            let [is_lost, answer_is_lost] = losses.next().unwrap_or_default();
            if is_lost {
                continue;
            }
            let (tickets, status) = receive(&mut receiver, &frame);
            taken.extend(tickets);
            if !answer_is_lost {
                sender.on_status(now, &status);
            }
        }
        let expected: Vec<_> = (0..packets).collect();
        if repeat != (Repeat::Selective { in_order: false }) {
            prop_assert_eq!(&taken, &expected);
        }
        taken.sort_unstable();
        prop_assert_eq!(taken, expected);
    }
}
