//! The front end for files in TOML: scenarios, studies, and the file of `bentpipe proxy`.
//!
//! A file becomes a tree of values with their places (`tree`). Overrides are written into the tree
//! (`overrides`). The tree is checked against the JSON Schema (`check`) that is made from the types
//! of the content (`schema`). Programs report further errors at paths (`error`).
//! [`TypedFile`] does all of this for a type. This crate knows no protocol, link or middlebox.

// A number of the user's is never narrowed in silence: it is bounded first, and converted with a
// check.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

pub mod check;
pub mod describe;
mod entry_names;
pub mod error;
pub mod near;
pub mod overrides;
pub mod path;
pub mod reference;
pub mod schema;
pub mod shape;
pub mod suggest;
pub mod tree;
mod typed;
pub mod write;

pub use entry_names::EntryNames;
pub use error::{Error, Errors, Place};
pub use overrides::{NewValue, Override};
pub use path::Step;
pub use typed::{Refused, TypedFile};
