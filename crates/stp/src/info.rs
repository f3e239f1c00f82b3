//! Counts that recordings show.

use crate::pdu::Kind;

/// Number of PDUs of each type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pdus([u64; Kind::ALL.len()]);

impl Pdus {
    /// The number of PDUs of type `kind`.
    pub fn of(&self, kind: Kind) -> u64 {
        self.0[kind as usize]
    }

    /// The number of PDUs that report to a sender: STAT and USTAT.
    pub fn reports(&self) -> u64 {
        self.of(Kind::Stat) + self.of(Kind::Ustat)
    }

    #[inline]
    pub(crate) fn count(&mut self, kind: Kind) {
        self.0[kind as usize] += 1;
    }
}
