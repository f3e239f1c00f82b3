//! Events of connections as qlog (draft-ietf-quic-qlog-main-schema, version 0.3, as a JSON text
//! sequence), one trace for each end.
//!
//! The events are quinn's: packets sent, received and lost, and what recovery and congestion
//! control know. Its records are corrected on their way: times are those of the run to the
//! nanosecond and not floats of 32 bits, round-trip times are in milliseconds and not in seconds,
//! each trace names its end and has the list of logs that it comes from, which the schema requires,
//! and the cause of a loss, which quinn 0.11.19 always gives as reordering, is left out.

use std::fmt::{self, Debug};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use quinn_proto::{QlogConfig, QlogStream, Side};
use serde_json::{Map, Value, json};
use units::Time;

use crate::clock::instant;
use crate::logs::LogError;

/// Begins each record (RFC 7464 section 2.2).
const RECORD_SEPARATOR: u8 = 0x1e;
const NANOS_PER_MILLISECOND: f64 = 1e6;
/// quinn's seconds become milliseconds with as many digits as a float of 32 bits may have.
const MICROS_PER_SECOND: f64 = 1e6;
/// Members of an event that quinn gives in seconds.
const ROUND_TRIPS: [&str; 4] = ["min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance"];

/// Where a trace is written.
pub type Sink = Box<dyn Write + Send + Sync>;
/// Function that opens the file of a trace by its name.
type Open = dyn Fn(&str) -> io::Result<Sink> + Send + Sync;

/// The traces of a run.
pub struct Traces {
    open: Box<Open>,
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl Traces {
    /// `open` gives the file of a trace by its name.
    pub fn new(open: impl Fn(&str) -> io::Result<Sink> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), failed: Arc::default() }
    }

    /// The first thing that went wrong since the run began. A trace is complete when its connection
    /// is dropped.
    ///
    /// # Errors
    /// If a file could not be opened or written.
    pub fn finish(&self) -> Result<(), LogError> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        failed.map_or(Ok(()), |error| Err(LogError::Traces(error)))
    }

    /// The trace of an end, which shows the time on `clock`.
    fn begin(&self, of: &Identity, side: Side, clock: Arc<AtomicU64>) -> Option<QlogStream> {
        let role = match side {
            Side::Client => "client",
            Side::Server => "server",
        };
        let Identity { flow, connection } = of;
        let opened = (self.open)(&format!("qlog-{flow}-{connection}-{role}.sqlog"));
        let sink = match opened {
            Ok(sink) => sink,
            Err(error) => {
                note(&self.failed, error);
                return None;
            }
        };
        let writer = Corrector { sink, line: Vec::new(), role, clock, failed: self.failed.clone() };
        let mut config = QlogConfig::default();
        config
            .writer(Box::new(writer))
            .title(Some(format!("flow {flow}, connection {connection}")))
            .start_time(instant(Time::ZERO));
        config.into_stream()
    }
}

impl Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").finish_non_exhaustive()
    }
}

fn note(failed: &Mutex<Option<io::Error>>, error: io::Error) {
    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
}

/// Which connection of a run it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) flow: u32,
    pub(crate) connection: u32,
}

/// The trace of one end, or none.
#[derive(Debug, Default)]
pub(crate) struct Trace(Option<Box<Traced>>);

#[derive(Debug)]
struct Traced {
    traces: Arc<Traces>,
    identity: Identity,
    /// Nanoseconds of the present.
    clock: Arc<AtomicU64>,
}

impl Trace {
    pub(crate) fn of(traces: Arc<Traces>, identity: Identity) -> Self {
        Self(Some(Box::new(Traced { traces, identity, clock: Arc::default() })))
    }

    /// Begins the trace.
    pub(crate) fn stream(&self, side: Side) -> Option<QlogStream> {
        let Traced { traces, identity, clock } = self.0.as_deref()?;
        traces.begin(identity, side, clock.clone())
    }

    /// It is `now`, until the next call.
    #[inline]
    pub(crate) fn on_time(&self, now: Time) {
        if let Some(traced) = &self.0 {
            traced.clock.store(now.as_nanos(), Ordering::Relaxed);
        }
    }
}

/// Corrects the records of one trace.
struct Corrector {
    sink: Sink,
    /// The record that is not complete yet.
    line: Vec<u8>,
    role: &'static str,
    clock: Arc<AtomicU64>,
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl Corrector {
    /// Writes the record of which all bytes are there.
    fn end_record(&mut self) -> io::Result<()> {
        let text = self.line.strip_prefix(&[RECORD_SEPARATOR]).unwrap_or(&self.line);
        let record = serde_json::from_slice(text);
        self.line.clear();
        let mut record: Map<String, Value> = record?;
        match record.get_mut("trace") {
            Some(trace) => {
                trace["vantage_point"] = json!({ "type": self.role });
                // The schema requires the list. These events come from no other log.
                trace["configuration"]["original_uris"] = json!([]);
            }
            None => {
                let nanos = self.clock.load(Ordering::Relaxed);
                correct(&mut record, nanos);
            }
        }
        let mut bytes = vec![RECORD_SEPARATOR];
        serde_json::to_writer(&mut bytes, &record)?;
        bytes.push(b'\n');
        self.sink.write_all(&bytes)
    }
}

/// Corrects an event.
fn correct(event: &mut Map<String, Value>, nanos: u64) {
    event.insert("time".to_owned(), json!(nanos as f64 / NANOS_PER_MILLISECOND));
    let Some(data) = event.get_mut("data").and_then(Value::as_object_mut) else { return };
    for (name, value) in data.iter_mut().filter(|(name, _)| ROUND_TRIPS.contains(&name.as_str())) {
        debug_assert!(value.is_number(), "{name} is {value}");
        if let Some(seconds) = value.as_f64() {
            *value = json!((seconds * MICROS_PER_SECOND).round() / 1000.0);
        }
    }
    data.shift_remove("trigger");
}

impl Write for Corrector {
    /// quinn goes on if a record cannot be written, so the error is kept.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n")
                && let Err(error) = self.end_record()
            {
                note(&self.failed, error);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// The buffer is written, or its loss is known.
impl Drop for Corrector {
    fn drop(&mut self) {
        if let Err(error) = self.sink.flush() {
            note(&self.failed, error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corrected(event: Value, nanos: u64) -> Value {
        let Value::Object(mut event) = event else { panic!("{event}") };
        correct(&mut event, nanos);
        Value::Object(event)
    }

    #[test]
    fn times_are_those_of_the_run_and_round_trips_are_milliseconds() {
        let metrics = json!({ "min_rtt": 0.600_000_02, "congestion_window": 12_000 });
        let event = json!({ "time": 1.0, "name": "recovery:metrics_updated", "data": metrics });
        let metrics = json!({ "min_rtt": 600.0, "congestion_window": 12_000 });
        assert_eq!(
            corrected(event, 1_200_000_000_007),
            json!({ "time": 1_200_000.000_007, "name": "recovery:metrics_updated", "data": metrics })
        );
    }

    #[test]
    fn the_cause_of_a_loss_is_left_out() {
        let data = json!({ "header": { "packet_number": 7 }, "trigger": "reordering_threshold" });
        let event = json!({ "time": 1.0, "name": "recovery:packet_lost", "data": data });
        let data = json!({ "header": { "packet_number": 7 } });
        assert_eq!(corrected(event, 1_000_000)["data"], data);
    }

    /// A sink that takes nothing.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_or_opened_is_reported() {
        let full = |_: &str| -> io::Result<Sink> { Ok(Box::new(Full)) };
        let missing = |_: &str| -> io::Result<Sink> { Err(io::ErrorKind::StorageFull.into()) };
        for traces in [Traces::new(full), Traces::new(missing)] {
            let identity = Identity { flow: 0, connection: 0 };
            drop(traces.begin(&identity, Side::Client, Arc::default()));
            let Err(LogError::Traces(error)) = traces.finish() else { panic!("no error") };
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            assert!(traces.finish().is_ok(), "reported once");
        }
    }
}
