//! Headers of generic stream encapsulation (GSE, ETSI TS 102 606-1): a packet goes into a frame as
//! a whole, or in fragments.
//!
//! The sizes are those that implementations of GSE use; the standard itself was not available.

/// Sizes of headers with a label of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gse {
    /// Bytes of the label, which says which terminal a packet is for: 0, 3 or 6.
    pub label: u32,
}

impl Gse {
    /// Header of a whole packet: flags and length, protocol, label.
    pub fn whole(self) -> u32 {
        4 + self.label
    }

    /// Header of the first fragment: also its number and the length of the packet.
    pub fn first(self) -> u32 {
        7 + self.label
    }

    /// Header of a fragment between the first and the last: flags and length, its number.
    pub fn middle(self) -> u32 {
        3
    }

    /// Header of the last fragment, with the checksum of the packet behind it.
    pub fn last(self) -> u32 {
        3 + 4
    }

    /// Share of the data field of frames of `field` bytes that packets of `bytes` fill, if one of
    /// them is cut at the end of each frame: (D - 10) L / (D (L + 7)) with a label of 3 bytes.
    pub fn share(self, field: u32, bytes: u32) -> f64 {
        let cut = self.first() + self.last() - self.whole();
        let (field, bytes) = (f64::from(field), f64::from(bytes));
        (field - f64::from(cut)) / field * bytes / (bytes + f64::from(self.whole()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_costs_ten_bytes() {
        let gse = Gse { label: 3 };
        assert_eq!([gse.whole(), gse.first(), gse.middle(), gse.last()], [7, 10, 3, 7]);
        let expected = (4016.0 - 10.0) * 1500.0 / 1507.0 / 4016.0;
        assert!((gse.share(4016, 1500) - expected).abs() < 1e-12);
    }

    /// SNS3's issue 68: applications have 72,693 of the 78,480 kbit/s of its MAC layer, with 512
    /// bytes over UDP and IP in frames of QPSK 1/2. Its header of a whole packet has 11 bytes, and
    /// that with the longest label here 10. With a label of 3 bytes more is left for applications.
    #[test]
    fn applications_have_the_share_of_sns3_with_its_longer_headers() {
        let share = |label| Gse { label }.share(4016, 540) * 512.0 / 540.0;
        let measured = 72_693.0 / 78_480.0;
        assert!((share(6) - measured).abs() < 0.005, "{}", share(6));
        assert!((share(3) - measured - 0.0075).abs() < 0.0005, "{}", share(3));
    }
}
