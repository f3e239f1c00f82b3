//! Traces of links before a run: their ends and means.

use link::Trace;
use serde_json::{Value as Json, json};
use units::{Rate, Span};

use super::{Mechanism, Side};
use crate::settings::{Amount, Setting};
use crate::text::{rate, short};
use crate::warnings::WarningKind as Kind;
use scenario::model::{Change, Channel, Direction};

/// The trace.
pub(crate) const TRACE: Mechanism = Mechanism {
    key: "trace",
    value: |side| {
        let (direction, seed) = (side.direction(), side.scenario.seed);
        Some((Amount::plain(data(direction, seed)), text(direction, seed)))
    },
    heading: "Trace",
    details: |side| {
        let notes = side.direction().trace.notes.iter();
        notes.map(|note| Setting::new("note", Amount::plain(note.as_str()), note, true)).collect()
    },
    warnings: |side| {
        let trace = &side.direction().trace;
        let warning = (trace.achieved && trace.mean_rate().is_some()).then(|| {
            let text = "the rates of the trace are those that a flow has achieved, and the capacity is at \
                        least as large: a faster controller cannot be seen on it";
            (Kind::AchievedRate, text.to_owned())
        });
        let gaps = trace.gaps.iter().map(|gap| (Kind::TraceGap, gap.clone()));
        warning.into_iter().chain(gaps).collect()
    },
};

/// The rate: the mean of a trace, or that of a modem at the start.
pub(crate) const RATE: Mechanism =
    Mechanism { key: "rate", value: rate_of_trace, ..Mechanism::PLAIN };

/// The delay: the mean of a trace.
pub(crate) const DELAY: Mechanism = Mechanism {
    key: "delay",
    value: |side| {
        let delay = side.direction().trace.mean_delay()?;
        Some((delay.into(), format!("{}ms (mean of the trace)", short(delay.as_millis_f64(), 1))))
    },
    ..Mechanism::PLAIN
};

fn rate_of_trace(side: &Side<'_>) -> Option<(Amount, String)> {
    let direction = side.direction();
    if let Channel::Acm { acm, .. } = &direction.channel {
        let start = acm.rate().bits_per_second();
        return Some((Amount::plain(start), format!("{} at the start", rate(start as f64))));
    }
    let has_mean = direction.trace.mean_rate().is_some() || direction.trace.silent_share > 0.0;
    let mean = has_mean.then(|| direction.mean_of(direction.rate))?;
    let text = format!("{} (mean of the trace)", rate(mean.bits_per_second() as f64));
    Some((mean.into(), text))
}

/// The smallest and the largest of the values that a trace sets; `None` if it sets none.
fn ends<T: Copy + PartialOrd>(
    trace: &Trace,
    value: impl Fn(&Change) -> Option<T>,
) -> Option<[T; 2]> {
    let values = trace.timeline.changes().iter().filter_map(value).map(|value| [value; 2]);
    values.reduce(|[least, most], [value, _]| {
        [if value < least { value } else { least }, if value > most { value } else { most }]
    })
}

/// A trace as data; null without one.
fn data(direction: &Direction, seed: u64) -> Json {
    let trace = &direction.trace;
    if trace.timeline.is_empty() {
        return Json::Null;
    }
    let (means, rates) = (direction.trace_means(), ends(trace, |change| change.rate));
    let delays = ends(trace, |change| change.delay);
    let losses = ends(trace, |change| change.loss);
    json!({
        "changes": trace.timeline.changes().len(),
        "length_s": trace.lasts.as_secs_f64(),
        "rate_bps": rates.map(|ends| ends.map(Rate::bits_per_second)),
        "mean_rate_bps": rates.map(|_| means.rate),
        "delay_s": delays.map(|ends| ends.map(Span::as_secs_f64)),
        "mean_delay_s": delays.map(|_| means.delay),
        "loss_ratio": losses,
        "mean_loss_ratio": losses.map(|_| means.loss),
        "outage_s": silence(trace).as_secs_f64(),
        "loops": loops(trace),
        "start_s": link::trace_start(&link::Seed::new(seed), trace.phase).as_secs_f64(),
    })
}

fn loops(trace: &Trace) -> bool {
    trace.timeline.changes().iter().any(|change| change.every.is_some())
}

/// All outages of a trace, each once.
fn silence(trace: &Trace) -> Span {
    let outages = trace.timeline.changes().iter().filter_map(|change| change.outage);
    outages.fold(Span::ZERO, |sum, one| sum + one)
}

/// Number and range of the changes, outages, and the time at which the trace begins.
///
/// For example `1432 changes in 2min, rate 120kbit/s to 24Mbit/s (mean 9.21Mbit/s), delay 21ms to
/// 44ms (mean 29.3ms), outages of 1.2s, again and again, from 12.3s on with seed 1`.
fn text(direction: &Direction, seed: u64) -> String {
    let trace = &direction.trace;
    if trace.timeline.is_empty() {
        return "none".into();
    }
    let means = direction.trace_means();
    let rates = ends(trace, |change| change.rate)
        .map(|[least, most]| format!("rate {least} to {most} (mean {})", rate(means.rate)));
    let delays = ends(trace, |change| change.delay).map(|[least, most]| {
        format!("delay {least} to {most} (mean {}ms)", short(means.delay * 1e3, 1))
    });
    let losses = ends(trace, |change| change.loss).map(|[least, most]| {
        let [least, most, mean] = [least, most, means.loss].map(|loss| short(loss * 100.0, 3));
        format!("loss {least} % to {most} % (mean {mean} %)")
    });
    let outages = Some(silence(trace)).filter(|sum| *sum > Span::ZERO);
    let start = link::trace_start(&link::Seed::new(seed), trace.phase);
    let parts = [
        Some(format!("{} changes in {}", trace.timeline.changes().len(), trace.lasts)),
        rates,
        delays,
        losses,
        outages.map(|sum| format!("outages of {sum}")),
        loops(trace).then(|| "again and again".to_owned()),
        (trace.phase > Span::ZERO).then(|| format!("from {start} on with seed {seed}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
