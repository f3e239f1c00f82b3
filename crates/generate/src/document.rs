//! Random scenarios drawn from the JSON Schema of the language. Nothing here lists the keys: one that the
//! schema has is drawn from the day it is there.
//!
//! A document is drawn key by key. Rules between values, which no schema has, are met by [`repaired`]:
//! what the language refuses is drawn again where it was found, and in the end left out. So most
//! documents are valid whatever the rules are. A document has the tables that the caller wants, so that
//! all pairs of tables come to be drawn, and [`Coverage`] counts them.

use std::collections::{BTreeMap, BTreeSet};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use scenario::Loaded;
use scenario::shape::{alternatives, keys, required, type_of, words};
use serde_json::{Map, Value as Json, json};

/// Random numbers of a document.
#[derive(Clone, Debug)]
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// Those of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number below `sides`, which is not zero.
    pub fn below(&mut self, sides: usize) -> usize {
        let drawn = self.0.next_u64() as u128 * sides as u128;
        (drawn >> 64) as usize
    }

    /// Uniform from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with `probability`.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Between two positive numbers, all magnitudes alike. Round numbers on purpose every other time:
    /// they make events coincide.
    fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        let drawn = low * (high / low).powf(self.unit());
        let scale = 10f64.powf(drawn.log10().floor());
        let round = (drawn / scale).round() * scale;
        if self.chance(0.5) && (low..=high).contains(&round) { round } else { drawn }
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// How often each key, each table and each pair of tables was drawn in a scenario that ran.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// All keys that the schema has, with their path.
    pub keys: BTreeMap<String, u64>,
    /// All tables: the alternatives of a key are tables of their own.
    pub tables: BTreeMap<String, u64>,
    pairs: BTreeMap<(usize, usize), u64>,
    /// Pairs that cannot stand in one scenario.
    impossible: BTreeSet<(usize, usize)>,
}

impl Coverage {
    /// Nothing of `schema` was drawn yet.
    pub fn new(schema: &Json) -> Self {
        let (mut keys, mut tables) = (BTreeSet::new(), BTreeSet::new());
        walk_schema(schema, "", &mut keys, &mut tables);
        let zero = |names: BTreeSet<String>| names.into_iter().map(|name| (name, 0)).collect();
        let tables: BTreeMap<String, u64> = zero(tables);
        let count = tables.len();
        let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| ((a, b), 0))).collect();
        let names: Vec<_> = tables.keys().collect();
        let mut impossible = BTreeSet::new();
        for (a, first) in names.iter().enumerate() {
            for (b, second) in names.iter().enumerate().skip(a + 1) {
                if excludes(first, second) {
                    impossible.insert((a, b));
                }
            }
        }
        Self { keys: zero(keys), tables, pairs, impossible }
    }

    /// A document with these keys and tables was run.
    pub fn count(&mut self, drawn: &Drawn) {
        for key in &drawn.keys {
            self.keys.entry(key.clone()).and_modify(|count| *count += 1).or_insert(1);
        }
        let numbers: Vec<_> = self.tables.keys().cloned().enumerate().collect();
        let mut present = Vec::new();
        for (number, name) in numbers {
            if drawn.tables.contains(&name) {
                present.push(number);
                *self.tables.entry(name).or_default() += 1;
            }
        }
        for (place, a) in present.iter().enumerate() {
            for b in &present[place + 1..] {
                *self.pairs.entry((*a, *b)).or_default() += 1;
            }
        }
    }

    /// Adds what another coverage of the same schema has counted.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.keys {
            *self.keys.entry(name.clone()).or_default() += count;
        }
        for (name, count) in &other.tables {
            *self.tables.entry(name.clone()).or_default() += count;
        }
        for (pair, count) in &other.pairs {
            *self.pairs.entry(*pair).or_default() += count;
        }
    }

    /// Keys that no scenario had.
    pub fn missing_keys(&self) -> Vec<&str> {
        self.keys.iter().filter(|(_, count)| **count == 0).map(|(name, _)| name.as_str()).collect()
    }

    /// Pairs of tables that no scenario had, of those that one can have.
    pub fn missing_pairs(&self) -> Vec<[&str; 2]> {
        let names: Vec<_> = self.tables.keys().map(String::as_str).collect();
        let missing = self
            .pairs
            .iter()
            .filter(|(pair, count)| **count == 0 && !self.impossible.contains(pair));
        missing.map(|((a, b), _)| [names[*a], names[*b]]).collect()
    }

    /// Number of pairs that a scenario can have.
    pub fn pairs(&self) -> usize {
        self.pairs.len() - self.impossible.len()
    }

    /// All pairs that a scenario can have, shuffled by `seed`.
    pub fn shuffled_pairs(&self, seed: u64) -> Vec<[String; 2]> {
        let names: Vec<_> = self.tables.keys().collect();
        let possible = self.pairs.keys().filter(|pair| !self.impossible.contains(pair));
        let mut pairs: Vec<_> =
            possible.map(|(a, b)| [names[*a].clone(), names[*b].clone()]).collect();
        let mut dice = Dice::new(seed);
        for last in (1..pairs.len()).rev() {
            pairs.swap(last, dice.below(last + 1));
        }
        pairs
    }
}

/// Whether two tables are alternatives of a key that a scenario has only once.
fn excludes(first: &str, second: &str) -> bool {
    let root = |name: &str| {
        !name.starts_with("link") && !name.starts_with("flow") && !name.starts_with("node")
    };
    let stem = |name: &str| name.split('(').next().unwrap_or_default().to_owned();
    root(first) && stem(first) == stem(second) && first != second
}

/// Calls with the paths of all keys and tables of a schema.
fn walk_schema(
    schema: &Json,
    path: &str,
    keys_found: &mut BTreeSet<String>,
    tables: &mut BTreeSet<String>,
) {
    let options = alternatives(schema);
    for option in &options {
        match type_of(option) {
            "object" => {
                let path = label(option, &options, path);
                tables.insert(path.clone());
                for key in keys(option) {
                    let inner = join(&path, key);
                    keys_found.insert(inner.clone());
                    walk_schema(&option["properties"][key], &inner, keys_found, tables);
                }
            }
            "array" => walk_schema(&option["items"], path, keys_found, tables),
            _ => {}
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The path of a table, with what tells it from the other alternatives of its key.
fn label(option: &Json, options: &[&Json], path: &str) -> String {
    let tables = options.iter().filter(|option| type_of(option) == "object").count();
    if tables < 2 {
        return path.to_owned();
    }
    let name = option["properties"]["name"]["const"].as_str();
    let own = name.or_else(|| required(option).next()).unwrap_or("table");
    format!("{path}({own})")
}

/// A document, and what of the schema stands in it.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// The scenario as a program would write it.
    pub json: Json,
    /// Paths of its keys.
    pub keys: BTreeSet<String>,
    /// Paths of its tables.
    pub tables: BTreeSet<String>,
}

impl Drawn {
    /// What stands in `json`, which may have been drawn or written.
    pub fn of(json: Json, schema: &Json) -> Self {
        let mut drawn = Self { json: Json::Null, keys: BTreeSet::new(), tables: BTreeSet::new() };
        drawn.visit(&json, schema, "");
        drawn.json = json;
        drawn
    }

    fn visit(&mut self, value: &Json, schema: &Json, path: &str) {
        let options = alternatives(schema);
        match value {
            Json::Object(table) => {
                let fits = |option: &&&Json| {
                    type_of(option) == "object"
                        && table.keys().all(|key| option["properties"].get(key).is_some())
                        && required(option).all(|key| table.contains_key(key))
                        && option["properties"]["name"]
                            .get("const")
                            .is_none_or(|name| table.get("name") == Some(name))
                };
                let Some(option) = options.iter().find(fits) else { return };
                let path = label(option, &options, path);
                self.tables.insert(path.clone());
                for (key, value) in table {
                    let inner = join(&path, key);
                    self.keys.insert(inner.clone());
                    self.visit(value, &option["properties"][key], &inner);
                }
            }
            Json::Array(items) => {
                let list = options.iter().find(|option| type_of(option) == "array");
                for item in items {
                    list.iter().for_each(|list| self.visit(item, &list["items"], path));
                }
            }
            _ => {}
        }
    }
}

/// Draws documents of one schema.
struct Artist<'a> {
    dice: &'a mut Dice,
    nodes: usize,
    /// Tables that the document is to have.
    wanted: Vec<String>,
    names: usize,
}

/// A random document with the tables `wanted`, by the names of [`Coverage`]. It may break rules that the
/// schema does not have: see [`repaired`].
pub fn drawn(schema: &Json, wanted: &[String], dice: &mut Dice) -> Json {
    let nodes = 2 + dice.below(4);
    let mut artist = Artist { dice, nodes, wanted: wanted.to_vec(), names: 0 };
    let mut json = artist.value(schema, "", true);
    connect(&mut json, artist.nodes, artist.dice);
    json
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
            let wanted = first && self.wants(&inner);
            if must.contains(&key) || wanted || self.dice.chance(fullness) || is_basic(&inner) {
                let value = self.value(&schema["properties"][&key], &inner, first);
                table.insert(key, value);
            }
        }
        Json::Object(table)
    }

    fn list(&mut self, schema: &Json, path: &str) -> Json {
        let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
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
            // Each item takes one of the wanted tables below this list; the first takes all if there is one.
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
                let drawn = self.dice.magnitude(1.0, (most.saturating_sub(least) + 1) as f64);
                (least + (drawn as u64).saturating_sub(1)).min(most.max(least)).into()
            }
            "number" => self.number(schema),
            _ => match schema["x-format"].as_str() {
                Some("name") => self.name(path),
                Some("path") => file(path).into(),
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
        if path.ends_with("between") || path.ends_with("from") || path.ends_with("to") {
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

/// The most that an integer usually is.
fn usual_integer(path: &str) -> u64 {
    let last = path.rsplit(['.', '(']).next().unwrap_or_default();
    match last {
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
        ("time", "delay" | "jitter") => (1e4, 2e8),
        ("time", _) => (1e5, 3e9),
        ("size", "download" | "bulk") => (1.0, 3e5),
        ("size", "message" | "request" | "overhead") => (1.0, 4e3),
        ("size", "receive_buffer" | "send_buffer") => (2e3, 1e6),
        _ => (1.0, 1e5),
    }
}

/// Joins the links to a connected graph, and gives each flow two ends.
fn connect(json: &mut Json, nodes: usize, dice: &mut Dice) {
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
        path if path.ends_with("trace.delays") => here!("delays.txt"),
        path if path.contains(".trace") => here!("trace.csv"),
        _ => here!("fade.csv"),
    }
}

/// Loads a document. What the language refuses is drawn again, and left out if it is refused again;
/// `None` if nothing helps.
pub fn repaired(mut json: Json, schema: &Json, dice: &mut Dice) -> Option<(Json, Loaded)> {
    let mut tried: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..60 {
        let errors = match Loaded::from_json(&json, &[]) {
            Ok(loaded) => return Some((json, loaded)),
            Err(errors) => errors,
        };
        let path = errors.0.first()?.path.clone();
        let times = tried.entry(path.clone()).or_default();
        *times += 1;
        let steps = steps(&path);
        let redraws = *times < 3 && redraw(&mut json, schema, &steps, dice);
        // A value that is missing is refused at its own path, which is not there: its table goes.
        if !redraws && !leave_out(&mut json, &steps) {
            let last = (1..steps.len()).rev().find(|end| leave_out(&mut json, &steps[..*end]));
            last?;
        }
    }
    None
}

/// A key or a number of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// The steps of a path as errors have it: `link[0].forward.queue`.
fn steps(path: &str) -> Vec<Step> {
    let parts = path.split(['.', '[']).filter(|part| !part.is_empty());
    let step = |part: &str| match part.strip_suffix(']') {
        Some(index) => index.parse().map_or(Step::Key(part.into()), Step::Index),
        None => Step::Key(part.into()),
    };
    parts.map(step).collect()
}

fn find<'a>(json: &'a mut Json, steps: &[Step]) -> Option<&'a mut Json> {
    steps.iter().try_fold(json, |value, step| match step {
        Step::Key(key) => value.get_mut(key.as_str()),
        Step::Index(index) => value.get_mut(*index),
    })
}

/// The schema of what stands at a path.
fn schema_at<'a>(schema: &'a Json, json: &Json, steps: &[Step]) -> Option<&'a Json> {
    let Some((step, rest)) = steps.split_first() else { return Some(schema) };
    let inner = |option: &'a Json| match step {
        Step::Key(key) => schema_at(option["properties"].get(key)?, json.get(key.as_str())?, rest),
        Step::Index(index) => schema_at(option.get("items")?, json.get(*index)?, rest),
    };
    alternatives(schema).into_iter().find_map(inner)
}

/// Draws a scalar again. Returns whether there was one.
fn redraw(json: &mut Json, schema: &Json, steps: &[Step], dice: &mut Dice) -> bool {
    let Some(inner) = schema_at(schema, json, steps) else { return false };
    let path: Vec<_> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        })
        .collect();
    let Some(value) = find(json, steps) else { return false };
    if value.is_object() || value.is_array() {
        return false;
    }
    let mut artist = Artist { dice, nodes: 2, wanted: Vec::new(), names: 1000 };
    *value = artist.value(inner, &path.join("."), false);
    true
}

/// Removes what stands at a path. Returns whether there was something.
pub(crate) fn leave_out_at(json: &mut Json, path: &str) -> bool {
    leave_out(json, &steps(path))
}

fn leave_out(json: &mut Json, path: &[Step]) -> bool {
    let Some((last, before)) = path.split_last() else { return false };
    let Some(outer) = find(json, before) else { return false };
    match (last, outer) {
        (Step::Key(key), Json::Object(table)) => table.remove(key).is_some(),
        (Step::Index(index), Json::Array(items)) if *index < items.len() => {
            items.remove(*index);
            true
        }
        _ => false,
    }
}

/// The paths of everything in a document, the outermost first: what a reduction may leave out.
pub fn paths(json: &Json) -> Vec<String> {
    fn visit(value: &Json, path: &str, found: &mut Vec<String>) {
        match value {
            Json::Object(table) => {
                for (key, inner) in table {
                    found.push(join(path, key));
                    visit(inner, &join(path, key), found);
                }
            }
            Json::Array(items) => {
                for (index, inner) in items.iter().enumerate().rev() {
                    let path = format!("{path}[{index}]");
                    found.push(path.clone());
                    visit(inner, &path, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    visit(json, "", &mut found);
    found.sort_by_key(|path| path.matches(['.', '[']).count());
    found
}

/// The document without what stands at `path`.
pub fn without(json: &Json, path: &str) -> Option<Json> {
    let mut less = json.clone();
    leave_out_at(&mut less, path).then_some(less)
}
