//! Reports of each mark: accurate ECN (RFC 9768) and DCTCP's (RFC 8257).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use congestion::{
    AnyController, Controller, Ecn, Feedback, Needs, Specification, TcpPolicy, Window,
};
use tcp::{Config, Connection, Flags, Options, Recovery, Segment};
use transport::Endpoint;

use crate::wire::{A, B, Fate, MSS, Sent, Wire, config, ms};

fn accurate() -> Config {
    Config { ecn: Ecn::Accurate, ..config() }
}

/// AE, CWR and ECE.
fn bits(segment: &Segment) -> u8 {
    let has = |flag| u8::from(segment.flags.contains(flag));
    let accurate = has(Flags::AE);
    accurate << 2 | has(Flags::CWR) << 1 | has(Flags::ECE)
}

fn set(segment: &mut Segment, bits: u8) {
    let others = segment.flags.0 & !segment.flags.of_ecn().0;
    segment.flags = Flags(others)
        .with_if(bits & 1 != 0, Flags::ECE)
        .with_if(bits & 2 != 0, Flags::CWR)
        .with_if(bits & 4 != 0, Flags::AE);
}

fn marking(numbers: impl Fn(usize) -> bool + 'static) -> impl FnMut(&Sent) -> Fate + 'static {
    move |sent| if sent.is_data() && numbers(sent.nth) { Fate::Marked } else { Fate::Arrives }
}

fn with_controller(config: &Config, name: &str) -> Wire {
    let settings = config.controller();
    let ends = [1, 2].map(|initial_sequence| {
        let controller = Specification::named(name).unwrap().build(&settings);
        Connection::new(Arc::new(config.clone()), controller, initial_sequence)
    });
    Wire::of(ends).open()
}

/// Section 3.1: 111 in the SYN asks; 010 in the SYN with ACK agrees and says that the SYN came
/// without ECT. The ACK says the same of the SYN with ACK, and 5 is the first number of all
/// counters.
#[test]
fn the_set_up_agrees_on_accurate_reports() {
    let mut wire = Wire::established(&accurate());
    let set_up: Vec<_> = wire.log.iter().take(3).map(|sent| bits(&sent.segment)).collect();
    assert_eq!(set_up, [0b111, 0b010, 0b010]);
    wire.write(A, 4 * MSS);
    wire.write(B, 4 * MSS);
    wire.run();
    let data: Vec<_> = wire.log.iter().filter(|sent| sent.is_data()).collect();
    assert!(data.iter().all(|sent| bits(&sent.segment) == 5 && sent.segment.is_ecn_capable()));
    assert!(data.iter().all(|sent| !sent.segment.is_low_latency()));
    let acks = wire.sent(A, Sent::is_bare_ack).skip(1);
    assert!(acks.map(|sent| bits(&sent.segment)).all(|bits| bits == 5));
}

/// Sections 3.1.1 and 3.1.2: with an end that has RFC 3168 only, RFC 3168.
#[test]
fn with_an_older_end_it_falls_back_to_one_report_in_a_round_trip_or_to_none() {
    let classic = Config { ecn: Ecn::Classic, ..config() };
    for (a, b, capable) in [
        (&accurate(), &classic, true),
        (&classic, &accurate(), true),
        (&accurate(), &config(), false),
        (&config(), &accurate(), false),
    ] {
        let mut wire = Wire::between(a, b).open().scripted(marking(|nth| nth == 3));
        wire.write(A, 60 * MSS);
        wire.run();
        assert!(wire.sent(A, |sent| sent.is_data()).all(|s| s.segment.is_ecn_capable() == capable));
        let echoes = wire.sent(B, |sent| sent.segment.flags.contains(Flags::ECE)).count();
        assert_eq!(echoes > 1, capable);
        assert!(wire.log.iter().skip(2).all(|sent| !sent.segment.flags.contains(Flags::AE)));
        assert!(wire.log.iter().all(|sent| sent.segment.counters().is_none()));
    }
}

/// Table 2: an end that returns the bits of the SYN has no ECN.
#[test]
fn an_answer_that_repeats_the_question_is_none() {
    for (answer, capable) in
        [(0b111, false), (0b000, false), (0b001, true), (0b101, true), (0b100, true)]
    {
        let mut wire = Wire::new(&accurate());
        wire.ends[A].connect();
        wire.ends[B].listen();
        let syn = wire.ends[A].next_packet(wire.now).unwrap();
        wire.ends[B].on_segment(wire.now, &syn);
        let mut reply = wire.ends[B].next_packet(wire.now).unwrap();
        set(&mut reply, answer);
        wire.ends[A].on_segment(wire.now, &reply);
        wire.ends[A].write(MSS);
        let data = std::iter::from_fn(|| wire.ends[A].next_packet(wire.now));
        let capable_data: Vec<_> =
            data.filter(|s| s.payload > 0).map(|s| s.is_ecn_capable()).collect();
        assert_eq!(capable_data, [capable], "{answer:03b}");
    }
}

/// How a set-up went in which `change` sees each segment: the ends, and AE, CWR and ECE of its
/// three segments.
fn set_up(mut change: impl FnMut(usize, &mut Segment) -> bool) -> (Wire, Vec<u8>) {
    let mut wire = Wire::new(&accurate());
    wire.ends[A].connect();
    wire.ends[B].listen();
    let mut seen = Vec::new();
    for (number, [from, to]) in [[A, B], [B, A], [A, B]].into_iter().enumerate() {
        let mut segment = wire.ends[from].next_packet(wire.now).unwrap();
        let marked = change(number, &mut segment);
        seen.push(bits(&segment));
        if marked {
            wire.ends[to].on_marked_segment(wire.now, &segment);
        } else {
            wire.ends[to].on_segment(wire.now, &segment);
        }
    }
    assert!(wire.ends.iter().all(Connection::is_established));
    (wire, seen)
}

/// The data that one end sends now.
fn data_of(wire: &mut Wire, end: usize) -> Vec<Segment> {
    wire.ends[end].write(20 * MSS);
    let now = wire.now;
    std::iter::from_fn(|| wire.ends[end].next_packet(now)).filter(|s| s.payload > 0).collect()
}

/// Section 3.1.3: combinations that are reserved are taken for 111 in a SYN, and for a SYN that
/// arrived unchanged in its answer.
#[test]
fn reserved_combinations_agree_on_accurate_reports() {
    for asked in [0b001, 0b010, 0b100, 0b101, 0b110, 0b111] {
        let (_, seen) = set_up(|number, segment| {
            if number == 0 {
                set(segment, asked);
            }
            false
        });
        assert_eq!(seen[1..], [0b010, 0b010], "{asked:03b}");
    }
    let (mut wire, _) = set_up(|number, segment| {
        if number == 1 {
            set(segment, 0b101);
        }
        false
    });
    assert!(data_of(&mut wire, A).iter().all(|s| bits(s) == 5 && s.is_ecn_capable()));
}

/// Section 3.2.2.2: the SYN with ACK reports a mark of the SYN, and no counter does. The window is
/// one segment, as after a lost SYN.
#[test]
fn a_marked_syn_is_reported_by_its_answer_alone() {
    let (mut wire, seen) = set_up(|number, _| number == 0);
    assert_eq!(seen, [0b111, 0b110, 0b010]);
    assert_eq!(data_of(&mut wire, A).len(), 1);
    assert!(data_of(&mut wire, B).iter().all(|s| bits(s) == 5));
    assert_eq!(wire.ends[B].controller().window().cwnd, 10 * MSS);
}

/// Tables 3 and 4.
#[test]
fn a_marked_answer_is_reported_by_the_first_ack_and_counted() {
    let (mut wire, seen) = set_up(|number, _| number == 1);
    assert_eq!(seen, [0b111, 0b010, 0b110]);
    assert_eq!(data_of(&mut wire, B).len(), 1);
    let data = data_of(&mut wire, A);
    assert_eq!((data.len(), bits(&data[0])), (10, 6));
    // The counter is known: it reports no other mark.
    wire.ends[B].on_segment(wire.now, &data[0]);
    assert_eq!(wire.ends[B].controller().window().ssthresh, u64::MAX);
}

/// The ACK that opens the connection is lost, and data of its sender as well: the answer to the SYN
/// with ACK that comes again says what the first ACK said, and not how many marks there were.
#[test]
fn a_repeated_answer_is_acknowledged_with_how_the_first_one_arrived() {
    for marked in [false, true] {
        let mut wire = Wire::new(&accurate());
        wire.ends[A].connect();
        wire.ends[B].listen();
        let syn = wire.ends[A].next_packet(wire.now).unwrap();
        wire.ends[B].on_segment(wire.now, &syn);
        let answer = wire.ends[B].next_packet(wire.now).unwrap();
        if marked {
            wire.ends[A].on_marked_segment(wire.now, &answer);
        } else {
            wire.ends[A].on_segment(wire.now, &answer);
        }
        let first = wire.ends[A].next_packet(wire.now).unwrap();
        assert_eq!(data_of(&mut wire, A).len(), 10);
        wire.now += units::Span::from_secs(1);
        wire.ends[A].on_segment(wire.now, &answer);
        let again = wire.ends[A].next_packet(wire.now).unwrap();
        assert_eq!((again.payload, bits(&again)), (0, bits(&first)));
        assert_eq!(bits(&again), if marked { 0b110 } else { 0b010 });
        wire.ends[B].on_segment(wire.now, &again);
        assert!(wire.ends[B].is_established());
        let window = wire.ends[B].controller().window().cwnd;
        assert_eq!(window, if marked { MSS } else { 10 * MSS });
    }
}

/// Table 4, note 1.
#[test]
fn zeros_on_the_first_ack_end_marks_of_the_end_that_has_listened() {
    let (mut wire, _) = set_up(|number, segment| {
        if number == 2 {
            set(segment, 0b000);
        }
        false
    });
    let sent = data_of(&mut wire, B);
    assert!(sent.len() == 10 && sent.iter().all(|s| !s.is_ecn_capable()));
    assert!(sent.iter().all(|s| bits(s) == 5), "it reports what it receives");
    let mut ack = data_of(&mut wire, A)[0];
    ack.acknowledgement = ack.acknowledgement.wrapping_add(MSS as u32);
    set(&mut ack, 0b111);
    wire.ends[B].on_segment(wire.now, &ack);
    assert_eq!(wire.ends[B].controller().window().ssthresh, u64::MAX, "reports are ignored");
}

/// Section 3.2: packets without data count. Section 3.2.2.5.1: three of them are acknowledged.
#[test]
fn marks_of_bare_acks_are_counted() {
    let (mut wire, _) = set_up(|_, _| false);
    let mut ack = wire.ends[B].next_packet(wire.now);
    assert_eq!(ack, None);
    wire.write(A, MSS);
    wire.run();
    let last = wire.sent(B, Sent::is_bare_ack).last().unwrap().segment;
    for _ in 0..3 {
        assert_eq!(wire.ends[A].next_packet(wire.now), None);
        wire.ends[A].on_marked_segment(wire.now, &last);
    }
    ack = wire.ends[A].next_packet(wire.now);
    assert_eq!(ack.map(|ack| (bits(&ack), ack.payload)), Some((0, 0)), "5 and 3");
}

/// Appendix A.1: a SACK of news shows without timestamps that an ACK was not overtaken.
#[test]
fn duplicate_acks_report_marks_without_timestamps() {
    for timestamps in [true, false] {
        let config = Config { timestamps, ..accurate() };
        let mut wire = Wire::established(&config).scripted(|sent: &Sent| match sent.nth {
            1 if sent.is_data() => Fate::Lost,
            2 if sent.is_data() => Fate::Marked,
            _ => Fate::Arrives,
        });
        wire.write(A, 2 * MSS);
        // The ACK of the segment behind the gap has arrived.
        wire.run_for(ms(101));
        assert!(wire.ends[A].controller().window().ssthresh < u64::MAX, "{timestamps}");
        assert_eq!(wire.ends[A].counters().retransmissions, 0);
    }
}

/// Section 3.1.1.
#[test]
fn data_that_arrives_twice_is_reported() {
    for (ecn, reported) in [(Ecn::Accurate, true), (Ecn::Classic, false)] {
        let mut wire = Wire::established(&Config { ecn, ..config() });
        wire.write(A, MSS);
        let data = wire.sent(A, Sent::is_data).last().unwrap().segment;
        wire.run();
        wire.ends[B].on_segment(wire.now, &data);
        let ack = wire.ends[B].next_packet(wire.now).unwrap();
        assert_eq!(ack.blocks().len(), usize::from(reported), "{ecn:?}");
    }
}

/// Section 3.2.2: each ACK has the number of marked packets modulo 8.
#[test]
fn each_ack_carries_the_number_of_marked_packets() {
    let mut wire = Wire::established(&accurate()).scripted(marking(|nth| nth % 3 == 0));
    wire.write(A, 40 * MSS);
    wire.run();
    let last = wire.sent(B, Sent::is_bare_ack).last().unwrap();
    assert_eq!(u64::from(bits(&last.segment)), (5 + 40 / 3) % 8);
}

/// Section 3.2.3: 5 with the bytes of ECT(0), then those of CE; 24 bits each, and they begin with 1
/// and 0.
#[test]
fn acks_carry_the_bytes_that_were_marked_and_those_that_were_not() {
    let mut wire = Wire::established(&accurate()).scripted(marking(|nth| nth % 4 == 0));
    wire.write(A, 40 * MSS);
    wire.run();
    let last = wire.sent(B, |sent| sent.segment.counters().is_some()).last().unwrap().segment;
    let counters = last.counters().unwrap();
    assert_eq!(u64::from(counters.marked), 10 * MSS);
    assert_eq!(u64::from(counters.unmarked), 1 + 30 * MSS);
    assert!(!last.options.contains(Options::LOW_LATENCY));
    // 20 of the header and 8 of the option.
    assert_eq!(last.bytes(), 28);
}

/// The option and SACK blocks fit into 40 bytes, with timestamps or without.
#[test]
fn the_option_takes_the_place_of_the_last_sack_blocks() {
    for (timestamps, most) in [(false, 3), (true, 2)] {
        let config = Config { timestamps, ..accurate() };
        let mut wire =
            Wire::established(&config).losing(|sent| sent.is_data() && sent.nth % 2 == 0);
        wire.write(A, 10 * MSS);
        wire.run_for(ms(70));
        let acks = wire.sent(B, |sent| sent.segment.counters().is_some());
        let blocks: Vec<_> = acks.map(|sent| sent.segment.sack_blocks).collect();
        assert_eq!(blocks.iter().max(), Some(&most), "{blocks:?}");
        assert!(wire.log.iter().all(|sent| sent.segment.option_bytes() <= 40));
    }
}

/// Section 3.2.2.5.1: the change to CE is acknowledged at once, and so is every second mark.
#[test]
fn the_first_mark_does_not_wait_for_a_second_segment() {
    let acks = |marked: usize| {
        let mut wire = Wire::established(&accurate()).scripted(marking(move |nth| nth == marked));
        wire.write(A, 3 * MSS);
        wire.run_for(ms(60));
        wire.sent(B, Sent::is_bare_ack).count()
    };
    assert_eq!((acks(99), acks(1)), (1, 2));
}

/// A mark reduces once in a round trip, and whether another came is not said by a latch: the number
/// is.
#[test]
fn a_reported_mark_halves_and_the_sender_does_not_answer_with_cwr() {
    let mut wire = Wire::established(&accurate()).scripted(marking(|nth| nth <= 10));
    wire.write(A, 1000 * MSS);
    wire.run_for(ms(101));
    assert_eq!(wire.ends[A].controller().window().cwnd / MSS, 5);
    assert!(wire.sent(A, Sent::is_data).all(|sent| bits(&sent.segment) == 5));
}

/// Section 3.2.2.5: an ACK that was overtaken has an old number, which is not read as seven new
/// marks.
#[test]
fn a_late_ack_reports_no_marks() {
    let mut wire = Wire::established(&accurate()).scripted(marking(|nth| nth == 3));
    wire.write(A, 4000 * MSS);
    wire.run_for(ms(450));
    let acks: Vec<_> = wire.sent(B, Sent::is_bare_ack).map(|sent| sent.segment).collect();
    // Sequence numbers of A begin with 1000.
    let number = 1001 + wire.ends[A].acknowledged() as u32;
    let newest = acks.iter().find(|ack| ack.acknowledgement == number).unwrap();
    let late = Segment { acknowledgement: number, ..acks[0] };
    assert_eq!((bits(&late), bits(newest)), (5, 6));
    let before = *wire.ends[A].controller().window();
    let now = wire.now;
    wire.ends[A].on_segment(now, &late);
    assert_eq!(*wire.ends[A].controller().window(), before);
}

/// RFC 9331 section 4.1, and the fallback of Prague.
#[test]
fn a_scalable_sender_uses_ect_1_only_if_marks_are_counted() {
    let mut wire = with_controller(&config(), "prague").scripted(marking(|nth| nth % 5 == 0));
    wire.write(A, 40 * MSS);
    wire.run();
    assert!(wire.sent(A, Sent::is_data).all(|sent| sent.segment.is_low_latency()));
    let last = wire.sent(B, |sent| sent.segment.counters().is_some()).last().unwrap().segment;
    assert!(last.options.contains(Options::LOW_LATENCY));
    assert_eq!(u64::from(last.counters().unwrap().unmarked), 1 + 32 * MSS);

    let classic = Config { ecn: Ecn::Classic, ..config() };
    let settings = config().controller();
    let prague = Specification::named("prague").unwrap().build(&settings);
    let newreno = Specification::named("newreno").unwrap().build(&settings);
    let ends = [
        Connection::new(Arc::new(config()), prague, 1),
        Connection::new(Arc::new(classic), newreno, 2),
    ];
    let mut wire = Wire::of(ends).open();
    wire.write(A, 5 * MSS);
    wire.run();
    let data: Vec<_> = wire.sent(A, Sent::is_data).map(|sent| sent.segment).collect();
    assert!(data.iter().all(|s| s.is_ecn_capable() && !s.is_low_latency()));
}

/// RFC 8257 section 3.2: ECE is that of the data which an ACK acknowledges, whether it waited or
/// not.
#[test]
fn the_receiver_of_dctcp_reports_each_mark_and_delays_other_acks() {
    let mut wire =
        with_controller(&config(), "dctcp").scripted(marking(|nth| (4..=6).contains(&nth)));
    wire.write(A, 10 * MSS);
    wire.run();
    let start = 2;
    let acks = wire.sent(B, Sent::is_bare_ack).map(|sent| {
        let number = sent.segment.acknowledgement.wrapping_sub(start);
        (number / MSS as u32, sent.segment.flags.contains(Flags::ECE))
    });
    let acks: Vec<_> = acks.collect();
    // 3 waits for 4, and is acknowledged before it without a mark; 4 at once, 5 and 6 together.
    let expected =
        [(2, false), (3, false), (4, true), (6, true), (7, false), (9, false), (10, false)];
    let relative: Vec<_> = acks.iter().map(|(n, marked)| (n - (acks[0].0 - 2), *marked)).collect();
    assert_eq!(relative, expected);
}

/// Both, with every recovery and delayed ACKs or none: the share of marks that the sender sees is
/// that of the network.
#[test]
fn the_sender_sees_the_share_of_marks_of_the_network() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Linux] {
        for ecn in [Ecn::Off, Ecn::Accurate] {
            let config = Config { recovery, ecn, ..config() };
            let mut wire = with_controller(&config, "dctcp").scripted(marking(|nth| nth % 10 == 0));
            wire.write(A, 20_000 * MSS);
            wire.run_for(ms(30_000));
            let controller = format!("{:?}", wire.ends[A].controller());
            let (_, alpha) = controller.split_once("alpha: ").unwrap();
            let alpha: f64 = alpha.split(',').next().unwrap().parse().unwrap();
            let case = format!("{} with {ecn:?}", recovery.name());
            // An ACK of RFC 8257 covers one segment or two, of which both were marked or none.
            assert!((alpha - 0.1).abs() < 0.03, "{case}: {alpha}");
        }
    }
}

/// Reno that adds up what ACKs report as acknowledged and as marked.
#[derive(Debug)]
struct Ledger {
    reno: AnyController,
    acked: Arc<AtomicU64>,
    marked: Arc<AtomicU64>,
}

impl Controller for Ledger {
    fn window(&self) -> &Window {
        self.reno.window()
    }

    fn window_mut(&mut self) -> &mut Window {
        self.reno.window_mut()
    }

    fn needs(&self) -> Needs {
        Needs { feedback: true, marks: Ecn::EachMark, ..Needs::default() }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.acked.fetch_add(feedback.acked, Ordering::Relaxed);
        self.marked.fetch_add(feedback.marked_bytes, Ordering::Relaxed);
    }
}

impl TcpPolicy for Ledger {}

/// RFC 8257 section 3.3: SACK blocks are ignored. With every byte marked, as many are marked as are
/// acknowledged, and none is counted twice in a recovery.
#[test]
fn marked_bytes_are_counted_when_they_are_acknowledged() {
    let config = Config { recovery: Recovery::Sack, ..config() };
    let (acked, marked) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let sender = Ledger {
        reno: Specification::named("reno").unwrap().build(&config.controller()),
        acked: acked.clone(),
        marked: marked.clone(),
    };
    let receiver = Specification::named("dctcp").unwrap().build(&config.controller());
    let shared = Arc::new(config);
    let ends = [
        Connection::new(shared.clone(), AnyController::External(Box::new(sender)), 1),
        Connection::new(shared, receiver, 2),
    ];
    let mut wire = Wire::of(ends).scripted(|sent| match sent.nth {
        _ if !sent.is_data() => Fate::Arrives,
        3 => Fate::Lost,
        _ => Fate::Marked,
    });
    wire = wire.open();
    wire.write(A, 12 * MSS);
    wire.run_for(ms(2000));
    assert_eq!(wire.ends[A].acknowledged(), 12 * MSS);
    let counted = [acked, marked].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counted, [12 * MSS; 2]);
}
