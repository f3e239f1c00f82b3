//! Times that applications take before a run: those that cannot end in the time that they have, and
//! stops that stop nothing.

use scenario::model::{Flow, Scenario, Traffic};
use units::Span;

/// The least time that an application with an end takes, whatever the path does, and the part of it
/// that takes so long. An application without an end has none, and neither have sessions, whose
/// lengths are drawn.
fn least(flow: &Flow) -> Option<(Span, &'static str)> {
    if flow.sessions.is_some() {
        return None;
    }
    let every = |interval: Span, times: u32| interval * u64::from(times.saturating_sub(1));
    match &flow.traffic {
        Traffic::Video(video) => Some((video.played(), "its video")),
        Traffic::Speedtest(test) => {
            let ways = test.duration * 2;
            Some((test.idle + ways + test.pause, "the test"))
        }
        Traffic::Call(call) => Some((call.duration?, "the call")),
        Traffic::Messages(messages) => {
            Some((every(messages.interval, messages.count?), "the last request"))
        }
        traffic @ (Traffic::Web(_) | Traffic::Page(_)) => {
            let loading = traffic.loading().filter(|loading| !loading.is_drawn)?;
            Some((every(loading.interval, loading.pages?), "the start of the last page"))
        }
        Traffic::Download { .. }
        | Traffic::Bulk { .. }
        | Traffic::Constant { .. }
        | Traffic::OnOff { .. } => None,
    }
}

/// An application that is cut short by the end of the run, or by the stop of its flow.
pub(crate) fn cut_short(scenario: &Scenario, flow: &Flow) -> Option<String> {
    let (least, part) = least(flow)?;
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
