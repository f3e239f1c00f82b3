//! A connection through the interface that all transports share, and what it says about itself.

use congestion::Controller;
use tcp::{Config, Flags, Segment, State};
use transport::{AbortCause, Counters, Endpoint};
use units::{Bytes, Span, Time};

use crate::wire::{MSS, config, connection, ms};

const DELAY: Span = Span::from_millis(50);

/// Lets two ends talk until nothing is on its way and no timer is due for a second. Knows nothing
/// of TCP.
fn talk<E: Endpoint>(now: &mut Time, ends: &mut [E; 2], mut lost: impl FnMut(&E::Packet) -> bool) {
    let until = *now + Span::from_secs(10);
    let mut flying: Vec<(Time, usize, E::Packet)> = Vec::new();
    loop {
        for (by, end) in ends.iter_mut().enumerate() {
            while end.may_send() {
                let Some(packet) = end.next_packet(*now) else { break };
                if !lost(&packet) {
                    flying.push((*now + DELAY, 1 - by, packet));
                }
            }
        }
        let arrival = flying.iter().map(|(at, ..)| *at).min().unwrap_or(Time::NEVER);
        let deadline = ends[0].deadline().min(ends[1].deadline());
        let next = arrival.min(deadline);
        if next > until {
            *now = until;
            return;
        }
        *now = next;
        ends.iter_mut().filter(|end| end.deadline() <= next).for_each(|end| end.on_deadline(next));
        let due = |entry: &(Time, usize, E::Packet)| entry.0 <= next;
        while let Some(index) = flying.iter().position(due) {
            let (_, to, packet) = flying.remove(index);
            ends[to].on_packet(next, &packet);
        }
    }
}

fn pair(config: &Config) -> [impl Endpoint<Packet = Segment> + use<>; 2] {
    let mut ends = [connection(config, 1), connection(config, 2)];
    Endpoint::listen(&mut ends[1]);
    Endpoint::connect(&mut ends[0]);
    ends
}

#[test]
fn every_call_of_an_endpoint_reaches_the_connection() {
    let config = Config { receive_buffer: Bytes(10 * MSS), reads_at_once: false, ..config() };
    let mut ends = pair(&config);
    let mut now = Time::ZERO;
    ends[0].write(25 * MSS);
    talk(&mut now, &mut ends, |_| false);
    assert_eq!((ends[1].unread(), ends[1].delivered()), (10 * MSS, 0));
    ends[1].read(4 * MSS);
    assert_eq!((ends[1].unread(), ends[1].delivered()), (6 * MSS, 4 * MSS));
    // What was not sent may be taken back. The byte of a window probe counts as sent.
    talk(&mut now, &mut ends, |_| false);
    let sent = ends[1].unread() + ends[1].delivered();
    let rest = ends[0].withdraw();
    assert!((sent..=sent + 1).contains(&rest), "{rest} of {sent}");
    ends[0].close();
    let mut fins = 0;
    for _ in 0..10 {
        let unread = ends[1].unread();
        ends[1].read(unread);
        talk(&mut now, &mut ends, |packet| {
            fins += usize::from(packet.flags.contains(Flags::FIN));
            false
        });
    }
    assert_eq!(fins, 1, "one end has closed");
    assert_eq!((ends[1].unread(), ends[1].delivered()), (0, rest));
    let Counters { segments, retransmissions, bytes, timeouts, fast_recoveries, restarts, probes } =
        *ends[0].counters();
    assert!(segments >= 14 && bytes >= rest, "{segments} {bytes}");
    assert_eq!((retransmissions, timeouts, fast_recoveries, probes), (0, 0, 0, 0));
    // The window of the receiver was closed twice for longer than an RTO.
    assert_eq!(restarts, 2);
    assert_eq!(ends[1].counters().segments, 0);
    assert!(ends.iter().all(|end| end.abort_cause().is_none()));
    assert!(!ends[0].may_have_low_priority() && ends[0].next_of_low_priority(now).is_none());
}

#[test]
fn an_endpoint_samples_what_its_sender_knows() {
    let mut ends = pair(&config());
    let mut now = Time::ZERO;
    let before = ends[0].sample();
    assert_eq!((before.srtt, before.min_rtt, before.flight), (None, None, 0));
    assert_eq!((before.cwnd, before.ssthresh), (10 * MSS, u64::MAX));
    ends[0].write(100 * MSS);
    talk(&mut now, &mut ends, |_| false);
    let sample = ends[0].sample();
    assert_eq!(sample.min_rtt, Some(ms(100)));
    assert!(sample.srtt >= Some(ms(100)) && sample.rto >= Span::from_secs(1), "{sample:?}");
    assert!(sample.cwnd > 10 * MSS && sample.flight == 0, "{sample:?}");
}

#[test]
fn an_endpoint_that_nobody_answers_says_why_it_ended() {
    let mut ends = pair(&Config { max_retries: 2, ..config() });
    let mut now = Time::ZERO;
    talk(&mut now, &mut ends, |_| true);
    assert_eq!(ends[0].abort_cause(), Some(AbortCause::Retransmissions));
    assert_eq!(ends[1].abort_cause(), None);
}

/// A router's mark is echoed, and the window of the sender falls.
#[test]
fn an_endpoint_hears_of_congestion() {
    let mut ends = pair(&Config { ecn: congestion::Ecn::Classic, ..config() });
    let mut now = Time::ZERO;
    talk(&mut now, &mut ends, |_| false);
    ends[0].write(20 * MSS);
    talk(&mut now, &mut ends, |_| false);
    let before = ends[0].sample().cwnd;
    ends[1].on_congestion_experienced();
    ends[0].write(20 * MSS);
    talk(&mut now, &mut ends, |_| false);
    assert!(ends[0].sample().ssthresh < before && before < u64::MAX);
}

#[test]
fn the_payload_of_a_full_segment_leaves_room_for_timestamps() {
    for (timestamps, payload) in [(false, 1000), (true, 988)] {
        let config = Config { timestamps, initial_window: 4, ..config() };
        assert_eq!(config.full_payload(), payload);
        let mut ends = [connection(&config, 1), connection(&config, 2)];
        assert_eq!(ends[0].controller().window().cwnd, 4 * u64::from(payload));
        ends[1].listen();
        ends[0].connect();
        let mut now = Time::ZERO;
        let mut longest = 0;
        ends[0].write(10 * MSS);
        talk(&mut now, &mut ends, |packet| {
            longest = longest.max(packet.payload);
            false
        });
        assert_eq!(u32::from(longest), payload);
        assert_eq!(ends[0].info().mss, u64::from(payload));
    }
}

#[test]
fn info_counts_what_was_written_and_never_sent() {
    let mut ends = [connection(&config(), 1), connection(&config(), 2)];
    ends[0].write(7 * MSS);
    assert_eq!(ends[0].info().not_sent, 7 * MSS, "before the set-up");
    ends[1].listen();
    ends[0].connect();
    let mut now = Time::ZERO;
    talk(&mut now, &mut ends, |_| false);
    assert_eq!((ends[0].info().not_sent, ends[0].info().acknowledged), (0, 7 * MSS));
    ends[0].write(100 * MSS);
    while ends[0].next_packet(now).is_some() {}
    let info = ends[0].info();
    assert_eq!(info.state, State::Established);
    assert_eq!(info.not_sent + info.unacked, 100 * MSS);
    assert_eq!(info.unacked, info.cwnd / MSS * MSS);
}
