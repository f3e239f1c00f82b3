//! Feedback from routers before a run: which flows a router gives feedback to, how much, and which
//! links keep a flow from it.

use congestion::{Controller, Protocol};
use transport::QuickStart;
use units::Rate;
use wire::feedback::quick_start;

use super::{Mechanism, Side};
use crate::FlowExplanation;
use crate::about::About;
use crate::settings::{Amount, Setting, with_parameters};
use crate::text::{rate, short};
use crate::warnings::WarningKind as Kind;
use scenario::model::{Feedback, Flow, Scenario};
use scenario::{Hop, Routes};

/// Routers that answer senders in the feedback field of packets.
pub(crate) const MECHANISM: Mechanism =
    Mechanism { key: "feedback", heading: "Feedback", value, details, warnings };

fn value(side: &Side<'_>) -> Option<(Amount, String)> {
    let data =
        |feedback: Feedback| (feedback.name(), serde_json::to_value(feedback).unwrap_or_default());
    Some(with_parameters(side.direction().feedback.map(data)))
}

/// The protocol in which the controller of a flow asks routers for a rate.
fn protocol(flow: &Flow) -> Option<Protocol> {
    flow.controller.build(&flow.transport.plan().controller()).needs().router_feedback
}

/// The protocols in which a flow asks routers for a rate.
pub(crate) fn protocols(flow: &Flow) -> impl Iterator<Item = Protocol> {
    let at_start =
        flow.transport.tcp().and_then(|config| config.quick_start).map(|_| Protocol::QuickStart);
    protocol(flow).into_iter().chain(at_start)
}

/// The rate that Quick-Start asks for where a scenario has `wanted`: the next lower code.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "codes are whole numbers"
)]
pub(crate) fn asked(wanted: Rate) -> Rate {
    Rate::from_bits_per_second(u64::from(QuickStart::asked(wanted) as u32) * 8)
}

/// The flows whose data passes a direction: those that request a rate in the router's protocol,
/// then the rest.
fn passing<'a>(side: &Side<'a>, feedback: Feedback) -> [Vec<&'a FlowExplanation>; 2] {
    let asks = |flow| protocols(flow).any(|protocol| protocol == feedback.protocol());
    let (asking, others): (Vec<_>, Vec<_>) = side.with_data().partition(|(_, flow)| asks(flow));
    [asking, others].map(|flows| flows.into_iter().map(|(explained, _)| explained).collect())
}

fn names(flows: &[&FlowExplanation]) -> String {
    let names: Vec<_> = flows.iter().map(|flow| flow.name.as_str()).collect();
    if names.is_empty() { "no flow".to_owned() } else { names.join(", ") }
}

fn details(side: &Side<'_>) -> Vec<Setting> {
    let direction = side.direction();
    let Some(feedback) = direction.feedback else { return Vec::new() };
    let [asking, _] = passing(side, feedback);
    let rtts = asking.iter().map(|flow| flow.figures.base_rtt_ms);
    let slowest = rtts.max_by(f64::total_cmp);
    let capacity = direction.rate.bits_per_second() as f64;
    let every = slowest.map_or(String::new(), |rtt| format!(", here up to {}ms", short(rtt, 1)));
    let per_interval = |alpha: f64| {
        let given = alpha * capacity;
        let text = format!("at most {} in a control interval, the mean RTT{every}", rate(given));
        (given, text)
    };
    let (given, text) = match feedback {
        Feedback::Xcp(settings) => per_interval(settings.alpha),
        Feedback::PXcp(settings) => per_interval(settings.alpha),
        Feedback::Ebn(settings) => {
            let given = settings.target * capacity;
            (given, format!("at most {} to all, in equal shares", rate(given)))
        }
        Feedback::QuickStart(settings) => {
            let bits = settings.threshold * capacity;
            let given = f64::from(quick_start::round_down(bits / 8.0)) * 8.0;
            let text = format!(
                "at most {} to a request, and less than {} to all",
                rate(given),
                rate(bits)
            );
            (given, text)
        }
    };
    let setting =
        |name: &str, value: f64, text: String| Setting::new(name, Amount::from(value), text, true);
    vec![
        setting("treats", asking.len() as f64, format!("packets of {}", names(&asking))),
        setting("gives", given, text),
        setting("added rate", 0.0, "none: the field adds no bytes in this model".to_owned()),
    ]
}

/// The warnings about a flow that asks routers for a rate.
pub(crate) fn flow(scenario: &Scenario, routes: &Routes, flow: &Flow) -> Vec<(About, String)> {
    let warning = |protocol| incomplete(scenario, routes, flow, protocol);
    protocols(flow).filter_map(warning).collect()
}

/// Obstacle to feedback in `protocol` for a flow.
fn incomplete(
    scenario: &Scenario,
    routes: &Routes,
    flow: &Flow,
    protocol: Protocol,
) -> Option<(About, String)> {
    let hops = routes.path(flow.from, flow.to, &scenario.links);
    let treats = |hop: &&Hop| {
        let feedback = hop.direction(&scenario.links).feedback;
        feedback.is_some_and(|feedback| feedback.protocol() == protocol)
    };
    let (name, otherwise) = match protocol {
        Protocol::Xcp | Protocol::Ebn => (
            flow.controller.entry().name,
            "its sender falls back to standard TCP (slow start and Reno)",
        ),
        Protocol::QuickStart => ("quick_start", "its sender starts with the initial window"),
    };
    let silent = hops.iter().find(|hop| !treats(hop)).map(|hop| {
        let number = hop.link as usize;
        let link = &scenario.links[number].name;
        (About::Link(number), format!("link {link} has no feedback for {name}"))
    });
    // A proxy at the gateway ends the connection before the beam.
    let first = flow.gateways.first().map_or(flow.to, |gateway| gateway.node);
    let beam = [flow.from, first].into_iter().find_map(|end| scenario.beam_of(end));
    let silent = silent.or_else(|| {
        let (number, beam) = beam?;
        let text = format!("beam {} has no feedback for {name}", beam.name);
        Some((About::Node(scenario.beams[number].gateway), text))
    });
    let limited = || {
        let routers = hops.iter().skip(1).map(|hop| hop.from(&scenario.links));
        let found = routers.into_iter().find(|node| scenario.nodes[*node].forwarding.is_some())?;
        let name = &scenario.nodes[found].name;
        let text =
            format!("the forwarding of {name} gives no feedback, and packets may be lost there");
        Some((About::Node(found), text))
    };
    let silent = silent.map(|(about, why)| {
        (about, format!("{why}: {otherwise}, because not all routers on its path answer"))
    });
    silent.or_else(limited)
}

fn warnings(side: &Side<'_>) -> Vec<(Kind, String)> {
    let Some(feedback) = side.direction().feedback else { return Vec::new() };
    let [asking, others] = passing(side, feedback);
    let [asking_back, _] = passing(&side.other(), feedback);
    let name = feedback.name();
    if asking.is_empty() {
        // A key of both directions has its effect in one.
        let is_idle = asking_back.is_empty() && side.hop.forward;
        let who = match feedback.protocol() {
            Protocol::Xcp | Protocol::Ebn => "the controller of no flow on this link",
            Protocol::QuickStart => "the quick_start of no flow on this link",
        };
        let text = format!("{name} has no effect: {who} asks for it");
        return is_idle.then_some((Kind::FeedbackWithoutEffect, text)).into_iter().collect();
    }
    // Quick-Start gives no share, and other flows are only traffic to it.
    let is_shared = feedback.protocol() != Protocol::QuickStart && !others.is_empty();
    let text = || {
        format!(
            "{} share the link with {} and do not follow {name}: they fill the queue, and the others give \
             way",
            names(&others),
            names(&asking)
        )
    };
    is_shared.then(|| (Kind::FeedbackShared, text())).into_iter().collect()
}
