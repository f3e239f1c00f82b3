use super::*;

const MSS: u64 = 1000;

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn segments(numbers: std::ops::Range<u64>) -> Range {
    Range { start: numbers.start * MSS, end: numbers.end * MSS }
}

/// Ten segments, one sent each millisecond.
fn flight() -> Flight {
    let mut flight = Flight::new(MSS);
    for n in 0..10 {
        flight.on_new(at(n), segments(n..n + 1), MSS);
    }
    flight
}

fn sack(flight: &mut Flight, numbers: std::ops::Range<u64>) -> Vec<u64> {
    let mut arrived = Vec::new();
    let block = segments(numbers);
    flight.on_sacked(block, block, |segment| arrived.push(segment.start / MSS));
    arrived
}

/// Segments lost at `now` because number `n` has arrived, with a reordering window of 100 ms.
fn find(flight: &mut Flight, now: u64, sent: u64, n: u64) -> (Vec<u64>, Option<Time>) {
    let mut lost = Vec::new();
    let latest = Departure { at: at(sent), end: (n + 1) * MSS };
    let patience = Span::from_millis(100);
    let wait = flight.find_losses(at(now), latest, patience, |one| lost.push(one.start / MSS));
    (lost, wait)
}

fn resend(flight: &mut Flight, now: u64) -> Vec<u64> {
    let mut sent = Vec::new();
    while let Some(range) = flight.next_missing() {
        flight.on_again(at(now), range);
        sent.push(range.start / MSS);
    }
    sent
}

#[test]
fn what_was_sent_before_an_arrival_is_lost_once_its_time_is_over() {
    let mut flight = flight();
    assert_eq!(sack(&mut flight, 4..6), [4, 5]);
    assert_eq!(find(&mut flight, 102, 5, 5), (vec![0, 1, 2], Some(at(103))));
    assert_eq!(flight.pipe(), 5 * MSS);
    assert_eq!(find(&mut flight, 103, 5, 5), (vec![3], None));
    assert_eq!(resend(&mut flight, 103), [0, 1, 2, 3]);
    assert_eq!(flight.pipe(), 8 * MSS);
}

#[test]
fn a_retransmission_is_lost_like_any_other_segment() {
    let mut flight = flight();
    sack(&mut flight, 1..4);
    assert_eq!(find(&mut flight, 200, 3, 3).0, [0]);
    resend(&mut flight, 200);
    flight.on_new(at(201), segments(10..11), MSS);
    sack(&mut flight, 10..11);
    assert_eq!(find(&mut flight, 300, 201, 10).0, [4, 5, 6, 7, 8, 9, 0]);
    assert_eq!((flight.pipe(), flight.repeating()), (0, 0));
    assert_eq!(resend(&mut flight, 301)[0], 0);
}

#[test]
fn of_segments_sent_at_once_the_lower_is_the_earlier_one() {
    let mut flight = Flight::new(MSS);
    flight.on_new(at(0), segments(0..1), MSS);
    flight.on_new(at(5), segments(1..2), MSS);
    flight.on_again(at(5), segments(0..1));
    sack(&mut flight, 1..2);
    assert_eq!(find(&mut flight, 105, 5, 1).0, [0]);
}

#[test]
fn a_timeout_takes_the_first_and_spares_what_was_sent_a_moment_ago() {
    let mut flight = flight();
    flight.on_again(at(200), segments(0..1));
    let mut lost = Vec::new();
    flight.on_timeout(at(105), Span::from_millis(100), |range| lost.push(range.start / MSS));
    assert_eq!(lost, [0, 1, 2, 3, 4, 5]);
    assert_eq!(flight.pipe(), 4 * MSS);
}

#[test]
fn what_was_lost_by_mistake_is_in_the_network_again_and_can_be_lost_again() {
    let mut flight = flight();
    sack(&mut flight, 9..10);
    find(&mut flight, 200, 9, 9);
    resend(&mut flight, 200);
    flight.on_acknowledged(5 * MSS, |_| {});
    flight.find_all();
    assert!(!flight.has_lost());
    // The originals and the copies.
    assert_eq!(flight.pipe(), 8 * MSS);
    flight.lose_head(|_| {});
    flight.find_all();
    assert_eq!(find(&mut flight, 400, 300, 9).0, [5, 6, 7, 8]);
}

#[test]
fn a_segment_that_is_not_full_counts_as_a_full_one() {
    let mut flight = Flight::new(MSS);
    let mut send = |start, end, bytes| flight.on_new(at(0), Range { start, end }, bytes);
    assert_eq!(send(0, 1, 1), MSS);
    assert_eq!(send(1, 1001, 1000), MSS);
    assert_eq!(send(1001, 2001, 1000), MSS);
    assert_eq!(send(2001, 3301, 1300), 2 * MSS, "a probe of the path MTU");
    assert_eq!(send(3301, 4302, 1000), MSS, "the last number is that of a FIN");
    assert_eq!(send(4302, 4303, 0), MSS, "a FIN");
    assert_eq!((flight.pipe(), flight.unacknowledged()), (7 * MSS, 7 * MSS));
    let block = Range { start: 1, end: 1001 };
    flight.on_sacked(block, block, |_| {});
    assert_eq!((flight.pipe(), flight.unacknowledged()), (6 * MSS, 7 * MSS));
    flight.lose_head(|_| {});
    assert_eq!((flight.pipe(), flight.outstanding().lost), (5 * MSS, MSS));
    assert_eq!(flight.on_again(at(1), Range { start: 0, end: 1 }), MSS);
    assert_eq!((flight.pipe(), flight.repeating()), (6 * MSS, MSS));
    flight.on_acknowledged(1001, |_| {});
    assert_eq!((flight.pipe(), flight.unacknowledged()), (5 * MSS, 5 * MSS));
}

#[test]
fn a_part_of_a_segment_may_be_acknowledged() {
    let mut flight = flight();
    sack(&mut flight, 1..4);
    find(&mut flight, 200, 3, 3);
    flight.on_acknowledged(MSS / 2, |_| {});
    assert_eq!(flight.next_missing(), Some(Range { start: MSS / 2, end: MSS }));
    assert_eq!(flight.pipe(), 6 * MSS);
    resend(&mut flight, 200);
    // The rest counts as the whole did (`tcp_tso_acked`).
    assert_eq!(flight.pipe(), 7 * MSS);
    flight.on_acknowledged(10 * MSS, |_| {});
    assert_eq!((flight.pipe(), flight.sacked(), flight.has_lost()), (0, 0, false));
}
