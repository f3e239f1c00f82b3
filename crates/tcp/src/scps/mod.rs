//! SCPS-TP (CCSDS 714.0-B): settings, and the SNACK option.
//!
//! SCPS-TP is TCP with other reports of losses and other answers to them. The receiver reports
//! missing data (`reports`), and the sender repairs it at once (`recovery`, with the holes in
//! `missing`). What it does beyond that depends on the cause of losses on the route.
//!
//! Source: the open reference implementation (MITRE and GST, `source/tp_*.c`, with its manuals).
//! The text of the standard was not read. Reconstructed:
//!
//! - The bit vector of the long form of the option, which the reference implementation does not
//!   have: bit `n` is set if all of unit `n` behind the first hole has arrived. Bits that are not
//!   in the vector say nothing.
//! - SNACK is only in ACKs without data.
//! - Other reconstructed rules are at the head of `recovery`.
//!
//! Best-effort transport (BETS): settings and rules are in `best_effort`, its sender in
//! `giving_up`, and its receiver in `passing`.
//!
//! Not implemented: record boundaries, header compression from end to end (a link has it, as
//! `header_compression = "scps"`), congestion control by source quench, and the option by which a
//! receiver passes on that corruption was experienced (kind 23), which the reference implementation
//! defines and does not use.

mod best_effort;
mod giving_up;
mod missing;
mod passing;
mod recovery;
mod reports;

use units::{Rate, Span};

pub use best_effort::{BestEffort, BestEffortCounters};
pub use passing::LeftOut;
pub(crate) use recovery::SnackRecovery;
pub(crate) use reports::Reports;

/// SCPS-TP on a route. All defaults but those of `snack`, `outage_timeouts` and the signals are
/// those of the reference implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, deny_unknown_fields))]
pub struct Scps {
    /// Form of the SNACK option: `"simple"` reports one hole in each ACK, `"vector"` also what has
    /// arrived behind it, with a bit for each full segment. The reference implementation has the
    /// simple form only. The vector is a reconstruction.
    pub snack: SnackForm,
    /// Cause of losses on the route. After `"congestion"`, the controller reduces the window, once
    /// in a round trip, and a timeout doubles the next. After `"corruption"`, window and
    /// retransmission timer stay as they are, and what is missing is retransmitted.
    pub cause: Cause,
    /// Rate of the route, counted over IP packets: the token bucket that all connections of SCPS-TP
    /// share whose data leaves the host on the same link. It holds 50 ms of the rate, or five
    /// packets if those are more. ACKs that leave there take tokens too. Flows that share a route
    /// have the same rate, and the controller `"none"` requires one. A side of a split proxy has
    /// its own `rate` instead. Default: no bound.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "320Gbit/s")))]
    pub rate: Option<Rate>,
    /// Minimum time between two ACKs without data. ACKs of the FIN, and of data that fills the
    /// window, do not wait.
    #[cfg_attr(feature = "schema", schemars(extend("x-maximum" = "60s")))]
    pub ack_floor: Span,
    /// Strictly delayed ACKs (ACK frequency 0): data in order is acknowledged by the timer of
    /// `delayed_ack` only, whatever the number of segments is. Reports of missing data, ACKs of the
    /// FIN, and of data that fills the window, do not wait for it. `delayed_ack` has no number of
    /// segments then.
    pub strictly_delayed: bool,
    /// Number of consecutive timeouts of the same segment after which the link counts as out. Then
    /// nothing is sent but probes, after 0, 5, 6, 12, 24, 48 and 60s, until a packet of the other
    /// end arrives. After 32 probes the connection is aborted. Default: never.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 32)))]
    pub outage_timeouts: Option<u32>,
    /// Gateways signal outages of links (SCMP): from the signal on nothing is sent but probes, and
    /// when the link is available again, the rest follows at once. The node that sends on a link
    /// knows its outages by `event` and by `trace`, and its signal needs the propagation delay of
    /// the way back. It takes no capacity and is not lost, which is a reconstruction. Connections
    /// that open during an outage do not know of it.
    pub outage_signals: bool,
    /// Gateways signal errors of links (SCMP, "corruption experienced"): losses count as corruption
    /// until a second and a smoothed RTT after the last signal, and then again as `cause` has it.
    /// The node at the far end of a link signals to all senders whose data crosses it when a packet
    /// is corrupted, at most once in a second. A signal needs the propagation delay of the way
    /// back, takes no capacity and is not lost. How long a signal counts is a reconstruction.
    /// Errors that ARQ or FEC hide from the network are not signalled.
    pub corruption_signals: bool,
    /// Best-effort transport (BETS): the sender gives data up after a number of retransmissions,
    /// and the receiver does not wait for it for ever. Some of the data does not arrive, and what
    /// arrives is in order. Not for flows that gateways split, whose relays would join what is
    /// before and behind a hole. Default: off, all data arrives.
    pub best_effort: Option<BestEffort>,
}

impl Default for Scps {
    fn default() -> Self {
        Self {
            snack: SnackForm::Vector,
            cause: Cause::Congestion,
            rate: None,
            ack_floor: Span::from_millis(50),
            strictly_delayed: false,
            outage_timeouts: None,
            outage_signals: false,
            corruption_signals: false,
            best_effort: None,
        }
    }
}

/// Form of the SNACK option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "lowercase"), schemars(inline))]
pub enum SnackForm {
    /// One hole.
    Simple,
    /// One hole, and bits for what is behind it.
    Vector,
}

/// Cause of losses on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "lowercase"), schemars(inline))]
pub enum Cause {
    /// Queues overflow.
    Congestion,
    /// Links make errors.
    Corruption,
}

/// Shortest time between two signals of a gateway about errors of a link (`scmpOutput`).
pub const SILENCE_OF_SIGNALS: Span = Span::from_secs(1);

/// Bits of a SNACK option at most: what fits next to timestamps.
pub const MOST_BITS: u16 = 128;

/// The SNACK option: what the receiver misses, in units of a full segment behind the number that it
/// acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snack {
    /// Start of the hole, in whole units, rounded down.
    pub offset: u16,
    /// Length of the hole, in whole units, rounded up.
    pub size: u16,
    /// Bits of the vector that are valid: a multiple of eight.
    pub bits: u16,
    /// The vector. Bit `n` is set if unit `n` behind the hole has arrived.
    pub vector: u128,
}

impl Snack {
    /// Bytes of the option with its padding.
    pub fn bytes(self) -> u16 {
        (6 + self.bits / 8).next_multiple_of(4)
    }

    /// Missing data, in bytes behind the number that is acknowledged: the hole, and those that the
    /// vector shows.
    pub fn holes(self, unit: u64) -> impl Iterator<Item = (u64, u64)> {
        let first = (u64::from(self.offset), u64::from(self.offset) + u64::from(self.size));
        let mut bit = 0;
        let next = move || {
            let is_set = |bit: u16| self.vector >> bit & 1 == 1;
            while bit < self.bits && is_set(bit) {
                bit += 1;
            }
            let start = bit;
            while bit < self.bits && !is_set(bit) {
                bit += 1;
            }
            // What is behind the last unit that has arrived may be on its way.
            (bit < self.bits).then(|| (first.1 + u64::from(start), first.1 + u64::from(bit)))
        };
        let others = std::iter::from_fn(next);
        std::iter::once(first).chain(others).map(move |(start, end)| (start * unit, end * unit))
    }

    /// The option as it is on the wire: kind 21, length, offset, size and vector, the first bit
    /// first.
    pub fn encode(self) -> ([u8; 6 + MOST_BITS as usize / 8], u8) {
        #[expect(clippy::cast_possible_truncation, reason = "at most 22")]
        let length = 6 + (self.bits / 8) as u8;
        let mut bytes = [0; 6 + MOST_BITS as usize / 8];
        bytes[0] = 21;
        bytes[1] = length;
        bytes[2..4].copy_from_slice(&self.offset.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.size.to_be_bytes());
        bytes[6..].copy_from_slice(&self.vector.reverse_bits().to_be_bytes());
        (bytes, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_shows_holes_between_units_that_have_arrived() {
        let snack = Snack { offset: 1, size: 2, bits: 8, vector: 0b0011_0101 };
        let holes: Vec<_> = snack.holes(100).collect();
        // Units 3, 5, 7 and 8 have arrived, and the two behind them are unknown.
        assert_eq!(holes, [(100, 300), (400, 500), (600, 700)]);
        let simple = Snack { bits: 0, vector: 0, ..snack };
        assert_eq!(simple.holes(100).collect::<Vec<_>>(), [(100, 300)]);
    }

    #[test]
    fn the_option_has_its_length_and_the_first_bit_first() {
        let snack = Snack { offset: 258, size: 3, bits: 16, vector: 0b1 | 1 << 9 };
        let (bytes, length) = snack.encode();
        assert_eq!(bytes[..length.into()], [21, 8, 1, 2, 0, 3, 0b1000_0000, 0b0100_0000]);
        assert_eq!(snack.bytes(), 8);
        assert_eq!(Snack { bits: MOST_BITS, ..snack }.bytes(), 24);
    }
}
