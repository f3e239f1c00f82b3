//! Settings of a connection.

use units::{Bytes, Rate, Span};

use crate::packet::{CONTROL, HEADER, Traffic};

/// How a sender repairs a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "kebab-case"), schemars(inline))]
pub enum Retransmission {
    /// The receiver keeps data above a gap and reports its spans, and the sender repairs their
    /// complement.
    #[default]
    Selective,
    /// The receiver drops data above a gap, and the sender goes back to the first missing byte.
    GoBackN,
}

/// XTP settings of one end. The values of timers and the burst are our choice, unless their
/// description says otherwise.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, deny_unknown_fields))]
pub struct Config {
    /// Largest payload of a DATA in bytes, the same at both ends.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub mss: u32,
    /// Receive buffer.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub receive_buffer: Bytes,
    /// The application reads at once; otherwise it calls
    /// [`read`](transport::Endpoint::read).
    #[cfg_attr(feature = "schema", serde(skip))]
    pub reads_at_once: bool,
    /// Packets that an end may send before the other end has granted a window.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub initial_window: u32,
    /// Length of the IP header, which counts for the rate.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub ip_header: u16,
    /// RATE: the largest rate at which data packets leave, with their headers and that of IP. Each
    /// end also takes no more. Default: only the receive buffer limits a sender, which sends all of
    /// it at once.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1kbit/s")))]
    pub rate: Option<Rate>,
    /// BURST: bytes that leave at once, in each interval of burst / rate. Requires `rate`. Default:
    /// one full packet.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1B")))]
    pub burst: Option<Bytes>,
    /// How losses are repaired: `"selective"`, from the spans of the receiver, or `"go-back-n"`.
    pub retransmission: Retransmission,
    /// FASTNAK: the receiver reports a gap when it detects it, and not only when it is asked.
    pub fast_nak: bool,
    /// Time between the requests (SREQ) of a sender. Default: the smoothed round-trip time, and 10
    /// ms at least. One request in each round trip is the model of SkyX.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub request_interval: Option<Span>,
    /// WTIMER before the first round-trip time is known: the time after an unanswered request at
    /// which the synchronising handshake begins. Later it is twice the smoothed round-trip time,
    /// and 10 ms at least.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub wtimer: Span,
    /// CTIMER: the time without an arriving packet after which an end begins a synchronising
    /// handshake.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub ctimer: Span,
    /// CTIMEOUT: the time after which a set-up, a synchronising handshake or a close without an
    /// answer is given up. A longer outage of the link ends the connection.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub ctimeout: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1460,
            receive_buffer: Bytes(4 << 20),
            reads_at_once: true,
            initial_window: 10,
            ip_header: 20,
            rate: None,
            burst: None,
            retransmission: Retransmission::Selective,
            fast_nak: true,
            request_interval: None,
            wtimer: Span::from_secs(2),
            ctimer: Span::from_secs(60),
            ctimeout: Span::from_secs(60),
        }
    }
}

impl Config {
    /// Length of a CNTL, without the header of IP.
    pub const ACK: u64 = (HEADER + CONTROL) as u64;

    /// Length of a full packet with the header of IP. A burst has at least one.
    pub fn full_packet(&self) -> u64 {
        u64::from(self.mss) + u64::from(HEADER) + u64::from(self.ip_header)
    }

    /// RATE in bytes per second.
    pub(crate) fn bytes_per_second(&self) -> Option<u64> {
        self.rate.map(|rate| rate.bits_per_second().div_ceil(8))
    }

    /// BURST in bytes.
    pub(crate) fn burst_bytes(&self) -> u64 {
        self.burst.map_or(0, Bytes::get).max(self.full_packet())
    }

    /// The traffic specifier of this end.
    pub(crate) fn traffic(&self) -> Traffic {
        let field = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let Some(rate) = self.bytes_per_second().map(field) else { return Traffic::default() };
        let burst = field(self.burst_bytes());
        Traffic { in_rate: rate, in_burst: burst, out_rate: rate, out_burst: burst }
    }

    /// Bytes by which the header of IP is longer than that of IPv4.
    pub(crate) fn ip_extra(&self) -> u8 {
        u8::try_from(self.ip_header.saturating_sub(20)).unwrap_or(u8::MAX)
    }
}
