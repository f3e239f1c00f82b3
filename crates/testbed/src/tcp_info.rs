//! `TCP_INFO`: the kernel's state of a connection (linux/tcp.h).

use transport::{Counters, Limit, Limits, Sample};
use units::Span;

/// `tcpi_ca_state` in fast recovery.
const RECOVERY: u8 = 3;
/// `tcpi_snd_ssthresh` before it was set.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The part of it that a recording takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    pub(crate) is_recovering: bool,
    pub(crate) rto_us: u32,
    pub(crate) mss: u32,
    pub(crate) unacked_segments: u32,
    pub(crate) srtt_us: u32,
    pub(crate) min_rtt_us: u32,
    /// Bytes that the other end has acknowledged, with SYN and FIN.
    pub(crate) bytes_acked: u64,
    /// Bytes received in order, with FIN.
    pub(crate) bytes_received: u64,
    pub(crate) ssthresh_segments: Option<u32>,
    pub(crate) cwnd_segments: u32,
    pub(crate) retransmitted_segments: u32,
    pub(crate) data_segments_sent: u32,
    /// Microseconds with data to send or to be acknowledged, those of them that the receive window
    /// and the send buffer have limited; `None` before Linux 4.10.
    pub(crate) limited_us: Option<[u64; 3]>,
    pub(crate) bytes_sent: u64,
    /// The window that the other end advertises, in bytes.
    pub(crate) send_window: u32,
    pub(crate) timeouts: u16,
}

impl TcpInfo {
    /// Reads the kernel's structure.
    pub(crate) fn read(info: &[u8]) -> Self {
        let u16_at = |at: usize| u16::from_ne_bytes(bytes(info, at));
        let u32_at = |at: usize| u32::from_ne_bytes(bytes(info, at));
        let u64_at = |at: usize| u64::from_ne_bytes(bytes(info, at));
        let ssthresh = u32_at(76);
        Self {
            is_recovering: bytes::<1>(info, 1) == [RECOVERY],
            rto_us: u32_at(8),
            mss: u32_at(16),
            unacked_segments: u32_at(24),
            srtt_us: u32_at(68),
            ssthresh_segments: (ssthresh < INFINITE_SSTHRESH).then_some(ssthresh),
            cwnd_segments: u32_at(80),
            retransmitted_segments: u32_at(100),
            bytes_acked: u64_at(120),
            bytes_received: u64_at(128),
            min_rtt_us: u32_at(148),
            data_segments_sent: u32_at(156),
            limited_us: (info.len() >= 192).then(|| [168, 176, 184].map(u64_at)),
            bytes_sent: u64_at(200),
            send_window: u32_at(228),
            timeouts: u16_at(240),
        }
    }

    pub(crate) fn cwnd_bytes(&self) -> u64 {
        u64::from(self.cwnd_segments) * u64::from(self.mss)
    }

    fn ssthresh_bytes(&self) -> u64 {
        let bytes = |segments| u64::from(segments) * u64::from(self.mss);
        self.ssthresh_segments.map_or(u64::MAX, bytes)
    }

    /// State of the sender.
    pub(crate) fn sample(&self) -> Sample {
        let micros = |micros: u32| Span::from_nanos(1000 * u64::from(micros));
        Sample {
            cwnd: self.cwnd_bytes(),
            ssthresh: self.ssthresh_bytes(),
            flight: u64::from(self.unacked_segments) * u64::from(self.mss),
            srtt: self.has_rtt().then(|| micros(self.srtt_us)),
            min_rtt: self.has_min_rtt().then(|| micros(self.min_rtt_us)),
            rto: micros(self.rto_us),
        }
    }

    /// Totals of the sender, which has entered fast recovery this number of times.
    pub(crate) fn counters(&self, recoveries: u64) -> Counters {
        Counters {
            segments: self.data_segments_sent.into(),
            retransmissions: self.retransmitted_segments.into(),
            bytes: self.bytes_sent,
            timeouts: self.timeouts.into(),
            // The kernel does not count them.
            restarts: 0,
            fast_recoveries: u32::try_from(recoveries).unwrap_or(u32::MAX),
            // No TCP of the kernel sends any.
            probes: 0,
        }
    }

    /// Time by what held the sender back, as far as the kernel measures it.
    pub(crate) fn limits(&self) -> Option<Limits> {
        let [busy, receive_window, send_buffer] =
            self.limited_us?.map(|micros| Span::from_nanos(micros.saturating_mul(1000)));
        let times = Limit::ALL.map(|limit| match limit {
            Limit::ReceiveWindow => Some(receive_window),
            Limit::SendBuffer => Some(send_buffer),
            _ => None,
        });
        Some(Limits { times, total: Some(busy) })
    }

    /// Returns true if there is an RTT sample.
    fn has_rtt(&self) -> bool {
        self.srtt_us > 0
    }

    fn has_min_rtt(&self) -> bool {
        self.has_rtt() && self.min_rtt_us < u32::MAX
    }

    /// Smoothed RTT; `None` before the first sample.
    pub(crate) fn srtt_ms(&self) -> Option<f64> {
        self.has_rtt().then(|| f64::from(self.srtt_us) / 1e3)
    }

    /// Smallest RTT; `None` before the first sample.
    pub(crate) fn min_rtt_ms(&self) -> Option<f64> {
        self.has_min_rtt().then(|| f64::from(self.min_rtt_us) / 1e3)
    }
}

/// The bytes of a field; zeros where an older kernel has none.
fn bytes<const N: usize>(info: &[u8], at: usize) -> [u8; N] {
    info.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
}
