//! Planted faults: each spoils what one step of an examination gives, as a defect in it would.

use recording::Recording;

/// A defect that an examination must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is what its name says")]
pub enum Fault {
    GoodputAboveThroughput,
    UtilisationAboveOne,
    SrttBelowMinimum,
    NotANumber,
    ByteLost,
    PacketDeliveredTwice,
    CompletedAndAborted,
    CounterRunsBack,
    TimeRunsBack,
    OracleSeesLongerDelay,
    SecondRunDiffers,
    SeedUseMissed,
    ObserverDisturbs,
    BoundTooLow,
    SaidToBeFixed,
    SavedWithoutLastRow,
    SavedWithFewerDigits,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 17] = [
        Self::GoodputAboveThroughput,
        Self::UtilisationAboveOne,
        Self::SrttBelowMinimum,
        Self::NotANumber,
        Self::ByteLost,
        Self::PacketDeliveredTwice,
        Self::CompletedAndAborted,
        Self::CounterRunsBack,
        Self::TimeRunsBack,
        Self::OracleSeesLongerDelay,
        Self::SecondRunDiffers,
        Self::SeedUseMissed,
        Self::ObserverDisturbs,
        Self::BoundTooLow,
        Self::SaidToBeFixed,
        Self::SavedWithoutLastRow,
        Self::SavedWithFewerDigits,
    ];

    /// Spoils the result of every engine alike, so that only an invariant can find it.
    pub(crate) fn spoil(self, recording: &mut Recording) {
        let Some(flow) = recording.flows.first_mut() else { return };
        let Some(link) = recording.links.first_mut() else { return };
        let series = &mut recording.flow_series;
        match self {
            Self::GoodputAboveThroughput => flow.goodput_bps = 1.01 * flow.throughput_bps + 1.0,
            Self::UtilisationAboveOne => link.utilisation += 1.0,
            Self::SrttBelowMinimum => {
                flow.srtt_ms = flow.min_rtt_ms.map(|min| 0.9 * min - 0.01);
            }
            Self::NotANumber => flow.goodput_bps = f64::NAN,
            Self::ByteLost => flow.bytes = flow.bytes.saturating_sub(1),
            Self::PacketDeliveredTwice => link.delivered_packets += 1,
            Self::CompletedAndAborted => flow.aborted = true,
            Self::CounterRunsBack => {
                if let [.., before, last] = series.sent_bytes.as_mut_slice() {
                    *before = *last + 1;
                }
            }
            Self::TimeRunsBack => {
                if let Some(last) = series.t_s.last_mut() {
                    *last = -1.0;
                }
            }
            Self::OracleSeesLongerDelay
            | Self::SecondRunDiffers
            | Self::SeedUseMissed
            | Self::ObserverDisturbs
            | Self::BoundTooLow
            | Self::SaidToBeFixed
            | Self::SavedWithoutLastRow
            | Self::SavedWithFewerDigits => {}
        }
    }
}
