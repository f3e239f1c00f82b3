//! The values of a scenario in its notation, and whether each is a default.

use congestion::Value as ControllerValue;
use serde::Serialize;
use serde_json::Value as Json;
use units::{Bytes, Span};

use crate::describe;
use crate::load::Written;
use crate::model::{
    Change, Channel, Direction, Distribution, Flow, LowPriority, Mark, QueueLimit, Scenario,
    Traffic,
};

/// A value of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Its name: `rate`, `transport.rto.min`.
    pub name: String,
    /// The value as it would be written.
    pub value: String,
    /// Whether nobody wrote it.
    pub default: bool,
}

impl Setting {
    pub(super) fn new(name: impl Into<String>, value: impl Into<String>, written: bool) -> Self {
        Self { name: name.into(), value: value.into(), default: !written }
    }
}

/// What concerns the whole scenario.
pub(super) fn of_scenario(written: &Written) -> Vec<Setting> {
    let mut settings = Vec::new();
    for key in ["duration", "seed", "ip", "delay_tolerance", "record"] {
        leaves(&written.document[key], key, key, written, &|_| "none".into(), &mut settings);
    }
    settings
}

/// One direction of link number `link`.
pub(super) fn of_direction(
    direction: &Direction,
    link: usize,
    side: &str,
    written: &Written,
) -> Vec<Setting> {
    let setting = |key: &str, value: String| {
        let own = written.contains(&format!("link[{link}].{side}.{key}"));
        Setting::new(key, value, own || written.contains(&format!("link[{link}].{key}")))
    };
    vec![
        setting("rate", direction.rate.to_string()),
        setting("delay", direction.delay.to_string()),
        setting("jitter", jitter(direction.jitter)),
        setting("queue", queue(direction)),
        setting("ecn_marking", direction.ecn_marking.map_or("never".into(), mark)),
        setting("overhead", direction.overhead.to_string()),
        setting("channel", channel(&direction.channel)),
    ]
}

fn jitter(most: Span) -> String {
    if most == Span::ZERO { "none".into() } else { format!("up to {most}") }
}

/// A change of a direction; nothing in it is a default.
pub(super) fn of_change(change: &Change) -> Setting {
    let when = match change.every {
        Some(every) => format!("at {} and every {every}", change.at),
        None => format!("at {}", change.at),
    };
    let what = [
        change.rate.map(|rate| format!("rate {rate}")),
        change.delay.map(|delay| format!("delay {delay}")),
        change.outage.map(|outage| format!("outage of {outage}")),
    ];
    Setting::new(when, what.into_iter().flatten().collect::<Vec<_>>().join(", "), true)
}

fn queue(direction: &Direction) -> String {
    let limit = match direction.queue {
        QueueLimit::Packets(packets) => format!("{packets} packets"),
        QueueLimit::Bytes(bytes) => Bytes(bytes).to_string(),
        QueueLimit::Unlimited => "unlimited".into(),
    };
    match direction.low_priority {
        LowPriority::Ignore => limit,
        LowPriority::PushOut => format!("{limit}, pushes out low priority"),
        LowPriority::Refuse => format!("{limit}, refuses low priority"),
    }
}

fn mark(mark: Mark) -> String {
    format!("above {:?} packets, weight {:?}", mark.packets, mark.weight)
}

fn channel(channel: &Channel) -> String {
    match channel {
        Channel::Perfect => "perfect".into(),
        Channel::PacketErrors { per } => format!("PER {per:?}"),
        Channel::BitErrors { ber, ecc_threshold: 0.0 } => format!("BER {ber:?}"),
        Channel::BitErrors { ber, ecc_threshold } => {
            format!("BER {ber:?}, corrects {ecc_threshold:?}")
        }
        Channel::Bursts(bursts) => format!("bursts, PER {:?}", bursts.mean_loss),
        Channel::Awgn { awgn, .. } => {
            let budget = awgn.budget();
            format!("Eb/N0 {}dB, {}", budget.eb_n0, budget.code.name())
        }
    }
}

/// Everything that can be set for a flow.
pub(super) fn of_flow(flow: &Flow, entry: usize, written: &Written) -> Vec<Setting> {
    let document = &written.document["flow"][entry];
    let path = format!("flow[{entry}]");
    let mut settings = Vec::new();
    for (parameter, value) in flow.controller.values().iter() {
        let name = format!("controller.{}", parameter.name);
        let value = match value {
            ControllerValue::Number(number) => format!("{number}"),
            ControllerValue::Word(word) => word.clone(),
        };
        let set = written.contains(&format!("{path}.{name}"));
        settings.push(Setting::new(name, value, set));
    }
    let absent = |key: &str| absent(key, flow);
    for key in ["start", "stop", "traffic", "transport"] {
        let path = format!("{path}.{key}");
        leaves(&document[key], key, &path, written, &absent, &mut settings);
    }
    let delayed = settings.iter_mut().find(|setting| setting.name == "transport.delayed_ack");
    if let Some(setting) = delayed
        && setting.value != "off"
    {
        // The short form leaves the number of segments unsaid.
        setting.value += &format!(", {} segments", flow.transport.delayed_ack.segments);
    }
    settings
}

/// What holds where nothing was written and the language has no word for it.
fn absent(key: &str, flow: &Flow) -> String {
    match key {
        "min" => flow.transport.rto.min.to_string(),
        "recovery" => flow.transport.recovery.name().into(),
        "initial_sequence" => flow.initial_sequence.to_string(),
        "reader_rate" => "at once".into(),
        "stop" => "never".into(),
        "pages" => "until the run ends".into(),
        "message" | "shape" => of_source(key, &flow.traffic).unwrap_or_else(|| "none".into()),
        _ => "none".into(),
    }
}

/// What a source of constant rate or of bursts does where nothing was written.
fn of_source(key: &str, traffic: &Traffic) -> Option<String> {
    match (key, traffic) {
        ("message", Traffic::Constant { message, .. } | Traffic::OnOff { message, .. }) => {
            Some(message.to_string())
        }
        ("shape", Traffic::OnOff { pattern, .. }) => match pattern.distribution {
            Distribution::Pareto { shape } => Some(shape.to_string()),
            Distribution::Exponential | Distribution::Constant => None,
        },
        _ => None,
    }
}

/// The single values of `json`, which was read from `path` and is shown under `name`.
fn leaves(
    json: &Json,
    name: &str,
    path: &str,
    written: &Written,
    absent: &dyn Fn(&str) -> String,
    settings: &mut Vec<Setting>,
) {
    let value = match json {
        Json::Object(object) => {
            for (key, value) in object {
                let (name, path) = (format!("{name}.{key}"), format!("{path}.{key}"));
                leaves(value, &name, &path, written, absent, settings);
            }
            return;
        }
        Json::Null => absent(name.rsplit('.').next().unwrap_or(name)),
        value => describe::plain(value),
    };
    settings.push(Setting::new(name, value, written.contains(path)));
}

/// What the application of a flow does.
pub(super) fn summary(scenario: &Scenario, flow: &Flow) -> String {
    let [from, to] = [flow.from, flow.to].map(|node| &scenario.nodes[node].name);
    let what = match &flow.traffic {
        Traffic::Download { size, .. } => format!("{to} downloads {size} from {from}"),
        Traffic::Bulk { size: Some(size) } => format!("{from} sends {size} to {to}"),
        Traffic::Bulk { size: None } => format!("{from} sends to {to} without end"),
        Traffic::Web(web) => format!(
            "{to} fetches pages of {} + {} x {} from {from}",
            web.main_object, web.embedded_objects, web.embedded_object
        ),
        Traffic::Constant { rate, .. } => format!("{from} writes {rate} to {to}"),
        Traffic::OnOff { rate, pattern, .. } => format!(
            "{from} writes {rate} to {to} for {} at a time, with {} between, on average",
            pattern.on, pattern.off
        ),
    };
    format!("{what}, {}", flow.controller.entry().name)
}
