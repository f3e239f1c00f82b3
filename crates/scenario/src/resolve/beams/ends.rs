//! Names of the ends of flows.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::Numbers;

/// The ends that flows can have: nodes, terminals and groups of terminals.
pub(in crate::resolve) struct Ends<'a> {
    numbers: &'a Numbers,
    groups: BTreeMap<String, Range<usize>>,
}

impl<'a> Ends<'a> {
    /// The nodes, without a group.
    pub fn new(numbers: &'a Numbers) -> Self {
        Self { numbers, groups: BTreeMap::new() }
    }

    /// Adds a group with the numbers of its terminals.
    pub fn add_group(&mut self, name: String, terminals: Range<usize>) {
        self.groups.insert(name, terminals);
    }

    /// The nodes with a name: one, or the terminals of a group.
    pub fn named(&self, name: &str) -> Option<Range<usize>> {
        let node = self.numbers.get(name).map(|number| *number..number + 1);
        node.or_else(|| self.groups.get(name).cloned()).or_else(|| self.terminal(name))
    }

    /// Returns true if the name is that of a group of terminals, of any number.
    pub fn is_group(&self, name: &str) -> bool {
        self.groups.contains_key(name)
    }

    /// Terminal number n of a group, counted from 1, is `group-n`.
    pub fn terminal(&self, name: &str) -> Option<Range<usize>> {
        let (group, written) = name.rsplit_once('-')?;
        let number: usize = written.parse().ok()?;
        let all = self.groups.get(group)?;
        let is_plain = !written.starts_with(['0', '+']);
        (is_plain && number <= all.len()).then(|| all.start + number - 1..all.start + number)
    }

    /// Returns true if links join a node with this name.
    pub fn is_linked(&self, name: &str) -> bool {
        self.numbers.contains_key(name)
    }

    /// Names for messages.
    pub fn names(&self) -> Vec<&str> {
        self.numbers.keys().chain(self.groups.keys()).map(String::as_str).collect()
    }
}
