//! Middleboxes: state machines without I/O that look at packets at a node (RFC 3135 has the words).
//!
//! A middlebox sees a packet through [`Visible`], which gives its [`Header`]: addresses, ports,
//! sequence and acknowledgement numbers, window, flags, SACK blocks and length. There are two
//! implementations, a segment of the simulator and a real IP packet. So the same code works on
//! simulated TCP and on the TCP of a kernel.
//!
//! One file per mechanism. Times and packets go in, and decisions come out.

// A number of the user's is never narrowed in silence. Each cast says why it cannot be, or why it
// may.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod ack_filter;
mod bfd;
mod compression;
mod decimation;
mod device;
mod flows;
mod header;
mod ip;
mod mtu;
mod packet_control;
mod reconstruction;
mod settings;
mod snoop;
mod split;
mod spoofing;
mod tunnel;

pub use ack_filter::{AckFilter, AckFilterSettings, FilterRule};
pub use bfd::{BfdControl, BfdSession, BfdSettings, BfdState, CONTROL_BYTES};
pub use compression::{
    Coded, Compressor, CompressorCounters, Decompressor, DecompressorCounters, Feedback,
    HeaderCompression, Restored, RohcSettings, RohcUnidirectionalSettings, ScpsSettings, Seen,
    VjSettings,
};
pub use decimation::{AckDecimationSettings, Decimation};
pub use device::AnyDevice;
pub use header::{Address, Endpoints, Header, SackBlocks, Visible, is_after, is_before};
pub use mtu::{Icmp, Mtu};
pub use packet_control::{PacketControl, PacketControlSettings};
pub use reconstruction::{AckReconstructionSettings, Reconstruction};
pub use settings::Middlebox;
pub use snoop::{Snoop, SnoopSettings};
pub use split::{
    Accept, Admission, Admitted, AtLimit, Bucket, BucketSettings, Known, Measured, Meter, Metered,
    Policy, Preset, Relay, SideName, SplitLimits, SplitSide, Step, Verdict, conduct,
};
pub use spoofing::{Spoofing, SpoofingSettings};
pub use tunnel::{
    EspSettings, Flights, MasqueMethod, MasqueSettings, Message, OpenvpnSettings, SetUp,
    SetUpAction, Tunnel, WireguardSettings,
};

use link::Mechanism;

/// The mechanisms of this crate, for `bentpipe path`.
pub fn mechanisms() -> Vec<&'static Mechanism> {
    let of_links = [&mtu::ABOUT].into_iter().chain(compression::mechanisms());
    let middleboxes = Middlebox::all();
    let middleboxes = middleboxes.iter().map(Middlebox::about);
    of_links.chain(middleboxes).chain(Preset::mechanisms()).chain(tunnel::mechanisms()).collect()
}

#[cfg(test)]
mod tests;
