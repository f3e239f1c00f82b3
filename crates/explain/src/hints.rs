//! Hints that the path changes, before a run: how many a flow gets, and flows to which they make no
//! difference.

use congestion::Controller as _;
use link::Seed;
use scenario::model::{Flow, HintSource, Scenario};
use scenario::{Routes, path_changes, path_hints};
use units::Time;

use super::settings::Setting;

/// Returns true if a setting of a flow is none of its hints, or one that its source takes.
pub(crate) fn has_effect(flow: &Flow, name: &str) -> bool {
    let Some(key) = name.strip_prefix("path_hints.") else { return true };
    flow.path_hints.map_or(key == "source", |hints| hints.source.takes(key))
}

/// Completes the source by the hints of a run with the seed of the scenario.
pub(crate) fn describe(
    scenario: &Scenario,
    routes: &Routes,
    flow: &Flow,
    settings: &mut [Setting],
) {
    if flow.path_hints.is_none() {
        return;
    }
    let Some(setting) = settings.iter_mut().find(|one| one.name == "path_hints.source") else {
        return;
    };
    let all = path_changes(scenario, routes, flow, &Seed::new(scenario.seed));
    let since_start = |time: Time| time.since(Time::ZERO);
    if let Some(hints) = path_hints(scenario, routes, flow, &Seed::new(scenario.seed)) {
        let (announced, seed, all) = (hints.changes().len() / 2, scenario.seed, all.len());
        setting.text += &format!(", hints about {announced} of {all} changes with seed {seed}");
        if let Some(first) = hints.changes().first() {
            let [now, at] = [first.now, first.at].map(since_start);
            setting.text += &format!(", the first at {now} about a change at {at}");
        }
    } else {
        setting.text += &format!(", to find {} changes with seed {}", all.len(), scenario.seed);
        if let Some(first) = all.first() {
            setting.text += &format!(", the first at {}", since_start(*first));
        }
    }
    if !listens(flow) {
        setting.text += &format!(", which {} ignores", flow.controller.entry().name);
    }
}

/// Returns true if the controller acts on hints.
fn listens(flow: &Flow) -> bool {
    flow.controller.build(&flow.transport.plan().controller()).needs().path_changes
}

/// Hints that change nothing.
pub(crate) fn without_effect(scenario: &Scenario, routes: &Routes, flow: &Flow) -> Option<String> {
    let hints = flow.path_hints.as_ref()?;
    let controller = flow.controller.entry().name;
    if !listens(flow) {
        return Some(format!(
            "path_hints has no effect: the controller {controller} ignores hints"
        ));
    }
    if !path_changes(scenario, routes, flow, &Seed::new(scenario.seed)).is_empty() {
        return None;
    }
    Some(match hints.source {
        HintSource::Schedule { threshold } => format!(
            "path_hints has no effect: the delay of no link on its path makes a step of {threshold} or more"
        ),
        HintSource::Detector { threshold, .. } => format!(
            "each detection is a false alarm: the delay of no link on its path makes a step of {threshold} or more"
        ),
        HintSource::Clock { .. } => {
            "path_hints has no effect: the run ends before the first change of the clock".to_owned()
        }
    })
}

/// A controller that acts on hints and gets none.
pub(crate) fn missing(flow: &Flow) -> Option<String> {
    let takes = flow.protocol().takes_controller() && !flow.transport.has_quinns_controller();
    (takes && flow.path_hints.is_none() && listens(flow)).then(|| {
        let controller = flow.controller.entry().name;
        format!(
            "{controller} acts on hints that the path changes, and gets none without path_hints"
        )
    })
}
