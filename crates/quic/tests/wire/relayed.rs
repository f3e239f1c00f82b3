//! Connections whose streams a relay reads and writes.

use super::*;

/// A relay at each end. What it is to send is written as room appears, and what arrives is taken in
/// pieces.
struct Relays {
    to_send: [u64; 2],
    is_closed: [bool; 2],
    /// The most that an end takes at a time.
    takes: [u64; 2],
    taken: [u64; 2],
}

impl Relays {
    fn new(to_send: [u64; 2]) -> Self {
        Self { to_send, is_closed: [false; 2], takes: [1_000; 2], taken: [0; 2] }
    }

    /// Does all that is possible. Returns whether both streams are complete.
    fn drive(&mut self, ends: &mut [Connection; 2], now: Time) -> bool {
        if ends[SERVER].is_held() {
            ends[SERVER].admit(now);
        }
        for (place, end) in ends.iter_mut().enumerate() {
            self.to_send[place] -= end.give(self.to_send[place]);
            if self.to_send[place] == 0 && !std::mem::replace(&mut self.is_closed[place], true) {
                end.close();
            }
            while self.takes[place] > 0 {
                match end.take(self.takes[place]) {
                    0 => break,
                    bytes => {
                        assert!(bytes <= self.takes[place]);
                        self.taken[place] += bytes;
                    }
                }
            }
        }
        ends.iter().all(Connection::peer_has_finished)
    }
}

/// An end of time for what never comes.
fn late() -> Time {
    Time::ZERO + Span::from_secs(3_000)
}

fn wire(settings: Settings, loss: Option<u64>) -> Wire {
    let config = || config(settings, laboratory("cubic"));
    let mut wire = Wire::new(config(), 3, loss);
    let shared = Arc::new(config());
    wire.ends = [8, 9].map(|seed| Connection::new(shared.clone(), seed).relayed());
    wire.ends[SERVER].listen();
    wire.ends[CLIENT].connect();
    wire
}

#[test]
fn all_bytes_arrive_and_the_client_closes() {
    for (loss, zero_rtt) in [(None, false), (Some(40), false), (None, true), (Some(40), true)] {
        let mut wire = wire(Settings { zero_rtt, ..wide() }, loss);
        let mut relays = Relays::new([300_000, 700_000]);
        wire.run_until(late(), |ends, now| relays.drive(ends, now));
        assert_eq!(relays.taken, [700_000, 300_000], "{loss:?}");
        assert_eq!(wire.ends.each_ref().map(Connection::relay_failure), [None; 2]);
        let is_over = |ends: &mut [Connection; 2], _| ends.iter().all(|end| !end.is_open());
        let complete = wire.now;
        wire.run_until(late(), is_over);
        assert!(wire.now.since(complete) < Span::from_secs(40), "{}", wire.seconds());
        assert_eq!(wire.ends.each_ref().map(Endpoint::abort_cause), [None; 2]);
    }
}

/// The other end closes when it has everything; what nobody has taken here can still be taken.
#[test]
fn a_close_does_not_discard_what_has_arrived() {
    let mut wire = wire(wide(), None);
    let mut relays = Relays::new([100_000, 100_000]);
    relays.takes[SERVER] = 0;
    wire.run_until(late(), |ends, now| {
        relays.drive(ends, now);
        ends[CLIENT].peer_has_finished() && !ends[SERVER].is_open()
    });
    assert_eq!((relays.taken[SERVER], wire.ends[SERVER].relay_failure()), (0, None));
    relays.takes[SERVER] = 1_000;
    relays.drive(&mut wire.ends, late());
    assert_eq!(relays.taken[SERVER], 100_000);
    assert!(wire.ends[SERVER].peer_has_finished());
}

/// Data that the relay does not take fills the window of the stream, and nothing more.
#[test]
fn a_relay_that_does_not_take_holds_back_the_other_end() {
    let window = 200_000;
    let settings = Settings { stream_receive_window: Bytes(window), ..wide() };
    let mut wire = wire(settings, Some(50));
    let mut relays = Relays::new([1_000_000, 0]);
    relays.takes[SERVER] = 0;
    wire.run_until(Time::ZERO + Span::from_secs(100), |ends, now| relays.drive(ends, now));
    assert_eq!(1_000_000 - relays.to_send[CLIENT], window);
    // Nothing has moved for longer than the idle timeout.
    assert_eq!(wire.ends.each_ref().map(Connection::relay_failure), [None; 2]);
    relays.takes[SERVER] = 7_000;
    wire.run_until(late(), |ends, now| relays.drive(ends, now));
    assert_eq!(relays.taken[SERVER], 1_000_000);
}

/// A stream that has ended leaves the other one open.
#[test]
fn each_direction_ends_alone() {
    let mut wire = wire(wide(), None);
    let mut relays = Relays::new([1_000, 1]);
    relays.is_closed[SERVER] = true;
    wire.run_until(late(), |ends, now| {
        relays.drive(ends, now);
        ends[SERVER].peer_has_finished()
    });
    relays.to_send[SERVER] = 500_000;
    wire.run_until(late(), |ends, now| {
        relays.drive(ends, now);
        relays.taken[CLIENT] == 500_001
    });
    assert!(!wire.ends[CLIENT].peer_has_finished() && wire.ends[SERVER].is_open());
    wire.ends[SERVER].close();
    wire.run_until(late(), |ends, now| relays.drive(ends, now));
}

/// Frames of a reset are retransmitted: it reaches the other end with any losses, in both
/// directions, whether there was data or not.
#[test]
fn a_reset_reaches_the_other_end() {
    for loss in [None, Some(3)] {
        for by in [CLIENT, SERVER] {
            for to_send in [[0, 0], [1_000_000, 0], [0, 1_000_000], [1_000_000, 1_000_000]] {
                let mut wire = wire(wide(), loss);
                wire.goes_on = true;
                let mut relays = Relays::new(to_send);
                relays.is_closed = [true; 2];
                wire.run_until(late(), |ends, now| {
                    relays.drive(ends, now);
                    ends.iter().all(Connection::is_established)
                });
                let end = wire.now + Span::from_secs(2);
                wire.run_until(end, |ends, now| relays.drive(ends, now));
                wire.ends[by].abort();
                let aborted = wire.now;
                wire.run_until(late(), |ends, _| ends[1 - by].is_aborted());
                let causes = wire.ends.each_ref().map(Connection::relay_failure);
                assert_eq!(causes, [Some(AbortCause::Reset); 2], "{to_send:?} by {by}");
                let took = wire.now.since(aborted).as_secs_f64();
                assert!(took < if loss.is_none() { 2.0 } else { 25.0 }, "{took} s");
            }
        }
    }
}

#[test]
fn a_server_that_turns_away_is_a_reset_and_one_that_does_not_decide_is_silence() {
    for loss in [None, Some(2)] {
        let mut wire = wire(wide(), loss);
        wire.goes_on = true;
        wire.run_until(late(), |ends, _| ends[SERVER].is_held());
        wire.ends[SERVER].turn_away(wire.now);
        wire.run_until(late(), |ends, _| ends[CLIENT].is_aborted());
        assert_eq!(wire.ends[CLIENT].relay_failure(), Some(AbortCause::Reset));
        assert!(!wire.ends[SERVER].is_established());
    }
    let mut wire = wire(wide(), None);
    wire.run_until(late(), |ends, _| ends[CLIENT].is_aborted());
    assert!(wire.ends[SERVER].is_held());
    assert_eq!(wire.ends[CLIENT].relay_failure(), Some(AbortCause::IdleTimeout));
}

/// An abort before the handshake is complete.
#[test]
fn an_abort_of_the_handshake_reaches_the_other_end() {
    for by in [CLIENT, SERVER] {
        let mut wire = wire(wide(), None);
        wire.goes_on = true;
        wire.run_until(late(), |ends, _| ends[SERVER].is_held());
        let now = wire.now;
        wire.ends[SERVER].admit(now);
        wire.run_until(now + Span::from_millis(100), |_, _| false);
        wire.ends[by].abort();
        wire.run_until(late(), |ends, _| ends[1 - by].is_aborted());
        assert_eq!(wire.ends[1 - by].relay_failure(), Some(AbortCause::Reset), "by {by}");
        let took = wire.now.since(now).as_secs_f64();
        assert!(took < 2.0, "{took} s by {by}");
    }
}

/// A decision that takes longer than a handshake: the client waits, and its data are not lost.
#[test]
fn a_server_may_decide_late() {
    for zero_rtt in [false, true] {
        let mut wire = wire(Settings { zero_rtt, ..wide() }, None);
        let mut relays = Relays::new([20_000, 0]);
        wire.run_until(late(), |ends, now| {
            ends[SERVER].is_held() && now > Time::ZERO + Span::from_secs(8)
        });
        assert!(!wire.ends[CLIENT].is_established());
        wire.run_until(late(), |ends, now| relays.drive(ends, now));
        assert_eq!(relays.taken[SERVER], 20_000);
    }
}
