//! What a controller is told, to read: times in seconds, amounts in bytes.

use congestion::RecoveryStyle;
use pyo3::prelude::*;
use pyo3::types::PyString;
use units::{Span, Time};

use super::values::LARGEST;

/// A class for an event of the engine, with a getter for each field, and what more it has.
macro_rules! event {
    ($(#[$about:meta])* $name:ident {
        $($field:ident: $type:ty = $get:expr;)+
    } $({ $($more:tt)+ })?) => {
        $(#[$about])*
        #[pyclass(frozen, module = "bentpipe.controller")]
        pub struct $name(pub congestion::$name);

        #[pymethods]
        impl $name {
            $(#[getter]
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

fn time(seconds: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(seconds)
}

fn seconds(span: Option<Span>) -> Option<f64> {
    span.map(Span::as_secs_f64)
}

event! {
    /// An ACK for new data outside of loss recovery.
    Ack {
        now_s: f64 = |ack| ack.now.as_secs_f64();
        acked: u64 = |ack| ack.acked;
        flight: u64 = |ack| ack.flight;
        advertised: u64 = |ack| ack.advertised;
        srtt_s: Option<f64> = |ack| seconds(ack.srtt);
        min_rtt_s: Option<f64> = |ack| seconds(ack.min_rtt);
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
        ) -> Self {
            Self(congestion::Ack {
                now: time(now_s),
                acked,
                flight,
                advertised,
                srtt: srtt_s.map(Span::from_secs_f64),
                min_rtt: min_rtt_s.map(Span::from_secs_f64),
                cwnd_limited,
            })
        }
    }
}

event! {
    /// A loss that recovery found, a mark of congestion, or a retransmission timeout.
    Loss {
        now_s: f64 = |loss| loss.now.as_secs_f64();
        flight: u64 = |loss| loss.flight;
        repeated: bool = |loss| loss.repeated;
    } {
        #[new]
        #[pyo3(signature = (flight, *, now_s = 0.0, repeated = false))]
        fn new(flight: u64, now_s: f64, repeated: bool) -> Self {
            Self(congestion::Loss { now: time(now_s), flight, repeated })
        }
    }
}

event! {
    /// An ACK for new data during recovery that leaves some of the old data unacknowledged.
    PartialAck {
        acked: u64 = |partial| partial.acked;
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
    /// What an ACK tells, be it for new data or a duplicate, in recovery or out of it.
    Feedback {
        now_s: f64 = |feedback| feedback.now.as_secs_f64();
        acked: u64 = |feedback| feedback.acked;
        sacked: u64 = |feedback| feedback.sacked;
        duplicate: bool = |feedback| feedback.duplicate;
        recovering: bool = |feedback| feedback.recovering;
        round_trip_s: Option<f64> = |feedback| seconds(feedback.round_trip);
        srtt_s: Option<f64> = |feedback| seconds(feedback.srtt);
        min_rtt_s: Option<f64> = |feedback| seconds(feedback.min_rtt);
        acknowledged: u64 = |feedback| feedback.acknowledged;
        sent: u64 = |feedback| feedback.sent;
        pipe: u64 = |feedback| feedback.pipe;
        advertised: u64 = |feedback| feedback.advertised;
        peer_clock_ms: Option<u32> = |feedback| feedback.peer_clock;
        marked: bool = |feedback| feedback.marked;
        needless: u64 = |feedback| feedback.needless;
        head_sent_s: Option<f64> = |feedback| feedback.head_sent.map(Time::as_secs_f64);
        rate: Option<RateSample> = |feedback| feedback.rate.map(RateSample);
    }
}

event! {
    /// How fast the network delivered, between the sending of a segment and its acknowledgement.
    RateSample {
        rate: Option<f64> = |sample| sample.rate;
        delivered: u64 = |sample| sample.delivered;
        prior_delivered: u64 = |sample| sample.prior_delivered;
        lost: u64 = |sample| sample.lost;
        in_flight_when_sent: u64 = |sample| sample.in_flight_when_sent;
        app_limited: bool = |sample| sample.app_limited;
    }
}

event! {
    /// A segment that was found to be lost.
    LostSegment {
        now_s: f64 = |lost| lost.now.as_secs_f64();
        bytes: u64 = |lost| lost.bytes;
        in_flight_when_sent: u64 = |lost| lost.in_flight_when_sent;
        lost_since_sent: u64 = |lost| lost.lost_since_sent;
        app_limited: bool = |lost| lost.app_limited;
    }
}

event! {
    /// A segment that has just been sent.
    Sent {
        now_s: f64 = |sent| sent.now.as_secs_f64();
        bytes: u64 = |sent| sent.bytes;
        again: bool = |sent| sent.again;
        sent: u64 = |sent| sent.sent;
        pipe_before: u64 = |sent| sent.pipe_before;
    }
}

/// What a controller needs to be told beyond the ACKs that let standard TCP grow.
#[pyclass(frozen, get_all, module = "bentpipe.controller")]
#[derive(Default)]
pub struct Needs {
    feedback: bool,
    records: bool,
    pacing: bool,
    marks: bool,
    duplicate_reports: bool,
    own_recovery: bool,
}

impl From<&Needs> for congestion::Needs {
    fn from(needs: &Needs) -> Self {
        let Needs { feedback, records, pacing, marks, duplicate_reports, own_recovery } = *needs;
        Self { feedback, records, pacing, marks, duplicate_reports, own_recovery, probes: false }
    }
}

#[pymethods]
impl Needs {
    #[new]
    #[pyo3(signature = (*, feedback = false, records = false, pacing = false, marks = false, duplicate_reports = false, own_recovery = false))]
    fn new(
        feedback: bool,
        records: bool,
        pacing: bool,
        marks: bool,
        duplicate_reports: bool,
        own_recovery: bool,
    ) -> Self {
        Self { feedback, records, pacing, marks, duplicate_reports, own_recovery }
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        const FIELDS: [&str; 6] =
            ["feedback", "records", "pacing", "marks", "duplicate_reports", "own_recovery"];
        describe(slf.as_any(), "Needs", &FIELDS)
    }
}
