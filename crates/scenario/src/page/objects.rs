//! The objects of a page: names, origins, and dependencies without cycles.

use std::collections::BTreeMap;

use language::suggest;
use units::Span;

use crate::model::{After, Milestone, PageObject};

use super::document::{At, Dependencies, Dependency, Kind, Object, ObjectName};

/// Most objects of a page.
const MOST_OBJECTS: usize = 10_000;

/// An error of an object, at a key of it.
#[derive(Debug)]
pub(super) struct Fault {
    pub object: usize,
    pub key: &'static str,
    pub expected: String,
    pub found: String,
    pub reason: Option<String>,
    pub suggestion: Option<String>,
}

impl Fault {
    fn new(object: usize, key: &'static str, expected: &str, found: &str) -> Self {
        Self {
            object,
            key,
            expected: expected.to_owned(),
            found: found.to_owned(),
            reason: None,
            suggestion: None,
        }
    }

    fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// The objects with numbers for names, and the names of their origins.
pub(super) fn resolve(written: &[Object]) -> Result<(Vec<PageObject>, Vec<String>), Vec<Fault>> {
    let mut faults = Vec::new();
    let all = written.iter().fold(0, |sum, object| sum + object.count as usize);
    if all > MOST_OBJECTS {
        let found = format!("{all} objects");
        faults.push(Fault::new(written.len() - 1, "count", "at most 10000 objects", &found));
        return Err(faults);
    }
    let entries = Entries::of(written);
    let mut origins = Vec::new();
    let mut objects = Vec::new();
    for (i, object) in written.iter().enumerate() {
        if entries.by_name[object.name.as_str()] != i {
            let found = format!("{:?} a second time", object.name);
            faults.push(Fault::new(i, "name", "a name that no other object has", &found));
        }
        let after = after(&entries, i, &mut faults);
        let first = written[0].origin.as_deref().unwrap_or("main");
        let name = object.origin.as_deref().unwrap_or(first);
        let origin = origins.iter().position(|known| known == name).unwrap_or_else(|| {
            origins.push(name.to_owned());
            origins.len() - 1
        });
        let usual = if i == 0 { Kind::Document } else { Kind::Image };
        let (urgency, incremental) = object.kind.unwrap_or(usual).priority();
        for copy in 0..object.count {
            let name = match object.count {
                1 => object.name.clone(),
                _ => format!("{}.{copy}", object.name),
            };
            objects.push(PageObject {
                name,
                origin,
                bytes: object.bytes,
                server_time: object.server_time,
                compute: object.compute,
                urgency,
                incremental,
                after: after.clone().into(),
            });
        }
    }
    if faults.is_empty() {
        faults.extend(cycle(&entries));
    }
    if faults.is_empty() { Ok((objects, origins)) } else { Err(faults) }
}

/// The entries of a list of objects.
struct Entries<'a> {
    written: &'a [Object],
    /// The first entry of each name.
    by_name: BTreeMap<&'a str, usize>,
    /// The number of the first object of each entry.
    numbers: Vec<usize>,
}

impl<'a> Entries<'a> {
    fn of(written: &'a [Object]) -> Self {
        let mut by_name = BTreeMap::new();
        let mut numbers = Vec::new();
        let mut next = 0;
        for (i, object) in written.iter().enumerate() {
            by_name.entry(object.name.as_str()).or_insert(i);
            numbers.push(next);
            next += object.count as usize;
        }
        Self { written, by_name, numbers }
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
}

/// The dependencies of an entry as they are written.
fn dependencies(written: &[Object], i: usize) -> Vec<Dependency> {
    let usual = |object: ObjectName| Dependency { object, at: At::Computed, delay: Span::ZERO };
    match &written[i].after {
        None if i == 0 => Vec::new(),
        None => vec![usual(ObjectName(written[0].name.clone()))],
        Some(Dependencies::Name(name)) => vec![usual(name.clone())],
        Some(Dependencies::List(list)) => list.clone(),
    }
}

fn after(entries: &Entries<'_>, i: usize, faults: &mut Vec<Fault>) -> Vec<After> {
    let Entries { written, numbers, .. } = entries;
    let object = &written[i];
    if i == 0 {
        if object.count > 1 {
            let fault = Fault::new(0, "count", "1 for the first object", &object.count.to_string());
            faults.push(fault.because("loading starts with one document"));
        }
        if object.after.is_some() {
            let fault = Fault::new(0, "after", "no `after` for the first object", "one");
            faults.push(fault.because("loading starts with it"));
        }
        return Vec::new();
    }
    let dependencies = dependencies(written, i);
    if dependencies.is_empty() {
        let fault = Fault::new(i, "after", "at least one object", "an empty list");
        faults.push(fault.because("only the first object starts by itself"));
    }
    let mut all = Vec::new();
    for Dependency { object: ObjectName(name), at, delay } in dependencies {
        match entries.find(&name) {
            Some(number) if written[number].count == 1 => {
                let at = Milestone::from(at);
                all.push(After { object: numbers[number], at, delay });
            }
            Some(_) => {
                let found = format!("{name:?}, of which there are several");
                faults.push(Fault::new(i, "after", "the name of a single object", &found));
            }
            None => {
                let names = written.iter().map(|other| other.name.as_str());
                let suggestion = suggest::nearest(&name, names);
                let fault = Fault::new(i, "after", "the name of an object", &format!("{name:?}"));
                faults.push(Fault { suggestion, ..fault });
            }
        }
    }
    all
}

/// An object that waits for itself, with the way around.
fn cycle(entries: &Entries<'_>) -> Option<Fault> {
    let written = entries.written;
    let before: Vec<Vec<usize>> = (0..written.len())
        .map(|i| {
            let all = dependencies(written, i).into_iter();
            all.filter_map(|dependency| entries.find(&dependency.object.0)).collect()
        })
        .collect();
    // What nothing keeps waiting is taken away until nothing is left, or all wait.
    let mut after = vec![Vec::new(); written.len()];
    for (i, others) in before.iter().enumerate() {
        others.iter().for_each(|other| after[*other].push(i));
    }
    let mut left: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut free: Vec<usize> = (0..left.len()).filter(|i| left[*i] == 0).collect();
    while let Some(i) = free.pop() {
        for other in &after[i] {
            left[*other] -= 1;
            if left[*other] == 0 {
                free.push(*other);
            }
        }
    }
    let mut way = vec![left.iter().position(|left| *left > 0)?];
    let mut seen = vec![false; left.len()];
    while let Some(&last) = way.last()
        && !seen[last]
    {
        seen[last] = true;
        way.extend(before[last].iter().copied().find(|other| left[*other] > 0));
    }
    let start = way.iter().position(|i| Some(i) == way.last())?;
    let names: Vec<_> = way[start..].iter().map(|i| written[*i].name.as_str()).collect();
    let expected = "objects that do not wait for themselves";
    let fault = Fault::new(way[start], "after", expected, "a cycle");
    Some(fault.because(format!("{}: each waits for the next", names.join(", "))))
}
