//! Random scenarios drawn from the JSON Schema of the language. Nothing here lists the keys: one
//! that the schema has is drawn from the day it is there.
//!
//! A document is drawn key by key. Rules between values, which no schema has, are met by
//! [`repaired`](crate::repaired): what the language refuses is drawn again where it was found, and
//! in the end left out. So most documents are valid whatever the rules are. A document has the
//! tables that the caller wants, so that all pairs of tables come to be drawn, and
//! [`Coverage`](crate::Coverage) counts them.

use std::collections::BTreeSet;

use language::shape::{alternatives, keys, required, type_of, words};
use serde_json::{Map, Value as Json, json};
use transport::Protocol;

use crate::coverage::{has_own_tests, is_orbit, join, label};
use crate::dice::Dice;
use crate::{pages, switch, traces};

/// Draws documents of one schema.
struct Artist<'a> {
    dice: &'a mut Dice,
    nodes: usize,
    /// Tables that the document is to have.
    wanted: Vec<String>,
    names: usize,
}

/// A random document with the tables `wanted`, by the names of [`Coverage`](crate::Coverage). It
/// may break rules that the schema does not have: see [`repaired`](crate::repaired).
pub fn drawn(schema: &Json, wanted: &[String], dice: &mut Dice) -> Json {
    let nodes = 2 + dice.below(4);
    let mut artist = Artist { dice, nodes, wanted: wanted.to_vec(), names: 0 };
    let mut json = artist.value(schema, "", true);
    connect(&mut json, artist.nodes, artist.dice);
    json
}

/// A value of `schema` for a document that exists already.
pub(crate) fn redrawn(schema: &Json, path: &str, dice: &mut Dice) -> Json {
    let mut artist = Artist { dice, nodes: 2, wanted: Vec::new(), names: 1000 };
    artist.value(schema, path, false)
}

impl Artist<'_> {
    fn wants(&self, path: &str) -> bool {
        let inside = |wanted: &String| {
            wanted
                .strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '(']))
        };
        self.wanted.iter().any(inside)
    }

    fn value(&mut self, schema: &Json, path: &str, first: bool) -> Json {
        if is_orbit(path) {
            return orbit(self.dice.chance(0.5), path);
        }
        if path.ends_with(".trace.columns") {
            return traces::columns(alternatives(schema).into_iter().flat_map(keys), self.dice);
        }
        let options = alternatives(schema);
        let mut fitting: Vec<&Json> = Vec::new();
        if first {
            let wanted = options.iter().filter(|option| {
                type_of(option) == "object" && self.wants(&label(option, &options, path))
            });
            fitting.extend(wanted);
        }
        let option = match fitting.as_slice() {
            [] => *self.dice.pick(&options),
            fitting => *self.dice.pick(fitting),
        };
        match type_of(option) {
            "object" => self.table(option, &label(option, &options, path), first),
            "array" => self.list(option, path),
            _ => self.scalar(option, path),
        }
    }

    fn table(&mut self, schema: &Json, path: &str, first: bool) -> Json {
        let must: BTreeSet<_> = required(schema).map(str::to_owned).collect();
        let all: Vec<_> = keys(schema).map(str::to_owned).collect();
        // Some tables nearly empty, some nearly full.
        let fullness = self.dice.unit().powi(2);
        let mut table = Map::new();
        for key in all {
            let inner = join(path, &key);
            if has_own_tests(&inner) {
                continue;
            }
            let wanted = first && self.wants(&inner);
            let is_needed = must.contains(&key) || inner == "flow";
            if is_needed || wanted || self.dice.chance(fullness) || is_basic(&inner) {
                let value = self.value(&schema["properties"][&key], &inner, first);
                table.insert(key, value);
            }
        }
        if path.ends_with(".trace") {
            traces::settle(&mut table, file(&join(path, "columns")));
        }
        Json::Object(table)
    }

    fn list(&mut self, schema: &Json, path: &str) -> Json {
        // A scenario without mixes has a flow.
        let least =
            if path == "flow" { 1 } else { schema["minItems"].as_u64().unwrap_or(0) as usize };
        let most = schema["maxItems"].as_u64().map_or(least + 3, |most| most as usize);
        // Two tables of one list may be wanted, such as two controllers.
        let wanted = self.wanted.iter().filter(|wanted| wanted.starts_with(path)).count();
        let mut length = least + self.dice.below(most - least + 1);
        if path == "link" {
            length = self.nodes - 1 + usize::from(self.dice.chance(0.2));
        } else if wanted > 0 && most > wanted {
            length = length.max(wanted);
        }
        let all = std::mem::take(&mut self.wanted);
        let mut items = Vec::new();
        for number in 0..length {
            // Each item takes one of the wanted tables below this list; the first takes all if
            // there is one.
            let mine = all.iter().filter(|wanted| wanted.starts_with(path));
            let mine: Vec<_> = match length {
                1 => mine.cloned().collect(),
                _ => mine.skip(number).take(1).cloned().collect(),
            };
            self.wanted = mine;
            items.push(self.value(&schema["items"], path, true));
        }
        self.wanted = all;
        Json::Array(items)
    }

    fn scalar(&mut self, schema: &Json, path: &str) -> Json {
        let words = words(schema);
        if !words.is_empty() {
            return (*self.dice.pick(&words)).into();
        }
        match type_of(schema) {
            "boolean" => self.dice.chance(0.5).into(),
            "integer" => {
                let least = schema["minimum"].as_u64().unwrap_or(0);
                let most = schema["maximum"].as_u64().unwrap_or(u64::from(u32::MAX));
                // Mostly small, now and then anything.
                let usual = usual_integer(path).min(most);
                let most =
                    if self.dice.chance(0.03) && !is_multiplier(path) { most } else { usual };
                let range = most.saturating_sub(least) + 1;
                let above = match is_length(path) {
                    true => self.dice.below(range as usize) as u64,
                    false => (self.dice.magnitude(1.0, range as f64) as u64).saturating_sub(1),
                };
                (least + above).min(most.max(least)).into()
            }
            "number" => self.number(schema),
            _ => match schema["x-format"].as_str() {
                Some("name") => self.name(path),
                Some("path") => file(path).into(),
                Some("date") => self.date().into(),
                Some(format) => self.quantity(schema, format, path),
                None => schema["examples"][0].clone(),
            },
        }
    }

    fn number(&mut self, schema: &Json) -> Json {
        let bound = |keys: [&str; 2]| keys.iter().find_map(|key| schema[*key].as_f64());
        let low = bound(["minimum", "exclusiveMinimum"]).unwrap_or(0.0);
        let high = bound(["maximum", "exclusiveMaximum"]).unwrap_or(low + 100.0);
        let inside = match self.dice.below(8) {
            0 if schema.get("exclusiveMinimum").is_none() => low,
            1 if schema.get("exclusiveMaximum").is_none() => high,
            2 | 3 => low + (high - low) * self.dice.magnitude(1e-9, 0.1),
            _ => low + (high - low) * (0.001 + 0.998 * self.dice.unit()),
        };
        json!(inside)
    }

    fn name(&mut self, path: &str) -> Json {
        if path.ends_with("between")
            || path.ends_with("from")
            || path.ends_with("to")
            || path.ends_with("towards")
            || path.ends_with("paths")
        {
            return format!("n{}", self.dice.below(self.nodes)).into();
        }
        if path == "node.name" {
            // One name each, while there are nodes.
            self.names += 1;
            return format!("n{}", (self.names - 1) % self.nodes).into();
        }
        self.names += 1;
        format!("name-{}", self.names).into()
    }

    /// An instant of a certain minute.
    fn date(&mut self) -> String {
        format!("2026-11-27T12:00:{:02}Z", self.dice.below(60))
    }

    fn quantity(&mut self, schema: &Json, format: &str, path: &str) -> Json {
        let (low, high) = usual(format, path);
        let wild = self.dice.chance(0.02) && !is_multiplier(path);
        let base = match wild {
            true => self.dice.magnitude(1.0, 1e13),
            false => self.dice.magnitude(low, high),
        };
        let unit = match format {
            "rate" => "bit/s",
            "time" => "ns",
            _ => "B",
        };
        let bound = |key: &str| schema[key].as_str().map(str::to_owned);
        if wild
            && self.dice.chance(0.3)
            && let Some(edge) = bound("x-maximum").or(bound("x-minimum"))
        {
            return edge.into();
        }
        format!("{}{unit}", base.round().max(1.0)).into()
    }
}

/// Keys without which a link is none: they are drawn always.
fn is_basic(path: &str) -> bool {
    matches!(path, "link.rate" | "link.delay" | "duration")
}

/// Numbers that multiply the work of a run.
fn is_multiplier(path: &str) -> bool {
    matches!(path, "flow.count" | "duration" | "record.interval")
        || path.ends_with(".embedded_objects")
}

/// Lengths of packets, of which most are refused if most are short.
fn is_length(path: &str) -> bool {
    path.ends_with("mtu") || path.ends_with("mtu.bytes")
}

/// The most that an integer usually is.
fn usual_integer(path: &str) -> u64 {
    let last = path.rsplit(['.', '(']).next().unwrap_or_default();
    match last {
        _ if is_length(path) => 1500,
        "count" => 3,
        "connections" | "pages" => 4,
        "embedded_objects" => 12,
        "mss" => 1460,
        "seed" | "initial_sequence" => u64::MAX,
        _ => 60,
    }
}

/// Usual bounds of a quantity in its base unit: scenarios that are over soon, and have losses.
fn usual(format: &str, path: &str) -> (f64, f64) {
    let last = path.rsplit('.').next().unwrap_or_default();
    match (format, last) {
        ("rate", _) => (64e3, 20e6),
        ("time", "duration") => (2e8, 8e9),
        ("time", "interval") if path.starts_with("record") => (2e7, 2e9),
        ("time", _) if path.contains(".keep_alive.") => (1e9, 3e9),
        ("time", "interval" | "on" | "off") => (1e7, 2e9),
        ("time", "at" | "start" | "stop") => (1e6, 4e9),
        ("time", "every") => (1e7, 2e9),
        ("time", "delay" | "jitter" | "variation") => (1e4, 2e8),
        // Not below the defaults of those that it bounds.
        ("time", "rto_max") => (3e9, 6e10),
        ("time", _) => (1e5, 3e9),
        ("size", "download" | "bulk") => (1.0, 3e5),
        ("size", "message" | "request" | "overhead") => (1.0, 4e3),
        ("size", "receive_buffer" | "send_buffer") => (2e3, 1e6),
        _ => (1.0, 1e5),
    }
}

/// Joins the links to a connected graph, and gives each flow two ends.
fn connect(json: &mut Json, nodes: usize, dice: &mut Dice) {
    separate(json, dice);
    for (number, link) in json["link"].as_array_mut().into_iter().flatten().enumerate() {
        let to = if number + 1 < nodes { number + 1 } else { dice.below(nodes) };
        let from = if number + 1 < nodes { dice.below(number + 1) } else { (to + 1) % nodes };
        link["between"] = json!([format!("n{from}"), format!("n{to}")]);
    }
    for flow in json["flow"].as_array_mut().into_iter().flatten() {
        let from = dice.below(nodes);
        let to = (from + 1 + dice.below(nodes - 1)) % nodes;
        flow["from"] = format!("n{from}").into();
        flow["to"] = format!("n{to}").into();
        choose_datagrams(flow, dice);
        if let Some(page) = flow.pointer_mut("/traffic/page") {
            pages::settle(page, dice);
        }
        if let Some(transport) = flow.get_mut("transport") {
            let protocol = choose_protocol(transport, dice);
            if protocol.is_some_and(|protocol| !protocol.takes_controller()) {
                flow["controller"] = "none".into();
            }
            if protocol.is_some() {
                take(flow, "host");
            }
        }
        let hosts = [&flow["host"], &flow["host"]["from"], &flow["host"]["to"]];
        let has_profile = hosts.iter().any(|host| host.as_str().is_some_and(|name| name != "none"));
        if flow["controller"].is_null() && !has_profile {
            let names: Vec<_> = congestion::entries().map(|entry| entry.name).collect();
            flow["controller"] = (*dice.pick(&names)).into();
        }
    }
    place(json, dice);
    switch::fork(json, dice);
}

/// Datagrams carry calls, and half of the messages.
fn choose_datagrams(flow: &mut Json, dice: &mut Dice) {
    let traffic = &flow["traffic"];
    if traffic["call"].is_object() || (traffic["messages"].is_object() && dice.chance(0.5)) {
        flow["transport"] = json!({ "protocol": Protocol::Udp.name() });
        flow["controller"] = "none".into();
        take(flow, "host");
    }
}

/// The settings of a protocol are refused with another one: a flow keeps those of one of them,
/// which is returned.
fn choose_protocol(transport: &mut Json, dice: &mut Dice) -> Option<Protocol> {
    let tables = Protocol::ALL.iter().filter_map(|one| Some((one.entry().table?, *one)));
    let drawn: Vec<_> = tables.filter(|(table, _)| transport[*table].is_object()).collect();
    if drawn.is_empty() {
        return None;
    }
    let (chosen, protocol) = *dice.pick(&drawn);
    if let Some(settings) = transport.as_object_mut() {
        settings.retain(|key, _| key == chosen || !drawn.iter().any(|(table, _)| key == table));
        settings.insert("protocol".to_owned(), protocol.name().into());
    }
    Some(protocol)
}

/// Tables of protocols whose packets are none of TCP.
pub(crate) fn other_tables() -> impl Iterator<Item = &'static str> {
    let entries = Protocol::ALL.iter().map(|protocol| protocol.entry());
    entries.filter(|entry| !entry.has_segments_of_tcp).filter_map(|entry| entry.table)
}

fn has_table(flow: &Json, table: &str) -> bool {
    flow["transport"][table].is_object()
}

pub(crate) fn take(table: &mut Json, key: &str) {
    drop(table.as_object_mut().map(|table| table.remove(key)));
}

/// Keys of links, and of their directions, that a scenario with another protocol than TCP may not
/// have.
const OF_TCP_LINKS: [&str; 2] = ["mtu", "header_compression"];

/// Takes other protocols or what knows packets of TCP only out of a scenario with both, which is
/// refused.
fn separate(json: &mut Json, dice: &mut Dice) {
    let entries = |key: &str| json[key].as_array().into_iter().flatten();
    let queries_names = |flow: &Json| flow["traffic"]["page"]["resolver"] == "remote";
    let has_other = entries("flow")
        .any(|flow| queries_names(flow) || other_tables().any(|table| has_table(flow, table)))
        || entries("node").any(|node| drawn_over_quic(&node["proxy"]).is_some());
    let reads_tcp = entries("node").any(|node| !node["middlebox"].is_null())
        || entries("link").any(|link| {
            let tables = [link, &link["forward"], &link["backward"]];
            tables.iter().any(|table| OF_TCP_LINKS.iter().any(|key| !table[*key].is_null()))
        });
    if !has_other || !reads_tcp {
        return;
    }
    if dice.chance(0.5) {
        for flow in json["flow"].as_array_mut().into_iter().flatten() {
            if let Some(table) = flow.get_mut("transport") {
                other_tables().for_each(|protocol| take(table, protocol));
            }
            if let Some(page) = flow.pointer_mut("/traffic/page") {
                take(page, "resolver");
            }
        }
        for node in json["node"].as_array_mut().into_iter().flatten() {
            for side in SIDES {
                node.pointer_mut(&format!("/proxy/{side}"))
                    .into_iter()
                    .for_each(|side| take(side, "quic"));
            }
        }
        return;
    }
    for node in json["node"].as_array_mut().into_iter().flatten() {
        take(node, "middlebox");
    }
    for link in json["link"].as_array_mut().into_iter().flatten() {
        for key in OF_TCP_LINKS {
            take(link, key);
            for way in ["forward", "backward"] {
                link.get_mut(way).into_iter().for_each(|way| take(way, key));
            }
        }
    }
}

const SIDES: [&str; 2] = ["terrestrial", "satellite"];

/// The side for which settings of QUIC were drawn.
fn drawn_over_quic(proxy: &Json) -> Option<&'static str> {
    SIDES.into_iter().find(|side| proxy[*side]["quic"].is_object())
}

/// A second proxy behind the neighbour `last` of a gateway, and a node behind it: the side of both
/// towards each other has QUIC. Returns the nodes and links that are new, and the last node.
fn mate(name: &str, last: &Json, proxy: &mut Map<String, Json>, side: &str) -> [Json; 3] {
    let [mate, beyond] = ["mate", "beyond"].map(|new| format!("{name}-{new}"));
    let of_quic = |quic: Json, last: &Json| json!({ "towards": [last], "protocol": "quic", "controller": "cubic", "quic": quic });
    let quic = proxy[side]["quic"].take();
    let tickets = quic["zero_rtt"].as_bool().unwrap_or_default();
    let rest = proxy[side].take();
    proxy[side] = of_quic(quic, last);
    for key in ["rate", "burst", "pacing_rate"] {
        if let Some(value) = rest.get(key) {
            proxy[side][key] = value.clone();
        }
    }
    if let Some(limits) = proxy.get_mut("limits").filter(|one| one["connections"].is_u64()) {
        limits["at_limit"] = json!("refuse");
    }
    let other = json!({ "satellite": of_quic(json!({ "zero_rtt": tickets }), last) });
    let link = |ends: [&Json; 2]| json!({ "between": ends, "rate": "10Mbit/s", "delay": "5ms" });
    let (mate, beyond) = (json!(mate), json!(beyond));
    [
        json!([{ "name": mate, "proxy": other }]),
        json!([link([last, &mate]), link([&mate, &beyond])]),
        beyond,
    ]
}

/// Takes out of a drawn proxy what is refused in any scenario, or between these nodes.
fn make_possible(proxy: &mut Map<String, Json>, dice: &mut Dice) {
    proxy.retain(|_, value| !matches!(value.as_str(), Some("satpep" | "scps-gateway")));
    if proxy.get("accept").and_then(Json::as_str) != Some("early-if-known") {
        proxy.remove("known_for");
    }
    if let Some(limits) = proxy.get_mut("limits").and_then(Json::as_object_mut)
        && !limits.contains_key("connections")
    {
        limits.remove("at_limit");
    }
    for side in ["terrestrial", "satellite"] {
        let Some(side) = proxy.get_mut(side).and_then(Json::as_object_mut) else { continue };
        // A bucket needs a rate, and room for a packet: of flows that are not known yet.
        if !side.contains_key("rate") {
            side.remove("burst");
        } else if side.contains_key("burst") {
            side.insert("burst".to_owned(), json!(format!("{}KiB", dice.below(1000) + 64)));
        }
    }
}

/// Puts proxies between two neighbours, with a flow from one to the other.
fn place(json: &mut Json, dice: &mut Dice) {
    let ends = |link: &Json| [link["between"][0].clone(), link["between"][1].clone()];
    let links: Vec<_> = json["link"].as_array().into_iter().flatten().map(ends).collect();
    let mut flows = Vec::new();
    let mut new: [Vec<Json>; 2] = Default::default();
    let proxies: Vec<_> = json["node"].as_array().into_iter().flatten().collect();
    let proxies = proxies.iter().filter(|node| node["proxy"].is_object());
    let proxies: Vec<_> = proxies.map(|node| node["name"].clone()).collect();
    for node in json["node"].as_array_mut().into_iter().flatten() {
        let Some(name) = node.get("name").cloned() else { continue };
        let Some(proxy) = node["proxy"].as_object_mut() else { continue };
        make_possible(proxy, dice);
        let over_quic = drawn_over_quic(&Json::Object(proxy.clone()));
        let speaks_scps = choose_side_protocol(proxy, dice);
        let over_quic = over_quic.filter(|_| !speaks_scps && dice.chance(0.7));
        let settings = over_quic.map(|side| proxy[side]["quic"].clone());
        for side in SIDES {
            proxy.get_mut(side).into_iter().for_each(|side| take(side, "quic"));
        }
        let others = links.iter().filter_map(|[a, b]| match (*a == name, *b == name) {
            (true, false) => Some(b.clone()),
            (false, true) => Some(a.clone()),
            _ => None,
        });
        let mut others: Vec<_> = others.collect();
        others.dedup();
        let (Some(first), Some(last)) = (others.first(), others.last()) else { continue };
        if first == last {
            continue;
        }
        let sides = [("terrestrial", first), ("satellite", last)];
        let both = dice.chance(0.5);
        for (side, neighbour) in sides.into_iter().skip(usize::from(!both)) {
            let side = proxy.entry(side).or_insert_with(|| json!({}));
            side["towards"] = json!([neighbour]);
        }
        let mut end = last.clone();
        if let (Some(side), Some(settings)) = (over_quic, settings)
            && !proxies.contains(last)
            && let Some(name) = name.as_str()
        {
            let other = SIDES.into_iter().find(|one| *one != side).unwrap_or(side);
            proxy[other]["towards"] = json!([first]);
            proxy[side]["quic"] = settings;
            let [nodes, links, beyond] = mate(name, last, proxy, side);
            for (new, more) in new.iter_mut().zip([nodes, links]) {
                new.extend(more.as_array().into_iter().flatten().cloned());
            }
            end = beyond;
        }
        let is_over_quic = end != *last;
        flows.push(([first.clone(), end], speaks_scps, is_over_quic));
        ["forwarding", "host"].iter().for_each(|key| take(node, key));
    }
    for (key, new) in ["node", "link"].into_iter().zip(new) {
        json[key].as_array_mut().into_iter().for_each(|all| all.extend(new.clone()));
    }
    let written = json["flow"].as_array_mut().into_iter().flatten();
    for (flow, ([from, to], speaks_scps, is_over_quic)) in written.zip(flows) {
        (flow["from"], flow["to"]) = (from, to);
        if is_over_quic {
            take(flow, "transport");
        }
        if speaks_scps {
            take(flow, "host");
            flow["transport"] = json!({ "protocol": Protocol::ScpsTp.name() });
        }
    }
}

/// Both ends of a leg speak the same protocol: a proxy has SCPS-TP on both sides, and so have the
/// hosts, or on none. Returns true if it has.
fn choose_side_protocol(proxy: &mut Map<String, Json>, dice: &mut Dice) -> bool {
    let is_drawn =
        SIDES.iter().any(|side| proxy.get(*side).is_some_and(|one| !one["scps"].is_null()));
    let speaks_scps = is_drawn && dice.chance(0.5);
    for side in SIDES {
        let side = proxy.entry(side).or_insert_with(|| json!({}));
        let Some(side) = side.as_object_mut() else { continue };
        let refused: &[&str] = match speaks_scps {
            true => &["recovery", "careful_resume"],
            false => &["scps"],
        };
        refused.iter().for_each(|key| drop(side.remove(*key)));
        if speaks_scps {
            side.insert("protocol".to_owned(), Protocol::ScpsTp.name().into());
        } else if side.contains_key("protocol") {
            side.insert("protocol".to_owned(), Protocol::Tcp.name().into());
        }
    }
    speaks_scps
}

/// A path over satellites: the file, or a table with a satellite that stays above the places.
fn orbit(is_table: bool, path: &str) -> Json {
    match is_table {
        true => json!({
            "geostationary": [20], "from": "Istanbul", "to": "Nairobi", "step": "5s",
            "epoch": "2026-11-27T12:00:00Z", "minimum_elevation_deg": 10,
        }),
        false => file(path).into(),
    }
}

/// A file that suits the key at `path`.
fn file(path: &str) -> &'static str {
    macro_rules! here {
        ($name:literal) => {
            concat!(env!("CARGO_MANIFEST_DIR"), "/src/", $name)
        };
    }
    match path {
        path if path.ends_with("trace.deliveries") => here!("deliveries.txt"),
        path if is_orbit(path) => here!("orbit.toml"),
        path if path.ends_with("trace.delays") => here!("delays.txt"),
        path if path.ends_with("trace.columns") => here!("log.csv"),
        path if path.ends_with("page.file") => here!("page.toml"),
        path if path.contains(".trace") => here!("trace.csv"),
        path if path.contains(".distribution") => here!("steps.dist"),
        _ => here!("fade.csv"),
    }
}
