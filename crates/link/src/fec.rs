//! Forward error correction (FEC): a link that adds parity packets to its data packets, from which
//! the far end rebuilds packets that the channel has corrupted. Nothing is asked for again.
//!
//! Two state machines without I/O. The [`Encoder`] numbers the packets that leave the queue, and
//! adds parity packets behind each block. The [`Decoder`] finds gaps, rebuilds, and passes packets
//! on. The network joins them.
//!
//! The code is systematic and maximum distance separable, as Reed-Solomon codes are (RFC 5510,
//! RFC 6865): a block of k data packets gets m parity packets, and any k of the k + m are enough.
//! The arithmetic over bytes is left out, because a packet that can be rebuilt is known. What
//! counts is which packets arrive, how long they are, and when.
//!
//! Decisions:
//! - Data packets are sent at once, and the parity of a block after its last data packet. Sending
//!   data later would cost all packets the delay of a block.
//! - With an interleaving depth of d, the data packets of a group of d blocks go to these blocks in
//!   turn, and so do the parity packets behind them. A burst of up to m d packets in a row is
//!   repaired.
//! - A group that is not full when its timer expires is closed: its blocks are shortened, with the
//!   same number of parity packets. So sparse traffic pays a higher share of parity.
//! - A parity packet is as long as the longest data packet of its block, and three bytes: flow and
//!   length of each packet are coded too (RFC 6865). Shorter packets are padded for the code, but
//!   not on the link.
//! - Parity packets go before data that waits, and are not in the queue. Its limit and its
//!   management see packets only.
//! - Packets are passed on in order, because TCP takes a gap of three packets for a loss, and the
//!   parity comes later than that. A packet waits for a missing one until the last parity packet of
//!   its block, a packet of the next group, or a silence of two timers. With `in_order = false`
//!   each packet is passed on when it arrives, and a rebuilt one when the block allows it.

mod decoder;
mod encoder;

use units::{Bytes, Span};

use crate::channel::more_errors_than;
use crate::framing::Framing;
use crate::mechanism::{Mechanism, Provenance};
use crate::queue::Ecn;

pub use decoder::Decoder;
pub use encoder::Encoder;

const REED_SOLOMON: Mechanism = Mechanism {
    name: "reed-solomon",
    key: "link.fec",
    kind: "forward error correction",
    source: "Lacan et al., RFC 5510, 2009 (the code); Roca et al., RFC 6865, 2013 (blocks of packets); McAuley, SIGCOMM, 1990 (packets in blocks, decoded by erasure)",
    status: Provenance::Reconstructed,
    hurts: "A link without errors, and congestion: parity takes rate and repairs nothing. Bursts beyond parity times depth. A deep interleaver on a slow link: each loss delays all packets behind it until the end of the group.",
};

/// A code with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(tag = "name", rename_all = "kebab-case"),
    schemars(inline)
)]
pub enum Fec {
    /// Reed-Solomon code over packets: any `data` packets of a block with its parity rebuild the
    /// others.
    ReedSolomon(ReedSolomonSettings),
}

/// Parameters of the Reed-Solomon code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct ReedSolomonSettings {
    /// Data packets of a block, k. Data and parity packets of a block are at most 255: the code has
    /// symbols of 8 bits.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 254)))]
    pub data: u32,
    /// Parity packets of a block, m. A block with up to m losses is repaired.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 254)))]
    pub parity: u32,
    /// Interleaving depth: the number of blocks that take data packets in turn. A burst of up to
    /// `parity` times `depth` packets is repaired, and the delay of a repair grows with it.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub depth: u32,
    /// Time after the first data packet of a group of `depth` blocks at which its parity packets
    /// are sent although it is not full. Default: twice the transmission of `data` times `depth`
    /// packets of 1500 bytes at the lowest rate.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ns")))]
    pub timer: Option<Span>,
    /// Pass packets on in order: one that follows a missing packet waits until that is rebuilt or
    /// known to be lost. Without it, packets leave the link as they arrive, and rebuilt ones later.
    pub in_order: bool,
    /// Bytes that the code adds to each packet, before `overhead`. They can be corrupted. The
    /// default has 3 bytes for the number of the block, 1 for the place in it, and 2 for its length
    /// (RFC 6865).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1B", "x-maximum" = "1KiB")))]
    pub header: Bytes,
}

impl Default for ReedSolomonSettings {
    /// Our choice: a tenth of the rate is for parity, and at a PER of 1 % one packet in 25,000 is
    /// lost.
    fn default() -> Self {
        Self { data: 30, parity: 3, depth: 1, timer: None, in_order: true, header: Bytes(6) }
    }
}

/// The settings of a direction with FEC, with nothing left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FecSettings {
    /// Data packets of a block.
    pub data: u32,
    /// Parity packets of a block.
    pub parity: u32,
    /// Blocks of a group.
    pub depth: u32,
    /// Time after which a group is closed that is not full.
    pub timer: Span,
    /// True if packets are passed on in order.
    pub in_order: bool,
    /// Bytes of the header of a packet.
    pub header: u32,
}

/// Most packets of a block: the symbols of the code have 8 bits (RFC 5510).
pub const LONGEST_BLOCK: u32 = 255;

/// Bytes that are coded with each packet: one for its flow and two for its length (RFC 6865).
pub const CODED_BYTES: u32 = 3;

crate::list_of_mechanisms! {
    Fec {
        ReedSolomon => REED_SOLOMON,
    }
}

impl Fec {
    /// The settings; `timer` makes the default of the timer out of the settings without it.
    pub fn settings(&self, timer: impl FnOnce(&FecSettings) -> Span) -> FecSettings {
        let Self::ReedSolomon(ReedSolomonSettings {
            data,
            parity,
            depth,
            timer: own,
            in_order,
            header,
        }) = *self;
        let header = u32::try_from(header.get()).unwrap_or(u32::MAX);
        let open = FecSettings { data, parity, depth, timer: Span::ZERO, in_order, header };
        FecSettings { timer: own.unwrap_or_else(|| timer(&open)), ..open }
    }
}

impl FecSettings {
    /// The name of its code.
    pub fn name(&self) -> &'static str {
        REED_SOLOMON.name
    }

    /// Data packets of a full group.
    pub fn group(&self) -> u32 {
        self.data * self.depth
    }

    /// Probability that a packet is lost and not rebuilt, when each packet of a full block is lost
    /// with probability `lost`, independently: `lost` times the probability that at least m of the
    /// other k + m - 1 packets are lost too.
    pub fn residual_loss(&self, lost: f64) -> f64 {
        let others = f64::from(self.data + self.parity - 1);
        lost * more_errors_than(f64::from(self.parity) - 1.0, others, lost)
    }

    /// Bytes of a parity packet of a block whose longest packet has `bytes`, header included and
    /// overhead not.
    pub fn parity_bytes(&self, bytes: u32) -> u32 {
        bytes + CODED_BYTES + self.header
    }

    /// By how much a full block of packets of `bytes` is longer on a link with this framing.
    pub fn expansion(&self, bytes: u32, framing: &Framing) -> f64 {
        let (data, parity) = (f64::from(self.data), f64::from(self.parity));
        let [plain, headed, coded] = [bytes, bytes + self.header, self.parity_bytes(bytes)]
            .map(|bytes| f64::from(framing.bytes(bytes)));
        (data * headed + parity * coded) / (data * plain)
    }
}

/// A packet of a block on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodedFrame {
    /// The number of its group.
    pub group: u64,
    /// The number of its block in the group.
    pub block: u32,
    /// Its content.
    pub part: Part,
}

/// Content of a packet of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A data packet.
    Data {
        /// Its number among all data packets.
        number: u64,
        /// Number under which the network holds it.
        ticket: u32,
        /// ECN field of the packet behind the queue.
        ecn: Ecn,
    },
    /// A parity packet.
    Parity {
        /// Data packets of its block.
        data: u32,
        /// It is the last one of its block.
        is_last: bool,
    },
}

/// Totals of a direction with FEC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FecCounters {
    /// Data packets sent.
    pub data_packets: u64,
    /// Parity packets sent.
    pub parity_packets: u64,
    /// Data and parity packets that the channel corrupted.
    pub corrupted_packets: u64,
    /// Blocks that were closed.
    pub blocks: u64,
    /// Blocks that the timer closed before they were full.
    pub short_blocks: u64,
    /// Packets that were rebuilt.
    pub repaired_packets: u64,
    /// Packets that could not be rebuilt.
    pub lost_packets: u64,
    /// Packets that waited at the far end for a missing one.
    pub held_packets: u64,
}

#[cfg(test)]
mod tests;
