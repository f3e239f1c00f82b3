//! The events of a controller, read-only: times in seconds, amounts in bytes.

use congestion::{Ecn, RecoveryStyle};
use pyo3::prelude::*;
use pyo3::types::PyString;
use units::{Span, Time};

use crate::errors::number_error;
use crate::values::LARGEST;

/// A class for an event of the engine, with a getter for each field, and what more it has.
macro_rules! event {
    ($(#[$about:meta])* $name:ident {
        $($(#[$tells:meta])* $field:ident: $type:ty = $get:expr;)+
    } $({ $($more:tt)+ })?) => {
        $(#[$about])*
        #[pyclass(frozen, module = "bentpipe.controller")]
        pub struct $name(pub congestion::$name);

        #[pymethods]
        impl $name {
            $($(#[$tells])*
            #[getter]
            fn $field(&self) -> $type {
                let get: fn(&congestion::$name) -> $type = $get;
                get(&self.0)
            })+

            fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
                describe(slf.as_any(), stringify!($name), &[$(stringify!($field)),+])
            }

            $($($more)+)?
        }
    };
}

fn describe(event: &Bound<'_, PyAny>, name: &str, fields: &[&str]) -> PyResult<String> {
    let values: PyResult<Vec<_>> = fields
        .iter()
        .map(|field| {
            let value = event.getattr(PyString::new(event.py(), field))?;
            Ok(format!("{field}={}", value.repr()?))
        })
        .collect();
    Ok(format!("{name}({})", values?.join(", ")))
}

/// The argument `name`, a time in seconds.
fn time_s(name: &str, value: f64) -> PyResult<Span> {
    match (0.0..=1e9).contains(&value) {
        true => Ok(Span::from_secs_f64(value)),
        false => Err(number_error(name, "a number of seconds from 0 to 1000000000", value)),
    }
}

/// The argument `now_s`.
fn time(now_s: f64) -> PyResult<Time> {
    Ok(Time::ZERO + time_s("now_s", now_s)?)
}

/// The argument of a time that may be missing.
fn span(name: &str, seconds: Option<f64>) -> PyResult<Option<Span>> {
    seconds.map(|seconds| time_s(name, seconds)).transpose()
}

fn seconds(span: Option<Span>) -> Option<f64> {
    span.map(Span::as_secs_f64)
}

event! {
    /// ACK for new data outside of loss recovery; amounts in bytes.
    ///
    /// This, `Loss` and `PartialAck` can be made to try a controller without a run.
    Ack {
        /// Arrival time in seconds of the run.
        now_s: f64 = |ack| ack.now.as_secs_f64();
        /// Newly acknowledged bytes.
        acked: u64 = |ack| ack.acked;
        /// Flight size after this ACK.
        flight: u64 = |ack| ack.flight;
        /// Advertised window of the receiver.
        advertised: u64 = |ack| ack.advertised;
        /// Smoothed round-trip time in seconds; None before the first sample.
        srtt_s: Option<f64> = |ack| seconds(ack.srtt);
        /// Minimum round-trip time of the connection in seconds; None before the first sample.
        ///
        /// A controller with `on_rtt` or `on_feedback` has the smallest sample of data there. For
        /// others it is that of the retransmission timer, which has a sample of the handshake too.
        min_rtt_s: Option<f64> = |ack| seconds(ack.min_rtt);
        /// True if cwnd limited the sender (RFC 7661).
        cwnd_limited: bool = |ack| ack.cwnd_limited;
    } {
        /// For trying a controller without a run, as the constructors below.
        #[new]
        #[pyo3(signature = (acked, *, now_s = 0.0, flight = 0, advertised = LARGEST, srtt_s = None, min_rtt_s = None, cwnd_limited = true))]
        fn new(
            acked: u64,
            now_s: f64,
            flight: u64,
            advertised: u64,
            srtt_s: Option<f64>,
            min_rtt_s: Option<f64>,
            cwnd_limited: bool,
        ) -> PyResult<Self> {
            Ok(Self(congestion::Ack {
                now: time(now_s)?,
                acked,
                flight,
                advertised,
                srtt: span("srtt_s", srtt_s)?,
                min_rtt: span("min_rtt_s", min_rtt_s)?,
                cwnd_limited,
            }))
        }
    }
}

event! {
    /// Loss detected by recovery, an ECN mark, or a retransmission timeout.
    Loss {
        /// Time of detection in seconds of the run.
        now_s: f64 = |loss| loss.now.as_secs_f64();
        /// Flight size in bytes at that time.
        flight: u64 = |loss| loss.flight;
        /// True if the retransmission of the same data timed out before (RFC 5681 section 3.1).
        repeated: bool = |loss| loss.repeated;
    } {
        #[new]
        #[pyo3(signature = (flight, *, now_s = 0.0, repeated = false))]
        fn new(flight: u64, now_s: f64, repeated: bool) -> PyResult<Self> {
            Ok(Self(congestion::Loss { now: time(now_s)?, flight, repeated }))
        }
    }
}

event! {
    /// ACK for new data in recovery that leaves some of the old data unacknowledged.
    PartialAck {
        /// Newly acknowledged bytes.
        acked: u64 = |partial| partial.acked;
        /// True if recovery inflates cwnd (RFC 6582); otherwise it counts a pipe (RFC 6675).
        inflates: bool = |partial| partial.style == RecoveryStyle::Inflation;
    } {
        #[new]
        #[pyo3(signature = (acked, *, inflates = true))]
        fn new(acked: u64, inflates: bool) -> Self {
            let style = if inflates { RecoveryStyle::Inflation } else { RecoveryStyle::Pipe };
            Self(congestion::PartialAck { acked, style })
        }
    }
}

event! {
    /// Information from any ACK: for new data or a duplicate, in recovery or not.
    ///
    /// Amounts in bytes; positions count the bytes of the stream.
    Feedback {
        /// Arrival time in seconds of the run.
        now_s: f64 = |feedback| feedback.now.as_secs_f64();
        /// Newly acknowledged bytes, cumulatively.
        acked: u64 = |feedback| feedback.acked;
        /// Newly acknowledged bytes, by SACK blocks.
        sacked: u64 = |feedback| feedback.sacked;
        /// True for a duplicate ACK.
        duplicate: bool = |feedback| feedback.duplicate;
        /// True if it arrived in recovery, or before what a timeout found outstanding was acked.
        recovering: bool = |feedback| feedback.recovering;
        /// Round-trip time measured by this ACK, in seconds.
        round_trip_s: Option<f64> = |feedback| seconds(feedback.round_trip);
        /// Smoothed round-trip time in seconds, including this sample.
        srtt_s: Option<f64> = |feedback| seconds(feedback.srtt);
        /// Minimum round-trip time of the connection in seconds, including this sample.
        min_rtt_s: Option<f64> = |feedback| seconds(feedback.min_rtt);
        /// Position up to which everything is acknowledged.
        ///
        /// A round trip ends when it reaches the value of `sent` at its start.
        acknowledged: u64 = |feedback| feedback.acknowledged;
        /// Position after the last byte sent.
        sent: u64 = |feedback| feedback.sent;
        /// Estimated bytes in the network after this ACK (RFC 6675 section 4).
        pipe: u64 = |feedback| feedback.pipe;
        /// Advertised window of the receiver.
        advertised: u64 = |feedback| feedback.advertised;
        /// TSval in milliseconds of the receiver's clock, when timestamps are in use (RFC 7323).
        peer_clock_ms: Option<u32> = |feedback| feedback.peer_clock;
        /// True if the receiver echoes an ECN mark (RFC 3168 section 6.1.3).
        marked: bool = |feedback| feedback.marked;
        /// Bytes that arrived marked; the exact number with accurate ECN (RFC 9768).
        marked_bytes: u64 = |feedback| feedback.marked_bytes;
        /// Bytes that the receiver reports as received twice (RFC 2883).
        needless: u64 = |feedback| feedback.needless;
        /// When the first unacknowledged segment was last sent; for those that need records.
        head_sent_s: Option<f64> = |feedback| feedback.head_sent.map(Time::as_secs_f64);
        /// A sample of the delivery rate, when this ACK delivers; for those that need records.
        rate: Option<RateSample> = |feedback| feedback.rate.map(RateSample);
    }
}

event! {
    /// Delivery rate between a segment and its ACK; amounts in bytes.
    ///
    /// Source: draft-ietf-ccwg-bbr section 4.1.
    RateSample {
        /// Bytes per second; None if the interval is too short.
        rate: Option<f64> = |sample| sample.rate;
        /// Bytes delivered over the whole connection, including this ACK.
        delivered: u64 = |sample| sample.delivered;
        /// Bytes delivered when the segment was sent.
        prior_delivered: u64 = |sample| sample.prior_delivered;
        /// Bytes lost between the transmission of the segment and this ACK.
        lost: u64 = |sample| sample.lost;
        /// Bytes in the network right after the segment was sent.
        in_flight_when_sent: u64 = |sample| sample.in_flight_when_sent;
        /// True if the application may have limited the rate.
        app_limited: bool = |sample| sample.app_limited;
    }
}

event! {
    /// Segment that was detected as lost; amounts in bytes.
    LostSegment {
        /// Time of detection in seconds of the run.
        now_s: f64 = |lost| lost.now.as_secs_f64();
        /// Time of its last transmission in seconds of the run.
        sent_at_s: f64 = |lost| lost.sent_at.as_secs_f64();
        /// Length.
        bytes: u64 = |lost| lost.bytes;
        /// Bytes in the network right after it was sent.
        in_flight_when_sent: u64 = |lost| lost.in_flight_when_sent;
        /// Bytes lost since it was sent, including its own.
        lost_since_sent: u64 = |lost| lost.lost_since_sent;
        /// True if the application may have limited the sender when it was sent.
        app_limited: bool = |lost| lost.app_limited;
    }
}

event! {
    /// Hint that the path changes, as in a hand-over. It may be late, early or missing.
    PathChange {
        /// Time of the hint in seconds of the run.
        now_s: f64 = |change| change.now.as_secs_f64();
        /// Its kind: "coming" before the change, "done" at it.
        kind: &'static str = |change| change.kind.name();
        /// Time of the change in seconds of the run, as the source takes it to be.
        at_s: f64 = |change| change.at.as_secs_f64();
        /// Number of the phase of the path that begins; the first hint is about phase 1.
        phase: u64 = |change| change.phase;
    }
}

event! {
    /// Segment that has just been sent; amounts in bytes.
    Sent {
        /// Time of transmission in seconds of the run.
        now_s: f64 = |sent| sent.now.as_secs_f64();
        /// Length.
        bytes: u64 = |sent| sent.bytes;
        /// True for a retransmission.
        again: bool = |sent| sent.again;
        /// Position in the stream after the last byte sent.
        sent: u64 = |sent| sent.sent;
        /// Bytes in the network before it was sent.
        pipe_before: u64 = |sent| sent.pipe_before;
    }
}

/// Events and features that a controller needs in addition to standard TCP.
#[pyclass(frozen, get_all, module = "bentpipe.controller")]
#[derive(Default)]
pub struct Needs {
    /// `on_feedback` for each ACK and `on_sent` for each segment.
    feedback: bool,
    /// Records of segments: `Feedback.rate`, `Feedback.head_sent_s`, `on_segment_lost`.
    records: bool,
    /// Pacing at `pacing_rate`.
    pacing: bool,
    /// ECN: routers may mark packets instead of dropping them (RFC 3168).
    marks: bool,
    /// DSACK: the receiver reports data that arrived twice (RFC 2883).
    duplicate_reports: bool,
    /// Cwnd in recovery is left to it, where others are reduced proportionally (RFC 9937).
    own_recovery: bool,
    /// `on_path_change`, for flows with `path_hints`.
    path_changes: bool,
}

impl From<&Needs> for congestion::Needs {
    fn from(needs: &Needs) -> Self {
        let Needs {
            feedback,
            records,
            pacing,
            marks,
            duplicate_reports,
            own_recovery,
            path_changes,
        } = *needs;
        Self {
            feedback,
            records,
            pacing,
            marks: if marks { Ecn::Classic } else { Ecn::Off },
            duplicate_reports,
            own_recovery,
            probes: false,
            router_feedback: None,
            utilisation: false,
            path_changes,
            tcp: false,
            round_trips: false,
        }
    }
}

#[pymethods]
impl Needs {
    #[new]
    #[pyo3(signature = (*, feedback = false, records = false, pacing = false, marks = false, duplicate_reports = false, own_recovery = false, path_changes = false))]
    fn new(
        feedback: bool,
        records: bool,
        pacing: bool,
        marks: bool,
        duplicate_reports: bool,
        own_recovery: bool,
        path_changes: bool,
    ) -> Self {
        Self { feedback, records, pacing, marks, duplicate_reports, own_recovery, path_changes }
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        const FIELDS: [&str; 7] = [
            "feedback",
            "records",
            "pacing",
            "marks",
            "duplicate_reports",
            "own_recovery",
            "path_changes",
        ];
        describe(slf.as_any(), "Needs", &FIELDS)
    }
}
