//! The scenario language: from a TOML file to a [`Scenario`] in which nothing is left open.
//!
//! A file is read into a tree of values that know where they stand (`tree`), overrides are written
//! into it (`overrides`), it is checked against the JSON Schema (`check`), which is made from the
//! types that it is then read into (`document`), and resolved (`resolve`).

mod check;
mod describe;
mod document;
mod error;
mod explain;
mod fade;
mod given;
mod load;
pub mod model;
mod overrides;
mod path;
mod reference;
mod renamed;
mod resolve;
mod routes;
mod schema;
mod suggest;
mod tree;
mod write;

pub use error::{Place, ScenarioError, ScenarioErrors};
pub use explain::{
    ControllerExplanation, DirectionExplanation, Explanation, Figures, FlowExplanation,
    NodeExplanation, Offered, Setting, explain,
};
pub use given::{Given, Packed};
pub use load::{Loaded, Written};
pub use model::Scenario;
pub use overrides::{NewValue, Override};
pub use reference::reference;
pub use renamed::{OldName, Rename, renames, renames_table};
pub use routes::{Hop, Routes, routes};
pub use schema::schema;

#[cfg(test)]
mod tests;
