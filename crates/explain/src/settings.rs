//! The values of a scenario in its notation, and whether each is a default.

use congestion::{Controller as _, Ecn, Value as ControllerValue};
use language::describe;
use language::shape;
use serde::Serialize;
use serde_json::Value as Json;
use tcp::AckTiming;
use transport::Protocol;
use units::{Bytes, Rate, Span};

use super::hints;
use super::mechanism::{MECHANISMS, Side};
use super::page;
use super::profiles;
use scenario::Written;
use scenario::cached_schema;
use scenario::model::{Distribution, Flow, Scenario, Traffic, Transport};

/// A value of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Its name: `rate`, `transport.rto.min`.
    pub name: String,
    /// The value: quantities as a number in their unit, null for no limit or none.
    pub value: Json,
    /// The unit of the number: `s`, `bit/s`, `B` or `dB`.
    pub unit: Option<&'static str>,
    /// The value for people, with what follows from it.
    pub text: String,
    /// True if the value is a default.
    pub default: bool,
}

impl Setting {
    pub(crate) fn new(
        name: impl Into<String>,
        value: Amount,
        text: impl Into<String>,
        written: bool,
    ) -> Self {
        let (value, unit) = value.0;
        Self { name: name.into(), value, unit, text: text.into(), default: !written }
    }
}

/// A value with its unit.
pub(crate) struct Amount((Json, Option<&'static str>));

impl Amount {
    pub fn decibels(number: f64) -> Self {
        Self((number.into(), Some("dB")))
    }

    pub fn plain(value: impl Into<Json>) -> Self {
        Self((value.into(), None))
    }

    /// A value as it is written in a scenario: texts with a unit become numbers.
    pub(crate) fn written(json: &Json) -> Self {
        let Json::String(text) = json else { return Self((json.clone(), None)) };
        let span = text.parse().map(|span: Span| Self::from(span)).ok();
        let rate = || text.parse().map(|rate: Rate| Self::from(rate)).ok();
        let size = || text.parse().map(|size: Bytes| Self::from(size)).ok();
        span.or_else(rate).or_else(size).unwrap_or(Self::plain(text.as_str()))
    }
}

impl From<f64> for Amount {
    fn from(number: f64) -> Self {
        Self::plain(number)
    }
}

impl From<Span> for Amount {
    fn from(span: Span) -> Self {
        Self((span.as_secs_f64().into(), Some("s")))
    }
}

impl From<Rate> for Amount {
    fn from(rate: Rate) -> Self {
        Self((rate.bits_per_second().into(), Some("bit/s")))
    }
}

impl From<Bytes> for Amount {
    fn from(bytes: Bytes) -> Self {
        Self((bytes.get().into(), Some("B")))
    }
}

/// Settings of the whole scenario.
pub(crate) fn of_scenario(scenario: &Scenario, written: &Written) -> Vec<Setting> {
    let mut settings = Vec::new();
    for key in ["duration", "seed", "ip", "phase", "epoch", "delay_tolerance", "record"] {
        let absent = |_: &str| Some((Amount::plain(Json::Null), "none".into()));
        leaves(&written.document[key], key, key, written, &absent, &mut settings);
    }
    if scenario.phase > Span::ZERO {
        let phase = settings.iter_mut().filter(|setting| setting.name == "phase");
        phase.for_each(|setting| setting.text = phase_text(scenario));
    }
    settings
}

/// The bound of the delay of events, and the delay of this seed.
fn phase_text(scenario: &Scenario) -> String {
    let (most, seed) = (scenario.phase, scenario.seed);
    let delay = scenario.event_delay(&link::Seed::new(seed));
    format!("random: events are up to {most} later than written, {delay} with seed {seed}")
}

/// The keys of a direction in their order.
pub(crate) fn of_direction(side: &Side<'_>) -> Vec<Setting> {
    let (number, name, written) = (side.number(), side.name(), side.written);
    let document = &written.document["link"][number];
    let schema = &cached_schema()["properties"]["link"]["items"]["properties"];
    let setting = |key: &str| {
        let mechanism = MECHANISMS.iter().find(|mechanism| mechanism.key == key);
        let value = mechanism.and_then(|mechanism| (mechanism.value)(side));
        let (value, text) = value.unwrap_or_else(|| {
            let places = [&document[name][key], &document[key], &schema[key]["default"]];
            let value = places.into_iter().find(|value| !value.is_null());
            value.map_or((Amount::plain(Json::Null), "none".into()), |value| {
                (Amount::written(value), describe::plain(value))
            })
        });
        let own = written.contains(&format!("link[{number}].{name}.{key}"));
        Setting::new(key, value, text, own || written.contains(&format!("link[{number}].{key}")))
    };
    shape::keys(&schema[name]).map(setting).collect()
}

/// The value of a mechanism with parameters: its data, and its name with them in alphabetical
/// order. Nothing is "none".
pub(crate) fn with_parameters(named: Option<(&str, Json)>) -> (Amount, String) {
    match named {
        Some((name, data)) => {
            let text = parameters(name, &data);
            (Amount::plain(data), text)
        }
        None => (Amount::plain(Json::Null), "none".into()),
    }
}

/// A mechanism with its parameters, in alphabetical order.
pub(crate) fn parameters(name: &str, values: &Json) -> String {
    let values = values.as_object().into_iter().flatten();
    let parameters = values.filter(|(key, _)| key.as_str() != "name");
    let parameters = parameters.map(|(key, value)| format!("{key} {}", describe::plain(value)));
    format!("{name}, {}", parameters.collect::<Vec<_>>().join(", "))
}

/// Everything that can be set for a flow.
pub(crate) fn of_flow(flow: &Flow, entry: usize, written: &Written) -> Vec<Setting> {
    let mut document = written.document["flow"][entry].clone();
    if let Some(scps) = flow.transport.scps() {
        document["transport"]["scps"] = serde_json::to_value(scps).unwrap_or_default();
    }
    let path = format!("flow[{entry}]");
    let mut settings = Vec::new();
    for (parameter, value) in flow.controller.values().iter() {
        let name = format!("controller.{}", parameter.name);
        let (value, text) = match value {
            ControllerValue::Number(number) => (Amount::plain(*number), format!("{number}")),
            ControllerValue::Word(word) => (Amount::plain(word.as_str()), word.clone()),
        };
        let set = written.contains(&format!("{path}.{name}"));
        settings.push(Setting::new(name, value, text, set));
    }
    let absent = |name: &str| absent(name, flow);
    for key in FLOW_TABLES {
        let path = format!("{path}.{key}");
        leaves(&document[key], key, &path, written, &absent, &mut settings);
    }
    settings.retain(|setting| has_effect(flow.protocol(), &setting.name));
    settings.retain(|setting| !profiles::is_of_ends(flow, &setting.name));
    settings.retain(|setting| hints::has_effect(flow, &setting.name));
    // A host at a link with an MTU has smaller segments than the default, and SCTP has a default of
    // its own.
    let mss = flow.transport.plan().mss();
    let written_mss = settings.iter_mut().find(|setting| setting.name == "transport.mss");
    if let Some(setting) = written_mss.filter(|setting| setting.text != mss.to_string()) {
        let reason = match flow.transport {
            Transport::Sctp(_) => "packets of 1500 bytes",
            _ => "by the MTU of its link or tunnel",
        };
        let text = format!("{mss}, {reason}");
        *setting = Setting::new("transport.mss", Amount::plain(mss), text, true);
    }
    let delayed = settings.iter_mut().find(|setting| setting.name == "transport.delayed_ack");
    if let Some(setting) = delayed
        && let Some(config) = flow.transport.tcp()
        && let AckTiming::Fixed(delayed) = config.delayed_ack
        && setting.text != "off"
    {
        // The short form leaves the number of segments unsaid.
        setting.text += &match config.scps {
            Some(scps) if scps.strictly_delayed => ", by the timer only".to_owned(),
            _ => format!(", {} segments", delayed.segments),
        };
    }
    let quick = settings.iter_mut().find(|setting| setting.name == "transport.quick_start");
    let wanted = flow.transport.tcp().and_then(|config| config.quick_start);
    if let (Some(setting), Some(wanted)) = (quick, wanted) {
        let asked = super::mechanism::feedback::asked(wanted);
        if asked != wanted {
            setting.text += &format!(", asks for {asked}");
        }
    }
    settings
}

/// The keys of a flow that are shown value by value.
pub(crate) const FLOW_TABLES: [&str; 6] =
    ["start", "stop", "path_hints", "sessions", "traffic", "transport"];

/// Values of keys that have neither a written value nor a schema default. A test asks for each such
/// key; `None` is a key that is missing here.
pub(crate) fn absent(name: &str, flow: &Flow) -> Option<(Amount, String)> {
    // Keys that a protocol does not take are left out afterwards.
    let transport = flow.transport.tcp().cloned().unwrap_or_default();
    let word = |word: &str| Some((Amount::plain(Json::Null), word.to_owned()));
    match name {
        "transport.rto.min" => {
            let min = transport.rto.min;
            Some((min.into(), min.to_string()))
        }
        "transport.recovery" => {
            let recovery = transport.recovery.name();
            Some((Amount::plain(recovery), recovery.to_owned()))
        }
        "transport.ecn" => Some(ecn_of_controller(flow)),
        "transport.initial_sequence" => {
            let first = flow.initial_sequence;
            Some((Amount::plain(first), first.to_string()))
        }
        "transport.reader_rate" => word("at once"),
        "transport.receive_buffer.default" | "transport.receive_buffer.max" => {
            let tuning = flow.transport.tcp().and_then(|config| config.receive_tuning);
            let Some(tuning) = tuning else { return word("none") };
            let size = if name.ends_with("max") { tuning.max } else { tuning.default };
            Some((size.into(), size.to_string()))
        }
        "traffic.write" => {
            let tuning = flow.transport.tcp().and_then(|config| config.send_tuning);
            let Some(tuning) = tuning else { return word("none") };
            Some((tuning.write.into(), tuning.write.to_string()))
        }
        "path_hints"
        | "sessions"
        | "transport.careful_resume"
        | "transport.quick_start"
        | "transport.user_timeout" => word("none"),
        "transport.scps.rate" => word("none"),
        "transport.scps.outage_timeouts" => word("never"),
        "transport.scps.best_effort" => word("off"),
        "transport.scps.best_effort.receive_threshold" => word("none"),
        "transport.keep_alive" | "transport.receive_offload" | "transport.sack_compression" => {
            word("off")
        }
        "transport.quic.initial_window" => word("ten packets, at most 14720B"),
        "transport.quic.ack_threshold" => word("none, an ACK of each second packet"),
        "transport.stp.rate" => word("none, the congestion window of the controller"),
        "transport.sctp.paths" => word("one, with the smallest delay"),
        "transport.sctp.message_size" => word("what fits a chunk"),
        "transport.xtp.rate" => word("none, the window"),
        "transport.xtp.burst" => word("one full packet"),
        "transport.xtp.request_interval" => word("the smoothed RTT"),
        "transport.quic.ack_delay" => word("25ms, of the receiver"),
        "stop" => word("never"),
        "traffic.web.pages" => word("until the run ends"),
        "traffic.web.interval" => word("30s, if there are several pages"),
        "traffic.call.bitrate" | "traffic.call.ie" | "traffic.call.bpl" => of_codec(name, flow),
        "traffic.call.duration" | "traffic.messages.count" => word("until the flow stops"),
        "traffic.messages.deadline" => word("none"),
        "traffic.web.connections" | "traffic.web.pipelining" => match &flow.traffic {
            Traffic::Web(web) if name == "traffic.web.connections" => {
                Some((Amount::plain(web.connections), web.connections.to_string()))
            }
            Traffic::Web(web) => Some((Amount::plain(web.pipelining), web.pipelining.to_string())),
            _ => word("none"),
        },
        _ if name.starts_with("traffic.page.") => page::absent(name, flow),
        "traffic.constant.message" | "traffic.on_off.message" => match &flow.traffic {
            Traffic::Constant { message, .. } | Traffic::OnOff { message, .. } => {
                Some(((*message).into(), message.to_string()))
            }
            _ => word("none"),
        },
        "traffic.on_off.shape" => match &flow.traffic {
            Traffic::OnOff { pattern, .. } => match pattern.distribution {
                Distribution::Pareto { shape } => Some((Amount::plain(shape), shape.to_string())),
                Distribution::Exponential | Distribution::Constant => word("none"),
            },
            _ => word("none"),
        },
        _ => None,
    }
}

/// ECN that the controller needs.
fn ecn_of_controller(flow: &Flow) -> (Amount, String) {
    let marks = flow.controller.build(&flow.transport.plan().controller()).needs().marks;
    let (value, text): (Json, _) = match marks {
        Ecn::Off | Ecn::Passive => (false.into(), "false"),
        Ecn::Classic => (true.into(), "true, for the controller"),
        Ecn::EachMark => ("each-mark".into(), "a report of each mark, for the controller"),
        Ecn::Accurate => ("accurate".into(), "accurate, for the controller"),
        Ecn::LowLatency => ("accurate".into(), "accurate and ECT(1), for the controller"),
    };
    (Amount::plain(value), text.to_owned())
}

/// A value that the codec of a call has.
fn of_codec(name: &str, flow: &Flow) -> Option<(Amount, String)> {
    let none = Some((Amount::plain(Json::Null), "none".into()));
    let Traffic::Call(call) = &flow.traffic else { return none };
    if name.ends_with("bitrate") {
        return Some((call.rate().into(), call.rate().to_string()));
    }
    let Some((ie, bpl)) = call.impairment() else {
        return Some((Amount::plain(Json::Null), "none of ITU-T".into()));
    };
    let value = if name.ends_with("ie") { ie } else { bpl };
    Some((value.into(), value.to_string()))
}

/// The single values of `json`, which was read from `path` and is shown under `name`.
fn leaves(
    json: &Json,
    name: &str,
    path: &str,
    written: &Written,
    absent: &dyn Fn(&str) -> Option<(Amount, String)>,
    settings: &mut Vec<Setting>,
) {
    let (value, text) = match json {
        Json::Object(object) => {
            for (key, value) in object {
                let (name, path) = (format!("{name}.{key}"), format!("{path}.{key}"));
                leaves(value, &name, &path, written, absent, settings);
            }
            return;
        }
        Json::Null => absent(name).unwrap_or((Amount::plain(Json::Null), "none".into())),
        value => (Amount::written(value), describe::plain(value)),
    };
    settings.push(Setting::new(name, value, text, written.contains(path)));
}

/// Returns true if a setting of a flow is one of its protocol.
fn has_effect(protocol: Protocol, name: &str) -> bool {
    let Some(name) = name.strip_prefix("transport.") else { return true };
    let key = name.split('.').next().unwrap_or(name);
    let entry = protocol.entry();
    let is_table = Protocol::ALL.iter().any(|one| one.entry().table == Some(key));
    key == "protocol" || entry.table == Some(key) || (!is_table && entry.takes(key))
}

/// Description of the application of a flow.
pub(crate) fn summary(scenario: &Scenario, flow: &Flow) -> String {
    let [from, to] = [flow.from, flow.to].map(|node| &scenario.nodes[node].name);
    let what = flow.traffic.summary(from, to);
    if flow.protocol() == Protocol::Sctp {
        return format!("{what}, congestion control of SCTP");
    }
    let source = if flow.transport.has_quinns_controller() { " of quinn" } else { "" };
    format!("{what}, {}{source}", flow.controller.entry().name)
}

#[cfg(test)]
mod tests {
    use scenario::Loaded;

    use super::*;

    /// A key without a default in the schema has a line in `absent`.
    #[test]
    fn every_key_without_a_default_is_explained() {
        fn visit(schema: &serde_json::Value, name: &str, flow: &Flow) {
            for option in shape::alternatives(schema) {
                for key in shape::keys(option) {
                    let (property, name) = (&option["properties"][key], format!("{name}.{key}"));
                    let required = shape::required(option).any(|one| one == key);
                    if !required && property.get("default").is_none() {
                        assert!(absent(&name, flow).is_some(), "nothing for {name}");
                    }
                    visit(property, &name, flow);
                }
            }
        }
        let loaded = Loaded::load(
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/geo-bursts.toml"),
            &[],
        );
        let flow = &loaded.unwrap().scenario.flows[0];
        let schema = scenario::schema();
        let properties = &schema["properties"]["flow"]["items"]["properties"];
        for key in FLOW_TABLES {
            visit(&properties[key], key, flow);
        }
    }
}
