//! Bytes that a packet takes on the line. All that needs a length on the line gets it here:
//! transmitters, queues with a limit in bytes, ARQ, FEC, demand assignment, routers, token buckets,
//! figures before a run, and the meters of the kernel backend.
//!
//! The order is that of netem's `rate` and of tc-stab(8): first `overhead` is added, then a short
//! packet is padded, and the result is cut into cells, of which the last one is padded.

/// Additions of a link to each packet. They take transmission time and are not corrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// Bytes that are added to each packet: synchronisation, encapsulation, coding.
    pub overhead: u32,
    /// Shortest packet on the line, overhead included; 0 for no padding.
    pub min_packet: u32,
    /// Cells in which packets are sent; `None` for packets as they are.
    pub cells: Option<Cells>,
}

/// Cells of a link, as those of ATM with a payload of 48 bytes and a header of 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Bytes of a packet in each cell; not zero. The last cell is padded.
    pub payload: u32,
    /// Bytes of a cell apart from them.
    pub header: u32,
}

impl Framing {
    /// `overhead` bytes for each packet, and nothing else.
    pub const fn overhead(overhead: u32) -> Self {
        Self { overhead, min_packet: 0, cells: None }
    }

    /// Returns true if packets get overhead and nothing else.
    pub const fn is_plain(&self) -> bool {
        self.min_packet == 0 && self.cells.is_none()
    }

    /// Bytes on the line of a packet of `bytes`.
    #[inline(always)]
    pub fn bytes(&self, bytes: u32) -> u32 {
        let padded = self.plain_bytes(bytes).max(self.min_packet);
        match self.cells {
            None => padded,
            Some(Cells { payload, header }) => padded.div_ceil(payload) * (payload + header),
        }
    }

    /// The same where the framing [is plain](Self::is_plain), at less cost.
    #[inline(always)]
    pub(crate) fn plain_bytes(&self, bytes: u32) -> u32 {
        bytes + self.overhead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I.361: cells of 53 bytes with 48 of payload. RFC 2684 adds 16 bytes in AAL5 with LLC
    /// encapsulation: the 40 bytes of an ACK take two cells, and 1500 bytes 32.
    #[test]
    fn packets_take_whole_cells() {
        let cells = Some(Cells { payload: 48, header: 5 });
        let atm = Framing { overhead: 16, min_packet: 0, cells };
        assert_eq!([32, 33, 40, 1500].map(|bytes| atm.bytes(bytes)), [53, 106, 106, 32 * 53]);
    }

    #[test]
    fn a_short_packet_is_padded_after_its_overhead_and_before_cells() {
        let ethernet = Framing { overhead: 18, min_packet: 64, cells: None };
        assert_eq!([40, 46, 47, 1500].map(|bytes| ethernet.bytes(bytes)), [64, 64, 65, 1518]);
        let cells = Some(Cells { payload: 48, header: 5 });
        assert_eq!(Framing { cells, ..ethernet }.bytes(40), 2 * 53);
        assert!(Framing::overhead(18).is_plain() && !ethernet.is_plain());
    }
}
