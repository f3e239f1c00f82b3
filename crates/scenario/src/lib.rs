//! The scenario language: from a TOML file to a [`Scenario`] in which nothing is left open.

pub mod model;

pub use model::Scenario;
