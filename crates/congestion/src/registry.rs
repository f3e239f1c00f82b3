//! Registry of controllers by name: built-in controllers, and those of other crates.
//!
//! The built-in controllers are listed in `controllers/mod.rs`. Other crates call [`register`]
//! before they read a scenario. Then scenarios, the schema and all lists include their names.
//! Entries are never removed. Runs do not use the registry: a connection gets its controller from a
//! [`Specification`](crate::Specification).

use std::fmt::Debug;
use std::sync::{LazyLock, PoisonError, RwLock};

use crate::any::AnyController;
use crate::controllers;
use crate::entry::{Entry, Listed, Need};
use crate::parameters::Values;
use crate::parts::linux::ORIGINAL;
use crate::window::Settings;

type Build = fn(&Settings, &Values) -> AnyController;

/// A controller that can be built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registered {
    pub(crate) entry: &'static Entry,
    /// The word of this variant; most controllers have one only.
    pub(crate) variant: &'static str,
    pub(crate) need: Option<Need>,
    /// Pairs of parameters of which the first may not be above the second.
    pub(crate) ordered: &'static [(&'static str, &'static str)],
    pub(crate) build: Build,
}

static BUILT_IN: LazyLock<Vec<Registered>> =
    LazyLock::new(|| controllers::LISTS.iter().flat_map(|list| list()).collect());

static EXTERNAL: RwLock<Vec<&'static Registered>> = RwLock::new(Vec::new());

/// A controller could not be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is a controller {name:?} already")]
pub struct NameTaken {
    /// The name that another controller has.
    pub name: &'static str,
}

/// Adds the controllers that `C` lists, for the rest of the process. They are called through a
/// vtable.
///
/// # Errors
/// When one of the names is taken. Then none is added.
pub fn register<C: Listed + Debug + Send + Sync + 'static>() -> Result<(), NameTaken> {
    let build: Build =
        |settings, values| AnyController::External(Box::new(C::build(settings, values)));
    let mut external = EXTERNAL.write().unwrap_or_else(PoisonError::into_inner);
    let mut names: Vec<_> = BUILT_IN.iter().chain(external.iter().copied()).map(name).collect();
    for entry in C::LISTED {
        if names.contains(&entry.name) {
            return Err(NameTaken { name: entry.name });
        }
        names.push(entry.name);
    }
    for registered in entries_of::<C>(ORIGINAL, build) {
        external.push(Box::leak(Box::new(registered)));
    }
    Ok(())
}

fn name(registered: &Registered) -> &'static str {
    registered.entry.name
}

fn all() -> impl Iterator<Item = &'static Registered> {
    let external = EXTERNAL.read().unwrap_or_else(PoisonError::into_inner).clone();
    BUILT_IN.iter().chain(external)
}

/// The controller called `name` as its source defines it.
pub(crate) fn registered(name: &str) -> Option<&'static Registered> {
    variant(name, ORIGINAL)
}

/// The variant of the controller called `name`.
pub(crate) fn variant(name: &str, variant: &str) -> Option<&'static Registered> {
    all().find(|registered| registered.entry.name == name && registered.variant == variant)
}

pub(crate) fn entries_of<C: Listed>(variant: &'static str, build: Build) -> Vec<Registered> {
    let (need, ordered) = (C::NEED, C::ORDERED);
    C::LISTED.iter().map(|entry| Registered { entry, variant, need, ordered, build }).collect()
}

/// All controllers as their sources define them: the built-in ones in the order of their list, then
/// the registered ones.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    all().filter(|registered| registered.variant == ORIGINAL).map(|registered| registered.entry)
}

/// The other variants of the controller called `name`, each with its word for the parameter
/// `variant`.
pub fn variants(name: &str) -> impl Iterator<Item = (&'static str, &'static Entry)> {
    all()
        .filter(move |other| other.entry.name == name && other.variant != ORIGINAL)
        .map(|other| (other.variant, other.entry))
}

/// The need of the controller called `name`.
pub fn need(name: &str) -> Option<Need> {
    registered(name)?.need
}

/// The controller called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    registered(name).map(|registered| registered.entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Controller;
    use crate::parameters::{ParameterError, Value};
    use crate::specification::Specification;
    use crate::tcp_policy::{SendState, Sizing, TcpPolicy};
    use units::Span;

    #[test]
    fn every_controller_can_be_built_from_its_defaults() {
        let settings = Settings {
            mss: 1460,
            initial_window: 14_600,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        for entry in entries() {
            let specification = Specification::named(entry.name).unwrap();
            let cwnd = specification.build(&settings).window().cwnd;
            // One knows its window from the start.
            let expected = if entry.name == "ck-stp" { 128_000 } else { 14_600 };
            assert_eq!(cwnd, expected, "{}", entry.name);
        }
    }

    #[test]
    fn names_are_unique_and_defaults_are_allowed() {
        let mut names: Vec<_> = entries().map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), entries().count());
        for entry in entries() {
            let mut specification = Specification::named(entry.name).unwrap();
            let values: Vec<_> =
                specification.values().iter().map(|(p, v)| (p.name, v.clone())).collect();
            for (name, value) in values {
                specification.set(name, value).unwrap();
            }
        }
    }

    #[test]
    fn related_parameters_are_ordered_in_the_defaults_and_refused_otherwise() {
        let mut found = Vec::new();
        for registered in all() {
            for &(lower, upper) in registered.ordered {
                let mut specification = Specification::of(registered);
                assert_eq!(specification.check(), Ok(()));
                let bound = specification.values().number(upper);
                specification.set(lower, Value::Number(bound)).unwrap();
                assert_eq!(specification.check(), Ok(()), "as large is allowed");
                specification.set(lower, Value::Number(2.0 * bound)).unwrap();
                let error = specification.check().unwrap_err();
                let low = 2.0 * bound;
                assert_eq!(error, ParameterError::Order { lower, low, upper, high: bound });
                specification.set(upper, Value::Number(low)).unwrap();
                assert_eq!(specification.check(), Ok(()), "in any order");
                found.push((registered.entry.name, lower, upper));
            }
        }
        let expected = [
            ("bic", "s_min", "s_max"),
            ("new-vegas", "alpha", "beta"),
            ("scps-vegas", "alpha", "beta"),
            ("vegas", "alpha", "beta"),
        ];
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    /// The sender does not call what such controllers have by default.
    #[test]
    fn controllers_that_do_not_bound_the_sender_have_the_defaults() {
        let settings = Settings {
            mss: 1000,
            initial_window: 10_000,
            initial_ssthresh: 50_000,
            byte_counting: 1,
        };
        let mut bounding = Vec::new();
        for registered in all() {
            let mut controller = Specification::of(registered).build(&settings);
            if controller.bounds_sender() {
                bounding.push(registered.entry.name);
                continue;
            }
            for sizing in [Sizing::Segment, Sizing::Total] {
                for flight in [0, 8_000, 100_000] {
                    let state = SendState { flight, to_recover: flight / 2 };
                    let window = controller.advertised_window(sizing, 9_000, &state);
                    assert_eq!(window, 9_000, "{}", registered.entry.name);
                }
            }
            let bounds = (controller.extra_rto(), controller.retransmission_quota());
            assert_eq!(bounds, (Span::ZERO, u32::MAX), "{}", registered.entry.name);
        }
        bounding.dedup();
        assert_eq!(bounding, ["adalr"]);
    }

    /// `cargo fmt --check` does not see modules that a macro declares.
    #[test]
    fn every_file_of_controllers_is_formatted() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/controllers");
        let folders = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let inner = folders.filter(|path| path.is_dir()).chain([folder.into()]);
        let files = inner.flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let files = files.map(|entry| entry.unwrap().path());
        let files =
            files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
        let done = std::process::Command::new("rustfmt").arg("--check").args(files).output();
        let done = done.expect("rustfmt is part of the toolchain");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }

    /// A file that the list does not name is not compiled, and nobody would notice.
    #[test]
    fn every_file_of_controllers_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/controllers");
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_none_or(|extension| extension == "rs"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .filter(|name| name != "mod")
            .collect();
        files.sort_unstable();
        files.dedup();
        let mut listed = controllers::MODULES.to_vec();
        listed.sort_unstable();
        assert_eq!(files, listed);
    }
}
