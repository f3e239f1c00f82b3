//! Feedback from routers before a run: which flows a router gives feedback to, how much, and which links
//! keep a flow from it.

use congestion::{Controller, Protocol};

use super::FlowExplanation;
use super::settings::{Amount, Setting};
use super::text::{rate, short};
use super::warnings::WarningKind as Kind;
use crate::load::Written;
use crate::model::{Feedback, Flow, Scenario};
use crate::routes::{Hop, Routes};

type Explained<'a> = (FlowExplanation, &'a Flow);

/// The protocol in which a flow asks routers for a rate.
pub(crate) fn protocol(flow: &Flow) -> Option<Protocol> {
    flow.controller.build(&flow.transport.controller()).needs().router_feedback
}

/// The flows whose data passes a hop: those that ask in the protocol of its router, and the others.
fn passing<'a>(
    scenario: &Scenario,
    routes: &Routes,
    flows: &'a [Explained<'a>],
    hop: Hop,
    feedback: Feedback,
) -> [Vec<&'a FlowExplanation>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    for (explanation, flow) in flows {
        if routes.path(flow.from, flow.to, &scenario.links).contains(&hop) {
            let is_other = protocol(flow) != Some(feedback.protocol());
            found[usize::from(is_other)].push(explanation);
        }
    }
    found
}

fn names(flows: &[&FlowExplanation]) -> String {
    let names: Vec<_> = flows.iter().map(|flow| flow.name.as_str()).collect();
    if names.is_empty() { "no flow".to_owned() } else { names.join(", ") }
}

/// What the router of a direction will do.
pub(super) fn details(
    scenario: &Scenario,
    routes: &Routes,
    flows: &[Explained<'_>],
    hop: Hop,
) -> Vec<Setting> {
    let direction = hop.direction(&scenario.links);
    let Some(feedback) = direction.feedback else { return Vec::new() };
    let [asking, _] = passing(scenario, routes, flows, hop, feedback);
    let rtts = asking.iter().map(|flow| flow.figures.base_rtt_ms);
    let slowest = rtts.max_by(f64::total_cmp);
    let alpha = match feedback {
        Feedback::Xcp(settings) => settings.alpha,
        Feedback::PXcp(settings) => settings.alpha,
    };
    let given = alpha * direction.rate.bits_per_second() as f64;
    let every = slowest.map_or(String::new(), |rtt| format!(", here up to {}ms", short(rtt, 1)));
    let setting =
        |name: &str, value: f64, text: String| Setting::new(name, Amount::from(value), text, true);
    vec![
        setting("treats", asking.len() as f64, format!("packets of {}", names(&asking))),
        setting(
            "gives",
            given,
            format!("at most {} in a control interval, the mean RTT{every}", rate(given)),
        ),
        setting("added rate", 0.0, "none: the field adds no bytes in this model".to_owned()),
    ]
}

/// The doubt about a flow that asks routers for a rate.
pub(super) fn flow(
    scenario: &Scenario,
    written: &Written,
    routes: &Routes,
    flow: &Flow,
) -> Option<String> {
    let protocol = protocol(flow)?;
    let hops = routes.path(flow.from, flow.to, &scenario.links);
    let treats = |hop: &&Hop| {
        let feedback = hop.direction(&scenario.links).feedback;
        feedback.is_some_and(|feedback| feedback.protocol() == protocol)
    };
    let silent = hops.iter().find(|hop| !treats(hop)).map(|hop| {
        let link = &scenario.links[hop.link as usize];
        let place = written.place_of_link(hop.link as usize);
        format!("{place}link {} has no feedback for {}", link.name, flow.controller.entry().name)
    });
    let limited = || {
        let routers = hops.iter().skip(1).map(|hop| &scenario.nodes[hop.from(&scenario.links)]);
        let found = routers.into_iter().find(|node| node.forwarding.is_some())?;
        Some(format!("the forwarding of {} gives no feedback", found.name))
    };
    match silent {
        Some(why) => Some(format!(
            "{why}: its sender falls back to standard TCP (slow start and Reno), because not all routers \
             on its path answer"
        )),
        None => limited().map(|why| format!("{why}, and packets may be lost there")),
    }
}

/// The doubts about the router of a link in one direction.
pub(super) fn warnings(
    scenario: &Scenario,
    routes: &Routes,
    flows: &[Explained<'_>],
    hop: Hop,
) -> Vec<(Kind, String)> {
    let Some(feedback) = hop.direction(&scenario.links).feedback else { return Vec::new() };
    let [asking, others] = passing(scenario, routes, flows, hop, feedback);
    let back = Hop { forward: !hop.forward, ..hop };
    let [asking_back, _] = passing(scenario, routes, flows, back, feedback);
    let name = feedback.name();
    if asking.is_empty() {
        // A key of both directions has its effect in one.
        let is_idle = asking_back.is_empty() && hop.forward;
        let text =
            format!("{name} has no effect: the controller of no flow on this link asks for it");
        return is_idle.then_some((Kind::FeedbackWithoutEffect, text)).into_iter().collect();
    }
    let text = || {
        format!(
            "{} share the link with {} and do not follow {name}: they fill the queue, and the others give \
             way",
            names(&others),
            names(&asking)
        )
    };
    (!others.is_empty()).then(|| (Kind::FeedbackShared, text())).into_iter().collect()
}
