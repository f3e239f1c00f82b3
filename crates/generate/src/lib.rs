//! Random scenarios for property tests. Only tests use this crate.
//!
//! - [`drawn`] draws a whole scenario from the JSON Schema of the language, with every key that it
//!   has; [`repaired`] makes it valid, and [`Coverage`] counts what was drawn.
//! - [`hops()`] and [`flows()`] are strategies for chains and trees of links, with flows of every
//!   controller.
//! - [`beam()`] draws a scenario with a beam, which [`drawn`] leaves out: terminals are many.
//! - `direction` has single directions of links, for tests of the network without hosts.
//! - [`admitted`] is anything that a schema admits, for tests of the check of files.
//!
//! [`seen()`] takes the model apart without `..`. A new key of a link, a node or an event does not
//! compile until it is entered there, and the test of this crate fails until the scenarios have
//! several values of it. So there is no key that the reference engine never meets.

mod beams;
mod coverage;
mod dice;
mod direction;
mod document;
mod flows;
mod hops;
mod keys;
mod pages;
mod repair;
mod schema;
mod seen;
mod switch;
mod text;
mod traces;

pub use beams::beam;
pub use coverage::{Coverage, Drawn};
pub use dice::Dice;
pub use direction::{
    RandomDirection, assigned, bucketed, changing, coding, duplicating, managed, micros,
    prioritised, reordering, repeating, slotted,
};
pub use document::drawn;
pub use flows::{Flow, flows};
pub use hops::{Hop, hops};
pub use repair::{paths, repaired, without};
pub use schema::admitted;
pub use seen::seen;
pub use text::scenario;
