//! The round trip as a receiver sees it (`rcv_rtt_est` of Linux).

use units::{Span, Time};

use super::Arrival;
use crate::timestamps::round_trip;

/// The round trip of an end that may send nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundTrip {
    /// In eighths of a microsecond; 0 while it is not known.
    eighths: u64,
    /// The timestamp that was echoed last.
    echo: Option<u32>,
    /// The measurement of an end without timestamps: the number that ends it, and its start.
    round: Option<(u64, Time)>,
}

impl RoundTrip {
    /// The round trip in whole microseconds, once it is known.
    pub(crate) fn known(&self) -> Option<Span> {
        (self.eighths > 0).then(|| Span::from_nanos(1000 * (self.eighths >> 3)))
    }

    /// A segment has arrived, and a full one has `full` bytes (`tcp_rcv_rtt_measure_ts`, and
    /// without timestamps `tcp_rcv_rtt_measure`).
    pub(crate) fn measure(&mut self, now: Time, arrival: &Arrival, full: u64) {
        let Some(echo) = arrival.echo else {
            return self.measure_window(now, arrival);
        };
        if self.echo.replace(echo) == Some(echo) || arrival.length < full {
            return;
        }
        let sample = micros(round_trip(now, echo));
        if sample == 0 {
            return;
        }
        let scaled = sample << 3;
        self.eighths = if self.eighths == 0 || scaled < self.eighths {
            scaled
        } else {
            self.eighths - (self.eighths >> 3) + sample
        };
    }

    /// A window of data takes a round trip or more: only the smallest counts.
    fn measure_window(&mut self, now: Time, arrival: &Arrival) {
        if let Some((end, since)) = self.round {
            if arrival.next < end {
                return;
            }
            let sample = micros(now.since(since)).max(1) << 3;
            self.eighths = if self.eighths == 0 { sample } else { self.eighths.min(sample) };
        }
        self.round = Some((arrival.edge, now));
    }
}

/// A time in microseconds, rounded down.
fn micros(span: Span) -> u64 {
    span.as_nanos() / 1000
}
