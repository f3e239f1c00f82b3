//! Warnings about time: applications that need longer than they have, and stops after the end of
//! what they stop.

use scenario::model::{Flow, Scenario};
use units::Span;

/// An application that is cut short by the end of the run, or by the stop of its flow. Lengths of
/// sessions are drawn.
pub(crate) fn cut_short(scenario: &Scenario, flow: &Flow) -> Option<String> {
    let (least, part) = flow.traffic.least_time().filter(|_| flow.sessions.is_none())?;
    let end = flow.stop.unwrap_or(scenario.duration).min(scenario.duration);
    let time = end.saturating_sub(flow.start);
    (least > time && time > Span::ZERO)
        .then(|| format!("cannot complete: {part} takes at least {least}, and it has {time}"))
}

/// A stop of an application that loads one page: it only keeps further pages from starting.
pub(crate) fn idle_stop(scenario: &Scenario, flow: &Flow) -> Option<String> {
    let stop = flow.stop.filter(|stop| *stop < scenario.duration)?;
    let loading = flow.traffic.loading()?;
    (loading.pages == Some(1) && flow.sessions.is_none()).then(|| {
        format!(
            "the stop at {stop} has no effect: a page that is loading is loaded to its end, and no other follows"
        )
    })
}
