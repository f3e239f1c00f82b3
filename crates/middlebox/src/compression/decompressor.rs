//! The decompressor of all schemes: which headers it can restore.
//!
//! A scheme differs by what it knows after a loss. With VJ, packets that do not name their
//! connection are discarded after a loss. With feedback, the decompressor reports contexts that it
//! has lost.

use units::{Span, Time};

use super::{Coded, Feedback, Form, HeaderCompression, RohcSettings};

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Its header is restored; it is discarded otherwise.
    pub is_restored: bool,
    /// A message for the compressor.
    pub feedback: Option<Feedback>,
}

/// Totals of a decompressor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecompressorCounters {
    /// Packets that arrived, but whose header could not be restored.
    pub undecodable_packets: u64,
    /// Contexts that could be used again after undecodable packets.
    pub repairs: u64,
    /// Messages to the compressor.
    pub feedback_packets: u64,
}

/// State of a context.
#[derive(Clone, Copy, Debug)]
struct Known {
    connection: u32,
    /// Number of the packet that was restored last.
    number: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Context {
    known: Option<Known>,
    /// Packets could not be restored since the last one that was.
    is_damaged: bool,
    /// Before this time there is no other message about it.
    silent_until: Time,
}

/// The decompressor of one direction of a link.
#[derive(Clone, Debug)]
pub struct Decompressor {
    /// True if a loss makes packets useless that do not name their connection.
    discards_unnamed: bool,
    nack_interval: Option<Span>,
    /// Number of the packet that is next if none is lost.
    expected: u32,
    discards: bool,
    contexts: Vec<Context>,
    counters: DecompressorCounters,
}

impl Decompressor {
    /// Without any context.
    pub fn new(settings: HeaderCompression) -> Self {
        let nack_interval = match settings {
            HeaderCompression::Rohc(RohcSettings { nack_interval, .. }) => Some(nack_interval),
            HeaderCompression::RohcUnidirectional(_)
            | HeaderCompression::Scps(_)
            | HeaderCompression::Vj(_) => None,
        };
        Self {
            discards_unnamed: matches!(settings, HeaderCompression::Vj(_)),
            nack_interval,
            expected: 0,
            discards: false,
            contexts: vec![Context::default(); usize::from(u8::MAX) + 1],
            counters: DecompressorCounters::default(),
        }
    }

    /// A packet arrives.
    pub fn restore(&mut self, now: Time, coded: &Coded) -> Restored {
        let &Coded { order, form, context, connection, number, reach } = coded;
        if order != self.expected {
            self.discards = self.discards_unnamed;
        }
        // A packet that was overtaken moves nothing back.
        if order.wrapping_sub(self.expected) < u32::MAX / 2 {
            self.expected = order.wrapping_add(1);
        }
        let place = &mut self.contexts[usize::from(context)];
        let of_connection = place.known.filter(|known| known.connection == connection);
        let is_restored = match form {
            Form::Plain => return Restored { is_restored: true, feedback: None },
            Form::Full => true,
            Form::Dynamic => of_connection.is_some(),
            Form::Delta { names_connection } => {
                self.discards &= !names_connection;
                let is_near = |known: Known| {
                    reach == u32::MAX || (1..=reach).contains(&number.wrapping_sub(known.number))
                };
                !self.discards && of_connection.is_some_and(is_near)
            }
        };
        if is_restored {
            self.discards &= form != Form::Full;
            self.counters.repairs += u64::from(place.is_damaged);
            place.is_damaged = false;
            place.known = Some(Known { connection, number });
            return Restored { is_restored, feedback: None };
        }
        place.is_damaged = true;
        self.counters.undecodable_packets += 1;
        let Some(interval) = self.nack_interval.filter(|_| place.silent_until <= now) else {
            return Restored { is_restored, feedback: None };
        };
        place.silent_until = now + interval;
        self.counters.feedback_packets += 1;
        let is_static = of_connection.is_none();
        Restored { is_restored, feedback: Some(Feedback { context, connection, is_static }) }
    }

    /// Totals so far.
    pub fn counters(&self) -> DecompressorCounters {
        self.counters
    }
}
