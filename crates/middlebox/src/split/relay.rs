//! The relay of one direction of a split connection, as a state machine without I/O.
//!
//! Readiness and results go in. The next step comes out: take bytes from the source, give bytes to
//! the sink, close the sink's direction, or wait. Three rules follow from the order of the steps:
//!
//! - The relay never holds more than its capacity. A slow sink then fills the receive buffer of the
//!   source, which closes the advertised window of the sender (RFC 9293, section 3.8.6).
//! - The end of the stream (FIN) is passed on only after every byte before it.
//! - The other direction is not touched (half-close, RFC 9293, section 3.6).

/// The next step of a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read up to this number of bytes from the source.
    Take(u64),
    /// Write up to this number of bytes to the sink.
    Give(u64),
    /// Close the sink for writing: all bytes of the source have been written.
    Finish,
    /// Nothing, until the source or the sink becomes ready.
    Wait,
    /// Nothing any more.
    Done,
}

/// One direction of a split connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relay {
    capacity: u64,
    held: u64,
    delivered: u64,
    is_readable: bool,
    is_writable: bool,
    has_ended: bool,
    is_finished: bool,
    is_full: bool,
}

impl Relay {
    /// An empty relay that holds at most `capacity` bytes. Neither end is ready.
    pub const fn new(capacity: u64) -> Self {
        Self {
            capacity,
            held: 0,
            delivered: 0,
            is_readable: false,
            is_writable: false,
            has_ended: false,
            is_finished: false,
            is_full: false,
        }
    }

    /// The next step.
    pub const fn next(&self) -> Step {
        if self.is_finished {
            Step::Done
        } else if self.held > 0 && self.is_writable {
            Step::Give(self.held)
        } else if self.held == 0 && self.has_ended {
            Step::Finish
        } else if self.is_readable && !self.has_ended && !self.is_full && self.room() > 0 {
            Step::Take(self.room())
        } else {
            Step::Wait
        }
    }

    /// The source has bytes, or its end.
    pub const fn readable(&mut self) {
        self.is_readable = true;
    }

    /// The source has nothing more at the moment.
    pub const fn drained(&mut self) {
        self.is_readable = false;
    }

    /// The sink takes bytes.
    pub const fn writable(&mut self) {
        self.is_writable = true;
    }

    /// The sink takes no bytes at the moment.
    pub const fn blocked(&mut self) {
        self.is_writable = false;
    }

    /// `bytes` were read from the source.
    ///
    /// # Panics
    /// If they exceed the room: the caller has read more than [`Step::Take`] allowed.
    pub const fn took(&mut self, bytes: u64) {
        assert!(bytes <= self.room(), "a relay holds no more than its capacity");
        self.held += bytes;
    }

    /// `bytes` were written to the sink.
    ///
    /// # Panics
    /// If the relay did not hold them.
    pub const fn gave(&mut self, bytes: u64) {
        assert!(bytes <= self.held, "only bytes that are held can be given");
        self.held -= bytes;
        self.delivered += bytes;
        if self.held == 0 {
            self.is_full = false;
        }
    }

    /// The relay takes nothing more until it is empty. Pipes of Linux count pages, so that small
    /// packets fill one before its capacity in bytes.
    pub const fn full(&mut self) {
        self.is_full = self.held > 0;
    }

    /// The source has ended (FIN).
    pub const fn ended(&mut self) {
        self.has_ended = true;
    }

    /// The sink was closed for writing.
    pub const fn finished(&mut self) {
        self.is_finished = true;
    }

    /// Bytes that were taken and not yet given.
    pub const fn held(&self) -> u64 {
        self.held
    }

    /// Bytes that were given to the sink.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns true if the end of the stream was passed on.
    pub const fn is_done(&self) -> bool {
        self.is_finished
    }

    const fn room(&self) -> u64 {
        self.capacity - self.held
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A source, a sink and what the environment does to them.
    #[derive(Clone, Debug)]
    enum Event {
        Arrive(u64),
        End,
        Drain(u64),
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let event = prop_oneof![
            4 => (1..5000_u64).prop_map(Event::Arrive),
            1 => Just(Event::End),
            4 => (1..5000_u64).prop_map(Event::Drain),
        ];
        proptest::collection::vec(event, 0..200)
    }

    /// Sockets of both ends: bytes waiting at the source, room at the sink.
    #[derive(Default)]
    struct Ends {
        waiting: u64,
        has_end: bool,
        room: u64,
        received: u64,
        is_closed: bool,
    }

    /// Runs the relay until it waits, as an edge-triggered driver does.
    fn drive(relay: &mut Relay, ends: &mut Ends, capacity: u64, seals: bool) {
        // With a capacity of one byte, each byte takes four steps.
        let most = 10 + 4 * (ends.waiting + relay.held());
        for _ in 0..most {
            match relay.next() {
                Step::Take(room) => {
                    assert!(relay.held() + room <= capacity);
                    let bytes = ends.waiting.min(room);
                    match bytes {
                        0 if ends.has_end => relay.ended(),
                        0 => relay.drained(),
                        _ => {
                            relay.took(bytes);
                            ends.waiting -= bytes;
                            if seals {
                                relay.full();
                            }
                        }
                    }
                }
                Step::Give(held) => {
                    assert_eq!(held, relay.held());
                    let bytes = ends.room.min(held);
                    if bytes == 0 {
                        relay.blocked();
                    } else {
                        relay.gave(bytes);
                        ends.room -= bytes;
                        ends.received += bytes;
                    }
                }
                Step::Finish => {
                    assert_eq!((ends.waiting, relay.held()), (0, 0), "FIN after every byte");
                    ends.is_closed = true;
                    relay.finished();
                }
                Step::Wait | Step::Done => return,
            }
        }
        panic!("the relay does not come to rest");
    }

    proptest! {
        #[test]
        fn every_byte_arrives_before_the_end(events in events(), capacity in 1..9000_u64, seals: bool) {
            let (mut relay, mut ends, mut sent) = (Relay::new(capacity), Ends::default(), 0);
            for event in events {
                match event {
                    Event::Arrive(bytes) if !ends.has_end => {
                        ends.waiting += bytes;
                        sent += bytes;
                        relay.readable();
                    }
                    Event::Arrive(_) => {}
                    Event::End => {
                        ends.has_end = true;
                        relay.readable();
                    }
                    Event::Drain(bytes) => {
                        ends.room += bytes;
                        relay.writable();
                    }
                }
                drive(&mut relay, &mut ends, capacity, seals);
                prop_assert!(relay.held() <= capacity);
                prop_assert_eq!(ends.waiting + relay.held() + ends.received, sent);
                prop_assert_eq!(relay.delivered(), ends.received);
                // Nothing waits that could move: no event is needed to go on.
                let can_move = ends.room > 0 && relay.held() > 0;
                prop_assert!(!can_move, "{relay:?} stalls");
            }
            // Whatever happened, an end and a sink with room finish the stream.
            ends.has_end = true;
            relay.readable();
            ends.room += sent;
            relay.writable();
            drive(&mut relay, &mut ends, capacity, seals);
            prop_assert!(ends.is_closed && relay.is_done());
            prop_assert_eq!(ends.received, sent);
        }
    }

    #[test]
    fn a_blocked_sink_stops_the_source_at_the_capacity() {
        let mut relay = Relay::new(1000);
        relay.readable();
        assert_eq!(relay.next(), Step::Take(1000));
        relay.took(600);
        assert_eq!(relay.next(), Step::Take(400));
        relay.took(400);
        assert_eq!(relay.next(), Step::Wait);
        relay.writable();
        assert_eq!(relay.next(), Step::Give(1000));
        relay.gave(1);
        relay.blocked();
        assert_eq!(relay.next(), Step::Take(1));
        relay.full();
        assert_eq!(relay.next(), Step::Wait);
    }
}
