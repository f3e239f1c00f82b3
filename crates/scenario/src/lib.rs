//! The scenario language: reading of a TOML file into a complete [`Scenario`].
//!
//! The crate `language` reads a file, writes overrides over it, and checks it against the JSON
//! Schema of the types in `document`. `resolve` turns the document into a scenario.
//!
//! ```
//! let text = r#"
//!     [[link]]
//!     between = ["server", "client"]
//!     rate = "2Mbit/s"
//!     delay = "250ms"
//!
//!     [[flow]]
//!     from = "server"
//!     to = "client"
//!     controller = "newreno"
//!     traffic = { download = "1MB" }
//! "#;
//! let scenario = scenario::Scenario::parse(text, "geo.toml", &[]).unwrap();
//! assert_eq!(scenario.flows.len(), 1);
//!
//! let mistyped = text.replace("rate", "rat");
//! let errors = scenario::Scenario::parse(&mistyped, "geo.toml", &[]).unwrap_err();
//! assert!(errors.to_string().contains("did you mean"), "{errors}");
//! ```

// A number of the user's is never narrowed in silence: it is bounded first, and converted with a
// check.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod distribution;
mod document;
pub mod extent;
mod fade;
mod given;
mod hints;
pub mod hosts;
mod load;
mod mechanisms;
pub mod mix;
pub mod model;
mod names;
pub mod orbit;
pub mod page;
pub mod rates;
mod reference;
mod resolve;
mod routes;
mod schema;
mod sessions;
mod study;
mod switches;
pub mod trace;
mod transports;

pub use given::{Given, Packed, files, names_a_file};
pub use hints::{path_changes, path_hints};
pub use language::{Error as ScenarioError, Errors as ScenarioErrors, NewValue, Override, Step};
pub use link::Seed;
pub use load::{Loaded, Written};
pub use mechanisms::{MechanismExplanation, MechanismParameter, mechanisms};
pub use model::Scenario;
pub use reference::reference;
pub use resolve::{UNSCALED_WINDOW, group_of_terminal, shortest_cycle};
pub use routes::{Hop, Routes, routes};
pub use schema::{cached as cached_schema, dotted_path, schema};
pub use sessions::Sessions;
pub use study::{StudyProblem, StudySource, study_reference, study_schema};
pub use switches::{PathMove, switch_moves};
pub use transports::{TransportExplanation, transports};
