//! Buffers that tune themselves, as hosts with Linux have them: `receive` lets the window grow with
//! what the application reads, `send` bounds what the application has written and the other end has
//! not acknowledged.
//!
//! Sources: net/ipv4/tcp_input.c, tcp_output.c and tcp.c of Linux 6.12, and the changes of 6.16 and
//! 6.18 as their authors describe them on the mailing list of the network developers.
//!
//! Decisions:
//! - Both ends count memory as the kernel of a 64-bit machine does. A segment that arrives is one
//!   buffer, as with a TUN device: receive offload (GRO) would merge segments, and a merged one
//!   costs less.
//! - There is no memory pressure of the whole host (`tcp_mem`), so the minimum of `tcp_rmem` and
//!   `tcp_wmem` never counts.
//! - A packet that finds no memory is dropped only if the window was wider than the buffer, which
//!   small segments cause.

mod receive;
mod round_trip;
mod send;

use units::{Bytes, SizeLimit};

pub(crate) use receive::{Arrival, ReceiveBuffer};
pub(crate) use round_trip::RoundTrip;
pub(crate) use send::{CongestionWindow, Positions, SendBuffer};

/// Rule by which the receive buffer of a version of Linux grows (`tcp_rcv_space_adjust`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub enum Growth {
    /// Linux up to 4.19: as 5.15, and the first window has 20 segments
    /// (`tcp_default_init_rwnd`). The buffer then begins with room for eight times as many
    /// (`tcp_fixup_rcvbuf`).
    #[cfg_attr(feature = "schema", serde(rename = "linux-4.19"))]
    Linux4_19,
    /// Linux up to 6.5: as 6.12, and half of the buffer is window, whatever segments cost
    /// (`tcp_adv_win_scale`).
    #[cfg_attr(feature = "schema", serde(rename = "linux-5.15"))]
    Linux5_15,
    /// Linux up to 6.15: twice what was read in a round trip, sixteen segments, and more while the
    /// rate grows.
    #[cfg_attr(feature = "schema", serde(rename = "linux-6.12"))]
    Linux6_12,
    /// Linux 6.16 and 6.17: twice what was read in a round trip, and the span of data above a gap.
    #[cfg_attr(feature = "schema", serde(rename = "linux-6.16"))]
    Linux6_16,
    /// Linux from 6.18 on: twice what was read in a round trip, more while the rate grows, and the
    /// span of data above a gap.
    #[default]
    #[cfg_attr(feature = "schema", serde(rename = "linux-6.18"))]
    Linux6_18,
    /// FreeBSD 14: half as much again when three eighths of the buffer arrive in half a round trip
    /// (`tcp_autorcvbuf`). All of the buffer is window.
    #[cfg_attr(feature = "schema", serde(rename = "freebsd-14"))]
    FreeBsd14,
}

impl Growth {
    /// The maximum of `tcp_rmem` of the version, or `tcp_autorcvbuf_max` of FreeBSD.
    pub fn usual_maximum(self) -> Bytes {
        match self {
            Self::FreeBsd14 => Bytes(2 << 20),
            Self::Linux4_19 | Self::Linux5_15 | Self::Linux6_12 => Bytes(6 << 20),
            Self::Linux6_16 | Self::Linux6_18 => Bytes(32 << 20),
        }
    }

    /// The second value of `tcp_rmem` of the version, or `tcp_recvspace` of FreeBSD.
    pub fn usual_default(self) -> Bytes {
        match self {
            Self::FreeBsd14 => Bytes(65_536),
            Self::Linux4_19 => Bytes(87_380),
            _ => ReceiveTuning::DEFAULT,
        }
    }
}

/// A receive buffer that tunes itself. Sizes are memory, of which the window is a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveTuning {
    /// Size at the start (the second value of `tcp_rmem`).
    pub default: Bytes,
    /// Largest size (the third).
    pub max: Bytes,
    /// Rule of growth.
    pub growth: Growth,
}

impl ReceiveTuning {
    /// The second value of `tcp_rmem`.
    pub const DEFAULT: Bytes = Bytes(131_072);

    /// Largest window that the buffer allows to full segments of `payload` bytes.
    pub fn largest_window(&self, payload: u32) -> u64 {
        receive::window_of(self.max.get(), receive::ratio_of(self.growth, u64::from(payload)))
    }
}

/// A send buffer that tunes itself, and the application that writes into it. Sizes are memory, of
/// which payload is nearly all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendTuning {
    /// Size at the start (the second value of `tcp_wmem`), which holds for ten segments at least.
    pub default: Bytes,
    /// Largest size (the third).
    pub max: Bytes,
    /// Bytes that the application hands over with one write. It waits in a write that does not fit.
    pub write: Bytes,
    /// Unsent data at which the application waits too (`tcp_notsent_lowat`), until less than half
    /// of it is unsent.
    pub notsent_lowat: SizeLimit,
}

impl SendTuning {
    /// The second value of `tcp_wmem`.
    pub const DEFAULT: Bytes = Bytes(16_384);
    /// The third.
    pub const MAX: Bytes = Bytes(4 << 20);
    /// Bytes of one write, unless the scenario says otherwise.
    pub const WRITE: Bytes = Bytes(65_536);
}
