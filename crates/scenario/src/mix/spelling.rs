//! The flows that the mixes of a scenario stand for.

use std::str::FromStr;

use language::describe;
use language::error::Problem;
use language::path::{Path, Step};
use language::suggest;
use language::tree::{Entry, Origin, Tree, Value};
use units::Span;

use super::Mix;
use crate::document;

/// Longest name of a flow, as that of the language.
const LONGEST_NAME: usize = 64;

/// Keys of a mix that each of its flows has as well.
const OF_ALL: [&str; 3] = ["from", "to", "spread"];

/// Keys of a mix that its flows over streams have as well.
const OF_STREAMS: [&str; 3] = ["controller", "host", "transport"];

/// The flows of all mixes, as they would be written behind the `[[flow]]` tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spelt {
    /// Number of the `[[flow]]` tables before them.
    pub first: usize,
    /// The flows. Their values have the origin of the key of the mix that they are from.
    pub flows: Vec<Tree>,
    /// For each flow, the number of its `[[mix]]`.
    pub of: Vec<usize>,
}

/// Spells out the mixes of the scenario `tree`, whose values the schema admits.
pub(crate) fn spell_out(
    tree: &Tree,
    first: usize,
    mixes: &[document::Mix],
    problems: &mut Vec<Problem>,
) -> Spelt {
    let mut spelt = Spelt { first, ..Spelt::default() };
    for (number, mix) in mixes.iter().enumerate() {
        let path = Path::entry("mix", number);
        let (Some(preset), Some(written)) = (mix.preset.mix(), tree.at(&path)) else { continue };
        let own = Own { number, mix, written };
        let parts: Vec<_> = parts(preset).into_iter().filter(|part| own.has(part)).collect();
        problems.extend(own.unknown_parts(preset, &path));
        problems.extend(own.without_effect(&parts, &path));
        for part in parts {
            spelt.flows.push(own.flow(part, &path, problems));
            spelt.of.push(number);
        }
    }
    if spelt.first + spelt.flows.len() == 0 && problems.is_empty() {
        let place = Path::default().key("flow");
        problems.push(Problem::new(place, "at least one [[flow]] or [[mix]]", "none"));
    }
    spelt
}

/// The flows of a preset.
pub(super) fn parts(preset: &Mix) -> Vec<Tree> {
    let tree = Tree::parse(preset.flows).ok();
    match tree.and_then(|tree| tree.get("flow").cloned()).map(|flows| flows.value) {
        Some(Value::List(flows)) => flows,
        _ => Vec::new(),
    }
}

pub(super) fn name_of(part: &Tree) -> &str {
    text(part, "name").unwrap_or_default()
}

fn text<'a>(table: &'a Tree, key: &str) -> Option<&'a str> {
    match &table.get(key)?.value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// A time that a preset or a mix has.
fn span(table: &Tree, key: &str) -> Option<Span> {
    Span::from_str(text(table, key)?).ok()
}

/// A part over datagrams has its own transport.
fn has_datagrams(part: &Tree) -> bool {
    part.get("transport").is_some()
}

/// A mix of a scenario.
struct Own<'a> {
    number: usize,
    mix: &'a document::Mix,
    written: &'a Tree,
}

impl Own<'_> {
    fn name(&self) -> String {
        let name = self.mix.name.as_ref();
        name.map_or_else(|| format!("mix-{}", self.number), |name| name.0.clone())
    }

    fn has(&self, part: &Tree) -> bool {
        let wanted = self.mix.parts.as_ref();
        wanted.is_none_or(|wanted| wanted.iter().any(|name| name.0 == name_of(part)))
    }

    fn unknown_parts(&self, preset: &Mix, path: &Path) -> Vec<Problem> {
        let parts = parts(preset);
        let names: Vec<_> = parts.iter().map(name_of).collect();
        let wanted = self.mix.parts.iter().flatten().enumerate();
        let unknown = wanted.filter(|(_, name)| !names.contains(&name.0.as_str()));
        let problem = |(place, name): (usize, &document::Name)| {
            let expected = format!(
                "one of the parts {} of {}",
                describe::list(&describe::quoted(&names), "and"),
                preset.name
            );
            let place = path.key("parts").index(place);
            let near = suggest::nearest(&name.0, names.iter().copied());
            Problem::new(place, expected, format!("{:?}", name.0)).suggest(near)
        };
        unknown.map(problem).collect()
    }

    /// Keys that none of the chosen parts takes.
    fn without_effect(&self, parts: &[Tree], path: &Path) -> Vec<Problem> {
        let mut problems = Vec::new();
        if parts.is_empty() {
            return problems;
        }
        let problem = |key: &str, expected: &str| {
            Problem::new(path.key(key), expected, format!("`{key}` without effect"))
        };
        if parts.iter().all(has_datagrams) {
            let without = OF_STREAMS.into_iter().filter(|key| self.written.get(key).is_some());
            problems.extend(without.map(|key| problem(key, "a part over a stream of bytes")));
        }
        if self.mix.activity.is_some() && parts.iter().all(|part| part.get("sessions").is_none()) {
            problems.push(problem("activity", "a part with sessions"));
        }
        problems
    }

    /// The flow of a part.
    fn flow(&self, part: Tree, path: &Path, problems: &mut Vec<Problem>) -> Tree {
        let origin = self.written.get("preset").unwrap_or(self.written).origin.clone();
        let is_stream = !has_datagrams(&part);
        let name = format!("{}-{}", self.name(), name_of(&part));
        if name.len() > LONGEST_NAME {
            let most = LONGEST_NAME + self.name().len() - name.len();
            let expected = format!("at most {most} characters with this preset");
            problems.push(Problem::new(path.key("name"), expected, self.name()));
        }
        let count = self.mix.count.saturating_mul(integer(&part, "count").unwrap_or(1));
        let stop = self.mix.stop.or(span(&part, "stop").map(|stop| stop + self.mix.start));
        let mut flow = placed(part, &origin);
        let mut set = |key: &str, value: Value, origin: &Origin| {
            let tree = Tree { value, origin: origin.clone() };
            put(&mut flow, Entry { key: key.to_owned(), origin: origin.clone(), tree });
        };
        set("name", Value::String(name), &origin);
        set("count", Value::Integer(count.into()), &origin);
        if let Some(stop) = stop {
            set("stop", Value::String(stop.to_string()), &origin);
        }
        let of_streams = OF_STREAMS.iter().filter(|_| is_stream);
        for key in OF_ALL.iter().chain(&["start"]).chain(of_streams) {
            if let Some(entry) = self.written.entry(key) {
                put(&mut flow, entry.clone());
            }
        }
        if let Some(activity) = self.mix.activity {
            shorten_pauses(&mut flow, activity);
        }
        flow
    }
}

fn integer(table: &Tree, key: &str) -> Option<u32> {
    match table.get(key)?.value {
        Value::Integer(number) => u32::try_from(number).ok(),
        _ => None,
    }
}

/// The same values, all with this origin.
fn placed(tree: Tree, origin: &Origin) -> Tree {
    let value = match tree.value {
        Value::List(items) => {
            Value::List(items.into_iter().map(|item| placed(item, origin)).collect())
        }
        Value::Table(entries) => {
            let entry = |entry: Entry| Entry {
                key: entry.key,
                origin: origin.clone(),
                tree: placed(entry.tree, origin),
            };
            Value::Table(entries.into_iter().map(entry).collect())
        }
        plain => plain,
    };
    Tree { value, origin: origin.clone() }
}

/// Sets a key of a table.
fn put(table: &mut Tree, entry: Entry) {
    let Value::Table(entries) = &mut table.value else { return };
    match entries.iter_mut().find(|one| one.key == entry.key) {
        Some(one) => *one = entry,
        None => entries.push(entry),
    }
}

fn shorten_pauses(flow: &mut Tree, activity: f64) {
    let Value::Table(entries) = &mut flow.value else { return };
    let Some(sessions) = entries.iter_mut().find(|one| one.key == "sessions") else { return };
    let Some(pause) = span(&sessions.tree, "pause") else { return };
    let origin = sessions.origin.clone();
    let shorter = Span::from_secs_f64(pause.as_secs_f64() / activity).to_string();
    let tree = Tree { value: Value::String(shorter), origin: origin.clone() };
    put(&mut sessions.tree, Entry { key: "pause".to_owned(), origin, tree });
}

impl Spelt {
    /// The scenario with the flows of its mixes behind its own.
    pub fn within(&self, tree: &Tree) -> Tree {
        let mut whole = tree.clone();
        let flows = Path::default().key("flow");
        if whole.at(&flows).is_none() {
            let (key, origin) = ("flow".to_owned(), whole.origin.clone());
            let tree = Tree { value: Value::List(Vec::new()), origin: origin.clone() };
            put(&mut whole, Entry { key, origin, tree });
        }
        if let Value::Table(entries) = &mut whole.value
            && let Some(entry) = entries.iter_mut().find(|entry| entry.key == "flow")
            && let Value::List(items) = &mut entry.tree.value
        {
            items.extend(self.flows.iter().cloned());
        }
        whole
    }

    /// The path in the file of a value of a flow: below its `[[mix]]`, if that has the key.
    pub fn place(&self, path: &Path) -> Option<Path> {
        let [Step::Key(table), Step::Index(number), rest @ ..] = path.0.as_slice() else {
            return None;
        };
        if table != "flow" {
            return None;
        }
        let mix = Path::entry("mix", *self.of.get(number.checked_sub(self.first)?)?);
        let is_shared = |key: &str| {
            let other = ["start", "stop", "count", "name"];
            OF_ALL.iter().chain(&OF_STREAMS).chain(&other).any(|one| *one == key)
        };
        Some(match rest {
            [Step::Key(key), ..] if is_shared(key) => {
                Path(mix.0.into_iter().chain(rest.iter().cloned()).collect())
            }
            _ => mix.key("preset"),
        })
    }

    /// The problem at its place in the file, with the flow as the reason.
    pub fn moved(&self, problem: Problem) -> Problem {
        let Some(place) = self.place(&problem.path) else { return problem };
        let flow = match problem.path.0.get(1) {
            Some(Step::Index(number)) => self.flows.get(number - self.first).map_or("", name_of),
            _ => "",
        };
        let of_flow = format!("`{}`, flow {flow:?} of the mix", problem.path);
        let reason = match &problem.reason {
            Some(reason) => format!("{reason}; {of_flow}"),
            None => of_flow,
        };
        Problem { path: place, ..problem }.because(reason)
    }
}
