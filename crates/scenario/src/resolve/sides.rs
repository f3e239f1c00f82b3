//! The keys of both directions of a link: each stands in its direction, or in the link for both.

use language::error::Problem;
use language::path::Path;

use crate::document;

/// A link in the language, with its place.
pub(super) struct Sides<'a> {
    pub link: &'a document::Link,
    pub path: &'a Path,
}

/// The tables of the two directions.
pub(super) const NAMES: [&str; 2] = ["forward", "backward"];

impl<'a> Sides<'a> {
    /// The table of a direction, if it has one.
    pub fn own(&self, side: usize) -> Option<&'a document::Direction> {
        [&self.link.forward, &self.link.backward][side].as_ref()
    }

    /// The value of a key of a direction.
    pub fn value<T: 'a>(
        &self,
        side: usize,
        of: impl Fn(&'a document::Direction) -> &'a Option<T>,
    ) -> Option<&'a T> {
        self.own(side).and_then(|own| of(own).as_ref()).or(of(&self.link.both).as_ref())
    }

    /// The place of a key of a direction: in the direction if it was written there, otherwise in
    /// the link.
    pub fn place<T: 'a>(
        &self,
        side: usize,
        key: &str,
        of: impl Fn(&'a document::Direction) -> &'a Option<T>,
    ) -> Path {
        match self.own(side).is_some_and(|own| of(own).is_some()) {
            true => self.path.key(NAMES[side]).key(key),
            false => self.path.key(key),
        }
    }
}

/// Adds a problem, unless its place has one: a key of both directions is wrong once.
pub(super) fn report(problem: Option<Problem>, problems: &mut Vec<Problem>) {
    problems.extend(problem.filter(|new| problems.iter().all(|old| old.path != new.path)));
}
