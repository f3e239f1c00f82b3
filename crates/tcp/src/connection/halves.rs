//! Both halves of a connection, and what the headers of their segments have in common: sequence
//! numbers, options and timestamps. `arrival` and `departure` have most of what they do.

use std::sync::Arc;

use congestion::{AnyController, Controller, Ecn};
use transport::Space;

use crate::config::{Config, Recovery};
use crate::receiver::Receiver;
use crate::segment::{Flags, Options, TIMESTAMPS_BYTES};
use crate::sender::Sender;

/// Flags that make a segment unusual if they are set, and ACK, without which it is unusual too.
const ORDINARY_BITS: u8 = Flags::SYN.0 | Flags::RST.0 | Flags::ACK.0 | Flags::FIN.0 | Flags::CWR.0;

/// Largest window without window scaling.
const UNSCALED: u64 = u16::MAX as u64;

/// The options that both ends use; before the set-up those that this end offers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    /// Window scale option (RFC 7323 section 2).
    pub(crate) scaling: bool,
    /// Timestamps option (RFC 7323 section 3).
    pub(crate) timestamps: bool,
    /// SACK (RFC 2018).
    pub(crate) sack: bool,
    /// Reports of data that has arrived twice (RFC 2883).
    pub(super) dsack: bool,
    pub(crate) ecn: Ecn,
    /// Options of data segments once both ends have agreed on ECN.
    pub(super) ect: Options,
    /// Window scale of this end (RFC 7323 section 2.2).
    pub(crate) shift: u8,
    /// Window scale of the other end.
    pub(crate) peer_shift: u8,
    /// Largest window that the window field can carry, in bytes.
    pub(super) window_limit: u64,
    /// MSS option of the other end; 0 without one.
    pub(super) peer_mss: u16,
}

impl Agreed {
    /// The options that an end offers.
    fn offered(config: &Config, controller: &AnyController) -> Self {
        let needs = controller.needs();
        let ecn = config.ecn.max(needs.marks);
        Self {
            scaling: config.window_scaling,
            timestamps: config.timestamps,
            sack: config.recovery.has_sack(),
            // RFC 9768 section 3.1.1 requires it with accurate ECN and SACK.
            dsack: config.dsack
                || needs.duplicate_reports
                || config.recovery == Recovery::Linux
                || ecn.is_accurate(),
            ecn,
            ect: Options::default(),
            shift: 0,
            peer_shift: 0,
            window_limit: UNSCALED,
            peer_mss: 0,
        }
    }

    /// Bytes of options in each segment.
    pub(super) fn option_bytes(&self) -> u32 {
        if self.timestamps { TIMESTAMPS_BYTES } else { 0 }
    }
}

/// Both halves, and what their headers have in common.
#[derive(Debug)]
pub(crate) struct Halves {
    pub(crate) agreed: Agreed,
    /// The bits of a segment that make it unusual if they are set, and ACK. None if each mark is
    /// reported or ACKs are controlled: then no segment is ordinary.
    pub(super) ordinary_bits: u8,
    /// Report of marks in each segment: ECE until the other end answers (RFC 3168 section 6.1.3),
    /// ECE of the last data (RFC 8257), or ACE (RFC 9768).
    pub(super) report: Flags,
    /// TS.Recent: the timestamp to echo (RFC 7323 section 4.3).
    pub(super) recent_timestamp: u32,
    pub(super) last_ack_sent: u64,
    pub(crate) out: Space,
    pub(super) inward: Space,
    pub(crate) config: Arc<Config>,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
}

impl Halves {
    pub(super) fn new(
        config: Arc<Config>,
        controller: AnyController,
        initial_sequence: u32,
    ) -> Self {
        Self {
            agreed: Agreed::offered(&config, &controller),
            ordinary_bits: ORDINARY_BITS,
            report: Flags::default(),
            recent_timestamp: 0,
            last_ack_sent: 0,
            out: Space::new(initial_sequence),
            inward: Space::new(0),
            sender: Sender::new(&config, controller),
            receiver: Receiver::new(&config, UNSCALED),
            config,
        }
    }
}
