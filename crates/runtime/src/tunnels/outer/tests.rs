//! The ends of an outer connection on a path of 100 ms each way without a rate.

use quic::Factory;

use super::*;

const HEADERS: u16 = 28;
/// An outer packet whose payload is 1000 bytes.
const PACKET: u16 = 1000 + HEADERS;
const DELAY: Span = Span::from_millis(100);

/// Two ends, of which the first gets content.
struct Path {
    ends: [Outer<u32>; 2],
    /// Packets with their arrival and the end to which they go.
    wire: VecDeque<(Time, usize, Departure<u32>)>,
    now: Time,
    /// Numbers of packets of the first end that vanish.
    lost: Vec<u64>,
    /// Departures of each end, with the number of the packet.
    departures: [Vec<(Time, Option<u64>)>; 2],
    /// Contents that came out at the second end.
    out: Vec<u32>,
}

fn path(settings: Settings, lost: &[u64]) -> Path {
    let factory = Factory::named("cubic").unwrap();
    let ends = [0, 1].map(|_| Outer::new(settings, factory.driver(PACKET - HEADERS)));
    Path {
        ends,
        wire: VecDeque::new(),
        now: Time::ZERO,
        lost: lost.to_vec(),
        departures: [Vec::new(), Vec::new()],
        out: Vec::new(),
    }
}

const SETTINGS: Settings = Settings {
    headers: HEADERS,
    largest: PACKET,
    max_window: u64::MAX,
    buffer: u64::MAX,
    capsules: false,
};

impl Path {
    fn push(&mut self, contents: std::ops::Range<u32>) {
        contents.for_each(|content| self.ends[0].push(content, PACKET));
    }

    fn flush(&mut self) {
        for end in [0, 1] {
            while let Some(departure) = self.ends[end].next_packet(self.now) {
                let number = departure.frames.number;
                self.departures[end].push((self.now, number));
                if end == 1 || number.is_none_or(|number| !self.lost.contains(&number)) {
                    self.wire.push_back((self.now + DELAY, 1 - end, departure));
                }
            }
        }
    }

    /// Until nothing is left to do, or `until`.
    fn run(&mut self, until: Time) {
        loop {
            self.flush();
            let arrival = self.wire.front().map_or(Time::NEVER, |(at, _, _)| *at);
            let timers = self.ends.each_ref().map(Outer::deadline);
            let next = arrival.min(timers[0]).min(timers[1]);
            if next == Time::NEVER || next > until {
                return;
            }
            self.now = next;
            if arrival == next
                && let Some((_, end, departure)) = self.wire.pop_front()
            {
                let Departure { frames, content, .. } = departure;
                let out = self.ends[end].on_packet(next, &frames, content);
                self.out.extend(out);
                continue;
            }
            for end in [0, 1] {
                if self.ends[end].deadline() <= next {
                    self.ends[end].on_deadline(next);
                }
            }
        }
    }

    fn count(&self, end: usize, name: &str) -> u64 {
        let counts = self.ends[end].counts();
        counts.into_iter().find(|(counter, _)| *counter == name).unwrap().1
    }
}

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_millis(milliseconds)
}

/// Each window is acknowledged after a round trip of 200 ms, two packets at a time.
#[test]
fn the_largest_window_is_what_leaves_in_a_round_trip() {
    let mut path = path(Settings { max_window: 4000, ..SETTINGS }, &[]);
    path.push(0..100);
    path.run(at(2099));
    let rounds: Vec<_> = (0..11).map(|round| at(200 * round)).collect();
    let of_round =
        |round: &Time| path.departures[0].iter().filter(|(time, _)| time == round).count();
    assert_eq!(rounds.iter().map(of_round).collect::<Vec<_>>(), [4; 11]);
    assert_eq!(path.departures[0].len(), 44);
    assert_eq!(path.out, (0..40).collect::<Vec<_>>(), "the last window is on its way");
    assert_eq!(path.departures[1].len(), 20, "an ACK for each two");
}

/// The window that the controller of QUIC starts with, and then the slow start.
#[test]
fn the_window_of_the_controller_grows_with_acknowledgements() {
    let mut path = path(SETTINGS, &[]);
    path.push(0..200);
    path.run(at(199));
    assert_eq!(path.departures[0].len(), 10);
    path.run(at(399));
    assert_eq!(path.departures[0].len(), 30);
    assert_eq!(path.count(0, "window"), 20_000);
}

/// Three younger packets that have arrived show a loss. Nothing is retransmitted.
#[test]
fn a_lost_packet_reduces_the_window_and_its_content_does_not_come_out() {
    let mut path = path(SETTINGS, &[3]);
    path.push(0..10);
    path.run(at(10_000));
    let expected: Vec<u32> = (0..10).filter(|content| *content != 3).collect();
    assert_eq!(path.out, expected);
    assert_eq!((path.count(0, "lost"), path.count(0, "retransmissions")), (1, 0));
    assert_eq!((path.count(0, "probe_timeouts"), path.count(0, "in_flight")), (0, 0));
    // The ACK of packet 6 shows the loss of packet 3. With it four packets have no ACK, and 0.7 of
    // these is left (RFC 9438 section 4.6).
    assert_eq!(path.count(0, "window"), 2800);
}

#[test]
fn capsules_are_sent_again_and_come_out_in_order_and_once() {
    let settings = Settings { capsules: true, ..SETTINGS };
    let mut path = path(settings, &[3, 7, 10]);
    path.push(0..40);
    path.run(at(20_000));
    assert_eq!(path.out, (0..40).collect::<Vec<_>>());
    assert_eq!((path.count(0, "lost"), path.count(0, "retransmissions")), (3, 3));
    assert_eq!(path.count(0, "queue"), 0);
}

/// No younger packet shows the loss of the last one: a PING does, after the probe timeout.
#[test]
fn a_probe_shows_the_loss_of_the_last_packet() {
    let mut path = path(SETTINGS, &[9]);
    path.push(0..10);
    path.run(at(60_000));
    assert_eq!(path.out.len(), 9);
    assert_eq!((path.count(0, "probe_timeouts"), path.count(0, "lost")), (1, 1));
    assert_eq!(path.ends.each_ref().map(Outer::deadline), [Time::NEVER; 2], "nothing is left");
    // The last ACK comes 25 ms late, and the timeout counts from the last packet: the smoothed
    // round trip, four times its variation, and the delay of ACKs (RFC 9002 section 6.2.1).
    let (probe, number) = path.departures[0][10];
    assert_eq!(number, Some(10));
    assert!(probe > at(225) && probe < at(700), "{probe}");
}

#[test]
fn a_dead_path_is_probed_less_and_less_often() {
    let mut path = path(SETTINGS, &(0..1000).collect::<Vec<_>>());
    path.push(0..10);
    path.run(at(100_000));
    let probes: Vec<_> = path.departures[0].iter().skip(10).map(|(time, _)| *time).collect();
    let first = probes[0].since(Time::ZERO);
    // kInitialRtt, four times half of it, and the delay of ACKs.
    assert_eq!(first, Span::from_millis(999 + 25));
    let gaps: Vec<_> = probes.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    let doubled: Vec<_> = (1..).map(|times| first.doubled(times)).take(gaps.len()).collect();
    assert_eq!(gaps, doubled);
    assert_eq!(gaps.len(), 5);
}

#[test]
fn what_finds_a_full_buffer_is_discarded() {
    let buffer = 3 * u64::from(PACKET);
    let mut path = path(Settings { buffer, ..SETTINGS }, &[]);
    path.push(0..5);
    path.run(at(1000));
    assert_eq!(path.out, [0, 1, 2]);
    assert_eq!((path.count(0, "dropped"), path.count(0, "max_queue")), (2, buffer));
}

/// RFC 9000 section 13.2.1: 25 ms for one packet, none for two, and none for one out of order.
#[test]
fn acknowledgements_wait_for_a_second_packet_or_25_ms() {
    let acks = |contents: u32, lost: &[u64]| {
        let mut path = path(SETTINGS, lost);
        path.push(0..contents);
        path.run(at(150));
        path.departures[1].iter().map(|(time, _)| *time).collect::<Vec<_>>()
    };
    assert_eq!(acks(1, &[]), [at(125)]);
    assert_eq!(acks(2, &[]), [at(100)]);
    assert_eq!(acks(3, &[]), [at(100), at(125)]);
    assert_eq!(acks(2, &[0]), [at(100)]);
}

/// A window of 100 packets with a round trip of 200 ms: after a burst of ten, the others leave at
/// 1.25 windows per round trip.
#[test]
fn packets_leave_at_the_pace() {
    let mut path = path(SETTINGS, &[]);
    path.push(0..10_000);
    path.run(at(1100));
    let window = path.count(0, "window");
    let of_round = path.departures[0].iter().filter(|(time, _)| *time > at(800));
    let times: Vec<_> = of_round.map(|(time, _)| *time).collect();
    let least = 200e6 * 1000.0 / (1.25 * window as f64);
    let gaps = times.windows(12).map(|twelve| twelve[11].since(twelve[0]).as_nanos() as f64);
    let shortest = gaps.fold(f64::INFINITY, f64::min);
    assert!(shortest >= 0.9 * least, "twelve packets in {shortest} ns");
    assert!(times.len() > 100, "{}", times.len());
}
